/*
 * tests/engine/device/test_cpu_reduce.c - reductions, and other ops along one dim, compared with loops in double
 * precision.
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

#define INF ((double)INFINITY)

static const enum vs_dtype floats[] = {VS_F32, VS_F64, VS_F16, VS_BF16};

static double rel_of(enum vs_dtype dtype)
{
    return dtype == VS_F64 ? 1e-12 : tv_epsilon(dtype) * 0.51 + 3e-6;
}

/* The reduction of the values in list. */
static double reduce(enum eng_reduce op, const double *list, int64_t n, double correction)
{
    double sum = 0;
    double prod = 1;
    double max = -INF;
    double min = INF;
    double any = 0;
    double all = 1;
    double sq = 0;
    double dev = 0;
    double sumexp = 0;

    for (int64_t i = 0; i < n; i++) {
        sum += list[i];
        prod *= list[i];
        max = isnan(list[i]) || isnan(max) ? (double)NAN : fmax(max, list[i]);
        min = isnan(list[i]) || isnan(min) ? (double)NAN : fmin(min, list[i]);
        any = list[i] != 0 ? 1 : any;
        all = list[i] == 0 ? 0 : all;
        sq += list[i] * list[i];
    }
    for (int64_t i = 0; i < n; i++) {
        dev += (list[i] - sum / (double)n) * (list[i] - sum / (double)n);
        sumexp += exp(list[i] - max);
    }
    switch (op) {
    case ENG_R_SUM:
        return sum;
    case ENG_R_MEAN:
        return sum / (double)n;
    case ENG_R_PROD:
        return prod;
    case ENG_R_AMAX:
        return max;
    case ENG_R_AMIN:
        return min;
    case ENG_R_ANY:
        return any;
    case ENG_R_ALL:
        return all;
    case ENG_R_VAR:
        return dev / fmax((double)n - correction, 0);
    case ENG_R_STD:
        return sqrt(dev / fmax((double)n - correction, 0));
    case ENG_R_NORM2:
        return sqrt(sq);
    case ENG_R_LOGSUMEXP:
        return max + log(sumexp);
    case ENG_R_COUNT:
        break;
    }
    return 0;
}

static void expected(enum eng_reduce op, const struct eng_view *x, const struct eng_view *out,
                     uint32_t dims, double correction, double *want)
{
    double *list = vs_calloc((size_t)tv_numel(x) + 1, sizeof(double));

    for (int64_t o = 0; o < tv_numel(out); o++) {
        int64_t at[VS_MAX_DIMS];
        int64_t idx[VS_MAX_DIMS];
        int64_t n = 0;

        tv_unravel(out, o, at);
        for (int64_t i = 0; i < tv_numel(x); i++) {
            bool mine = true;

            tv_unravel(x, i, idx);
            for (int d = 0; d < x->ndim; d++)
                mine = mine && ((dims >> d & 1u) || idx[d] == at[d]);
            if (mine)
                list[n++] = tv_get(x, i);
        }
        want[o] = reduce(op, list, n, correction);
    }
    vs_free(list);
}

static void one_reduction(struct tv_rng *r, enum eng_reduce op, enum vs_dtype dtype, int ndim,
                          const int64_t *sizes, uint32_t dims)
{
    enum vs_dtype to = op == ENG_R_ANY || op == ENG_R_ALL ? VS_BOOL : dtype;
    int64_t small[VS_MAX_DIMS];
    struct tv x = tv_make_broadcast(r, dtype, ndim, sizes, tv_any_layout(r),
                                    tv_int(r, 0, 4) ? 0u : (unsigned)tv_int(r, 0, 1 << ndim));
    struct tv y;
    double *want;
    double p[4] = {(double)tv_int(r, 0, 2), 0, 0, 0};
    char what[64];

    for (int d = 0; d < ndim; d++)
        small[d] = dims >> d & 1u ? 1 : sizes[d];
    y = tv_make(r, to, ndim, small, tv_any_layout(r));
    want = vs_calloc((size_t)tv_numel(&y.v) + 1, sizeof(double));
    tv_fill(r, &x.v, op == ENG_R_PROD ? 0.5 : -2, op == ENG_R_PROD ? 1.7 : 3);
    if (op == ENG_R_ANY || op == ENG_R_ALL) {
        for (int64_t i = 0; i < tv_numel(&x.v); i++)
            tv_set(&x.v, i, (double)(tv_int(r, 0, 6) == 0) == (double)(op == ENG_R_ANY));
    }
    expected(op, &x.v, &y.v, dims, p[0], want);
    eng_kernels_cpu()->reduce(op, &x.v, &y.v, dims, p);
    snprintf(what, sizeof(what), "reduce %d dims %u of %d", (int)op, dims, ndim);
    tv_assert_near(what, &y.v, want, rel_of(dtype) * (op == ENG_R_PROD ? 3 : 1),
                   dtype == VS_F64 ? 1e-13 : 1e-5 + tv_epsilon(dtype) * 0.02);
    assert_true(tv_padding_is_intact(&y));
    tv_free(&x);
    tv_free(&y);
    vs_free(want);
}

static void every_reduction_agrees_on_any_dims(void **state)
{
    struct tv_rng r = {2718};

    (void)state;
    for (int op = 0; op < ENG_R_COUNT; op++) {
        for (int t = 0; t < 40; t++) {
            int64_t sizes[VS_MAX_DIMS];
            int ndim = (int)tv_int(&r, 0, 5);

            for (int d = 0; d < ndim; d++)
                sizes[d] = tv_int(&r, 1, 7);
            if (op == ENG_R_VAR || op == ENG_R_STD) {
                ndim = 3;
                sizes[0] = 4;
                sizes[1] = 5;
                sizes[2] = 3;
            }
            one_reduction(&r, (enum eng_reduce)op, floats[t % 4], ndim, sizes,
                          ndim ? (uint32_t)tv_int(&r, op == ENG_R_VAR || op == ENG_R_STD, 1 << ndim)
                               : 0);
        }
    }
}

static void integers_are_summed_and_compared_exactly(void **state)
{
    static const enum eng_reduce ops[] = {ENG_R_SUM,  ENG_R_PROD, ENG_R_AMAX,
                                          ENG_R_AMIN, ENG_R_ANY,  ENG_R_ALL};
    struct tv_rng r = {161803};
    int64_t sizes[] = {3, 2, 4};

    (void)state;
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        for (uint32_t dims = 0; dims < 8; dims++) {
            one_reduction(&r, ops[i], VS_I64, 3, sizes, dims);
            one_reduction(&r, ops[i], VS_I32, 3, sizes, dims);
        }
    }
}

/* Sizes that take the ways a small tensor does not: pieces joined, many columns, many outputs. */
static void long_reductions_agree(void **state)
{
    static const int64_t shapes[][2] = {{1, 200000}, {3, 70001}, {5000, 40},
                                        {40, 5000},  {2, 300},   {20000, 3}};
    struct tv_rng r = {12};

    (void)state;
    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
        for (uint32_t dims = 1; dims < 4; dims++) {
            struct tv x = tv_make(&r, VS_F32, 2, shapes[s], tv_any_layout(&r));
            int64_t small[2] = {dims & 1 ? 1 : shapes[s][0], dims & 2 ? 1 : shapes[s][1]};
            struct tv y = tv_make(&r, VS_F32, 2, small, TV_PLAIN);
            double *want = vs_calloc((size_t)tv_numel(&y.v), sizeof(double));
            double *var = vs_calloc((size_t)tv_numel(&y.v), sizeof(double));
            double n = (double)tv_numel(&x.v) / (double)tv_numel(&y.v);
            double p[1] = {0};

            tv_fill(&r, &x.v, 999, 1001);
            for (int64_t i = 0; i < tv_numel(&x.v); i++) {
                int64_t row = dims & 1 ? 0 : i / shapes[s][1];
                int64_t col = dims & 2 ? 0 : i % shapes[s][1];

                want[row * small[1] + col] += tv_get(&x.v, i) / n;
            }
            for (int64_t i = 0; i < tv_numel(&x.v); i++) {
                int64_t o = (dims & 1 ? 0 : i / shapes[s][1]) * small[1] +
                            (dims & 2 ? 0 : i % shapes[s][1]);

                var[o] += (tv_get(&x.v, i) - want[o]) * (tv_get(&x.v, i) - want[o]) / n;
            }
            eng_kernels_cpu()->reduce(ENG_R_MEAN, &x.v, &y.v, dims, NULL);
            tv_assert_near("mean", &y.v, want, 2e-7, 0);
            eng_kernels_cpu()->reduce(ENG_R_VAR, &x.v, &y.v, dims, p);
            tv_assert_near("var", &y.v, var, 1e-6, 1e-9);
            tv_free(&x);
            tv_free(&y);
            vs_free(want);
            vs_free(var);
        }
    }
}

static void reducing_nothing_gives_the_neutral_element(void **state)
{
    float x[1] = {5};
    float y[2] = {7, 7};
    struct eng_view vx = {x, VS_F32, 2, {2, 0}, {1, 1}};
    struct eng_view vy = {y, VS_F32, 2, {2, 1}, {1, 1}};

    (void)state;
    eng_kernels_cpu()->reduce(ENG_R_SUM, &vx, &vy, 2, NULL);
    assert_true(y[0] == 0 && y[1] == 0);
    eng_kernels_cpu()->reduce(ENG_R_PROD, &vx, &vy, 2, NULL);
    assert_true(y[0] == 1 && y[1] == 1);
    eng_kernels_cpu()->reduce(ENG_R_MEAN, &vx, &vy, 2, NULL);
    assert_true(isnan(y[0]) && isnan(y[1]));
}

static void extremes_keep_nan_at_any_position(void **state)
{
    float x[100];
    float y;
    struct eng_view vx = {x, VS_F32, 1, {100}, {1}};
    struct eng_view vy = {&y, VS_F32, 1, {1}, {1}};

    (void)state;
    for (int at = 0; at < 100; at++) {
        for (int i = 0; i < 100; i++)
            x[i] = (float)i;
        x[at] = NAN;
        eng_kernels_cpu()->reduce(ENG_R_AMAX, &vx, &vy, 1, NULL);
        assert_true(isnan(y));
        eng_kernels_cpu()->reduce(ENG_R_AMIN, &vx, &vy, 1, NULL);
        assert_true(isnan(y));
    }
}

static void logsumexp_of_infinities_is_infinite(void **state)
{
    float x[4] = {-INFINITY, -INFINITY, INFINITY, 1};
    float y[2];
    struct eng_view vx = {x, VS_F32, 2, {2, 2}, {2, 1}};
    struct eng_view vy = {y, VS_F32, 2, {2, 1}, {1, 1}};

    (void)state;
    eng_kernels_cpu()->reduce(ENG_R_LOGSUMEXP, &vx, &vy, 2, NULL);
    assert_true(y[0] == -INFINITY && y[1] == INFINITY);
}

static void same_input_gives_same_bits(void **state)
{
    struct tv_rng r = {55};
    int64_t sizes[] = {300000};
    int64_t one[] = {1};
    struct tv x = tv_make(&r, VS_F32, 1, sizes, TV_PLAIN);
    struct tv y = tv_make(&r, VS_F32, 1, one, TV_PLAIN);
    float first;

    (void)state;
    tv_fill(&r, &x.v, -1, 1);
    eng_kernels_cpu()->reduce(ENG_R_SUM, &x.v, &y.v, 1, NULL);
    first = (float)tv_get(&y.v, 0);
    for (int i = 0; i < 20; i++) {
        eng_kernels_cpu()->reduce(ENG_R_SUM, &x.v, &y.v, 1, NULL);
        assert_memory_equal(&first, y.v.data, sizeof(first));
    }
    tv_free(&x);
    tv_free(&y);
}

/* ---- along one dim ---- */

static int64_t position(const struct eng_view *x, int dim, const int64_t *at, int64_t i)
{
    int64_t idx[VS_MAX_DIMS];

    for (int d = 0; d < x->ndim; d++)
        idx[d] = d == dim ? i : at[d];
    return tv_ravel(x, idx);
}

static void max_dim_gives_the_first_best_or_nan(void **state)
{
    struct tv_rng r = {271};

    (void)state;
    for (int t = 0; t < 60; t++) {
        enum vs_dtype dtype = t % 5 == 4 ? VS_I64 : floats[t % 4];
        int64_t sizes[] = {tv_int(&r, 1, 5), tv_int(&r, 1, 9), tv_int(&r, 1, 6)};
        int dim = (int)tv_int(&r, 0, 3);
        bool is_max = t % 2;
        struct tv x = tv_make(&r, dtype, 3, sizes, tv_any_layout(&r));
        struct tv v;
        struct tv idx;
        int64_t n = sizes[dim];

        sizes[dim] = 1;
        v = tv_make(&r, dtype, 3, sizes, tv_any_layout(&r));
        idx = tv_make(&r, VS_I64, 3, sizes, tv_any_layout(&r));
        for (int64_t i = 0; i < tv_numel(&x.v); i++)
            tv_set(&x.v, i, (double)tv_int(&r, -3, 4)); /* many ties */
        if (vs_dtype_is_floating(dtype) && t % 3 == 0)
            tv_set(&x.v, tv_int(&r, 0, tv_numel(&x.v)), (double)NAN);
        eng_kernels_cpu()->max_dim(&x.v, dim, is_max, &v.v, &idx.v);
        for (int64_t o = 0; o < tv_numel(&v.v); o++) {
            int64_t at[VS_MAX_DIMS];
            int64_t best = 0;
            double value;

            tv_unravel(&v.v, o, at);
            value = tv_get(&x.v, position(&x.v, dim, at, 0));
            for (int64_t i = 1; i < n; i++) {
                double w = tv_get(&x.v, position(&x.v, dim, at, i));

                if (!isnan(value) && (isnan(w) || (is_max ? w > value : w < value))) {
                    value = w;
                    best = i;
                }
            }
            assert_int_equal(tv_get_int(&idx.v, o), best);
            assert_true(tv_get(&v.v, o) == value || (isnan(value) && isnan(tv_get(&v.v, o))));
        }
        assert_true(tv_padding_is_intact(&v) && tv_padding_is_intact(&idx));
        tv_free(&x);
        tv_free(&v);
        tv_free(&idx);
    }
}

static void cumsum_adds_up_along_the_dim(void **state)
{
    struct tv_rng r = {81};

    (void)state;
    for (int t = 0; t < 30; t++) {
        enum vs_dtype dtype = t % 5 == 4 ? VS_I64 : floats[t % 4];
        int64_t sizes[] = {tv_int(&r, 1, 5), tv_int(&r, 1, 1500), tv_int(&r, 1, 4)};
        int dim = (int)tv_int(&r, 0, 3);
        struct tv x = tv_make(&r, dtype, 3, sizes, tv_any_layout(&r));
        struct tv y = tv_make(&r, dtype, 3, sizes, tv_any_layout(&r));
        double *want = vs_calloc((size_t)tv_numel(&x.v), sizeof(double));

        tv_fill(&r, &x.v, 0, 2);
        for (int64_t i = 0; i < tv_numel(&x.v); i++) {
            int64_t at[VS_MAX_DIMS];

            tv_unravel(&x.v, i, at);
            want[i] = tv_get(&x.v, i);
            if (at[dim] > 0)
                want[i] += want[position(&x.v, dim, at, at[dim] - 1)];
        }
        eng_kernels_cpu()->cumsum(&x.v, dim, &y.v);
        tv_assert_near("cumsum", &y.v, want, rel_of(dtype), 1e-6);
        tv_free(&x);
        tv_free(&y);
        vs_free(want);
    }
}

static void sort_is_stable_with_nan_last(void **state)
{
    struct tv_rng r = {91};

    (void)state;
    for (int t = 0; t < 40; t++) {
        enum vs_dtype dtype = t % 5 == 4 ? VS_I64 : floats[t % 4];
        int64_t sizes[] = {tv_int(&r, 1, 4), tv_int(&r, 1, 40), tv_int(&r, 1, 4)};
        int dim = (int)tv_int(&r, 0, 3);
        bool descending = t % 2;
        struct tv x = tv_make(&r, dtype, 3, sizes, tv_any_layout(&r));
        struct tv v = tv_make(&r, dtype, 3, sizes, tv_any_layout(&r));
        struct tv idx = tv_make(&r, VS_I64, 3, sizes, tv_any_layout(&r));

        for (int64_t i = 0; i < tv_numel(&x.v); i++)
            tv_set(&x.v, i, (double)tv_int(&r, -5, 6));
        if (vs_dtype_is_floating(dtype))
            tv_set(&x.v, 0, (double)NAN);
        eng_kernels_cpu()->sort(&x.v, dim, descending, &v.v, &idx.v);
        for (int64_t i = 0; i < tv_numel(&x.v); i++) {
            int64_t at[VS_MAX_DIMS];
            int64_t from = tv_get_int(&idx.v, i);
            double a = tv_get(&v.v, i);
            double b;

            tv_unravel(&x.v, i, at);
            b = tv_get(&x.v, position(&x.v, dim, at, from));
            assert_true(a == b || (isnan(a) && isnan(b)));
            if (at[dim] == 0)
                continue;
            b = tv_get(&v.v, position(&x.v, dim, at, at[dim] - 1)); /* the one before */
            if (descending)
                assert_true(isnan(b) || a <= b);
            else
                assert_true(isnan(a) || b <= a);
            if (a == b)
                assert_true(from > tv_get_int(&idx.v, position(&x.v, dim, at, at[dim] - 1)));
        }
        tv_free(&x);
        tv_free(&v);
        tv_free(&idx);
    }
}

/* softmax of x and, with g, the gradient through it. */
static void softmax_naive(const struct eng_view *x, const struct eng_view *g, int dim, bool is_log,
                          double *y, double *gx)
{
    for (int64_t i = 0; i < tv_numel(x); i++) {
        int64_t at[VS_MAX_DIMS];
        double max = -INF;
        double sum = 0;

        tv_unravel(x, i, at);
        for (int64_t j = 0; j < x->sizes[dim]; j++)
            max = fmax(max, tv_get(x, position(x, dim, at, j)));
        for (int64_t j = 0; j < x->sizes[dim]; j++)
            sum += exp(tv_get(x, position(x, dim, at, j)) - max);
        y[i] = exp(tv_get(x, i) - max) / sum;
        if (is_log)
            y[i] = tv_get(x, i) - max - log(sum);
    }
    for (int64_t i = 0; i < tv_numel(x); i++) {
        int64_t at[VS_MAX_DIMS];
        double sum = 0;

        tv_unravel(x, i, at);
        for (int64_t j = 0; j < x->sizes[dim]; j++) {
            int64_t k = position(x, dim, at, j);

            sum += tv_get(g, k) * (is_log ? 1 : y[k]);
        }
        gx[i] = is_log ? tv_get(g, i) - exp(y[i]) * sum : y[i] * (tv_get(g, i) - sum);
    }
}

static void softmax_and_its_gradient_agree(void **state)
{
    struct tv_rng r = {314};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int t = 0; t < 48; t++) {
        enum vs_dtype dtype = floats[t % 4];
        enum vs_dtype to = t % 7 == 0 ? VS_F32 : dtype;
        int64_t sizes[] = {tv_int(&r, 1, 5), tv_int(&r, 1, 7), tv_int(&r, 1, t % 5 ? 9 : 3000)};
        int dim = (int)tv_int(&r, 0, 3);
        bool is_log = tv_int(&r, 0, 2);
        struct tv x = tv_make(&r, dtype, 3, sizes, tv_any_layout(&r));
        struct tv y = tv_make(&r, to, 3, sizes, tv_any_layout(&r));
        struct tv g = tv_make(&r, to, 3, sizes, tv_any_layout(&r));
        struct tv gx = tv_make(&r, dtype, 3, sizes, tv_any_layout(&r));
        double *want = vs_calloc((size_t)tv_numel(&x.v), sizeof(double));
        double *wantg = vs_calloc((size_t)tv_numel(&x.v), sizeof(double));

        tv_fill(&r, &x.v, 90, 110);
        tv_fill(&r, &g.v, -1, 1);
        softmax_naive(&x.v, &g.v, dim, is_log, want, wantg);
        k->softmax(&x.v, dim, is_log, &y.v);
        tv_assert_near("softmax", &y.v, want, rel_of(to) * 2,
                       to == VS_F64   ? 1e-14
                       : to == VS_F32 ? 2e-6
                                      : 1e-6 + tv_epsilon(to) * 1e-2);
        assert_true(tv_padding_is_intact(&y));
        /* the gradient is computed from the rounded result */
        for (int64_t i = 0; i < tv_numel(&y.v); i++)
            tv_set(&y.v, i, want[i]);
        k->softmax_backward(&g.v, &y.v, dim, is_log, &gx.v);
        tv_assert_near("softmax_backward", &gx.v, wantg, rel_of(dtype) * 4 + tv_epsilon(to) * 4,
                       tv_epsilon(to) * 16 + tv_epsilon(dtype) * 4);
        assert_true(tv_padding_is_intact(&gx));
        if (to == dtype) { /* in place */
            k->softmax(&x.v, dim, is_log, &gx.v);
            k->softmax(&x.v, dim, is_log, &x.v);
            for (int64_t i = 0; i < tv_numel(&x.v); i++)
                assert_memory_equal(tv_at(&x.v, i), tv_at(&gx.v, i), vs_dtype_bytes(dtype));
        }
        tv_free(&x);
        tv_free(&y);
        tv_free(&g);
        tv_free(&gx);
        vs_free(want);
        vs_free(wantg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reduction_agrees_on_any_dims),
        cmocka_unit_test(integers_are_summed_and_compared_exactly),
        cmocka_unit_test(long_reductions_agree),
        cmocka_unit_test(reducing_nothing_gives_the_neutral_element),
        cmocka_unit_test(extremes_keep_nan_at_any_position),
        cmocka_unit_test(logsumexp_of_infinities_is_infinite),
        cmocka_unit_test(same_input_gives_same_bits),
        cmocka_unit_test(max_dim_gives_the_first_best_or_nan),
        cmocka_unit_test(cumsum_adds_up_along_the_dim),
        cmocka_unit_test(sort_is_stable_with_nan_last),
        cmocka_unit_test(softmax_and_its_gradient_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
