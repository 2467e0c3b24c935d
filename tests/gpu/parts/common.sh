# tests/gpu/parts/common.sh - what run.sh and its parts share. A part is a script of this folder; it is run by `sh`, in
# the project's folder, with
#
#     OUT PYTHON BUILD VRAMSCOPE VRAMSCOPE_PLUGINS FEW STAND_IN SECONDS_LEFT
#
# in its environment. It prints what it finds, the last line in short, and its exit status is 0: nothing differs, 1:
# something does or failed, 3: skipped, for the reason in the last line. Its first lines give its time:
# "# seconds: N".

# Where the built files are; makes what is missing where that can be done.
find_files() {
    PYTHON=${PYTHON:-python3}
    BUILD=${BUILD:-$([ -d build/carry ] && echo build/carry || echo build)}
    VRAMSCOPE=${VRAMSCOPE:-$BUILD/vramscope}
    use_carried_libraries
    if [ -n "$STAND_IN" ]; then
        VRAMSCOPE_PLUGINS=${VRAMSCOPE_PLUGINS:-$BUILD/twin}
    else
        VRAMSCOPE_PLUGINS=${VRAMSCOPE_PLUGINS:-$BUILD}
        find_cuda_libraries
        build_missing
    fi
    export PYTHON BUILD VRAMSCOPE VRAMSCOPE_PLUGINS
    for file in "$VRAMSCOPE" "$VRAMSCOPE_PLUGINS/vramscope_cuda.so" "$BUILD/tests/gpu/check"; do
        if [ ! -e "$file" ]; then
            echo "not there: $file (the head of tests/gpu/run.sh says what is needed)"
        elif missing=$(ldd "$file" 2>&1 | grep -E 'not found'); then
            echo "$file does not run here: $(echo "$missing" | sed 's/^[[:space:]]*//' | sort -u | tr '\n' ';')"
        fi
    done
}

# Libraries of the machine it was built on: those alone that this one lacks, since Python would load them, too.
use_carried_libraries() {
    [ -d "$BUILD/libs" ] || return 0
    mkdir -p "$OUT/libs"
    ldd "$VRAMSCOPE" "$BUILD/tests/gpu/check" 2>/dev/null | awk '/not found/ { print $1 }' | sort -u |
        while read -r library; do
            [ ! -e "$BUILD/libs/$library" ] || cp "$BUILD/libs/$library" "$OUT/libs/"
        done
    LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$OUT/libs
    export LD_LIBRARY_PATH
}

# cuBLAS and cuDNN as Python packages bring them, for our plug-in.
find_cuda_libraries() {
    folders=$("$PYTHON" - 2>/dev/null <<'PY'
import glob, os, sysconfig
found = []
for base in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
    for name in ("libcublas.so.13", "libcudnn.so.9", "libcupti.so.13"):
        found += [os.path.dirname(p) for p in glob.glob(os.path.join(base, "nvidia", "**", name), recursive=True)]
print(":".join(sorted(set(found))))
PY
    )
    if [ -n "$folders" ]; then
        VRAMSCOPE_CUDA_LIBS=${VRAMSCOPE_CUDA_LIBS:+$VRAMSCOPE_CUDA_LIBS:}$folders
        export VRAMSCOPE_CUDA_LIBS
    fi
}

build_missing() {
    [ "$BUILD" = build ] || return 0
    command -v make >/dev/null && command -v gcc >/dev/null || return 0
    jobs=$(nproc 2>/dev/null || echo 2)
    for goal in all cuda gpu-tests; do
        case $goal in
        all) made=build/vramscope ;;
        cuda) made=build/vramscope_cuda.so ;;
        gpu-tests) made=build/tests/gpu/check ;;
        esac
        [ -e "$made" ] || timeout 240 make -j"$jobs" "$goal" >>"$OUT/build.log" 2>&1 ||
            echo "make $goal fails: $(tail -n 1 "$OUT/build.log")"
    done
}

seconds_of() {
    sed -n 's/^# seconds: //p' "tests/gpu/parts/$1.sh"
}

# plan GROUPS: what each may take, and all of them.
plan() {
    total=0
    for group in $1; do
        most=0
        for part in $(echo "$group" | tr + ' '); do
            [ "$(seconds_of "$part")" -le $most ] || most=$(seconds_of "$part")
        done
        echo "$most $group"
        total=$((total + most))
    done
    echo "$total seconds"
}

# run_group NAME+NAME… DEADLINE: side by side; a line each of parts.tsv, in their order.
run_group() {
    names=$(echo "$1" | tr + ' ')
    for part in $names; do
        run_part "$part" "$2" >"$OUT/$part.said" &
    done
    wait
    for part in $names; do
        cat "$OUT/$part.said"
        cat "$OUT/$part.tsv" >>"$OUT/parts.tsv"
        rm -f "$OUT/$part.said" "$OUT/$part.tsv"
    done
    write_summary
}

# run_part NAME DEADLINE: one line of NAME.tsv: name, status, seconds, the last line it printed.
run_part() {
    script=tests/gpu/parts/$1.sh
    budget=$(seconds_of "$1")
    now=$(date +%s)
    left=$(($2 - now))
    [ "$left" -lt "$budget" ] || left=$budget
    if [ "$left" -lt 5 ]; then
        status=3
        words="no time was left"
    else
        echo "== $1"
        rm -f "$OUT/$1.jsonl" "$OUT/$1.txt" # of a run before
        SECONDS_LEFT=$left timeout -k 5 $((left + 10)) sh "$script" >"$OUT/$1.txt" 2>&1
        status=$?
        tail -n 12 "$OUT/$1.txt" | sed 's/^/   /'
        words=$(tail -n 1 "$OUT/$1.txt" | cut -c 1-400)
        if [ "$status" = 124 ] || [ $(($(date +%s) - now)) -gt $((left + 9)) ]; then
            words="ended after $left seconds; it last said: $words"
        elif [ "$status" -gt 3 ]; then
            words="it died (exit status $status); it last said: $words"
        fi
        [ "$status" = 0 ] || [ "$status" = 3 ] || status=1
    fi
    printf '%s\t%d\t%d\t%s\n' "$1" "$status" $(($(date +%s) - now)) \
        "$(printf %s "$words" | tr '\t' ' ')" >"$OUT/$1.tsv"
}

# What came of it so far, in words and as JSON: after each group, for the machine may be taken away before the last one.
write_summary() {
    awk -F '\t' '
        function text(s,    out, i, c) {
            for (i = 1; i <= length(s); i++) {
                c = substr(s, i, 1)
                out = out (c == "\\" || c == "\"" ? "\\" c : c < " " ? " " : c)
            }
            return out
        }
        BEGIN { print "{\"parts\": [" }
        {
            said = $2 == 0 ? "same" : $2 == 3 ? "skipped" : "differs"
            printf "%s  {\"part\": \"%s\", \"outcome\": \"%s\", \"seconds\": %d, \"words\": \"%s\"}",
                sep, $1, said, $3, text($4)
            sep = ",\n"
        }
        END { print "\n]}" }' "$OUT/parts.tsv" >"$OUT/summary.json"
    awk -F '\t' '
        { printf "%-10s %-8s %4d s  %s\n", $1, $2 == 0 ? "same" : $2 == 3 ? "skipped" : "DIFFERS", $3, $4 }
        $2 == 1 { differs++ }
        $2 == 0 { same++ }
        END {
            if (!same && !differs) print "nothing was compared"
            else print differs ? differs " of " NR " parts differ or failed" : same " parts, nothing differs"
        }' "$OUT/parts.tsv" >"$OUT/summary.txt"
}

# All of it in one file; ends the script.
summary() {
    write_summary
    echo
    cat "$OUT/summary.txt"
    rm -rf "$OUT/libs"
    tar -C "$(dirname "$OUT")" -czf "$OUT.tar.gz" "$(basename "$OUT")"
    echo "$(($(date +%s) - $1)) seconds; everything is in $OUT, and in $OUT.tar.gz"
    awk -F '\t' '$2 == 1 { bad = 1 } $2 == 0 { good = 1 } END { exit bad || !good }' "$OUT/parts.tsv"
    exit $?
}
