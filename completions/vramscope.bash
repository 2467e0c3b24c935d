# Completion of vramscope in bash.
# Made from the tables of cli/ and base/toggle.def by `make golden`.

# The toggles, each with $1 in front and $2 behind.
_vramscope_toggles()
{
    local t
    for t in batch accumulate steps data inplace amp half checkpoint checkpoint-impl preserve-rng offload compile optimizer foreach zero-grad drop-outputs detach-loss chunk-loss freeze grad fuse quantize prefetch shard world rank shard-units tp-plan loss-parallel tp replicate cp cp-buffers cp-rotate pp-split microbatches pp-schedule reshard mp-policy offload-policy reduce-bucket-size overlap-comm stage3-prefetch-bucket-size stage3-param-persistence-threshold stage3-max-live-parameters stage3-max-reuse-distance sub-group-size grad-sync empty-cache alloc-conf target workspace torch; do
        printf '%s ' "$1$t$2"
    done
}

# The words that may stand behind an option or a toggle.
_vramscope_values()
{
    case $1 in
    batch) echo "" ;;
    accumulate) echo "" ;;
    steps) echo "" ;;
    data) echo "fresh once" ;;
    inplace) echo "off on" ;;
    amp) echo "off fp16 bf16 O0 O1 O2 O3" ;;
    half) echo "off on" ;;
    checkpoint) echo "off blocks selective segments=2 sqrt auto auto:8G" ;;
    checkpoint-impl) echo "reentrant non-reentrant" ;;
    preserve-rng) echo "off on" ;;
    offload) echo "off activations" ;;
    compile) echo "off on" ;;
    optimizer) echo "sgd momentum adam adamw" ;;
    foreach) echo "auto off" ;;
    zero-grad) echo "none zeros" ;;
    drop-outputs) echo "off on early" ;;
    detach-loss) echo "off on" ;;
    chunk-loss) echo "off 1" ;;
    freeze) echo "none half" ;;
    grad) echo "train eval no_grad" ;;
    fuse) echo "off on" ;;
    quantize) echo "off int8" ;;
    prefetch) echo "off 1" ;;
    shard) echo "off ddp zero1 fsdp tp pp deepspeed-zero1 deepspeed-zero2 deepspeed-zero3" ;;
    world) echo "" ;;
    rank) echo "0 1" ;;
    shard-units) echo "blocks" ;;
    tp-plan) echo "none" ;;
    loss-parallel) echo "off on" ;;
    tp) echo "" ;;
    replicate) echo "" ;;
    cp) echo "" ;;
    cp-buffers) echo "none" ;;
    cp-rotate) echo "allgather alltoall" ;;
    pp-split) echo "none" ;;
    microbatches) echo "" ;;
    pp-schedule) echo "1f1b gpipe interleaved1f1b loopedbfs" ;;
    reshard) echo "on off" ;;
    mp-policy) echo "off bf16 bf16-reduce fp16" ;;
    offload-policy) echo "off cpu" ;;
    reduce-bucket-size) echo "" ;;
    overlap-comm) echo "off on" ;;
    stage3-prefetch-bucket-size) echo "0 1" ;;
    stage3-param-persistence-threshold) echo "0 1" ;;
    stage3-max-live-parameters) echo "0 1" ;;
    stage3-max-reuse-distance) echo "0 1" ;;
    sub-group-size) echo "" ;;
    grad-sync) echo "always last" ;;
    empty-cache) echo "never step phase" ;;
    alloc-conf) echo "default" ;;
    target) echo "none v100-16 v100-32 t4 a100-40 a100-80 a10 a10g rtx3060 rtx3090 rtx4090 l4 l40s h100-pcie h100 h200 b200 rtx5090" ;;
    workspace) echo "auto 2.15 2.11 2.9 2.6" ;;
    torch) echo "2.15 2.11 2.8 2.6 2.4" ;;
    device) echo "auto cpu meta" ;;
    by) echo "category module line" ;;
    events) echo "tensors allocations all" ;;
    theme) echo "dark light mono" ;;
    esac
}

_vramscope_options()
{
    case $1 in
    record) echo "--out --force --device --capacity --seed --keep --stacks --history --observe --gpu --gpus --async --values --world --rank --cupti --json --help" "$(_vramscope_toggles --)" ;;
    import) echo "--out --device --force --strict --json --help" ;;
    report) echo "--json --ranks --top --help" ;;
    tui) echo "--set --keys --dump --styles --size --theme --ascii --no-mouse --no-precompute --rerun --ranks --follow --help" ;;
    why) echo "--at --top --rerun --json --help" ;;
    python) echo "--at --rerun --help" ;;
    whatif) echo "--set --capacity --each --curve --ranks --rerun --out --json --help" ;;
    sweep) echo "--vary --world --set --capacity --seed --out --jobs --all --json --help" ;;
    diff) echo "--by --at --max-growth --top --json --help" ;;
    check) echo "--max-peak --max-reserved --max-growth-per-step --json --help" ;;
    export) echo "--format --out --table --at --whatif --whatifs --force --help" ;;
    match) echo "--events --define --from --gpu --any-free-order --json --help" "$(_vramscope_toggles --)" ;;
    sql) echo "--json --help" ;;
    toggles) echo "--json --help" ;;
    ops) echo "--json --help" ;;
    smi) echo "--json --help" ;;
    lesson) echo "--all --page --tui --dump --size --keys --code --from --json --help" ;;
    advise) echo "--capacity --curve --points --rerun --json --help" ;;
    doctor) echo "--json --help" ;;
    mcp) echo "--help" ;;
    esac
}

_vramscope()
{
    local at=$COMP_CWORD words=
    local cur=${COMP_WORDS[at]} prev=${COMP_WORDS[at - 1]} cmd=${COMP_WORDS[1]}
    COMPREPLY=()
    # bash makes three words of a=b
    if [ "$cur" = = ]; then
        cur=
    elif [ "$prev" = = ] && [ "$at" -gt 2 ]; then
        prev=${COMP_WORDS[at - 2]}
    fi
    if [ "$at" -eq 1 ]; then
        words="record import report tui why python whatif sweep diff check export match sql toggles ops smi lesson advise doctor mcp --help --version"
    elif [ "$prev" = --set ] || [ "$prev" = -s ]; then
        compopt -o nospace 2>/dev/null
        words=$(_vramscope_toggles '' =)
    elif [ "${cur#-}" != "$cur" ]; then
        words=$(_vramscope_options "$cmd")
    else
        words=$(_vramscope_values "${prev#--}")
    fi
    while IFS= read -r cur; do
        COMPREPLY+=("$cur")
    done < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _vramscope vramscope
