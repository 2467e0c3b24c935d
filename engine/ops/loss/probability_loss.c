/*
 * engine/ops/loss/probability_loss.c - losses of probabilities: binary cross entropy, the Kullback-Leibler divergence,
 * and xlogy.
 *
 * Must not know:  models.
 * Invariant:      binary cross entropy reduces into the memory of its unreduced values, which the loss keeps
 *                 allocated; kl_div is composed of other ops.
 */
#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

enum { REDUCE_NONE, REDUCE_MEAN, REDUCE_SUM };

struct eng_tensor *eng_reduced_loss(struct eng *e, struct eng_tensor *values, int64_t reduction)
{
    struct eng_arg args[] = {eng_at(values), eng_anone()};

    if (!values || reduction == REDUCE_NONE)
        return eng_ref(values);
    return eng_call1(e, reduction == REDUCE_MEAN ? ENG_OP_mean_all : ENG_OP_sum_all, args);
}

bool eng_one_dtype(struct eng *e, const struct eng_tensor *a, const struct eng_tensor *z)
{
    if (a->dtype == z->dtype)
        return true;
    eng_fail(e, VS_E_TYPE, "Found dtype %s but expected %s", vs_dtype_name((enum vs_dtype)z->dtype),
             vs_dtype_name((enum vs_dtype)a->dtype));
    return false;
}

bool eng_floating(struct eng *e, const char *name, const struct eng_tensor *t)
{
    if (vs_dtype_is_floating((enum vs_dtype)t->dtype))
        return true;
    eng_fail(e, VS_E_TYPE, "%s: %s inputs are not supported: convert with .float()", name,
             vs_dtype_name((enum vs_dtype)t->dtype));
    return false;
}

static void inplace(struct eng *e, enum eng_op_id id, struct eng_tensor *t, struct eng_arg other)
{
    struct eng_arg args[] = {eng_at(t), other, id == ENG_OP_sub ? eng_ai(1) : eng_anone()};
    struct eng_ret ret;

    if (t && (other.kind != ENG_A_TENSOR || other.v.tensor) && eng_call_inplace(e, id, args, &ret))
        eng_ret_release(&ret);
}

/* ---- binary cross entropy ---- */

/* (input, target, weight, reduction) */
void eng_f_bce(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, ARG_bce_input),
                      *target = eng_c_tensor(c, ARG_bce_target);
    int64_t reduction = eng_c_int(c, ARG_bce_reduction);
    struct eng_tensor *values, *reduced, *out;

    if (!eng_one_dtype(e, x, target))
        return;
    values = eng_c_empty_like(c, x, (enum vs_dtype)x->dtype);
    if (values && eng_c_computes(c)) {
        struct eng_view vx = eng_v(x), vt = eng_v_expand(target, values), vo = eng_v(values);
        double p[4] = {0};

        e->kernels->binary(ENG_B_BCE, vo.dtype, &vx, &vt, &vo, p);
    }
    if (eng_c_has(c, ARG_bce_weight))
        inplace(e, ENG_OP_mul, values, c->a[ARG_bce_weight]);
    if (reduction == REDUCE_NONE) {
        eng_c_give(c, values);
        return;
    }
    reduced = eng_reduced_loss(e, values, reduction);
    out = values ? eng_as_strided(values, NULL, NULL, 0, 0) : NULL;
    eng_copy_into(e, out, reduced);
    eng_unref(reduced);
    eng_unref(values);
    eng_c_give(c, out);
}

static double mean_divisor(const struct eng_bw *b, const struct eng_tensor *t)
{
    return b->a[ARG_bce_reduction].v.scalar.i == REDUCE_MEAN ? (double)eng_numel(t) : 0;
}

static struct eng_tensor *bce_input_gradient(struct eng_bw *b, struct eng_tensor *x,
                                             struct eng_tensor *target, struct eng_tensor *weight)
{
    struct eng *e = b->e;
    struct eng_op_call c = {.e = e, .id = b->node->op};
    struct eng_tensor *gx = eng_c_empty_like(&c, x, (enum vs_dtype)x->dtype);
    double n = mean_divisor(b, x);

    if (gx && e->kernels) {
        struct eng_view vg = eng_v_expand(b->g[0], gx), vx = eng_v(x),
                        vt = eng_v_expand(target, gx), vo = eng_v(gx);
        double p[4] = {1};

        e->kernels->ternary(ENG_T_BCE_BACKWARD, vo.dtype, &vg, &vx, &vt, &vo, p);
    }
    if (weight)
        inplace(e, ENG_OP_mul, gx, eng_at(weight));
    if (n > 0)
        inplace(e, ENG_OP_div, gx, eng_af(n));
    return gx;
}

/* log(1/x - 1) * g, all in one tensor */
static struct eng_tensor *bce_target_gradient(struct eng_bw *b, struct eng_tensor *x,
                                              struct eng_tensor *weight)
{
    struct eng *e = b->e;
    struct eng_tensor *gt = eng_op1(e, ENG_OP_reciprocal, x);
    double n = mean_divisor(b, x);

    inplace(e, ENG_OP_sub, gt, eng_ai(1));
    inplace(e, ENG_OP_log, gt, eng_anone());
    inplace(e, ENG_OP_mul, gt, eng_at(b->g[0]));
    if (weight)
        inplace(e, ENG_OP_mul, gt, eng_at(weight));
    if (n > 0)
        inplace(e, ENG_OP_div, gt, eng_af(n));
    return gt;
}

/* saved: input, target, weight */
void eng_b_bce(struct eng_bw *b)
{
    struct eng_tensor *x = b->saved[SAVED_bce_input], *target = b->saved[SAVED_bce_target],
                      *weight = b->saved[SAVED_bce_weight];

    if (!x || !target)
        return;
    if (eng_b_needs(b, ARG_bce_input))
        eng_b_give(b, ARG_bce_input, bce_input_gradient(b, x, target, weight));
    if (eng_b_needs(b, ARG_bce_target))
        eng_b_give(b, ARG_bce_target, bce_target_gradient(b, x, weight));
}

/* ---- kl_div, composed: target * log(target) - target * input; the second product is made first ---- */

void eng_f_kl_div(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, ARG_kl_div_input),
                      *target = eng_c_tensor(c, ARG_kl_div_target);
    bool log_target = eng_c_bool(c, ARG_kl_div_log_target);
    struct eng_tensor *right, *left, *values;

    if (!eng_floating(e, "kl_div", x) || !eng_floating(e, "kl_div", target))
        return;
    right = log_target ? eng_sub(e, target, x) : eng_mul(e, target, x);
    left = log_target ? eng_op1(e, ENG_OP_exp, target) : eng_op2(e, ENG_OP_xlogy, target, target);
    values = log_target ? eng_mul(e, left, right) : eng_sub(e, left, right);
    eng_unref(left);
    eng_unref(right);
    eng_c_give(c, eng_reduced_loss(e, values, eng_c_int(c, ARG_kl_div_reduction)));
    eng_unref(values);
}

/* ---- xlogy: x * log(y), 0 where x is 0 ---- */

void eng_f_xlogy(struct eng_op_call *c)
{
    struct eng_tensor *pair[] = {eng_c_tensor(c, ARG_xlogy_input),
                                 eng_c_tensor(c, ARG_xlogy_other)};
    enum vs_dtype dtype = eng_result_dtype(pair, 2, NULL);
    struct eng_tensor *out;

    dtype = vs_dtype_is_floating(dtype) ? dtype : VS_F32;
    out = eng_c_elementwise_out(c, pair, 2, dtype);
    if (out && eng_c_computes(c)) {
        struct eng_view va = eng_v_expand(pair[0], out), vb = eng_v_expand(pair[1], out),
                        vo = eng_v(out);
        double p[4] = {0};

        c->e->kernels->binary(ENG_B_XLOGY, dtype, &va, &vb, &vo, p);
    }
    eng_c_give(c, out);
}

/* g * x / y for y; xlogy(g, y), 0 where x is 0 and y is not above it, for x. saved: other, input */
void eng_b_xlogy(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *y = b->saved[SAVED_xlogy_other], *x = b->saved[SAVED_xlogy_input];

    if (!x || !y)
        return;
    if (eng_b_needs(b, ARG_xlogy_other)) {
        struct eng_tensor *product = eng_mul(e, b->g[0], x);

        eng_b_give(b, ARG_xlogy_other, eng_div(e, product, y));
        eng_unref(product);
    }
    if (eng_b_needs(b, ARG_xlogy_input)) {
        struct eng_tensor *plain = eng_op2(e, ENG_OP_xlogy, b->g[0], y);
        struct eng_tensor *below = eng_op2s(e, ENG_OP_le, y, 0);
        struct eng_tensor *zero = eng_op2s(e, ENG_OP_eq, x, 0);
        struct eng_tensor *both = eng_op2(e, ENG_OP_bitwise_and, zero, below);
        struct eng_arg args[] = {eng_at(plain), eng_at(both), eng_ai(0)};

        if (plain && both)
            eng_b_give(b, ARG_xlogy_input, eng_call1(e, ENG_OP_masked_fill, args));
        eng_unref(both);
        eng_unref(zero);
        eng_unref(below);
        eng_unref(plain);
    }
}
