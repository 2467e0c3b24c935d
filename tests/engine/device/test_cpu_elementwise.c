/*
 * tests/engine/device/test_cpu_elementwise.c - unary, binary, ternary kernels against formulas in double.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/many.h"
#include "tests/engine/device/cpu_views.h"

#define INF ((double)INFINITY)

static const enum vs_dtype floats[] = {VS_F32, VS_F64, VS_F16, VS_BF16};

/* What an element may be off by: rounding of the dtype, and of float arithmetic before it. */
static double rel_of(enum vs_dtype dtype)
{
    return dtype == VS_F64 ? 1e-13 : tv_epsilon(dtype) * 0.51 + 3e-6;
}

static double abs_of(enum vs_dtype dtype)
{
    return dtype == VS_F64 ? 1e-14 : 1e-6 + tv_epsilon(dtype) * 1e-3;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double softplus(double x, double beta, double threshold)
{
    return x * beta > threshold ? x : log1p(exp(x * beta)) / beta;
}

static double clamp(double x, double lo, double hi)
{
    if (x != x)
        return x;
    return fmin(fmax(x, lo), hi);
}

static const double gelu_k = 0.79788456080286535588;

static double unary(enum eng_unary op, double x, const double *p)
{
    switch (op) {
    case ENG_U_NEG:
        return -x;
    case ENG_U_ABS:
        return fabs(x);
    case ENG_U_SIGN:
        return (x > 0) - (x < 0);
    case ENG_U_EXP:
        return exp(x);
    case ENG_U_LOG:
        return log(x);
    case ENG_U_SQRT:
        return sqrt(x);
    case ENG_U_RSQRT:
        return 1 / sqrt(x);
    case ENG_U_RECIPROCAL:
        return 1 / x;
    case ENG_U_SIN:
        return sin(x);
    case ENG_U_COS:
        return cos(x);
    case ENG_U_TANH:
        return tanh(x);
    case ENG_U_SIGMOID:
        return sigmoid(x);
    case ENG_U_RELU:
        return x < 0 ? 0 : x;
    case ENG_U_ERF:
        return erf(x);
    case ENG_U_FLOOR:
        return floor(x);
    case ENG_U_CEIL:
        return ceil(x);
    case ENG_U_ROUND:
        return nearbyint(x);
    case ENG_U_LOG1P:
        return log1p(x);
    case ENG_U_EXPM1:
        return expm1(x);
    case ENG_U_LOG2:
        return log2(x);
    case ENG_U_LEAKY_RELU:
        return x > 0 ? x : x * p[0];
    case ENG_U_ELU:
        return x > 0 ? p[1] * x : p[1] * p[0] * (exp(p[2] * x) - 1);
    case ENG_U_GELU:
        return 0.5 * x * (1 + erf(x / sqrt(2)));
    case ENG_U_GELU_TANH:
        return 0.5 * x * (1 + tanh(gelu_k * (x + 0.044715 * x * x * x)));
    case ENG_U_SILU:
        return x * sigmoid(x);
    case ENG_U_MISH:
        return x * tanh(softplus(x, 1, 20));
    case ENG_U_HARDSWISH:
        return x * clamp(x + 3, 0, 6) / 6;
    case ENG_U_HARDSIGMOID:
        return clamp(x + 3, 0, 6) / 6;
    case ENG_U_HARDTANH:
        return clamp(x, p[0], p[1]);
    case ENG_U_SOFTPLUS:
        return softplus(x, p[0], p[1]);
    case ENG_U_LOG_SIGMOID:
        return -log1p(exp(-fabs(x))) + (x < 0 ? x : 0);
    case ENG_U_POW_SCALAR:
        return pow(x, p[0]);
    case ENG_U_SCALAR_POW:
        return pow(p[0], x);
    case ENG_U_CLAMP:
        return clamp(x, p[0], p[1]);
    case ENG_U_LOGICAL_NOT:
        return x == 0;
    case ENG_U_BITWISE_NOT:
        return -x - 1;
    case ENG_U_ISNAN:
        return isnan(x) != 0;
    case ENG_U_ISINF:
        return isinf(x) != 0;
    case ENG_U_ISFINITE:
        return isfinite(x) != 0;
    case ENG_U_LOG10:
        return log10(x);
    case ENG_U_EXP2:
        return exp2(x);
    case ENG_U_TAN:
        return tan(x);
    case ENG_U_SINH:
        return sinh(x);
    case ENG_U_COSH:
        return cosh(x);
    case ENG_U_ASIN:
        return asin(x);
    case ENG_U_ACOS:
        return acos(x);
    case ENG_U_ATAN:
        return atan(x);
    case ENG_U_TRUNC:
        return trunc(x);
    case ENG_U_FRAC:
        return fmod(x, 1);
    case ENG_U_HARDSHRINK:
        return fabs(x) <= p[0] ? 0 : x;
    case ENG_U_SOFTSHRINK:
        return fabs(x) <= p[0] ? 0 : x > 0 ? x - p[0] : x + p[0];
    case ENG_U_COUNT:
        break;
    }
    return 0;
}

static bool gives_bool(enum eng_unary op)
{
    return op == ENG_U_LOGICAL_NOT || op == ENG_U_ISNAN || op == ENG_U_ISINF ||
           op == ENG_U_ISFINITE;
}

static void unary_range(enum eng_unary op, double *lo, double *hi)
{
    *lo = -6;
    *hi = 6;
    if (op == ENG_U_LOG || op == ENG_U_LOG2 || op == ENG_U_SQRT || op == ENG_U_RSQRT ||
        op == ENG_U_RECIPROCAL || op == ENG_U_POW_SCALAR)
        *lo = 0.01;
    if (op == ENG_U_LOG1P)
        *lo = -0.9;
    if (op == ENG_U_LOG10)
        *lo = 0.01;
    if (op == ENG_U_TAN || op == ENG_U_ASIN || op == ENG_U_ACOS) {
        *lo = -0.95;
        *hi = 0.95;
    }
}

static void params_of(int op, double *p)
{
    p[0] = 0.3;
    p[1] = 1.1;
    p[2] = 0.9;
    p[3] = 0;
    if (op == ENG_U_HARDTANH || op == ENG_U_CLAMP) {
        p[0] = -1.5;
        p[1] = 2.25;
    }
    if (op == ENG_U_SOFTPLUS) {
        p[0] = 1.5;
        p[1] = 3;
    }
    if (op == ENG_U_POW_SCALAR)
        p[0] = 1.7;
}

/* Some sizes; a length past CPU_CHUNK in one dim now and then. */
static int any_sizes(struct tv_rng *r, int64_t *sizes)
{
    int ndim = (int)tv_int(r, 0, 5);

    for (int d = 0; d < ndim; d++)
        sizes[d] = tv_int(r, 1, 8);
    if (ndim > 0 && tv_int(r, 0, 4) == 0)
        sizes[tv_int(r, 0, ndim)] = tv_int(r, 1000, 2100);
    return ndim;
}

static void every_unary_agrees_on_any_strides(void **state)
{
    struct tv_rng r = {1234567};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int op = 0; op < ENG_U_COUNT; op++) {
        for (size_t t = 0; t < 4 * 3; t++) {
            enum vs_dtype dtype = floats[t % 4];
            int64_t sizes[VS_MAX_DIMS];
            int ndim = any_sizes(&r, sizes);
            struct tv x = tv_make(&r, dtype, ndim, sizes, tv_any_layout(&r));
            struct tv y = tv_make(&r, gives_bool((enum eng_unary)op) ? VS_BOOL : dtype, ndim, sizes,
                                  tv_any_layout(&r));
            double *want = vs_calloc((size_t)tv_numel(&x.v) + 1, sizeof(double));
            double lo;
            double hi;
            double p[4];

            if (op == ENG_U_BITWISE_NOT) {
                tv_free(&x);
                tv_free(&y);
                vs_free(want);
                continue;
            }
            unary_range((enum eng_unary)op, &lo, &hi);
            params_of(op, p);
            tv_fill(&r, &x.v, lo, hi);
            for (int64_t i = 0; i < tv_numel(&x.v); i++)
                want[i] = unary((enum eng_unary)op, tv_get(&x.v, i), p);
            k->unary((enum eng_unary)op, &x.v, &y.v, p);
            char what[32];
            snprintf(what, sizeof(what), "unary %d", op);
            tv_assert_near(what, &y.v, want, rel_of(dtype), abs_of(dtype));
            assert_true(tv_padding_is_intact(&y));
            if (!gives_bool((enum eng_unary)op)) { /* in place: the same bits */
                k->unary((enum eng_unary)op, &x.v, &x.v, p);
                for (int64_t i = 0; i < tv_numel(&x.v); i++)
                    assert_memory_equal(tv_at(&x.v, i), tv_at(&y.v, i), vs_dtype_bytes(dtype));
                assert_true(tv_padding_is_intact(&x));
            }
            tv_free(&x);
            tv_free(&y);
            vs_free(want);
        }
    }
}

static void integers_have_their_own_unaries(void **state)
{
    static const enum eng_unary ops[] = {ENG_U_NEG,         ENG_U_ABS,        ENG_U_SIGN,
                                         ENG_U_RELU,        ENG_U_FLOOR,      ENG_U_CLAMP,
                                         ENG_U_BITWISE_NOT, ENG_U_LOGICAL_NOT};
    struct tv_rng r = {77};
    int64_t sizes[] = {3, 50};
    double p[4] = {-3, 5, 0, 0};

    (void)state;
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        for (int w = 0; w < 2; w++) {
            enum vs_dtype dtype = w ? VS_I64 : VS_I32;
            struct tv x = tv_make(&r, dtype, 2, sizes, tv_any_layout(&r));
            struct tv y =
                tv_make(&r, gives_bool(ops[i]) ? VS_BOOL : dtype, 2, sizes, tv_any_layout(&r));

            tv_fill(&r, &x.v, -20, 20);
            eng_kernels_cpu()->unary(ops[i], &x.v, &y.v, p);
            for (int64_t e = 0; e < 150; e++)
                assert_int_equal(tv_get_int(&y.v, e), (int64_t)unary(ops[i], tv_get(&x.v, e), p));
            tv_free(&x);
            tv_free(&y);
        }
    }
}

static void powers_of_special_exponents_are_products(void **state)
{
    static const double exponents[] = {2, 3, 1, 0.5, -0.5, -1, -2, 0, 4};
    struct tv_rng r = {5};
    int64_t sizes[] = {40};

    (void)state;
    for (size_t i = 0; i < sizeof(exponents) / sizeof(exponents[0]); i++) {
        struct tv x = tv_make(&r, VS_F32, 1, sizes, TV_PLAIN);
        struct tv y = tv_make(&r, VS_F32, 1, sizes, TV_PLAIN);
        double want[40];

        tv_fill(&r, &x.v, 0.1, 3);
        for (int64_t e = 0; e < 40; e++)
            want[e] = pow(tv_get(&x.v, e), exponents[i]);
        eng_kernels_cpu()->unary(ENG_U_POW_SCALAR, &x.v, &y.v, &exponents[i]);
        tv_assert_near("pow", &y.v, want, 3e-7, 0);
        if (exponents[i] == 2) {
            for (int64_t e = 0; e < 40; e++) {
                float v = (float)tv_get(&x.v, e);

                assert_true((float)tv_get(&y.v, e) == v * v);
            }
        }
        tv_free(&x);
        tv_free(&y);
    }
}

static double smooth_l1(double d, double beta)
{
    d = fabs(d);
    return d < beta ? d * d / 2 / beta : d - beta / 2;
}

static double binary_backward(enum eng_binary op, double a, double b, const double *p)
{
    double s = sigmoid(b);
    double t;

    switch ((int)op) {
    case ENG_B_THRESHOLD_BACKWARD:
        return b <= p[0] ? 0 : a;
    case ENG_B_SIGMOID_BACKWARD:
        return a * b * (1 - b);
    case ENG_B_TANH_BACKWARD:
        return a * (1 - b * b);
    case ENG_B_LEAKY_RELU_BACKWARD:
        return b > 0 ? a : a * p[0];
    case ENG_B_ELU_BACKWARD:
        if (b > 0)
            return a * p[1];
        return p[3] != 0 ? a * p[2] * (b + p[0] * p[1]) : a * p[2] * p[0] * p[1] * exp(b * p[2]);
    case ENG_B_GELU_BACKWARD:
        return a * (0.5 * (1 + erf(b / sqrt(2))) + b * exp(-b * b / 2) / sqrt(2 * acos(-1)));
    case ENG_B_GELU_TANH_BACKWARD:
        t = tanh(gelu_k * (b + 0.044715 * b * b * b));
        return a * (0.5 * (1 + t) + 0.5 * b * (1 - t * t) * gelu_k * (1 + 3 * 0.044715 * b * b));
    case ENG_B_SILU_BACKWARD:
        return a * s * (1 + b * (1 - s));
    case ENG_B_MISH_BACKWARD:
        t = tanh(softplus(b, 1, 20));
        return a * (t + b * s * (1 - t * t));
    case ENG_B_HARDSWISH_BACKWARD:
        return b <= -3 ? 0 : b < 3 ? a * (b / 3 + 0.5) : a;
    case ENG_B_HARDSIGMOID_BACKWARD:
        return b > -3 && b < 3 ? a / 6 : 0;
    case ENG_B_HARDTANH_BACKWARD:
        return b > p[0] && b < p[1] ? a : 0;
    case ENG_B_SOFTPLUS_BACKWARD:
        return b * p[0] > p[1] ? a : a * sigmoid(b * p[0]);
    case ENG_B_LOG_SIGMOID_BACKWARD:
        return a * (1 - s);
    case ENG_B_SHRINK_BACKWARD:
        return fabs(b) <= p[0] ? 0 : a;
    case ENG_B_MSE:
        return (a - b) * (a - b);
    case ENG_B_MSE_BACKWARD:
        return p[0] * (a - b);
    case ENG_B_SMOOTH_L1:
        return smooth_l1(a - b, p[0]);
    case ENG_B_HUBER:
        t = fabs(a - b);
        return t <= p[0] ? t * t / 2 : p[0] * (t - p[0] / 2);
    case ENG_B_BCE:
        return -(b * fmax(log(a), -100) + (1 - b) * fmax(log1p(-a), -100));
    case ENG_B_XLOGY:
        return a == 0 ? 0 : a * log(b);
    case ENG_B_GLU:
        return a * s;
    case ENG_B_PRELU:
        return a > 0 ? a : a * b;
    case ENG_B_PRELU_WEIGHT_BACKWARD:
        return b > 0 ? 0 : a * b;
    default:
        break;
    }
    return 0;
}

static double binary(enum eng_binary op, double a, double b, const double *p)
{
    switch ((int)op) {
    case ENG_B_ADD:
        return a + p[0] * b;
    case ENG_B_SUB:
        return a - p[0] * b;
    case ENG_B_MUL:
        return a * b;
    case ENG_B_DIV:
        return a / b;
    case ENG_B_FLOOR_DIV:
        return floor(a / b);
    case ENG_B_REMAINDER:
        return a - b * floor(a / b);
    case ENG_B_POW:
        return pow(a, b);
    case ENG_B_MAXIMUM:
        return a != a || b != b ? (double)NAN : fmax(a, b);
    case ENG_B_MINIMUM:
        return a != a || b != b ? (double)NAN : fmin(a, b);
    case ENG_B_ATAN2:
        return atan2(a, b);
    case ENG_B_EQ:
        return a == b;
    case ENG_B_NE:
        return a != b;
    case ENG_B_LT:
        return a < b;
    case ENG_B_LE:
        return a <= b;
    case ENG_B_GT:
        return a > b;
    case ENG_B_GE:
        return a >= b;
    case ENG_B_LOGICAL_AND:
        return a != 0 && b != 0;
    case ENG_B_LOGICAL_OR:
        return a != 0 || b != 0;
    case ENG_B_LOGICAL_XOR:
        return (a != 0) != (b != 0);
    case ENG_B_BITWISE_AND:
        return (double)((int64_t)a & (int64_t)b);
    case ENG_B_BITWISE_OR:
        return (double)((int64_t)a | (int64_t)b);
    case ENG_B_BITWISE_XOR:
        return (double)((int64_t)a ^ (int64_t)b);
    default:
        return binary_backward(op, a, b, p);
    }
}

static bool binary_gives_bool(int op)
{
    return op >= ENG_B_EQ && op <= ENG_B_LOGICAL_XOR;
}

/* Bits of dims that are broadcast in an operand. */
static unsigned any_mask(struct tv_rng *r, int ndim)
{
    return tv_int(r, 0, 3) ? 0u : (unsigned)tv_int(r, 0, 1 << ndim);
}

static void one_binary(struct tv_rng *r, int op, enum vs_dtype dtype)
{
    const struct eng_kernels *k = eng_kernels_cpu();
    int64_t sizes[VS_MAX_DIMS];
    int ndim = any_sizes(r, sizes);
    struct tv a = tv_make_broadcast(r, dtype, ndim, sizes, tv_any_layout(r), any_mask(r, ndim));
    struct tv b = tv_make_broadcast(r, dtype, ndim, sizes, tv_any_layout(r), any_mask(r, ndim));
    struct tv y =
        tv_make(r, binary_gives_bool(op) ? VS_BOOL : dtype, ndim, sizes, tv_any_layout(r));
    struct tv z = tv_make(r, dtype, ndim, sizes, tv_any_layout(r));
    double *want = vs_calloc((size_t)tv_numel(&a.v) + 1, sizeof(double));
    double p[4] = {0.7, 1.1, 0.9, (double)tv_int(r, 0, 2)};
    char what[32];

    if (!vs_dtype_is_floating(dtype))
        p[0] = 3;
    tv_fill(r, &a.v, op == ENG_B_POW || op == ENG_B_BCE ? 0.1 : -5, op == ENG_B_BCE ? 0.9 : 5);
    tv_fill(r, &b.v, op == ENG_B_POW || op == ENG_B_XLOGY ? 0.1 : -5, 5);
    for (int64_t i = 0; i < tv_numel(&b.v); i++) {
        bool divides = op == ENG_B_DIV || op == ENG_B_FLOOR_DIV || op == ENG_B_REMAINDER;

        if (divides && fabs(tv_get(&b.v, i)) < 0.1)
            tv_set(&b.v, i, 2);
    }
    for (int64_t i = 0; i < tv_numel(&a.v); i++)
        want[i] = binary((enum eng_binary)op, tv_get(&a.v, i), tv_get(&b.v, i), p);
    k->binary((enum eng_binary)op, dtype, &a.v, &b.v, &y.v, p);
    snprintf(what, sizeof(what), "binary %d", op);
    /* a quotient next to a whole number may fall to either side */
    if (op != ENG_B_FLOOR_DIV && op != ENG_B_REMAINDER)
        tv_assert_near(what, &y.v, want, rel_of(dtype), abs_of(dtype) * 10);
    else if (dtype == VS_F64 || !vs_dtype_is_floating(dtype))
        tv_assert_near(what, &y.v, want, 1e-12, 1e-12);
    assert_true(tv_padding_is_intact(&y));
    if (!binary_gives_bool(op)) { /* in place of a, where a is a view of its own */
        k->copy(&a.v, &z.v);
        k->binary((enum eng_binary)op, dtype, &z.v, &b.v, &z.v, p);
        for (int64_t i = 0; i < tv_numel(&z.v); i++)
            assert_memory_equal(tv_at(&z.v, i), tv_at(&y.v, i), vs_dtype_bytes(dtype));
        k->copy(&b.v, &z.v);
        k->binary((enum eng_binary)op, dtype, &a.v, &z.v, &z.v, p);
        for (int64_t i = 0; i < tv_numel(&z.v); i++)
            assert_memory_equal(tv_at(&z.v, i), tv_at(&y.v, i), vs_dtype_bytes(dtype));
    }
    tv_free(&a);
    tv_free(&b);
    tv_free(&y);
    tv_free(&z);
    vs_free(want);
}

static void every_binary_agrees_on_any_strides(void **state)
{
    struct tv_rng r = {99};

    (void)state;
    for (int op = 0; op < ENG_B_COUNT; op++) {
        if (op == ENG_B_BITWISE_AND || op == ENG_B_BITWISE_OR || op == ENG_B_BITWISE_XOR)
            continue;
        for (int t = 0; t < 12; t++)
            one_binary(&r, op, floats[t % 4]);
    }
}

static void integers_have_their_own_binaries(void **state)
{
    static const int ops[] = {
        ENG_B_ADD,         ENG_B_SUB,         ENG_B_MUL,        ENG_B_FLOOR_DIV,   ENG_B_REMAINDER,
        ENG_B_MAXIMUM,     ENG_B_MINIMUM,     ENG_B_EQ,         ENG_B_NE,          ENG_B_LT,
        ENG_B_LE,          ENG_B_GT,          ENG_B_GE,         ENG_B_LOGICAL_AND, ENG_B_LOGICAL_OR,
        ENG_B_LOGICAL_XOR, ENG_B_BITWISE_AND, ENG_B_BITWISE_OR, ENG_B_BITWISE_XOR, ENG_B_POW};
    struct tv_rng r = {11};

    (void)state;
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        one_binary(&r, ops[i], VS_I64);
        one_binary(&r, ops[i], VS_I32);
    }
}

static void large_integers_are_exact(void **state)
{
    int64_t a = (INT64_C(1) << 60) + 1;
    int64_t b = 3;
    int64_t y = 0;
    struct eng_view va = {&a, VS_I64, 0, {0}, {0}};
    struct eng_view vb = {&b, VS_I64, 0, {0}, {0}};
    struct eng_view vy = {&y, VS_I64, 0, {0}, {0}};
    double one = 1;

    (void)state;
    eng_kernels_cpu()->binary(ENG_B_ADD, VS_I64, &va, &vb, &vy, &one);
    assert_true(y == (INT64_C(1) << 60) + 4);
    eng_kernels_cpu()->binary(ENG_B_MUL, VS_I64, &va, &vb, &vy, &one);
    assert_true(y == 3 * ((INT64_C(1) << 60) + 1));
}

static void operands_of_other_dtypes_are_converted(void **state)
{
    float a[3] = {1.5f, -2, 70000};
    int64_t b[3] = {2, 3, 70000};
    float y[3];
    uint16_t h[3];
    struct eng_view va = {a, VS_F32, 1, {3}, {1}};
    struct eng_view vb = {b, VS_I64, 1, {3}, {1}};
    struct eng_view vy = {y, VS_F32, 1, {3}, {1}};
    struct eng_view vh = {h, VS_F16, 1, {3}, {1}};
    double one = 1;

    (void)state;
    eng_kernels_cpu()->binary(ENG_B_MUL, VS_F32, &va, &vb, &vy, &one);
    assert_true(y[0] == 3 && y[1] == -6 && y[2] == 4.9e9f);
    /* in f16 arithmetic 70000 is infinity before it is divided */
    eng_kernels_cpu()->binary(ENG_B_DIV, VS_F16, &va, &vb, &vh, &one);
    assert_true(tv_get(&vh, 0) == 0.75);
    assert_true(isnan(tv_get(&vh, 2)));
}

static double ternary(enum eng_ternary op, double a, double b, double c, const double *p)
{
    double d = b - c;

    switch (op) {
    case ENG_T_WHERE:
        return a != 0 ? b : c;
    case ENG_T_ADDCMUL:
        return a + p[0] * b * c;
    case ENG_T_ADDCDIV:
        return a + p[0] * b / c;
    case ENG_T_LERP:
        return a + p[0] * (b - a);
    case ENG_T_MSE_BACKWARD:
        return p[0] * d * a;
    case ENG_T_L1_BACKWARD:
        return p[0] * ((d > 0) - (d < 0)) * a;
    case ENG_T_SMOOTH_L1_BACKWARD:
        return fabs(d) < p[1] ? p[0] * d * a / p[1] : (d > 0 ? 1 : -1) * p[0] * a;
    case ENG_T_BCE_LOGITS:
        return (1 - c) * b + log1p(exp(-fabs(b))) + fmax(-b, 0);
    case ENG_T_BCE_LOGITS_BACKWARD:
        return p[0] * a * (sigmoid(b) - c);
    case ENG_T_HUBER_BACKWARD:
        return p[0] * fmax(-p[1], fmin(p[1], d)) * a;
    case ENG_T_BCE_BACKWARD:
        return a * d / fmax((1 - b) * b, 1e-12);
    case ENG_T_GLU_BACKWARD:
        return (1 - sigmoid(c)) * sigmoid(c) * a * b;
    case ENG_T_PRELU_BACKWARD:
        return b > 0 ? a : c * a;
    case ENG_T_COUNT:
        break;
    }
    return 0;
}

static void every_ternary_agrees_on_any_strides(void **state)
{
    struct tv_rng r = {31337};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int op = 0; op < ENG_T_COUNT; op++) {
        for (int t = 0; t < 12; t++) {
            enum vs_dtype dtype = floats[t % 4];
            enum vs_dtype first = op == ENG_T_WHERE ? VS_BOOL : dtype;
            int64_t sizes[VS_MAX_DIMS];
            int ndim = any_sizes(&r, sizes);
            struct tv a =
                tv_make_broadcast(&r, first, ndim, sizes, tv_any_layout(&r), any_mask(&r, ndim));
            struct tv b =
                tv_make_broadcast(&r, dtype, ndim, sizes, tv_any_layout(&r), any_mask(&r, ndim));
            struct tv c = tv_make(&r, dtype, ndim, sizes, tv_any_layout(&r));
            struct tv y = tv_make(&r, dtype, ndim, sizes, tv_any_layout(&r));
            double *want = vs_calloc((size_t)tv_numel(&y.v) + 1, sizeof(double));
            double p[4] = {t % 3 ? 0.6 : 0.2, 1.3, 0, 0};
            char what[32];

            tv_fill(&r, &a.v, -3, 3);
            tv_fill(&r, &b.v, op == ENG_T_BCE_BACKWARD ? 0.1 : -3,
                    op == ENG_T_BCE_BACKWARD ? 0.9 : 3);
            tv_fill(&r, &c.v, 0.5, 2);
            for (int64_t i = 0; i < tv_numel(&y.v); i++)
                want[i] = ternary((enum eng_ternary)op, tv_get(&a.v, i), tv_get(&b.v, i),
                                  tv_get(&c.v, i), p);
            k->ternary((enum eng_ternary)op, dtype, &a.v, &b.v, &c.v, &y.v, p);
            snprintf(what, sizeof(what), "ternary %d", op);
            tv_assert_near(what, &y.v, want, rel_of(dtype), abs_of(dtype) * 10);
            assert_true(tv_padding_is_intact(&y));
            tv_free(&a);
            tv_free(&b);
            tv_free(&c);
            tv_free(&y);
            vs_free(want);
        }
    }
}

static void unscale_multiplies_and_reports_what_is_not_finite(void **state)
{
    struct tv_rng r = {3};
    int64_t sizes[] = {70, 1000};
    float inv = 0.25f;
    float found = 0;
    struct eng_view vi = {&inv, VS_F32, 0, {0}, {0}};
    struct eng_view vf = {&found, VS_F32, 0, {0}, {0}};
    static const double bad[] = {0, INF, -INF, (double)NAN};

    (void)state;
    for (int t = 0; t < 8; t++) {
        struct tv g = tv_make(&r, t % 2 ? VS_F16 : VS_F32, 2, sizes, tv_any_layout(&r));
        double *want = vs_calloc(70000, sizeof(double));

        found = 0;
        tv_fill(&r, &g.v, -2, 2);
        if (t / 2)
            tv_set(&g.v, 69000, bad[t / 2]);
        for (int64_t i = 0; i < 70000; i++)
            want[i] = tv_get(&g.v, i) * 0.25;
        eng_kernels_cpu()->unscale(&g.v, &vi, &vf);
        tv_assert_near("unscale", &g.v, want, rel_of(g.v.dtype), 1e-6);
        assert_true(found == (t / 2 ? 1.0f : 0.0f));
        assert_true(tv_padding_is_intact(&g));
        tv_free(&g);
        vs_free(want);
    }
}

/* Of many sizes, some of them strided, each with a tensor, a number, or one element for all as its second operand. */
static void a_list_of_calls_is_its_calls(void **state)
{
    static const struct {
        enum eng_many_kind kind;
        int op;
    } calls[] = {{ENG_MANY_UNARY, ENG_U_SQRT},
                 {ENG_MANY_BINARY, ENG_B_ADD},
                 {ENG_MANY_BINARY, ENG_B_MUL},
                 {ENG_MANY_TERNARY, ENG_T_ADDCDIV},
                 {ENG_MANY_TERNARY, ENG_T_LERP}};
    static const int64_t lengths[] = {1, 3, 4, 5, 64, 1000, 4099};
    struct tv_rng r = {11};

    (void)state;
    for (int t = 0; t < 60; t++) {
        struct eng_many_item items[ENG_MANY_MAX], alone[ENG_MANY_MAX];
        struct tv kept[ENG_MANY_MAX][5];
        enum vs_dtype dtype = t % 4 == 3 ? VS_F64 : t % 4 == 2 ? VS_F16 : VS_F32;
        struct eng_many m = {calls[t % 5].kind, calls[t % 5].op, 1 + t % ENG_MANY_MAX, items};
        double number = 1.5;

        for (int k = 0; k < m.count; k++) {
            int64_t n = lengths[tv_next(&r) % 7];
            enum tv_layout layout = k % 6 == 5 ? tv_any_layout(&r) : TV_PLAIN;

            for (int o = 0; o < 5; o++) {
                kept[k][o] = o == 1 && t % 3 == 1 ? tv_make_broadcast(&r, dtype, 1, &n, TV_PLAIN, 1)
                                                  : tv_make(&r, dtype, 1, &n, layout);
                tv_fill(&r, &kept[k][o].v, 0.5, 2);
            }
            items[k] = (struct eng_many_item){kept[k][0].v, kept[k][1].v, kept[k][2].v,
                                              kept[k][3].v, 0.25 * (k + 1)};
            if (t % 3 == 2) {
                items[k].a.data = &number;
                items[k].a.dtype = VS_F64;
                items[k].a.strides[0] = 0;
            }
            alone[k] = items[k];
            alone[k].out = kept[k][4].v;
            eng_many_item_run(eng_kernels_cpu(), &m, &alone[k]);
        }
        eng_kernels_cpu()->many(&m);
        for (int k = 0; k < m.count; k++) {
            for (int64_t i = 0; i < tv_numel(&items[k].out); i++)
                assert_true(tv_get(&items[k].out, i) == tv_get(&alone[k].out, i));
            for (int o = 0; o < 5; o++) {
                assert_true(tv_padding_is_intact(&kept[k][o]));
                tv_free(&kept[k][o]);
            }
        }
    }
}

static void a_list_of_gradients_is_unscaled_at_once(void **state)
{
    struct tv_rng r = {13};
    int64_t sizes[] = {1001};

    (void)state;
    for (int t = 0; t < 4; t++) {
        struct eng_many_item items[5];
        struct tv g[5];
        struct eng_many m = {ENG_MANY_UNSCALE, 0, 5, items};
        float inv = 0.5f;
        float found = 0;

        for (int k = 0; k < 5; k++) {
            g[k] = tv_make(&r, k == 3 ? VS_F16 : VS_F32, 1, sizes,
                           k == 4 ? tv_any_layout(&r) : TV_PLAIN);
            for (int64_t i = 0; i < sizes[0]; i++)
                tv_set(&g[k].v, i, (double)(i % 7));
            items[k] = (struct eng_many_item){
                .x = g[k].v, .a = {&inv, VS_F32, 0, {0}, {0}}, .b = {&found, VS_F32, 0, {0}, {0}}};
        }
        if (t)
            tv_set(&g[t].v, 1000, INF);
        eng_kernels_cpu()->many(&m);
        assert_true(found == (t ? 1.0f : 0.0f));
        for (int k = 0; k < 5; k++) {
            for (int64_t i = 0; i < 1000; i++)
                assert_true(tv_get(&g[k].v, i) == 0.5 * (double)(i % 7));
            tv_free(&g[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_calls_is_its_calls),
        cmocka_unit_test(a_list_of_gradients_is_unscaled_at_once),
        cmocka_unit_test(every_unary_agrees_on_any_strides),
        cmocka_unit_test(integers_have_their_own_unaries),
        cmocka_unit_test(powers_of_special_exponents_are_products),
        cmocka_unit_test(every_binary_agrees_on_any_strides),
        cmocka_unit_test(integers_have_their_own_binaries),
        cmocka_unit_test(large_integers_are_exact),
        cmocka_unit_test(operands_of_other_dtypes_are_converted),
        cmocka_unit_test(every_ternary_agrees_on_any_strides),
        cmocka_unit_test(unscale_multiplies_and_reports_what_is_not_finite),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
