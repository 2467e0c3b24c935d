# cupti.sh - CUPTI on runs of our own: its records kept as text (docs/cuda.md), to be golden files, and what the report says of them.
# seconds: 40
if [ -n "$STAND_IN" ]; then
    echo "a device made of host memory has no CUPTI"
    exit 3
fi
folder=$OUT/cupti
mkdir -p "$folder"
bad=0
for net in sample_nets/lenet.py tests/nets/mlp.py; do
    name=$(basename "$net" .py)
    VRAMSCOPE_CUPTI_RECORDS=$folder/$name.txt timeout "$SECONDS_LEFT" \
        "$VRAMSCOPE" record "$net" --device cuda --cupti on --steps 1 --batch 2 -o "$folder/$name.db" --force >"$folder/$name.out" 2>&1 || {
        bad=$((bad + 1))
        tail -n 2 "$folder/$name.out"
    }
    [ -s "$folder/$name.txt" ] || bad=$((bad + 1))
    "$VRAMSCOPE" report "$folder/$name.db" >"$folder/$name.report" 2>&1
    printf '{"case": "%s", "same": %s, "records": %d, "tasks": %s, "foreign": %s}\n' "$net" "$([ $bad = 0 ] && echo true || echo false)" \
        "$(wc -l <"$folder/$name.txt" 2>/dev/null || echo 0)" \
        "$("$VRAMSCOPE" sql "$folder/$name.db" 'select count(*) from task' 2>/dev/null | tail -n 1 || echo null)" \
        "$("$VRAMSCOPE" sql "$folder/$name.db" 'select count(*) from foreign_memory' 2>/dev/null | tail -n 1 || echo null)"
    rm -f "$folder/$name.db"
done >"$OUT/cupti.jsonl"
cat "$OUT/cupti.jsonl"
echo "records of $(grep -c '"same": true' "$OUT/cupti.jsonl") of 2 nets are in $folder"
! grep -q '"same": false' "$OUT/cupti.jsonl"
