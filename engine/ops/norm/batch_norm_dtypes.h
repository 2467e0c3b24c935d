/*
 * engine/ops/norm/batch_norm_dtypes.h - which combinations of dtypes batch norm accepts.
 *
 * For:            batch_norm.c.
 * Must not know:  which kernels run, except whether they are cuDNN's.
 * Invariant:      what PyTorch refuses is refused here, for the same reason and in the same pass: its native kernels
 *                 refuse the dtypes of running statistics only in backward.
 */
#ifndef ENGINE_OPS_BATCH_NORM_DTYPES_H
#define ENGINE_OPS_BATCH_NORM_DTYPES_H

#include "engine/core/op_internal.h"

/*
 * Checks a call of batch_norm, whose arguments 1 to 4 are weight, bias and the running statistics. Returns false,
 * with the error noted, if PyTorch refuses it.
 */
bool eng_batch_norm_dtypes(struct eng_op_call *c, bool cudnn);
/*
 * Checks the backward pass of PyTorch's native kernels. w, mean, var: NULL if absent. Returns false on failure.
 */
bool eng_batch_norm_backward_dtypes(struct eng *e, const struct eng_tensor *x,
                                    const struct eng_tensor *w, const struct eng_tensor *mean,
                                    const struct eng_tensor *var);

#endif
