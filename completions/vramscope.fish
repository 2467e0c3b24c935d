# Completion of vramscope in fish.
# Made from the tables of cli/ and base/toggle.def by `make golden`.

function __vramscope_pairs
    printf '%s\n' batch=
    printf '%s\n' accumulate=
    printf '%s\n' steps=
    printf '%s\n' data=fresh data=once
    printf '%s\n' inplace=off inplace=on
    printf '%s\n' amp=off amp=fp16 amp=bf16
    printf '%s\n' half=off half=on
    printf '%s\n' checkpoint=off checkpoint=blocks checkpoint=segments=2 checkpoint=sqrt
    printf '%s\n' checkpoint-impl=reentrant checkpoint-impl=non-reentrant
    printf '%s\n' preserve-rng=off preserve-rng=on
    printf '%s\n' optimizer=sgd optimizer=momentum optimizer=adam optimizer=adamw
    printf '%s\n' foreach=auto foreach=off
    printf '%s\n' zero-grad=none zero-grad=zeros
    printf '%s\n' drop-outputs=off drop-outputs=on
    printf '%s\n' detach-loss=off detach-loss=on
    printf '%s\n' freeze=none freeze=half
    printf '%s\n' grad=train grad=eval grad=no_grad
    printf '%s\n' prefetch=off prefetch=1
    printf '%s\n' shard=off shard=ddp shard=zero1
    printf '%s\n' world=
    printf '%s\n' empty-cache=never empty-cache=step empty-cache=phase
    printf '%s\n' alloc-conf=default
    printf '%s\n' target=none target=v100-16 target=v100-32 target=t4 target=a100-40 target=a100-80 target=a10 target=a10g target=rtx3060 target=rtx3090 target=rtx4090 target=l4 target=l40s target=h100-pcie target=h100 target=h200 target=b200 target=rtx5090
    printf '%s\n' workspace=2.15 workspace=2.9 workspace=2.6
end

complete -c vramscope -n __fish_use_subcommand -f -a record -d 'Train a net, or run a CUDA program, and record every memory event'
complete -c vramscope -n __fish_use_subcommand -f -a import -d 'Make a trace of a memory snapshot that a PyTorch program dumped'
complete -c vramscope -n __fish_use_subcommand -f -a report -d 'Show the peak of a trace: its tensors and their holders, per step and phase'
complete -c vramscope -n __fish_use_subcommand -f -a tui -d 'Step through a trace like a debugger, and change toggles'
complete -c vramscope -n __fish_use_subcommand -f -a whatif -d 'Show the peak the recorded net would have with other toggles'
complete -c vramscope -n __fish_use_subcommand -f -a diff -d 'Explain the difference between two traces, at their peaks and over a step'
complete -c vramscope -n __fish_use_subcommand -f -a check -d 'Check a trace against limits, for continuous integration'
complete -c vramscope -n __fish_use_subcommand -f -a export -d 'Write a trace in the formats of other tools'
complete -c vramscope -n __fish_use_subcommand -f -a match -d 'Compare a net with what PyTorch recorded on a GPU, event by event'
complete -c vramscope -n __fish_use_subcommand -f -a sql -d 'Query a trace in SQL, without the sqlite3 shell'
complete -c vramscope -n __fish_use_subcommand -f -a toggles -d 'List the toggles: ways to train that change memory, and what each costs'
complete -c vramscope -n __fish_use_subcommand -f -a ops -d 'List the ops a net file may use, and what autograd saves for each'
complete -c vramscope -n __fish_use_subcommand -f -a smi -d 'Show the memory of each GPU by process, as the driver counts it'
complete -c vramscope -n __fish_use_subcommand -f -a lesson -d 'Run what articles advise for saving GPU memory, and say whether it helps'
complete -c vramscope -n '__fish_seen_subcommand_from record' -s o -l out -r -d 'the trace to write (default trace.db)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -s f -l force -d 'replace the trace if it exists'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l device -x -a 'auto cpu meta' -d 'cpu: real arithmetic; cuda: the same on the GPU; meta: shapes and lifetimes only, no losses; auto: cuda if a GPU is available, else cpu (default)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l capacity -x -d 'memory of the device, such as 8G (default: unlimited)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l seed -x -d 'seed of all random numbers (default 0)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l stacks -x -d 'frames to record of a PyTorch program: python, or all, which includes C++ frames, names ops and costs more (default python)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l history -x -d 'how many events of a PyTorch program are kept, the last ones (default 1000000)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l cupti -x -d 'on cuda, record the time the GPU spends on each op: auto: if CUPTI is available (default), on: fail without it, off'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l json -d 'print what was recorded as JSON'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l batch -x -a '' -d 'samples in a batch'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l accumulate -x -a '' -d 'split each batch into N parts and step the optimizer once for all of them'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l steps -x -a '' -d 'training steps to record'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l data -x -a 'fresh once' -d 'a new batch each step, or one batch moved to the device once'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l inplace -x -a 'off on' -d 'activations and dropouts overwrite their input wherever PyTorch would allow it'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l amp -x -a 'off fp16 bf16' -d 'run forward and loss under autocast; fp16 with a GradScaler'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l half -x -a 'off on' -d 'model.half(): weights, gradients and activations in fp16'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l checkpoint -x -a 'off blocks segments=2 sqrt' -d 'keep only the inputs of the chosen parts and run their forward again in backward'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l checkpoint-impl -x -a 'reentrant non-reentrant' -d 'use_reentrant of the checkpoints that `checkpoint` makes'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l preserve-rng -x -a 'off on' -d 'preserve_rng_state of the checkpoints that `checkpoint` makes'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l optimizer -x -a 'sgd momentum adam adamw' -d 'SGD, SGD(momentum=0.9), Adam or AdamW(weight_decay=0.01) over what requires grad'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l foreach -x -a 'auto off' -d 'the optimizer\'s multi-tensor path, as PyTorch takes it on CUDA, or one parameter at a time'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l zero-grad -x -a 'none zeros' -d 'zero_grad sets gradients to None, or fills them with zeros'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l drop-outputs -x -a 'off on' -d 'del output, loss after each backward'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l detach-loss -x -a 'off on' -d 'the loop adds up loss.item() over the steps, or the loss tensor itself'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l freeze -x -a 'none half' -d 'requires_grad_(False) on the parameters below these modules, or on the first half of them'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l grad -x -a 'train eval no_grad' -d 'train; model.eval() with gradients recorded; or model.eval() under no_grad'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l prefetch -x -a 'off 1' -d 'load N further batches onto the device before the step that uses the first of them'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l shard -x -a 'off ddp zero1' -d 'one process of `world`: DistributedDataParallel, and with zero1 a ZeroRedundancyOptimizer; the trace is that of rank 0'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l world -x -a '' -d 'processes that `shard` is for, each with a batch of its own'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l empty-cache -x -a 'never step phase' -d 'torch.cuda.empty_cache() after every step or every phase'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l alloc-conf -x -a 'default' -d 'settings of the caching allocator, in the syntax of PYTORCH_CUDA_ALLOC_CONF'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l target -x -a 'none v100-16 v100-32 t4 a100-40 a100-80 a10 a10g rtx3060 rtx3090 rtx4090 l4 l40s h100-pcie h100 h200 b200 rtx5090' -d 'the target GPU: its capacity, and PyTorch\'s workspaces and scratch on it; none: excludes them'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l workspace -x -a '2.15 2.9 2.6' -d 'how long cuBLAS workspaces live on a `target` or on cuda: as in PyTorch 2.15 (for one matrix product), 2.9 (until the end, one per thread) or 2.6 (likewise, and another for cuBLASLt at each product)'
complete -c vramscope -n '__fish_seen_subcommand_from import' -s o -l out -x -d 'the trace to write (default trace.db)'
complete -c vramscope -n '__fish_seen_subcommand_from import' -s d -l device -x -a 'auto cpu meta' -d 'only this one of its devices (default: all)'
complete -c vramscope -n '__fish_seen_subcommand_from import' -s f -l force -d 'replace the trace if it exists'
complete -c vramscope -n '__fish_seen_subcommand_from import' -l strict -d 'refuse a history that the allocator cannot have made'
complete -c vramscope -n '__fish_seen_subcommand_from import' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from report' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from report' -s n -l top -x -d 'how many of the largest tensors to show (default 10)'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -s s -l set -x -a '(__vramscope_pairs)' -d 'open with this what-if; may be given more than once'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -s k -l keys -x -d 'keys to type first: 3s, gb, <enter>, :set amp=bf16<enter>'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l dump -d 'print the screen as text instead of taking the terminal'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l styles -d 'with --dump: also print the style of each stretch of cells'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l size -x -d 'size of the screen that --dump prints (default 80x24)'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l theme -x -a 'dark light mono' -d 'dark, light or mono; NO_COLOR means mono'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l ascii -d 'use only ASCII characters'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l no-mouse -d 'leave the mouse to the terminal'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l no-precompute -d 'run no what-if speculatively, before a key requests it'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -s f -l follow -d 'watch a recording that is still running'
complete -c vramscope -n '__fish_seen_subcommand_from whatif' -s s -l set -x -a '(__vramscope_pairs)' -d 'a toggle to change; may be given more than once'
complete -c vramscope -n '__fish_seen_subcommand_from whatif' -l capacity -x -d 'memory of the device, such as 8G (default: as recorded)'
complete -c vramscope -n '__fish_seen_subcommand_from whatif' -l each -d 'try each toggle alone and the best ones combined, in addition to --set; on a device with a limit: which of them fit, and the largest batch'
complete -c vramscope -n '__fish_seen_subcommand_from whatif' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from diff' -l by -x -a 'category module line' -d 'what a row stands for: category (default), module, line, tensor'
complete -c vramscope -n '__fish_seen_subcommand_from diff' -l at -x -d 'the events to compare: peak (default), step or step=N (the highest of a step), event=N or event=N,M'
complete -c vramscope -n '__fish_seen_subcommand_from diff' -l max-growth -x -d 'exit with 1 if B has more than A by more than this (1%, 0.5%), else with 0'
complete -c vramscope -n '__fish_seen_subcommand_from diff' -s n -l top -x -d 'how many rows to print (default 20); JSON has all'
complete -c vramscope -n '__fish_seen_subcommand_from diff' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from check' -l max-peak -x -d 'highest allocated bytes: 70G, 512M'
complete -c vramscope -n '__fish_seen_subcommand_from check' -l max-reserved -x -d 'highest bytes in segments'
complete -c vramscope -n '__fish_seen_subcommand_from check' -l max-growth-per-step -x -d 'how much more may be allocated at the end of a step than at that of the one before; 0: no leak'
complete -c vramscope -n '__fish_seen_subcommand_from check' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from export' -l format -x -d 'the format; see above'
complete -c vramscope -n '__fish_seen_subcommand_from export' -s o -l out -r -d 'the file to write; - or none: standard output; a name that ends with .gz is compressed'
complete -c vramscope -n '__fish_seen_subcommand_from export' -l table -x -d 'csv, json: events (default) or blocks'
complete -c vramscope -n '__fish_seen_subcommand_from export' -l at -x -d 'collapsed, speedscope: peak (default), end, event=N, or step=N (the highest of a step)'
complete -c vramscope -n '__fish_seen_subcommand_from export' -s w -l whatif -x -a '(__vramscope_pairs)' -d 'svg: run the net again with this toggle and draw its peak as a line; may be given more than once'
complete -c vramscope -n '__fish_seen_subcommand_from export' -s f -l force -d 'replace the file if it exists'
complete -c vramscope -n '__fish_seen_subcommand_from match' -s e -l events -x -a 'tensors allocations all' -d 'tensors: their allocations and frees; allocations: with those of libraries and kernels; all: with addresses, segments and peaks (default: tensors, or all where a target is set)'
complete -c vramscope -n '__fish_seen_subcommand_from match' -s D -l define -x -d 'the net\'s line `NAME = …` becomes `NAME = VALUE`'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l from -x -d 'where the recording begins (steps count from 0), if not at the start of the program'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l gpu -x -d 'which device of a snapshot with several'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l any-free-order -d 'consecutive frees may come in any order: that of autocast\'s copies depends on addresses'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l batch -x -a '' -d 'samples in a batch'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l accumulate -x -a '' -d 'split each batch into N parts and step the optimizer once for all of them'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l steps -x -a '' -d 'training steps to record'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l data -x -a 'fresh once' -d 'a new batch each step, or one batch moved to the device once'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l inplace -x -a 'off on' -d 'activations and dropouts overwrite their input wherever PyTorch would allow it'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l amp -x -a 'off fp16 bf16' -d 'run forward and loss under autocast; fp16 with a GradScaler'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l half -x -a 'off on' -d 'model.half(): weights, gradients and activations in fp16'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l checkpoint -x -a 'off blocks segments=2 sqrt' -d 'keep only the inputs of the chosen parts and run their forward again in backward'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l checkpoint-impl -x -a 'reentrant non-reentrant' -d 'use_reentrant of the checkpoints that `checkpoint` makes'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l preserve-rng -x -a 'off on' -d 'preserve_rng_state of the checkpoints that `checkpoint` makes'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l optimizer -x -a 'sgd momentum adam adamw' -d 'SGD, SGD(momentum=0.9), Adam or AdamW(weight_decay=0.01) over what requires grad'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l foreach -x -a 'auto off' -d 'the optimizer\'s multi-tensor path, as PyTorch takes it on CUDA, or one parameter at a time'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l zero-grad -x -a 'none zeros' -d 'zero_grad sets gradients to None, or fills them with zeros'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l drop-outputs -x -a 'off on' -d 'del output, loss after each backward'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l detach-loss -x -a 'off on' -d 'the loop adds up loss.item() over the steps, or the loss tensor itself'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l freeze -x -a 'none half' -d 'requires_grad_(False) on the parameters below these modules, or on the first half of them'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l grad -x -a 'train eval no_grad' -d 'train; model.eval() with gradients recorded; or model.eval() under no_grad'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l prefetch -x -a 'off 1' -d 'load N further batches onto the device before the step that uses the first of them'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l shard -x -a 'off ddp zero1' -d 'one process of `world`: DistributedDataParallel, and with zero1 a ZeroRedundancyOptimizer; the trace is that of rank 0'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l world -x -a '' -d 'processes that `shard` is for, each with a batch of its own'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l empty-cache -x -a 'never step phase' -d 'torch.cuda.empty_cache() after every step or every phase'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l alloc-conf -x -a 'default' -d 'settings of the caching allocator, in the syntax of PYTORCH_CUDA_ALLOC_CONF'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l target -x -a 'none v100-16 v100-32 t4 a100-40 a100-80 a10 a10g rtx3060 rtx3090 rtx4090 l4 l40s h100-pcie h100 h200 b200 rtx5090' -d 'the target GPU: its capacity, and PyTorch\'s workspaces and scratch on it; none: excludes them'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l workspace -x -a '2.15 2.9 2.6' -d 'how long cuBLAS workspaces live on a `target` or on cuda: as in PyTorch 2.15 (for one matrix product), 2.9 (until the end, one per thread) or 2.6 (likewise, and another for cuBLASLt at each product)'
complete -c vramscope -n '__fish_seen_subcommand_from sql' -l json -d 'print an array with one object per row'
complete -c vramscope -n '__fish_seen_subcommand_from toggles' -l json -d 'print JSON'
complete -c vramscope -n '__fish_seen_subcommand_from ops' -l json -d 'print JSON'
complete -c vramscope -n '__fish_seen_subcommand_from smi' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -s a -l all -d 'run every lesson and print a line for each'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -l page -d 'run every lesson and print docs/guide/techniques.md'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -l code -d 'print the file of the lesson'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -l from -x -d 'another folder of lessons (docs/internals/lessons.md)'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -s h -l help -d 'what it does and takes'
