# tests/gpu/parts/events.sh - see tests/gpu/check_events.c.
# seconds: 70
exec "$BUILD/tests/gpu/check" events --json "$OUT/events.jsonl" --seconds "$SECONDS_LEFT" $FEW
