/*
 * lang/interp/decorate.h - contexts as decorators: `@torch.no_grad()` above a function.
 *
 * For:            lang/interp/call.c.
 * Must not know:  which contexts there are.
 * Invariant:      a decorated function runs inside its context, however it is left.
 */
#ifndef LANG_DECORATE_H
#define LANG_DECORATE_H

#include "lang/interp/call.h"

/* `@torch.no_grad()`: calling a context with a function gives that function inside the region. As lang_call_at. */
VS_MUST_USE bool lang_context_decorate(struct lang_vm *vm, struct lang_value *at,
                                       uint32_t arg_count, const struct lang_kwnames *kw);

/* Call such a function: at[0] is what lang_context_decorate made. As lang_call_at. */
VS_MUST_USE bool lang_context_run(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                                  const struct lang_kwnames *kw);

#endif
