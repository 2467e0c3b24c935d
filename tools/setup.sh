#!/bin/sh
# tools/setup.sh - installs what building, testing and checking need, on Debian and its relatives. Says what it will do,
# does nothing where nothing is missing, and where it may not install prints the command to run instead.
set -eu

missing=
need() { # need PACKAGE COMMAND…: the package is missing where the command fails
    package=$1
    shift
    if ! "$@" >/dev/null 2>&1; then
        missing="$missing $package"
    fi
}
header() { # header FILE…: all can be included
    for file in "$@"; do
        echo "#include <$file>"
    done | "${CC:-gcc}" -E -include stdarg.h -include stddef.h -include stdint.h -include setjmp.h -
}
# want PACKAGE COMMAND…: likewise, but the program is built without it as well
wanted=
want() {
    package=$1
    shift
    if ! "$@" >/dev/null 2>&1; then
        wanted="$wanted $package"
    fi
}
library() { pkg-config --exists "$1"; }

need gcc command -v gcc
need make command -v make
# the kernels of the CUDA device, compiled for the host by the tests
need g++ command -v g++
need libc6-dev header stdio.h
need pkg-config command -v pkg-config
need libsqlite3-dev library sqlite3
need libopenblas-dev library openblas
need libncurses-dev library ncursesw
need zlib1g-dev library zlib
need liblz4-dev library liblz4
need libzstd-dev library libzstd
need libcmocka-dev header cmocka.h
# for the tests on a real terminal, which are left out without it
need tmux command -v tmux
# for `make check` and .ci/run
need clang command -v clang
need clang-format-14 command -v clang-format-14
need sqlite3 command -v sqlite3

# packed snapshots are read faster with it
want libdeflate-dev library libdeflate
# several processes train a net for real with it
want libopenmpi-dev command -v mpicc
want openmpi-bin command -v mpirun

if [ -z "$missing" ]; then
    exit 0
fi
missing="$missing$wanted"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "set-up: this machine has no apt-get; install what these Debian packages hold, then run make" \
        "again:$missing" >&2
    exit 1
fi
install="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    as_root=sudo
else
    echo "set-up: these packages are missing:$missing" >&2
    echo "set-up: run as root:  apt-get update && $install" >&2
    exit 1
fi
echo "set-up: installing$missing"
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing
