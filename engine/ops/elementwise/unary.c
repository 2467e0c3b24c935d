/*
 * engine/ops/elementwise/unary.c - elementwise ops of one operand and their gradients.
 *
 * Must not know:  autograd's machinery.
 * Invariant:      out has the shape of the input; each backward allocates the same temporaries as PyTorch's formula,
 *                 in the same order.
 */
#include <math.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* The kernel of an op, and how its dtypes are chosen. */
struct unary_row {
    enum eng_unary kernel;
    bool floats;  /* an integer input gives a float32 result */
    bool is_test; /* the result is bool */
    bool known;
};

static const struct unary_row ROWS[ENG_OP_COUNT] = {
    [ENG_OP_abs] = {ENG_U_ABS, false, false, true},
    [ENG_OP_neg] = {ENG_U_NEG, false, false, true},
    [ENG_OP_sign] = {ENG_U_SIGN, false, false, true},
    [ENG_OP_exp] = {ENG_U_EXP, true, false, true},
    [ENG_OP_expm1] = {ENG_U_EXPM1, true, false, true},
    [ENG_OP_log] = {ENG_U_LOG, true, false, true},
    [ENG_OP_log2] = {ENG_U_LOG2, true, false, true},
    [ENG_OP_log1p] = {ENG_U_LOG1P, true, false, true},
    [ENG_OP_sqrt] = {ENG_U_SQRT, true, false, true},
    [ENG_OP_rsqrt] = {ENG_U_RSQRT, true, false, true},
    [ENG_OP_reciprocal] = {ENG_U_RECIPROCAL, true, false, true},
    [ENG_OP_sin] = {ENG_U_SIN, true, false, true},
    [ENG_OP_cos] = {ENG_U_COS, true, false, true},
    [ENG_OP_tanh] = {ENG_U_TANH, true, false, true},
    [ENG_OP_sigmoid] = {ENG_U_SIGMOID, true, false, true},
    [ENG_OP_relu] = {ENG_U_RELU, false, false, true},
    [ENG_OP_erf] = {ENG_U_ERF, true, false, true},
    [ENG_OP_floor] = {ENG_U_FLOOR, false, false, true},
    [ENG_OP_ceil] = {ENG_U_CEIL, false, false, true},
    [ENG_OP_round] = {ENG_U_ROUND, false, false, true},
    [ENG_OP_leaky_relu] = {ENG_U_LEAKY_RELU, false, false, true},
    [ENG_OP_elu] = {ENG_U_ELU, false, false, true},
    [ENG_OP_gelu] = {ENG_U_GELU, false, false, true},
    [ENG_OP_silu] = {ENG_U_SILU, false, false, true},
    [ENG_OP_mish] = {ENG_U_MISH, false, false, true},
    [ENG_OP_hardswish] = {ENG_U_HARDSWISH, false, false, true},
    [ENG_OP_hardsigmoid] = {ENG_U_HARDSIGMOID, false, false, true},
    [ENG_OP_hardtanh] = {ENG_U_HARDTANH, false, false, true},
    [ENG_OP_softplus] = {ENG_U_SOFTPLUS, false, false, true},
    [ENG_OP_logsigmoid] = {ENG_U_LOG_SIGMOID, false, false, true},
    [ENG_OP_log10] = {ENG_U_LOG10, true, false, true},
    [ENG_OP_exp2] = {ENG_U_EXP2, true, false, true},
    [ENG_OP_tan] = {ENG_U_TAN, true, false, true},
    [ENG_OP_sinh] = {ENG_U_SINH, true, false, true},
    [ENG_OP_cosh] = {ENG_U_COSH, true, false, true},
    [ENG_OP_asin] = {ENG_U_ASIN, true, false, true},
    [ENG_OP_acos] = {ENG_U_ACOS, true, false, true},
    [ENG_OP_atan] = {ENG_U_ATAN, true, false, true},
    [ENG_OP_trunc] = {ENG_U_TRUNC, false, false, true},
    [ENG_OP_frac] = {ENG_U_FRAC, false, false, true},
    [ENG_OP_hardshrink] = {ENG_U_HARDSHRINK, false, false, true},
    [ENG_OP_softshrink] = {ENG_U_SOFTSHRINK, false, false, true},
    [ENG_OP_logical_not] = {ENG_U_LOGICAL_NOT, false, true, true},
    [ENG_OP_bitwise_not] = {ENG_U_BITWISE_NOT, false, false, true},
    [ENG_OP_isnan] = {ENG_U_ISNAN, false, true, true},
    [ENG_OP_isinf] = {ENG_U_ISINF, false, true, true},
    [ENG_OP_isfinite] = {ENG_U_ISFINITE, false, true, true},
};

static bool is_tanh_form(const struct eng_arg *arg)
{
    return arg->kind == ENG_A_STR && arg->v.str[0] == 't';
}

/*
 * What isinf and isfinite make of floats besides their result, with NULL for what is not made: |x|, which is compared
 * with infinity, and for isfinite the results of |x| != infinity and x == x, whose product is its result.
 */
static void compared_alloc(struct eng_op_call *c, struct eng_tensor *x, struct eng_tensor **out)
{
    const bool is_finite = c->id == ENG_OP_isfinite;

    if ((c->id != ENG_OP_isinf && !is_finite) || !vs_dtype_is_floating((enum vs_dtype)x->dtype))
        return;
    out[0] = eng_c_empty_like(c, x, (enum vs_dtype)x->dtype);
    for (int i = 1; i < 3 && is_finite; i++)
        out[i] = eng_c_empty_like(c, x, VS_BOOL);
}

/* out = f(input). Shapes: any -> same. */
void eng_f_unary(struct eng_op_call *c)
{
    const struct unary_row *row = &ROWS[c->id];
    struct eng_tensor *x = eng_c_tensor(c, ARG_unary_input);
    enum vs_dtype dtype = (enum vs_dtype)x->dtype;
    double p[4] = {0};
    struct eng_tensor *compared[3] = {NULL};
    struct eng_tensor *out;

    VS_ASSERT(row->known);
    if (row->is_test)
        dtype = VS_BOOL;
    else if (row->floats && !vs_dtype_is_floating(dtype))
        dtype = VS_F32;
    compared_alloc(c, x, compared);
    out = eng_c_elementwise_out(c, &x, 1, dtype);
    for (int i = 2; i >= 0; i--)
        eng_unref(compared[i]);
    if (!out)
        return;
    for (int i = ARG_unary_input + 1; i < 4 && i < c->e->signatures[c->id].count; i++) {
        if (c->a[i].kind == ENG_A_SCALAR)
            p[i - 1] = eng_c_float(c, i);
    }
    if (eng_c_computes(c)) {
        struct eng_view vx = eng_v(x);
        struct eng_view vo = eng_v(out);
        enum eng_unary kernel = row->kernel;

        if (c->id == ENG_OP_gelu && is_tanh_form(&c->a[ARG_gelu_approximate]))
            kernel = ENG_U_GELU_TANH;
        c->e->kernels->unary(kernel, &vx, &vo, p);
    }
    eng_c_give(c, out);
}

/* ---- backward ---- */

/* Runs one kernel over (gradient, saved tensor) with the numbers p0 to p3; out has the gradient's sizes. */
static struct eng_tensor *fused(struct eng_bw *b, struct eng_tensor *saved, enum eng_binary kernel,
                                double p0, double p1, double p2, double p3)
{
    const double p[4] = {p0, p1, p2, p3};
    struct eng_op_call c = {.e = b->e, .id = b->node->op};
    /* out has the strides of the first operand */
    bool saved_first = kernel == ENG_B_THRESHOLD_BACKWARD || kernel == ENG_B_LEAKY_RELU_BACKWARD;
    struct eng_tensor *pair[] = {saved_first ? saved : b->g[0], saved_first ? b->g[0] : saved};
    struct eng_tensor *out;

    if (!saved || b->e->failed)
        return NULL;
    out = eng_c_elementwise_out(&c, pair, 2, (enum vs_dtype)b->g[0]->dtype);
    if (out && b->e->kernels) {
        struct eng_view vg = eng_v_expand(b->g[0], out);
        struct eng_view vs = eng_v_expand(saved, out);
        struct eng_view vo = eng_v(out);

        b->e->kernels->binary(kernel, (enum vs_dtype)out->dtype, &vg, &vs, &vo, p);
    }
    return out;
}

void eng_b_identity(struct eng_bw *b)
{
    eng_b_give(b, ARG_identity_input, eng_ref(b->g[0]));
}

void eng_b_zero_like(struct eng_bw *b)
{
    struct eng_arg args[] = {eng_at(b->g[0]), eng_anone(), eng_anone()};

    eng_b_give(b, ARG_zero_like_input, eng_call1(b->e, ENG_OP_zeros_like, args));
}

/* g * sign(x) */
void eng_b_abs(struct eng_bw *b)
{
    struct eng_tensor *sign = eng_op1(b->e, ENG_OP_sign, b->saved[SAVED_abs_input]);

    eng_b_give(b, ARG_abs_input, eng_mul(b->e, b->g[0], sign));
    eng_unref(sign);
}

void eng_b_neg(struct eng_bw *b)
{
    eng_b_give(b, ARG_neg_input, eng_neg(b->e, b->g[0]));
}

void eng_b_exp(struct eng_bw *b)
{
    eng_b_give(b, ARG_exp_input, eng_mul(b->e, b->g[0], b->saved[SAVED_exp_result]));
}

/* g * (result + 1) */
void eng_b_expm1(struct eng_bw *b)
{
    struct eng_tensor *plus = eng_add_scalar(b->e, b->saved[SAVED_expm1_result], 1);

    eng_b_give(b, ARG_expm1_input, eng_mul(b->e, b->g[0], plus));
    eng_unref(plus);
}

void eng_b_log(struct eng_bw *b)
{
    eng_b_give(b, ARG_log_input, eng_div(b->e, b->g[0], b->saved[SAVED_log_input]));
}

void eng_b_log2(struct eng_bw *b)
{
    struct eng_tensor *scaled =
        eng_mul_scalar(b->e, b->saved[SAVED_log2_input], 0.6931471805599453);

    eng_b_give(b, ARG_log2_input, eng_div(b->e, b->g[0], scaled));
    eng_unref(scaled);
}

void eng_b_log1p(struct eng_bw *b)
{
    struct eng_tensor *plus = eng_add_scalar(b->e, b->saved[SAVED_log1p_input], 1);

    eng_b_give(b, ARG_log1p_input, eng_div(b->e, b->g[0], plus));
    eng_unref(plus);
}

/* g / (2 * result) */
void eng_b_sqrt(struct eng_bw *b)
{
    struct eng_tensor *twice = eng_mul_scalar(b->e, b->saved[SAVED_sqrt_result], 2);

    eng_b_give(b, ARG_sqrt_input, eng_div(b->e, b->g[0], twice));
    eng_unref(twice);
}

/* (-0.5 * g) * result^3; the power is allocated first */
void eng_b_rsqrt(struct eng_bw *b)
{
    struct eng_tensor *cube = eng_pow_scalar(b->e, b->saved[SAVED_rsqrt_result], 3);
    struct eng_tensor *half = eng_mul_scalar(b->e, b->g[0], -0.5);

    eng_b_give(b, ARG_rsqrt_input, eng_mul(b->e, half, cube));
    eng_unref(half);
    eng_unref(cube);
}

/* -g * (result * result) */
void eng_b_reciprocal(struct eng_bw *b)
{
    struct eng_tensor *squared =
        eng_mul(b->e, b->saved[SAVED_reciprocal_result], b->saved[SAVED_reciprocal_result]);
    struct eng_tensor *minus = eng_neg(b->e, b->g[0]);

    eng_b_give(b, ARG_reciprocal_input, eng_mul(b->e, minus, squared));
    eng_unref(minus);
    eng_unref(squared);
}

void eng_b_sin(struct eng_bw *b)
{
    struct eng_tensor *cosine = eng_op1(b->e, ENG_OP_cos, b->saved[SAVED_sin_input]);

    eng_b_give(b, ARG_sin_input, eng_mul(b->e, b->g[0], cosine));
    eng_unref(cosine);
}

/* g * -sin(x) */
void eng_b_cos(struct eng_bw *b)
{
    struct eng_tensor *sine = eng_op1(b->e, ENG_OP_sin, b->saved[SAVED_cos_input]);
    struct eng_tensor *minus = eng_neg(b->e, sine);

    eng_b_give(b, ARG_cos_input, eng_mul(b->e, b->g[0], minus));
    eng_unref(minus);
    eng_unref(sine);
}

void eng_b_tanh(struct eng_bw *b)
{
    eng_b_give(b, ARG_tanh_input,
               fused(b, b->saved[SAVED_tanh_result], ENG_B_TANH_BACKWARD, 0, 0, 0, 0));
}

void eng_b_sigmoid(struct eng_bw *b)
{
    eng_b_give(b, ARG_sigmoid_input,
               fused(b, b->saved[SAVED_sigmoid_result], ENG_B_SIGMOID_BACKWARD, 0, 0, 0, 0));
}

void eng_b_relu(struct eng_bw *b)
{
    eng_b_give(b, ARG_relu_input,
               fused(b, b->saved[SAVED_relu_result], ENG_B_THRESHOLD_BACKWARD, 0, 0, 0, 0));
}

/* 2/sqrt(pi) * exp(-(x^2)) * g */
void eng_b_erf(struct eng_bw *b)
{
    struct eng_tensor *squared = eng_pow_scalar(b->e, b->saved[SAVED_erf_input], 2);
    struct eng_tensor *minus = eng_neg(b->e, squared);
    struct eng_tensor *power = eng_op1(b->e, ENG_OP_exp, minus);
    struct eng_tensor *scaled = eng_mul_scalar(b->e, power, 2.0 / sqrt(acos(-1.0)));

    eng_b_give(b, ARG_erf_input, eng_mul(b->e, scaled, b->g[0]));
    eng_unref(scaled);
    eng_unref(power);
    eng_unref(minus);
    eng_unref(squared);
}

void eng_b_leaky_relu(struct eng_bw *b)
{
    if (b->node->is_inplace && b->a[ARG_leaky_relu_negative_slope].v.scalar.f < 0) {
        eng_fail(b->e, VS_E_AUTOGRAD,
                 "leaky_relu_: an in-place leaky_relu with a negative slope below 0 has no "
                 "gradient: use the out-of-place form");
        return;
    }
    eng_b_give(b, ARG_leaky_relu_input,
               fused(b, b->saved[SAVED_leaky_relu_input], ENG_B_LEAKY_RELU_BACKWARD,
                     b->a[ARG_leaky_relu_negative_slope].v.scalar.f, 0, 0, 0));
}

void eng_b_elu(struct eng_bw *b)
{
    eng_b_give(b, ARG_elu_input,
               fused(b, b->saved[SAVED_elu_input], ENG_B_ELU_BACKWARD,
                     b->a[ARG_elu_alpha].v.scalar.f, b->a[ARG_elu_scale].v.scalar.f,
                     b->a[ARG_elu_input_scale].v.scalar.f, b->node->is_inplace ? 1 : 0));
}

void eng_b_gelu(struct eng_bw *b)
{
    eng_b_give(b, ARG_gelu_input,
               fused(b, b->saved[SAVED_gelu_input],
                     is_tanh_form(&b->a[ARG_gelu_approximate]) ? ENG_B_GELU_TANH_BACKWARD
                                                               : ENG_B_GELU_BACKWARD,
                     0, 0, 0, 0));
}

void eng_b_silu(struct eng_bw *b)
{
    eng_b_give(b, ARG_silu_input,
               fused(b, b->saved[SAVED_silu_input], ENG_B_SILU_BACKWARD, 0, 0, 0, 0));
}

void eng_b_mish(struct eng_bw *b)
{
    eng_b_give(b, ARG_mish_input,
               fused(b, b->saved[SAVED_mish_input], ENG_B_MISH_BACKWARD, 0, 0, 0, 0));
}

void eng_b_hardswish(struct eng_bw *b)
{
    eng_b_give(b, ARG_hardswish_input,
               fused(b, b->saved[SAVED_hardswish_input], ENG_B_HARDSWISH_BACKWARD, 0, 0, 0, 0));
}

void eng_b_hardsigmoid(struct eng_bw *b)
{
    eng_b_give(b, ARG_hardsigmoid_input,
               fused(b, b->saved[SAVED_hardsigmoid_input], ENG_B_HARDSIGMOID_BACKWARD, 0, 0, 0, 0));
}

void eng_b_hardtanh(struct eng_bw *b)
{
    eng_b_give(b, ARG_hardtanh_input,
               fused(b, b->saved[SAVED_hardtanh_input], ENG_B_HARDTANH_BACKWARD,
                     b->a[ARG_hardtanh_min_val].v.scalar.f, b->a[ARG_hardtanh_max_val].v.scalar.f,
                     0, 0));
}

void eng_b_softplus(struct eng_bw *b)
{
    eng_b_give(b, ARG_softplus_input,
               fused(b, b->saved[SAVED_softplus_input], ENG_B_SOFTPLUS_BACKWARD,
                     b->a[ARG_softplus_beta].v.scalar.f, b->a[ARG_softplus_threshold].v.scalar.f, 0,
                     0));
}

void eng_b_logsigmoid(struct eng_bw *b)
{
    eng_b_give(b, ARG_logsigmoid_input,
               fused(b, b->saved[SAVED_logsigmoid_input], ENG_B_LOG_SIGMOID_BACKWARD, 0, 0, 0, 0));
}

/* ---- threshold: input > threshold ? input : value ---- */

void eng_f_threshold(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_threshold_input);
    struct eng_tensor *out = eng_c_elementwise_out(c, &x, 1, (enum vs_dtype)x->dtype);

    if (!out)
        return;
    if (eng_c_computes(c)) {
        struct eng_tensor *mask = eng_empty(c->e, x->sizes, x->ndim, VS_BOOL, true);
        struct eng_cell bound, other;
        double none[4] = {0};

        if (mask) {
            struct eng_view vx = eng_v(x), vo = eng_v(out), vm = eng_v(mask);
            struct eng_view vb =
                eng_v_scalar((struct eng_scalar){false, 0, eng_c_float(c, ARG_threshold_threshold)},
                             mask, &bound);
            struct eng_view vv = eng_v_scalar(
                (struct eng_scalar){false, 0, eng_c_float(c, ARG_threshold_value)}, out, &other);

            c->e->kernels->binary(ENG_B_GT, vx.dtype, &vx, &vb, &vm, none);
            c->e->kernels->ternary(ENG_T_WHERE, vo.dtype, &vm, &vx, &vv, &vo, none);
        }
        eng_unref(mask);
    }
    eng_c_give(c, out);
}

void eng_b_threshold(struct eng_bw *b)
{
    eng_b_give(b, ARG_threshold_input,
               fused(b, b->saved[SAVED_threshold_input], ENG_B_THRESHOLD_BACKWARD,
                     b->a[ARG_threshold_threshold].v.scalar.f, 0, 0, 0));
}

/* ---- composed of other ops ---- */

static void run_composite(struct eng_op_call *c, enum eng_op_id id, const struct eng_arg *args)
{
    struct eng_ret ret;
    bool ok = c->inplace ? eng_call_inplace(c->e, id, args, &ret) : eng_call(c->e, id, args, &ret);

    if (ok)
        eng_c_give(c, ret.few[0]);
}

void eng_f_relu6(struct eng_op_call *c)
{
    struct eng_arg args[] = {c->a[ARG_relu6_input], eng_af(0), eng_af(6)};

    run_composite(c, ENG_OP_hardtanh, args);
}

void eng_f_celu(struct eng_op_call *c)
{
    double alpha = eng_c_float(c, ARG_celu_alpha);
    struct eng_arg args[] = {c->a[ARG_celu_input], eng_af(alpha), eng_af(1), eng_af(1.0 / alpha)};

    run_composite(c, ENG_OP_elu, args);
}

void eng_f_selu(struct eng_op_call *c)
{
    struct eng_arg args[] = {c->a[ARG_selu_input], eng_af(1.6732632423543772848170429916717),
                             eng_af(1.0507009873554804934193349852946), eng_af(1)};

    run_composite(c, ENG_OP_elu, args);
}

void eng_f_square(struct eng_op_call *c)
{
    struct eng_arg args[] = {c->a[ARG_square_input], eng_ai(2)};

    run_composite(c, ENG_OP_pow, args);
}

/* ---- clamp ---- */

/* out = min(max(input, min), max); min, max: an argument or NULL, which like None is no bound. */
static void clamp(struct eng_op_call *c, struct eng_tensor *x, const struct eng_arg *min,
                  const struct eng_arg *max)
{
    bool has_min = min && min->kind != ENG_A_NONE, has_max = max && max->kind != ENG_A_NONE;
    double p[2] = {has_min ? eng_arg_float(min) : -HUGE_VAL,
                   has_max ? eng_arg_float(max) : HUGE_VAL};
    struct eng_tensor *out;
    enum vs_dtype dtype = eng_result_dtype(&x, 1, has_min ? min : NULL);

    if (!has_min && !has_max) {
        eng_fail(c->e, VS_E_VALUE, "clamp: at least one of min and max must be given");
        return;
    }
    if (has_max)
        dtype = vs_dtype_promote(dtype, eng_result_dtype(&x, 1, max));
    out = eng_c_elementwise_out(c, &x, 1, dtype);
    if (!out)
        return;
    if (eng_c_computes(c)) {
        struct eng_view vx = eng_v(x);
        struct eng_view vo = eng_v(out);

        c->e->kernels->unary(ENG_U_CLAMP, &vx, &vo, p);
    }
    eng_c_give(c, out);
}

void eng_f_clamp(struct eng_op_call *c)
{
    clamp(c, eng_c_tensor(c, ARG_clamp_input), &c->a[ARG_clamp_min], &c->a[ARG_clamp_max]);
}

void eng_f_clamp_min(struct eng_op_call *c)
{
    clamp(c, eng_c_tensor(c, ARG_clamp_min_input), &c->a[ARG_clamp_min_min], NULL);
}

void eng_f_clamp_max(struct eng_op_call *c)
{
    clamp(c, eng_c_tensor(c, ARG_clamp_max_input), NULL, &c->a[ARG_clamp_max_max]);
}

/* where(mask, g, 0); the 0 is a 0-dim tensor that is allocated first. */
static struct eng_tensor *where_grad(struct eng_bw *b, struct eng_tensor *mask,
                                     struct eng_tensor *zero)
{
    struct eng_arg args[] = {eng_at(mask), eng_at(b->g[0]), eng_at(zero)};

    return mask && zero ? eng_call1(b->e, ENG_OP_where, args) : NULL;
}

static struct eng_tensor *scalar_zero(struct eng_bw *b)
{
    return eng_zeros(b->e, NULL, 0, (enum vs_dtype)b->g[0]->dtype, b->g[0]->storage->on_host);
}

void eng_b_clamp(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *zero = scalar_zero(b);
    struct eng_tensor *mask;

    if (b->a[ARG_clamp_min].kind != ENG_A_NONE && b->a[ARG_clamp_max].kind != ENG_A_NONE) {
        struct eng_tensor *high;
        struct eng_arg args[2];
        struct eng_ret ret;

        mask = eng_op2s(e, ENG_OP_ge, b->saved[SAVED_clamp_input], b->a[ARG_clamp_min].v.scalar.f);
        high = eng_op2s(e, ENG_OP_le, b->saved[SAVED_clamp_input], b->a[ARG_clamp_max].v.scalar.f);
        args[0] = eng_at(mask);
        args[1] = eng_at(high);
        if (mask && high && eng_call_inplace(e, ENG_OP_bitwise_and, args, &ret))
            eng_ret_release(&ret);
        eng_b_give(b, ARG_clamp_input, where_grad(b, mask, zero));
        eng_unref(high);
        eng_unref(mask);
    } else {
        bool low = b->a[ARG_clamp_min].kind != ENG_A_NONE;

        mask = eng_op2s(e, low ? ENG_OP_ge : ENG_OP_le, b->saved[SAVED_clamp_input],
                        b->a[low ? ARG_clamp_min : ARG_clamp_max].v.scalar.f);
        eng_b_give(b, ARG_clamp_input, where_grad(b, mask, zero));
        eng_unref(mask);
    }
    eng_unref(zero);
}

/* where(x >= bound, g, 0), or with another test */
static struct eng_tensor *clamp_one(struct eng_bw *b, struct eng_tensor *x, enum eng_op_id test,
                                    const struct eng_arg *bound)
{
    struct eng_tensor *zero = scalar_zero(b);
    struct eng_tensor *mask = eng_op2s(b->e, test, x, bound->v.scalar.f);
    struct eng_tensor *out = where_grad(b, mask, zero);

    eng_unref(mask);
    eng_unref(zero);
    return out;
}

void eng_b_clamp_min(struct eng_bw *b)
{
    eng_b_give(b, ARG_clamp_min_input,
               clamp_one(b, b->saved[SAVED_clamp_min_input], ENG_OP_ge, &b->a[ARG_clamp_min_min]));
}

void eng_b_clamp_max(struct eng_bw *b)
{
    eng_b_give(b, ARG_clamp_max_input,
               clamp_one(b, b->saved[SAVED_clamp_max_input], ENG_OP_le, &b->a[ARG_clamp_max_max]));
}
