#!/bin/sh
# tests/gpu/pack.sh [CARRY] - puts what tests/gpu/run.sh needs on a machine without compilers into CARRY (build/carry):
# programs without their symbols, the plug-in, and the libraries they are linked with that another machine may lack. Run
# after `make all cuda gpu-tests`.
set -eu
cd "$(dirname "$0")/../.."
carry=${1:-build/carry}
make -j"$(nproc 2>/dev/null || echo 2)" all cuda gpu-tests doubles
rm -rf "$carry"
mkdir -p "$carry/tests/gpu" "$carry/twin" "$carry/fake/cupti" "$carry/libs"
# and what --stand-in takes in the place of a GPU: small, and tells a script that fails from a GPU that does
for file in vramscope $(cd build && ls ./*.so 2>/dev/null) twin/vramscope_cuda.so tests/gpu/check \
    $(cd build && ls twin/libcupti.so.13 fake/libcuda.so.1 fake/cupti/libcupti.so.13 fake/programs 2>/dev/null) \
    $(cd build && ls tests/gpu/plain tests/gpu/test_gpu_* 2>/dev/null); do
    case $file in
    *.o | *.d) continue ;;
    esac
    strip -o "$carry/$file" "build/$file"
done
for file in "$carry/vramscope" "$carry/tests/gpu/check"; do
    ldd "$file" | awk '$2 == "=>" && $1 !~ /^lib(c|m|dl|pthread|rt|gcc_s|stdc\+\+)\.so/ { print $3 }'
done | sort -u | while read -r library; do
    cp -L "$library" "$carry/libs/"
done
du -sh "$carry"
