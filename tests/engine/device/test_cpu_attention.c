/*
 * tests/engine/device/test_cpu_attention.c - attention and its gradients compared with loops in double precision.
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

/* On a GPU products take probabilities of half types rounded to them; the CPU has them in float. */
#ifdef eng_kernels_cpu
#define HALF_SLACK 1
#else
#define HALF_SLACK 0.05
#endif

static const enum vs_dtype floats[] = {VS_F32, VS_F64, VS_F16, VS_BF16};

struct att {
    enum vs_dtype dtype;
    int64_t b, h, hk, l, s, d, dv;
    bool causal;
    int mask; /* 0 none, 1 bool, 2 floating */
    double scale;
    double p;
    struct eng_rng_key key;
    struct tv q, k, v, m, out, lse, g, gq, gk, gv;
    double *keep; /* [b][h][l][s]: what dropout multiplies by */
};

static struct att att_make(struct tv_rng *r, enum vs_dtype dtype, int64_t l, int64_t s)
{
    struct att a = {.dtype = dtype, .b = tv_int(r, 1, 3), .hk = tv_int(r, 1, 3), .l = l, .s = s};
    int64_t share = tv_int(r, 1, 3);

    a.h = a.hk * share;
    a.d = tv_int(r, 1, 20);
    a.dv = tv_int(r, 1, 20);
    a.causal = tv_int(r, 0, 2);
    a.mask = a.causal ? 0 : (int)tv_int(r, 0, 3);
    a.scale = 1 / sqrt((double)a.d);
    a.key = (struct eng_rng_key){tv_next(r), 3};
    {
        int64_t sq[] = {a.b, a.h, l, a.d};
        int64_t sk[] = {a.b, a.hk, s, a.d};
        int64_t sv[] = {a.b, a.hk, s, a.dv};
        int64_t so[] = {a.b, a.h, l, a.dv};
        int64_t sm[] = {a.b, a.h, l, s};

        a.q = tv_make(r, dtype, 4, sq, tv_any_layout(r));
        a.gq = tv_make(r, dtype, 4, sq, tv_any_layout(r));
        a.k = tv_make(r, dtype, 4, sk, tv_any_layout(r));
        a.gk = tv_make(r, dtype, 4, sk, tv_any_layout(r));
        a.v = tv_make(r, dtype, 4, sv, tv_any_layout(r));
        a.gv = tv_make(r, dtype, 4, sv, tv_any_layout(r));
        a.out = tv_make(r, dtype, 4, so, tv_any_layout(r));
        a.g = tv_make(r, dtype, 4, so, tv_any_layout(r));
        a.lse = tv_make(r, VS_F32, 3, so, tv_any_layout(r));
        a.m = tv_make_broadcast(r, a.mask == 1 ? VS_BOOL : dtype, 4, sm, tv_any_layout(r),
                                (unsigned)tv_int(r, 0, 4));
    }
    tv_fill(r, &a.q.v, -2, 2);
    tv_fill(r, &a.k.v, -2, 2);
    tv_fill(r, &a.v.v, -1, 1);
    tv_fill(r, &a.g.v, -1, 1);
    tv_fill(r, &a.m.v, -2, 2);
    a.keep = vs_calloc((size_t)(a.b * a.h * l * s), sizeof(double));
    for (int64_t i = 0; i < a.b * a.h * l * s; i++)
        a.keep[i] = 1;
    return a;
}

static void att_free(struct att *a)
{
    struct tv *all[] = {&a->q,   &a->k, &a->v,  &a->m,  &a->out,
                        &a->lse, &a->g, &a->gq, &a->gk, &a->gv};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        assert_true(tv_padding_is_intact(all[i]));
        tv_free(all[i]);
    }
    vs_free(a->keep);
}

struct want {
    double *out, *lse, *gq, *gk, *gv;
};

static double at4(const struct tv *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t i[4] = {a, b, c, d};

    return tv_get_at(&t->v, i);
}

/* Probabilities of one query row; returns the log of their sum. */
static double row_of(const struct att *a, int64_t b, int64_t h, int64_t i, double *p)
{
    double max = -(double)INFINITY;
    double sum = 0;

    for (int64_t j = 0; j < a->s; j++) {
        p[j] = 0;
        for (int64_t c = 0; c < a->d; c++)
            p[j] += at4(&a->q, b, h, i, c) * at4(&a->k, b, h / (a->h / a->hk), j, c);
        p[j] *= a->scale;
        if (a->causal && j > i)
            p[j] = -(double)INFINITY;
        if (a->mask == 1 && at4(&a->m, b, h, i, j) == 0)
            p[j] = -(double)INFINITY;
        if (a->mask == 2)
            p[j] += at4(&a->m, b, h, i, j);
        max = fmax(max, p[j]);
    }
    for (int64_t j = 0; j < a->s; j++) {
        p[j] = isinf(max) ? 0 : exp(p[j] - max);
        sum += p[j];
    }
    for (int64_t j = 0; j < a->s && sum > 0; j++)
        p[j] /= sum;
    return max + log(sum);
}

static void naive_row(const struct att *a, struct want *w, int64_t b, int64_t h, int64_t i,
                      double *p, double *dp)
{
    int64_t hk = h / (a->h / a->hk);
    int64_t row = (b * a->h + h) * a->l + i;
    const double *keep = a->keep + row * a->s;
    double dot = 0;

    w->lse[row] = row_of(a, b, h, i, p);
    for (int64_t j = 0; j < a->s; j++) {
        dp[j] = 0;
        for (int64_t c = 0; c < a->dv; c++) {
            double g = at4(&a->g, b, h, i, c);

            w->out[row * a->dv + c] += p[j] * keep[j] * at4(&a->v, b, hk, j, c);
            w->gv[((b * a->hk + hk) * a->s + j) * a->dv + c] += p[j] * keep[j] * g;
            dp[j] += g * at4(&a->v, b, hk, j, c) * keep[j];
        }
        dot += dp[j] * p[j];
    }
    for (int64_t j = 0; j < a->s; j++) {
        for (int64_t c = 0; c < a->d; c++) {
            double ds = p[j] * (dp[j] - dot) * a->scale;

            w->gq[row * a->d + c] += ds * at4(&a->k, b, hk, j, c);
            w->gk[((b * a->hk + hk) * a->s + j) * a->d + c] += ds * at4(&a->q, b, h, i, c);
        }
    }
}

static void check(struct att *a)
{
    const struct eng_kernels *k = eng_kernels_cpu();
    struct want w = {vs_calloc((size_t)(a->b * a->h * a->l * a->dv), sizeof(double)),
                     vs_calloc((size_t)(a->b * a->h * a->l), sizeof(double)),
                     vs_calloc((size_t)(a->b * a->h * a->l * a->d), sizeof(double)),
                     vs_calloc((size_t)(a->b * a->hk * a->s * a->d), sizeof(double)),
                     vs_calloc((size_t)(a->b * a->hk * a->s * a->dv), sizeof(double))};
    double *p = vs_calloc((size_t)a->s, 2 * sizeof(double));
    const struct eng_view *m = a->mask ? &a->m.v : NULL;
    double rel = a->dtype == VS_F64 ? 1e-11 : tv_epsilon(a->dtype) * 0.51 + 1e-5;
    double abs = a->dtype == VS_F64 ? 1e-12 : 4e-6 + tv_epsilon(a->dtype) * HALF_SLACK;

    for (int64_t i = 0; i < a->b * a->h * a->l; i++)
        naive_row(a, &w, i / a->l / a->h, i / a->l % a->h, i % a->l, p, p + a->s);
    k->sdpa(&a->q.v, &a->k.v, &a->v.v, m, a->causal, a->scale, a->p, a->key, &a->out.v, &a->lse.v);
    tv_assert_near("out", &a->out.v, w.out, rel, abs);
    tv_assert_near("lse", &a->lse.v, w.lse, 1e-6, 1e-5);
    k->sdpa_backward(&a->g.v, &a->q.v, &a->k.v, &a->v.v, m, a->causal, a->scale, a->p, a->key,
                     &a->out.v, &a->lse.v, &a->gq.v, &a->gk.v, &a->gv.v);
    tv_assert_near("gq", &a->gq.v, w.gq, rel * 4, abs * 4);
    tv_assert_near("gk", &a->gk.v, w.gk, rel * 4, abs * 8);
    tv_assert_near("gv", &a->gv.v, w.gv, rel * 4, abs * 8);
    vs_free(w.out);
    vs_free(w.lse);
    vs_free(w.gq);
    vs_free(w.gk);
    vs_free(w.gv);
    vs_free(p);
}

static void attention_agrees_with_masks_and_shared_heads(void **state)
{
    struct tv_rng r = {8080};

    (void)state;
    for (int t = 0; t < 60; t++) {
        struct att a = att_make(&r, floats[t % 4], tv_int(&r, 1, 12), tv_int(&r, 1, 12));

        check(&a);
        att_free(&a);
    }
}

static void long_sequences_take_several_tiles(void **state)
{
    struct tv_rng r = {8081};

    (void)state;
    for (int t = 0; t < 8; t++) {
        struct att a = att_make(&r, floats[t % 4], tv_int(&r, 65, 150), tv_int(&r, 60, 140));

        check(&a);
        att_free(&a);
    }
}

static void a_fully_masked_row_is_zero(void **state)
{
    struct tv_rng r = {8082};
    struct att a;

    (void)state;
    do {
        a = att_make(&r, VS_F32, 4, 5);
        if (a.mask != 1)
            att_free(&a);
    } while (a.mask != 1);
    for (int64_t i = 0; i < tv_numel(&a.m.v); i++)
        tv_set(&a.m.v, i, i / 5 % 4 != 2);
    check(&a);
    for (int64_t c = 0; c < a.dv; c++)
        assert_true(at4(&a.out, 0, 0, 2, c) == 0);
    att_free(&a);
}

/* With v the unit matrix and q zero, the output shows the mask: it must be what the backward pass used. */
static void dropout_drops_the_same_elements_forward_and_backward(void **state)
{
    struct tv_rng r = {8083};
    int dropped = 0;
    int total = 0;

    (void)state;
    for (int t = 0; t < 12; t++) {
        int64_t s = 20;
        struct att a = att_make(&r, t % 2 ? VS_F64 : VS_F32, 70, s);
        int64_t sv[] = {a.b, a.hk, s, s};
        struct tv unit = tv_make(&r, a.dtype, 4, sv, TV_PLAIN);
        int64_t so[] = {a.b, a.h, 70, s};
        struct tv shown = tv_make(&r, a.dtype, 4, so, TV_PLAIN);

        a.p = 0.3;
        a.causal = false;
        a.mask = 0;
        for (int64_t i = 0; i < tv_numel(&unit.v); i++)
            tv_set(&unit.v, i, i % s == i / s % s);
        eng_kernels_cpu()->sdpa(&a.q.v, &a.k.v, &unit.v, NULL, false, 0.0, a.p, a.key, &shown.v,
                                NULL);
        for (int64_t i = 0; i < tv_numel(&shown.v); i++) {
            double v = tv_get(&shown.v, i) * (double)s;

            assert_true(v == 0 || fabs(v - 1 / 0.7) < 1e-5);
            a.keep[i] = v == 0 ? 0 : 1 / 0.7;
            dropped += v == 0;
            total++;
        }
        check(&a);
        tv_free(&unit);
        tv_free(&shown);
        att_free(&a);
    }
    assert_true(fabs((double)dropped / total - 0.3) < 0.01);
}

static void unrequested_gradients_may_be_null(void **state)
{
    struct tv_rng r = {8084};
    struct att a = att_make(&r, VS_F32, 9, 9);

    (void)state;
    eng_kernels_cpu()->sdpa_backward(&a.g.v, &a.q.v, &a.k.v, &a.v.v, NULL, true, 1, 0, a.key,
                                     &a.out.v, &a.lse.v, NULL, NULL, NULL);
    att_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_agrees_with_masks_and_shared_heads),
        cmocka_unit_test(long_sequences_take_several_tiles),
        cmocka_unit_test(a_fully_masked_row_is_zero),
        cmocka_unit_test(dropout_drops_the_same_elements_forward_and_backward),
        cmocka_unit_test(unrequested_gradients_may_be_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
