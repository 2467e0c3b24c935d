# tests/gpu/parts/torch.sh - what PyTorch's memory does on this GPU, and whether ours is the same: figures at the ends
# of phases, and events.
# seconds: 150
seconds=$((SECONDS_LEFT * 2 / 3))
only=
[ -z "$FEW" ] || only="--only ^lenet\$"
"$PYTHON" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null || {
    echo "$PYTHON has no PyTorch"
    exit 3
}
# shellcheck disable=SC2086
"$PYTHON" tests/gpu/measure.py "$OUT" --seconds $seconds $only $STAND_IN || exit $?
exec "$PYTHON" tests/gpu/compare.py "$OUT" "$VRAMSCOPE"
