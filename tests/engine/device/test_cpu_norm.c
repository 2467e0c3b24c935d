/*
 * tests/engine/device/test_cpu_norm.c - normalisations and their gradients against loops in double.
 *
 * All four are one formula over sets of elements: y = (x - mean)*rstd*w + b with statistics of the set. What differs
 * is which elements make a set and which parameter an element has; the naive version takes both as functions.
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

static const enum vs_dtype floats[] = {VS_F32, VS_F64, VS_F16, VS_BF16};
static const double eps = 1e-5;

enum kind { BATCH, LAYER, GROUP, RMS };

struct norm {
    enum kind kind;
    enum vs_dtype dtype;
    int64_t sizes[3]; /* [N,C,L]; LAYER and RMS: [M,N,1] */
    int64_t groups;
    bool has_w;
    bool has_b;
    struct tv x;
    struct tv w;
    struct tv b;
    struct tv g;
    struct tv y;
    struct tv gx;
    struct tv gw;
    struct tv gb;
    struct tv mean;
    struct tv rstd;
    int64_t sets;
    int64_t params;
};

static int64_t set_of(const struct norm *t, int64_t i)
{
    int64_t c = i / t->sizes[2] % t->sizes[1];
    int64_t n = i / t->sizes[2] / t->sizes[1];

    if (t->kind == BATCH)
        return c;
    return t->kind == GROUP ? n * t->groups + c / (t->sizes[1] / t->groups) : n;
}

static int64_t param_of(const struct norm *t, int64_t i)
{
    return i / t->sizes[2] % t->sizes[1];
}

/* Its views are laid out as `layout` says, or each at random where that is -1. */
static struct norm norm_sized(struct tv_rng *r, enum kind kind, enum vs_dtype dtype,
                              const int64_t *sizes, int layout)
{
    struct norm t = {
        .kind = kind, .dtype = dtype, .has_w = tv_int(r, 0, 3), .has_b = tv_int(r, 0, 3)};
    bool flat = kind == LAYER || kind == RMS;
    enum vs_dtype stat = dtype == VS_F64 ? VS_F64 : VS_F32;
    enum vs_dtype pd = tv_int(r, 0, 2) ? dtype : stat; /* weights may be f32 beside f16 */
    int nd = flat ? 2 : 3;
    int64_t stat_sizes[2];

    memcpy(t.sizes, sizes, sizeof(t.sizes));
    t.groups = sizes[1] % 3 == 0 ? 3 : sizes[1] % 2 == 0 ? 2 : 1;
    if (kind == RMS)
        t.has_b = false;
    t.params = t.sizes[1];
    t.sets = kind == BATCH ? t.sizes[1] : kind == GROUP ? t.sizes[0] * t.groups : t.sizes[0];
#define LAYOUT (layout < 0 ? tv_any_layout(r) : (enum tv_layout)layout)
    t.x = tv_make(r, dtype, nd, t.sizes, LAYOUT);
    t.g = tv_make(r, dtype, nd, t.sizes, LAYOUT);
    t.y = tv_make(r, dtype, nd, t.sizes, LAYOUT);
    t.gx = tv_make(r, dtype, nd, t.sizes, LAYOUT);
    t.w = tv_make(r, pd, 1, &t.params, LAYOUT);
    t.b = tv_make(r, pd, 1, &t.params, LAYOUT);
    t.gw = tv_make(r, pd, 1, &t.params, LAYOUT);
    t.gb = tv_make(r, pd, 1, &t.params, LAYOUT);
    stat_sizes[0] = kind == GROUP ? t.sizes[0] : t.sets;
    stat_sizes[1] = t.groups;
    t.mean = tv_make(r, stat, kind == GROUP ? 2 : 1, stat_sizes, LAYOUT);
    t.rstd = tv_make(r, stat, kind == GROUP ? 2 : 1, stat_sizes, LAYOUT);
#undef LAYOUT
    tv_fill(r, &t.x.v, 2, 4);
    tv_fill(r, &t.g.v, -1, 1);
    tv_fill(r, &t.w.v, 0.5, 1.5);
    tv_fill(r, &t.b.v, -1, 1);
    return t;
}

static struct norm norm_make(struct tv_rng *r, enum kind kind, enum vs_dtype dtype)
{
    bool flat = kind == LAYER || kind == RMS;
    int64_t sizes[3];

    sizes[0] = tv_int(r, 2, 6);
    sizes[1] = flat ? tv_int(r, 2, 200) : tv_int(r, 1, 4) * tv_int(r, 1, 4);
    sizes[2] = flat ? 1 : tv_int(r, 2, tv_int(r, 0, 4) ? 30 : 1500);
    if (kind == BATCH && tv_int(r, 0, 4) == 0) {
        sizes[0] += 4; /* of two samples the gradient is a difference of equals */
        sizes[2] = 1;
    }
    return norm_sized(r, kind, dtype, sizes, -1);
}

static void norm_free(struct norm *t)
{
    struct tv *all[] = {&t->x,  &t->w,  &t->b,  &t->g,    &t->y,
                        &t->gx, &t->gw, &t->gb, &t->mean, &t->rstd};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        assert_true(tv_padding_is_intact(all[i]));
        tv_free(all[i]);
    }
}

struct naive {
    double *mean;
    double *rstd;
    double *var; /* biased */
    double *y;
    double *gx;
    double *gw;
    double *gb;
    double count; /* elements of a set */
};

static void naive_free(struct naive *v)
{
    vs_free(v->mean);
    vs_free(v->rstd);
    vs_free(v->var);
    vs_free(v->y);
    vs_free(v->gx);
    vs_free(v->gw);
    vs_free(v->gb);
}

static struct naive naive_forward(const struct norm *t)
{
    int64_t n = tv_numel(&t->x.v);
    size_t sets = (size_t)t->sets;
    struct naive v = {.mean = vs_calloc(sets, sizeof(double)),
                      .rstd = vs_calloc(sets, sizeof(double)),
                      .var = vs_calloc(sets, sizeof(double)),
                      .y = vs_calloc((size_t)n, sizeof(double)),
                      .gx = vs_calloc((size_t)n, sizeof(double)),
                      .gw = vs_calloc((size_t)t->params, sizeof(double)),
                      .gb = vs_calloc((size_t)t->params, sizeof(double)),
                      .count = (double)n / (double)t->sets};

    for (int64_t i = 0; i < n && t->kind != RMS; i++)
        v.mean[set_of(t, i)] += tv_get(&t->x.v, i) / v.count;
    for (int64_t i = 0; i < n; i++) {
        double d = tv_get(&t->x.v, i) - v.mean[set_of(t, i)];

        v.var[set_of(t, i)] += d * d / v.count;
    }
    for (int64_t s = 0; s < t->sets; s++)
        v.rstd[s] = 1 / sqrt(v.var[s] + eps);
    for (int64_t i = 0; i < n; i++) {
        int64_t s = set_of(t, i);
        int64_t p = param_of(t, i);

        v.y[i] =
            (tv_get(&t->x.v, i) - v.mean[s]) * v.rstd[s] * (t->has_w ? tv_get(&t->w.v, p) : 1) +
            (t->has_b ? tv_get(&t->b.v, p) : 0);
    }
    return v;
}

/* By the chain rule through mean and variance, for each element the two sums over its set. */
static void naive_backward(const struct norm *t, struct naive *v)
{
    int64_t n = tv_numel(&t->x.v);
    double *sum = vs_calloc((size_t)t->sets, sizeof(double));
    double *dot = vs_calloc((size_t)t->sets, sizeof(double));

    for (int64_t i = 0; i < n; i++) {
        int64_t s = set_of(t, i);
        int64_t p = param_of(t, i);
        double gw = tv_get(&t->g.v, i) * (t->has_w ? tv_get(&t->w.v, p) : 1);
        double xhat = (tv_get(&t->x.v, i) - v->mean[s]) * v->rstd[s];

        sum[s] += t->kind == RMS ? 0 : gw;
        dot[s] += gw * xhat;
        v->gw[p] += tv_get(&t->g.v, i) * xhat;
        v->gb[p] += tv_get(&t->g.v, i);
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t s = set_of(t, i);
        double gw = tv_get(&t->g.v, i) * (t->has_w ? tv_get(&t->w.v, param_of(t, i)) : 1);
        double xhat = (tv_get(&t->x.v, i) - v->mean[s]) * v->rstd[s];

        v->gx[i] = v->rstd[s] * (gw - sum[s] / v->count - xhat * dot[s] / v->count);
    }
    vs_free(sum);
    vs_free(dot);
}

static double rel_of(enum vs_dtype dtype)
{
    return dtype == VS_F64 ? 1e-11 : tv_epsilon(dtype) * 0.51 + 5e-6;
}

static double abs_of(enum vs_dtype dtype)
{
    return dtype == VS_F64 ? 1e-12 : 1e-5 + tv_epsilon(dtype) * 0.02;
}

static void check_within(const char *what, const struct eng_view *v, const double *want,
                         double slack)
{
    tv_assert_near(what, v, want, rel_of(v->dtype), slack * abs_of(v->dtype));
}

static void check(const char *what, const struct eng_view *v, const double *want)
{
    check_within(what, v, want, 1);
}

/* The mean that is kept is rounded: gradients of sums of many elements are off by that much times their count. */
static void check_batch_norm(struct tv_rng *r, struct norm *t)
{
    const struct eng_kernels *k = eng_kernels_cpu();
    double slack = tv_numel(&t->x.v) > 10000 ? 10 : 1;
    struct naive v = naive_forward(t);
    const struct eng_view *w = t->has_w ? &t->w.v : NULL;
    const struct eng_view *b = t->has_b ? &t->b.v : NULL;
    struct tv rm = tv_make(r, t->mean.v.dtype, 1, &t->params, tv_any_layout(r));
    struct tv rv = tv_make(r, t->mean.v.dtype, 1, &t->params, tv_any_layout(r));
    double *wrm = vs_calloc((size_t)t->params, sizeof(double));
    double *wrv = vs_calloc((size_t)t->params, sizeof(double));

    tv_fill(r, &rm.v, -1, 1);
    tv_fill(r, &rv.v, 0.5, 1);
    for (int64_t c = 0; c < t->params; c++) {
        wrm[c] = 0.9 * tv_get(&rm.v, c) + 0.1 * v.mean[c];
        wrv[c] = 0.9 * tv_get(&rv.v, c) + 0.1 * v.var[c] * v.count / (v.count - 1);
    }
    naive_backward(t, &v);
    k->batch_norm_train(&t->x.v, w, b, &rm.v, &rv.v, 0.1, eps, &t->y.v, &t->mean.v, &t->rstd.v);
    check("y", &t->y.v, v.y);
    check("mean", &t->mean.v, v.mean);
    check("invstd", &t->rstd.v, v.rstd);
    check("running_mean", &rm.v, wrm);
    check("running_var", &rv.v, wrv);
    k->batch_norm_backward(&t->g.v, &t->x.v, w, &t->mean.v, &t->rstd.v, true, &t->gx.v, &t->gw.v,
                           &t->gb.v);
    check_within("gx", &t->gx.v, v.gx, slack);
    check_within("gw", &t->gw.v, v.gw, slack);
    check_within("gb", &t->gb.v, v.gb, slack);
    k->batch_norm_train(&t->x.v, w, b, NULL, NULL, 0.1, eps, &t->y.v, &t->mean.v, &t->rstd.v);
    check("y", &t->y.v, v.y);
    /* eval: constants */
    for (int64_t e = 0; e < tv_numel(&t->x.v); e++) {
        int64_t c = param_of(t, e);
        double s = 1 / sqrt(tv_get(&rv.v, c) + eps);

        v.y[e] = (tv_get(&t->x.v, e) - tv_get(&rm.v, c)) * s * (w ? tv_get(w, c) : 1) +
                 (b ? tv_get(b, c) : 0);
        v.gx[e] = tv_get(&t->g.v, e) * tv_get(&t->rstd.v, c) * (w ? tv_get(w, c) : 1);
    }
    k->batch_norm_eval(&t->x.v, w, b, &rm.v, &rv.v, eps, &t->y.v);
    check("eval y", &t->y.v, v.y);
    k->batch_norm_backward(&t->g.v, &t->x.v, w, &t->mean.v, &t->rstd.v, false, &t->gx.v, NULL,
                           NULL);
    check("eval gx", &t->gx.v, v.gx);
    tv_free(&rm);
    tv_free(&rv);
    vs_free(wrm);
    vs_free(wrv);
    naive_free(&v);
    norm_free(t);
}

static void batch_norm_normalises_channels(void **state)
{
    struct tv_rng r = {1111};

    (void)state;
    for (int i = 0; i < 40; i++) {
        struct norm t = norm_make(&r, BATCH, floats[i % 4]);

        check_batch_norm(&r, &t);
    }
}

/* x as [N,C,L], a place's channels side by side. */
static void lay_across(struct tv_rng *r, struct tv *t)
{
    const int64_t *s = t->v.sizes;
    struct eng_view v = t->v;
    int64_t sizes[] = {s[0], s[2], s[1]};

    tv_free(t);
    *t = tv_make(r, v.dtype, 3, sizes, TV_PLAIN);
    memcpy(t->v.sizes, v.sizes, sizeof(v.sizes));
    t->v.strides[0] = sizes[1] * sizes[2];
    t->v.strides[1] = 1;
    t->v.strides[2] = sizes[2];
}

/* More elements than one team measures, channels side by side, and both. */
static void batch_norm_takes_large_channels_in_any_order(void **state)
{
    static const int64_t sizes[][3] = {
        {3, 2, 7001}, {4, 40, 49}, {2, 33, 5000}, {9, 64, 1}, {1, 5, 9000}};
    struct tv_rng r = {1112};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct norm t =
            norm_sized(&r, BATCH, floats[i / 2 % 4 == 1 ? 0 : i % 4], sizes[i / 2], TV_PLAIN);

        if (i % 2) {
            struct tv *images[] = {&t.x, &t.g, &t.y, &t.gx};

            for (int k = 0; k < 4; k++)
                lay_across(&r, images[k]);
            tv_fill(&r, &t.x.v, 2, 4);
            tv_fill(&r, &t.g.v, -1, 1);
        }
        check_batch_norm(&r, &t);
    }
}

static void layer_norm_normalises_rows(void **state)
{
    struct tv_rng r = {2222};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int i = 0; i < 40; i++) {
        struct norm t = norm_make(&r, LAYER, floats[i % 4]);
        struct naive v = naive_forward(&t);
        const struct eng_view *w = t.has_w ? &t.w.v : NULL;
        const struct eng_view *b = t.has_b ? &t.b.v : NULL;

        naive_backward(&t, &v);
        k->layer_norm(&t.x.v, w, b, eps, &t.y.v, &t.mean.v, &t.rstd.v);
        check("y", &t.y.v, v.y);
        check("mean", &t.mean.v, v.mean);
        check("rstd", &t.rstd.v, v.rstd);
        k->layer_norm_backward(&t.g.v, &t.x.v, w, &t.mean.v, &t.rstd.v, &t.gx.v, &t.gw.v, &t.gb.v);
        check("gx", &t.gx.v, v.gx);
        check("gw", &t.gw.v, v.gw);
        check("gb", &t.gb.v, v.gb);
        naive_free(&v);
        norm_free(&t);
    }
}

static void many_rows_give_the_same_parameter_gradients(void **state)
{
    struct tv_rng r = {2223};
    int64_t sizes[] = {5000, 24};
    int64_t n = 24;
    int64_t m = 5000;
    struct tv x = tv_make(&r, VS_F32, 2, sizes, TV_PLAIN);
    struct tv mean = tv_make(&r, VS_F32, 1, &m, TV_PLAIN);
    struct tv rstd = tv_make(&r, VS_F32, 1, &m, TV_PLAIN);
    struct tv gw = tv_make(&r, VS_F32, 1, &n, TV_PLAIN);
    struct tv gb = tv_make(&r, VS_F32, 1, &n, TV_PLAIN);
    double ww[24] = {0};
    double wb[24] = {0};

    (void)state;
    tv_fill(&r, &x.v, 0, 1);
    tv_fill(&r, &mean.v, 0, 1);
    tv_fill(&r, &rstd.v, 1, 2);
    for (int64_t i = 0; i < m * n; i++) {
        ww[i % n] +=
            tv_get(&x.v, i) * (tv_get(&x.v, i) - tv_get(&mean.v, i / n)) * tv_get(&rstd.v, i / n);
        wb[i % n] += tv_get(&x.v, i);
    }
    eng_kernels_cpu()->layer_norm_backward(&x.v, &x.v, NULL, &mean.v, &rstd.v, NULL, &gw.v, &gb.v);
    tv_assert_near("gw", &gw.v, ww, 1e-6, 1e-5);
    tv_assert_near("gb", &gb.v, wb, 1e-6, 0);
    tv_free(&x);
    tv_free(&mean);
    tv_free(&rstd);
    tv_free(&gw);
    tv_free(&gb);
}

static void group_norm_normalises_groups(void **state)
{
    struct tv_rng r = {3333};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int i = 0; i < 40; i++) {
        struct norm t = norm_make(&r, GROUP, floats[i % 4]);
        struct naive v = naive_forward(&t);
        const struct eng_view *w = t.has_w ? &t.w.v : NULL;
        const struct eng_view *b = t.has_b ? &t.b.v : NULL;

        naive_backward(&t, &v);
        k->group_norm(&t.x.v, w, b, t.groups, eps, &t.y.v, &t.mean.v, &t.rstd.v);
        check("y", &t.y.v, v.y);
        check("mean", &t.mean.v, v.mean);
        check("rstd", &t.rstd.v, v.rstd);
        k->group_norm_backward(&t.g.v, &t.x.v, w, &t.mean.v, &t.rstd.v, t.groups, &t.gx.v, &t.gw.v,
                               &t.gb.v);
        check("gx", &t.gx.v, v.gx);
        check("gw", &t.gw.v, v.gw);
        check("gb", &t.gb.v, v.gb);
        naive_free(&v);
        norm_free(&t);
    }
}

static void rms_norm_normalises_rows_without_a_mean(void **state)
{
    struct tv_rng r = {4444};
    const struct eng_kernels *k = eng_kernels_cpu();

    (void)state;
    for (int i = 0; i < 40; i++) {
        struct norm t = norm_make(&r, RMS, floats[i % 4]);
        struct naive v = naive_forward(&t);
        const struct eng_view *w = t.has_w ? &t.w.v : NULL;

        naive_backward(&t, &v);
        k->rms_norm(&t.x.v, w, eps, &t.y.v, &t.rstd.v);
        check("y", &t.y.v, v.y);
        check("rstd", &t.rstd.v, v.rstd);
        k->rms_norm_backward(&t.g.v, &t.x.v, w, &t.rstd.v, &t.gx.v, &t.gw.v);
        check("gx", &t.gx.v, v.gx);
        check("gw", &t.gw.v, v.gw);
        naive_free(&v);
        norm_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_norm_normalises_channels),
        cmocka_unit_test(batch_norm_takes_large_channels_in_any_order),
        cmocka_unit_test(layer_norm_normalises_rows),
        cmocka_unit_test(many_rows_give_the_same_parameter_gradients),
        cmocka_unit_test(group_norm_normalises_groups),
        cmocka_unit_test(rms_norm_normalises_rows_without_a_mean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
