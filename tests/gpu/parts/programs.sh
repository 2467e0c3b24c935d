# programs.sh - `vramscope record --` on a training script under PyTorch and on a plain CUDA program: to the end, out of memory, killed.
# seconds: 75
if [ -n "$STAND_IN" ]; then
    echo "a device made of host memory runs no CUDA programs"
    exit 3
fi
folder=$OUT/programs
mkdir -p "$folder"
: >"$OUT/programs.jsonl"

trace_int() { # trace_int TRACE PATH: a figure of its report
    "$VRAMSCOPE" report "$1" --json 2>/dev/null | tr -d '\n' | sed -n 's/.*"peak": {[^}]*"'"$2"'": \([0-9]*\).*/\1/p'
}

# said NAME WANTED-STATUS STATUS WANTED-BYTES BYTES
said() {
    same=false
    [ "$2" = "$3" ] && [ -n "$5" ] && [ "$4" = "$5" ] && same=true
    printf '{"case": "%s", "same": %s, "status": %d, "expected_bytes": %s, "recorded_bytes": %s}\n' \
        "$1" $same "$3" "${4:-null}" "${5:-null}" >>"$OUT/programs.jsonl"
    echo "$1: exit status $3 (expected $2), $5 bytes recorded, $4 counted by the program"
}

record() { # record NAME PROGRAM…
    name=$1
    shift
    rm -f "$folder/$name.db"
    timeout "$SECONDS_LEFT" "$VRAMSCOPE" record -o "$folder/$name.db" -- "$@" >"$folder/$name.out" 2>"$folder/$name.err"
    status=$?
    tail -n 2 "$folder/$name.err"
}

if "$PYTHON" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
    record train "$PYTHON" tests/gpu/train.py
    said train 0 $status "$(sed -n 's/.*"allocated": \([0-9]*\).*/\1/p' "$folder/train.out")" "$(trace_int "$folder/train.db" allocated)"
    record train_oom "$PYTHON" tests/gpu/train.py --oom
    # what was live when it ended is what was recorded: the peak is a whole number of the 8 GiB it asks for, and then some
    peak=$(trace_int "$folder/train_oom.db" allocated)
    said train_oom 1 $status "$((${peak:-0} > 8589934592 ? ${peak:-0} : -1))" "$peak"
fi
if [ -x "$BUILD/tests/gpu/plain" ]; then
    for way in end:0 oom:4 kill:137; do
        name=plain_${way%%:*}
        record "$name" "$BUILD/tests/gpu/plain" "${way%%:*}"
        peak=$(trace_int "$folder/$name.db" allocated)
        if [ "${way%%:*}" = oom ]; then
            expected=$((${peak:-0} > 4294967296 ? ${peak:-0} : -1))
        else
            expected=$((112 * 1048576))
        fi
        said "$name" "${way##*:}" $status "$expected" "$peak"
    done
else
    echo "$BUILD/tests/gpu/plain is not there: no plain CUDA program was recorded"
fi
rm -f "$folder"/*.db
echo "$(grep -c '"same": true' "$OUT/programs.jsonl") of $(wc -l <"$OUT/programs.jsonl") recorded as they should"
[ -s "$OUT/programs.jsonl" ] || exit 3
! grep -q '"same": false' "$OUT/programs.jsonl"
