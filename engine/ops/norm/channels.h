/*
 * engine/ops/norm/channels.h - tensors [N, C, ...] as batch norm and group norm need them.
 *
 * For:            batch_norm.c, group_norm.c.
 * Must not know:  which norm asks.
 * Invariant:      a view that is returned shares the tensor's memory.
 */
#ifndef ENGINE_OPS_NORM_CHANNELS_H
#define ENGINE_OPS_NORM_CHANNELS_H

#include "engine/core/op_internal.h"

/* The dtype in which sums and statistics of x are computed: float64 for float64, else float32. */
enum vs_dtype eng_norm_dtype(const struct eng_tensor *x);
/* [N, C, ...] as [N, C, L]; the dimensions after C must be mergeable into one. */
struct eng_view eng_norm_channels(const struct eng_tensor *t);
/*
 * A new tensor of x's shape and dtype, uninitialized, where x is; channels-last (x has 4 dimensions) or row-major. A
 * new reference; NULL, with the error noted in e, on failure.
 */
struct eng_tensor *eng_norm_like(struct eng *e, const struct eng_tensor *x, bool last);
/* Stores t's view in *v and returns v; NULL where t is NULL. */
const struct eng_view *eng_norm_opt(const struct eng_tensor *t, struct eng_view *v);

#endif
