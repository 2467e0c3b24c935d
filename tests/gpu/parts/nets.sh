# tests/gpu/parts/nets.sh - see tests/gpu/check_nets.c.
# seconds: 100
exec "$BUILD/tests/gpu/check" nets --json "$OUT/nets.jsonl" --seconds "$SECONDS_LEFT" $FEW
