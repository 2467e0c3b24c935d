#!/bin/sh
# tests/gpu/keep.sh OUT - puts what run.sh measured on a GPU under tests/golden/gpu/<GPU>/, where it is committed.
set -eu
cd "$(dirname "$0")/../.."
out=${1:?"keep.sh OUT: the folder that tests/gpu/run.sh wrote"}
gpu=$(sed -n 's/.*"gpu": "\([^"]*\)".*/\1/p' "$out/machine.json" | head -n 1 | tr 'A-Z ' 'a-z_' | tr -cd 'a-z0-9_-')
[ -n "$gpu" ] || {
    echo "keep.sh: $out/machine.json names no GPU" >&2
    exit 1
}
if grep -q '"stand_in": true' "$out/machine.json" "$out/golden.jsonl" 2>/dev/null; then
    echo "keep.sh: $out was made on a stand-in" >&2
    exit 1
fi
to=tests/golden/gpu/$gpu
mkdir -p "$to"
for file in machine.json summary.json summary.txt golden.jsonl events.jsonl.gz differences.txt ops.jsonl \
    kernels.jsonl nets.jsonl steps.jsonl oom.jsonl programs.jsonl cupti.jsonl sanitizer.jsonl smi.jsonl; do
    if [ -f "$out/$file" ]; then
        cp "$out/$file" "$to/"
    fi
done
# events.jsonl.gz has PyTorch's lists; ours against meta need another name
[ ! -f "$out/events.jsonl" ] || cp "$out/events.jsonl" "$to/events_meta.jsonl"
gzip -nf "$to/ops.jsonl" "$to/events_meta.jsonl" 2>/dev/null || true
if [ -d "$out/cupti" ]; then
    mkdir -p tests/golden/cupti
    for file in "$out"/cupti/*.txt; do # test_cupti_captured replays these files
        [ ! -s "$file" ] || cp "$file" "tests/golden/cupti/${gpu}_$(basename "$file")"
    done
fi
du -sh "$to"
