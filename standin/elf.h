/*
 * standin/elf.h - reads an ELF shared library: the libraries it needs, and the symbols it imports.
 *
 * For:            finding out which functions of CUDA an installed PyTorch calls.
 * Must not know:  CUDA.
 * Invariant:      the bytes of a file are never trusted: every offset and count is checked against the file's size
 *                 before it is used, and a file that does not fit is refused with the reason.
 */
#ifndef STANDIN_ELF_H
#define STANDIN_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"

/*
 * A symbol that the library uses and does not define. The strings are borrowed from the struct sti_elf.
 *
 * library, version  the library that must define it and the version it must have there; NULL, NULL: any library may
 */
struct sti_import {
    const char *name;
    const char *library;
    const char *version;
};

/*
 * The dynamic section of a library. The strings belong to it.
 *
 * soname   its name for others, or NULL
 * needed   names of the libraries it needs
 * imports  the symbols it imports, in the order of its table
 */
struct sti_elf {
    const char *soname;
    const char **needed;
    size_t needed_count;
    struct sti_import *imports;
    size_t import_count;
    char *strings;
};

/*
 * Read the library at `path`. Reads only its tables, not its code: some milliseconds for a library of 500 MB.
 *
 * names_only  do not read the imports, only one page of the file and its strings
 *
 * VS_E_NOT_FOUND: there is no such file. VS_E_IO: it cannot be read. VS_E_UNSUPPORTED: it is no shared library of
 * x86-64; the text names its architecture. VS_E_DAMAGED: its tables point outside the file. After a failure `out` is
 * empty; otherwise the caller releases it.
 */
VS_MUST_USE enum vs_status sti_elf_read(const char *path, bool names_only, struct sti_elf *out,
                                        struct vs_error *err);
void sti_elf_release(struct sti_elf *elf);

#endif
