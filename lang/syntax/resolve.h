/*
 * lang/syntax/resolve.h - resolves every name of a file to a scope and slot.
 *
 * For:            lang_parse(), as its last step.
 * Must not know:  tokens, values.
 * Invariant:      slots, cells and captures are those of CPython 3.12 (tests compare them with CPython's for every
 *                 name).
 */
#ifndef LANG_RESOLVE_H
#define LANG_RESOLVE_H

#include "base/attr.h"
#include "base/error.h"
#include "base/mem.h"
#include "lang/syntax/ast.h"
#include "lang/syntax/strs.h"

/*
 * Sets the fields that the parser leaves open: the scope and slot of every lang_ref; of every code its parent,
 * qualname, slots, captures and flags; of every comprehension its hidden variables; the module's list of codes.
 *
 * VS_E_SYNTAX: errors that Python reports about names: a duplicate parameter, `nonlocal` without a binding, a name
 * used before its `global`, a walrus where it cannot bind.
 */
VS_MUST_USE enum vs_status lang_resolve(struct lang_module *module, struct vs_arena *arena,
                                        struct lang_strs *strs, struct vs_error *err);

#endif
