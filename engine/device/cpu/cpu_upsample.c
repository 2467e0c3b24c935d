/*
 * engine/device/cpu/cpu_upsample.c - nearest and bilinear upsampling, and their gradients.
 *
 * For:            the table.
 * Must not know:  the sums: rows_pool.inc.
 * Invariant:      positions follow PyTorch (aten/src/ATen/native/UpSample.h): nearest takes floor(o*in/out), bilinear
 *                 (o+0.5)*scale-0.5 clamped at 0, or o*(in-1)/(out-1) with align_corners.
 */
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/cpu_plane.h"

struct up_job {
    const struct cpu_num *num;
    const struct eng_view *x;
    const struct eng_view *y;
    const struct cpu_tap *rows;
    const struct cpu_tap *cols;
    bool backward;
};

static void up_plane(void *ctx, int64_t n, int64_t channel)
{
    const struct up_job *j = ctx;
    const struct cpu_num *num = j->num;
    size_t nx = (size_t)(j->x->sizes[2] * j->x->sizes[3]) * num->size;
    size_t ny = (size_t)(j->y->sizes[2] * j->y->sizes[3]) * num->size;
    size_t bytes = nx + ny;
    char *xbuf = cpu_mem_get(bytes);
    char *ybuf = xbuf + nx;
    const void *src;

    if (j->backward) {
        src = cpu_plane_read(num, j->y, n, channel, ybuf);
        if (src != ybuf)
            memcpy(ybuf, src, ny);
        memset(xbuf, 0, nx);
    } else {
        src = cpu_plane_read(num, j->x, n, channel, xbuf);
        if (src != xbuf)
            memcpy(xbuf, src, nx);
    }
    num->resample(xbuf, j->x->sizes[3], ybuf, j->y->sizes[2], j->y->sizes[3], j->rows, j->cols,
                  j->backward);
    if (j->backward) {
        char *dst = cpu_plane_write(num, j->x, n, channel, xbuf);

        if (dst != xbuf)
            memcpy(dst, xbuf, nx);
        cpu_plane_write_end(num, j->x, n, channel, dst);
    } else {
        char *dst = cpu_plane_write(num, j->y, n, channel, ybuf);

        if (dst != ybuf)
            memcpy(dst, ybuf, ny);
        cpu_plane_write_end(num, j->y, n, channel, dst);
    }
    cpu_mem_put(xbuf, bytes);
}

static void nearest_taps(struct cpu_tap *t, int64_t in, int64_t out)
{
    float scale = (float)in / (float)out; /* in float, as PyTorch */

    for (int64_t o = 0; o < out; o++) {
        int64_t i = cpu_min((int64_t)((float)o * scale), in - 1);

        t[o] = (struct cpu_tap){i, i, 0.0};
    }
}

/* PyTorch computes positions in the type of the values, float for f16 and bf16. */
static void linear_taps(struct cpu_tap *t, int64_t in, int64_t out, bool align_corners,
                        double factor, bool is_double)
{
    double scale = factor > 0.0 ? 1.0 / factor : (double)in / (double)out;

    if (align_corners)
        scale = out > 1 ? (double)(in - 1) / (double)(out - 1) : 0.0;
    if (!is_double)
        scale = align_corners && out > 1 ? (double)((float)(in - 1) / (float)(out - 1))
                                         : (double)(float)scale;
    for (int64_t o = 0; o < out; o++) {
        double pos = align_corners ? scale * (double)o : scale * ((double)o + 0.5) - 0.5;
        int64_t i;

        if (!is_double)
            pos = align_corners ? (double)((float)scale * (float)o)
                                : (double)((float)scale * ((float)o + 0.5f) - 0.5f);
        pos = pos < 0.0 ? 0.0 : pos;
        i = cpu_min((int64_t)pos, in - 1);
        pos = pos - (double)i;
        t[o] = (struct cpu_tap){i, i < in - 1 ? i + 1 : i, pos < 0.0 ? 0.0 : pos > 1.0 ? 1.0 : pos};
    }
}

static void up_run(const struct eng_view *x, const struct eng_view *y, const struct cpu_tap *rows,
                   const struct cpu_tap *cols, bool backward)
{
    struct up_job j = {cpu_num_of(x->dtype), x, y, rows, cols, backward};

    cpu_planes_run(x, 4 * y->sizes[2] * y->sizes[3], up_plane, &j);
}

/* Both kinds, both directions. */
static void upsample(const struct eng_view *x, const struct eng_view *y, bool is_linear,
                     bool align_corners, double scale_h, double scale_w, bool backward)
{
    int64_t ho = y->sizes[2];
    int64_t wo = y->sizes[3];
    bool is_double = x->dtype == VS_F64;
    size_t bytes = (size_t)(ho + wo + 1) * sizeof(struct cpu_tap);
    struct cpu_tap *taps;

    VS_ASSERT(x->ndim == 4 && y->ndim == 4 && vs_dtype_is_floating(x->dtype));
    if (cpu_numel(x) == 0 || (cpu_numel(y) == 0 && !backward))
        return;
    taps = cpu_mem_get(bytes);
    if (is_linear) {
        linear_taps(taps, x->sizes[2], ho, align_corners, scale_h, is_double);
        linear_taps(taps + ho, x->sizes[3], wo, align_corners, scale_w, is_double);
    } else {
        nearest_taps(taps, x->sizes[2], ho);
        nearest_taps(taps + ho, x->sizes[3], wo);
    }
    up_run(x, y, taps, taps + ho, backward);
    cpu_mem_put(taps, bytes);
}

void cpu_upsample_nearest2d(const struct eng_view *x, const struct eng_view *out)
{
    upsample(x, out, false, false, 0.0, 0.0, false);
}

void cpu_upsample_nearest2d_backward(const struct eng_view *g, const struct eng_view *gx)
{
    upsample(gx, g, false, false, 0.0, 0.0, true);
}

void cpu_upsample_bilinear2d(const struct eng_view *x, const struct eng_view *out,
                             bool align_corners, double scale_h, double scale_w)
{
    upsample(x, out, true, align_corners, scale_h, scale_w, false);
}

void cpu_upsample_bilinear2d_backward(const struct eng_view *g, const struct eng_view *gx,
                                      bool align_corners, double scale_h, double scale_w)
{
    upsample(gx, g, true, align_corners, scale_h, scale_w, true);
}
