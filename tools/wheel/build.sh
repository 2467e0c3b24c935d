#!/bin/sh
# tools/wheel/build.sh MAKE FOLDER - builds the wheel into FOLDER: the program, its libraries, man page and sample nets,
# linked with glibc 2.28 and nothing else (tools/wheel/root.sh, old_math.c), for every Python. What needs CUDA's toolkit
# (calls of the driver, nets on a GPU) is in it where the toolkit is; WHEEL_CUDA=no leaves the CUDA device out, which
# takes minutes to compile. Without MPI, whose libraries differ from machine to machine.
set -eu
make=$1
folder=$2
[ "$(uname -m)" = x86_64 ] || { echo "make wheel: it is built on x86-64 alone" >&2; exit 1; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
root=$folder/root
objects=$folder/objects
stage=$folder/stage
sh tools/wheel/root.sh "$root"

library=$root/usr/lib/x86_64-linux-gnu
flags="--sysroot=$root -B$library/ -L$library -L$root/lib/x86_64-linux-gnu -ffile-prefix-map=$folder=."
mkdir -p "$objects"
for tool in gcc g++; do
    printf '#!/bin/sh\nexec %s %s "$@"\n' "$tool" "$flags" >"$folder/$tool"
    chmod +x "$folder/$tool"
done
"$folder/gcc" -O2 -fPIC -Wall -Wextra -Werror -c -o "$folder/old_math.o" tools/wheel/old_math.c
wrap=$(nm "$folder/old_math.o" | sed -n 's/.* T __wrap_/-Wl,--wrap=/p' | tr '\n' ' ')
set -- B="$objects" CC="$folder/gcc" LDFLAGS="-pthread $wrap $folder/old_math.o" LDLIBS="-l:libdeflate.a \
 -l:libsqlite3.a -l:libz.a -l:liblz4.a -l:libzstd.a -l:libncursesw.a -l:libtinfo.a -lm -ldl" HAS_DEFLATE=yes MPICC=
"$make" "$@" all
if [ "${WHEEL_CUDA:-yes}" != no ]; then
    "$make" "$@" NVCC_FLAGS="-ccbin $folder/g++ -Xcompiler -static-libstdc++,-static-libgcc" cuda
fi
# OpenBLAS's products, of which the CPU device uses two. Nothing else of it is seen.
"$folder/gcc" -shared -o "$objects/vramscope_blas.so" -Wl,-z,defs -Wl,--version-script=tools/wheel/blas.map \
    -Wl,-u,cblas_sgemm,-u,cblas_dgemm,-u,openblas_set_num_threads \
    "$library"/openblas-serial/libopenblas-r*.a -lm

rm -rf "$stage"
"$make" -s "$@" DESTDIR="$stage" PREFIX= install >/dev/null
strip --strip-unneeded "$stage/bin/vramscope" "$stage"/lib/vramscope/*.so
sh tools/wheel/elf_check.sh "$stage/bin/vramscope" "$stage"/lib/vramscope/*.so
python3 tools/wheel/pack.py "$stage" "$folder"
