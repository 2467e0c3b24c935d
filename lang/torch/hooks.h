/*
 * lang/torch/hooks.h - functions of the net that backward calls when a leaf has got its gradient.
 *
 * For:            lang/run/machine.c.
 * Must not know:  what they do.
 * Invariant:      the functions are held by the tensor they are registered on, as in PyTorch: a handle holds none of
 *                 them.
 */
#ifndef LANG_HOOKS_H
#define LANG_HOOKS_H

#include "lang/value/vm.h"

/* Tensor.register_post_accumulate_grad_hook, and remove() of what it gives. */
void lang_hooks_register(struct lang_vm *vm);

#endif
