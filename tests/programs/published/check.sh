#!/bin/sh
# tests/programs/published/check.sh PYTHON… - measures every row of peaks.tsv whose PyTorch one of these Pythons has.
# Prints what differs from the column `measured`; exit status 1 if something does. VRAMSCOPE is the program.
set -eu
cd "$(dirname "$0")/../../.."
peaks=tests/programs/published/peaks.tsv
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for python in "$@"; do
    version=$("$python" -c 'import importlib.metadata as m; print(".".join(m.version("torch").split(".")[:2]))')
    # a process for each kernel, as in the benchmark: cuBLAS keeps its workspaces
    awk -F'\t' -v v="$version" 'NR > 1 && $11 == v { print $8 "\t" $1 }' $peaks | sort -u >"$tmp/groups"
    while IFS="$(printf '\t')" read -r gpu kernel; do
        case $gpu in
        *A100*) target=a100-80 ;;
        *"H100 PCIe"*) target=h100-pcie ;;
        *H100*) target=h100 ;;
        *3090*) target=rtx3090 ;;
        *B200*) target=b200 ;;
        esac
        "${VRAMSCOPE:-build/vramscope}" record --gpu $target -f -o "$tmp/trace.db" -- "$python" \
            tests/programs/published/measure.py $peaks "$gpu" "$kernel" </dev/null 2>"$tmp/said" ||
            { cat "$tmp/said"; exit 1; }
    done <"$tmp/groups" >>"$tmp/out"
done
awk -F'\t' '
    NR == FNR { split($0, word, " "); if (word[1] == "ROW") bytes[word[2]] = word[3]; next }
    FNR > 1 && FNR in bytes {
        rows++
        equal += bytes[FNR] == $6
        if (bytes[FNR] != $12) { print "line " FNR ": " $1 " " $5 ": " bytes[FNR] ", not " $12; failed++ }
    }
    END {
        print rows + 0 " rows, " equal + 0 " as published, " failed + 0 " not as in the column measured"
        exit failed > 0 || !rows
    }' "$tmp/out" $peaks
