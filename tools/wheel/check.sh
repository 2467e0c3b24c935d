#!/bin/sh
# tools/wheel/check.sh B TEST... - installs the wheel of B/wheel into a new environment without a network, runs these
# test programs with what was installed, and the program once over glibc 2.31 itself. With a PyTorch for CUDA in
# VRAMSCOPE_TORCH_PYTHON it also records a training loop.
set -eu
build=$1
shift
folder=$build/wheel
venv=$folder/venv
root=$folder/root/lib/x86_64-linux-gnu
export TMPDIR="${TMPDIR:-/tmp}"

rm -rf "$venv"
python3 -m venv "$venv"
"$venv/bin/pip" install -q --no-index --no-deps "$folder"/vramscope-*.whl
[ "$("$venv/bin/python3" -m vramscope --version)" = "$("$venv/bin/vramscope" --version)" ] || {
    echo "wheel-check: python3 -m vramscope is another program" >&2; exit 1; }
[ -s "$venv/share/man/man1/vramscope.1" ] && [ -s "$venv/share/vramscope/sample_nets/lenet.py" ] || {
    echo "wheel-check: the man page or the sample nets are not there" >&2; exit 1; }

# Each library is the wheel's own, and the terminals of this machine's terminfo are found.
here=$(cd "$venv" && pwd -P)
for terminal in xterm-256color dumb linux; do
    TERM=$terminal "$venv/bin/vramscope" doctor --json >"$folder/doctor.json" || true
    python3 - "$folder/doctor.json" "$here" "$terminal" <<'P'
import json, sys
found = json.load(open(sys.argv[1]))
for name in ("standin", "openblas"):
    path = found[name]["path"] or "nowhere"
    if not path.startswith(sys.argv[2] + "/"):
        sys.exit("wheel-check: %s is at %s" % (name, path))
if not found["terminal"]["is_known"]:
    sys.exit("wheel-check: the terminal %s is not known" % sys.argv[3])
P
done

# glibc 2.31 runs it; for 2.28 there is what elf_check.sh read.
"$root/ld-2.31.so" --library-path "$root" "$venv/bin/vramscope" record "$venv/share/vramscope/sample_nets/lenet.py" \
    --device meta -f -o "$folder/lenet.db" >/dev/null
"$root/ld-2.31.so" --library-path "$root" "$venv/bin/vramscope" report "$folder/lenet.db" >/dev/null

# A training loop over the simulated GPU: the trace has the peak that PyTorch says.
if [ "${VRAMSCOPE_TORCH_PYTHON:-}" ]; then
    XDG_CACHE_HOME=$folder/cache "$venv/bin/vramscope" record --gpu a100-80 -f -o "$folder/loop.db" -- \
        "$VRAMSCOPE_TORCH_PYTHON" tests/programs/plain_loop.py >"$folder/loop.out"
    said=$(sed -n 's/^FIGURES \([0-9]*\) .*/\1/p' "$folder/loop.out")
    found=$("$venv/bin/vramscope" report --json "$folder/loop.db" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["peak"]["allocated"])')
    [ "$said" ] && [ "$said" = "$found" ] || {
        echo "wheel-check: PyTorch says a peak of $said bytes, the trace $found" >&2; exit 1; }
    echo "tests/programs/plain_loop.py: peak $found bytes, as PyTorch says"
fi

# Libraries that stand in for PyTorch and the driver lie beside the program under test.
ln -sfn "$(cd "$build" && pwd)/fake" "$venv/bin/fake"
VRAMSCOPE=$here/bin/vramscope sh tools/run-tests.sh "$build" "$@"
