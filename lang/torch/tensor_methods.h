/*
 * lang/torch/tensor_methods.h - what a tensor value has besides the ops: attributes, and methods that are no row of the
 * op table.
 *
 * For:            attribute access.
 * Must not know:  how names are searched.
 * Invariant:      an attribute and a method never share a name.
 */
#ifndef LANG_TENSOR_METHODS_H
#define LANG_TENSOR_METHODS_H

#include "lang/interp/call.h"
#include "lang/value/object.h"

/* t.name, where it is an attribute (shape, dtype, grad, data, T …); *found says so. */
VS_MUST_USE bool lang_tensor_attr(struct lang_vm *vm, struct eng_tensor *t,
                                  struct lang_string *name, struct lang_value *out, bool *found);
/* t.grad = …, t.data = …, t.requires_grad = … */
VS_MUST_USE bool lang_tensor_setattr(struct lang_vm *vm, struct eng_tensor *t,
                                     struct lang_string *name, struct lang_value value);
/* del t.grad */
VS_MUST_USE bool lang_tensor_delattr(struct lang_vm *vm, struct eng_tensor *t,
                                     struct lang_string *name);

/* The arguments of to() from `from` on. Each of dtype and device is left alone where it is not given. */
struct lang_to {
    bool has_dtype;
    enum vs_dtype dtype;
    bool has_device;
    bool on_host;
    bool copy;
};
VS_MUST_USE bool lang_to_args(struct lang_vm *vm, const struct lang_call *call, uint32_t from,
                              struct lang_to *out);
/* t.to(…) under the current modes. */
VS_MUST_USE bool lang_tensor_to(struct lang_vm *vm, struct eng_tensor *t, const struct lang_to *to,
                                struct lang_value *out);

/* The attributes and the methods of the class Tensor. */
void lang_tensor_attrs_register(struct lang_vm *vm);
void lang_tensor_methods_register(struct lang_vm *vm);

#endif
