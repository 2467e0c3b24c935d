# tests/gpu/parts/cupti.sh - CUPTI on runs of our own: its records kept as text (docs/internals/cuda.md), to be golden
# files, and what the report says of them.
# seconds: 40
#
# On a stand-in CUPTI is the one that tests/tracer/cupti/twin simulates.
folder=$OUT/cupti
mkdir -p "$folder"
: >"$OUT/cupti.jsonl"
if [ -n "$STAND_IN" ]; then
    if [ ! -e "$BUILD/twin/libcupti.so.13" ]; then
        echo "no CUPTI is simulated here: it was built without CUPTI's headers"
        exit 3
    fi
    VRAMSCOPE_CUDA_LIBS=$BUILD/twin
    export VRAMSCOPE_CUDA_LIBS
fi

count() { # count TRACE TABLE
    "$VRAMSCOPE" sql "$1" "select count(*) from $2" 2>/dev/null | tail -n 1 | grep -x '[0-9]*' || echo null
}

for net in sample_nets/lenet.py tests/nets/mlp.py; do
    name=$(basename "$net" .py)
    same=true
    rm -f "$folder/$name.txt"
    VRAMSCOPE_CUPTI_RECORDS=$folder/$name.txt timeout -k 3 $((SECONDS_LEFT / 2)) \
        "$VRAMSCOPE" record "$net" --device cuda --cupti on --steps 1 --batch 2 -o "$folder/$name.db" --force \
        >"$folder/$name.out" 2>&1 || {
        same=false
        tail -n 2 "$folder/$name.out"
    }
    [ -s "$folder/$name.txt" ] || same=false
    tasks=$(count "$folder/$name.db" task)
    [ "$tasks" != null ] && [ "$tasks" != 0 ] || same=false
    "$VRAMSCOPE" report "$folder/$name.db" >"$folder/$name.report" 2>&1 || same=false
    printf '{"case": "%s", "same": %s, "records": %d, "tasks": %s, "foreign": %s}\n' "$net" $same \
        "$(cat "$folder/$name.txt" 2>/dev/null | wc -l)" "$tasks" \
        "$(count "$folder/$name.db" foreign_memory)" >>"$OUT/cupti.jsonl"
    rm -f "$folder/$name.db"
done
cat "$OUT/cupti.jsonl"
echo "records of $(grep -c '"same": true' "$OUT/cupti.jsonl") of 2 nets are in $folder"
! grep -q '"same": false' "$OUT/cupti.jsonl"
