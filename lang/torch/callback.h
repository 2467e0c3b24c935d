/*
 * lang/torch/callback.h - the engine calls back into the net: backward of a custom function, re-run of a checkpoint.
 *
 * For:            lang/torch/autograd_function.c, lang/torch/checkpoint.c.
 * Must not know:  which callback.
 * Invariant:      the stack, the place and the failure are the same after a callback as before, save for a failure that
 *                 is a real one, which the engine gets, too.
 */
#ifndef LANG_CALLBACK_H
#define LANG_CALLBACK_H

#include "lang/value/vm.h"

struct lang_callback {
    struct lang_value *sp;
    const char *func;
    uint32_t line;
};

/* The engine has set the place itself: take note of it. */
void lang_callback_begin(struct lang_vm *vm, struct lang_callback *cb);
/* ok: what the callback came to; returns what the engine gets. A stopped re-run drops its frames here. */
VS_MUST_USE bool lang_callback_end(struct lang_vm *vm, struct lang_callback *cb, bool ok);

#endif
