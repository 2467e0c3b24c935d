/*
 * engine/device/cpu/cpu_taps.h - from which inputs an output of an upsampling is computed, along one axis.
 *
 * For:            upsampling on every device.
 * Must not know:  planes, dtypes.
 * Invariant:      positions are PyTorch's (aten/src/ATen/native/UpSample.h): nearest takes floor(o*in/out), bilinear
 *                 (o+0.5)*scale-0.5 clamped at 0, or o*(in-1)/(out-1) with align_corners. They never decrease.
 */
#ifndef ENG_DEVICE_CPU_TAPS_H
#define ENG_DEVICE_CPU_TAPS_H

#include "engine/device/cpu/cpu_internal.h"

static inline struct cpu_tap cpu_tap_of(int64_t first, int64_t second, double weight)
{
    struct cpu_tap t;

    t.first = first;
    t.second = second;
    t.weight = weight;
    return t;
}

static inline void cpu_nearest_taps(struct cpu_tap *t, int64_t in, int64_t out)
{
    float scale = (float)in / (float)out; /* in float, as in PyTorch */

    for (int64_t o = 0; o < out; o++) {
        int64_t i = cpu_min((int64_t)((float)o * scale), in - 1);

        t[o] = cpu_tap_of(i, i, 0.0);
    }
}

/* PyTorch computes positions in the type of the values; in float for f16 and bf16. */
static inline void cpu_linear_taps(struct cpu_tap *t, int64_t in, int64_t out, bool align_corners,
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
        t[o] = cpu_tap_of(i, i < in - 1 ? i + 1 : i, pos < 0.0 ? 0.0 : pos > 1.0 ? 1.0 : pos);
    }
}

#endif
