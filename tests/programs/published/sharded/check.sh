#!/bin/sh
# tests/programs/published/sharded/check.sh PYTHON SIMUMAX MEGATRON_0_14 MEGATRON_0_16 [CASE…] - measures peaks.tsv.
# All rows, or those of the CASEs. Prints what differs from the column `measured`, writing it there with WRITE=1; exit
# status 1 if something does. VRAMSCOPE is the program. SIMUMAX and MEGATRON_… are checkouts (README.md).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
vramscope=$(realpath "${VRAMSCOPE:-$here/../../../../build/vramscope}")
python=$1 scripts=$2/simu_tools/megatron_scripts megatron_0_14=$3 megatron_0_16=$4
shift 4
cases=" $* "
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

tail -n +2 "$here/peaks.tsv" | while IFS="$(printf '\t')" read -r case gpu rank _; do
    case $cases in "  " | *" $case "*) ;; *) continue ;; esac
    case $case in
    */*) checkout=$megatron_0_16 script=$megatron_0_16/pretrain_gpt.py ;;
    llama*) checkout=$megatron_0_14 script=$scripts/pretrain_gpt.py ;;
    *) checkout=$megatron_0_14 script=$scripts/pretrain_deepseekv2.py ;;
    esac
    (cd "$tmp" && "$vramscope" record --observe off --gpu "$gpu" --world 8 --rank "$rank" -f -o "$tmp/trace.db" -- \
        "$python" "$here/pretrain.py" "$checkout" "$script" "$case") </dev/null >"$tmp/said" 2>&1 ||
        { tail -20 "$tmp/said" >&2; exit 1; }
    printf '%s\t%s\t%s\n' "$case" "$rank" "$(sed -n 's/^peak 2 [0-9]* \([0-9]*\) .*/\1/p' "$tmp/said")"
done >"$tmp/measured"

awk -F'\t' -v OFS='\t' '
    NR == FNR { measured[$1, $2] = $3; next }
    FNR > 1 && ($1, $3) in measured {
        bytes = measured[$1, $3]
        rows++
        equal += bytes == $4
        if (bytes != $5) { print $1 " rank " $3 ": " bytes ", not " $5 >"/dev/stderr"; failed++ }
        $5 = bytes
    }
    { print >out }
    END {
        print rows + 0 " rows, " equal + 0 " as published, " failed + 0 " not as in the column measured" >"/dev/stderr"
        exit failed > 0 || !rows
    }' out="$tmp/peaks.tsv" "$tmp/measured" "$here/peaks.tsv" && failed=0 || failed=1
[ "${WRITE:-0}" = 0 ] || cp "$tmp/peaks.tsv" "$here/peaks.tsv"
exit $failed
