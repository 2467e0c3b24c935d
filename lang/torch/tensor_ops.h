/*
 * lang/torch/tensor_ops.h - operators, indexing and truth value of tensors.
 *
 * For:            the interpreter, through the vm's tensor_type.
 * Must not know:  expressions.
 * Invariant:      operands are borrowed, results are new references; every operator is an op of the op table.
 */
#ifndef LANG_TENSOR_OPS_H
#define LANG_TENSOR_OPS_H

#include "lang/value/type.h"

extern const struct lang_tensor_type lang_tensor_type;

/* t.item(): the only element as a Python number. Fails with VS_E_VALUE where t has not exactly one element. */
VS_MUST_USE bool lang_tensor_item(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out);
/* t.unbind(0) as a tuple, for iteration over t. */
VS_MUST_USE bool lang_tensor_rows(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out);

#endif
