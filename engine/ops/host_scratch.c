/*
 * engine/ops/host_scratch.c - see host_scratch.h.
 *
 * Must not know:  ops.
 */
#include "engine/ops/host_scratch.h"

struct eng_host_scratch eng_host_scratch_get(const struct eng *e, const int64_t *sizes, int ndim,
                                             enum vs_dtype dtype)
{
    struct eng_host_scratch s = {.v = {.dtype = dtype, .ndim = ndim}};
    uint64_t count = 1;

    for (int d = 0; d < ndim; d++) {
        s.v.sizes[d] = sizes[d];
        count *= (uint64_t)sizes[d];
    }
    eng_contiguous_strides(s.v.sizes, ndim, s.v.strides);
    s.bytes = count * vs_dtype_bytes(dtype);
    s.v.data = e->kernels->mem_get(s.bytes);
    return s;
}

struct eng_host_scratch eng_host_scratch_copy(const struct eng *e, const struct eng_view *v,
                                              enum vs_dtype dtype)
{
    struct eng_host_scratch s = eng_host_scratch_get(e, v->sizes, v->ndim, dtype);

    e->kernels->copy(v, &s.v);
    return s;
}

void eng_host_scratch_put(const struct eng *e, const struct eng_host_scratch *s)
{
    e->kernels->mem_put(s->v.data, s->bytes);
}
