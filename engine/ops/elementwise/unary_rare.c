/*
 * engine/ops/elementwise/unary_rare.c - gradients of elementwise functions that nets seldom use; their forward is in
 * unary.c.
 *
 * Must not know:  autograd's machinery.
 * Invariant:      each backward allocates the same temporaries as PyTorch's formula and keeps them until the end of
 *                 the expression.
 */
#include <math.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* g / (x * ln 10) */
void eng_b_log10(struct eng_bw *b)
{
    struct eng_tensor *scaled =
        eng_mul_scalar(b->e, b->saved[SAVED_log10_input], 2.302585092994046);

    eng_b_give(b, ARG_log10_input, eng_div(b->e, b->g[0], scaled));
    eng_unref(scaled);
}

/* g * result * ln 2 */
void eng_b_exp2(struct eng_bw *b)
{
    struct eng_tensor *product = eng_mul(b->e, b->g[0], b->saved[SAVED_exp2_result]);

    eng_b_give(b, ARG_exp2_input, eng_mul_scalar(b->e, product, 0.6931471805599453));
    eng_unref(product);
}

/* g * (1 + result^2) */
void eng_b_tan(struct eng_bw *b)
{
    struct eng_tensor *squared = eng_pow_scalar(b->e, b->saved[SAVED_tan_result], 2);
    struct eng_tensor *plus = eng_add_scalar(b->e, squared, 1);

    eng_b_give(b, ARG_tan_input, eng_mul(b->e, b->g[0], plus));
    eng_unref(plus);
    eng_unref(squared);
}

void eng_b_sinh(struct eng_bw *b)
{
    struct eng_tensor *other = eng_op1(b->e, ENG_OP_cosh, b->saved[SAVED_sinh_input]);

    eng_b_give(b, ARG_sinh_input, eng_mul(b->e, b->g[0], other));
    eng_unref(other);
}

void eng_b_cosh(struct eng_bw *b)
{
    struct eng_tensor *other = eng_op1(b->e, ENG_OP_sinh, b->saved[SAVED_cosh_input]);

    eng_b_give(b, ARG_cosh_input, eng_mul(b->e, b->g[0], other));
    eng_unref(other);
}

/* g * rsqrt(-x*x + 1); acos: its negative */
static struct eng_tensor *arc_gradient(struct eng_bw *b, struct eng_tensor *x, bool negative)
{
    struct eng *e = b->e;
    struct eng_tensor *minus = eng_neg(e, x);
    struct eng_tensor *product = eng_mul(e, minus, x);
    struct eng_tensor *plus = eng_add_scalar(e, product, 1);
    struct eng_tensor *root = eng_op1(e, ENG_OP_rsqrt, plus);
    struct eng_tensor *last = negative ? eng_neg(e, root) : eng_ref(root);
    struct eng_tensor *gx = eng_mul(e, b->g[0], last);

    eng_unref(last);
    eng_unref(root);
    eng_unref(plus);
    eng_unref(product);
    eng_unref(minus);
    return gx;
}

void eng_b_asin(struct eng_bw *b)
{
    eng_b_give(b, ARG_asin_input, arc_gradient(b, b->saved[SAVED_asin_input], false));
}

void eng_b_acos(struct eng_bw *b)
{
    eng_b_give(b, ARG_acos_input, arc_gradient(b, b->saved[SAVED_acos_input], true));
}

/* g / (x*x + 1) */
void eng_b_atan(struct eng_bw *b)
{
    struct eng_tensor *squared =
        eng_mul(b->e, b->saved[SAVED_atan_input], b->saved[SAVED_atan_input]);
    struct eng_tensor *plus = eng_add_scalar(b->e, squared, 1);

    eng_b_give(b, ARG_atan_input, eng_div(b->e, b->g[0], plus));
    eng_unref(plus);
    eng_unref(squared);
}

/* hardshrink, softshrink: g where |x| > lambda */
void eng_b_shrink(struct eng_bw *b)
{
    struct eng_op_call c = {.e = b->e, .id = b->node->op};
    struct eng_tensor *pair[] = {b->g[0], b->saved[SAVED_shrink_input]};
    double p[4] = {b->a[ARG_shrink_lambd].v.scalar.f};
    struct eng_tensor *out;

    if (!pair[1])
        return;
    out = eng_c_elementwise_out(&c, pair, 2, (enum vs_dtype)b->g[0]->dtype);
    if (out && b->e->kernels) {
        struct eng_view vg = eng_v_expand(pair[0], out), vs = eng_v_expand(pair[1], out),
                        vo = eng_v(out);

        b->e->kernels->binary(ENG_B_SHRINK_BACKWARD, vo.dtype, &vg, &vs, &vo, p);
    }
    eng_b_give(b, ARG_shrink_input, out);
}
