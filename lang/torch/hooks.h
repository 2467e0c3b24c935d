/*
 * lang/torch/hooks.h - hooks: functions of the net that backward calls after it has accumulated the gradient of a leaf.
 *
 * For:            lang/run/machine.c.
 * Must not know:  what the hooks do.
 * Invariant:      a hook is referenced by the tensor on which it is registered, not by its handle, as in PyTorch.
 */
#ifndef LANG_HOOKS_H
#define LANG_HOOKS_H

#include "lang/value/vm.h"

/* Adds Tensor.register_post_accumulate_grad_hook() and remove() of the handles that it returns. */
void lang_hooks_register(struct lang_vm *vm);

#endif
