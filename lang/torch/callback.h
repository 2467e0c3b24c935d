/*
 * lang/torch/callback.h - calls from the engine into the net: backward of a custom function, recomputation of a
 * checkpoint.
 *
 * For:            lang/torch/autograd_function.c, lang/torch/checkpoint.c.
 * Must not know:  which callback it is.
 * Invariant:      a callback leaves the stack, the location and the failure state of the vm unchanged, except for a
 *                 failure in the net, which is also passed to the engine.
 */
#ifndef LANG_CALLBACK_H
#define LANG_CALLBACK_H

#include "lang/value/vm.h"

struct lang_callback {
    struct lang_value *sp;
    const char *func;
    uint32_t line;
};

/* Called first in a callback: saves the vm's state in *cb and adopts the location that the engine has set. */
void lang_callback_begin(struct lang_vm *vm, struct lang_callback *cb);
/*
 * Called last in a callback: restores the state. ok: the callback succeeded. Where the engine
 * itself stopped a recomputation early, the noted failure is cleared. Returns `ok`, which the callback passes on to the
 * engine.
 */
VS_MUST_USE bool lang_callback_end(struct lang_vm *vm, struct lang_callback *cb, bool ok);

#endif
