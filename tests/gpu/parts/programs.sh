# tests/gpu/parts/programs.sh - `vramscope record --` on a training script under PyTorch and on a plain CUDA program:
# to the end, out of memory, killed.
# seconds: 75
#
# On a stand-in the plain program and its driver are those of tests/tracer/inject/fake, and PyTorch runs over the GPU
# that `record` simulates.
folder=$OUT/programs
mkdir -p "$folder"
: >"$OUT/programs.jsonl"
end=$(($(date +%s) + SECONDS_LEFT))
plain=$BUILD/tests/gpu/plain
world=env # what the recorded programs run in
if [ -n "$STAND_IN" ]; then
    plain=$BUILD/fake/programs
    world="env LD_LIBRARY_PATH=$BUILD/fake VRAMSCOPE_CUDA_LIBS=$BUILD/fake/cupti FAKE_CUDA_BYTES=17179869184"
fi

trace_int() { # trace_int TRACE PATH: a figure of its report
    "$VRAMSCOPE" report "$1" --json 2>/dev/null | tr -d '\n' | sed -n 's/.*"peak": {[^}]*"'"$2"'": \([0-9]*\).*/\1/p'
}

# said NAME WANTED-STATUS STATUS WANTED-BYTES BYTES
said() {
    same=false
    [ "$2" = "$3" ] && [ -n "$5" ] && [ "$4" = "$5" ] && same=true
    printf '{"case": "%s", "same": %s, "status": %d, "expected_bytes": %s, "recorded_bytes": %s}\n' \
        "$1" $same "$3" "${4:-null}" "${5:-null}" >>"$OUT/programs.jsonl"
    echo "$1: exit status $3 (expected $2), ${5:-no} bytes recorded, ${4:-none} expected"
}

# record NAME SHARE PROGRAM…: may take that share of the time that is left, so that one that hangs leaves some for the
# others.
record() {
    name=$1
    share=$(((end - $(date +%s)) * $2))
    shift 2
    status=124
    [ "$share" -gt 0 ] || return 0
    rm -f "$folder/$name.db"
    timeout -k 3 "$share" "$VRAMSCOPE" record -o "$folder/$name.db" -- "$@" >"$folder/$name.out" 2>"$folder/$name.err"
    status=$?
    tail -n 2 "$folder/$name.err"
}

# more_than BYTES PEAK: PEAK where it is more, else -1
more_than() {
    if [ "${2:-0}" -gt "$1" ]; then echo "$2"; else echo -1; fi
}

if [ -x "$plain" ]; then
    [ -z "$STAND_IN" ] || set -- plain
    for way in end:0 oom:4 kill:137; do
        name=plain_${way%%:*}
        # shellcheck disable=SC2086
        record "$name" 1/5 $world "$plain" "$@" "${way%%:*}"
        peak=$(trace_int "$folder/$name.db" allocated)
        if [ "${way%%:*}" = oom ]; then
            expected=$(more_than 4294967296 "$peak")
        else
            expected=$((112 * 1048576))
        fi
        said "$name" "${way##*:}" $status "$expected" "$peak"
    done
else
    echo "$plain is not there: no plain CUDA program was recorded"
fi
finds_gpu='import nogpu; nogpu.enter(); import torch, sys; sys.exit(not torch.cuda.is_available())'
if PYTHONPATH=tests/oracle${PYTHONPATH:+:$PYTHONPATH} "$PYTHON" -c "$finds_gpu" 2>/dev/null; then
    record train 2/3 "$PYTHON" tests/gpu/train.py
    said train 0 $status "$(sed -n 's/.*"allocated": \([0-9]*\).*/\1/p' "$folder/train.out")" \
        "$(trace_int "$folder/train.db" allocated)"
    record train_oom 1 "$PYTHON" tests/gpu/train.py --oom
    # what was live when it ended is what was recorded: a whole number of the 8 GiB it asks for, and then some
    peak=$(trace_int "$folder/train_oom.db" allocated)
    said train_oom 1 $status "$(more_than 8589934592 "$peak")" "$peak"
else
    echo "$PYTHON has no PyTorch that finds a GPU: no training script was recorded"
fi
rm -f "$folder"/*.db
echo "$(grep -c '"same": true' "$OUT/programs.jsonl") of $(wc -l <"$OUT/programs.jsonl") recorded as they should"
[ -s "$OUT/programs.jsonl" ] || exit 3
! grep -q '"same": false' "$OUT/programs.jsonl"
