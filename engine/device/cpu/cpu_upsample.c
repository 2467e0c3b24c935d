/*
 * engine/device/cpu/cpu_upsample.c - nearest and bilinear upsampling, and their gradients.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  how sums are computed: rows_pool.inc.
 * Invariant:      source positions and weights are computed by cpu_taps.h.
 */
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/cpu_plane.h"
#include "engine/device/cpu/cpu_taps.h"

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
        cpu_linear_taps(taps, x->sizes[2], ho, align_corners, scale_h, is_double);
        cpu_linear_taps(taps + ho, x->sizes[3], wo, align_corners, scale_w, is_double);
    } else {
        cpu_nearest_taps(taps, x->sizes[2], ho);
        cpu_nearest_taps(taps + ho, x->sizes[3], wo);
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
