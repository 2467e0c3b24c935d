/*
 * lang/interp/ops.h - operators: what +, [], <, in … do with values of every kind.
 *
 * For:            the interpreter, the built-ins.
 * Must not know:  expressions.
 * Invariant:      operands are lent, results are the caller's; tensors go to the machine's tensor_type, objects of the
 *                 net's own classes to their special methods.
 */
#ifndef LANG_OPS_H
#define LANG_OPS_H

#include "lang/syntax/ast.h"
#include "lang/value/object.h"
#include "lang/value/vm.h"

/* == and != of objects of the net's own classes, by __eq__; the machine's instance_type. */
extern const struct lang_instance_type lang_instance_type;

/* bool(v); of a tensor: its one element. */
VS_MUST_USE bool lang_truth(struct lang_vm *vm, struct lang_value v, bool *out);
/* a < b for numbers, strings, lists and tuples of them. */
VS_MUST_USE bool lang_less(struct lang_vm *vm, struct lang_value a, struct lang_value b, bool *out);

/* a op b. */
VS_MUST_USE bool lang_binary(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                             struct lang_value b, struct lang_value *out);
/* a op= b: for tensors the op in place, which gives a itself. */
VS_MUST_USE bool lang_inplace(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                              struct lang_value b, struct lang_value *out);
/* -a, +a, ~a. */
VS_MUST_USE bool lang_unary(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                            struct lang_value *out);
/* a < b, a in b, a is b … */
VS_MUST_USE bool lang_compare(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                              struct lang_value b, struct lang_value *out);
VS_MUST_USE bool lang_contains(struct lang_vm *vm, struct lang_value container,
                               struct lang_value item, bool *out);

VS_MUST_USE bool lang_getitem(struct lang_vm *vm, struct lang_value obj, struct lang_value key,
                              struct lang_value *out);
VS_MUST_USE bool lang_setitem(struct lang_vm *vm, struct lang_value obj, struct lang_value key,
                              struct lang_value value);
VS_MUST_USE bool lang_delitem(struct lang_vm *vm, struct lang_value obj, struct lang_value key);
VS_MUST_USE bool lang_len(struct lang_vm *vm, struct lang_value obj, int64_t *out);

/* The bounds of a slice over `len` items, as Python's slice.indices: *count items from *start by *step. */
VS_MUST_USE bool lang_slice_bounds(struct lang_vm *vm, const struct lang_slice *slice, int64_t len,
                                   int64_t *start, int64_t *step, int64_t *count);

/* A special method of the value's class, unbound where there is none. */
struct lang_value lang_special(struct lang_vm *vm, struct lang_value v, enum lang_name name);
/* Call one: method(self, args…). */
VS_MUST_USE bool lang_call_special(struct lang_vm *vm, struct lang_value method,
                                   struct lang_value self, const struct lang_value *args,
                                   uint32_t arg_count, struct lang_value *out);

#endif
