/*
 * engine/device/cpu/cpu_norm.h - helpers of the normalisation kernels.
 *
 * For:            cpu_norm_*.c.
 * Must not know:  which normalisation.
 * Invariant:      statistics are sums in double over rows in a fixed order.
 */
#ifndef ENG_DEVICE_CPU_NORM_H
#define ENG_DEVICE_CPU_NORM_H

#include "engine/device/cpu/cpu_internal.h"

/* Element i of a vector of any floating dtype; `absent` if v is NULL. */
static inline double cpu_vec_get(const struct eng_view *v, int64_t i, double absent)
{
    return v ? cpu_get_f64(v->dtype, (const char *)v->data + i * cpu_stride(v, 0)) : absent;
}

static inline void cpu_vec_set(const struct eng_view *v, int64_t i, double value)
{
    cpu_set_f64(v->dtype, (char *)v->data + i * cpu_stride(v, 0), value);
}

/*
 * A vector as n numbers: the vector itself if it is contiguous and has the type, else a copy in a buffer; NULL if
 * there is none.
 */
struct cpu_vec {
    const void *p;
    void *buf;
    uint64_t bytes;
};
struct cpu_vec cpu_vec_open(const struct cpu_num *num, const struct eng_view *v);
void cpu_vec_close(struct cpu_vec *vec);

#endif
