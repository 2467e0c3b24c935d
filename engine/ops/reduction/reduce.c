/*
 * engine/ops/reduction/reduce.c - sums, means, variances and norms and their gradients; what all reductions share.
 *
 * Must not know:  models.
 * Invariant:      the gradient of a sum is a view; that of a mean is one tensor of the input's size.
 */
#include <math.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/ops/reduction/reduce_internal.h"
#include "engine/workspace/scratch.h"
#include "engine/workspace/workspace.h"

/* Bit mask of dims; an empty list means all. False: failed. */
bool eng_reduce_dim_mask(struct eng *e, const struct eng_arg *arg, int ndim, uint32_t *mask)
{
    *mask = 0;
    if (arg->kind != ENG_A_INTS || !arg->count) {
        *mask = (1U << ndim) - 1;
        return true;
    }
    for (uint32_t i = 0; i < arg->count; i++) {
        int d;

        if (!eng_wrap_dim(e, arg->v.ints[i], ndim, &d))
            return false;
        *mask |= ndim ? 1U << d : 0;
    }
    return true;
}

/* Sizes after reducing the dims of mask. */
int eng_reduce_sizes(const struct eng_tensor *x, uint32_t mask, bool keepdim, int64_t *sizes)
{
    int n = 0;

    for (int d = 0; d < x->ndim; d++) {
        if (!(mask >> d & 1))
            sizes[n++] = x->sizes[d];
        else if (keepdim)
            sizes[n++] = 1;
    }
    return n;
}

/* out seen with size-1 dims where x was reduced. */
struct eng_view eng_reduce_keepdim_view(const struct eng_tensor *out, const struct eng_tensor *x,
                                        uint32_t mask, bool keepdim)
{
    struct eng_view v = eng_v(out);
    int k = 0;

    if (keepdim)
        return v;
    v.ndim = x->ndim;
    for (int d = 0; d < x->ndim; d++) {
        bool gone = mask >> d & 1;

        v.sizes[d] = gone ? 1 : x->sizes[d];
        v.strides[d] = gone ? 0 : out->strides[k];
        k += !gone;
    }
    return v;
}

static enum eng_scratch_reduce scratch_of(enum eng_reduce kernel)
{
    switch (kernel) {
    case ENG_R_AMAX:
    case ENG_R_AMIN:
    case ENG_R_ANY:
    case ENG_R_ALL:
        return ENG_SR_VALUE;
    case ENG_R_VAR:
    case ENG_R_STD:
        return ENG_SR_WELFORD;
    case ENG_R_SUM:
    case ENG_R_MEAN:
    case ENG_R_PROD:
    case ENG_R_NORM2:
    case ENG_R_LOGSUMEXP:
    case ENG_R_COUNT:
        break;
    }
    return ENG_SR_SUM;
}

static struct eng_tensor *run_reduce(struct eng_op_call *c, enum eng_reduce kernel,
                                     struct eng_tensor *x, uint32_t mask, bool keepdim,
                                     enum vs_dtype dtype, double p0)
{
    int64_t sizes[VS_MAX_DIMS];
    int n = eng_reduce_sizes(x, mask, keepdim, sizes);
    struct eng_tensor *out = eng_c_empty(c, sizes, n, dtype, x);
    struct eng_tensor *wide = NULL;

    /* integers and bools are widened to a copy first, which goes when the op returns */
    if (out && (kernel == ENG_R_SUM || kernel == ENG_R_PROD) && x->dtype != dtype &&
        !vs_dtype_is_floating((enum vs_dtype)x->dtype))
        wide = eng_c_empty(c, x->sizes, x->ndim, dtype, x);
    eng_scratch_reduce(c->e, scratch_of(kernel), wide ? wide : x, out, mask, keepdim);
    eng_unref(wide);
    if (out && eng_runs(c->e)) {
        struct eng_view vx = eng_v(x);
        struct eng_view vo = eng_reduce_keepdim_view(out, x, mask, keepdim);
        double p[4] = {p0};

        eng_run_reduce(c->e, out->storage->on_host, kernel, &vx, &vo, mask, p);
    }
    return out;
}

static enum eng_reduce kernel_of(enum eng_op_id id)
{
    switch (id) {
    case ENG_OP_mean_all:
    case ENG_OP_mean:
        return ENG_R_MEAN;
    case ENG_OP_prod_all:
    case ENG_OP_prod:
        return ENG_R_PROD;
    case ENG_OP_max_all:
    case ENG_OP_amax:
        return ENG_R_AMAX;
    case ENG_OP_min_all:
    case ENG_OP_amin:
        return ENG_R_AMIN;
    case ENG_OP_any_all:
        return ENG_R_ANY;
    case ENG_OP_all_all:
        return ENG_R_ALL;
    case ENG_OP_logsumexp:
        return ENG_R_LOGSUMEXP;
    case ENG_OP_norm:
        return ENG_R_NORM2;
    default:
        return ENG_R_SUM;
    }
}

/*
 * Integers are summed and multiplied in int64; tests give bool; everything else keeps the dtype, or takes the one
 * requested (NULL: none can be).
 */
static enum vs_dtype result_dtype(const struct eng_op_call *c, const struct eng_tensor *x,
                                  const struct eng_arg *dtype)
{
    enum eng_reduce kernel = kernel_of(c->id);

    if (kernel == ENG_R_ANY || kernel == ENG_R_ALL)
        return VS_BOOL;
    if (dtype && dtype->kind == ENG_A_DTYPE)
        return dtype->v.dtype;
    if ((kernel == ENG_R_SUM || kernel == ENG_R_PROD) &&
        !vs_dtype_is_floating((enum vs_dtype)x->dtype))
        return VS_I64;
    return (enum vs_dtype)x->dtype;
}

static bool needs_floating(struct eng_op_call *c, const struct eng_tensor *x, enum vs_dtype dtype)
{
    if (kernel_of(c->id) != ENG_R_MEAN || vs_dtype_is_floating(dtype))
        return true;
    eng_fail(c->e, VS_E_TYPE,
             "mean(): input dtype must be floating point, got %s: convert with .float()",
             vs_dtype_name((enum vs_dtype)x->dtype));
    return false;
}

static void reduce_all(struct eng_op_call *c, struct eng_tensor *x,
                       const struct eng_arg *requested_dtype)
{
    enum vs_dtype dtype = result_dtype(c, x, requested_dtype);
    struct eng_tensor *out;

    if (!needs_floating(c, x, dtype))
        return;
    out = run_reduce(c, kernel_of(c->id), x, (1U << x->ndim) - 1, false, dtype, 0);
    if (out)
        eng_c_give(c, out);
}

/* Of all elements: max, min, any, all. */
void eng_f_reduce_all(struct eng_op_call *c)
{
    reduce_all(c, eng_c_tensor(c, ARG_reduce_all_input), NULL);
}

/* Of all elements: sum, mean, prod. */
void eng_f_reduce_all_to_dtype(struct eng_op_call *c)
{
    reduce_all(c, eng_c_tensor(c, ARG_reduce_all_to_dtype_input),
               &c->a[ARG_reduce_all_to_dtype_dtype]);
}

/* Temporaries of logsumexp: the maxima, which of them are infinite, and the exponentials. */
static struct eng_tensor *logsumexp_scratch_begin(struct eng_op_call *c, struct eng_tensor *x,
                                                  uint32_t mask, bool keepdim, int64_t *sizes,
                                                  int n)
{
    enum vs_dtype dtype = (enum vs_dtype)x->dtype;
    struct eng_tensor *maxima = eng_c_empty(c, sizes, n, dtype, x);
    struct eng_tensor *finite, *test, *powers, *out;

    eng_scratch_reduce(c->e, ENG_SR_VALUE, x, maxima, mask, keepdim);
    finite = eng_c_empty(c, sizes, n, dtype, x);
    test = eng_c_empty(c, sizes, n, VS_BOOL, x);
    eng_unref(test);
    eng_unref(finite);
    powers = eng_c_empty(c, x->sizes, x->ndim, dtype, x);
    out = eng_c_empty(c, sizes, n, dtype, x);
    eng_scratch_reduce(c->e, ENG_SR_SUM, powers, out, mask, keepdim);
    eng_unref(powers);
    eng_unref(maxima);
    return out;
}

void eng_reduce(struct eng_op_call *c, struct eng_tensor *x, const struct eng_arg *dim,
                bool keepdim, const struct eng_arg *requested_dtype)
{
    enum vs_dtype dtype = result_dtype(c, x, requested_dtype);
    struct eng_tensor *out;
    uint32_t mask;

    if (!eng_reduce_dim_mask(c->e, dim, x->ndim, &mask) || !needs_floating(c, x, dtype))
        return;
    if (c->id == ENG_OP_logsumexp) {
        int64_t sizes[VS_MAX_DIMS];
        int n = eng_reduce_sizes(x, mask, keepdim, sizes);

        out = logsumexp_scratch_begin(c, x, mask, keepdim, sizes, n);
        if (out && eng_c_computes(c)) {
            struct eng_view vx = eng_v(x);
            struct eng_view vo = eng_reduce_keepdim_view(out, x, mask, keepdim);
            double p[4] = {0};

            c->e->kernels->reduce(ENG_R_LOGSUMEXP, &vx, &vo, mask, p);
        }
    } else {
        out = run_reduce(c, kernel_of(c->id), x, mask, keepdim, dtype, 0);
    }
    if (out)
        eng_c_give(c, out);
}

/* amax, amin, logsumexp */
void eng_f_reduce(struct eng_op_call *c)
{
    eng_reduce(c, eng_c_tensor(c, ARG_reduce_input), &c->a[ARG_reduce_dim],
               eng_c_bool(c, ARG_reduce_keepdim), NULL);
}

/* sum, mean, norm */
void eng_f_reduce_to_dtype(struct eng_op_call *c)
{
    eng_reduce(c, eng_c_tensor(c, ARG_reduce_to_dtype_input), &c->a[ARG_reduce_to_dtype_dim],
               eng_c_bool(c, ARG_reduce_to_dtype_keepdim), &c->a[ARG_reduce_to_dtype_dtype]);
}

/* ---- sum and mean ---- */

/* t with size-1 dims put back where the reduction took them. Takes over t. */
struct eng_tensor *eng_reduce_unsqueezed(struct eng *e, struct eng_tensor *t, uint32_t mask,
                                         int ndim, bool keepdim)
{
    for (int d = 0; !keepdim && d < ndim && t; d++) {
        if (mask >> d & 1) {
            struct eng_tensor *next = eng_unsqueeze(e, t, d);

            eng_unref(t);
            t = next;
        }
    }
    return t;
}

/* t expanded to the sizes of the input at `edge`, over whose dims of mask it was reduced. Takes over t. */
static struct eng_tensor *spread(struct eng_bw *b, const struct eng_edge *edge,
                                 struct eng_tensor *t_taken, uint32_t mask, bool keepdim)
{
    struct eng_tensor *t = eng_reduce_unsqueezed(b->e, t_taken, mask, edge->ndim, keepdim);
    struct eng_tensor *out = eng_expand(b->e, t, edge->sizes, edge->ndim);

    eng_unref(t);
    return out;
}

uint32_t eng_reduce_mask_of(const struct eng_arg *dim, int ndim)
{
    uint32_t mask = 0;

    if (dim->kind != ENG_A_INTS || !dim->count)
        return (1U << ndim) - 1;
    for (uint32_t i = 0; ndim && i < dim->count; i++) {
        int64_t d = dim->v.ints[i];

        mask |= 1U << (d < 0 ? d + ndim : d);
    }
    return mask;
}

static int64_t reduced_count(const struct eng_edge *edge, uint32_t mask)
{
    int64_t n = 1;

    for (int d = 0; d < edge->ndim; d++) {
        if (mask >> d & 1)
            n *= edge->sizes[d];
    }
    return n;
}

/* g expanded: a view of one element */
void eng_b_sum_all(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_sum_all_input, 0);

    eng_b_give(b, ARG_sum_all_input, eng_expand(b->e, b->g[0], edge->sizes, edge->ndim));
}

void eng_b_sum(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_sum_input, 0);

    eng_b_give(b, ARG_sum_input,
               spread(b, edge, eng_ref(b->g[0]), eng_reduce_mask_of(&b->a[ARG_sum_dim], edge->ndim),
                      b->a[ARG_sum_keepdim].v.flag));
}

/* g expanded, divided by the count: one tensor of the input's size. Takes over `expanded`. */
static struct eng_tensor *divided(struct eng_bw *b, struct eng_tensor *expanded, int64_t count)
{
    struct eng_arg args[] = {eng_at(expanded), eng_ai(count), eng_anone()};
    struct eng_tensor *out = expanded ? eng_call1(b->e, ENG_OP_div, args) : NULL;

    eng_unref(expanded);
    return out;
}

void eng_b_mean_all(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_mean_all_input, 0);

    eng_b_give(b, ARG_mean_all_input,
               divided(b, eng_expand(b->e, b->g[0], edge->sizes, edge->ndim),
                       reduced_count(edge, UINT32_MAX)));
}

void eng_b_mean(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_mean_input, 0);
    uint32_t mask = eng_reduce_mask_of(&b->a[ARG_mean_dim], edge->ndim);
    struct eng_tensor *expanded =
        spread(b, edge, eng_ref(b->g[0]), mask, b->a[ARG_mean_keepdim].v.flag);

    eng_b_give(b, ARG_mean_input, divided(b, expanded, reduced_count(edge, mask)));
}

/* ---- variance ---- */

static bool is_std(enum eng_op_id id)
{
    return id == ENG_OP_std || id == ENG_OP_std_correction;
}

/* var(dim, unbiased, keepdim): the form with a correction */
void eng_f_var(struct eng_op_call *c)
{
    struct eng_arg args[] = {c->a[ARG_var_input], c->a[ARG_var_dim],
                             eng_ai(eng_c_bool(c, ARG_var_unbiased) ? 1 : 0),
                             c->a[ARG_var_keepdim]};

    eng_c_give(
        c, eng_call1(c->e, is_std(c->id) ? ENG_OP_std_correction : ENG_OP_var_correction, args));
}

void eng_f_var_correction(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_var_correction_input);
    struct eng_tensor *out;
    uint32_t mask;

    if (!eng_reduce_dim_mask(c->e, &c->a[ARG_var_correction_dim], x->ndim, &mask))
        return;
    if (!vs_dtype_is_floating((enum vs_dtype)x->dtype)) {
        eng_fail(c->e, VS_E_TYPE, "%s only support floating point dtypes, got %s",
                 eng_op_get(c->id)->name, vs_dtype_name((enum vs_dtype)x->dtype));
        return;
    }
    out = run_reduce(c, is_std(c->id) ? ENG_R_STD : ENG_R_VAR, x, mask,
                     eng_c_bool(c, ARG_var_correction_keepdim), (enum vs_dtype)x->dtype,
                     eng_c_float(c, ARG_var_correction_correction));
    if (out)
        eng_c_give(c, out);
}

/* The arguments of var and std that their gradients need. */
struct var_call {
    struct eng_tensor *x;
    const struct eng_edge *edge; /* of x */
    const struct eng_arg *dim;
    double correction;
    bool keepdim;
};

/* (2 / (n - correction)) * g * (x - mean(x)). Takes over g. */
static struct eng_tensor *var_gradient(struct eng *e, struct eng_tensor *g, struct var_call v)
{
    uint32_t mask = eng_reduce_mask_of(v.dim, v.edge->ndim);
    double n = (double)reduced_count(v.edge, mask) - v.correction;
    struct eng_tensor *mean, *centred, *scaled, *out;
    bool all = v.dim->kind != ENG_A_INTS || !v.dim->count;

    if (!all)
        g = eng_reduce_unsqueezed(e, g, mask, v.edge->ndim, v.keepdim);
    if (all) {
        struct eng_arg args[] = {eng_at(v.x), eng_anone()};

        mean = v.x ? eng_call1(e, ENG_OP_mean_all, args) : NULL;
    } else {
        struct eng_arg args[] = {eng_at(v.x), *v.dim, eng_ab(true), eng_anone()};

        mean = v.x ? eng_call1(e, ENG_OP_mean, args) : NULL;
    }
    centred = eng_sub(e, v.x, mean);
    scaled = eng_mul_scalar(e, g, 2.0 / n);
    out = eng_mul(e, scaled, centred);
    eng_unref(scaled);
    eng_unref(centred);
    eng_unref(mean);
    eng_unref(g);
    return out;
}

void eng_b_var_correction(struct eng_bw *b)
{
    struct var_call v = {b->saved[SAVED_var_correction_input],
                         eng_b_edge(b, ARG_var_correction_input, 0), &b->a[ARG_var_correction_dim],
                         b->a[ARG_var_correction_correction].v.scalar.f,
                         b->a[ARG_var_correction_keepdim].v.flag};

    eng_b_give(b, ARG_var_correction_input, var_gradient(b->e, eng_ref(b->g[0]), v));
}

/* the variance's, of g / (2 * result), zero where the result is */
void eng_b_std_correction(struct eng_bw *b)
{
    struct var_call v = {b->saved[SAVED_std_correction_input],
                         eng_b_edge(b, ARG_std_correction_input, 0), &b->a[ARG_std_correction_dim],
                         b->a[ARG_std_correction_correction].v.scalar.f,
                         b->a[ARG_std_correction_keepdim].v.flag};
    struct eng *e = b->e;
    struct eng_tensor *twice = eng_mul_scalar(e, b->saved[SAVED_std_correction_result], 2);
    struct eng_tensor *ratio = eng_div(e, b->g[0], twice);
    struct eng_tensor *flat = eng_op2s(e, ENG_OP_eq, b->saved[SAVED_std_correction_result], 0);
    struct eng_arg args[] = {eng_at(ratio), eng_at(flat), eng_ai(0)};
    struct eng_ret ret;

    if (ratio && flat && eng_call_inplace(e, ENG_OP_masked_fill, args, &ret))
        eng_ret_release(&ret);
    eng_unref(flat);
    eng_unref(twice);
    eng_b_give(b, ARG_std_correction_input, var_gradient(e, ratio, v));
}

/* ---- logsumexp, norm ---- */

/* g * exp(x - result). saved: input, result */
void eng_b_logsumexp(struct eng_bw *b)
{
    struct eng *e = b->e;
    int ndim = eng_b_edge(b, ARG_logsumexp_input, 0)->ndim;
    uint32_t mask = eng_reduce_mask_of(&b->a[ARG_logsumexp_dim], ndim);
    struct eng_tensor *g =
        eng_reduce_unsqueezed(e, eng_ref(b->g[0]), mask, ndim, b->a[ARG_logsumexp_keepdim].v.flag);
    struct eng_tensor *result =
        eng_reduce_unsqueezed(e, eng_ref(b->saved[SAVED_logsumexp_result]), mask, ndim,
                              b->a[ARG_logsumexp_keepdim].v.flag);
    struct eng_tensor *shifted = eng_sub(e, b->saved[SAVED_logsumexp_input], result);
    struct eng_tensor *power = eng_op1(e, ENG_OP_exp, shifted);

    eng_b_give(b, ARG_logsumexp_input, eng_mul(e, g, power));
    eng_unref(power);
    eng_unref(shifted);
    eng_unref(result);
    eng_unref(g);
}

/* g * (x / norm), zero where the norm is. saved: input, result */
void eng_b_norm(struct eng_bw *b)
{
    struct eng *e = b->e;
    int ndim = eng_b_edge(b, ARG_norm_input, 0)->ndim;
    uint32_t mask = eng_reduce_mask_of(&b->a[ARG_norm_dim], ndim);
    /*
     * a norm of all elements stays 0-dim, which does not change the input's dtype where autocast computed it in float32
     */
    bool keep = b->a[ARG_norm_keepdim].v.flag || b->a[ARG_norm_dim].count == 0;
    struct eng_tensor *g = eng_reduce_unsqueezed(e, eng_ref(b->g[0]), mask, ndim, keep);
    struct eng_tensor *norm =
        eng_reduce_unsqueezed(e, eng_ref(b->saved[SAVED_norm_result]), mask, ndim, keep);
    struct eng_tensor *ratio = eng_div(e, b->saved[SAVED_norm_input], norm);
    struct eng_tensor *flat = eng_op2s(e, ENG_OP_eq, norm, 0);
    struct eng_arg args[] = {eng_at(ratio), eng_at(flat), eng_ai(0)};
    struct eng_ret ret;

    if (ratio && flat && eng_call_inplace(e, ENG_OP_masked_fill, args, &ret))
        eng_ret_release(&ret);
    eng_b_give(b, ARG_norm_input, eng_mul(e, ratio, g));
    eng_unref(flat);
    eng_unref(ratio);
    eng_unref(norm);
    eng_unref(g);
}
