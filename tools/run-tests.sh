#!/bin/sh
# run-tests.sh OUT PROGRAM…: runs the test programs, as many at a time as there are processors. Prints a line a program, the whole
# of what a failing one said, and at the end cmocka's closing lines over all of them. Exit status 1 if anything failed.
set -u
out=$1
shift
logs=$out/test-logs
rm -rf "$logs"
mkdir -p "$logs"

# A program that hangs is a failure, not a reason to wait for ever. The long ones go first, so that no processor waits for them at the end.
printf '%s\n' "$@" | awk '{ print ($0 ~ /\/(facts|golden_check)\// ? 0 : 1), $0 }' | sort -s -n -k 1,1 | cut -d ' ' -f 2- |
    xargs -P "$(nproc 2>/dev/null || echo 2)" -I{} sh -c '
    name=$(printf %s "${1#"$2"/tests/}" | tr / -)
    timeout "${TEST_TIMEOUT:-1200}" "$1" >"$3/$name.log" 2>&1
    echo $? >"$3/$name.status"' run {} "$out" "$logs"

passed=0
failed=0
skipped=0
count() { # count WORD LOG: the sum over the lines "[  WORD  ] N test(s)": a program may run several groups
    sed -n "s/^\[  $1 *\] \([0-9]*\) test(s).*/\1/p" "$2" | awk '{ n += $1 } END { print n + 0 }'
}
for program in "$@"; do
    name=${program#"$out"/tests/}
    log=$logs/$(printf %s "$name" | tr / -).log
    status=$(cat "${log%.log}.status" 2>/dev/null || echo none)
    ok=$(count PASSED "$log")
    bad=$(count FAILED "$log")
    left=$(count SKIPPED "$log")
    if [ "$status" != 0 ] && [ "$bad" = 0 ]; then
        bad=1 # it ended before it could say so
    fi
    if [ "$bad" != 0 ]; then
        echo "---- $program: exit status $status"
        cat "$log"
    else
        printf '%5d passed  %s\n' "$ok" "$name"
        sed -n '/^\[  SKIPPED \] [^0-9]/p' "$log" | sort -u
    fi
    passed=$((passed + ok))
    failed=$((failed + bad))
    skipped=$((skipped + left))
done
total=$((passed + failed + skipped))
echo "[==========] $total test(s) run."
echo "[  PASSED  ] $passed test(s)."
if [ "$skipped" != 0 ]; then
    echo "[  SKIPPED ] $skipped test(s)."
fi
if [ "$failed" != 0 ]; then
    echo "[  FAILED  ] $failed test(s)."
fi
[ "$failed" = 0 ] && [ "$passed" != 0 ]
