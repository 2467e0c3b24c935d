#!/bin/sh
# run.sh [OUT] [--parts "NAME …"] [--minutes N] [--few] [--stand-in] [--plan]: everything of ours that a GPU can tell, in one command.
#
# Under ten minutes on an H200 with 16 processors, no network. Each part has its own time, and its failure stops no other. What tells most
# comes first. Parts joined by + run side by side: what they compare does not depend on time, and one waits for the processors
# while the other has the GPU. Times, and what fills the GPU's memory, are measured alone.
#
#     machine    GPU, driver, CUDA, PyTorch; what else uses the GPU
#     kernels    the tests of the CPU's kernels over the real ones
#     ops        every row of tests/engine/op_cases.def on the device and on the CPU, in three dtypes, twice
#     events     what happens on the device and on meta, event for event, places in segments included
#     steps      time of a step of resnet50 and gpt2_small against PyTorch eager, recorded and not
#     torch      PyTorch's memory on this GPU, and vramscope's figures and events beside it (measure.py, compare.py)
#     nets       losses and gradients against the CPU's; a second run's bits
#     programs   `vramscope record --` on a training script and on a plain CUDA program
#     cupti      records of CUPTI kept as files, for tests/golden/cupti
#     smi        the number of nvidia-smi beside ours
#     oom        out of memory on purpose, in each way
#     sanitizer  compute-sanitizer over the tests of kernels
#
# Writes OUT (build/gpu without one): PART.txt, what a part said; PART.jsonl, what it measured; machine.json; golden.jsonl and
# events.jsonl.gz as measure.py says; summary.txt and summary.json; and OUT.tar.gz, all of it in one file. Kept as golden files:
# tests/gpu/keep.sh OUT.
#
# --parts     only these, in this order; + as above. --plan: how many seconds each group may take, and nothing is run.
# --minutes   9.5 without it; a part that no time is left for is skipped and said so.
# --few       a handful of cases a part. --stand-in: without a GPU, a device made of host memory, a simulated CUPTI and driver, and
#             PyTorch on the stand-in of tests/oracle; for testing this script.
#
# Built files: in $BUILD (build/carry where tests/gpu/pack.sh left one, otherwise build): vramscope, vramscope_cuda.so and tests/gpu/*.
# What is missing is made where there are gcc and nvcc. So a machine with a GPU needs no compiler, no headers and no ncurses:
# `sh tests/gpu/pack.sh` where it was built, and take build/carry along. $PYTHON (python3 otherwise) has PyTorch 2.11 or newer; without it its
# parts are skipped.
#
# Exit status 0: nothing differs, 1: something does or failed, 3: skipped, no GPU here.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/gpu/parts/common.sh

ALL="machine+kernels+ops+events steps torch+nets programs+cupti smi oom sanitizer"
OUT=build/gpu
PARTS=$ALL
MINUTES=9.5
FEW=
STAND_IN=
PLAN=
case ${1:-} in
'' | --*) ;;
*)
    OUT=$1
    shift
    ;;
esac
while [ $# -gt 0 ]; do
    case $1 in
    --few) FEW=--few ;;
    --stand-in) STAND_IN=--stand-in ;;
    --plan) PLAN=1 ;;
    --parts | --minutes)
        if [ $# -lt 2 ]; then
            echo "run.sh: $1 needs a value" >&2
            exit 2
        fi
        [ "$1" = --parts ] && PARTS=$2
        [ "$1" = --minutes ] && MINUTES=$2
        shift
        ;;
    *)
        echo "run.sh: $1 is not known; see the head of $0" >&2
        exit 2
        ;;
    esac
    shift
done
for part in $(echo "$PARTS" | tr + ' '); do
    if [ ! -f "tests/gpu/parts/$part.sh" ]; then
        echo "run.sh: there is no part $part; these are: $ALL" >&2
        exit 2
    fi
done
if [ -n "$PLAN" ]; then
    plan "$PARTS"
    exit 0
fi

if [ -z "$STAND_IN" ] && [ ! -e /dev/nvidia0 ] && ! nvidia-smi -L >/dev/null 2>&1; then
    echo "skipped: this machine has no NVIDIA GPU (no /dev/nvidia0)"
    exit 3
fi
mkdir -p "$OUT" || exit 1
OUT=$(cd "$OUT" && pwd)
export OUT FEW STAND_IN
rm -f "$OUT/parts.tsv"
find_files
started=$(date +%s)
deadline=$(awk -v s="$started" -v m="$MINUTES" 'BEGIN { print int(s + 60 * m) }')

for group in $PARTS; do
    run_group "$group" "$deadline"
done
summary "$started"
