#!/bin/sh
# tools/wheel/elf_check.sh FILE... - whether programs and libraries run wherever the wheel says: no symbol newer than
# glibc 2.28, no library but glibc's, no search path of the machine that built them.
set -u
floor=${FLOOR:-2.28}
status=0
bad() { echo "wheel: $1" >&2; status=1; }
for file in "$@"; do
    newest=$(objdump -T "$file" | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -Vu | tail -1)
    [ "$(printf '%s\n%s\n' "$newest" "$floor" | sort -V | tail -1)" = "$floor" ] ||
        bad "$file needs glibc $newest: $(objdump -T "$file" | sed -n "s/.*(GLIBC_$newest) *//p" | tr '\n' ' ')"
    for needed in $(objdump -p "$file" | awk '$1 == "NEEDED" { print $2 }'); do
        case $needed in
        libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | ld-linux-x86-64.so.2) ;;
        *) bad "$file needs $needed" ;;
        esac
    done
    objdump -p "$file" | grep -E '^ *(RPATH|RUNPATH) ' && bad "$file has a search path"
    objdump -h "$file" | grep -q ' \.debug_info' && bad "$file is not stripped"
done
exit $status
