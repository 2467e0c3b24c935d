/*
 * engine/device/cpu/cpu_plane.h - helpers of kernels that process each [H,W] plane of [N,C,H,W] by itself.
 *
 * For:            pooling, upsampling.
 * Must not know:  what is done with a plane.
 * Invariant:      values pass through buffers of one plane or of one plane's rows, whatever the dtype.
 */
#ifndef ENG_DEVICE_CPU_PLANE_H
#define ENG_DEVICE_CPU_PLANE_H

#include "engine/device/cpu/cpu_internal.h"

typedef void cpu_plane_fn(void *ctx, int64_t n, int64_t channel);

/* Calls fn for each plane of v, divided among the threads; `cost`: work of a plane, in elements. */
void cpu_planes_run(const struct eng_view *v, int64_t cost, cpu_plane_fn *fn, void *ctx);

/* Address of plane (n, channel) of v. */
static inline char *cpu_plane(const struct eng_view *v, int64_t n, int64_t channel)
{
    return (char *)v->data + n * cpu_stride(v, 0) + channel * cpu_stride(v, 1);
}

/*
 * Plane (n, channel) as h*w numbers: v itself if it is contiguous and has the type, else converted into buf.
 */
const void *cpu_plane_read(const struct cpu_num *num, const struct eng_view *v, int64_t n,
                           int64_t channel, void *buf);
/*
 * Where to compute the plane: v itself if it is h*w contiguous numbers, else buf, which cpu_plane_write_end stores.
 */
void *cpu_plane_write(const struct cpu_num *num, const struct eng_view *v, int64_t n,
                      int64_t channel, void *buf);
void cpu_plane_write_end(const struct cpu_num *num, const struct eng_view *v, int64_t n,
                         int64_t channel, const void *made);

#endif
