/*
 * lang/syntax/resolve_slots.h - the last step: slots, cells, captures, qualified names.
 *
 * For:            resolve.c.
 * Must not know:  tokens, values.
 * Invariant:      names are met in the order in which CPython's compiler emits code for them.
 */
#ifndef LANG_RESOLVE_SLOTS_H
#define LANG_RESOLVE_SLOTS_H

#include "lang/syntax/resolve_internal.h"

/* Walk the module and fill in every lang_ref and lang_code. Scopes and symbols are complete. Cannot fail. */
void resolve_slots(struct resolver *r);

#endif
