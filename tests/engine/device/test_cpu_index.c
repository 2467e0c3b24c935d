/*
 * tests/engine/device/test_cpu_index.c - gather, scatter, advanced indexing, embeddings and nll_loss compared with
 * plain loops.
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
#include "tests/engine/device/cpu_views.h"

static const enum vs_dtype dtypes[] = {VS_F32, VS_F64, VS_F16, VS_BF16, VS_I64, VS_I32};
static const struct eng_scalar one_and_half = {false, 0, 1.5};

static double rel_of(enum vs_dtype dtype)
{
    return dtype == VS_F64 ? 1e-13 : tv_epsilon(dtype) * 2 + 1e-6;
}

static double *values_of(const struct eng_view *v)
{
    double *r = vs_calloc((size_t)tv_numel(v) + 1, sizeof(double));

    for (int64_t i = 0; i < tv_numel(v); i++)
        r[i] = tv_get(v, i);
    return r;
}

/* Row-major position in v of the element that element i of index refers to. */
static int64_t spoken_of(const struct eng_view *v, int dim, const struct eng_view *index, int64_t i)
{
    int64_t at[VS_MAX_DIMS];

    tv_unravel(index, i, at);
    at[dim] = tv_get_int(index, i);
    return tv_ravel(v, at);
}

static void fill_index(struct tv_rng *r, const struct eng_view *v, int64_t low, int64_t high)
{
    for (int64_t i = 0; i < tv_numel(v); i++)
        tv_set(v, i, (double)tv_int(r, low, high));
}

static void gather_and_scatter_follow_the_index(void **state)
{
    struct tv_rng r = {61};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int t = 0; t < 90; t++) {
        enum vs_dtype dtype = dtypes[t % 6];
        int dim = (int)tv_int(&r, 0, 3);
        int64_t sx[] = {tv_int(&r, 1, 6), tv_int(&r, 1, 6), tv_int(&r, 1, 6)};
        int64_t si[3];
        struct tv x = tv_make(&r, dtype, 3, sx, tv_any_layout(&r));
        struct tv idx;
        struct tv out;
        double *want;
        double *base;
        bool adds = t % 2;

        for (int d = 0; d < 3; d++)
            si[d] = d == dim ? tv_int(&r, 1, 9) : tv_int(&r, 1, sx[d] + 1);
        idx = tv_make(&r, t % 4 ? VS_I64 : VS_I32, 3, si, tv_any_layout(&r));
        out = tv_make(&r, dtype, 3, si, tv_any_layout(&r));
        tv_fill(&r, &x.v, -4, 4);
        fill_index(&r, &idx.v, 0, sx[dim]);
        want = vs_calloc((size_t)tv_numel(&out.v), sizeof(double));
        for (int64_t i = 0; i < tv_numel(&idx.v); i++)
            want[i] = tv_get(&x.v, spoken_of(&x.v, dim, &idx.v, i));
        assert_true(k->gather(&x.v, dim, &idx.v, &out.v));
        tv_assert_near("gather", &out.v, want, 0, 0);
        assert_true(tv_padding_is_intact(&out));
        /* scatter out's values, or a number, back into x */
        base = values_of(&x.v);
        for (int64_t i = 0; i < tv_numel(&idx.v); i++) {
            int64_t at = spoken_of(&x.v, dim, &idx.v, i);
            double v = t % 3 ? tv_get(&out.v, i) : tv_rounded(dtype, 1.5);

            base[at] = adds ? tv_rounded(dtype, base[at] + v) : v;
        }
        assert_true(k->scatter(&x.v, dim, &idx.v, t % 3 ? &out.v : NULL, one_and_half, adds));
        tv_assert_near("scatter", &x.v, base, rel_of(dtype), 1e-6);
        assert_true(tv_padding_is_intact(&x));
        vs_free(want);
        vs_free(base);
        tv_free(&x);
        tv_free(&idx);
        tv_free(&out);
    }
}

static void index_select_and_add_take_whole_slices(void **state)
{
    struct tv_rng r = {62};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int t = 0; t < 60; t++) {
        enum vs_dtype dtype = dtypes[t % 6];
        int dim = (int)tv_int(&r, 0, 3);
        int64_t sx[] = {tv_int(&r, 1, 6), tv_int(&r, 1, 6), tv_int(&r, 1, 40)};
        int64_t so[3] = {sx[0], sx[1], sx[2]};
        int64_t n = tv_int(&r, 1, 12);
        struct tv x = tv_make(&r, dtype, 3, sx, tv_any_layout(&r));
        struct tv idx = tv_make(&r, VS_I64, 1, &n, tv_any_layout(&r));
        struct tv out;
        double *base;
        double *want;

        so[dim] = n;
        out = tv_make(&r, dtype, 3, so, tv_any_layout(&r));
        tv_fill(&r, &x.v, -4, 4);
        fill_index(&r, &idx.v, 0, sx[dim]);
        want = vs_calloc((size_t)tv_numel(&out.v), sizeof(double));
        base = values_of(&x.v);
        for (int64_t i = 0; i < tv_numel(&out.v); i++) {
            int64_t at[VS_MAX_DIMS];

            tv_unravel(&out.v, i, at);
            at[dim] = tv_get_int(&idx.v, at[dim]);
            want[i] = tv_get(&x.v, tv_ravel(&x.v, at));
            base[tv_ravel(&x.v, at)] = tv_rounded(dtype, base[tv_ravel(&x.v, at)] + want[i]);
        }
        assert_true(k->index_select(&x.v, dim, &idx.v, &out.v));
        tv_assert_near("index_select", &out.v, want, 0, 0);
        assert_true(k->index_add(&x.v, dim, &idx.v, &out.v));
        tv_assert_near("index_add", &x.v, base, rel_of(dtype), 1e-5 + tv_epsilon(dtype) * 20);
        assert_true(tv_padding_is_intact(&x) && tv_padding_is_intact(&out));
        vs_free(want);
        vs_free(base);
        tv_free(&x);
        tv_free(&idx);
        tv_free(&out);
    }
}

static void advanced_indexing_reads_and_writes(void **state)
{
    struct tv_rng r = {63};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int t = 0; t < 60; t++) {
        enum vs_dtype dtype = dtypes[t % 6];
        int n = (int)tv_int(&r, 1, 4);
        int64_t sx[] = {tv_int(&r, 1, 6), tv_int(&r, 1, 6), tv_int(&r, 1, 7)};
        int64_t si[] = {tv_int(&r, 1, 4), tv_int(&r, 1, 5)};
        int64_t so[4] = {si[0], si[1]};
        struct tv x = tv_make(&r, dtype, 3, sx, tv_any_layout(&r));
        struct tv idx[3];
        struct eng_view views[3];
        struct tv out;
        double *base;
        double *want;
        bool adds = t % 2;

        for (int d = 0; d < n; d++) {
            idx[d] =
                tv_make_broadcast(&r, VS_I64, 2, si, tv_any_layout(&r), tv_int(&r, 0, 3) ? 0u : 1u);
            fill_index(&r, &idx[d].v, -sx[d], sx[d]);
            views[d] = idx[d].v;
        }
        for (int d = n; d < 3; d++)
            so[2 + d - n] = sx[d];
        out = tv_make(&r, dtype, 2 + 3 - n, so, tv_any_layout(&r));
        tv_fill(&r, &x.v, -4, 4);
        want = vs_calloc((size_t)tv_numel(&out.v), sizeof(double));
        base = values_of(&x.v);
        for (int64_t i = 0; i < tv_numel(&out.v); i++) {
            int64_t at[VS_MAX_DIMS];
            int64_t to[3];
            int64_t p;

            tv_unravel(&out.v, i, at);
            for (int d = 0; d < n; d++) {
                p = tv_get_int(&views[d], at[0] * si[1] + at[1]);
                to[d] = p < 0 ? p + sx[d] : p;
            }
            for (int d = n; d < 3; d++)
                to[d] = at[2 + d - n];
            p = tv_ravel(&x.v, to);
            want[i] = tv_get(&x.v, p);
            base[p] = adds ? tv_rounded(dtype, base[p] + want[i]) : want[i];
        }
        assert_true(k->index_get(&x.v, views, n, &out.v));
        tv_assert_near("index_get", &out.v, want, 0, 0);
        assert_true(k->index_put(&x.v, views, n, &out.v, adds));
        tv_assert_near("index_put", &x.v, base, rel_of(dtype), 1e-5 + tv_epsilon(dtype) * 20);
        assert_true(tv_padding_is_intact(&x) && tv_padding_is_intact(&out));
        vs_free(want);
        vs_free(base);
        for (int d = 0; d < n; d++)
            tv_free(&idx[d]);
        tv_free(&x);
        tv_free(&out);
    }
}

static void indices_out_of_range_are_refused_and_nothing_is_written(void **state)
{
    float x[4] = {1, 2, 3, 4};
    float y[2] = {9, 9};
    int64_t bad[3][2] = {{0, 4}, {-1, 0}, {0, INT64_MAX}};
    struct eng_scalar v = {false, 0, 5};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct eng_view vx = {x, VS_F32, 1, {4}, {1}};
        struct eng_view table = {x, VS_F32, 2, {4, 1}, {1, 1}};
        struct eng_view rows = {y, VS_F32, 2, {2, 1}, {1, 1}};
        struct eng_view vy = {y, VS_F32, 1, {2}, {1}};
        struct eng_view vi = {bad[i], VS_I64, 1, {2}, {1}};

        assert_false(k->gather(&vx, 0, &vi, &vy));
        assert_false(k->scatter(&vx, 0, &vi, NULL, v, false));
        assert_false(k->scatter(&vx, 0, &vi, &vy, v, true));
        assert_false(k->index_select(&vx, 0, &vi, &vy));
        assert_false(k->index_add(&vx, 0, &vi, &vy));
        assert_false(k->embedding(&table, &vi, &rows));
        if (i != 1) { /* -1 is the last element there */
            assert_false(k->index_get(&vx, &vi, 1, &vy));
            assert_false(k->index_put(&vx, &vi, 1, &vy, false));
        }
        assert_true(y[0] == 9 && y[1] == 9 && x[0] == 1 && x[3] == 4);
    }
}

static void embedding_takes_rows_and_adds_their_gradients(void **state)
{
    struct tv_rng r = {64};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int t = 0; t < 40; t++) {
        enum vs_dtype dtype = dtypes[t % 4];
        int64_t st[] = {tv_int(&r, 1, 30), tv_int(&r, 1, 70)};
        int64_t n = tv_int(&r, 1, t % 5 ? 40 : 900);
        int64_t so[] = {n, st[1]};
        int64_t padding = t % 2 ? -1 : tv_int(&r, 0, st[0]);
        struct tv table = tv_make(&r, dtype, 2, st, tv_any_layout(&r));
        struct tv gt = tv_make(&r, dtype, 2, st, tv_any_layout(&r));
        struct tv idx = tv_make(&r, t % 3 ? VS_I64 : VS_I32, 1, &n, tv_any_layout(&r));
        struct tv out = tv_make(&r, dtype, 2, so, tv_any_layout(&r));
        double *want = vs_calloc((size_t)(n * st[1]), sizeof(double));
        double *wantg = vs_calloc((size_t)(st[0] * st[1]), sizeof(double));

        tv_fill(&r, &table.v, -1, 1);
        fill_index(&r, &idx.v, 0, st[0]);
        for (int64_t i = 0; i < n * st[1]; i++)
            want[i] = tv_get(&table.v, tv_get_int(&idx.v, i / st[1]) * st[1] + i % st[1]);
        assert_true(k->embedding(&table.v, &idx.v, &out.v));
        tv_assert_near("embedding", &out.v, want, 0, 0);
        assert_true(tv_padding_is_intact(&out));
        for (int64_t i = 0; i < n * st[1]; i++) {
            int64_t row = tv_get_int(&idx.v, i / st[1]);

            if (row != padding)
                wantg[row * st[1] + i % st[1]] += tv_get(&out.v, i);
        }
        k->embedding_backward(&out.v, &idx.v, padding, &gt.v);
        tv_assert_near("embedding_backward", &gt.v, wantg,
                       dtype == VS_F64 ? 1e-12 : tv_epsilon(dtype) * 0.51 + 2e-6, 1e-5);
        assert_true(tv_padding_is_intact(&gt));
        vs_free(want);
        vs_free(wantg);
        tv_free(&table);
        tv_free(&gt);
        tv_free(&idx);
        tv_free(&out);
    }
}

/* Losses of every target, their weighted sum or mean, and the gradient of x. */
static void nll_loss_and_its_gradient_agree(void **state)
{
    struct tv_rng r = {65};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int t = 0; t < 60; t++) {
        enum vs_dtype dtype = dtypes[t % 4];
        int reduction = t % 3;
        int64_t n = tv_int(&r, 1, 5);
        int64_t c = tv_int(&r, 2, 9);
        int64_t l = t % 2 ? 1 : tv_int(&r, 1, 12);
        int64_t sx[] = {n, c, l};
        int64_t st[] = {n, l};
        int64_t one[] = {1};
        int64_t ignore = t % 5 ? -100 : 1;
        struct tv x = tv_make(&r, dtype, 3, sx, tv_any_layout(&r));
        struct tv gx = tv_make(&r, dtype, 3, sx, tv_any_layout(&r));
        struct tv target = tv_make(&r, VS_I64, 2, st, tv_any_layout(&r));
        struct tv weight = tv_make(&r, dtype, 1, &c, tv_any_layout(&r));
        struct tv out = reduction ? tv_make(&r, dtype, 1, one, TV_PLAIN)
                                  : tv_make(&r, dtype, 2, st, tv_any_layout(&r));
        struct tv total = tv_make(&r, VS_F64, 1, one, TV_PLAIN);
        const struct eng_view *w = t % 4 < 2 ? &weight.v : NULL;
        double *want = vs_calloc((size_t)(n * l), sizeof(double));
        double *wantg = vs_calloc((size_t)(n * c * l), sizeof(double));
        double sum = 0;
        double ws = 0;

        tv_fill(&r, &x.v, -3, 0);
        tv_fill(&r, &gx.v, 5, 6);
        tv_fill(&r, &weight.v, 0.5, 2);
        fill_index(&r, &target.v, 0, c);
        tv_set(&target.v, 0, 0); /* at least one counts */
        for (int64_t i = 0; i < n * l; i++) {
            int64_t cls = tv_get_int(&target.v, i);
            double wt = cls == ignore ? 0 : w ? tv_get(w, cls) : 1;

            want[i] = -wt * tv_get(&x.v, (i / l * c + cls) * l + i % l);
            sum += want[i];
            ws += wt;
        }
        assert_true(k->nll_loss(&x.v, &target.v, w, reduction, ignore, &out.v, &total.v));
        if (reduction)
            want[0] = reduction == 1 ? sum / ws : sum;
        tv_assert_near("nll_loss", &out.v, want, rel_of(dtype), 1e-6);
        if (reduction)
            assert_true(fabs(tv_get(&total.v, 0) - ws) < 1e-5);
        tv_fill(&r, &out.v, 0.5, 2); /* now the gradient */
        for (int64_t i = 0; i < n * l; i++) {
            int64_t cls = tv_get_int(&target.v, i);
            double wt = cls == ignore ? 0 : w ? tv_get(w, cls) : 1;
            double g = tv_get(&out.v, reduction ? 0 : i);

            wantg[(i / l * c + cls) * l + i % l] = -wt * g / (reduction == 1 ? ws : 1);
        }
        k->nll_loss_backward(&out.v, &target.v, w, reduction, ignore, &total.v, &gx.v);
        tv_assert_near("nll_loss_backward", &gx.v, wantg, rel_of(dtype), 1e-6);
        assert_true(tv_padding_is_intact(&gx) && tv_padding_is_intact(&out));
        tv_set(&target.v, 0, (double)c);
        assert_false(k->nll_loss(&x.v, &target.v, w, reduction, ignore, &out.v, &total.v));
        vs_free(want);
        vs_free(wantg);
        tv_free(&x);
        tv_free(&gx);
        tv_free(&target);
        tv_free(&weight);
        tv_free(&out);
        tv_free(&total);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather_and_scatter_follow_the_index),
        cmocka_unit_test(index_select_and_add_take_whole_slices),
        cmocka_unit_test(advanced_indexing_reads_and_writes),
        cmocka_unit_test(indices_out_of_range_are_refused_and_nothing_is_written),
        cmocka_unit_test(embedding_takes_rows_and_adds_their_gradients),
        cmocka_unit_test(nll_loss_and_its_gradient_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
