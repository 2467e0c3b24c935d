#!/bin/sh
# tools/built-check.sh MAKE OUT - is every C, C++ and CUDA source of the repository compiled by `make everything`? Asks
# make for the commands it would run if nothing were built yet, and names the sources that none of them mentions. Where
# there is no CUDA toolkit, the ones that need its headers are listed as not built, and that is no failure.
set -eu
make=$1
out=$2

git rev-parse --git-dir >/dev/null 2>&1 || {
    echo "built-check: skipped, this is not a git repository"
    exit 0
}
commands=$(mktemp)
sources=$(mktemp)
trap 'rm -f "$commands" "$sources"' EXIT
$make --no-print-directory -nB V=1 B="$out" everything-but-the-check >"$commands" || {
    echo "built-check: make -nB everything fails"
    exit 1
}
git ls-files '*.c' '*.cc' '*.cu' | sort >"$sources"
missing=$(tr -s " '\"" '\n\n\n' <"$commands" | grep -E '\.(c|cc|cu)$' | sed 's,^\./,,' | sort -u |
    comm -13 - "$sources")
needs_cuda='^((tests/)?engine/device/cuda/|(tests/)?tracer/inject/|tests/tracer/cupti/|tests/gpu/plain)'
if grep -q nvcc "$commands"; then
    needs_cuda='^$'
fi
skipped=$(printf '%s\n' "$missing" | grep -E "$needs_cuda" || true)
missing=$(printf '%s\n' "$missing" | grep -vE "$needs_cuda" || true)
if [ -n "$skipped" ]; then
    printf 'built-check: not built, because there is no CUDA toolkit here:\n%s\n' "$skipped"
fi
if [ -n "$missing" ]; then
    printf 'built-check: no rule of the Makefile compiles:\n%s\n' "$missing"
    exit 1
fi
echo "built-check: $(wc -l <"$sources") sources, each is compiled by make everything"
