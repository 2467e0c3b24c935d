/*
 * engine/core/op_internal.h - what the functions of an op use: its arguments, making outputs, returning gradients.
 *
 * For:            engine/ops/ only.
 * Must not know:  the net language.
 * Invariant:      forward allocates outputs before scratch and frees scratch before it returns; backward computes
 *                 gradients in alphabetical order of the arguments' names, as PyTorch's generated code does,
 *                 because allocation order is part of the result.
 *
 * Every function here accepts NULL tensors, as they occur after a failure. Temporaries are released explicitly, at the
 * point where PyTorch's C++ releases them: a temporary of an expression at its end, a named local at the function's
 * end.
 *
 * Names of arguments. `arg` below is a name that the build makes from op.def (engine/core/op_args.h,
 * tools/op_args.c), and so is the index of a saved tensor:
 *     eng_c_float(c, ARG_batch_norm_eps)          argument `eps` of the row batch_norm
 *     b->saved[SAVED_native_layer_norm_weight]    what its row lists as `weight` among the saved tensors
 * eng_f_NAME and eng_b_NAME read ARG_NAME_… and SAVED_NAME_…: those of the row NAME, or, if no row has this id, those
 * that all rows using the function have at the same index. A row that does not fit its function fails the build. A
 * helper used by several functions takes tensors and values instead of names.
 */
#ifndef ENG_OP_INTERNAL_H
#define ENG_OP_INTERNAL_H

#include "engine/core/engine_internal.h"
#include "engine/core/op_args.h"

/* A running call. */
struct eng_op_call {
    struct eng *e;
    enum eng_op_id id;
    const struct eng_arg *a;
    /* the tensor to overwrite, or NULL (also where a list is overwritten) */
    struct eng_tensor *inplace;
    bool is_inplace;
    struct eng_ret *ret;
    bool needs_grad; /* a node was made: the result requires grad */
};

/*
 * The value of an argument. Types were checked and defaults applied by the caller (lang/ fills in the defaults of the
 * signature; C callers give every argument), so nothing here fails. ENG_A_NONE: None was given, or nothing where the
 * default is None.
 */
/* The tensor, borrowed; NULL for None, and for a number given as an Operand. */
static inline struct eng_tensor *eng_arg_tensor(const struct eng_arg *arg)
{
    return arg->kind == ENG_A_TENSOR ? arg->v.tensor : NULL;
}
/* A float, int, Scalar or bool (0 or 1) as a number. Must not be None: check with eng_c_has. */
static inline double eng_arg_float(const struct eng_arg *arg)
{
    return arg->kind == ENG_A_BOOL ? (double)arg->v.flag : arg->v.scalar.f;
}

/* The arguments of a running call, by name. */
static inline struct eng_tensor *eng_c_tensor(const struct eng_op_call *c, int arg)
{
    return eng_arg_tensor(&c->a[arg]);
}
/* Whether the argument is not None. */
static inline bool eng_c_has(const struct eng_op_call *c, int arg)
{
    return c->a[arg].kind != ENG_A_NONE;
}
/* An int, Scalar or bool (0 or 1); a Scalar given as a float is truncated. Must not be None. */
static inline int64_t eng_c_int(const struct eng_op_call *c, int arg)
{
    return c->a[arg].kind == ENG_A_BOOL ? c->a[arg].v.flag : c->a[arg].v.scalar.i;
}
/* See eng_arg_float. */
static inline double eng_c_float(const struct eng_op_call *c, int arg)
{
    return eng_arg_float(&c->a[arg]);
}
/* A bool, or whether an int is not 0. Must not be None. */
static inline bool eng_c_bool(const struct eng_op_call *c, int arg)
{
    return c->a[arg].kind == ENG_A_BOOL ? c->a[arg].v.flag : c->a[arg].v.scalar.i != 0;
}

/* Results. All take ownership of the tensor's reference. */
/* Appends a result. */
void eng_c_give(struct eng_op_call *c, struct eng_tensor *t);
/* Makes the result one list; copies the array. */
void eng_c_give_list(struct eng_op_call *c, struct eng_tensor **ts, uint32_t count);

/* A new contiguous tensor, on the host or the device as `like` is. */
struct eng_tensor *eng_c_empty(struct eng_op_call *c, const int64_t *sizes, int ndim,
                               enum vs_dtype dtype, const struct eng_tensor *like);
/* The same with the sizes of `like`, and its strides if it is dense. */
struct eng_tensor *eng_c_empty_like(struct eng_op_call *c, const struct eng_tensor *like,
                                    enum vs_dtype dtype);
/* The same with sizes[like->ndim]: channels-last where `like` suggests it, otherwise row-major. */
struct eng_tensor *eng_c_empty_suggested(struct eng_op_call *c, const struct eng_tensor *like,
                                         const int64_t *sizes, enum vs_dtype dtype);

/*
 * The output of an elementwise op over `inputs` (broadcast, strides as TensorIterator chooses them), or the tensor
 * to overwrite. A new reference. Fails on shapes that do not broadcast (naming both), on an in-place result of
 * another shape, and on one that cannot hold `dtype`.
 */
struct eng_tensor *eng_c_elementwise_out(struct eng_op_call *c, struct eng_tensor *const *inputs,
                                         int count, enum vs_dtype dtype);

/* Fails with a message that names the shapes of two operands that cannot be multiplied. Returns NULL. */
void *eng_c_cannot_multiply(struct eng_op_call *c, const struct eng_tensor *a,
                            const struct eng_tensor *z);

/* Kernel arguments: a view of t as it is, or broadcast to the sizes of `out`. */
struct eng_view eng_v(const struct eng_tensor *t);
struct eng_view eng_v_expand(const struct eng_tensor *t, const struct eng_tensor *out);
/* A number as a kernel's operand: one element that is broadcast to `out`. The cell must outlive the view. */
struct eng_cell {
    double f;
    int64_t i;
};
struct eng_view eng_v_scalar(struct eng_scalar value, const struct eng_tensor *out,
                             struct eng_cell *cell);
/* The next stream of random numbers of the device or the host: one per op that draws any. */
struct eng_rng_key eng_rng_next(struct eng *e, bool on_host);
/* The view of a Tensor or number argument, broadcast to `out`. */
struct eng_view eng_v_operand(const struct eng_arg *arg, const struct eng_tensor *out,
                              struct eng_cell *cell);
/* Whether kernels can run: tensors have values (not meta), and no failure is recorded. */
bool eng_c_computes(const struct eng_op_call *c);

/* Strides of a channels-last image of 4 or 5 dims; and an image in that layout: t itself or a copy, a new reference. */
void eng_channels_last_strides(const int64_t *sizes, int ndim, int64_t *strides);
struct eng_tensor *eng_to_channels_last(struct eng *e, struct eng_tensor *t);

/*
 * dtype of a op b by PyTorch's promotion: dimensioned tensors before 0-dim ones before Python numbers. Any may be
 * NULL/none.
 */
enum vs_dtype eng_result_dtype(struct eng_tensor *const *inputs, int count,
                               const struct eng_arg *scalar);
/* The sizes of a and b broadcast together; false (failed, naming both) if they do not fit. */
bool eng_broadcast(struct eng *e, const struct eng_tensor *a, const struct eng_tensor *b,
                   int64_t *sizes, int *ndim);

/* dim from -ndim..ndim-1 to 0..ndim-1 (a 0-dim tensor counts as one dim); fails with PyTorch's message. */
bool eng_wrap_dim(struct eng *e, int64_t dim, int ndim, int *out);

/* Whether z has the dtype of `a`; false (failed, with PyTorch's message) if not. */
bool eng_one_dtype(struct eng *e, const struct eng_tensor *a, const struct eng_tensor *z);
/* Whether t has a floating dtype; false (failed, naming the op) if not. */
bool eng_floating(struct eng *e, const char *name, const struct eng_tensor *t);
/* A loss reduced as ATen's `reduction` says: 0 the values (a new reference), 1 their mean, 2 their sum. */
struct eng_tensor *eng_reduced_loss(struct eng *e, struct eng_tensor *values, int64_t reduction);

/* Counts the operations of a forward op that has run. */
void eng_add_flops(struct eng *e, uint64_t flops);
/*
 * Scratch memory of a library inside an op (category workspace); the caller releases it. NULL if bytes is 0, or on
 * failure.
 */
struct eng_tensor *eng_workspace(struct eng *e, uint64_t bytes);

/* ---- backward ---- */
struct eng_bw {
    struct eng *e;
    struct eng_node *node;
    struct eng_tensor **g; /* incoming gradients, one per result; NULL: undefined */
    /* by SAVED_… name, unpacked, borrowed; NULL: not saved, because it is not needed */
    struct eng_tensor *saved[ENG_MAX_SAVES];
    /* the call's arguments by ARG_… name. v.tensor is NULL: a tensor that is needed is among `saved` */
    const struct eng_arg *a;
    struct eng_tensor **out; /* one gradient per edge, to be filled in */
};
/* Whether the gradient along this edge is needed: it leads to a node, and eng_grad has not excluded that node. */
static inline bool eng_edge_is_wanted(const struct eng_edge *edge)
{
    return edge->node && !edge->node->is_pruned;
}
/* The edge of a tensor argument (element k of a list; 0 for a single tensor): sizes and dtype of the input. */
static inline const struct eng_edge *eng_b_edge(const struct eng_bw *b, int arg, int k)
{
    return &b->node->edges[b->node->arg_edge[arg] + k];
}
/*
 * Whether the gradient of this argument is needed. A number given as an Operand has no edge: must not be used for it.
 */
static inline bool eng_b_needs(const struct eng_bw *b, int arg)
{
    return eng_edge_is_wanted(eng_b_edge(b, arg, 0));
}
/* Returns the gradient of an argument; takes ownership of the reference. NULL: undefined. */
static inline void eng_b_give(const struct eng_bw *b, int arg, struct eng_tensor *t)
{
    b->out[b->node->arg_edge[arg]] = t;
}
static inline void eng_b_give_at(const struct eng_bw *b, int arg, int k, struct eng_tensor *t)
{
    b->out[b->node->arg_edge[arg] + k] = t;
}

/* ---- ops that formulas use, as C functions. Each is one eng_call; the caller owns the result. ---- */
struct eng_tensor *eng_add(struct eng *e, struct eng_tensor *a, struct eng_tensor *b);
/* In place; returns a new reference to a. */
struct eng_tensor *eng_add_(struct eng *e, struct eng_tensor *a, struct eng_tensor *b);
struct eng_tensor *eng_add_scalar(struct eng *e, struct eng_tensor *a, double value);
struct eng_tensor *eng_sub(struct eng *e, struct eng_tensor *a, struct eng_tensor *b);
struct eng_tensor *eng_mul(struct eng *e, struct eng_tensor *a, struct eng_tensor *b);
struct eng_tensor *eng_mul_scalar(struct eng *e, struct eng_tensor *a, double value);
struct eng_tensor *eng_div(struct eng *e, struct eng_tensor *a, struct eng_tensor *b);
struct eng_tensor *eng_div_scalar(struct eng *e, struct eng_tensor *a, double value);
struct eng_tensor *eng_neg(struct eng *e, struct eng_tensor *a);
struct eng_tensor *eng_pow_scalar(struct eng *e, struct eng_tensor *a, double exponent);
/* These two return a itself (a new reference) where nothing has to be converted. */
struct eng_tensor *eng_to_dtype(struct eng *e, struct eng_tensor *a, enum vs_dtype dtype);
struct eng_tensor *eng_to_side(struct eng *e, struct eng_tensor *a, bool on_host);
struct eng_tensor *eng_contiguous(struct eng *e, struct eng_tensor *a);
struct eng_tensor *eng_clone(struct eng *e, struct eng_tensor *a);
struct eng_tensor *eng_mm(struct eng *e, struct eng_tensor *a, struct eng_tensor *b);
struct eng_tensor *eng_bmm(struct eng *e, struct eng_tensor *a, struct eng_tensor *b);
struct eng_tensor *eng_t(struct eng *e, struct eng_tensor *a); /* 2-D transpose, a view */
struct eng_tensor *eng_transpose(struct eng *e, struct eng_tensor *a, int64_t d0, int64_t d1);
struct eng_tensor *eng_reshape(struct eng *e, struct eng_tensor *a, const int64_t *sizes, int ndim);
struct eng_tensor *eng_expand(struct eng *e, struct eng_tensor *a, const int64_t *sizes, int ndim);
struct eng_tensor *eng_unsqueeze(struct eng *e, struct eng_tensor *a, int64_t dim);
struct eng_tensor *eng_squeeze(struct eng *e, struct eng_tensor *a, int64_t dim);
struct eng_tensor *eng_permute(struct eng *e, struct eng_tensor *a, const int64_t *dims, int ndim);
struct eng_tensor *eng_narrow(struct eng *e, struct eng_tensor *a, int64_t dim, int64_t start,
                              int64_t length);
struct eng_tensor *eng_sum_dims(struct eng *e, struct eng_tensor *a, const int64_t *dims, int count,
                                bool keepdim);
/* Sums over the dims that were broadcast; a itself (a new reference) if it has the sizes. */
struct eng_tensor *eng_sum_to(struct eng *e, struct eng_tensor *a, const int64_t *sizes, int ndim);
struct eng_tensor *eng_zeros(struct eng *e, const int64_t *sizes, int ndim, enum vs_dtype dtype,
                             bool on_host);
struct eng_tensor *eng_ones_like(struct eng *e, struct eng_tensor *a);
struct eng_tensor *eng_full(struct eng *e, const int64_t *sizes, int ndim, double value,
                            enum vs_dtype dtype, bool on_host);
/* dst.copy_(src) */
void eng_copy_into(struct eng *e, struct eng_tensor *dst, struct eng_tensor *src);
/* t.zero_() */
void eng_fill_zero(struct eng *e, struct eng_tensor *t);
/* Any op whose only arguments are one tensor, two tensors, or a tensor and a number. */
struct eng_tensor *eng_op1(struct eng *e, enum eng_op_id id, struct eng_tensor *a);
struct eng_tensor *eng_op2(struct eng *e, enum eng_op_id id, struct eng_tensor *a,
                           struct eng_tensor *b);
struct eng_tensor *eng_op2s(struct eng *e, enum eng_op_id id, struct eng_tensor *a, double value);

#endif
