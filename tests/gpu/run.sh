#!/bin/sh
# run.sh [OUT] [--only REGEX] [--seconds N] [--stand-in]: what PyTorch's memory does on this machine's GPU, and how vramscope compares.
#
# One command, under ten minutes, no network. Needs a GPU and PyTorch 2.11 or newer with CUDA ($PYTHON, python3 otherwise), gcc;
# and vramscope: $VRAMSCOPE, or build/vramscope, which is built where it is missing. Where it cannot be built the figures are
# measured all the same; compare them later, anywhere: python3 tests/gpu/compare.py OUT build/vramscope
#
# Writes OUT (build/gpu without one): golden.jsonl and events.jsonl.gz as tests/gpu/measure.py says, differences.txt. To keep them
# as golden files: a folder of tests/golden/gpu named after the GPU. Exit status 0: nothing differs, 1: something does or failed,
# 3: skipped, no GPU here.
set -u
cd "$(dirname "$0")/../.." || exit 1
python=${PYTHON:-python3}
out=build/gpu
case ${1:-} in
'' | --*) ;;
*)
    out=$1
    shift
    ;;
esac

"$python" tests/gpu/measure.py "$out" "$@"
status=$?
if [ "$status" != 0 ]; then
    exit "$status"
fi
vramscope=${VRAMSCOPE:-build/vramscope}
if [ ! -x "$vramscope" ]; then
    make -j"$(nproc 2>/dev/null || echo 2)" all >"$out/build.log" 2>&1 || tail -n 5 "$out/build.log"
fi
if ! "$vramscope" --version >/dev/null 2>&1; then
    echo "$vramscope does not run here: measured, not compared"
    echo "compare elsewhere: python3 tests/gpu/compare.py $out build/vramscope"
    exit 1
fi
"$python" tests/gpu/compare.py "$out" "$vramscope"
