# tests/gpu/parts/smi.sh - the number of nvidia-smi beside ours, while nothing runs and as a run on the GPU kept it.
# seconds: 25
folder=$OUT/smi
mkdir -p "$folder"
"$VRAMSCOPE" smi --json >"$folder/unused.json" 2>"$folder/unused.err"
status=$?
cat "$folder/unused.json" "$folder/unused.err"
if [ -n "$STAND_IN" ]; then
    exit $((status == 0 || status == 1 ? 0 : 1))
fi
[ $status = 0 ] || exit 1
"$VRAMSCOPE" record sample_nets/resnet18.py --device cuda -o "$folder/run.db" --force >"$folder/run.out" 2>&1 || {
    tail -n 1 "$folder/run.out"
    exit 1
}
"$VRAMSCOPE" report "$folder/run.db" --json >"$folder/run.json"
"$VRAMSCOPE" report "$folder/run.db" | sed -n '/nvidia-smi/,/^$/p'
rm -f "$folder/run.db"
ours=$(tr -d ' \n' <"$folder/unused.json" | sed -n 's/.*"used":\([0-9]*\).*/\1/p')
theirs=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null | head -n 1)
echo "{\"used\": ${ours:-null}, \"nvidia_smi_mib\": ${theirs:-null}}" >"$OUT/smi.jsonl"
echo "NVML says ${ours:-nothing} bytes used, nvidia-smi ${theirs:-nothing} MiB"
[ -n "$ours" ] && [ -n "$theirs" ] && [ $(((ours + 524288) / 1048576 - theirs)) -le 1 ] &&
    [ $((theirs - (ours + 524288) / 1048576)) -le 1 ]
