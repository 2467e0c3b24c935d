/*
 * tests/engine/device/test_cpu_edges.c - elementwise kernels on special inputs (NaN, infinities, empty tensors) and
 * with each instruction set.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/device/cpu/cpu_internal.h"
#include "tests/engine/device/cpu_views.h"

#define INF ((double)INFINITY)

static void nan_and_infinity_pass_as_in_pytorch(void **state)
{
    float x[6] = {NAN, INFINITY, -INFINITY, -1, 2, -0.0f};
    float y[6];
    unsigned char f[6];
    struct eng_view vx = {x, VS_F32, 1, {6}, {1}};
    struct eng_view vy = {y, VS_F32, 1, {6}, {1}};
    struct eng_view vf = {f, VS_BOOL, 1, {6}, {1}};
    double p[4] = {-0.5, 1, 0, 0};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    k->unary(ENG_U_RELU, &vx, &vy, p);
    assert_true(isnan(y[0]) && isinf(y[1]) && y[2] == 0 && y[3] == 0 && y[4] == 2);
    k->unary(ENG_U_CLAMP, &vx, &vy, p);
    assert_true(isnan(y[0]) && y[1] == 1 && y[2] == -0.5f && y[3] == -0.5f && y[4] == 1);
    p[0] = -INF;
    k->unary(ENG_U_CLAMP, &vx, &vy, p);
    assert_true(isnan(y[0]) && y[1] == 1 && y[2] == -INFINITY && y[3] == -1);
    k->unary(ENG_U_EXP, &vx, &vy, p);
    assert_true(isnan(y[0]) && y[1] == INFINITY && y[2] == 0);
    k->unary(ENG_U_LOG, &vx, &vy, p);
    assert_true(isnan(y[0]) && y[1] == INFINITY && isnan(y[2]) && isnan(y[3]) && y[5] == -INFINITY);
    k->unary(ENG_U_TANH, &vx, &vy, p);
    assert_true(isnan(y[0]) && y[1] == 1 && y[2] == -1);
    k->unary(ENG_U_SIGMOID, &vx, &vy, p);
    assert_true(isnan(y[0]) && y[1] == 1 && y[2] == 0);
    k->unary(ENG_U_ERF, &vx, &vy, p);
    assert_true(isnan(y[0]) && y[1] == 1 && y[2] == -1);
    k->unary(ENG_U_ISNAN, &vx, &vf, p);
    assert_true(f[0] == 1 && f[1] == 0 && f[4] == 0);
    k->unary(ENG_U_ISINF, &vx, &vf, p);
    assert_true(f[0] == 0 && f[1] == 1 && f[2] == 1 && f[3] == 0);
    k->unary(ENG_U_ISFINITE, &vx, &vf, p);
    assert_true(f[0] == 0 && f[1] == 0 && f[3] == 1);
    k->binary(ENG_B_MAXIMUM, VS_F32, &vx, &vx, &vy, p);
    assert_true(isnan(y[0]) && y[4] == 2);
}

static void maximum_takes_nan_from_either_side(void **state)
{
    float a[2] = {NAN, 1};
    float b[2] = {1, NAN};
    float y[2];
    struct eng_view va = {a, VS_F32, 1, {2}, {1}};
    struct eng_view vb = {b, VS_F32, 1, {2}, {1}};
    struct eng_view vy = {y, VS_F32, 1, {2}, {1}};

    (void)state;
    eng_kernels_cpu()->binary(ENG_B_MAXIMUM, VS_F32, &va, &vb, &vy, NULL);
    assert_true(isnan(y[0]) && isnan(y[1]));
    eng_kernels_cpu()->binary(ENG_B_MINIMUM, VS_F32, &va, &vb, &vy, NULL);
    assert_true(isnan(y[0]) && isnan(y[1]));
}

static void empty_views_are_left_alone(void **state)
{
    float guard = 7;
    struct eng_view v = {&guard, VS_F32, 2, {0, 3}, {3, 1}};
    double p[4] = {1, 1, 1, 1};

    (void)state;
    eng_kernels_cpu()->unary(ENG_U_EXP, &v, &v, p);
    eng_kernels_cpu()->binary(ENG_B_ADD, VS_F32, &v, &v, &v, p);
    eng_kernels_cpu()->ternary(ENG_T_ADDCMUL, VS_F32, &v, &v, &v, &v, p);
    assert_true(guard == 7);
}

/* The variants differ in the last bits at most (fused multiply-add), and each is the same for a lone element. */
static void instruction_sets_agree(void **state)
{
    struct tv_rng r = {8};
    float x[333];
    float base[333];
    float y[333];
    double p[4] = {0.4, 1.2, 0.9, 0};

    (void)state;
    for (int i = 0; i < 333; i++)
        x[i] = (float)tv_real(&r, 0.05, 5);
    for (int op = 0; op < ENG_U_COUNT; op++) {
        if (op == ENG_U_BITWISE_NOT)
            continue;
        cpu_rows_variant(0)->f32->unary((enum eng_unary)op, 333, x, base, p);
        for (int v = 0; v < 3; v++) {
            const struct cpu_rows *rows = cpu_rows_variant(v);

            if (!rows)
                continue;
            rows->f32->unary((enum eng_unary)op, 333, x, y, p);
            for (int i = 0; i < 333; i++) {
                float one;

                if (isnan(base[i]))
                    assert_true(isnan(y[i]));
                else
                    assert_true(fabs((double)y[i] - (double)base[i]) <=
                                1e-6 * fabs((double)base[i]));
                rows->f32->unary((enum eng_unary)op, 1, &x[i], &one, p);
                assert_memory_equal(&one, &y[i], sizeof(one));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nan_and_infinity_pass_as_in_pytorch),
        cmocka_unit_test(maximum_takes_nan_from_either_side),
        cmocka_unit_test(empty_views_are_left_alone),
        cmocka_unit_test(instruction_sets_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
