/*
 * lang/torch/bind.h - the engine's op table as functions and methods of the net language.
 *
 * For:            torch, torch.nn.functional, methods and operators of tensors.
 * Must not know:  what an op does.
 * Invariant:      everything comes from engine/core/op.def: names, argument names, order, defaults; nothing here knows
 *                 an op by name except to give it another one.
 */
#ifndef LANG_BIND_H
#define LANG_BIND_H

#include "engine/core/op.h"
#include "lang/interp/call.h"

#define LANG_MAX_OVERLOADS 6

/* The rows that share a name ("max", "max.dim"), in the table's order. */
struct lang_op_set {
    const char *name; /* as messages call it: "torch.max" */
    bool in_place;    /* the twin that overwrites its first argument */
    bool is_method;   /* the first argument is self */
    uint32_t count;
    enum eng_op_id ids[LANG_MAX_OVERLOADS];
};

/* Adds all rows to torch, torch.nn.functional, torch._op and the class Tensor. */
void lang_bind_register(struct lang_vm *vm);
void lang_bind_release(struct lang_vm *vm);

/* The native function of every bound name: its set is the builtin's data. */
bool lang_op_native(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out);

/* One row with arguments made by the caller; a single result. False: failed, noted. */
VS_MUST_USE bool lang_op_run(struct lang_vm *vm, enum eng_op_id id, bool in_place,
                             const struct eng_arg *args, struct lang_value *out);
/* A failure of the engine in an op: noted with the operands' source text and shapes. Returns false. */
bool lang_op_failed(struct lang_vm *vm, enum eng_op_id id, const struct eng_arg *args);

/* A number as the engine takes it; a tensor or number as Operand. */
struct eng_scalar lang_scalar(struct lang_value number);
struct eng_arg lang_scalar_arg(struct lang_value number);
VS_MUST_USE bool lang_operand(struct lang_vm *vm, struct lang_value v, struct eng_arg *out);

/* A device as a net writes it: "cuda", "cuda:0", "cpu", torch.device(…), 0. False where it is none of these. */
bool lang_is_device(struct lang_value v, bool *on_host);

/*
 * The items of x[key]; at most LANG_MAX_INDEX. Tensors are borrowed but for those made from lists, which go into *made.
 * of: x, where lists become tensors of its side; NULL: of the host.
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

/* torch.tensor(data): numbers, nested lists of them. */
VS_MUST_USE bool lang_tensor_from(struct lang_vm *vm, struct lang_value data, bool has_dtype,
                                  enum vs_dtype dtype, struct lang_value *out);

#endif
