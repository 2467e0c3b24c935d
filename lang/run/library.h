/*
 * lang/run/library.h - the standard library of the net language, parsed: for many machines, one after the other or at
 * once.
 *
 * For:            who runs a net more than once (what-ifs, in-place trials). A machine that is given none parses the
 *                 files itself.
 * Must not know:  machines.
 * Invariant:      nothing in it changes once it is made.
 */
#ifndef LANG_LIBRARY_H
#define LANG_LIBRARY_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"

struct lang_library;
struct lang_module;

/* Fails only if the library itself is wrong. It must outlive every machine that was given it. Some milliseconds. */
VS_MUST_USE enum vs_status lang_library_new(struct lang_library **out, struct vs_error *err);
void lang_library_free(struct lang_library *library);

/* The tree of file number `i` in the order of lang/prelude/prelude.h, borrowed. */
const struct lang_module *lang_library_module(const struct lang_library *library, size_t i);

#endif
