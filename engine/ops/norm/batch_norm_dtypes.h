/*
 * engine/ops/norm/batch_norm_dtypes.h - which dtypes may meet in a batch norm.
 *
 * For:            channel_norm.c.
 * Must not know:  which kernels run, beyond whether they are cuDNN's.
 * Invariant:      what PyTorch refuses is refused here, for the same reason and at the same place: the running statistics of its own
 *                 kernels only in the backward pass.
 */
#ifndef ENGINE_OPS_BATCH_NORM_DTYPES_H
#define ENGINE_OPS_BATCH_NORM_DTYPES_H

#include "engine/core/op_internal.h"

/* A call of batch_norm: arguments 1 to 4 are weight, bias and the running statistics. False: failed. */
bool eng_batch_norm_dtypes(struct eng_op_call *c, bool cudnn);
/* The backward pass of PyTorch's own kernels. w, mean, var: NULL where there is none. False: failed. */
bool eng_batch_norm_backward_dtypes(struct eng *e, const struct eng_tensor *x,
                                    const struct eng_tensor *w, const struct eng_tensor *mean,
                                    const struct eng_tensor *var);

#endif
