/*
 * engine/device/cpu/cpu_plane.h - kernels that treat each [H,W] plane of [N,C,H,W] alone.
 *
 * For:            pooling, upsampling.
 * Must not know:  what is done to a plane.
 * Invariant:      values pass through double buffers of one plane's rows or of one plane, whatever the dtype.
 */
#ifndef ENG_DEVICE_CPU_PLANE_H
#define ENG_DEVICE_CPU_PLANE_H

#include "engine/device/cpu/cpu_internal.h"

typedef void cpu_plane_fn(void *ctx, int64_t n, int64_t channel);

/* fn for each plane of v over the threads; `cost` elements of work a plane. */
void cpu_planes_run(const struct eng_view *v, int64_t cost, cpu_plane_fn *fn, void *ctx);

/* Byte address of plane (n, channel) of v. */
static inline char *cpu_plane(const struct eng_view *v, int64_t n, int64_t channel)
{
    return (char *)v->data + n * cpu_stride(v, 0) + channel * cpu_stride(v, 1);
}

/* The plane (n, channel) as h*w numbers: v itself where it is that, else read into buf. */
const void *cpu_plane_read(const struct cpu_num *num, const struct eng_view *v, int64_t n,
                           int64_t channel, void *buf);
/* Where to make the plane: v itself where it is h*w contiguous numbers, else buf; cpu_plane_write_end stores it. */
void *cpu_plane_write(const struct cpu_num *num, const struct eng_view *v, int64_t n,
                      int64_t channel, void *buf);
void cpu_plane_write_end(const struct cpu_num *num, const struct eng_view *v, int64_t n,
                         int64_t channel, const void *made);

#endif
