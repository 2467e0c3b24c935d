/*
 * lang/torch/selective.h - which ops a selective checkpoint saves.
 *
 * For:            lang/torch/torch.c, lang/torch/checkpoint.c.
 * Must not know:  how results are kept: engine/autograd/selective.h.
 */
#ifndef LANG_SELECTIVE_H
#define LANG_SELECTIVE_H

#include "lang/value/vm.h"

struct eng_selective;

/* What torch._selective_new() gave, borrowed; NULL: another value. */
struct eng_selective *lang_selective_of(struct lang_value value);

/* Adds torch._selective_new and torch._aten_known. */
void lang_selective_register(struct lang_vm *vm);

#endif
