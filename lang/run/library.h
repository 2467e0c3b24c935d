/*
 * lang/run/library.h - the parsed standard library of the net language, which many vms may share, also at the same
 * time in several threads.
 *
 * For:            code that runs a net more than once (what-ifs, in-place checks). A vm that is given none parses the
 *                 files itself.
 * Must not know:  lang_vm.
 * Invariant:      constant after lang_library_new().
 */
#ifndef LANG_LIBRARY_H
#define LANG_LIBRARY_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"

struct lang_library;
struct lang_module;

/*
 * Parses all files of lang/prelude/, which takes some milliseconds. The caller frees *out, after every vm that uses it.
 * Fails with VS_E_SYNTAX only if a file of the library is wrong.
 */
VS_MUST_USE enum vs_status lang_library_new(struct lang_library **out, struct vs_error *err);
void lang_library_free(struct lang_library *library);

/* The syntax tree of file number `i` (from 0, in the order of lang/prelude/prelude.h), borrowed from the library. */
const struct lang_module *lang_library_module(const struct lang_library *library, size_t i);

#endif
