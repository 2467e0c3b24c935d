/*
 * lang/torch/tensor_methods.h - attributes of tensors, and methods that are not in the op table.
 *
 * For:            attribute access.
 * Must not know:  how attributes are looked up.
 * Invariant:      no attribute has the name of a method.
 */
#ifndef LANG_TENSOR_METHODS_H
#define LANG_TENSOR_METHODS_H

#include "lang/interp/call.h"
#include "lang/value/object.h"

/* t.name for an attribute (shape, dtype, grad, data, T …), a new reference; *found is false for any other name. */
VS_MUST_USE bool lang_tensor_attr(struct lang_vm *vm, struct eng_tensor *t,
                                  struct lang_string *name, struct lang_value *out, bool *found);
/* t.grad = …, t.data = …, t.requires_grad = … */
VS_MUST_USE bool lang_tensor_setattr(struct lang_vm *vm, struct eng_tensor *t,
                                     struct lang_string *name, struct lang_value value);
/*
 * t.grad = value, a tensor or None (borrowed). Fails with VS_E_TYPE or, where its shape or dtype is another than t's,
 * VS_E_SHAPE.
 */
VS_MUST_USE bool lang_tensor_set_grad(struct lang_vm *vm, struct eng_tensor *t,
                                      struct lang_value value);
/* del t.grad */
VS_MUST_USE bool lang_tensor_delattr(struct lang_vm *vm, struct eng_tensor *t,
                                     struct lang_string *name);

/* The arguments of to(). dtype and device are unchanged where they are not given. */
struct lang_to {
    bool has_dtype;
    enum vs_dtype dtype;
    bool has_device;
    bool on_host;
    bool copy;
};
/* Reads the arguments of a call of to() from index `from` on. */
VS_MUST_USE bool lang_to_args(struct lang_vm *vm, const struct lang_call *call, uint32_t from,
                              struct lang_to *out);
/* t.to(…), a new reference; t itself where nothing changes and `copy` is false. */
VS_MUST_USE bool lang_tensor_to(struct lang_vm *vm, struct eng_tensor *t, const struct lang_to *to,
                                struct lang_value *out);

/* Add the attributes and methods to the class Tensor. */
void lang_tensor_attrs_register(struct lang_vm *vm);
void lang_tensor_methods_register(struct lang_vm *vm);

/*
 * After eng_backward: true, or its failure is noted; where a reentrant checkpoint was called without an input that
 * requires grad, with the remedy as a hint.
 */
VS_MUST_USE bool lang_backward_check(struct lang_vm *vm);

#endif
