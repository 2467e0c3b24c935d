/*
 * lang/torch/bind.h - makes the ops of the engine's table available as functions and methods of the net language.
 *
 * For:            torch, torch.nn.functional, methods and operators of tensors.
 * Must not know:  what an op computes.
 * Invariant:      names, argument names, argument order and defaults all come from engine/core/op.def. Op names occur
 *                 here only where an op has another name in PyTorch.
 */
#ifndef LANG_BIND_H
#define LANG_BIND_H

#include "engine/core/op.h"
#include "lang/interp/call.h"

#define LANG_MAX_OVERLOADS 6

/* The overloads of one name: the rows "max", "max.dim" and so on, in the table's order. */
struct lang_op_set {
    const char *name; /* name in messages: "torch.max" */
    bool in_place;    /* the in-place variant, which overwrites its first argument */
    bool is_method;   /* the first argument is self */
    uint32_t count;
    enum eng_op_id ids[LANG_MAX_OVERLOADS];
};

/*
 * Adds all ops to the modules torch, torch.nn.functional and torch._op and to the class Tensor; release frees the sets.
 */
void lang_bind_register(struct lang_vm *vm);
void lang_bind_release(struct lang_vm *vm);

/* The native function of every op name; the builtin's data is its struct lang_op_set. */
bool lang_op_native(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out);

/* Runs the op `id`, which must have one result, with the given arguments. False: a failure has been noted. */
VS_MUST_USE bool lang_op_run(struct lang_vm *vm, enum eng_op_id id, bool in_place,
                             const struct eng_arg *args, struct lang_value *out);
/* Notes the engine's failure in an op, with the operands' source text and shapes. Returns false. */
bool lang_op_failed(struct lang_vm *vm, enum eng_op_id id, const struct eng_arg *args);

/* Convert values to arguments of an op: a number to a scalar, a tensor or number to an operand. */
struct eng_scalar lang_scalar(struct lang_value number);
struct eng_arg lang_scalar_arg(struct lang_value number);
VS_MUST_USE bool lang_operand(struct lang_vm *vm, struct lang_value v, struct eng_arg *out);

/*
 * Reads a device: "cuda", "cuda:0", "cpu", torch.device(…) or 0. *on_host: it is the CPU. False where v is no device.
 */
bool lang_is_device(struct lang_value v, bool *on_host);

/*
 * Converts the key of x[key] to at most LANG_MAX_INDEX index items. Tensors are borrowed, except for those created from
 * lists, which are kept in `made` until lang_index_release(). of: x, on whose device lists become tensors; NULL: the
 * CPU. Fails with VS_E_TYPE where an item is not a valid index.
 */
#define LANG_MAX_INDEX 16
struct lang_index {
    struct eng_index items[LANG_MAX_INDEX];
    uint32_t count;
    struct lang_value made[LANG_MAX_INDEX];
    uint32_t made_count;
};
VS_MUST_USE bool lang_index_of(struct lang_vm *vm, struct lang_value key,
                               const struct eng_tensor *of, struct lang_index *out);
void lang_index_release(struct lang_vm *vm, struct lang_index *index);

/* torch.tensor(data): data is a number or nested lists of numbers of equal lengths. has_dtype: `dtype` was given. */
VS_MUST_USE bool lang_tensor_from(struct lang_vm *vm, struct lang_value data, bool has_dtype,
                                  enum vs_dtype dtype, struct lang_value *out);

#endif
