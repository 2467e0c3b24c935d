# tests/gpu/parts/machine.sh - which GPU, driver, CUDA and PyTorch; and what else uses the GPU.
# seconds: 40
"$PYTHON" tests/gpu/machine.py >"$OUT/machine.json" 2>"$OUT/machine.err" || {
    # no Python: what nvidia-smi and we say
    printf '{"machine": {"gpu": "%s", "stand_in": %s}}\n' \
        "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)" \
        "$([ -n "$STAND_IN" ] && echo true || echo false)" >"$OUT/machine.json"
}
nvidia-smi 2>/dev/null
uname -srm
nvcc --version 2>/dev/null | grep release
"$VRAMSCOPE" --version || exit 1
cat "$OUT/machine.json"
