/*
 * tests/engine/device/test_cpu_matmul.c - batched matrix products compared with a loop in double precision.
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
#include "engine/device/cpu/products/cpu_subnormal.h"
#include "tests/engine/device/cpu_views.h"

static const enum vs_dtype floats[] = {VS_F32, VS_F64, VS_F16, VS_BF16};

static void naive(const struct eng_view *a, const struct eng_view *b, const struct eng_view *c,
                  double alpha, double beta, double *want)
{
    for (int64_t i = 0; i < tv_numel(c); i++) {
        int64_t at[VS_MAX_DIMS];
        double sum = 0;

        tv_unravel(c, i, at);
        for (int64_t k = 0; k < a->sizes[2]; k++) {
            int64_t ia[3] = {at[0], at[1], k};
            int64_t ib[3] = {at[0], k, at[2]};

            sum += tv_get_at(a, ia) * tv_get_at(b, ib);
        }
        want[i] = alpha * sum + (beta != 0 ? beta * tv_get(c, i) : 0);
    }
}

static void one_product(struct tv_rng *r, enum vs_dtype dtype, int64_t batch, int64_t m, int64_t n,
                        int64_t k, double alpha, double beta)
{
    int64_t sa[] = {batch, m, k};
    int64_t sb[] = {batch, k, n};
    int64_t sc[] = {batch, m, n};
    struct tv a = tv_make_broadcast(r, dtype, 3, sa, tv_any_layout(r), tv_int(r, 0, 6) ? 0u : 1u);
    struct tv b = tv_make_broadcast(r, dtype, 3, sb, tv_any_layout(r),
                                    tv_int(r, 0, 6) ? 0u : (unsigned)tv_int(r, 0, 8));
    struct tv c = tv_make(r, dtype, 3, sc, tv_any_layout(r));
    double *want = vs_calloc((size_t)tv_numel(&c.v) + 1, sizeof(double));
    char what[96];

    tv_fill(r, &a.v, -1, 1);
    tv_fill(r, &b.v, -1, 1);
    tv_fill(r, &c.v, -1, 1);
    if (beta == 0)
        tv_set(&c.v, 0, (double)NAN); /* what c held does not count */
    naive(&a.v, &b.v, &c.v, alpha, beta, want);
    eng_kernels_cpu()->matmul(&a.v, &b.v, &c.v, alpha, beta);
    snprintf(what, sizeof(what), "matmul %lldx%lldx%lldx%lld", (long long)batch, (long long)m,
             (long long)n, (long long)k);
    tv_assert_near(what, &c.v, want, dtype == VS_F64 ? 1e-12 : tv_epsilon(dtype) * 0.51 + 1e-6,
                   dtype == VS_F64 ? 1e-12 : 1e-6 * sqrt((double)k + 1) + tv_epsilon(dtype) * 1e-2);
    assert_true(tv_padding_is_intact(&c));
    tv_free(&a);
    tv_free(&b);
    tv_free(&c);
    vs_free(want);
}

static void products_agree_on_any_strides(void **state)
{
    struct tv_rng r = {1001};

    (void)state;
    for (int t = 0; t < 200; t++)
        one_product(&r, floats[t % 4], tv_int(&r, 1, 4), tv_int(&r, 1, 12), tv_int(&r, 1, 12),
                    tv_int(&r, 0, 12), t % 3 ? 1 : 0.5,
                    t % 2   ? 0
                    : t % 5 ? 1
                            : -0.25);
}

static void large_products_agree(void **state)
{
    struct tv_rng r = {1002};

    (void)state;
    for (int t = 0; t < 4; t++) {
        one_product(&r, floats[t], 1, 300, 70, 520, 1, 0);
        one_product(&r, floats[t], 1, 60, 600, 90, 1, 1);
        one_product(&r, floats[t], 3, 1, 300, 200, 1, 0);
        one_product(&r, floats[t], 3, 280, 1, 200, 1, 0);
        one_product(&r, floats[t], 1, 1, 1, 2000, 1, 0);
    }
}

static void empty_products_do_nothing_or_scale(void **state)
{
    float c[2] = {3, 5};
    struct eng_view va = {c, VS_F32, 3, {1, 2, 0}, {0, 0, 1}};
    struct eng_view vb = {c, VS_F32, 3, {1, 0, 1}, {0, 1, 1}};
    struct eng_view vc = {c, VS_F32, 3, {1, 2, 1}, {2, 1, 1}};
    struct eng_view none = {c, VS_F32, 3, {0, 2, 1}, {2, 1, 1}};
    struct eng_view na = {c, VS_F32, 3, {0, 2, 4}, {2, 1, 1}};
    struct eng_view nb = {c, VS_F32, 3, {0, 4, 1}, {2, 1, 1}};

    (void)state;
    eng_kernels_cpu()->matmul(&na, &nb, &none, 1, 0);
    assert_true(c[0] == 3 && c[1] == 5);
    eng_kernels_cpu()->matmul(&va, &vb, &vc, 1, 2);
    assert_true(c[0] == 6 && c[1] == 10);
    eng_kernels_cpu()->matmul(&va, &vb, &vc, 1, 0);
    assert_true(c[0] == 0 && c[1] == 0);
}

static void same_product_gives_same_bits(void **state)
{
    struct tv_rng r = {7};
    int64_t sizes[] = {1, 200, 200};
    struct tv a = tv_make(&r, VS_F32, 3, sizes, TV_PLAIN);
    struct tv c = tv_make(&r, VS_F32, 3, sizes, TV_PLAIN);
    struct tv d = tv_make(&r, VS_F32, 3, sizes, TV_PLAIN);

    (void)state;
    tv_fill(&r, &a.v, -1, 1);
    eng_kernels_cpu()->matmul(&a.v, &a.v, &c.v, 1, 0);
    for (int i = 0; i < 20; i++) {
        eng_kernels_cpu()->matmul(&a.v, &a.v, &d.v, 1, 0);
        assert_memory_equal(c.v.data, d.v.data, 200 * 200 * sizeof(float));
    }
    tv_free(&a);
    tv_free(&c);
    tv_free(&d);
}

/* Subnormal numbers are zeros in a product, on every thread, and are themselves again after it. */
static void subnormals_are_flushed_to_zero_only_inside_products(void **state)
{
    struct tv_rng r = {11};
    int64_t sizes[] = {64, 16, 16};
    struct tv a = tv_make(&r, VS_F32, 3, sizes, TV_PLAIN);
    struct tv b = tv_make(&r, VS_F32, 3, sizes, TV_PLAIN);
    struct tv c = tv_make(&r, VS_F32, 3, sizes, TV_PLAIN);
    float *x = a.v.data;
    float *y = c.v.data;
    double one[4] = {1.0};

    (void)state;
    tv_fill(&r, &b.v, 1, 2);
    for (int64_t i = 0; i < tv_numel(&a.v); i++)
        x[i] = 0x1p-130f;
    eng_kernels_cpu()->matmul(&a.v, &b.v, &c.v, 1, 0);
    for (int64_t i = 0; i < tv_numel(&c.v); i++)
        assert_true(CPU_SUBNORMAL_FLUSHES ? y[i] == 0.0f : y[i] > 0.0f);
    eng_kernels_cpu()->binary(ENG_B_ADD, VS_F32, &a.v, &c.v, &c.v, one);
    for (int64_t i = 0; i < tv_numel(&c.v); i++)
        assert_true(y[i] > 0.0f);
    tv_free(&a);
    tv_free(&b);
    tv_free(&c);
}

/* The smallest f16 numbers are no subnormal floats: a product takes them as they are. */
static void subnormal_float16_values_are_kept_in_products(void **state)
{
    struct tv_rng r = {12};
    int64_t sizes[] = {1, 1, 1};
    struct tv a = tv_make(&r, VS_F16, 3, sizes, TV_PLAIN);
    struct tv b = tv_make(&r, VS_F16, 3, sizes, TV_PLAIN);
    struct tv c = tv_make(&r, VS_F16, 3, sizes, TV_PLAIN);

    (void)state;
    tv_set(&a.v, 0, 0x1p-24);
    tv_set(&b.v, 0, 3);
    eng_kernels_cpu()->matmul(&a.v, &b.v, &c.v, 1, 0);
    assert_true(tv_get(&c.v, 0) == 3 * 0x1p-24);
    tv_free(&a);
    tv_free(&b);
    tv_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree_on_any_strides),
        cmocka_unit_test(large_products_agree),
        cmocka_unit_test(empty_products_do_nothing_or_scale),
        cmocka_unit_test(same_product_gives_same_bits),
        cmocka_unit_test(subnormals_are_flushed_to_zero_only_inside_products),
        cmocka_unit_test(subnormal_float16_values_are_kept_in_products),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
