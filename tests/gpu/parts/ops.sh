# tests/gpu/parts/ops.sh - see tests/gpu/check_ops.c.
# seconds: 70
exec "$BUILD/tests/gpu/check" ops --json "$OUT/ops.jsonl" --seconds "$SECONDS_LEFT" $FEW
