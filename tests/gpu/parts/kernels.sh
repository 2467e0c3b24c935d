# tests/gpu/parts/kernels.sh - the tests of the CPU's kernels, their operands moved to the device.
# seconds: 60
ran=0
end=$(($(date +%s) + SECONDS_LEFT))
for name in copy index unary binary ternary random norm pool attention reduce matmul conv; do
    [ -z "$FEW" ] || [ $ran -lt 2 ] || break
    program=$BUILD/tests/gpu/test_gpu_$name
    left=$((end - $(date +%s)))
    if [ $left -lt 2 ]; then
        echo "no time was left for $name" >&2
        continue
    fi
    ran=$((ran + 1))
    timeout $left "$program" >"$OUT/kernels_$name.log" 2>&1
    status=$?
    if [ $status = 0 ]; then
        passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$OUT/kernels_$name.log")
        printf '{"case": "%s", "same": true, "tests": %s}\n' "$name" "${passed:-0}"
        rm -f "$OUT/kernels_$name.log"
    else
        printf '{"case": "%s", "same": false, "status": %d}\n' "$name" $status
        grep -E '^\[  (ERROR|FAILED)|: error:|allowed|^skipped' "$OUT/kernels_$name.log" | head -n 8 >&2
    fi
done >"$OUT/kernels.jsonl"
echo "$((ran - $(grep -c '"same": false' "$OUT/kernels.jsonl"))) of $ran programs pass"
! grep -q '"same": false' "$OUT/kernels.jsonl"
