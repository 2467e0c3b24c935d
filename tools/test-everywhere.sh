#!/bin/sh
# tools/test-everywhere.sh MAKE OUT [WORD…] - the tests in surroundings that must not matter: as another user, with
# other kernels of OpenBLAS, just after boot, in other locales, without HOME or TERM, in two orders, and beside a second
# copy. WORD: only the surroundings whose name has it. Prints a line for each, goes on after a failure, and exits with
# status 1 if there was one. Needs root, unshare and localedef; what cannot be tried here is listed with the reason.
set -u
make=$1
out=$2
shift 2
words=$*
results=$(mktemp)
work=$(mktemp -d)
trap 'rm -rf "$results" "$work"' EXIT
$make B="$out" all tests doubles || exit 1
chmod 755 "$work"
VRAMSCOPE=$(realpath "$out/vramscope")
export VRAMSCOPE
ALL=$($make -s B="$out" print-tests)
# The programs that compute, that wait, that read a clock, and that print or read numbers.
NUMBERS=$(printf '%s\n' $ALL |
    grep -E '/(golden_check/test_(golden_numbers|arithmetic)|engine/device/|facts/test_devices$)')
TEXTS=$(printf '%s\n' $ALL | grep -E '/(base|cli|lang|export|import|recording|store|tui|e2e)/')
CLOCKS=$(printf '%s\n' $ALL | grep -E '/(tracer|store|facts/test_kill|e2e/test_record|tui/test_(terminal|app))')

tried() { # tried NAME COMMAND…: run it, unless NAME was not asked for
    name=$1
    shift
    if [ -n "$words" ]; then
        found=
        for word in $words; do
            case $name in *"$word"*) found=yes ;; esac
        done
        [ -n "$found" ] || return 0
    fi
    log=$work/$(printf %s "$name" | tr -c 'a-zA-Z0-9' _)
    export TEST_LOGS="$log.logs"
    if "$@" >"$log" 2>&1; then
        verdict="passes"
    else
        verdict="FAILS"
        grep -A40 '^---- ' "$log"
    fi
    printf '%-6s  %s: %s\n' "$verdict" "$name" "$(grep ' passed, ' "$log" | tail -n 1)" | tee -a "$results"
}

left_out() { # left_out NAME WHY
    printf 'left out  %s: %s\n' "$1" "$2" | tee -a "$results"
}

suite() { # suite PROGRAM…
    sh tools/run-tests.sh "$out" "$@"
}

as_other_user() {
    chmod 777 "$work"
    runuser -u nobody -- env HOME=/nonexistent TEST_LOGS="$TEST_LOGS" VRAMSCOPE="$VRAMSCOPE" \
        sh tools/run-tests.sh "$out" $ALL
}

beside_a_copy() {
    TEST_LOGS=$TEST_LOGS.copy sh tools/run-tests.sh "$out" $ALL >"$work/copy" 2>&1 &
    copy=$!
    suite $ALL
    status=$?
    wait $copy || status=1
    cat "$work/copy"
    return $status
}

just_booted() {
    up=$(cut -d. -f1 /proc/uptime)
    unshare --time --monotonic "-$up" --boottime "-$up" sh tools/run-tests.sh "$out" $CLOCKS
}

with_comma() {
    mkdir -p "$work/locales"
    localedef -i de_DE -f UTF-8 "$work/locales/de_DE.UTF-8" || return 1
    env LOCPATH="$work/locales" LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 sh tools/run-tests.sh "$out" $TEXTS
}

tried "as $(id -un)" suite $ALL
if [ "$(id -u)" = 0 ]; then
    tried "as another user" as_other_user
else
    left_out "as another user" "this is not root"
fi
for core in Prescott Haswell SkylakeX Zen; do
    tried "OPENBLAS_CORETYPE=$core" env OPENBLAS_CORETYPE=$core sh tools/run-tests.sh "$out" $NUMBERS
done
for cpu in baseline avx2 avx512; do
    tried "VRAMSCOPE_CPU=$cpu" env VRAMSCOPE_CPU=$cpu sh tools/run-tests.sh "$out" $NUMBERS
done
if unshare --time true 2>/dev/null; then
    tried "a machine that was booted a second ago" just_booted
else
    left_out "a machine that was booted a second ago" "unshare --time is not allowed"
fi
tried "LANG=C" env -u LC_ALL LANG=C sh tools/run-tests.sh "$out" $TEXTS
if command -v localedef >/dev/null && [ -e /usr/share/i18n/locales/de_DE ]; then
    tried "a decimal comma" with_comma
else
    left_out "a decimal comma" "localedef or the source of de_DE is missing"
fi
tried "no HOME and no TERM" env -u HOME -u TERM sh tools/run-tests.sh "$out" $TEXTS
tried "SHUFFLE=1" env SHUFFLE=1 sh tools/run-tests.sh "$out" $(printf "%s\n" $CLOCKS $TEXTS | sort -u)
tried "beside a second copy" beside_a_copy
echo "== all"
cat "$results"
! grep -q '^FAILS' "$results"
