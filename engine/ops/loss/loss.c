/*
 * engine/ops/loss/loss.c - softmax, cross entropy and negative log likelihood.
 *
 * Must not know:  models.
 * Invariant:      temporaries are allocated and freed in the order of PyTorch's C++ expressions.
 */
#include <math.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

/* ---- softmax ---- */

/*
 * softmax(input, dim, dtype): a half-precision input with a float32 result is converted by the kernel, other inputs
 * are cast first
 */
void eng_f_softmax(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_softmax_input);
    bool is_log = c->id == ENG_OP_log_softmax;
    bool direct = c->a[ARG_softmax_dtype].kind == ENG_A_DTYPE && x->dtype == VS_F16 &&
                  c->a[ARG_softmax_dtype].v.dtype == VS_F32 && !x->storage->on_host;
    struct eng_tensor *cast = c->a[ARG_softmax_dtype].kind == ENG_A_DTYPE && !direct
                                  ? eng_to_dtype(c->e, x, c->a[ARG_softmax_dtype].v.dtype)
                                  : eng_ref(x);
    struct eng_arg args[] = {eng_at(cast), c->a[ARG_softmax_dim], eng_ab(direct)};

    if (cast)
        eng_c_give(c,
                   eng_call1(c->e, is_log ? ENG_OP_log_softmax_leaf : ENG_OP_softmax_leaf, args));
    eng_unref(cast);
}

void eng_f_softmax_leaf(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_softmax_leaf_input);
    enum vs_dtype dtype =
        eng_c_bool(c, ARG_softmax_leaf_half_to_float) ? VS_F32 : (enum vs_dtype)x->dtype;
    struct eng_tensor *dense, *out;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_softmax_leaf_dim), x->ndim, &dim))
        return;
    if (!vs_dtype_is_floating((enum vs_dtype)x->dtype)) {
        eng_fail(c->e, VS_E_TYPE, "softmax is not implemented for %s: convert with .float()",
                 vs_dtype_name((enum vs_dtype)x->dtype));
        return;
    }
    out = eng_c_empty(c, x->sizes, x->ndim, dtype, x);
    dense = eng_contiguous(c->e, x);
    if (out && dense && eng_c_computes(c)) {
        struct eng_view vx = eng_v(dense), vo = eng_v(out);

        if (!vx.ndim) {
            vx.ndim = vo.ndim = 1;
            vx.sizes[0] = vo.sizes[0] = 1;
            vx.strides[0] = vo.strides[0] = 1;
        }
        c->e->kernels->softmax(&vx, dim, c->id == ENG_OP_log_softmax_leaf, &vo);
    }
    eng_unref(dense);
    eng_c_give(c, out);
}

/*
 * gx has the input's dtype. On the device softmax (not log_softmax) computes g * y first and frees it inside the op.
 */
static struct eng_tensor *softmax_gradient(struct eng_bw *b, const struct eng_edge *edge,
                                           struct eng_tensor *y, int64_t dim)
{
    struct eng *e = b->e;
    bool is_log = b->node->op == ENG_OP_log_softmax_leaf;
    struct eng_op_call c = {.e = e, .id = b->node->op};
    struct eng_tensor *g, *gx, *product = NULL, *dense = NULL;

    if (!y)
        return NULL;
    gx = eng_empty(e, y->sizes, y->ndim, (enum vs_dtype)edge->dtype, y->storage->on_host);
    if (is_log) {
        g = eng_contiguous(e, b->g[0]);
    } else { /* of g * y, which lies as g does, a dense copy */
        product = eng_c_elementwise_out(&c, (struct eng_tensor *[]){b->g[0], y}, 2,
                                        (enum vs_dtype)b->g[0]->dtype);
        dense = product ? eng_contiguous(e, product) : NULL;
        g = eng_ref(b->g[0]);
    }
    if (gx && g && e->kernels && !e->failed) {
        struct eng_view vg = eng_v(g), vy = eng_v(y), vo = eng_v(gx);

        if (!vy.ndim) {
            vg.ndim = vy.ndim = vo.ndim = 1;
            vg.sizes[0] = vy.sizes[0] = vo.sizes[0] = 1;
            vg.strides[0] = vy.strides[0] = vo.strides[0] = 1;
        }
        e->kernels->softmax_backward(&vg, &vy, (int)(dim < 0 ? dim + (y->ndim ? y->ndim : 1) : dim),
                                     is_log, &vo);
    }
    eng_unref(dense);
    eng_unref(product);
    eng_unref(g);
    return gx;
}

/* softmax, log_softmax */
void eng_b_softmax_leaf(struct eng_bw *b)
{
    eng_b_give(b, ARG_softmax_leaf_input,
               softmax_gradient(b, eng_b_edge(b, ARG_softmax_leaf_input, 0),
                                b->saved[SAVED_softmax_leaf_result],
                                b->a[ARG_softmax_leaf_dim].v.scalar.i));
}

/* Always over the last dim. */
void eng_b_safe_softmax(struct eng_bw *b)
{
    eng_b_give(b, ARG_safe_softmax_input,
               softmax_gradient(b, eng_b_edge(b, ARG_safe_softmax_input, 0),
                                b->saved[SAVED_safe_softmax_result], -1));
}

/* ---- cross entropy ---- */

/* The class weights as a view that broadcasts over the log-probabilities; NULL without. A new reference. */
static struct eng_tensor *weight_view(struct eng_op_call *c, const struct eng_tensor *logp)
{
    struct eng_tensor *weight = eng_c_tensor(c, ARG_cross_entropy_weight);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_arg args[] = {eng_at(weight), eng_aints(sizes, logp->ndim)};

    if (!weight)
        return NULL;
    for (int d = 0; d < logp->ndim; d++)
        sizes[d] = d == (logp->ndim == 1 ? 0 : 1) ? eng_numel(weight) : 1;
    return eng_call1(c->e, ENG_OP_view, args);
}

static struct eng_tensor *sum_all(struct eng *e, struct eng_tensor *t)
{
    struct eng_arg args[] = {eng_at(t), eng_anone()};

    return t ? eng_call1(e, ENG_OP_sum_all, args) : NULL;
}

/*
 * -(logp * target [* weight]), summed over the classes or over everything, and divided by the rows. Temporaries are
 * freed in reverse order.
 */
static void cross_entropy_soft(struct eng_op_call *c, struct eng_tensor *logp)
{
    struct eng *e = c->e;
    struct eng_tensor *target = eng_c_tensor(c, ARG_cross_entropy_target);
    double smoothing = eng_c_float(c, ARG_cross_entropy_label_smoothing);
    int64_t reduction = eng_c_int(c, ARG_cross_entropy_reduction);
    int64_t class_dim = logp->ndim == 1 ? 0 : 1;
    struct eng_tensor *smooth = eng_ref(target);
    struct eng_tensor *weight, *product, *weighted = NULL, *sum, *minus;

    if (smoothing > 0) {
        struct eng_tensor *kept = eng_mul_scalar(e, target, 1 - smoothing);

        eng_slot_set(&smooth, eng_add_scalar(e, kept, smoothing / (double)logp->sizes[class_dim]));
        eng_unref(kept);
    }
    weight = weight_view(c, logp);
    product = eng_mul(e, logp, smooth);
    if (weight)
        weighted = eng_mul(e, product, weight);
    if (reduction == REDUCE_NONE)
        sum = eng_sum_dims(e, weighted ? weighted : product, &class_dim, 1, false);
    else
        sum = sum_all(e, weighted ? weighted : product);
    minus = eng_neg(e, sum);
    if (reduction == REDUCE_MEAN) {
        double rows = (double)eng_numel(logp) / (double)logp->sizes[class_dim];
        struct eng_arg args[] = {eng_at(minus), eng_ai((int64_t)rows), eng_anone()};

        eng_c_give(c, minus ? eng_call1(e, ENG_OP_div, args) : NULL);
    } else {
        eng_c_give(c, eng_ref(minus));
    }
    eng_unref(minus);
    eng_unref(sum);
    eng_unref(weighted);
    eng_unref(product);
    eng_unref(weight);
    eng_unref(smooth);
}

static struct eng_tensor *nll_nd(struct eng_op_call *c, struct eng_tensor *logp)
{
    struct eng_arg args[] = {eng_at(logp), c->a[ARG_cross_entropy_target],
                             c->a[ARG_cross_entropy_weight], c->a[ARG_cross_entropy_reduction],
                             c->a[ARG_cross_entropy_ignore_index]};

    return eng_call1(c->e, ENG_OP_nll_loss_nd, args);
}

/* Minus the sum of the (weighted) log-probabilities over the classes. */
static struct eng_tensor *smooth_loss(struct eng_op_call *c, struct eng_tensor *logp)
{
    struct eng *e = c->e;
    int64_t class_dim = logp->ndim == 1 ? 0 : 1;
    struct eng_tensor *weight = weight_view(c, logp);
    struct eng_tensor *product = weight ? eng_mul(e, logp, weight) : NULL;
    struct eng_tensor *sum = eng_sum_dims(e, product ? product : logp, &class_dim, 1, false);
    struct eng_tensor *minus = eng_neg(e, sum);

    eng_unref(sum);
    eng_unref(product);
    eng_unref(weight);
    return minus;
}

/*
 * What a mean is divided by: the count of targets that are not ignored, or the sum of their weights. PyTorch selects
 * them, which takes memory that depends on how many there are; here the ignored ones get a weight of 0.
 */
static struct eng_tensor *smooth_divisor(struct eng_op_call *c, struct eng_tensor *ignored,
                                         struct eng_tensor *kept)
{
    struct eng *e = c->e;
    struct eng_arg fill[] = {c->a[ARG_cross_entropy_target], eng_at(ignored), eng_ai(0)};
    int64_t flat = -1;
    struct eng_tensor *safe, *row, *picked, *mask, *all;
    struct eng_arg gather[3];

    if (c->a[ARG_cross_entropy_weight].kind != ENG_A_TENSOR)
        return sum_all(e, kept);
    safe = ignored ? eng_call1(e, ENG_OP_masked_fill, fill) : NULL;
    row = eng_reshape(e, safe, &flat, 1);
    gather[0] = c->a[ARG_cross_entropy_weight];
    gather[1] = eng_ai(0);
    gather[2] = eng_at(row);
    picked = row ? eng_call1(e, ENG_OP_gather, gather) : NULL;
    mask = eng_reshape(e, kept, &flat, 1);
    eng_slot_set(&picked, eng_mul(e, picked, mask));
    all = sum_all(e, picked);
    eng_unref(mask);
    eng_unref(picked);
    eng_unref(row);
    eng_unref(safe);
    return all;
}

/* nll * (1 - s) + smooth * s / classes. In a sum or quotient the right operand is made first, as C++ compilers do. */
static void cross_entropy_smoothed(struct eng_op_call *c, struct eng_tensor *logp)
{
    struct eng *e = c->e;
    double smoothing = eng_c_float(c, ARG_cross_entropy_label_smoothing);
    int64_t reduction = eng_c_int(c, ARG_cross_entropy_reduction);
    double classes = (double)logp->sizes[logp->ndim == 1 ? 0 : 1];
    struct eng_tensor *nll = nll_nd(c, logp);
    struct eng_tensor *smooth = smooth_loss(c, logp);
    struct eng_arg test[] = {c->a[ARG_cross_entropy_target], c->a[ARG_cross_entropy_ignore_index]};
    struct eng_tensor *ignored = eng_call1(e, ENG_OP_eq, test);
    struct eng_arg fill[] = {eng_at(smooth), eng_at(ignored), eng_af(0)};
    struct eng_tensor *reduced = NULL, *a, *z;
    struct eng_ret ret;

    if (smooth && ignored && eng_call_inplace(e, ENG_OP_masked_fill, fill, &ret))
        eng_ret_release(&ret);
    if (reduction == REDUCE_NONE) {
        reduced = eng_ref(smooth);
    } else if (reduction == REDUCE_SUM) {
        reduced = sum_all(e, smooth);
    } else {
        struct eng_tensor *kept = eng_op1(e, ENG_OP_bitwise_not, ignored);
        struct eng_tensor *divisor = smooth_divisor(c, ignored, kept);
        struct eng_tensor *sum = sum_all(e, smooth);

        reduced = eng_div(e, sum, divisor);
        eng_unref(sum);
        eng_unref(divisor);
        eng_unref(kept);
    }
    z = eng_mul_scalar(e, reduced, smoothing / classes);
    a = eng_mul_scalar(e, nll, 1 - smoothing);
    eng_c_give(c, eng_add(e, a, z));
    eng_unref(a);
    eng_unref(z);
    eng_unref(reduced);
    eng_unref(ignored);
    eng_unref(smooth);
    eng_unref(nll);
}

/* input [N, C, ...] logits; target [N, ...] classes, or probabilities of the input's shape */
void eng_f_cross_entropy(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_cross_entropy_input);
    struct eng_tensor *target = eng_c_tensor(c, ARG_cross_entropy_target);
    int64_t class_dim = x->ndim == 1 ? 0 : 1;
    struct eng_arg args[] = {eng_at(x), eng_ai(class_dim), eng_ad((enum vs_dtype)x->dtype)};
    struct eng_tensor *logp = eng_call1(c->e, ENG_OP_log_softmax, args);

    if (!logp)
        return;
    if (eng_same_sizes(x, target) && vs_dtype_is_floating((enum vs_dtype)target->dtype))
        cross_entropy_soft(c, logp);
    else if (eng_c_float(c, ARG_cross_entropy_label_smoothing) > 0)
        cross_entropy_smoothed(c, logp);
    else
        eng_c_give(c, nll_nd(c, logp));
    eng_unref(logp);
}

/* ---- negative log likelihood ---- */

void eng_f_nll_loss_nd(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, ARG_nll_loss_nd_input);
    struct eng_tensor *target = eng_c_tensor(c, ARG_nll_loss_nd_target);
    struct eng_arg args[] = {c->a[ARG_nll_loss_nd_input], c->a[ARG_nll_loss_nd_target],
                             c->a[ARG_nll_loss_nd_weight], c->a[ARG_nll_loss_nd_reduction],
                             c->a[ARG_nll_loss_nd_ignore_index]};
    struct eng_ret ret;

    if (x->ndim == 1 || x->ndim == 2) {
        if (eng_call(e, ENG_OP_nll_loss, args, &ret)) {
            eng_unref(ret.few[1]);
            eng_c_give(c, ret.few[0]);
        }
        return;
    }
    if (x->ndim == 4) {
        if (eng_call(e, ENG_OP_nll_loss2d, args, &ret)) {
            eng_unref(ret.few[1]);
            eng_c_give(c, ret.few[0]);
        }
        return;
    }
    { /* other ranks are folded to [N, C, 1, L] */
        int64_t xs[4] = {x->sizes[0], x->sizes[1], 1, -1};
        int64_t ts[3] = {x->sizes[0], 1, -1};
        struct eng_tensor *folded = eng_reshape(e, x, xs, 4);
        struct eng_tensor *folded_target = eng_reshape(e, target, ts, 3);

        args[0] = eng_at(folded);
        args[1] = eng_at(folded_target);
        if (folded && folded_target && eng_call(e, ENG_OP_nll_loss2d, args, &ret)) {
            eng_unref(ret.few[1]);
            if (eng_c_int(c, ARG_nll_loss_nd_reduction) == REDUCE_NONE) {
                eng_c_give(c, eng_reshape(e, ret.few[0], target->sizes, target->ndim));
                eng_unref(ret.few[0]);
            } else {
                eng_c_give(c, ret.few[0]);
            }
        }
        eng_unref(folded_target);
        eng_unref(folded);
    }
}

/* x as [N, C, L] for the kernel, target as [N, L]; t is dense */
static struct eng_view fold_classes(const struct eng_tensor *t, bool has_classes)
{
    struct eng_view v = eng_v(t);
    int64_t rest = 1;
    int lead = has_classes ? 2 : 1;

    if (t->ndim < lead) { /* [C] or a single target: one row */
        v.sizes[1] = has_classes ? t->sizes[0] : 1;
        v.sizes[0] = 1;
        v.strides[1] = has_classes ? t->strides[0] : 1;
        v.strides[0] = v.sizes[1];
    }
    for (int d = lead; d < t->ndim; d++)
        rest *= t->sizes[d];
    v.sizes[lead] = rest;
    v.strides[lead] = 1;
    v.ndim = lead + 1;
    return v;
}

/* (loss, total_weight), both of the input's dtype */
void eng_f_nll_loss(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_nll_loss_input);
    struct eng_tensor *target = eng_c_tensor(c, ARG_nll_loss_target);
    struct eng_tensor *weight = eng_c_tensor(c, ARG_nll_loss_weight);
    int64_t reduction = eng_c_int(c, ARG_nll_loss_reduction);
    bool keeps = reduction == REDUCE_NONE && x->ndim > 1;
    struct eng_tensor *out, *total, *dx, *dt, *dw;
    int64_t want =
        eng_numel(x) / (x->sizes[x->ndim > 1 ? 1 : 0] ? x->sizes[x->ndim > 1 ? 1 : 0] : 1);

    if (target->dtype != VS_I64) {
        eng_fail(c->e, VS_E_TYPE, "nll_loss: expected a target of class numbers (int64), got %s",
                 vs_dtype_name((enum vs_dtype)target->dtype));
        return;
    }
    if (eng_numel(target) != want ||
        target->ndim + 1 != (x->ndim > 1 ? x->ndim : 1 + target->ndim)) {
        char tx[ENG_SHAPE_TEXT_MAX], tt[ENG_SHAPE_TEXT_MAX];

        eng_fail(c->e, VS_E_SHAPE, "nll_loss: input %s and target %s do not fit together",
                 eng_shape_text(x, tx), eng_shape_text(target, tt));
        return;
    }
    if (c->id == ENG_OP_nll_loss2d) { /* this kernel allocates total_weight first */
        total = eng_c_empty(c, NULL, 0, (enum vs_dtype)x->dtype, x);
        out = eng_c_empty(c, target->sizes, keeps ? target->ndim : 0, (enum vs_dtype)x->dtype, x);
    } else {
        out = eng_c_empty(c, target->sizes, keeps ? target->ndim : 0, (enum vs_dtype)x->dtype, x);
        total = eng_c_empty(c, NULL, 0, (enum vs_dtype)x->dtype, x);
    }
    dx = eng_contiguous(c->e, x);
    dt = eng_contiguous(c->e, target);
    dw = eng_contiguous(c->e, weight);
    if (out && total && dx && dt && eng_c_computes(c)) {
        struct eng_view vx = fold_classes(dx, true), vt = fold_classes(dt, false);
        struct eng_view vo = keeps ? fold_classes(out, false) : eng_v(out), vtot = eng_v(total), vw;

        if (dw)
            vw = eng_v(dw);
        if (!c->e->kernels->nll_loss(&vx, &vt, dw ? &vw : NULL, (int)reduction,
                                     eng_c_int(c, ARG_nll_loss_ignore_index), &vo, &vtot))
            eng_fail(c->e, VS_E_VALUE, "nll_loss: a target is outside the classes");
    }
    eng_unref(dw);
    eng_unref(dt);
    eng_unref(dx);
    eng_c_give(c, out);
    eng_c_give(c, total);
}

/*
 * Allocates gx, then dense copies of operands that are not dense, also of the input although it is not read. saved:
 * input, target, weight, total_weight
 */
void eng_b_nll_loss(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *x = b->saved[SAVED_nll_loss_input];
    struct eng_tensor *gx, *target, *dense_x, *weight, *g;

    if (!x || !b->saved[SAVED_nll_loss_target] || !b->saved[SAVED_nll_loss_result1])
        return;
    gx = eng_zeros(e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x->storage->on_host);
    target = eng_contiguous(e, b->saved[SAVED_nll_loss_target]);
    dense_x = eng_contiguous(e, x);
    weight = eng_contiguous(e, b->saved[SAVED_nll_loss_weight]);
    g = eng_contiguous(e, b->g[0]);
    if (gx && target && g && e->kernels && !e->failed) {
        struct eng_view vg = g->ndim ? fold_classes(g, false) : eng_v(g);
        struct eng_view vt = fold_classes(target, false), vo = fold_classes(gx, true),
                        vtot = eng_v(b->saved[SAVED_nll_loss_result1]), vw;

        if (weight)
            vw = eng_v(weight);
        e->kernels->nll_loss_backward(&vg, &vt, weight ? &vw : NULL,
                                      (int)b->a[ARG_nll_loss_reduction].v.scalar.i,
                                      b->a[ARG_nll_loss_ignore_index].v.scalar.i, &vtot, &vo);
    }
    eng_unref(g);
    eng_unref(weight);
    eng_unref(dense_x);
    eng_unref(target);
    eng_b_give(b, ARG_nll_loss_input, gx);
}
