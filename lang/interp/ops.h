/*
 * lang/interp/ops.h - operators (+, [], <, in …) on values of all kinds.
 *
 * For:            the interpreter, the built-ins.
 * Must not know:  expressions.
 * Invariant:      operands are borrowed, results are new references. Tensors are handled by the vm's tensor_type,
 *                 instances of the net's classes by their special methods.
 */
#ifndef LANG_OPS_H
#define LANG_OPS_H

#include "lang/syntax/ast.h"
#include "lang/value/object.h"
#include "lang/value/vm.h"

/* == and != of instances of the net's classes, by __eq__; this is the vm's instance_type. */
extern const struct lang_instance_type lang_instance_type;

/* bool(v); a tensor must have one element, which is read. */
VS_MUST_USE bool lang_truth(struct lang_vm *vm, struct lang_value v, bool *out);
/* a < b for numbers, strings, lists and tuples of them. */
VS_MUST_USE bool lang_less(struct lang_vm *vm, struct lang_value a, struct lang_value b, bool *out);

/* a op b. */
VS_MUST_USE bool lang_binary(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                             struct lang_value b, struct lang_value *out);
/* a op= b; for tensors the in-place op, where *out is a. */
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

/* Applies a slice to a sequence of `len` items, as Python's slice.indices(): *count items from *start by *step. */
VS_MUST_USE bool lang_slice_bounds(struct lang_vm *vm, const struct lang_slice *slice, int64_t len,
                                   int64_t *start, int64_t *step, int64_t *count);

/* A special method (__add__ …) of the value's class, borrowed; unbound where there is none. */
struct lang_value lang_special(struct lang_vm *vm, struct lang_value v, enum lang_name name);
/* Calls a special method: method(self, args…). */
VS_MUST_USE bool lang_call_special(struct lang_vm *vm, struct lang_value method,
                                   struct lang_value self, const struct lang_value *args,
                                   uint32_t arg_count, struct lang_value *out);

#endif
