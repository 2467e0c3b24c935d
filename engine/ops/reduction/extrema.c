/*
 * engine/ops/reduction/extrema.c - largest and smallest elements, where they are, and their gradients.
 *
 * Must not know:  models.
 * Invariant:      the gradient of an extremum over all elements is divided among equal ones; along a dim it goes to
 *                 the index returned.
 */
#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/ops/reduction/reduce_internal.h"
#include "engine/workspace/scratch.h"
#include "engine/workspace/workspace.h"

/* (values, indices) along dim */
void eng_f_max_dim(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_max_dim_input);
    bool keepdim = eng_c_bool(c, ARG_max_dim_keepdim);
    struct eng_tensor *values, *indices;
    int64_t sizes[VS_MAX_DIMS];
    uint32_t mask;
    int dim, n;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_max_dim_dim), x->ndim, &dim))
        return;
    mask = x->ndim ? 1U << dim : 0;
    n = eng_reduce_sizes(x, mask, keepdim, sizes);
    values = eng_c_empty(c, sizes, n, (enum vs_dtype)x->dtype, x);
    indices = values ? eng_c_empty(c, sizes, n, VS_I64, x) : NULL;
    eng_scratch_reduce(c->e, ENG_SR_INDEXED, x, values, mask, keepdim);
    if (indices && eng_c_computes(c)) {
        struct eng_view vx = eng_v(x);
        struct eng_view vv = eng_reduce_keepdim_view(values, x, mask, keepdim);
        struct eng_view vi = eng_reduce_keepdim_view(indices, x, mask, keepdim);

        c->e->kernels->max_dim(&vx, dim, c->id == ENG_OP_max_dim, &vv, &vi);
    }
    eng_c_give(c, values);
    eng_c_give(c, indices);
}

/* zeros with g written at the indices. saved: indices */
void eng_b_max_dim(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_max_dim_input, 0);
    struct eng_tensor *zeros = eng_zeros(b->e, edge->sizes, edge->ndim,
                                         (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
    int64_t dim = b->a[ARG_max_dim_dim].v.scalar.i;
    struct eng_tensor *index = eng_ref(b->saved[SAVED_max_dim_result1]);
    struct eng_tensor *g = eng_ref(b->g[0]);
    struct eng_arg args[4];
    struct eng_ret ret;

    if (!b->a[ARG_max_dim_keepdim].v.flag && edge->ndim) {
        eng_slot_set(&g, eng_unsqueeze(b->e, g, dim));
        eng_slot_set(&index, eng_unsqueeze(b->e, index, dim));
    }
    args[0] = eng_at(zeros);
    args[1] = eng_ai(dim);
    args[2] = eng_at(index);
    args[3] = eng_at(g);
    if (zeros && index && g && eng_call_inplace(b->e, ENG_OP_scatter, args, &ret))
        eng_ret_release(&ret);
    eng_unref(g);
    eng_unref(index);
    eng_b_give(b, ARG_max_dim_input, zeros);
}

void eng_f_argmax(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_argmax_input);
    bool all = !eng_c_has(c, ARG_argmax_dim);
    bool keepdim = eng_c_bool(c, ARG_argmax_keepdim) && !all;
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out;
    uint32_t mask;
    int dim = 0, n;

    if (!all && !eng_wrap_dim(c->e, eng_c_int(c, ARG_argmax_dim), x->ndim, &dim))
        return;
    mask = all ? (1U << x->ndim) - 1 : x->ndim ? 1U << dim : 0;
    n = eng_reduce_sizes(x, mask, keepdim, sizes);
    out = eng_c_empty(c, sizes, n, VS_I64, x);
    eng_scratch_reduce(c->e, ENG_SR_INDEXED, x, out, mask, keepdim);
    if (out && eng_c_computes(c)) {
        int64_t flat = eng_numel(x);
        struct eng_tensor *dense =
            eng_empty(c->e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, true);
        struct eng_tensor *values = eng_empty(c->e, sizes, n, (enum vs_dtype)x->dtype, true);

        if (dense && values) {
            struct eng_view vx = eng_v(x), vd = eng_v(dense), vv, vo;

            c->e->kernels->copy(&vx, &vd);
            vv = eng_reduce_keepdim_view(values, x, mask, keepdim);
            vo = eng_reduce_keepdim_view(out, x, mask, keepdim);
            if (all) {
                vd.ndim = vv.ndim = vo.ndim = 1;
                vd.sizes[0] = flat;
                vd.strides[0] = 1;
                vv.sizes[0] = vo.sizes[0] = 1;
            }
            c->e->kernels->max_dim(&vd, dim, c->id == ENG_OP_argmax, &vv, &vo);
        }
        eng_unref(values);
        eng_unref(dense);
    }
    eng_c_give(c, out);
}

/*
 * Count of true elements of mask, as sum() of a bool does it on the device: the count, and a widened copy of the mask
 * that goes at once.
 */
static struct eng_tensor *mask_count(struct eng_bw *b, struct eng_tensor *test,
                                     const struct eng_arg *dims, bool keepdim)
{
    struct eng *e = b->e;
    struct eng_tensor *wide, *count;
    int64_t sizes[VS_MAX_DIMS];
    uint32_t mask;
    int n;

    if (!test || !eng_reduce_dim_mask(e, dims, test->ndim, &mask))
        return NULL;
    n = eng_reduce_sizes(test, mask, keepdim, sizes);
    count = eng_empty(e, sizes, n, VS_I64, test->storage->on_host);
    wide = eng_empty(e, test->sizes, test->ndim, VS_I64, test->storage->on_host);
    eng_scratch_reduce(e, ENG_SR_SUM, wide, count, mask, keepdim);
    if (count && wide && eng_runs(e)) {
        struct eng_view vt = eng_v(test), vc = eng_reduce_keepdim_view(count, test, mask, keepdim);
        double p[4] = {0};

        eng_run_reduce(e, count->storage->on_host, ENG_R_SUM, &vt, &vc, mask, p);
    }
    eng_unref(wide);
    return count;
}

/* mask * (g / count of the mask). Takes over nothing. */
static struct eng_tensor *evenly(struct eng *e, struct eng_tensor *g, struct eng_tensor *test,
                                 struct eng_tensor *count)
{
    struct eng_tensor *share = eng_div(e, g, count);
    struct eng_tensor *out = eng_mul(e, share, test);

    eng_unref(share);
    return out;
}

/* max(x), min(x): g shared among the elements that have the value. saved: input, result */
void eng_b_max_all(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *nan_x = eng_op1(e, ENG_OP_isnan, b->saved[SAVED_max_all_input]);
    struct eng_tensor *nan_value = eng_op1(e, ENG_OP_isnan, b->saved[SAVED_max_all_result]);
    struct eng_tensor *same =
        eng_op2(e, ENG_OP_eq, b->saved[SAVED_max_all_input], b->saved[SAVED_max_all_result]);
    struct eng_arg all = eng_anone();
    struct eng_tensor *count = mask_count(b, same, &all, false);

    eng_b_give(b, ARG_max_all_input, evenly(e, b->g[0], same, count));
    eng_unref(count);
    eng_unref(same);
    eng_unref(nan_value);
    eng_unref(nan_x);
}

void eng_b_amax(struct eng_bw *b)
{
    struct eng *e = b->e;
    int ndim = eng_b_edge(b, ARG_amax_input, 0)->ndim;
    uint32_t mask = eng_reduce_mask_of(&b->a[ARG_amax_dim], ndim);
    bool keepdim = b->a[ARG_amax_keepdim].v.flag;
    struct eng_tensor *g = eng_reduce_unsqueezed(e, eng_ref(b->g[0]), mask, ndim, keepdim);
    struct eng_tensor *result =
        eng_reduce_unsqueezed(e, eng_ref(b->saved[SAVED_amax_result]), mask, ndim, keepdim);
    struct eng_tensor *same =
        eng_op2(e, ENG_OP_eq, result, b->saved[SAVED_amax_input]); /* in the result's order */
    struct eng_tensor *count = mask_count(b, same, &b->a[ARG_amax_dim], true);

    eng_b_give(b, ARG_amax_input, evenly(e, g, same, count));
    eng_unref(count);
    eng_unref(same);
    eng_unref(result);
    eng_unref(g);
}
