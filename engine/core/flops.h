/*
 * engine/core/flops.h - the floating-point operations of a call and of a backward node, known before they run.
 *
 * For:            engine/ops/dispatch.c, engine/autograd/backward.c.
 * Must not know:  data, devices.
 * Invariant:      a function of sizes alone, so every device counts alike. A multiplication and an addition are two
 *                 operations. The counts are those of torch.utils.flop_counter, which counts matrix products,
 *                 convolutions and attention, and nothing else; here the products mv and dot count as well. A
 *                 convolution in groups: PyTorch counts the gradient of its weight once per group, which is too often.
 */
#ifndef ENG_FLOPS_H
#define ENG_FLOPS_H

#include <stdint.h>

#include "engine/core/op.h"

struct eng_node;

/* Of a call of a LEAF op. 0: the op is not counted, or its arguments are such that it will fail. */
uint64_t eng_flops_of_call(enum eng_op_id id, const struct eng_arg *args);

/*
 * Of a backward node's own formula, with the gradients that are needed now; ops that the formula calls count
 * themselves. g: incoming gradients as for eng_node_run; NULL or all NULL: there is nothing to compute.
 */
uint64_t eng_flops_of_node(const struct eng_node *n, struct eng_tensor *const *g);

#endif
