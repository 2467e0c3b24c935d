/*
 * standin/needs.h - the libraries of CUDA that some files need, with the functions they import from each.
 *
 * For:            deciding which stub libraries to write, with which functions.
 * Must not know:  what the functions do; where the files come from.
 * Invariant:      a function is in one library, once for each version it is imported with.
 */
#ifndef STANDIN_NEEDS_H
#define STANDIN_NEEDS_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/mem.h"
#include "standin/stub.h"

/* A library. The strings belong to the struct sti_needs. */
struct sti_need {
    const char *soname;
    struct sti_stub_symbol *symbols;
    size_t count, cap;
};

/* Zero-initialise; release after use. loose: functions whose library is not known yet. */
struct sti_needs {
    struct vs_arena *strings;
    struct sti_need *libraries;
    size_t count, cap;
    const char **loose;
    size_t loose_count, loose_cap;
};

/* Add the library `soname`, with no functions so far, if it is not there. */
void sti_needs_library(struct sti_needs *needs, const char *soname);
/* Add a function to a library. version: NULL: without one. */
void sti_needs_symbol(struct sti_needs *needs, const char *soname, const char *name,
                      const char *version);
/*
 * Add a function to the library of its family, once sti_needs_settle is called: with the version that the functions of
 * that library have.
 */
void sti_needs_function(struct sti_needs *needs, const char *name);
/*
 * Add all that the library at `path` needs of CUDA. A file that needs nothing of it adds nothing. Errors: those of
 * sti_elf_read.
 */
VS_MUST_USE enum vs_status sti_needs_file(struct sti_needs *needs, const char *path,
                                          struct vs_error *err);
/*
 * Add the functions of the driver and of NVML whose names are texts in the library at `path`: those it looks up by
 * name. A file of more than 16 MiB is not read: PyTorch's lookups are in a small library. VS_E_IO: it cannot be read.
 */
VS_MUST_USE enum vs_status sti_needs_names(struct sti_needs *needs, const char *path,
                                           struct vs_error *err);
/*
 * Give each function without a library to the one of its family, without a version where all of that library have
 * none. Functions of libraries that are not in the list are left out. Call it once, after all has been added.
 */
void sti_needs_settle(struct sti_needs *needs);
void sti_needs_release(struct sti_needs *needs);

#endif
