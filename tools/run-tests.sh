#!/bin/sh
# run-tests.sh OUT PROGRAM…: runs the test programs, as many at a time as there are processors. Prints a line a program when it is done,
# with the processor time it took, the whole of what a failing one said, and at the end the sums over all of them, in words and as cmocka's
# closing lines. Exit status 1 if anything failed.
set -u

count() { # count WORD LOG: the sum over the lines "[  WORD  ] N test(s)": a program may run several groups
    sed -n "s/^\[  $1 *\] \([0-9]*\) test(s).*/\1/p" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

spent() { # spent FILE: processor time in seconds, from what `times` wrote there: its second line is of the shell's children
    awk 'NR == 2 { split($1, u, "m"); split($2, s, "m"); printf "%.1f", 60 * (u[1] + s[1]) + u[2] + s[2] }' "$1"
}

one() { # one OUT PROGRAM: run it and leave "passed failed skipped seconds" beside its log
    name=${2#"$1"/tests/}
    log=$1/test-logs/$(printf %s "$name" | tr / -).log
    # A program that hangs is a failure, not a reason to wait for ever.
    timeout "${TEST_TIMEOUT:-1200}" "$2" >"$log" 2>&1
    status=$?
    times >"${log%.log}.times" # not in a subshell: that has no children yet
    seconds=$(spent "${log%.log}.times")
    passed=$(count PASSED "$log")
    failed=$(count FAILED "$log")
    if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
        failed=1 # it ended before it could say so
    fi
    if [ "$failed" = 0 ]; then
        printf '%5d passed  %s, %s s\n' "$passed" "$name" "$seconds"
        sed -n '/^\[  SKIPPED \] [^0-9]/p' "$log" | sort -u
    else
        printf -- '---- %s: exit status %d\n%s\n' "$2" "$status" "$(cat "$log")"
    fi
    echo "$passed $failed $(count SKIPPED "$log") $seconds" >"${log%.log}.count"
}

if [ "$1" = --one ]; then
    one "$2" "$3"
    exit 0
fi
out=$1
shift
rm -rf "$out/test-logs"
mkdir -p "$out/test-logs"
# The long ones go first, so that no processor waits for them at the end.
printf '%s\n' "$@" | awk '{ print ($0 ~ /\/(facts|golden_check)\// ? 0 : 1), $0 }' | sort -s -n -k 1,1 | cut -d ' ' -f 2- |
    xargs -P "$(nproc 2>/dev/null || echo 2)" -I{} sh "$0" --one "$out" {}
cat "$out"/test-logs/*.count | awk -v programs=$# '
    { passed += $1; failed += $2; skipped += $3; spent += $4; seen++ }
    END {
        failed += programs - seen
        printf "%d passed, %d failed, %d skipped, %.1f minutes of processor time\n", passed, failed, skipped, spent / 60
        printf "[==========] %d test(s) run.\n[  PASSED  ] %d test(s).\n", passed + failed + skipped, passed
        if (skipped) printf "[  SKIPPED ] %d test(s).\n", skipped
        if (failed) printf "[  FAILED  ] %d test(s).\n", failed
        exit failed > 0 || passed == 0
    }'
