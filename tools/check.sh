#!/bin/sh
# tools/check.sh MAKE OUT - everything that must hold before a commit. Stops at the first thing that does not. Says at
# the end what was skipped and why, and how long each part took.
set -eu
make=$1
out=$2
jobs=-j$(nproc 2>/dev/null || echo 2)
mkdir -p "$out"
export SKIPPED_LIST="$PWD/$out/skipped"
case $out in /*) SKIPPED_LIST=$out/skipped ;; esac
: >"$SKIPPED_LIST"
parts=
began=$(date +%s)
since=$began
name=

step() { # step NAME: the part before is over, this one begins
    now=$(date +%s)
    [ -z "$name" ] || parts="$parts$(printf '%6d s  %s' $((now - since)) "$name")
"
    since=$now
    name=$*
    [ -z "$name" ] || echo "== $name"
}
step layers, headers, layout, pages
$make "$jobs" B="$out" layer-check hdr-check format-check docs-check words-check files-check
step gcc: all that is in the tree
$make "$jobs" B="$out" CUDA_ARCH="${CUDA_ARCH:-90}" everything globals-check
step tests, whole grids
GRID_SHARE=1 $make B="$out" test
step clang: the program, tests and benchmarks
$make "$jobs" B="$out/clang" CC=clang all tests benches
# sanitizers are slow, and slower beside other work: only what hangs shall run into the limit
export TEST_TIMEOUT="${TEST_TIMEOUT:-3600}"
step tests, sanitizers: address, undefined
$make "$jobs" B="$out/asan" SAN=address,undefined all tests
$make B="$out/asan" SAN=address,undefined test
step tests where threads meet, sanitizer: thread
$make "$jobs" B="$out/tsan" SAN=thread all
$make "$jobs" B="$out/tsan" SAN=thread test-threads
step tests, edges: small rings, blocks and intervals, without optimisation
# the plain build has met the whole grids already
$make "$jobs" B="$out/stress" STRESS=1 DEBUG=1 all tests
GRID_SHARE=9 $make B="$out/stress" STRESS=1 DEBUG=1 test
step
if [ -s "$SKIPPED_LIST" ]; then
    echo "skipped:"
    sort "$SKIPPED_LIST" | uniq -c
fi
printf '%s%6d s  in all\n' "$parts" $(($(date +%s) - began))
echo "check: all of it holds"
