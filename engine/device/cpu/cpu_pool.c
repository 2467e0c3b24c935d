/*
 * engine/device/cpu/cpu_pool.c - pooling, plane by plane.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  how a window is reduced: rows_pool.inc.
 * Invariant:      one task computes the gradients of a whole plane, so two tasks never add to the same element.
 */
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/cpu_plane.h"

struct pool_job {
    const struct cpu_num *num;
    const struct eng_view *x;   /* the larger planes: input, or its gradient */
    const struct eng_view *y;   /* the smaller planes: output, or its gradient */
    const struct eng_view *idx; /* NULL where there is none */
    const struct eng_pool2d *p; /* NULL: adaptive */
};

static int64_t plane_size(const struct eng_view *v)
{
    return v->sizes[2] * v->sizes[3];
}

/* Scratch of one plane of x, one of y and one of indices. */
static char *scratch_get(const struct pool_job *j, uint64_t *bytes, char **y, int64_t **idx)
{
    size_t nx = (size_t)plane_size(j->x) * j->num->size;
    size_t ny = (size_t)plane_size(j->y) * j->num->size;
    char *x;

    nx = (nx + 63) / 64 * 64;
    ny = (ny + 63) / 64 * 64;
    *bytes = nx + ny + (size_t)plane_size(j->y) * sizeof(int64_t);
    x = cpu_mem_get(*bytes);
    *y = x + nx;
    *idx = (int64_t *)(void *)(x + nx + ny);
    return x;
}

static void forward_plane(void *ctx, int64_t n, int64_t channel)
{
    const struct pool_job *j = ctx;
    const struct cpu_num *num = j->num;
    int64_t h = j->x->sizes[2];
    int64_t w = j->x->sizes[3];
    int64_t ho = j->y->sizes[2];
    int64_t wo = j->y->sizes[3];
    uint64_t bytes;
    char *ybuf;
    int64_t *ibuf;
    char *xbuf = scratch_get(j, &bytes, &ybuf, &ibuf);
    const void *x = cpu_plane_read(num, j->x, n, channel, xbuf);
    void *y = cpu_plane_write(num, j->y, n, channel, ybuf);
    int64_t *idx = j->idx ? cpu_plane_write(cpu_rows()->i64, j->idx, n, channel, ibuf) : NULL;

    if (!j->p) {
        num->adaptive_pool(x, h, w, y, idx, ho, wo);
    } else if (idx) {
        num->max_pool(x, h, w, y, idx, ho, wo, j->p);
    } else {
        num->avg_pool(x, h, w, y, ho, wo, j->p);
    }
    cpu_plane_write_end(num, j->y, n, channel, y);
    if (idx)
        cpu_plane_write_end(cpu_rows()->i64, j->idx, n, channel, idx);
    cpu_mem_put(xbuf, bytes);
}

static void backward_plane(void *ctx, int64_t n, int64_t channel)
{
    const struct pool_job *j = ctx;
    const struct cpu_num *num = j->num;
    int64_t h = j->x->sizes[2];
    int64_t w = j->x->sizes[3];
    int64_t ho = j->y->sizes[2];
    int64_t wo = j->y->sizes[3];
    uint64_t bytes;
    char *ybuf;
    int64_t *ibuf;
    char *xbuf = scratch_get(j, &bytes, &ybuf, &ibuf);
    const void *y = cpu_plane_read(num, j->y, n, channel, ybuf);
    void *x = cpu_plane_write(num, j->x, n, channel, xbuf);

    memset(x, 0, (size_t)(h * w) * num->size);
    if (j->idx) {
        num->scatter_plane(ho * wo, y, cpu_plane_read(cpu_rows()->i64, j->idx, n, channel, ibuf),
                           x);
    } else if (j->p) {
        num->avg_back(x, h, w, y, ho, wo, j->p);
    } else {
        num->adaptive_avg_back(x, h, w, y, ho, wo);
    }
    cpu_plane_write_end(num, j->x, n, channel, x);
    cpu_mem_put(xbuf, bytes);
}

static void run(const struct eng_view *x, const struct eng_view *y, const struct eng_view *idx,
                const struct eng_pool2d *p, bool backward)
{
    struct pool_job j = {cpu_num_of(x->dtype), x, y, idx, p};
    int64_t taps = p ? p->kernel[0] * p->kernel[1] : 1;

    VS_ASSERT(x->ndim == 4 && y->ndim == 4 && vs_dtype_is_floating(x->dtype));
    VS_ASSERT(plane_size(x) <= INT32_MAX);
    if (cpu_numel(x) == 0)
        return;
    if (cpu_numel(y) == 0 && !backward)
        return;
    cpu_planes_run(x, plane_size(x) + plane_size(y) * taps,
                   backward ? backward_plane : forward_plane, &j);
}

void cpu_max_pool2d(const struct eng_view *x, const struct eng_view *out,
                    const struct eng_view *indices, const struct eng_pool2d *p)
{
    run(x, out, indices, p, false);
}

void cpu_max_pool2d_backward(const struct eng_view *g, const struct eng_view *indices,
                             const struct eng_view *gx, const struct eng_pool2d *p)
{
    (void)p; /* the indices say it all to who scatters */
    run(gx, g, indices, NULL, true);
}

void cpu_avg_pool2d(const struct eng_view *x, const struct eng_view *out,
                    const struct eng_pool2d *p)
{
    VS_ASSERT(p->dilation[0] == 1 && p->dilation[1] == 1);
    run(x, out, NULL, p, false);
}

void cpu_avg_pool2d_backward(const struct eng_view *g, const struct eng_view *gx,
                             const struct eng_pool2d *p)
{
    VS_ASSERT(p->dilation[0] == 1 && p->dilation[1] == 1);
    run(gx, g, NULL, p, true);
}

void cpu_adaptive_avg_pool2d(const struct eng_view *x, const struct eng_view *out)
{
    run(x, out, NULL, NULL, false);
}

void cpu_adaptive_avg_pool2d_backward(const struct eng_view *g, const struct eng_view *gx)
{
    run(gx, g, NULL, NULL, true);
}

void cpu_adaptive_max_pool2d(const struct eng_view *x, const struct eng_view *out,
                             const struct eng_view *indices)
{
    run(x, out, indices, NULL, false);
}
