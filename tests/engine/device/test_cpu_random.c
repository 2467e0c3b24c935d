/*
 * tests/engine/device/test_cpu_random.c - random values, the oracle's formula, arange, tril and triu.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/engine/device/cpu_views.h"

static const enum vs_dtype floats[] = {VS_F32, VS_F64, VS_F16, VS_BF16};
static const struct eng_rng_key key = {1234, 5};

/* Makes one of the four kinds. */
static void make(int kind, const struct eng_view *v, struct eng_rng_key k)
{
    const struct eng_kernels *t = eng_kernels_cpu();

    if (kind == 0)
        t->random_uniform(v, -1, 3, k);
    else if (kind == 1)
        t->random_normal(v, 0.5, 2, k);
    else if (kind == 2)
        t->random_bernoulli(v, 0.25, k);
    else
        t->random_int(v, -3, 9, k);
}

static void random_values_depend_only_on_key_and_position(void **state)
{
    struct tv_rng r = {1};

    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        for (size_t d = 0; d < 4; d++) {
            int64_t flat[] = {3 * 7 * 130};
            int64_t sizes[] = {3, 7, 130};
            int64_t shorter[] = {50};
            struct tv a = tv_make(&r, floats[d], 1, flat, TV_PLAIN);
            struct tv b = tv_make(&r, floats[d], 3, sizes, TV_GAPPED);
            struct tv c = tv_make(&r, floats[d], 1, shorter, TV_PLAIN);
            struct eng_rng_key other = {key.seed, key.offset + 1};
            int same = 0;

            make(kind, &a.v, key);
            make(kind, &b.v, key);
            make(kind, &c.v, key);
            for (int64_t i = 0; i < flat[0]; i++)
                assert_true(tv_get(&a.v, i) == tv_get(&b.v, i));
            for (int64_t i = 0; i < 50; i++)
                assert_true(tv_get(&a.v, i) == tv_get(&c.v, i));
            assert_true(tv_padding_is_intact(&b));
            make(kind, &b.v, other);
            for (int64_t i = 0; i < flat[0]; i++)
                same += tv_get(&a.v, i) == tv_get(&b.v, i);
            assert_true(same < flat[0] * (kind == 2 ? 7 : 2) / 10);
            tv_free(&a);
            tv_free(&b);
            tv_free(&c);
        }
    }
}

struct statistics {
    double mean;
    double var;
    double skew;
    double kurtosis;
    double pair; /* correlation with the next */
    double min;
    double max;
};

static struct statistics states_of(const float *x, int64_t n)
{
    struct statistics m = {.min = (double)INFINITY, .max = -(double)INFINITY};

    for (int64_t i = 0; i < n; i++)
        m.mean += (double)x[i] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double d = (double)x[i] - m.mean;

        m.var += d * d / (double)n;
        m.skew += d * d * d / (double)n;
        m.kurtosis += d * d * d * d / (double)n;
        m.pair += i + 1 < n ? d * ((double)x[i + 1] - m.mean) / (double)n : 0;
        m.min = fmin(m.min, (double)x[i]);
        m.max = fmax(m.max, (double)x[i]);
    }
    m.skew /= pow(m.var, 1.5);
    m.kurtosis /= m.var * m.var;
    m.pair /= m.var;
    return m;
}

/* 10^6 values: moments within five standard errors of the exact ones. */
static void distributions_have_their_mean_and_variance(void **state)
{
    enum { N = 1000000 };
    float *x = vs_calloc(N, sizeof(float));
    struct eng_view v = {x, VS_F32, 1, {N}, {1}};
    struct statistics m;

    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct eng_rng_key k = {seed, 0};

        make(0, &v, k);
        m = states_of(x, N);
        assert_true(fabs(m.mean - 1) < 5 * sqrt(16.0 / 12 / N));
        assert_true(fabs(m.var - 16.0 / 12) < 0.007);
        assert_true(fabs(m.kurtosis - 1.8) < 0.01 && fabs(m.skew) < 0.01 && fabs(m.pair) < 0.005);
        assert_true(m.min >= -1 && m.min < -0.9999 && m.max < 3 && m.max > 2.9999);
        make(1, &v, k);
        m = states_of(x, N);
        assert_true(fabs(m.mean - 0.5) < 0.01);
        assert_true(fabs(m.var - 4) < 0.03);
        assert_true(fabs(m.skew) < 0.0125 && fabs(m.kurtosis - 3) < 0.025 && fabs(m.pair) < 0.005);
        assert_true(m.max > 0.5 + 2 * 4 && m.max < 0.5 + 2 * 6.5);
        make(2, &v, k);
        m = states_of(x, N);
        assert_true(fabs(m.mean - 0.25) < 0.0022 && m.min == 0 && m.max == 1);
        assert_true(fabs(m.pair) < 0.005);
    }
    vs_free(x);
}

static void integers_are_uniform_in_their_range(void **state)
{
    enum { N = 120000 };
    int64_t *x = vs_calloc(N, sizeof(int64_t));
    struct eng_view v = {x, VS_I64, 1, {N}, {1}};
    int count[12] = {0};

    (void)state;
    make(3, &v, key);
    for (int i = 0; i < N; i++) {
        assert_true(x[i] >= -3 && x[i] < 9);
        count[x[i] + 3]++;
    }
    for (int i = 0; i < 12; i++)
        assert_true(abs(count[i] - N / 12) < 500);
    eng_kernels_cpu()->random_int(&v, INT64_MIN, INT64_MAX, key);
    for (int i = 1; i < 100; i++)
        assert_true(x[i] != x[i - 1]);
    vs_free(x);
}

static void probabilities_zero_and_one_are_certain(void **state)
{
    unsigned char x[1000];
    struct eng_view v = {x, VS_BOOL, 1, {1000}, {1}};

    (void)state;
    eng_kernels_cpu()->random_bernoulli(&v, 0, key);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(x[i], 0);
    eng_kernels_cpu()->random_bernoulli(&v, 1, key);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(x[i], 1);
}

/* The text of the oracle's README, step by step. */
static uint32_t oracle_hash(uint32_t k, uint32_t i)
{
    uint32_t h = i * 0x9E3779B1u + (k * 0x85EBCA6Bu + 0x12345u);

    h ^= h >> 16;
    h *= 0x85EBCA6Bu;
    h ^= h >> 13;
    h *= 0xC2B2AE35u;
    h ^= h >> 16;
    return h;
}

static void formula_values_equal_those_of_the_oracle(void **state)
{
    struct tv_rng r = {9};
    int64_t sizes[] = {5, 9, 30};

    (void)state;
    for (int t = 0; t < 12; t++) {
        uint32_t k = t ? (uint32_t)tv_int(&r, 1, 2000001) : 1000001;
        double offset = t % 3 == 0 ? 0 : 1;
        double scale = t % 3 == 0 ? 0.1767766952966369 : 0.1;
        struct tv x = tv_make(&r, floats[t % 4], 3, sizes, tv_any_layout(&r));
        struct tv n = tv_make(&r, VS_I64, 3, sizes, tv_any_layout(&r));

        eng_kernels_cpu()->fill_formula(&x.v, k, offset, scale);
        eng_kernels_cpu()->fill_formula_int(&n.v, k, -4, 13);
        for (uint32_t i = 0; i < 5 * 9 * 30; i++) {
            uint32_t h = oracle_hash(k, i);
            volatile float v = (float)(h >> 8) * 0x1p-23f - 1.0f;
            volatile float scaled = v * (float)scale;
            volatile float sum = offset != 0 ? (float)offset + scaled : scaled;

            assert_true(tv_get(&x.v, i) == tv_rounded(x.v.dtype, (double)sum));
            assert_true(tv_get_int(&n.v, i) == -4 + (int64_t)((h >> 8) % 17));
        }
        tv_free(&x);
        tv_free(&n);
    }
}

static void arange_has_exact_values(void **state)
{
    struct tv_rng r = {10};
    int64_t n = 3000;
    struct tv x = tv_make(&r, VS_I64, 1, &n, TV_GAPPED);
    struct tv y = tv_make(&r, VS_F32, 1, &n, TV_PLAIN);

    (void)state;
    eng_kernels_cpu()->arange(&x.v, -7, 3);
    eng_kernels_cpu()->arange(&y.v, 0.5, 0.25);
    for (int64_t i = 0; i < n; i++) {
        assert_true(tv_get_int(&x.v, i) == -7 + 3 * i);
        assert_true(tv_get(&y.v, i) == 0.5 + 0.25 * (double)i);
    }
    assert_true(tv_padding_is_intact(&x));
    tv_free(&x);
    tv_free(&y);
}

static void tril_and_triu_keep_one_side_of_the_diagonal(void **state)
{
    struct tv_rng r = {11};
    static const enum vs_dtype dtypes[] = {VS_F32, VS_F64, VS_F16, VS_I64, VS_BOOL};

    (void)state;
    for (int t = 0; t < 80; t++) {
        enum vs_dtype dtype = dtypes[t % 5];
        int64_t sizes[] = {tv_int(&r, 1, 4), tv_int(&r, 1, 9), tv_int(&r, 1, 9)};
        int64_t diagonal = tv_int(&r, -9, 10);
        bool upper = t % 2;
        struct tv x = tv_make(&r, dtype, 3, sizes, tv_any_layout(&r));
        struct tv y = tv_make(&r, dtype, 3, sizes, tv_any_layout(&r));
        double *want = vs_calloc((size_t)tv_numel(&x.v), sizeof(double));

        tv_fill(&r, &x.v, 1, 9);
        tv_fill(&r, &y.v, 1, 9);
        for (int64_t i = 0; i < tv_numel(&x.v); i++) {
            int64_t row = i / sizes[2] % sizes[1];
            int64_t col = i % sizes[2];
            bool keeps = upper ? col - row >= diagonal : col - row <= diagonal;

            want[i] = keeps ? tv_get(&x.v, i) : 0;
        }
        eng_kernels_cpu()->triangle(&x.v, &y.v, diagonal, upper);
        tv_assert_near("triangle", &y.v, want, 0, 0);
        assert_true(tv_padding_is_intact(&y));
        eng_kernels_cpu()->triangle(&x.v, &x.v, diagonal, upper);
        tv_assert_near("triangle in place", &x.v, want, 0, 0);
        tv_free(&x);
        tv_free(&y);
        vs_free(want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_values_depend_only_on_key_and_position),
        cmocka_unit_test(distributions_have_their_mean_and_variance),
        cmocka_unit_test(integers_are_uniform_in_their_range),
        cmocka_unit_test(probabilities_zero_and_one_are_certain),
        cmocka_unit_test(formula_values_equal_those_of_the_oracle),
        cmocka_unit_test(arange_has_exact_values),
        cmocka_unit_test(tril_and_triu_keep_one_side_of_the_diagonal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
