#!/bin/sh
# tools/wheel/check.sh B - installs the wheel of B/wheel into a new environment without a network, runs the tests of the
# program (tests/e2e) with what was installed, and once over glibc 2.31 itself. With a PyTorch for CUDA in
# VRAMSCOPE_TORCH_PYTHON also tests/programs.
set -eu
build=$1
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

# Libraries that tests play lie beside the program under test. Those of the injection library are made for the one of
# this build.
ln -sfn "$(cd "$build" && pwd)/fake" "$venv/bin/fake"
tests=$(find "$build/tests/e2e" -name 'test_*' -type f -perm -u+x ! -name test_cupti ! -name test_device \
    ! -name test_record_driver ! -name test_account | sort)
[ "${VRAMSCOPE_TORCH_PYTHON:-}" ] && tests="$tests $build/tests/programs/test_programs"
# shellcheck disable=SC2086 # a list of words
VRAMSCOPE=$here/bin/vramscope sh tools/run-tests.sh "$build" $tests
