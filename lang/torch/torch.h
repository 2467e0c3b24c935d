/*
 * lang/torch/torch.h - those parts of the modules torch, torch.cuda, torch.amp and torch.autograd that are not in the
 * op table.
 *
 * For:            lang/run/machine.c, which creates a vm.
 * Must not know:  what an op computes.
 * Invariant:      a PyTorch name that is missing here is refused like any other unknown name.
 */
#ifndef LANG_TORCH_H
#define LANG_TORCH_H

struct lang_vm;

/*
 * Adds everything that this folder has: tensor(), dtypes and torch.cuda, the names of the op table, methods and
 * attributes of tensors, nn.Module, and what the functions below and those of the other headers add. After
 * lang_builtins_register.
 */
void lang_torch_register(struct lang_vm *vm);
/* Adds _set_category, _has_data, _deal … */
void lang_prelude_functions_register(struct lang_vm *vm);
/* Adds no_grad, enable_grad, inference_mode, set_grad_enabled, detect_anomaly, autocast … */
void lang_modes_register(struct lang_vm *vm);
void lang_parts_register(struct lang_vm *vm);

#endif
