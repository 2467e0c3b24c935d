/*
 * tests/engine/device/test_cpu_binary.c - binary kernels compared with formulas in double precision.
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

static double smooth_l1(double d, double beta)
{
    d = fabs(d);
    return d < beta ? d * d / 2 / beta : d - beta / 2;
}

static double binary_backward(enum eng_binary op, double a, double b, const double *p)
{
    double s = tv_sigmoid(b);
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
        t = tanh(TV_GELU_K * (b + 0.044715 * b * b * b));
        return a * (0.5 * (1 + t) + 0.5 * b * (1 - t * t) * TV_GELU_K * (1 + 3 * 0.044715 * b * b));
    case ENG_B_SILU_BACKWARD:
        return a * s * (1 + b * (1 - s));
    case ENG_B_MISH_BACKWARD:
        t = tanh(tv_softplus(b, 1, 20));
        return a * (t + b * s * (1 - t * t));
    case ENG_B_HARDSWISH_BACKWARD:
        return b <= -3 ? 0 : b < 3 ? a * (b / 3 + 0.5) : a;
    case ENG_B_HARDSIGMOID_BACKWARD:
        return b > -3 && b < 3 ? a / 6 : 0;
    case ENG_B_HARDTANH_BACKWARD:
        return b > p[0] && b < p[1] ? a : 0;
    case ENG_B_SOFTPLUS_BACKWARD:
        return b * p[0] > p[1] ? a : a * tv_sigmoid(b * p[0]);
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

static void one_binary(struct tv_rng *r, int op, enum vs_dtype dtype)
{
    const struct eng_kernels *k = eng_kernels_cpu();
    int64_t sizes[VS_MAX_DIMS];
    int ndim = tv_any_sizes(r, sizes);
    struct tv a = tv_make_broadcast(r, dtype, ndim, sizes, tv_any_layout(r), tv_any_mask(r, ndim));
    struct tv b = tv_make_broadcast(r, dtype, ndim, sizes, tv_any_layout(r), tv_any_mask(r, ndim));
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
        tv_assert_near(what, &y.v, want, tv_rel_of(dtype), tv_abs_of(dtype) * 10);
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
            one_binary(&r, op, tv_floats[t % 4]);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_binary_agrees_on_any_strides),
        cmocka_unit_test(integers_have_their_own_binaries),
        cmocka_unit_test(large_integers_are_exact),
        cmocka_unit_test(operands_of_other_dtypes_are_converted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
