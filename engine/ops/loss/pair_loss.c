/*
 * engine/ops/loss/pair_loss.c - losses that compare two tensors of one shape element by element.
 *
 * Must not know:  models.
 * Invariant:      a mean or sum keeps the memory of the unreduced values behind its one element, as PyTorch's kernel
 *                 does.
 */
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/workspace/scratch.h"
#include "engine/workspace/workspace.h"

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

/* ---- losses over pairs ---- */

/* mse, smooth_l1: (input, target, reduction[, beta]) */
void eng_f_pair_loss(struct eng_op_call *c)
{
    struct eng_tensor *pair[] = {eng_c_tensor(c, ARG_pair_loss_input),
                                 eng_c_tensor(c, ARG_pair_loss_target)};
    int64_t reduction = eng_c_int(c, ARG_pair_loss_reduction);
    bool is_mse = c->id == ENG_OP_mse_loss;
    double p[4] = {is_mse ? 0 : eng_c_float(c, ARG_smooth_l1_loss_beta)};
    enum vs_dtype dtype = eng_result_dtype(pair, 2, NULL);
    /* PyTorch allocates the result for the unreduced values and then shrinks it: it keeps all of the memory */
    struct eng_tensor *full = eng_c_elementwise_out(c, pair, 2, dtype);
    struct eng_tensor *values = reduction == REDUCE_NONE ? eng_ref(full)
                                : full                   ? eng_c_empty_like(c, full, dtype)
                                                         : NULL;
    struct eng_tensor *out = reduction == REDUCE_NONE ? eng_ref(full)
                             : full                   ? eng_as_strided(full, NULL, NULL, 0, 0)
                                                      : NULL;

    if (reduction != REDUCE_NONE)
        eng_scratch_reduce(c->e, ENG_SR_SUM, values, out, values ? (1U << values->ndim) - 1 : 0,
                           false);
    if (values && out && eng_runs(c->e)) {
        struct eng_view va = eng_v_expand(pair[0], values), vb = eng_v_expand(pair[1], values),
                        vv = eng_v(values);

        if (c->e->kernels)
            c->e->kernels->binary(is_mse ? ENG_B_MSE : ENG_B_SMOOTH_L1, dtype, &va, &vb, &vv, p);
        if (reduction != REDUCE_NONE) {
            struct eng_view vo = eng_v(out);

            vo.ndim = vv.ndim;
            for (int d = 0; d < vv.ndim; d++) {
                vo.sizes[d] = 1;
                vo.strides[d] = 0;
            }
            eng_run_reduce(c->e, out->storage->on_host,
                           reduction == REDUCE_MEAN ? ENG_R_MEAN : ENG_R_SUM, &vv, &vo,
                           (1U << vv.ndim) - 1, p);
        }
    }
    eng_unref(values);
    eng_unref(full);
    eng_c_give(c, out);
}

/* The gradient of one operand: norm * f'(a - z) * g, a new dense tensor of a's shape. */
static struct eng_tensor *pair_gradient(struct eng_bw *b, enum eng_ternary kernel,
                                        struct eng_tensor *a, struct eng_tensor *z, const double *p)
{
    struct eng *e = b->e;
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out;
    int ndim;

    if (!a || !z || !eng_broadcast(e, a, z, sizes, &ndim))
        return NULL;
    out = eng_empty(e, a->sizes, a->ndim, (enum vs_dtype)a->dtype, a->storage->on_host);
    if (out && (ndim != a->ndim || memcmp(sizes, a->sizes, sizeof(*sizes) * (size_t)ndim) != 0))
        eng_slot_set(&out, eng_empty(e, sizes, ndim, (enum vs_dtype)a->dtype, a->storage->on_host));
    if (out && e->kernels) {
        struct eng_view vg = eng_v_expand(b->g[0], out), va = eng_v_expand(a, out),
                        vz = eng_v_expand(z, out), vo = eng_v(out);

        e->kernels->ternary(kernel, (enum vs_dtype)out->dtype, &vg, &va, &vz, &vo, p);
    }
    return out;
}

void eng_b_pair_loss(struct eng_bw *b)
{
    bool is_mse = b->node->op == ENG_OP_mse_loss;
    enum eng_ternary kernel = is_mse ? ENG_T_MSE_BACKWARD : ENG_T_SMOOTH_L1_BACKWARD;
    double norm =
        b->a[ARG_pair_loss_reduction].v.scalar.i == REDUCE_MEAN && b->saved[SAVED_pair_loss_input]
            ? 1.0 / (double)eng_numel(b->saved[SAVED_pair_loss_input])
            : 1.0;
    double p[4] = {is_mse ? 2 * norm : norm, is_mse ? 0 : b->a[ARG_smooth_l1_loss_beta].v.scalar.f};

    if (eng_b_needs(b, ARG_pair_loss_input))
        eng_b_give(b, ARG_pair_loss_input,
                   pair_gradient(b, kernel, b->saved[SAVED_pair_loss_input],
                                 b->saved[SAVED_pair_loss_target], p));
    if (eng_b_needs(b, ARG_pair_loss_target))
        eng_b_give(b, ARG_pair_loss_target,
                   pair_gradient(b, kernel, b->saved[SAVED_pair_loss_target],
                                 b->saved[SAVED_pair_loss_input], p));
}

/* ---- huber ---- */

/* (input, target, reduction, delta): the unreduced values are freed after the reduction */
void eng_f_huber_loss(struct eng_op_call *c)
{
    struct eng_tensor *pair[] = {eng_c_tensor(c, ARG_huber_loss_input),
                                 eng_c_tensor(c, ARG_huber_loss_target)};
    double p[4] = {eng_c_float(c, ARG_huber_loss_delta)};
    struct eng_tensor *values;

    if (p[0] <= 0) {
        eng_fail(c->e, VS_E_VALUE, "huber_loss does not support non-positive values for delta.");
        return;
    }
    values = eng_c_elementwise_out(c, pair, 2, eng_result_dtype(pair, 2, NULL));
    if (values && eng_c_computes(c)) {
        struct eng_view va = eng_v_expand(pair[0], values), vb = eng_v_expand(pair[1], values),
                        vv = eng_v(values);

        c->e->kernels->binary(ENG_B_HUBER, vv.dtype, &va, &vb, &vv, p);
    }
    eng_c_give(c, eng_reduced_loss(c->e, values, eng_c_int(c, ARG_huber_loss_reduction)));
    eng_unref(values);
}

/* norm * clamp(a - z, -delta, delta) * g, row-major. Forward promotes two dtypes, this does not. */
static struct eng_tensor *huber_gradient(struct eng_bw *b, struct eng_tensor *a,
                                         struct eng_tensor *z)
{
    struct eng *e = b->e;
    struct eng_tensor *out;
    double p[4] = {1, b->a[ARG_huber_loss_delta].v.scalar.f};

    if (!a || !z || !eng_one_dtype(e, a, z))
        return NULL;
    if (b->a[ARG_huber_loss_reduction].v.scalar.i == REDUCE_MEAN)
        p[0] = 1.0 / (double)eng_numel(a);
    out = eng_empty(e, a->sizes, a->ndim, (enum vs_dtype)a->dtype, a->storage->on_host);
    if (out && e->kernels) {
        struct eng_view vg = eng_v_expand(b->g[0], out), va = eng_v(a), vz = eng_v_expand(z, out),
                        vo = eng_v(out);

        e->kernels->ternary(ENG_T_HUBER_BACKWARD, vo.dtype, &vg, &va, &vz, &vo, p);
    }
    return out;
}

/* saved: input, target */
void eng_b_huber_loss(struct eng_bw *b)
{
    if (eng_b_needs(b, ARG_huber_loss_input))
        eng_b_give(
            b, ARG_huber_loss_input,
            huber_gradient(b, b->saved[SAVED_huber_loss_input], b->saved[SAVED_huber_loss_target]));
    if (eng_b_needs(b, ARG_huber_loss_target))
        eng_b_give(
            b, ARG_huber_loss_target,
            huber_gradient(b, b->saved[SAVED_huber_loss_target], b->saved[SAVED_huber_loss_input]));
}

/* mean(|input - target|), composed */
void eng_f_l1_loss(struct eng_op_call *c)
{
    struct eng *e = c->e;
    int64_t reduction = eng_c_int(c, ARG_l1_loss_reduction);
    struct eng_tensor *difference =
        eng_sub(e, eng_c_tensor(c, ARG_l1_loss_input), eng_c_tensor(c, ARG_l1_loss_target));
    struct eng_tensor *size = eng_op1(e, ENG_OP_abs, difference);
    struct eng_arg args[] = {eng_at(size), eng_anone()};

    if (reduction == REDUCE_NONE)
        eng_c_give(c, eng_ref(size));
    else if (size)
        eng_c_give(c,
                   eng_call1(e, reduction == REDUCE_MEAN ? ENG_OP_mean_all : ENG_OP_sum_all, args));
    eng_unref(size);
    eng_unref(difference);
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

/*
 * (input, target, weight, pos_weight, reduction). On the device: log_sigmoid, 1 - target reused in place, the
 * reduction. So where the two have different dtypes the result has the target's.
 */
void eng_f_bce_logits(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, ARG_bce_logits_input);
    struct eng_tensor *target = eng_c_tensor(c, ARG_bce_logits_target);
    struct eng_tensor *pos_weight = eng_c_tensor(c, ARG_bce_logits_pos_weight);
    int64_t reduction = eng_c_int(c, ARG_bce_logits_reduction);
    struct eng_tensor *log_sigmoid, *values, *out;

    if (!eng_same_sizes(x, target)) {
        char tx[ENG_SHAPE_TEXT_MAX], tt[ENG_SHAPE_TEXT_MAX];

        eng_fail(
            e, VS_E_SHAPE,
            "binary_cross_entropy_with_logits: target size %s must be the same as input size %s",
            eng_shape_text(target, tt), eng_shape_text(x, tx));
        return;
    }
    if (!eng_floating(e, "binary_cross_entropy_with_logits", x) ||
        !eng_floating(e, "binary_cross_entropy_with_logits", target))
        return;
    log_sigmoid = eng_op1(e, ENG_OP_logsigmoid, x);
    if (pos_weight) { /* log_sigmoid times (pos_weight - 1) * target + 1, in place */
        struct eng_tensor *less = eng_add_scalar(e, pos_weight, -1);
        struct eng_tensor *factor = eng_mul(e, less, target);

        eng_unref(less);
        add_one(e, factor);
        mul_into(e, log_sigmoid, factor);
        eng_unref(factor);
    }
    values = log_sigmoid ? eng_c_empty_like(c, target, (enum vs_dtype)target->dtype) : NULL;
    if (values && eng_c_computes(c)) {
        struct eng_view vx = eng_v(x), vt = eng_v(target), vo = eng_v(values),
                        vl = eng_v(log_sigmoid);
        enum vs_dtype wide = eng_result_dtype((struct eng_tensor *[]){x, target}, 2, NULL);
        double one[4] = {1};
        struct eng_cell cell;
        struct eng_view v1 = eng_v_scalar((struct eng_scalar){true, 1, 1}, values, &cell);

        /* (1 - target) * x - log_sigmoid (log_sigmoid already holds the positive weight) */
        c->e->kernels->binary(ENG_B_SUB, (enum vs_dtype)values->dtype, &v1, &vt, &vo, one);
        c->e->kernels->binary(ENG_B_MUL, wide, &vo, &vx, &vo, one);
        c->e->kernels->binary(ENG_B_SUB, wide, &vo, &vl, &vo, one);
    }
    mul_into(e, values, eng_c_tensor(c, ARG_bce_logits_weight));
    if (reduction == REDUCE_NONE) {
        out = eng_ref(values);
    } else {
        struct eng_arg args[] = {eng_at(values), eng_anone()};

        out = values
                  ? eng_call1(e, reduction == REDUCE_MEAN ? ENG_OP_mean_all : ENG_OP_sum_all, args)
                  : NULL;
    }
    eng_unref(values);
    eng_unref(log_sigmoid);
    eng_c_give(c, out);
}

/*
 * ((t + 1 - target) * sigmoid(x) - t) * g, t = pos_weight * target, made in place on t + 1; without pos_weight
 * (sigmoid(x) - target) * g
 */
static struct eng_tensor *bce_input_gradient(struct eng_bw *b, struct eng_tensor *x,
                                             struct eng_tensor *target,
                                             struct eng_tensor *pos_weight, double norm)
{
    struct eng *e = b->e;
    struct eng_tensor *gx, *t, *sigmoid;

    if (pos_weight) {
        t = eng_mul(e, pos_weight, target);
        gx = eng_add_scalar(e, t, 1);
        sub_into(e, gx, target);
        sigmoid = eng_op1(e, ENG_OP_sigmoid, x);
        mul_into(e, gx, sigmoid);
        eng_unref(sigmoid);
        sub_into(e, gx, t);
        mul_into(e, gx, b->g[0]);
        scale_into(e, gx, norm);
        eng_unref(t);
        return gx;
    }
    gx = eng_op1(e, ENG_OP_sigmoid, x);
    if (gx && e->kernels) {
        struct eng_view vg = eng_v_expand(b->g[0], gx), vo = eng_v(gx),
                        vt = eng_v_expand(target, gx), vx = eng_v(x);
        enum vs_dtype wide = eng_result_dtype((struct eng_tensor *[]){x, target}, 2, NULL);
        double p[4] = {norm};

        e->kernels->ternary(ENG_T_BCE_LOGITS_BACKWARD, wide, &vg, &vx, &vt, &vo, p);
    }
    return gx;
}

/* (log_sigmoid(-x) - pos_weight * log_sigmoid(x)) * g; without pos_weight -x * g */
static struct eng_tensor *bce_target_gradient(struct eng_bw *b, struct eng_tensor *x,
                                              struct eng_tensor *pos_weight, double norm)
{
    struct eng *e = b->e;
    struct eng_tensor *minus, *gt, *positive;

    if (pos_weight) {
        minus = eng_neg(e, x);
        gt = eng_op1(e, ENG_OP_logsigmoid, minus);
        positive = eng_op1(e, ENG_OP_logsigmoid, x);
        mul_into(e, positive, pos_weight);
        sub_into(e, gt, positive);
        mul_into(e, gt, b->g[0]);
        eng_unref(positive);
        eng_unref(minus);
    } else {
        minus = eng_neg(e, x);
        gt = eng_mul(e, minus, b->g[0]);
        eng_unref(minus);
    }
    scale_into(e, gt, norm);
    return gt;
}

/* saved: pos_weight, input, target, weight */
void eng_b_bce_logits(struct eng_bw *b)
{
    struct eng_tensor *pos_weight = b->saved[SAVED_bce_logits_pos_weight],
                      *x = b->saved[SAVED_bce_logits_input],
                      *target = b->saved[SAVED_bce_logits_target],
                      *weight = b->saved[SAVED_bce_logits_weight];
    double norm = b->a[ARG_bce_logits_reduction].v.scalar.i == REDUCE_MEAN && x
                      ? 1.0 / (double)eng_numel(x)
                      : 1.0;

    if (!x || !target)
        return;
    if (eng_b_needs(b, ARG_bce_logits_input)) {
        struct eng_tensor *gx = bce_input_gradient(b, x, target, pos_weight, norm);

        mul_into(b->e, gx, weight);
        eng_b_give(b, ARG_bce_logits_input, gx);
    }
    if (eng_b_needs(b, ARG_bce_logits_target)) {
        struct eng_tensor *gt = bce_target_gradient(b, x, pos_weight, norm);

        mul_into(b->e, gt, weight);
        eng_b_give(b, ARG_bce_logits_target, gt);
    }
}
