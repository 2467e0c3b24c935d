# tests/gpu/parts/oom.sh - runs that must end out of memory: by a limit of ours, by the allocator's limit, and by the
# GPU's. Each leaves a whole trace.
# seconds: 45
bad=0
folder=$OUT/oom
mkdir -p "$folder"
: >"$OUT/oom.jsonl"

expect_oom() { # expect_oom NAME ARGUMENT…
    name=$1
    shift
    timeout "$SECONDS_LEFT" "$VRAMSCOPE" record "$@" --device cuda --json -o "$folder/$name.db" --force \
        >"$folder/$name.json" 2>"$folder/$name.err"
    status=$?
    outcome=$("$VRAMSCOPE" sql "$folder/$name.db" "select value from meta where key = 'outcome'" 2>&1 | tail -n 1)
    whole=$("$VRAMSCOPE" sql "$folder/$name.db" "select count(*) from event where kind = 'oom'" 2>&1 | tail -n 1)
    if [ $status = 1 ] && [ "$outcome" = oom ] && [ "$whole" = 1 ] &&
        "$VRAMSCOPE" report "$folder/$name.db" --json >"$folder/$name.json" 2>&1; then
        same=true
    else
        same=false
        bad=$((bad + 1))
        echo "$name: exit status $status, outcome $outcome, $whole oom events: $(tail -n 1 "$folder/$name.err")"
    fi
    grep 'out of memory' "$folder/$name.err" | head -n 1
    printf '{"case": "%s", "same": %s, "status": %d}\n' "$name" $same $status >>"$OUT/oom.jsonl"
    rm -f "$folder/$name.db"
}

expect_oom capacity sample_nets/lenet.py --capacity 2M
expect_oom expandable sample_nets/lenet.py --capacity 2M --alloc-conf expandable_segments:True
if [ -z "$STAND_IN" ]; then
    expect_oom gpu tests/gpu/too_large.py
    expect_oom gpu_expandable tests/gpu/too_large.py --alloc-conf expandable_segments:True
fi
echo "$(grep -c '"same": true' "$OUT/oom.jsonl") of $(wc -l <"$OUT/oom.jsonl") ran out of memory as they should"
exit $((bad > 0))
