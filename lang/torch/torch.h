/*
 * lang/torch/torch.h - the modules torch, torch.cuda, torch.amp and torch.autograd: what in them is no row of the op
 * table.
 *
 * For:            the machine, when it is made.
 * Must not know:  what an op does.
 * Invariant:      a name that PyTorch has and that is not here is refused as any other unknown name.
 */
#ifndef LANG_TORCH_H
#define LANG_TORCH_H

struct lang_vm;

/* tensor(), dtypes, cuda … */
void lang_torch_register(struct lang_vm *vm);
/* no_grad, enable_grad, inference_mode, set_grad_enabled, detect_anomaly, autocast … */
void lang_modes_register(struct lang_vm *vm);

#endif
