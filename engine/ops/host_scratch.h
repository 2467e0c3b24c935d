/*
 * engine/ops/host_scratch.h - memory on the host for values that an op computes in between.
 *
 * For:            ops whose values are composed of kernels; only where kernels can run.
 * Must not know:  the caching allocator.
 * Invariant:      host memory of the kernels, in no figure and no event.
 */
#ifndef ENG_OPS_HOST_SCRATCH_H
#define ENG_OPS_HOST_SCRATCH_H

#include "engine/core/op_internal.h"

/* A dense view of host memory. */
struct eng_host_scratch {
    struct eng_view v;
    uint64_t bytes;
};
/* sizes[ndim], all at least 1; the values are undefined. Freed by eng_host_scratch_put. */
struct eng_host_scratch eng_host_scratch_get(const struct eng *e, const int64_t *sizes, int ndim,
                                             enum vs_dtype dtype);
/* The same as a copy of v, in `dtype`. */
struct eng_host_scratch eng_host_scratch_copy(const struct eng *e, const struct eng_view *v,
                                              enum vs_dtype dtype);
void eng_host_scratch_put(const struct eng *e, const struct eng_host_scratch *s);

#endif
