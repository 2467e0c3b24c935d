/*
 * lang/torch/tensor_ops.h - operators, items and truth of tensors.
 *
 * For:            the interpreter, through the machine's tensor_type.
 * Must not know:  expressions.
 * Invariant:      operands are lent, results are the caller's; every operator is a row of the op table.
 */
#ifndef LANG_TENSOR_OPS_H
#define LANG_TENSOR_OPS_H

#include "lang/value/type.h"

extern const struct lang_tensor_type lang_tensor_type;

/* t.item(): the one element as a Python number. */
VS_MUST_USE bool lang_tensor_item(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out);
/* t.unbind(0) as a tuple, for iterating. */
VS_MUST_USE bool lang_tensor_rows(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out);

#endif
