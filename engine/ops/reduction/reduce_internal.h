/*
 * engine/ops/reduction/reduce_internal.h - what the reductions share.
 *
 * For:            reduce.c, which has it, extrema.c and prod.c.
 * Must not know:  any single reduction.
 * Invariant:      a set of dims is a bit mask.
 */
#ifndef ENGINE_OPS_REDUCE_INTERNAL_H
#define ENGINE_OPS_REDUCE_INTERNAL_H

#include "engine/core/op_internal.h"

/*
 * The forward of c's op, a reduction of x over `dim` (ints; none: all dims): gives the result. requested_dtype: the
 * argument `dtype` of the op, which may be None; NULL where it has none.
 */
void eng_reduce(struct eng_op_call *c, struct eng_tensor *x, const struct eng_arg *dim,
                bool keepdim, const struct eng_arg *requested_dtype);
/* Bit mask of dims; an empty list means all. False: failed. */
bool eng_reduce_dim_mask(struct eng *e, const struct eng_arg *arg, int ndim, uint32_t *mask);
/* Sizes after reducing the dims of mask; how many there are. */
int eng_reduce_sizes(const struct eng_tensor *x, uint32_t mask, bool keepdim, int64_t *sizes);
/* out seen with size-1 dims where x was reduced. */
struct eng_view eng_reduce_keepdim_view(const struct eng_tensor *out, const struct eng_tensor *x,
                                        uint32_t mask, bool keepdim);
/* t with size-1 dims put back where the reduction over the dims of mask took them. Takes over t. */
struct eng_tensor *eng_reduce_unsqueezed(struct eng *e, struct eng_tensor *t, uint32_t mask,
                                         int ndim, bool keepdim);
/* In backward: the dims of a tensor of `ndim` that argument `dim` lists, as a bit mask; none given means all. */
uint32_t eng_reduce_mask_of(const struct eng_arg *dim, int ndim);

#endif
