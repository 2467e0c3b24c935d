/*
 * tests/engine/device/test_cpu_unary.c - unary kernels compared with formulas in double precision.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/device/cpu/cpu_internal.h"
#include "tests/engine/device/cpu_elements.h"
#include "tests/engine/device/cpu_views.h"

static double clamp(double x, double lo, double hi)
{
    if (x != x)
        return x;
    return fmin(fmax(x, lo), hi);
}

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
        return tv_sigmoid(x);
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
        return 0.5 * x * (1 + tanh(TV_GELU_K * (x + 0.044715 * x * x * x)));
    case ENG_U_SILU:
        return x * tv_sigmoid(x);
    case ENG_U_MISH:
        return x * tanh(tv_softplus(x, 1, 20));
    case ENG_U_HARDSWISH:
        return x * clamp(x + 3, 0, 6) / 6;
    case ENG_U_HARDSIGMOID:
        return clamp(x + 3, 0, 6) / 6;
    case ENG_U_HARDTANH:
        return clamp(x, p[0], p[1]);
    case ENG_U_SOFTPLUS:
        return tv_softplus(x, p[0], p[1]);
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

static void every_unary_agrees_on_any_strides(void **state)
{
    struct tv_rng r = {1234567};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int op = 0; op < ENG_U_COUNT; op++) {
        for (size_t t = 0; t < 4 * 3; t++) {
            enum vs_dtype dtype = tv_floats[t % 4];
            int64_t sizes[VS_MAX_DIMS];
            int ndim = tv_any_sizes(&r, sizes);
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
            tv_assert_near(what, &y.v, want, tv_rel_of(dtype), tv_abs_of(dtype));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_unary_agrees_on_any_strides),
        cmocka_unit_test(integers_have_their_own_unaries),
        cmocka_unit_test(powers_of_special_exponents_are_products),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
