/*
 * lang/value/type.h - what values do that only folders above value/ can say: tables of functions, as CPython's type
 * objects.
 *
 * For:            the machine (lang/value/vm.h), which has one of each; lang/interp/ has that of instances, lang/torch/
 *                 the others.
 * Must not know:  what the functions do.
 * Invariant:      no entry is NULL. Operands are lent, results are the caller's; false: failed, and the failure is
 *                 noted.
 */
#ifndef LANG_TYPE_H
#define LANG_TYPE_H

#include "lang/syntax/ast.h"
#include "lang/value/object.h"

struct lang_kwnames; /* lang/interp/call.h */

/* Objects of the net's own classes. equal: a == b where one of them is such an object. */
struct lang_instance_type {
    bool (*equal)(struct lang_vm *vm, struct lang_value a, struct lang_value b, bool *out);
};

/*
 * Tensors.
 *
 * getattr   t.name, where it is an attribute (shape, dtype, grad, data, T …) and no method; *found says so
 * setattr   t.grad = …, t.data = …, t.requires_grad = …
 * delattr   del t.grad
 * getitem, setitem  t[key], t[key] = value
 * binary, compare   a op b, where one of them is a tensor; compare has the operators that give a bool
 * inplace   a op= b, which gives a itself
 * unary     -a, +a, ~a
 * truth     bool(t) of its one element
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
 * What instances of nn.Module do besides what every instance does.
 *
 * find     self.name where neither the class nor the attributes have it. Borrowed; unbound: none
 * setattr  self.name = value: parameters, buffers and children go where they belong; *done is false where it is a plain
 *          attribute, which the caller sets
 * delattr  del self.name; *done is false where there is no such parameter, buffer or child
 * call     module(args), as lang_call_at, for a module whose class does not define __call__ itself
 * forget   the module dies: the trace gets the drops of its parameters and buffers
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
