/*
 * lang/value/type.h - tables of functions through which lang/value/ and lang/interp/ call code of higher folders,
 * as CPython's type objects.
 *
 * For:            struct lang_vm, which has one of each. lang/interp/ defines the table of instances, lang/torch/ those
 *                 of tensors and modules.
 * Must not know:  how the functions work.
 * Invariant:      no entry is NULL. Operands are borrowed, results are new references; false: a failure has been
 *                 noted in the vm.
 */
#ifndef LANG_TYPE_H
#define LANG_TYPE_H

#include "lang/syntax/ast.h"
#include "lang/value/object.h"

struct lang_kwnames; /* lang/interp/call.h */

/* Instances of classes that the net defines. equal: a == b, where at least one of them is such an instance. */
struct lang_instance_type {
    bool (*equal)(struct lang_vm *vm, struct lang_value a, struct lang_value b, bool *out);
};

/*
 * Operations on tensors.
 *
 * getattr   t.name for attributes (shape, dtype, grad, data, T …); *found is false for methods and unknown names
 * setattr   t.grad = …, t.data = …, t.requires_grad = …
 * delattr   del t.grad
 * getitem, setitem  t[key], t[key] = value
 * binary, compare   a op b, where at least one is a tensor; compare has the operators ==, <, … and `in`
 * inplace   a op= b; *out is a
 * unary     -a, +a, ~a
 * truth     bool(t); t must have one element
 * rows      t.unbind(0) as a tuple, for iterating
 * item      t.item(): the one element as a Python number
 */
struct lang_tensor_type {
    bool (*getattr)(struct lang_vm *vm, struct eng_tensor *t, struct lang_string *name,
                    struct lang_value *out, bool *found);
    bool (*setattr)(struct lang_vm *vm, struct eng_tensor *t, struct lang_string *name,
                    struct lang_value value);
    bool (*delattr)(struct lang_vm *vm, struct eng_tensor *t, struct lang_string *name);
    bool (*getitem)(struct lang_vm *vm, struct eng_tensor *t, struct lang_value key,
                    struct lang_value *out);
    bool (*setitem)(struct lang_vm *vm, struct eng_tensor *t, struct lang_value key,
                    struct lang_value value);
    bool (*binary)(struct lang_vm *vm, enum lang_op op, struct lang_value a, struct lang_value b,
                   struct lang_value *out);
    bool (*inplace)(struct lang_vm *vm, enum lang_op op, struct lang_value a, struct lang_value b,
                    struct lang_value *out);
    bool (*unary)(struct lang_vm *vm, enum lang_op op, struct lang_value a, struct lang_value *out);
    bool (*compare)(struct lang_vm *vm, enum lang_op op, struct lang_value a, struct lang_value b,
                    struct lang_value *out);
    bool (*truth)(struct lang_vm *vm, struct eng_tensor *t, bool *out);
    bool (*rows)(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out);
    bool (*item)(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out);
};

/*
 * Operations on instances of nn.Module that differ from those of other instances.
 *
 * find     self.name where neither the class nor the attributes have it; borrowed, unbound where there is none
 * setattr  self.name = value for parameters, buffers and children; *done is false for a plain attribute, which the
 *          caller sets
 * delattr  del self.name; *done is false where there is no such parameter, buffer or child
 * call     module(args), with the contract of lang_call_at(), for a module whose class does not define __call__ itself
 * forget   emits the drop events of the parameters and buffers of a module that is freed
 */
struct lang_module_type {
    struct lang_value (*find)(const struct lang_module_instance *m, const struct lang_string *name);
    bool (*setattr)(struct lang_vm *vm, struct lang_module_instance *m, struct lang_string *name,
                    struct lang_value value, bool *done);
    bool (*delattr)(struct lang_vm *vm, struct lang_module_instance *m, struct lang_string *name,
                    bool *done);
    bool (*call)(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                 const struct lang_kwnames *kw);
    void (*forget)(struct lang_vm *vm, struct lang_module_instance *m);
};

#endif
