/*
 * engine/ops/loss.c - softmax and the losses.
 *
 * Must not know:  models.
 * Invariant:      a mean or sum of a pairwise loss keeps the memory of the unreduced values behind its one element, as PyTorch's kernel does.
 */
#include <math.h>
#include <string.h>

#include "engine/op_internal.h"
#include "engine/ops/ops.h"

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

/* ---- softmax ---- */

/* softmax(input, dim, dtype): a half input asked for in float goes straight there, others are cast first */
void eng_f_softmax(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    bool is_log = c->id == ENG_OP_log_softmax;
    bool direct = c->a[2].kind == ENG_A_DTYPE && x->dtype == VS_F16 && c->a[2].v.dtype == VS_F32 && !x->storage->on_host;
    struct eng_tensor *cast = c->a[2].kind == ENG_A_DTYPE && !direct ? eng_to_dtype(c->e, x, c->a[2].v.dtype) : eng_ref(x);
    struct eng_arg args[] = {eng_at(cast), c->a[1], eng_ab(direct)};

    if (cast)
        eng_c_give(c, eng_call1(c->e, is_log ? ENG_OP_log_softmax_leaf : ENG_OP_softmax_leaf, args));
    eng_unref(cast);
}

void eng_f_softmax_leaf(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    enum vs_dtype dtype = eng_c_bool(c, 2) ? VS_F32 : (enum vs_dtype)x->dtype;
    struct eng_tensor *dense, *out;
    int dim;

    if (!eng_wrap_dim(c->e, eng_c_int(c, 1), x->ndim, &dim))
        return;
    if (!vs_dtype_is_floating((enum vs_dtype)x->dtype)) {
        eng_fail(c->e, VS_E_TYPE, "softmax is not implemented for %s: convert with .float()", vs_dtype_name((enum vs_dtype)x->dtype));
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
 * gx has the input's dtype. On the device softmax (not log_softmax) makes g * y first, and lets go of it inside the op.
 * _safe_softmax is the one that is not asked for a dim: it is the last.
 */
void eng_b_softmax(struct eng_bw *b)
{
    struct eng *e = b->e;
    bool is_log = b->node->op == ENG_OP_log_softmax_leaf;
    const struct eng_edge *edge = eng_b_edge(b, 0, 0);
    struct eng_tensor *y = b->saved[0];
    struct eng_tensor *g, *gx, *product = NULL;
    int64_t dim = b->node->op == ENG_OP_safe_softmax ? -1 : b->a[1].v.scalar.i;

    if (!y)
        return;
    gx = eng_empty(e, y->sizes, y->ndim, (enum vs_dtype)edge->dtype, y->storage->on_host);
    g = eng_contiguous(e, b->g[0]);
    if (!is_log)
        product = eng_empty(e, y->sizes, y->ndim, (enum vs_dtype)b->g[0]->dtype, y->storage->on_host);
    if (gx && g && e->kernels && !e->failed) {
        struct eng_view vg = eng_v(g), vy = eng_v(y), vo = eng_v(gx);

        if (!vy.ndim) {
            vg.ndim = vy.ndim = vo.ndim = 1;
            vg.sizes[0] = vy.sizes[0] = vo.sizes[0] = 1;
            vg.strides[0] = vy.strides[0] = vo.strides[0] = 1;
        }
        e->kernels->softmax_backward(&vg, &vy, (int)(dim < 0 ? dim + (y->ndim ? y->ndim : 1) : dim), is_log, &vo);
    }
    eng_unref(product);
    eng_unref(g);
    eng_b_give(b, 0, gx);
}

/* ---- cross entropy ---- */

static void cross_entropy_soft(struct eng_op_call *c, struct eng_tensor *logp)
{
    struct eng *e = c->e;
    struct eng_tensor *target = eng_c_tensor(c, 1);
    double smoothing = eng_c_float(c, 5);
    int64_t reduction = eng_c_int(c, 3);
    int64_t class_dim = logp->ndim == 1 ? 0 : 1;
    struct eng_tensor *smooth = eng_ref(target);
    struct eng_tensor *product, *minus, *sum;

    if (smoothing > 0) {
        struct eng_tensor *kept = eng_mul_scalar(e, target, 1 - smoothing);

        eng_slot_set(&smooth, eng_add_scalar(e, kept, smoothing / (double)logp->sizes[class_dim]));
        eng_unref(kept);
    }
    product = eng_mul(e, logp, smooth);
    eng_unref(smooth);
    if (reduction == REDUCE_NONE) {
        sum = eng_sum_dims(e, product, &class_dim, 1, false);
        eng_unref(product);
        eng_c_give(c, eng_neg(e, sum));
        eng_unref(sum);
        return;
    }
    {
        struct eng_arg args[] = {eng_at(product), eng_anone()};

        sum = product ? eng_call1(e, ENG_OP_sum_all, args) : NULL;
    }
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
    eng_unref(product);
}

static struct eng_tensor *nll_nd(struct eng_op_call *c, struct eng_tensor *logp)
{
    struct eng_arg args[] = {eng_at(logp), c->a[1], c->a[2], c->a[3], c->a[4]};

    return eng_call1(c->e, ENG_OP_nll_loss_nd, args);
}

/* nll * (1 - s) + smooth * s / classes, where smooth is minus the sum of the log-probabilities */
static void cross_entropy_smoothed(struct eng_op_call *c, struct eng_tensor *logp)
{
    struct eng *e = c->e;
    double smoothing = eng_c_float(c, 5);
    int64_t reduction = eng_c_int(c, 3);
    int64_t class_dim = logp->ndim == 1 ? 0 : 1;
    struct eng_tensor *nll = nll_nd(c, logp);
    struct eng_tensor *minus, *smooth, *ignored, *filled, *reduced = NULL;
    struct eng_tensor *target = eng_c_tensor(c, 1);

    if (c->a[2].kind == ENG_A_TENSOR) {
        eng_fail(e, VS_E_UNSUPPORTED, "cross_entropy: class weights together with label smoothing are not supported");
        eng_unref(nll);
        return;
    }
    {
        struct eng_tensor *sum = eng_sum_dims(e, logp, &class_dim, 1, false);

        smooth = eng_neg(e, sum);
        eng_unref(sum);
    }
    {
        struct eng_arg test[] = {eng_at(target), c->a[4]};

        ignored = eng_call1(e, ENG_OP_eq, test);
    }
    {
        struct eng_arg fill[] = {eng_at(smooth), eng_at(ignored), eng_af(0)};
        struct eng_ret ret;

        if (smooth && ignored && eng_call_inplace(e, ENG_OP_masked_fill, fill, &ret))
            eng_ret_release(&ret);
    }
    filled = smooth;
    if (reduction == REDUCE_NONE) {
        reduced = eng_ref(filled);
    } else {
        struct eng_arg args[] = {eng_at(filled), eng_anone()};

        if (reduction == REDUCE_SUM) {
            reduced = filled ? eng_call1(e, ENG_OP_sum_all, args) : NULL;
        } else { /* over the targets that are not ignored; the divisor is made first */
            struct eng_tensor *kept = eng_op1(e, ENG_OP_bitwise_not, ignored);
            struct eng_arg count_args[] = {eng_at(kept), eng_anone()};
            struct eng_tensor *count = kept ? eng_call1(e, ENG_OP_sum_all, count_args) : NULL;
            struct eng_tensor *sum = filled ? eng_call1(e, ENG_OP_sum_all, args) : NULL;

            reduced = eng_div(e, sum, count);
            eng_unref(sum);
            eng_unref(count);
            eng_unref(kept);
        }
    }
    {
        struct eng_tensor *z = eng_mul_scalar(e, reduced, smoothing / (double)logp->sizes[class_dim]);
        struct eng_tensor *a = eng_mul_scalar(e, nll, 1 - smoothing);

        minus = eng_add(e, a, z);
        eng_unref(a);
        eng_unref(z);
    }
    eng_unref(reduced);
    eng_unref(ignored);
    eng_unref(filled);
    eng_unref(nll);
    eng_c_give(c, minus);
}

/* input [N, C, ...] logits; target [N, ...] classes, or probabilities of the input's shape */
void eng_f_cross_entropy(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct eng_tensor *target = eng_c_tensor(c, 1);
    int64_t class_dim = x->ndim == 1 ? 0 : 1;
    struct eng_arg args[] = {eng_at(x), eng_ai(class_dim), eng_ad((enum vs_dtype)x->dtype)};
    struct eng_tensor *logp = eng_call1(c->e, ENG_OP_log_softmax, args);

    if (!logp)
        return;
    if (eng_same_sizes(x, target) && vs_dtype_is_floating((enum vs_dtype)target->dtype))
        cross_entropy_soft(c, logp);
    else if (eng_c_float(c, 5) > 0)
        cross_entropy_smoothed(c, logp);
    else
        eng_c_give(c, nll_nd(c, logp));
    eng_unref(logp);
}

/* ---- negative log likelihood ---- */

void eng_f_nll_loss_nd(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct eng_tensor *target = eng_c_tensor(c, 1);
    struct eng_arg args[] = {c->a[0], c->a[1], c->a[2], c->a[3], c->a[4]};
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
            if (eng_c_int(c, 3) == REDUCE_NONE) {
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
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct eng_tensor *target = eng_c_tensor(c, 1);
    struct eng_tensor *weight = eng_c_tensor(c, 2);
    int64_t reduction = eng_c_int(c, 3);
    bool keeps = reduction == REDUCE_NONE && x->ndim > 1;
    struct eng_tensor *out, *total, *dx, *dt;
    int64_t want = eng_numel(x) / (x->sizes[x->ndim > 1 ? 1 : 0] ? x->sizes[x->ndim > 1 ? 1 : 0] : 1);

    if (target->dtype != VS_I64) {
        eng_fail(c->e, VS_E_TYPE, "nll_loss: expected a target of class numbers (int64), got %s", vs_dtype_name((enum vs_dtype)target->dtype));
        return;
    }
    if (eng_numel(target) != want || target->ndim + 1 != (x->ndim > 1 ? x->ndim : 1 + target->ndim)) {
        char tx[ENG_SHAPE_TEXT_MAX], tt[ENG_SHAPE_TEXT_MAX];

        eng_fail(c->e, VS_E_SHAPE, "nll_loss: input %s and target %s do not fit together", eng_shape_text(x, tx), eng_shape_text(target, tt));
        return;
    }
    if (c->id == ENG_OP_nll_loss2d) { /* this one makes the total first */
        total = eng_c_empty(c, NULL, 0, (enum vs_dtype)x->dtype, x);
        out = eng_c_empty(c, target->sizes, keeps ? target->ndim : 0, (enum vs_dtype)x->dtype, x);
    } else {
        out = eng_c_empty(c, target->sizes, keeps ? target->ndim : 0, (enum vs_dtype)x->dtype, x);
        total = eng_c_empty(c, NULL, 0, (enum vs_dtype)x->dtype, x);
    }
    dx = eng_contiguous(c->e, x);
    dt = eng_contiguous(c->e, target);
    if (out && total && dx && dt && eng_c_computes(c)) {
        struct eng_view vx = fold_classes(dx, true), vt = fold_classes(dt, false);
        struct eng_view vo = keeps ? fold_classes(out, false) : eng_v(out), vtot = eng_v(total), vw;

        if (weight)
            vw = eng_v(weight);
        if (!c->e->kernels->nll_loss(&vx, &vt, weight ? &vw : NULL, (int)reduction, eng_c_int(c, 4), &vo, &vtot))
            eng_fail(c->e, VS_E_VALUE, "nll_loss: a target is outside the classes");
    }
    eng_unref(dt);
    eng_unref(dx);
    eng_c_give(c, out);
    eng_c_give(c, total);
}

/* saved: input, target, weight, total_weight */
void eng_b_nll_loss(struct eng_bw *b)
{
    struct eng_tensor *x = b->saved[0];
    struct eng_tensor *gx, *target, *g;

    if (!x || !b->saved[1] || !b->saved[3])
        return;
    gx = eng_zeros(b->e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x->storage->on_host);
    target = eng_contiguous(b->e, b->saved[1]);
    g = eng_contiguous(b->e, b->g[0]);
    if (gx && target && g && b->e->kernels) {
        struct eng_view vg = g->ndim ? fold_classes(g, false) : eng_v(g);
        struct eng_view vt = fold_classes(target, false), vo = fold_classes(gx, true), vtot = eng_v(b->saved[3]), vw;

        if (b->saved[2])
            vw = eng_v(b->saved[2]);
        b->e->kernels->nll_loss_backward(&vg, &vt, b->saved[2] ? &vw : NULL, (int)b->a[3].v.scalar.i, b->a[4].v.scalar.i, &vtot, &vo);
    }
    eng_unref(g);
    eng_unref(target);
    eng_b_give(b, 0, gx);
}

/* ---- losses over pairs ---- */

/* mse, smooth_l1: (input, target, reduction[, beta]) */
void eng_f_pair_loss(struct eng_op_call *c)
{
    struct eng_tensor *pair[] = {eng_c_tensor(c, 0), eng_c_tensor(c, 1)};
    int64_t reduction = eng_c_int(c, 2);
    bool is_mse = c->id == ENG_OP_mse_loss;
    double p[4] = {is_mse ? 0 : eng_c_float(c, 3)};
    enum vs_dtype dtype = eng_result_dtype(pair, 2, NULL);
    /* the result is allocated for the unreduced values and then shrunk: it keeps their memory */
    struct eng_tensor *full = eng_c_elementwise_out(c, pair, 2, dtype);
    struct eng_tensor *values = reduction == REDUCE_NONE ? eng_ref(full) : full ? eng_c_empty_like(c, full, dtype) : NULL;
    struct eng_tensor *out = reduction == REDUCE_NONE ? eng_ref(full) : full ? eng_as_strided(full, NULL, NULL, 0, 0) : NULL;

    if (values && out && eng_c_computes(c)) {
        struct eng_view va = eng_v_expand(pair[0], values), vb = eng_v_expand(pair[1], values), vv = eng_v(values);

        c->e->kernels->binary(is_mse ? ENG_B_MSE : ENG_B_SMOOTH_L1, dtype, &va, &vb, &vv, p);
        if (reduction != REDUCE_NONE) {
            struct eng_view vo = eng_v(out);

            vo.ndim = vv.ndim;
            for (int d = 0; d < vv.ndim; d++) {
                vo.sizes[d] = 1;
                vo.strides[d] = 0;
            }
            c->e->kernels->reduce(reduction == REDUCE_MEAN ? ENG_R_MEAN : ENG_R_SUM, &vv, &vo, (1U << vv.ndim) - 1, p);
        }
    }
    eng_unref(values);
    eng_unref(full);
    eng_c_give(c, out);
}

/* The gradient of one operand: norm * f'(a - z) * g, a new tensor of a's shape. */
static struct eng_tensor *pair_gradient(struct eng_bw *b, enum eng_ternary kernel, struct eng_tensor *a, struct eng_tensor *z, const double *p)
{
    struct eng_op_call c = {.e = b->e, .id = b->node->op};
    struct eng_tensor *pair[] = {a, z};
    struct eng_tensor *out;

    if (!a || !z)
        return NULL;
    out = eng_c_elementwise_out(&c, pair, 2, (enum vs_dtype)a->dtype);
    if (out && b->e->kernels) {
        struct eng_view vg = eng_v_expand(b->g[0], out), va = eng_v_expand(a, out), vz = eng_v_expand(z, out), vo = eng_v(out);

        b->e->kernels->ternary(kernel, (enum vs_dtype)out->dtype, &vg, &va, &vz, &vo, p);
    }
    return out;
}

void eng_b_pair_loss(struct eng_bw *b)
{
    bool is_mse = b->node->op == ENG_OP_mse_loss;
    enum eng_ternary kernel = is_mse ? ENG_T_MSE_BACKWARD : ENG_T_SMOOTH_L1_BACKWARD;
    double norm = b->a[2].v.scalar.i == REDUCE_MEAN && b->saved[0] ? 1.0 / (double)eng_numel(b->saved[0]) : 1.0;
    double p[4] = {is_mse ? 2 * norm : norm, is_mse ? 0 : b->a[3].v.scalar.f};

    if (eng_b_needs(b, 0))
        eng_b_give(b, 0, pair_gradient(b, kernel, b->saved[0], b->saved[1], p));
    if (eng_b_needs(b, 1))
        eng_b_give(b, 1, pair_gradient(b, kernel, b->saved[1], b->saved[0], p));
}

/* mean(|input - target|), composed */
void eng_f_l1_loss(struct eng_op_call *c)
{
    struct eng *e = c->e;
    int64_t reduction = eng_c_int(c, 2);
    struct eng_tensor *difference = eng_sub(e, eng_c_tensor(c, 0), eng_c_tensor(c, 1));
    struct eng_tensor *size = eng_op1(e, ENG_OP_abs, difference);
    struct eng_arg args[] = {eng_at(size), eng_anone()};

    eng_unref(difference);
    if (reduction == REDUCE_NONE)
        eng_c_give(c, eng_ref(size));
    else if (size)
        eng_c_give(c, eng_call1(e, reduction == REDUCE_MEAN ? ENG_OP_mean_all : ENG_OP_sum_all, args));
    eng_unref(size);
}

/* ---- binary cross entropy with logits ---- */

static void inplace(struct eng *e, enum eng_op_id id, struct eng_tensor *t, struct eng_arg other)
{
    struct eng_arg args[] = {eng_at(t), other, eng_ai(1)};
    struct eng_ret ret;

    if (t && eng_call_inplace(e, id, args, &ret))
        eng_ret_release(&ret);
}

static void add_one(struct eng *e, struct eng_tensor *t)
{
    inplace(e, ENG_OP_add, t, eng_ai(1));
}

static void mul_into(struct eng *e, struct eng_tensor *t, struct eng_tensor *other)
{
    if (other)
        inplace(e, ENG_OP_mul, t, eng_at(other));
}

static void sub_into(struct eng *e, struct eng_tensor *t, struct eng_tensor *other)
{
    if (other)
        inplace(e, ENG_OP_sub, t, eng_at(other));
}

static void scale_into(struct eng *e, struct eng_tensor *t, double factor)
{
    inplace(e, ENG_OP_mul, t, eng_af(factor));
}

static struct eng_tensor *weighted(struct eng_op_call *c, struct eng_tensor *t_taken, struct eng_tensor *weight)
{
    struct eng_tensor *out = weight ? eng_mul(c->e, t_taken, weight) : eng_ref(t_taken);

    eng_unref(t_taken);
    return out;
}

/* (input, target, weight, pos_weight, reduction). On the device: log_sigmoid, 1 - target reused in place, the reduction. */
void eng_f_bce_logits(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, 0);
    struct eng_tensor *target = eng_c_tensor(c, 1);
    struct eng_tensor *pos_weight = eng_c_tensor(c, 3);
    int64_t reduction = eng_c_int(c, 4);
    struct eng_tensor *log_sigmoid, *values, *out;

    if (!eng_same_sizes(x, target)) {
        char tx[ENG_SHAPE_TEXT_MAX], tt[ENG_SHAPE_TEXT_MAX];

        eng_fail(e, VS_E_SHAPE, "binary_cross_entropy_with_logits: target size %s must be the same as input size %s", eng_shape_text(target, tt),
                 eng_shape_text(x, tx));
        return;
    }
    log_sigmoid = eng_op1(e, ENG_OP_logsigmoid, x);
    if (pos_weight) { /* log_sigmoid times (pos_weight - 1) * target + 1, in place */
        struct eng_tensor *less = eng_add_scalar(e, pos_weight, -1);
        struct eng_tensor *factor = eng_mul(e, less, target);

        eng_unref(less);
        add_one(e, factor);
        mul_into(e, log_sigmoid, factor);
        eng_unref(factor);
    }
    values = log_sigmoid ? eng_c_empty_like(c, target, (enum vs_dtype)x->dtype) : NULL;
    if (values && eng_c_computes(c)) {
        struct eng_view vx = eng_v(x), vt = eng_v(target), vo = eng_v(values), vl = eng_v(log_sigmoid);
        double one[4] = {1};
        struct eng_cell cell;
        struct eng_view v1 = eng_v_scalar((struct eng_scalar){true, 1, 1}, values, &cell);

        /* (1 - target) * x - log_sigmoid (log_sigmoid already holds the positive weight) */
        c->e->kernels->binary(ENG_B_SUB, (enum vs_dtype)values->dtype, &v1, &vt, &vo, one);
        c->e->kernels->binary(ENG_B_MUL, (enum vs_dtype)values->dtype, &vo, &vx, &vo, one);
        c->e->kernels->binary(ENG_B_SUB, (enum vs_dtype)values->dtype, &vo, &vl, &vo, one);
    }
    if (values)
        values = weighted(c, values, eng_c_tensor(c, 2));
    if (reduction == REDUCE_NONE) {
        out = eng_ref(values);
    } else {
        struct eng_arg args[] = {eng_at(values), eng_anone()};

        out = values ? eng_call1(e, reduction == REDUCE_MEAN ? ENG_OP_mean_all : ENG_OP_sum_all, args) : NULL;
    }
    eng_unref(values);
    eng_unref(log_sigmoid);
    eng_c_give(c, out);
}

/* g * (sigmoid(x) - target) * weight [/ count], made in place on the sigmoid. saved: pos_weight, input, target, weight */
void eng_b_bce_logits(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *x = b->saved[1], *pos_weight = b->saved[0], *target = b->saved[2], *weight = b->saved[3];
    double norm = b->a[4].v.scalar.i == REDUCE_MEAN && x ? 1.0 / (double)eng_numel(x) : 1.0;
    struct eng_tensor *gx;

    if (!x || !target)
        return;
    if (pos_weight) { /* ((t + 1 - target) * sigmoid(x) - t) * g, t = pos_weight * target, made in place on t + 1 */
        struct eng_tensor *t = eng_mul(e, pos_weight, target);
        struct eng_tensor *sigmoid;

        gx = eng_add_scalar(e, t, 1);
        sub_into(e, gx, target);
        sigmoid = eng_op1(e, ENG_OP_sigmoid, x);
        mul_into(e, gx, sigmoid);
        eng_unref(sigmoid);
        sub_into(e, gx, t);
        mul_into(e, gx, b->g[0]);
        scale_into(e, gx, norm);
        eng_unref(t);
    } else {
        gx = eng_op1(e, ENG_OP_sigmoid, x);
        if (gx && e->kernels) {
            struct eng_view vg = eng_v_expand(b->g[0], gx), vo = eng_v(gx), vt = eng_v_expand(target, gx), vx = eng_v(x);
            double p[4] = {norm};

            e->kernels->ternary(ENG_T_BCE_LOGITS_BACKWARD, (enum vs_dtype)gx->dtype, &vg, &vx, &vt, &vo, p);
        }
    }
    if (gx && weight) {
        struct eng_arg args[] = {eng_at(gx), eng_at(weight)};
        struct eng_ret ret;

        if (eng_call_inplace(e, ENG_OP_mul, args, &ret))
            eng_ret_release(&ret);
    }
    if (eng_b_needs(b, 0))
        eng_b_give(b, 0, gx);
    else
        eng_unref(gx);
}
