/*
 * engine/core/op_internal.h - what the functions of an op see: its arguments, how to make outputs, how to give
 * gradients.
 *
 * For:            engine/ops/ only.
 * Must not know:  the net language.
 * Invariant:      forward allocates outputs before scratch and frees scratch before it returns; backward computes
 *                 gradients in alphabetical order of the arguments' names, as PyTorch's generated code does,
 *                 because allocation order is part of the result.
 *
 * Every function here takes NULL tensors after a failure. Temporaries are released by hand, at the point where
 * PyTorch's C++ releases them: a temporary of an expression at its end, a named local at the function's end.
 *
 * Names of arguments. `arg` below is a name that the build makes from op.def (engine/core/op_args.h,
 * tools/op_args.c), and so is the index of a saved tensor:
 *     eng_c_float(c, ARG_batch_norm_eps)          argument `eps` of the row batch_norm
 *     b->saved[SAVED_native_layer_norm_weight]    what its row lists as `weight` among the saved tensors
 * eng_f_NAME and eng_b_NAME read ARG_NAME_… and SAVED_NAME_…: of the row NAME, or, where no row has this id, of all
 * rows that use the function, as far as they have it at the same place. A row that does not fit its function stops
 * the build. A helper of several functions takes tensors and values instead of names.
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
    bool needs_grad; /* a node was made: the result will be differentiated */
};

/*
 * What an argument holds. Types and defaults have been applied by the caller (lang/ fills in the defaults of the
 * signature; C callers give every argument), so nothing here fails. ENG_A_NONE: None was given, or nothing where
 * the default is None.
 */
/* The tensor, borrowed; NULL for None, and for a number given as an Operand. */
static inline struct eng_tensor *eng_arg_tensor(const struct eng_arg *arg)
{
    return arg->kind == ENG_A_TENSOR ? arg->v.tensor : NULL;
}
/* A float, int, Scalar or bool (0 or 1) as a number; not of None: ask eng_c_has before. */
static inline double eng_arg_float(const struct eng_arg *arg)
{
    return arg->kind == ENG_A_BOOL ? (double)arg->v.flag : arg->v.scalar.f;
}

/* The arguments of a running call, by name. */
static inline struct eng_tensor *eng_c_tensor(const struct eng_op_call *c, int arg)
{
    return eng_arg_tensor(&c->a[arg]);
}
/* Was anything but None given? */
static inline bool eng_c_has(const struct eng_op_call *c, int arg)
{
    return c->a[arg].kind != ENG_A_NONE;
}
/* An int, Scalar or bool (0 or 1); a Scalar given as a float is truncated. Not of None. */
static inline int64_t eng_c_int(const struct eng_op_call *c, int arg)
{
    return c->a[arg].kind == ENG_A_BOOL ? c->a[arg].v.flag : c->a[arg].v.scalar.i;
}
/* See eng_arg_float. */
static inline double eng_c_float(const struct eng_op_call *c, int arg)
{
    return eng_arg_float(&c->a[arg]);
}
/* A bool, or whether an int is not 0. Not of None. */
static inline bool eng_c_bool(const struct eng_op_call *c, int arg)
{
    return c->a[arg].kind == ENG_A_BOOL ? c->a[arg].v.flag : c->a[arg].v.scalar.i != 0;
}

/* Results. All take over the tensor's reference. */
void eng_c_give(struct eng_op_call *c, struct eng_tensor *t); /* the next result */
void eng_c_give_list(struct eng_op_call *c, struct eng_tensor **ts,
                     uint32_t count); /* one list; copies the array */

/* New device or host tensors, contiguous, on the side `like` lives on. */
struct eng_tensor *eng_c_empty(struct eng_op_call *c, const int64_t *sizes, int ndim,
                               enum vs_dtype dtype, const struct eng_tensor *like);
struct eng_tensor *eng_c_empty_like(struct eng_op_call *c, const struct eng_tensor *like,
                                    enum vs_dtype dtype); /* its strides where dense */
/* of sizes [like->ndim]: channels-last where `like` suggests it, otherwise row-major */
struct eng_tensor *eng_c_empty_suggested(struct eng_op_call *c, const struct eng_tensor *like,
                                         const int64_t *sizes, enum vs_dtype dtype);

/*
 * The output of an elementwise op over `inputs` (broadcast, strides as TensorIterator chooses them), or the tensor
 * to overwrite. A new reference. Fails on shapes that do not broadcast (both named), on an in-place result of
 * another shape or that cannot hold `dtype`.
 */
struct eng_tensor *eng_c_elementwise_out(struct eng_op_call *c, struct eng_tensor *const *inputs,
                                         int count, enum vs_dtype dtype);

/* Fails with the shapes of two operands that do not fit a product; NULL. */
void *eng_c_cannot_multiply(struct eng_op_call *c, const struct eng_tensor *a,
                            const struct eng_tensor *z);

/* Views for kernels: of t as it is, or broadcast to the sizes of `out`. */
struct eng_view eng_v(const struct eng_tensor *t);
struct eng_view eng_v_expand(const struct eng_tensor *t, const struct eng_tensor *out);
/* A number as a kernel's operand: one element seen at every index of `out`. The cell must outlive the view. */
struct eng_cell {
    double f;
    int64_t i;
};
struct eng_view eng_v_scalar(struct eng_scalar value, const struct eng_tensor *out,
                             struct eng_cell *cell);
/* The next stream of random numbers of the device or the host: one for each op that draws some. */
struct eng_rng_key eng_rng_next(struct eng *e, bool on_host);
/* The view of a Tensor or number argument, broadcast to `out`. */
struct eng_view eng_v_operand(const struct eng_arg *arg, const struct eng_tensor *out,
                              struct eng_cell *cell);
/* May the kernels run on these: data is there on every one (not meta, and after no failure). */
bool eng_c_computes(const struct eng_op_call *c);

/* Strides of a channels-last image, and a 4-D image in that order: itself or a copy, a new reference. */
void eng_channels_last_strides(const int64_t *sizes, int64_t *strides);
struct eng_tensor *eng_to_channels_last(struct eng *e, struct eng_tensor *t);

/*
 * dtype of a op b by PyTorch's promotion: dimensioned tensors before 0-dim ones before Python numbers. Any may be
 * NULL/none.
 */
enum vs_dtype eng_result_dtype(struct eng_tensor *const *inputs, int count,
                               const struct eng_arg *scalar);
/* sizes of the broadcast of a and b; false (and failed, naming both) where they do not fit. */
bool eng_broadcast(struct eng *e, const struct eng_tensor *a, const struct eng_tensor *b,
                   int64_t *sizes, int *ndim);

/* dim from -ndim..ndim-1 to 0..ndim-1 (a 0-dim tensor counts as one dim); fails with PyTorch's words. */
bool eng_wrap_dim(struct eng *e, int64_t dim, int ndim, int *out);

/* Whether both have the dtype of `a`; false (and failed, in PyTorch's words) where z has another. */
bool eng_one_dtype(struct eng *e, const struct eng_tensor *a, const struct eng_tensor *z);
/* Whether t is of a floating dtype; false (and failed, naming the op) where not. */
bool eng_floating(struct eng *e, const char *name, const struct eng_tensor *t);
/* A loss's values as ATen's `reduction` says: 0 themselves (a new reference), 1 their mean, 2 their sum. */
struct eng_tensor *eng_reduced_loss(struct eng *e, struct eng_tensor *values, int64_t reduction);

void eng_add_flops(struct eng *e, uint64_t flops);
/*
 * Scratch of a library inside an op (category workspace): allocated and to be let go of by the caller. NULL when
 * bytes is 0.
 */
struct eng_tensor *eng_workspace(struct eng *e, uint64_t bytes);

/* ---- backward ---- */
struct eng_bw {
    struct eng *e;
    struct eng_node *node;
    struct eng_tensor **g; /* incoming gradients, one per result; NULL: undefined */
    /* by SAVED_… name, unpacked, borrowed; NULL: not saved, because nobody needs it */
    struct eng_tensor *saved[ENG_MAX_SAVES];
    const struct eng_arg *
        a; /* the call's arguments by ARG_… name; v.tensor is NULL: tensors that are needed are saved */
    struct eng_tensor **out; /* one per edge, to fill */
};
/*
 * Does anybody want what flows along this edge? Not where there is no node, nor where eng_grad asks for other
 * inputs.
 */
static inline bool eng_edge_is_wanted(const struct eng_edge *edge)
{
    return edge->node && !edge->node->is_pruned;
}
/* The edge of a tensor argument (element k of a list; k is 0 for a single one): sizes and dtype of the input. */
static inline const struct eng_edge *eng_b_edge(const struct eng_bw *b, int arg, int k)
{
    return &b->node->edges[b->node->arg_edge[arg] + k];
}
/* Is the gradient of this argument wanted? Not to be asked of a number given as an Operand, which has no edge. */
static inline bool eng_b_needs(const struct eng_bw *b, int arg)
{
    return eng_edge_is_wanted(eng_b_edge(b, arg, 0));
}
/* Give the gradient of an argument; takes over the reference. NULL: none. */
static inline void eng_b_give(const struct eng_bw *b, int arg, struct eng_tensor *t)
{
    b->out[b->node->arg_edge[arg]] = t;
}
static inline void eng_b_give_at(const struct eng_bw *b, int arg, int k, struct eng_tensor *t)
{
    b->out[b->node->arg_edge[arg] + k] = t;
}

/* ---- ops that formulas use, as C functions; each is one eng_call. Results are the caller's. ---- */
struct eng_tensor *eng_add(struct eng *e, struct eng_tensor *a, struct eng_tensor *b);
struct eng_tensor *eng_add_(struct eng *e, struct eng_tensor *a,
                            struct eng_tensor *b); /* in place; new reference to a */
struct eng_tensor *eng_add_scalar(struct eng *e, struct eng_tensor *a, double value);
struct eng_tensor *eng_sub(struct eng *e, struct eng_tensor *a, struct eng_tensor *b);
struct eng_tensor *eng_mul(struct eng *e, struct eng_tensor *a, struct eng_tensor *b);
struct eng_tensor *eng_mul_scalar(struct eng *e, struct eng_tensor *a, double value);
struct eng_tensor *eng_div(struct eng *e, struct eng_tensor *a, struct eng_tensor *b);
struct eng_tensor *eng_div_scalar(struct eng *e, struct eng_tensor *a, double value);
struct eng_tensor *eng_neg(struct eng *e, struct eng_tensor *a);
struct eng_tensor *eng_pow_scalar(struct eng *e, struct eng_tensor *a, double exponent);
struct eng_tensor *eng_to_dtype(struct eng *e, struct eng_tensor *a,
                                enum vs_dtype dtype); /* itself (new reference) when it has it */
struct eng_tensor *eng_contiguous(struct eng *e, struct eng_tensor *a); /* likewise */
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
struct eng_tensor *eng_sum_to(struct eng *e, struct eng_tensor *a, const int64_t *sizes,
                              int ndim); /* itself when it has the sizes */
struct eng_tensor *eng_zeros(struct eng *e, const int64_t *sizes, int ndim, enum vs_dtype dtype,
                             bool on_host);
struct eng_tensor *eng_ones_like(struct eng *e, struct eng_tensor *a);
struct eng_tensor *eng_full(struct eng *e, const int64_t *sizes, int ndim, double value,
                            enum vs_dtype dtype, bool on_host);
void eng_copy_into(struct eng *e, struct eng_tensor *dst,
                   struct eng_tensor *src);              /* dst.copy_(src) */
void eng_fill_zero(struct eng *e, struct eng_tensor *t); /* t.zero_() */
/* Any op with one or two tensors and nothing else. */
struct eng_tensor *eng_op1(struct eng *e, enum eng_op_id id, struct eng_tensor *a);
struct eng_tensor *eng_op2(struct eng *e, enum eng_op_id id, struct eng_tensor *a,
                           struct eng_tensor *b);
struct eng_tensor *eng_op2s(struct eng *e, enum eng_op_id id, struct eng_tensor *a,
                            double value); /* the second is a number */

#endif
