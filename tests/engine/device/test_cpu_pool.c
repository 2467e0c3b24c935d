/*
 * tests/engine/device/test_cpu_pool.c - pooling and upsampling compared with loops in double precision.
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

static double rel_of(enum vs_dtype dtype)
{
    return dtype == VS_F64 ? 1e-12 : tv_epsilon(dtype) * 0.51 + 2e-6;
}

static double abs_of(enum vs_dtype dtype)
{
    return dtype == VS_F64 ? 1e-13 : 1e-6 + tv_epsilon(dtype) * 1e-2;
}

struct planes {
    struct tv x;
    struct tv y;
    struct tv idx;
    struct tv g;
    struct tv gx;
    double *want;
    double *wantg;
    int64_t *wanti;
};

static struct planes planes_make(struct tv_rng *r, enum vs_dtype dtype, int64_t h, int64_t w,
                                 int64_t ho, int64_t wo)
{
    int64_t n = tv_int(r, 1, 3);
    int64_t c = tv_int(r, 1, 4);
    int64_t sx[] = {n, c, h, w};
    int64_t sy[] = {n, c, ho, wo};
    struct planes p = {.x = tv_make(r, dtype, 4, sx, tv_any_layout(r)),
                       .y = tv_make(r, dtype, 4, sy, tv_any_layout(r)),
                       .idx = tv_make(r, VS_I64, 4, sy, tv_any_layout(r)),
                       .g = tv_make(r, dtype, 4, sy, tv_any_layout(r)),
                       .gx = tv_make(r, dtype, 4, sx, tv_any_layout(r)),
                       .want = vs_calloc((size_t)(n * c * ho * wo) + 1, sizeof(double)),
                       .wantg = vs_calloc((size_t)(n * c * h * w) + 1, sizeof(double)),
                       .wanti = vs_calloc((size_t)(n * c * ho * wo) + 1, sizeof(int64_t))};

    tv_fill(r, &p.x.v, -2, 2);
    tv_fill(r, &p.g.v, -1, 1);
    tv_fill(r, &p.gx.v, 5, 6); /* is overwritten */
    return p;
}

static void planes_free(struct planes *p)
{
    assert_true(tv_padding_is_intact(&p->y) && tv_padding_is_intact(&p->gx) &&
                tv_padding_is_intact(&p->idx));
    tv_free(&p->x);
    tv_free(&p->y);
    tv_free(&p->idx);
    tv_free(&p->g);
    tv_free(&p->gx);
    vs_free(p->want);
    vs_free(p->wantg);
    vs_free(p->wanti);
}

/* Position of (plane, y, x) of a view of h x w planes, row-major. */
static int64_t pos(const struct eng_view *v, int64_t plane, int64_t y, int64_t x)
{
    return (plane * v->sizes[2] + y) * v->sizes[3] + x;
}

static struct eng_pool2d any_pool(struct tv_rng *r, bool dilates)
{
    struct eng_pool2d p = {.count_include_pad = tv_int(r, 0, 2)};

    for (int d = 0; d < 2; d++) {
        p.kernel[d] = tv_int(r, 1, 5);
        p.stride[d] = tv_int(r, 1, 4);
        p.padding[d] = tv_int(r, 0, p.kernel[d] / 2 + 1);
        p.dilation[d] = dilates ? tv_int(r, 1, 3) : 1;
    }
    p.divisor_override = tv_int(r, 0, 4) ? 0 : 7;
    return p;
}

static int64_t pooled(const struct eng_pool2d *p, int d, int64_t in)
{
    return (in + 2 * p->padding[d] - p->dilation[d] * (p->kernel[d] - 1) - 1) / p->stride[d] + 1;
}

static void max_naive(struct planes *p, const struct eng_pool2d *q)
{
    const struct eng_view *x = &p->x.v;

    for (int64_t o = 0; o < tv_numel(&p->y.v); o++) {
        int64_t wo = p->y.v.sizes[3];
        int64_t ho = p->y.v.sizes[2];
        int64_t plane = o / wo / ho;
        double best = -(double)INFINITY;

        p->wanti[o] = -1;
        for (int64_t t = 0; t < q->kernel[0] * q->kernel[1]; t++) {
            int64_t iy =
                o / wo % ho * q->stride[0] - q->padding[0] + t / q->kernel[1] * q->dilation[0];
            int64_t ix = o % wo * q->stride[1] - q->padding[1] + t % q->kernel[1] * q->dilation[1];
            double v;

            if (iy < 0 || ix < 0 || iy >= x->sizes[2] || ix >= x->sizes[3])
                continue;
            v = tv_get(x, pos(x, plane, iy, ix));
            if (p->wanti[o] < 0 || v > best || isnan(v)) {
                best = v;
                p->wanti[o] = iy * x->sizes[3] + ix;
            }
        }
        p->want[o] = best;
        p->wantg[plane * x->sizes[2] * x->sizes[3] + p->wanti[o]] += tv_get(&p->g.v, o);
    }
}

static void check_indices(const struct planes *p)
{
    for (int64_t o = 0; o < tv_numel(&p->y.v); o++)
        assert_int_equal(tv_get_int(&p->idx.v, o), p->wanti[o]);
}

static void max_pool_finds_the_first_maximum(void **state)
{
    struct tv_rng r = {501};

    (void)state;
    for (int t = 0; t < 80; t++) {
        struct eng_pool2d q = any_pool(&r, true);
        int64_t h = (q.kernel[0] - 1) * q.dilation[0] + tv_int(&r, 1, 12);
        int64_t w = (q.kernel[1] - 1) * q.dilation[1] + tv_int(&r, 1, 40);
        struct planes p;

        if (t % 4 == 0) { /* the one that nets use */
            q = (struct eng_pool2d){{3, 3}, {2, 2}, {1, 1}, {1, 1}, false, 0};
            h = tv_int(&r, 1, 60);
            w = tv_int(&r, 1, 60);
        }
        if (t % 4 == 1) {
            q = (struct eng_pool2d){{2, 2}, {2, 2}, {0, 0}, {1, 1}, false, 0};
            h = tv_int(&r, 2, 60);
            w = tv_int(&r, 2, 60);
        }
        p = planes_make(&r, floats[t / 4 % 4], h, w, pooled(&q, 0, h), pooled(&q, 1, w));
        if (t % 3 == 0) {
            for (int64_t i = 0; i < tv_numel(&p.x.v); i++)
                tv_set(&p.x.v, i, (double)tv_int(&r, -2, 3)); /* ties */
        }
        if (t % 5 == 0)
            tv_set(&p.x.v, tv_int(&r, 0, tv_numel(&p.x.v)), (double)NAN);
        max_naive(&p, &q);
        eng_kernels_cpu()->max_pool2d(&p.x.v, &p.y.v, &p.idx.v, &q);
        tv_assert_near("max_pool2d", &p.y.v, p.want, 0, 0);
        check_indices(&p);
        eng_kernels_cpu()->max_pool2d_backward(&p.g.v, &p.idx.v, &p.gx.v, &q);
        tv_assert_near("max_pool2d_backward", &p.gx.v, p.wantg, rel_of(p.x.v.dtype),
                       abs_of(p.x.v.dtype));
        planes_free(&p);
    }
}

static void max_pool_of_all_minus_infinity_has_an_index(void **state)
{
    float x[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    float y = 0;
    int64_t i = -1;
    struct eng_pool2d q = {{2, 2}, {2, 2}, {0, 0}, {1, 1}, false, 0};
    struct eng_view vx = {x, VS_F32, 4, {1, 1, 2, 2}, {4, 4, 2, 1}};
    struct eng_view vy = {&y, VS_F32, 4, {1, 1, 1, 1}, {1, 1, 1, 1}};
    struct eng_view vi = {&i, VS_I64, 4, {1, 1, 1, 1}, {1, 1, 1, 1}};

    (void)state;
    eng_kernels_cpu()->max_pool2d(&vx, &vy, &vi, &q);
    assert_true(y == -INFINITY);
    assert_int_equal(i, 0);
}

static void avg_pool_honours_its_divisor_options(void **state)
{
    struct tv_rng r = {601};

    (void)state;
    for (int t = 0; t < 60; t++) {
        struct eng_pool2d q = any_pool(&r, false);
        int64_t h = q.kernel[0] + tv_int(&r, 0, 10);
        int64_t w = q.kernel[1] + tv_int(&r, 0, 10);
        struct planes p = planes_make(&r, floats[t % 4], h, w, pooled(&q, 0, h), pooled(&q, 1, w));

        for (int64_t o = 0; o < tv_numel(&p.y.v); o++) {
            int64_t wo = p.y.v.sizes[3];
            int64_t ho = p.y.v.sizes[2];
            int64_t y0 = o / wo % ho * q.stride[0] - q.padding[0];
            int64_t x0 = o % wo * q.stride[1] - q.padding[1];
            double inside = 0;
            double padded = 0;
            double div;

            for (int pass = 0; pass < 2; pass++) {
                div = q.divisor_override    ? (double)q.divisor_override
                      : q.count_include_pad ? padded
                                            : inside;
                for (int64_t iy = y0; iy < y0 + q.kernel[0]; iy++) {
                    for (int64_t ix = x0; ix < x0 + q.kernel[1]; ix++) {
                        int64_t at = pos(&p.x.v, o / wo / ho, iy, ix);

                        if (!pass && iy < h + q.padding[0] && ix < w + q.padding[1])
                            padded++;
                        if (iy < 0 || ix < 0 || iy >= h || ix >= w)
                            continue;
                        if (!pass) {
                            inside++;
                        } else {
                            p.want[o] += tv_get(&p.x.v, at) / div;
                            p.wantg[at] += tv_get(&p.g.v, o) / div;
                        }
                    }
                }
            }
        }
        eng_kernels_cpu()->avg_pool2d(&p.x.v, &p.y.v, &q);
        tv_assert_near("avg_pool2d", &p.y.v, p.want, rel_of(p.x.v.dtype), abs_of(p.x.v.dtype));
        eng_kernels_cpu()->avg_pool2d_backward(&p.g.v, &p.gx.v, &q);
        tv_assert_near("avg_pool2d_backward", &p.gx.v, p.wantg, rel_of(p.x.v.dtype),
                       abs_of(p.x.v.dtype));
        planes_free(&p);
    }
}

static void adaptive_pools_agree_with_a_plain_loop(void **state)
{
    struct tv_rng r = {701};

    (void)state;
    for (int t = 0; t < 60; t++) {
        int64_t h = tv_int(&r, 1, 12);
        int64_t w = tv_int(&r, 1, 20);
        int64_t ho = t % 3 ? tv_int(&r, 1, 9) : 1;
        int64_t wo = t % 3 ? tv_int(&r, 1, 9) : 1;
        struct planes p = planes_make(&r, floats[t % 4], h, w, ho, wo);
        double *max = vs_calloc((size_t)tv_numel(&p.y.v), sizeof(double));

        for (int64_t o = 0; o < tv_numel(&p.y.v); o++) {
            double fh = (double)h / (double)ho;
            double fw = (double)w / (double)wo;
            int64_t y0 = (int64_t)floor((double)(o / wo % ho) * fh + 1e-9);
            int64_t y1 = (int64_t)ceil((double)(o / wo % ho + 1) * fh - 1e-9);
            int64_t x0 = (int64_t)floor((double)(o % wo) * fw + 1e-9);
            int64_t x1 = (int64_t)ceil((double)(o % wo + 1) * fw - 1e-9);
            double count = (double)((y1 - y0) * (x1 - x0));

            max[o] = -(double)INFINITY;
            for (int64_t iy = y0; iy < y1; iy++) {
                for (int64_t ix = x0; ix < x1; ix++) {
                    int64_t at = pos(&p.x.v, o / wo / ho, iy, ix);

                    p.want[o] += tv_get(&p.x.v, at) / count;
                    p.wantg[at] += tv_get(&p.g.v, o) / count;
                    if (tv_get(&p.x.v, at) > max[o]) {
                        max[o] = tv_get(&p.x.v, at);
                        p.wanti[o] = iy * w + ix;
                    }
                }
            }
        }
        eng_kernels_cpu()->adaptive_avg_pool2d(&p.x.v, &p.y.v);
        tv_assert_near("adaptive_avg_pool2d", &p.y.v, p.want, rel_of(p.x.v.dtype),
                       abs_of(p.x.v.dtype));
        eng_kernels_cpu()->adaptive_avg_pool2d_backward(&p.g.v, &p.gx.v);
        tv_assert_near("adaptive_avg_pool2d_backward", &p.gx.v, p.wantg, rel_of(p.x.v.dtype),
                       abs_of(p.x.v.dtype));
        eng_kernels_cpu()->adaptive_max_pool2d(&p.x.v, &p.y.v, &p.idx.v);
        tv_assert_near("adaptive_max_pool2d", &p.y.v, max, 0, 0);
        check_indices(&p);
        vs_free(max);
        planes_free(&p);
    }
}

static void nearest_upsampling_repeats_elements(void **state)
{
    struct tv_rng r = {801};

    (void)state;
    for (int t = 0; t < 30; t++) {
        int64_t h = tv_int(&r, 1, 7);
        int64_t w = tv_int(&r, 1, 7);
        int64_t ho = t % 2 ? 2 * h : tv_int(&r, 1, 15);
        int64_t wo = t % 2 ? 3 * w : tv_int(&r, 1, 15);
        struct planes p = planes_make(&r, floats[t % 4], h, w, ho, wo);

        tv_set(&p.x.v, 0, (double)INFINITY);
        for (int64_t o = 0; o < tv_numel(&p.y.v); o++) {
            int64_t iy = (o / wo % ho) * h / ho;
            int64_t ix = o % wo * w / wo;
            int64_t at = pos(&p.x.v, o / wo / ho, iy, ix);

            p.want[o] = tv_get(&p.x.v, at);
            p.wantg[at] += tv_get(&p.g.v, o);
        }
        eng_kernels_cpu()->upsample_nearest2d(&p.x.v, &p.y.v);
        tv_assert_near("upsample_nearest2d", &p.y.v, p.want, 0, 0);
        eng_kernels_cpu()->upsample_nearest2d_backward(&p.g.v, &p.gx.v);
        tv_assert_near("upsample_nearest2d_backward", &p.gx.v, p.wantg, rel_of(p.x.v.dtype),
                       abs_of(p.x.v.dtype));
        planes_free(&p);
    }
}

static void linear_position(int64_t o, int64_t in, int64_t out, bool align, double scale,
                            int64_t *i, double *u)
{
    double f = scale > 0 ? 1 / scale : (double)in / (double)out;
    double at = ((double)o + 0.5) * f - 0.5;

    if (align)
        at = out > 1 ? (double)o * (double)(in - 1) / (double)(out - 1) : 0;
    at = fmax(at, 0);
    *i = (int64_t)fmin(floor(at), (double)(in - 1));
    *u = fmin(at - (double)*i, 1);
}

static void bilinear_upsampling_interpolates(void **state)
{
    struct tv_rng r = {901};

    (void)state;
    for (int t = 0; t < 60; t++) {
        bool align = t % 2;
        double scale = !align && t % 3 == 0 ? 2 : 0;
        int64_t h = tv_int(&r, 1, 8);
        int64_t w = tv_int(&r, 1, 8);
        int64_t ho = scale > 0 ? 2 * h : tv_int(&r, 1, 17);
        int64_t wo = scale > 0 ? 2 * w : tv_int(&r, 1, 17);
        struct planes p = planes_make(&r, floats[t % 4], h, w, ho, wo);

        for (int64_t o = 0; o < tv_numel(&p.y.v); o++) {
            int64_t i[2];
            double u[2];

            linear_position(o / wo % ho, h, ho, align, scale, &i[0], &u[0]);
            linear_position(o % wo, w, wo, align, scale, &i[1], &u[1]);
            for (int c = 0; c < 4; c++) {
                int64_t iy = i[0] + (c / 2 && i[0] < h - 1);
                int64_t ix = i[1] + (c % 2 && i[1] < w - 1);
                double f = (c / 2 ? u[0] : 1 - u[0]) * (c % 2 ? u[1] : 1 - u[1]);
                int64_t at = pos(&p.x.v, o / wo / ho, iy, ix);

                p.want[o] += f * tv_get(&p.x.v, at);
                p.wantg[at] += f * tv_get(&p.g.v, o);
            }
        }
        eng_kernels_cpu()->upsample_bilinear2d(&p.x.v, &p.y.v, align, scale, scale);
        tv_assert_near("upsample_bilinear2d", &p.y.v, p.want, rel_of(p.x.v.dtype),
                       abs_of(p.x.v.dtype) * 5);
        eng_kernels_cpu()->upsample_bilinear2d_backward(&p.g.v, &p.gx.v, align, scale, scale);
        tv_assert_near("upsample_bilinear2d_backward", &p.gx.v, p.wantg, rel_of(p.x.v.dtype),
                       abs_of(p.x.v.dtype) * 5);
        planes_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(max_pool_finds_the_first_maximum),
        cmocka_unit_test(max_pool_of_all_minus_infinity_has_an_index),
        cmocka_unit_test(avg_pool_honours_its_divisor_options),
        cmocka_unit_test(adaptive_pools_agree_with_a_plain_loop),
        cmocka_unit_test(nearest_upsampling_repeats_elements),
        cmocka_unit_test(bilinear_upsampling_interpolates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
