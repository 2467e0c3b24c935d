/*
 * engine/ops/elementwise/binary_backward.c - the gradients of the elementwise ops of two and three operands.
 *
 * Must not know:  autograd's machinery: the caller of backward sums the gradients of broadcast operands.
 * Invariant:      the gradient of the operand whose name comes first in PyTorch's alphabet is made first ("other"
 *                 before "self").
 */
#include <math.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* ---- backward ---- */

static double number_or(const struct eng_bw *b, int arg, double otherwise)
{
    if (b->a[arg].kind == ENG_A_BOOL)
        return (double)b->a[arg].v.flag;
    return b->a[arg].kind == ENG_A_SCALAR ? b->a[arg].v.scalar.f : otherwise;
}

static bool wants(const struct eng_bw *b, int arg)
{
    return b->a[arg].kind == ENG_A_TENSOR && eng_b_needs(b, arg);
}

/* t, or t * factor where factor is not 1. Takes over t. */
static struct eng_tensor *times(struct eng *e, struct eng_tensor *t, double factor)
{
    struct eng_tensor *scaled;

    if (!t || factor == 1.0)
        return t;
    scaled = eng_mul_scalar(e, t, factor);
    eng_unref(t);
    return scaled;
}

void eng_b_add(struct eng_bw *b)
{
    if (wants(b, ARG_add_other))
        eng_b_give(b, ARG_add_other, times(b->e, eng_ref(b->g[0]), number_or(b, ARG_add_alpha, 1)));
    if (wants(b, ARG_add_input))
        eng_b_give(b, ARG_add_input, eng_ref(b->g[0]));
}

void eng_b_sub(struct eng_bw *b)
{
    if (wants(b, ARG_sub_other))
        eng_b_give(b, ARG_sub_other,
                   times(b->e, eng_neg(b->e, b->g[0]), number_or(b, ARG_sub_alpha, 1)));
    if (wants(b, ARG_sub_input))
        eng_b_give(b, ARG_sub_input, eng_ref(b->g[0]));
}

void eng_b_rsub(struct eng_bw *b)
{
    if (wants(b, ARG_rsub_other))
        eng_b_give(b, ARG_rsub_other, eng_ref(b->g[0]));
    if (wants(b, ARG_rsub_input))
        eng_b_give(b, ARG_rsub_input,
                   times(b->e, eng_neg(b->e, b->g[0]), number_or(b, ARG_rsub_alpha, 1)));
}

/* saved: other, input, in the order of PyTorch's names (input is `self` there) */
void eng_b_mul(struct eng_bw *b)
{
    if (wants(b, ARG_mul_other))
        eng_b_give(b, ARG_mul_other, eng_mul(b->e, b->g[0], b->saved[SAVED_mul_input]));
    if (wants(b, ARG_mul_input))
        eng_b_give(b, ARG_mul_input,
                   b->a[ARG_mul_other].kind == ENG_A_TENSOR
                       ? eng_mul(b->e, b->g[0], b->saved[SAVED_mul_other])
                       : eng_mul_scalar(b->e, b->g[0], number_or(b, ARG_mul_other, 1)));
}

/* other: -g * ((input / other) / other); input: g / other. saved: other, input */
void eng_b_div(struct eng_bw *b)
{
    struct eng *e = b->e;

    /* with a rounding mode the quotient is piecewise constant, so the gradients are zeros */
    if (b->a[ARG_div_rounding_mode].kind == ENG_A_STR) {
        struct eng_arg args[] = {eng_at(b->g[0]), eng_anone(), eng_anone()};

        if (wants(b, ARG_div_other))
            eng_b_give(b, ARG_div_other, eng_call1(e, ENG_OP_zeros_like, args));
        if (wants(b, ARG_div_input))
            eng_b_give(b, ARG_div_input, eng_call1(e, ENG_OP_zeros_like, args));
        return;
    }
    if (wants(b, ARG_div_other)) {
        struct eng_tensor *once = eng_div(e, b->saved[SAVED_div_input], b->saved[SAVED_div_other]);
        struct eng_tensor *twice = eng_div(e, once, b->saved[SAVED_div_other]);
        struct eng_tensor *minus = eng_neg(e, b->g[0]);

        eng_b_give(b, ARG_div_other, eng_mul(e, minus, twice));
        eng_unref(minus);
        eng_unref(twice);
        eng_unref(once);
    }
    if (wants(b, ARG_div_input))
        eng_b_give(b, ARG_div_input,
                   b->a[ARG_div_other].kind == ENG_A_TENSOR
                       ? eng_div(e, b->g[0], b->saved[SAVED_div_other])
                       : eng_div_scalar(e, b->g[0], number_or(b, ARG_div_other, 1)));
}

void eng_b_remainder(struct eng_bw *b)
{
    if (wants(b, ARG_remainder_other))
        eng_fail(b->e, VS_E_UNSUPPORTED, "remainder: the gradient of the divisor is not supported");
    if (wants(b, ARG_remainder_input))
        eng_b_give(b, ARG_remainder_input, eng_ref(b->g[0]));
}

/* g * (k * x^(k-1)); for k = 0 zeros, row-major however x lies */
void eng_b_pow(struct eng_bw *b)
{
    struct eng *e = b->e;
    double k = number_or(b, ARG_pow_exponent, 1);
    struct eng_tensor *power, *scaled;

    if (k == 0.0) {
        const struct eng_tensor *x = b->saved[SAVED_pow_input];

        eng_b_give(b, ARG_pow_input,
                   x ? eng_zeros(e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x->storage->on_host)
                     : NULL);
        return;
    }
    power = eng_pow_scalar(e, b->saved[SAVED_pow_input], k - 1);
    scaled = eng_mul_scalar(e, power, k);
    eng_b_give(b, ARG_pow_input, eng_mul(e, b->g[0], scaled));
    eng_unref(scaled);
    eng_unref(power);
}

static struct eng_tensor *scalar_zero(struct eng_bw *b)
{
    return eng_zeros(b->e, NULL, 0, (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
}

static struct eng_tensor *where3(struct eng *e, struct eng_tensor *test, struct eng_tensor *a,
                                 struct eng_tensor *z)
{
    struct eng_arg args[] = {eng_at(test), eng_at(a), eng_at(z)};

    return test && a && z ? eng_call1(e, ENG_OP_where, args) : NULL;
}

/* g * where(input == 0 and exponent >= 0, 0, result * log(input)). saved: exponent, input, result */
static struct eng_tensor *exponent_gradient(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *positive = eng_op2s(e, ENG_OP_ge, b->saved[SAVED_pow_tensor_exponent], 0);
    struct eng_tensor *zero_base = eng_op2s(e, ENG_OP_eq, b->saved[SAVED_pow_tensor_input], 0);
    struct eng_tensor *both = eng_op2(e, ENG_OP_logical_and, zero_base, positive);
    struct eng_tensor *log, *product, *zero, *picked, *out;

    eng_unref(zero_base);
    eng_unref(positive);
    log = eng_op1(e, ENG_OP_log, b->saved[SAVED_pow_tensor_input]);
    product = eng_mul(e, b->saved[SAVED_pow_tensor_result], log);
    zero = scalar_zero(b);
    picked = where3(e, both, zero, product);
    out = eng_mul(e, b->g[0], picked);
    eng_unref(picked);
    eng_unref(zero);
    eng_unref(product);
    eng_unref(log);
    eng_unref(both);
    return out;
}

/* where(exponent == 0, 0, g * (exponent * input^(exponent-1))) */
static struct eng_tensor *base_gradient(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_arg minus_one[] = {eng_at(b->saved[SAVED_pow_tensor_exponent]), eng_ai(1),
                                  eng_ai(1)};
    struct eng_tensor *less =
        b->saved[SAVED_pow_tensor_exponent] ? eng_call1(e, ENG_OP_sub, minus_one) : NULL;
    struct eng_tensor *power =
        eng_op2(e, ENG_OP_pow_tensor, b->saved[SAVED_pow_tensor_input], less);
    struct eng_tensor *scaled = eng_mul(e, b->saved[SAVED_pow_tensor_exponent], power);
    struct eng_tensor *product = eng_mul(e, b->g[0], scaled);
    struct eng_tensor *zero = scalar_zero(b);
    struct eng_tensor *test = eng_op2s(e, ENG_OP_eq, b->saved[SAVED_pow_tensor_exponent], 0);
    struct eng_tensor *out = where3(e, test, zero, product);

    eng_unref(test);
    eng_unref(zero);
    eng_unref(product);
    eng_unref(scaled);
    eng_unref(power);
    eng_unref(less);
    return out;
}

void eng_b_pow_tensor(struct eng_bw *b)
{
    if (wants(b, ARG_pow_tensor_exponent))
        eng_b_give(b, ARG_pow_tensor_exponent, exponent_gradient(b));
    if (wants(b, ARG_pow_tensor_input))
        eng_b_give(b, ARG_pow_tensor_input, base_gradient(b));
}

/* g * (result * log(base)). saved: exponent, result */
void eng_b_rpow(struct eng_bw *b)
{
    struct eng_tensor *scaled =
        eng_mul_scalar(b->e, b->saved[SAVED_rpow_result], log(number_or(b, ARG_rpow_input, 1)));

    eng_b_give(b, ARG_rpow_exponent, eng_mul(b->e, b->g[0], scaled));
    eng_unref(scaled);
}

/*
 * where(input == other, g / 2, g), and zero where the other operand was chosen. `loses` is the comparison of input with
 * other that is true where this operand was not chosen. Temporaries are allocated in the order in which C++ evaluates
 * the arguments: comparison, half, equality test; up to PyTorch 2.11 the comparison came last.
 */
static struct eng_tensor *extremum_side(struct eng_bw *b, enum eng_op_id loses,
                                        struct eng_tensor *input, struct eng_tensor *other)
{
    struct eng *e = b->e;
    const bool is_last = eng_torch(e) <= 11;
    struct eng_tensor *mask = is_last ? NULL : eng_op2(e, loses, input, other);
    struct eng_tensor *half = eng_div_scalar(e, b->g[0], 2);
    struct eng_tensor *same = eng_op2(e, ENG_OP_eq, input, other);
    struct eng_arg pick[] = {eng_at(same), eng_at(half), eng_at(b->g[0])};
    struct eng_tensor *out = same && half ? eng_call1(e, ENG_OP_where, pick) : NULL;
    struct eng_arg fill[] = {eng_at(out), eng_at(NULL), eng_ai(0)};
    struct eng_ret ret;

    if (out && is_last)
        mask = eng_op2(e, loses, input, other);
    fill[1] = eng_at(mask);
    if (out && mask && eng_call_inplace(e, ENG_OP_masked_fill, fill, &ret))
        eng_ret_release(&ret);
    if (is_last) {
        eng_unref(mask);
        mask = NULL;
    }
    eng_unref(same);
    eng_unref(half);
    eng_unref(mask);
    return out;
}

void eng_b_maximum(struct eng_bw *b)
{
    struct eng_tensor *input = b->saved[SAVED_maximum_input],
                      *other = b->saved[SAVED_maximum_other];

    if (wants(b, ARG_maximum_other))
        eng_b_give(b, ARG_maximum_other, extremum_side(b, ENG_OP_gt, input, other));
    if (wants(b, ARG_maximum_input))
        eng_b_give(b, ARG_maximum_input, extremum_side(b, ENG_OP_lt, input, other));
}

void eng_b_minimum(struct eng_bw *b)
{
    struct eng_tensor *input = b->saved[SAVED_minimum_input],
                      *other = b->saved[SAVED_minimum_other];

    if (wants(b, ARG_minimum_other))
        eng_b_give(b, ARG_minimum_other, extremum_side(b, ENG_OP_lt, input, other));
    if (wants(b, ARG_minimum_input))
        eng_b_give(b, ARG_minimum_input, extremum_side(b, ENG_OP_gt, input, other));
}

/* other: where(condition, 0, g); input: where(condition, g, 0) */
void eng_b_where(struct eng_bw *b)
{
    struct eng_arg other[] = {eng_at(b->saved[SAVED_where_condition]), eng_ai(0), eng_at(b->g[0])};
    struct eng_arg input[] = {eng_at(b->saved[SAVED_where_condition]), eng_at(b->g[0]), eng_ai(0)};

    if (b->e->failed)
        return;
    if (wants(b, ARG_where_other))
        eng_b_give(b, ARG_where_other, eng_call1(b->e, ENG_OP_where, other));
    if (wants(b, ARG_where_input))
        eng_b_give(b, ARG_where_input, eng_call1(b->e, ENG_OP_where, input));
}

void eng_b_masked_fill(struct eng_bw *b)
{
    struct eng_arg args[] = {eng_at(b->g[0]), eng_at(b->saved[SAVED_masked_fill_mask]), eng_ai(0)};

    if (b->saved[SAVED_masked_fill_mask])
        eng_b_give(b, ARG_masked_fill_input, eng_call1(b->e, ENG_OP_masked_fill, args));
}

/* saved: tensor1, tensor2 */
void eng_b_addcmul(struct eng_bw *b)
{
    double value = number_or(b, ARG_addcmul_value, 1);

    if (wants(b, ARG_addcmul_input))
        eng_b_give(b, ARG_addcmul_input, eng_ref(b->g[0]));
    if (wants(b, ARG_addcmul_tensor1)) {
        struct eng_tensor *scaled = eng_mul_scalar(b->e, b->saved[SAVED_addcmul_tensor2], value);

        eng_b_give(b, ARG_addcmul_tensor1, eng_mul(b->e, b->g[0], scaled));
        eng_unref(scaled);
    }
    if (wants(b, ARG_addcmul_tensor2)) {
        struct eng_tensor *scaled = eng_mul_scalar(b->e, b->saved[SAVED_addcmul_tensor1], value);

        eng_b_give(b, ARG_addcmul_tensor2, eng_mul(b->e, b->g[0], scaled));
        eng_unref(scaled);
    }
}

/* tensor1: g * (value / t2); tensor2: -g * (value * t1 / (t2 * t2)). saved: tensor1, tensor2 */
void eng_b_addcdiv(struct eng_bw *b)
{
    struct eng *e = b->e;
    double value = number_or(b, ARG_addcdiv_value, 1);

    if (wants(b, ARG_addcdiv_input))
        eng_b_give(b, ARG_addcdiv_input, eng_ref(b->g[0]));
    if (wants(b, ARG_addcdiv_tensor1)) {
        struct eng_arg fill[] = {eng_at(b->saved[SAVED_addcdiv_tensor2]), eng_af(value),
                                 eng_anone(), eng_anone()};
        struct eng_tensor *ratio =
            b->saved[SAVED_addcdiv_tensor2] ? eng_call1(e, ENG_OP_full_like, fill) : NULL;
        struct eng_arg by[] = {eng_at(ratio), eng_at(b->saved[SAVED_addcdiv_tensor2]), eng_anone()};
        struct eng_ret ret;

        if (ratio && eng_call_inplace(e, ENG_OP_div, by, &ret))
            eng_ret_release(&ret);
        eng_b_give(b, ARG_addcdiv_tensor1, eng_mul(e, b->g[0], ratio));
        eng_unref(ratio);
    }
    if (wants(b, ARG_addcdiv_tensor2)) {
        struct eng_tensor *squared =
            eng_mul(e, b->saved[SAVED_addcdiv_tensor2], b->saved[SAVED_addcdiv_tensor2]);
        struct eng_tensor *scaled = eng_mul_scalar(e, b->saved[SAVED_addcdiv_tensor1], value);
        struct eng_tensor *ratio = eng_div(e, scaled, squared);
        struct eng_tensor *minus = eng_neg(e, b->g[0]);

        eng_b_give(b, ARG_addcdiv_tensor2, eng_mul(e, minus, ratio));
        eng_unref(minus);
        eng_unref(ratio);
        eng_unref(scaled);
        eng_unref(squared);
    }
}

/* end: g * weight; input: g * (1 - weight) */
void eng_b_lerp(struct eng_bw *b)
{
    double weight = number_or(b, ARG_lerp_weight, 0);

    if (wants(b, ARG_lerp_end))
        eng_b_give(b, ARG_lerp_end, eng_mul_scalar(b->e, b->g[0], weight));
    if (wants(b, ARG_lerp_input))
        eng_b_give(b, ARG_lerp_input, eng_mul_scalar(b->e, b->g[0], 1.0 - weight));
}
