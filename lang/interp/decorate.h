/*
 * lang/interp/decorate.h - context managers as decorators: `@torch.no_grad()` above a function.
 *
 * For:            lang/interp/call.c.
 * Must not know:  which context managers exist.
 * Invariant:      the context is entered before and exited after each call of a decorated function, also when it fails.
 */
#ifndef LANG_DECORATE_H
#define LANG_DECORATE_H

#include "lang/interp/call.h"

/*
 * Calls a context manager with a function as its argument, which gives the decorated function. Contract as for
 * lang_call_at().
 */
VS_MUST_USE bool lang_context_decorate(struct lang_vm *vm, struct lang_value *at,
                                       uint32_t arg_count, const struct lang_kwnames *kw);

/* Calls a decorated function, which is at[0]. Contract as for lang_call_at(). */
VS_MUST_USE bool lang_context_run(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                                  const struct lang_kwnames *kw);

#endif
