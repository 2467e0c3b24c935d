/*
 * lang/torch/autograd_function.h - torch.autograd.Function and the checkpoint of torch.utils.checkpoint.
 *
 * For:            lang/run/machine.c, which creates a vm.
 * Must not know:  which nets use them.
 * Invariant:      both reach the engine's graph only through engine/autograd/autograd.h and
 *                 engine/autograd/checkpoint.h.
 */
#ifndef LANG_AUTOGRAD_FUNCTION_H
#define LANG_AUTOGRAD_FUNCTION_H

struct lang_vm;

/* Add torch.autograd.Function, and torch.utils.checkpoint's checkpoint functions, to the vm's modules. */
void lang_autograd_function_register(struct lang_vm *vm);
void lang_checkpoint_register(struct lang_vm *vm);

#endif
