# tests/gpu/parts/sanitizer.sh - compute-sanitizer over the tests of kernels: accesses outside of allocations, races in
# shared memory, reads of what nobody wrote.
# seconds: 70
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer \
    /usr/local/cuda/compute-sanitizer/compute-sanitizer 2>/dev/null | head -n 1)
if [ -z "$sanitizer" ]; then
    echo "compute-sanitizer is not here"
    exit 3
fi
: >"$OUT/sanitizer.jsonl"
end=$(($(date +%s) + SECONDS_LEFT))
for tool in memcheck racecheck initcheck; do
    for name in copy index random norm pool attention; do
        left=$((end - $(date +%s)))
        [ $left -gt 3 ] || break 2
        log=$OUT/sanitizer_${tool}_$name.log
        timeout -k 2 "$((left < 25 ? left : 25))" \
            "$sanitizer" --tool $tool --error-exitcode 9 "$BUILD/tests/gpu/test_gpu_$name" >"$log" 2>&1
        status=$?
        said=same
        [ $status = 9 ] && said=errors
        if [ $status = 124 ] || [ $status = 137 ]; then said=unfinished; fi
        [ $status = 0 ] || [ $said != same ] || said=failed
        printf '{"tool": "%s", "case": "%s", "outcome": "%s", "errors": "%s"}\n' $tool $name $said \
            "$(sed -n 's/^=* ERROR SUMMARY: //p; s/^=* RACECHECK SUMMARY: //p' "$log" | tail -n 1)" \
            >>"$OUT/sanitizer.jsonl"
        if [ $said = same ] || [ $said = unfinished ]; then
            rm -f "$log"
        else
            grep -m 3 -E 'Invalid|hazard|Uninitialized|at .*cuda_' "$log"
        fi
    done
done
count() {
    grep -cE "\"outcome\": \"($1)\"" "$OUT/sanitizer.jsonl"
}
found=$(count 'errors|failed')
echo "$(count same) runs without a finding, $found with, $(count unfinished) not finished in time"
[ "$found" = 0 ]
