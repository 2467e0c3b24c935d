# steps.sh - how long a training step takes: ours and PyTorch eager in turn, ours recorded and not.
# seconds: 90
"$BUILD/tests/gpu/check" steps --json "$OUT/steps_ours.jsonl" --seconds "$SECONDS_LEFT" $FEW || exit $?
[ -z "$STAND_IN" ] || {
    echo "no times on a stand-in"
    exit 0
}
"$PYTHON" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null || {
    echo "no PyTorch to compare with"
    exit 0
}
for net in sample_nets/resnet50.py sample_nets/gpt2_small.py; do
    "$PYTHON" tests/gpu/time_torch.py "$net"
done >"$OUT/steps_torch.jsonl"
# once more, so that a change of the GPU's clock in between shows
"$BUILD/tests/gpu/check" steps --json "$OUT/steps_again.jsonl" --seconds 30 >/dev/null
exec "$PYTHON" tests/gpu/times.py "$OUT"
