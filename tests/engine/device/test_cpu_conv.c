/*
 * tests/engine/device/test_cpu_conv.c - convolutions and their gradients compared with loops in double precision.
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

struct shape {
    int64_t n;
    int64_t ci; /* of all groups */
    int64_t co;
    int64_t h;
    int64_t w;
    int64_t kh;
    int64_t kw;
    struct eng_conv2d p;
};

static int64_t out_size(const struct shape *s, int d)
{
    int64_t in = d ? s->w : s->h;
    int64_t k = d ? s->kw : s->kh;

    return (in + 2 * s->p.padding[d] - s->p.dilation[d] * (k - 1) - 1) / s->p.stride[d] + 1;
}

/* For every product of the convolution: gw += g*x, gx += g*w, y += x*w, whichever is not NULL. */
static void naive(const struct shape *s, const struct eng_view *x, const struct eng_view *w,
                  const struct eng_view *g, double *y, double *gx, double *gw)
{
    int64_t ho = out_size(s, 0);
    int64_t wo = out_size(s, 1);
    int64_t cig = s->ci / s->p.groups;
    int64_t cog = s->co / s->p.groups;
    int64_t total = s->n * s->co * ho * wo;

    for (int64_t o = 0; o < total; o++) {
        int64_t ox = o % wo;
        int64_t oy = o / wo % ho;
        int64_t co = o / wo / ho % s->co;
        int64_t n = o / wo / ho / s->co;

        for (int64_t t = 0; t < cig * s->kh * s->kw; t++) {
            int64_t ci = t / s->kh / s->kw;
            int64_t iy =
                oy * s->p.stride[0] - s->p.padding[0] + t / s->kw % s->kh * s->p.dilation[0];
            int64_t ix = ox * s->p.stride[1] - s->p.padding[1] + t % s->kw * s->p.dilation[1];
            int64_t xi;
            int64_t wi = co * cig * s->kh * s->kw + t;

            if (iy < 0 || ix < 0 || iy >= s->h || ix >= s->w)
                continue;
            xi = ((n * s->ci + co / cog * cig + ci) * s->h + iy) * s->w + ix;
            if (y)
                y[o] += tv_get(x, xi) * tv_get(w, wi);
            if (gx)
                gx[xi] += tv_get(g, o) * tv_get(w, wi);
            if (gw)
                gw[wi] += tv_get(g, o) * tv_get(x, xi);
        }
    }
}

static void one_convolution(struct tv_rng *r, enum vs_dtype dtype, const struct shape *s,
                            bool plain)
{
    const struct eng_kernels *k = eng_kernels_cpu();
    int64_t sx[] = {s->n, s->ci, s->h, s->w};
    int64_t sw[] = {s->co, s->ci / s->p.groups, s->kh, s->kw};
    int64_t sy[] = {s->n, s->co, out_size(s, 0), out_size(s, 1)};
    struct tv x = tv_make(r, dtype, 4, sx, plain ? TV_PLAIN : tv_any_layout(r));
    struct tv w = tv_make(r, dtype, 4, sw, plain ? TV_PLAIN : tv_any_layout(r));
    struct tv b = tv_make(r, dtype, 1, &s->co, plain ? TV_PLAIN : tv_any_layout(r));
    struct tv y = tv_make(r, dtype, 4, sy, plain ? TV_PLAIN : tv_any_layout(r));
    struct tv g = tv_make_broadcast(r, dtype, 4, sy, plain ? TV_PLAIN : tv_any_layout(r),
                                    plain || tv_int(r, 0, 5) ? 0u : (unsigned)tv_int(r, 0, 16));
    struct tv gx = tv_make(r, dtype, 4, sx, plain ? TV_PLAIN : tv_any_layout(r));
    struct tv gw = tv_make(r, dtype, 4, sw, plain ? TV_PLAIN : tv_any_layout(r));
    double *wy = vs_calloc((size_t)tv_numel(&y.v) + 1, sizeof(double));
    double *wgx = vs_calloc((size_t)tv_numel(&x.v) + 1, sizeof(double));
    double *wgw = vs_calloc((size_t)tv_numel(&w.v) + 1, sizeof(double));
    bool has_bias = tv_int(r, 0, 2);
    double rel = dtype == VS_F64 ? 1e-12 : tv_epsilon(dtype) * 0.51 + 1e-6;
    /* of a sum of n products the error grows as sqrt(n); Winograd's transforms double it */
    double unit = dtype == VS_F64 ? 1e-14 : 6e-7;
    double abs = tv_epsilon(dtype) * 1e-2;
    char what[160];

    snprintf(what, sizeof(what), "n%d ci%d co%d %dx%d k%dx%d s%d,%d p%d,%d d%d,%d g%d", (int)s->n,
             (int)s->ci, (int)s->co, (int)s->h, (int)s->w, (int)s->kh, (int)s->kw,
             (int)s->p.stride[0], (int)s->p.stride[1], (int)s->p.padding[0], (int)s->p.padding[1],
             (int)s->p.dilation[0], (int)s->p.dilation[1], (int)s->p.groups);
    tv_fill(r, &x.v, -1, 1);
    tv_fill(r, &w.v, -1, 1);
    tv_fill(r, &b.v, -1, 1);
    tv_fill(r, &g.v, -1, 1);
    tv_fill(r, &y.v, 5, 6); /* what the outputs held does not count */
    tv_fill(r, &gx.v, 5, 6);
    tv_fill(r, &gw.v, 5, 6);
    naive(s, &x.v, &w.v, &g.v, wy, wgx, wgw);
    for (int64_t i = 0; i < tv_numel(&y.v) && has_bias; i++)
        wy[i] += tv_get(&b.v, i / (sy[2] * sy[3]) % s->co);
    k->conv2d(&x.v, &w.v, has_bias ? &b.v : NULL, &y.v, &s->p);
    tv_assert_near(what, &y.v, wy, rel, abs + unit * sqrt((double)(sw[1] * s->kh * s->kw)) * 2);
    k->conv2d_backward_input(&g.v, &w.v, &gx.v, &s->p);
    tv_assert_near(what, &gx.v, wgx, rel, abs + unit * sqrt((double)(s->co * s->kh * s->kw)) * 2);
    k->conv2d_backward_weight(&g.v, &x.v, &gw.v, &s->p);
    tv_assert_near(what, &gw.v, wgw, rel,
                   abs * 4 + unit * sqrt((double)(s->n * sy[2] * sy[3])) * 2);
    assert_true(tv_padding_is_intact(&y) && tv_padding_is_intact(&gx) && tv_padding_is_intact(&gw));
    tv_free(&x);
    tv_free(&w);
    tv_free(&b);
    tv_free(&y);
    tv_free(&g);
    tv_free(&gx);
    tv_free(&gw);
    vs_free(wy);
    vs_free(wgx);
    vs_free(wgw);
}

static void random_convolutions_agree_on_any_strides(void **state)
{
    struct tv_rng r = {20240};

    (void)state;
    for (int t = 0; t < 240; t++) {
        int64_t groups = tv_int(&r, 1, 4);
        struct shape s = {.n = tv_int(&r, 1, 4),
                          .ci = groups * tv_int(&r, 1, 5),
                          .co = groups * tv_int(&r, 1, 5),
                          .kh = tv_int(&r, 1, 5),
                          .kw = tv_int(&r, 1, 5),
                          .p = {.stride = {tv_int(&r, 1, 4), tv_int(&r, 1, 4)},
                                .padding = {tv_int(&r, 0, 3), tv_int(&r, 0, 3)},
                                .dilation = {tv_int(&r, 1, 3), tv_int(&r, 1, 3)},
                                .groups = groups}};

        s.h = (s.kh - 1) * s.p.dilation[0] + tv_int(&r, 1, 9);
        s.w = (s.kw - 1) * s.p.dilation[1] + tv_int(&r, 1, 9);
        one_convolution(&r, floats[t % 4], &s, t % 3 == 0);
    }
}

/* Shapes with separate code paths, each with sizes that do not divide evenly. */
static void common_shapes_agree(void **state)
{
    static const struct shape shapes[] = {
        /* 3x3, stride 1, padding 1 */
        {2, 13, 12, 9, 11, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}},
        {1, 12, 15, 10, 8, 3, 3, {{1, 1}, {2, 1}, {1, 1}, 1}},
        {2, 16, 20, 13, 17, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}},
        {1, 33, 17, 28, 28, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}},
        {3, 64, 64, 7, 7, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}},
        {2, 16, 16, 9, 12, 3, 3, {{1, 1}, {0, 0}, {1, 1}, 1}},
        {1, 20, 18, 11, 10, 3, 3, {{1, 1}, {2, 2}, {1, 1}, 1}},
        {2, 32, 16, 8, 9, 3, 3, {{1, 1}, {1, 0}, {1, 1}, 2}},
        {1, 16, 16, 1, 1, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}},
        {1, 16, 16, 2, 3, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}},
        /* 3x3, stride 2 */
        {2, 16, 24, 14, 15, 3, 3, {{2, 2}, {1, 1}, {1, 1}, 1}},
        {1, 64, 32, 28, 28, 3, 3, {{2, 2}, {1, 1}, {1, 1}, 1}},
        /* 1x1 */
        {3, 40, 24, 9, 11, 1, 1, {{1, 1}, {0, 0}, {1, 1}, 1}},
        {2, 40, 24, 9, 11, 1, 1, {{2, 2}, {0, 0}, {1, 1}, 1}},
        {2, 16, 8, 5, 5, 1, 1, {{1, 1}, {0, 0}, {1, 1}, 4}},
        /* the first layer of a net */
        {2, 3, 64, 37, 41, 7, 7, {{2, 2}, {3, 3}, {1, 1}, 1}},
        {1, 3, 16, 64, 70, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 1}},
        /* depthwise */
        {2, 24, 24, 13, 19, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 24}},
        {2, 24, 24, 13, 19, 3, 3, {{2, 2}, {1, 1}, {1, 1}, 24}},
        {1, 10, 10, 20, 21, 5, 5, {{2, 2}, {2, 2}, {1, 1}, 10}},
        {1, 8, 16, 11, 9, 3, 3, {{1, 1}, {1, 1}, {1, 1}, 8}},
        /* one dim, patches of a transformer, dilation */
        {2, 12, 20, 1, 50, 1, 5, {{1, 1}, {0, 2}, {1, 1}, 1}},
        {1, 3, 48, 64, 64, 16, 16, {{16, 16}, {0, 0}, {1, 1}, 1}},
        {1, 16, 16, 24, 24, 3, 3, {{1, 1}, {2, 2}, {2, 2}, 1}},
        {1, 1, 6, 28, 28, 5, 5, {{1, 1}, {2, 2}, {1, 1}, 1}},
    };
    struct tv_rng r = {4711};

    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        one_convolution(&r, VS_F32, &shapes[i], true);
        one_convolution(&r, i % 2 ? VS_F32 : floats[1 + i / 2 % 3], &shapes[i], false);
    }
}

static void empty_batches_give_zero_gradients(void **state)
{
    float w[9] = {0};
    float gw[9];
    float none[1] = {7};
    struct eng_conv2d p = {{1, 1}, {1, 1}, {1, 1}, 1};
    struct eng_view vx = {none, VS_F32, 4, {0, 1, 4, 4}, {16, 16, 4, 1}};
    struct eng_view vw = {w, VS_F32, 4, {1, 1, 3, 3}, {9, 9, 3, 1}};
    struct eng_view vg = {gw, VS_F32, 4, {1, 1, 3, 3}, {9, 9, 3, 1}};

    (void)state;
    for (int i = 0; i < 9; i++)
        gw[i] = 3;
    eng_kernels_cpu()->conv2d(&vx, &vw, NULL, &vx, &p);
    eng_kernels_cpu()->conv2d_backward_input(&vx, &vw, &vx, &p);
    eng_kernels_cpu()->conv2d_backward_weight(&vx, &vx, &vg, &p);
    for (int i = 0; i < 9; i++)
        assert_true(gw[i] == 0);
    assert_true(none[0] == 7);
}

/*
 * conv_transpose2d with output padding: the gradient of the input of a convolution that does not reach its last rows.
 */
static void inputs_that_no_output_reads_get_a_zero_gradient(void **state)
{
    struct tv_rng r = {13};
    struct shape s = {2, 3, 4, 8, 9, 2, 2, {{3, 3}, {0, 0}, {1, 1}, 1}};

    (void)state;
    one_convolution(&r, VS_F32, &s, true);
    s.h = 10;
    one_convolution(&r, VS_F32, &s, false);
}

static void same_convolution_gives_same_bits(void **state)
{
    struct tv_rng r = {77};
    struct eng_conv2d p = {{1, 1}, {1, 1}, {1, 1}, 1};
    int64_t sx[] = {4, 32, 30, 30};
    int64_t sw[] = {32, 32, 3, 3};
    struct tv x = tv_make(&r, VS_F32, 4, sx, TV_PLAIN);
    struct tv w = tv_make(&r, VS_F32, 4, sw, TV_PLAIN);
    struct tv y[2];
    struct tv gw[2];

    (void)state;
    tv_fill(&r, &x.v, -1, 1);
    tv_fill(&r, &w.v, -1, 1);
    for (int i = 0; i < 2; i++) {
        y[i] = tv_make(&r, VS_F32, 4, sx, TV_PLAIN);
        gw[i] = tv_make(&r, VS_F32, 4, sw, TV_PLAIN);
    }
    for (int round = 0; round < 10; round++) {
        int i = round > 0;

        eng_kernels_cpu()->conv2d(&x.v, &w.v, NULL, &y[i].v, &p);
        eng_kernels_cpu()->conv2d_backward_weight(&x.v, &x.v, &gw[i].v, &p);
        if (i) {
            assert_memory_equal(y[0].v.data, y[1].v.data, 4 * 32 * 900 * sizeof(float));
            assert_memory_equal(gw[0].v.data, gw[1].v.data, 32 * 32 * 9 * sizeof(float));
            eng_kernels_cpu()->conv2d_backward_input(&x.v, &w.v, &y[i].v, &p);
        }
    }
    for (int i = 0; i < 2; i++) {
        tv_free(&y[i]);
        tv_free(&gw[i]);
    }
    tv_free(&x);
    tv_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_convolutions_agree_on_any_strides),
        cmocka_unit_test(common_shapes_agree),
        cmocka_unit_test(empty_batches_give_zero_gradients),
        cmocka_unit_test(inputs_that_no_output_reads_get_a_zero_gradient),
        cmocka_unit_test(same_convolution_gives_same_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
