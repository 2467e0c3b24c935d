/*
 * lang/syntax/resolve_slots.h - the last step of name resolution: slots, cells, captures, qualified names.
 *
 * For:            resolve.c.
 * Must not know:  tokens, values.
 * Invariant:      names are visited in the order in which CPython's compiler emits code for them.
 */
#ifndef LANG_RESOLVE_SLOTS_H
#define LANG_RESOLVE_SLOTS_H

#include "lang/syntax/resolve_internal.h"

/* Sets every lang_ref and lang_code of the module. resolve_collect() and resolve_bind() must have run. Cannot fail. */
void resolve_slots(struct resolver *r);

#endif
