# tests/gpu/parts/steps.sh - how long a training step takes: ours and PyTorch eager in turn, ours recorded and not; in
# float32 and under amp.
# seconds: 120
end=$(($(date +%s) + SECONDS_LEFT))
rm -f "$OUT"/steps_*.jsonl
"$BUILD/tests/gpu/check" steps --json "$OUT/steps_ours.jsonl" --seconds $((SECONDS_LEFT / 3)) $FEW
ours=$?
[ "$ours" -le 1 ] || exit $ours
: >"$OUT/steps_torch.jsonl"
nets="sample_nets/resnet50.py sample_nets/gpt2_small.py"
nets="$nets sample_nets/resnet50.py+amp=fp16 sample_nets/gpt2_small.py+amp=bf16"
if [ -n "$STAND_IN" ]; then # nothing is computed there: what is tested is that it runs
    nets="sample_nets/lenet.py sample_nets/lenet.py+amp=bf16"
fi
has_torch='import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'
if "$PYTHON" -c "$has_torch" 2>/dev/null; then
    for net in $nets; do
        left=$((end - 10 - $(date +%s)))
        [ $left -gt 5 ] || break
        # shellcheck disable=SC2046,SC2086
        timeout -k 3 $left "$PYTHON" tests/gpu/time_torch.py $(echo "$net" | tr + ' ') >>"$OUT/steps_torch.jsonl"
    done
    # once more, so that a change of the GPU's clock in between shows
    left=$((end - $(date +%s)))
    [ $left -lt 8 ] ||
        "$BUILD/tests/gpu/check" steps --json "$OUT/steps_again.jsonl" --seconds $((left / 2)) $FEW >/dev/null
fi
"$PYTHON" tests/gpu/times.py "$OUT" || {
    status=$?
    [ -s "$OUT/steps.jsonl" ] || cp "$OUT/steps_ours.jsonl" "$OUT/steps.jsonl" # no Python: no ratios
    if ! "$PYTHON" -c '' 2>/dev/null; then
        echo "no Python to compare with PyTorch's times"
        exit $ours
    fi
    [ -n "$STAND_IN" ] || exit $status
}
if [ -n "$STAND_IN" ]; then
    echo "$(wc -l <"$OUT/steps.jsonl") cases ran; times on a stand-in say nothing"
    exit $ours
fi
