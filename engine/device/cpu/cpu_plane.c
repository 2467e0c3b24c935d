/*
 * engine/device/cpu/cpu_plane.c - kernels that treat each [H,W] plane of [N,C,H,W] alone.
 */
#include "engine/device/cpu/cpu_plane.h"

#include "base/error.h"

#define WORK 32768 /* elements of a task, about */

struct planes {
    int64_t count;
    int64_t channels;
    int64_t group;
    cpu_plane_fn *fn;
    void *ctx;
};

static void planes_task(void *arg, int64_t task)
{
    const struct planes *p = arg;
    int64_t end = cpu_min((task + 1) * p->group, p->count);

    for (int64_t i = task * p->group; i < end; i++)
        p->fn(p->ctx, i / p->channels, i % p->channels);
}

void cpu_planes_run(const struct eng_view *v, int64_t cost, cpu_plane_fn *fn, void *ctx)
{
    struct planes p = {
        .count = v->sizes[0] * v->sizes[1], .channels = v->sizes[1], .fn = fn, .ctx = ctx};

    VS_ASSERT(v->ndim == 4);
    p.group = cpu_max(1, WORK / cpu_max(1, cost));
    cpu_parallel((p.count + p.group - 1) / p.group, planes_task, &p);
}

static bool is_plain(const struct cpu_num *num, const struct eng_view *v)
{
    return v->dtype == num->dtype && (v->sizes[3] == 1 || v->strides[3] == 1) &&
           (v->sizes[2] == 1 || v->strides[2] == v->sizes[3]);
}

const void *cpu_plane_read(const struct cpu_num *num, const struct eng_view *v, int64_t n,
                           int64_t channel, void *buf)
{
    const char *p = cpu_plane(v, n, channel);
    char *row = buf;

    if (is_plain(num, v))
        return p;
    for (int64_t y = 0; y < v->sizes[2]; y++) {
        num->load(v->dtype, p + y * cpu_stride(v, 2), cpu_stride(v, 3), v->sizes[3], row);
        row += (size_t)v->sizes[3] * num->size;
    }
    return buf;
}

void *cpu_plane_write(const struct cpu_num *num, const struct eng_view *v, int64_t n,
                      int64_t channel, void *buf)
{
    return is_plain(num, v) ? cpu_plane(v, n, channel) : buf;
}

void cpu_plane_write_end(const struct cpu_num *num, const struct eng_view *v, int64_t n,
                         int64_t channel, const void *made)
{
    char *p = cpu_plane(v, n, channel);
    const char *row = made;

    if (is_plain(num, v))
        return;
    for (int64_t y = 0; y < v->sizes[2]; y++) {
        num->store(row, v->sizes[3], v->dtype, p + y * cpu_stride(v, 2), cpu_stride(v, 3));
        row += (size_t)v->sizes[3] * num->size;
    }
}
