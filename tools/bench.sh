#!/bin/sh
# tools/bench.sh - runs benchmarks one after the other, prints their rows, and puts them into docs/guide/performance.md.
#
#   sh tools/bench.sh BUILD BENCHMARK…
#
# What a benchmark prints is in BUILD/bench/NAME.log. Exit status 1 where one failed; the others count all the same.
set -u
build=$1
shift
rows=$build/bench/rows
bad=0
: >"$rows"
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

machine() {
    cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
    system=$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release)
    printf 'machine\t%s cores of %s, %s, %s\n' "$(nproc)" "${cpu:-an unknown processor}" "$system" \
        "$(gcc --version | head -1 | sed 's/ (.*) / /')"
}

printf '%-62s %28s %28s\n' "" "now" "peer"
for bench in "$@"; do
    name=$(basename "$bench")
    before=$(wc -l <"$rows")
    start=$(date +%s)
    BENCH_ROWS=$rows VRAMSCOPE=$build/vramscope "$bench" >"$build/bench/$name.log" 2>&1
    status=$?
    echo "== $name: $(($(date +%s) - start)) s"
    tail -n +$((before + 1)) "$rows" |
        awk -F '\t' '{ printf "%-62s %28s", $2, $3; for (i = 4; i <= NF; i++) printf " %28s", $i; print "" }'
    [ $status -eq 0 ] || { echo "$name failed: $build/bench/$name.log"; bad=1; }
    [ "$(wc -l <"$rows")" -gt "$before" ] || tail -2 "$build/bench/$name.log"
done
machine >>"$rows"
sh tools/bench-table.sh docs/guide/performance.md "$rows" && exit $bad
exit 1
