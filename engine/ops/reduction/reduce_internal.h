/*
 * engine/ops/reduction/reduce_internal.h - helpers of the reductions.
 *
 * For:            reduce.c, which defines them, extrema.c and prod.c.
 * Must not know:  any single reduction.
 * Invariant:      a set of dims is a bit mask.
 */
#ifndef ENGINE_OPS_REDUCE_INTERNAL_H
#define ENGINE_OPS_REDUCE_INTERNAL_H

#include "engine/core/op_internal.h"

/*
 * The forward of c's op: reduces x over `dim` (ints; none: all dims) and sets the result. requested_dtype: the op's
 * argument `dtype`, which may be None; NULL if the op has no such argument.
 */
void eng_reduce(struct eng_op_call *c, struct eng_tensor *x, const struct eng_arg *dim,
                bool keepdim, const struct eng_arg *requested_dtype);
/*
 * Sets *mask to the bit mask of the dims in arg; an empty list means all. Returns false on failure.
 */
bool eng_reduce_dim_mask(struct eng *e, const struct eng_arg *arg, int ndim, uint32_t *mask);
/* Sizes after a reduction over the dims in mask; returns how many. */
int eng_reduce_sizes(const struct eng_tensor *x, uint32_t mask, bool keepdim, int64_t *sizes);
/* A view of out that has the reduced dims of x with size 1. */
struct eng_view eng_reduce_keepdim_view(const struct eng_tensor *out, const struct eng_tensor *x,
                                        uint32_t mask, bool keepdim);
/*
 * t with the dims of mask inserted again with size 1, where the reduction removed them. Takes over the reference to
 * t.
 */
struct eng_tensor *eng_reduce_unsqueezed(struct eng *e, struct eng_tensor *t, uint32_t mask,
                                         int ndim, bool keepdim);
/*
 * For backward: the bit mask of the dims that argument `dim` lists, in a tensor of `ndim` dims; if there are none,
 * all.
 */
uint32_t eng_reduce_mask_of(const struct eng_arg *dim, int ndim);

#endif
