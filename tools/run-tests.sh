#!/bin/sh
# tools/run-tests.sh OUT PROGRAM… - runs the test programs, as many at a time as there are processors. Prints a line a
# program when it is done, with the processor time it took, the whole of what a failing one said, and at the end the
# tests that were skipped with their reasons and the sums over all of them, in words and as cmocka's closing lines. Exit
# status 1 if anything failed.
#
# Each program has a folder of its own for TMPDIR and HOME (XDG_CONFIG_HOME is unset) and TEST_TIMEOUT seconds (1200).
# The order is random within the long programs, which go first, and within the others: it is that of SHUFFLE, a
# number, which is printed. The same number gives the same order again. Skipped tests are added to SKIPPED_LIST too,
# where that names a file. What the programs said is in TEST_LOGS, or OUT/test-logs. EMULATOR, if set, runs them.
set -u
unset XDG_CONFIG_HOME

count() { # count WORD LOG: the sum over the lines "[  WORD  ] N test(s)": a program may run several groups
    sed -n "s/^\[  $1 *\] \([0-9]*\) test(s).*/\1/p" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

# spent FILE: processor time in seconds, from what `times` wrote there: its second line is of the shell's children.
spent() {
    LC_ALL=C awk '
        NR == 2 { split($1, u, "m"); split($2, s, "m"); printf "%.1f", 60 * (u[1] + s[1]) + u[2] + s[2] }' "$1"
}

one() { # one OUT PROGRAM: run it and leave "passed failed skipped seconds" beside its log
    name=${2#"$1"/tests/}
    log=$TEST_LOGS/$(printf %s "$name" | tr / -).log
    home=$(mktemp -d "${TMPDIR:-/tmp}/vramscope-test.XXXXXX")
    # Without a home the variable stays unset: that is what is tried then.
    [ -z "${HOME+set}" ] || export HOME="$home"
    TMPDIR=$home timeout --kill-after=20 "${TEST_TIMEOUT:-1200}" ${EMULATOR:-} "$2" >"$log" 2>&1
    status=$?
    rm -rf "$home"
    if [ "$status" = 124 ] || [ "$status" = 137 ]; then
        echo "run-tests: no end within ${TEST_TIMEOUT:-1200} s; the last line that begins with RUN names the test" \
            >>"$log"
    fi
    times >"${log%.log}.times" # not in a subshell: that has no children yet
    seconds=$(spent "${log%.log}.times")
    passed=$(count PASSED "$log")
    failed=$(count FAILED "$log")
    if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
        failed=1 # it ended before it could say so
    fi
    if [ "$failed" = 0 ]; then
        printf '%5d passed  %s, %s s\n' "$passed" "$name" "$seconds"
    else
        printf -- '---- %s: exit status %d\n%s\n' "$2" "$status" "$(cat "$log")"
    fi
    awk -v program="$name" '
        /^skipped because / { why = substr($0, 17) }
        /^\[  SKIPPED \] [^0-9]/ && !seen[$4]++ { print program ": " $4 ": " (why ? why : "no reason given"); why = "" }
    ' "$log" >"${log%.log}.skipped"
    echo "$passed $failed $(count SKIPPED "$log") $seconds" >"${log%.log}.count"
}

if [ "$1" = --one ]; then
    one "$2" "$3"
    exit 0
fi
out=$1
shift
export TEST_LOGS="${TEST_LOGS:-$out/test-logs}"
rm -rf "$TEST_LOGS"
mkdir -p "$TEST_LOGS"
SHUFFLE=${SHUFFLE:-$(awk 'BEGIN { srand(); print int(rand() * 1000000) }')}
echo "order of the programs: SHUFFLE=$SHUFFLE"
# The long ones go first, so that no processor waits for them at the end.
printf "%s\n" "$@" | LC_ALL=C sort |
    LC_ALL=C awk -v seed="$SHUFFLE" '
        BEGIN { srand(seed) }
        { print ($0 ~ /\/(facts|golden_check)\// ? 0 : 1), rand(), $0 }' |
    LC_ALL=C sort -s -k 1,1n -k 2,2g | cut -d ' ' -f 3- |
    xargs -P "$(nproc 2>/dev/null || echo 2)" -I{} sh "$0" --one "$out" {}
cat "$TEST_LOGS"/*.skipped | sort >"$TEST_LOGS/skipped"
if [ -s "$TEST_LOGS/skipped" ]; then
    echo "skipped:"
    sed 's/^/  /' "$TEST_LOGS/skipped"
    [ -z "${SKIPPED_LIST:-}" ] || cat "$TEST_LOGS/skipped" >>"$SKIPPED_LIST"
fi
cat "$TEST_LOGS"/*.count | LC_ALL=C awk -v programs=$# '
    { passed += $1; failed += $2; skipped += $3; spent += $4; seen++ }
    END {
        failed += programs - seen
        printf "%d passed, %d failed, %d skipped, %.1f minutes of processor time\n", passed, failed, skipped, spent / 60
        printf "[==========] %d test(s) run.\n[  PASSED  ] %d test(s).\n", passed + failed + skipped, passed
        if (skipped) printf "[  SKIPPED ] %d test(s).\n", skipped
        if (failed) printf "[  FAILED  ] %d test(s).\n", failed
        exit failed > 0 || passed == 0
    }'
