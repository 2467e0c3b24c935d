#!/bin/sh
# check.sh MAKE OUT: everything that must hold before a commit. Stops at the first thing that does not.
set -eu
make=$1
out=$2

step() {
    echo "== $*"
}
step layers, headers, layout, pages
$make B="$out" layer-check hdr-check format-check docs-check
step gcc
$make B="$out" all tests globals-check
$make B="$out" test
step clang
$make B="$out/clang" CC=clang all tests
step sanitizers: address, undefined
# sanitizers are slow, and slower beside other work: only what hangs shall run into the limit
export TEST_TIMEOUT="${TEST_TIMEOUT:-3600}"
$make B="$out/asan" SAN=address,undefined test
step sanitizer: thread
$make B="$out/tsan" SAN=thread test-threads
step edges: small rings, blocks and intervals
# the plain build has met the whole grids already
GRID_SHARE=9 $make B="$out/stress" STRESS=1 test
echo "check: all of it holds"
