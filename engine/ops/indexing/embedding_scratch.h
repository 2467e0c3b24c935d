/*
 * engine/ops/indexing/embedding_scratch.h - what PyTorch's kernels allocate for the gradient of a table of embeddings.
 *
 * For:            gather.c (embedding), embedding_bag.c.
 * Must not know:  values.
 * Invariant:      tensors of category `workspace`, in PyTorch's order and sizes; measured without a device, see
 *                 docs/internals/oracle-findings.md.
 *
 * n: number of indices; rows, width: the table's sizes. Called for indices on the device.
 */
#ifndef ENG_OPS_EMBEDDING_SCRATCH_H
#define ENG_OPS_EMBEDDING_SCRATCH_H

#include "engine/core/engine_internal.h"

/* Before the table: sorted and original positions, which the caller releases; and a range. */
void eng_embedding_sort(struct eng *e, int64_t n, int64_t rows, struct eng_tensor **kept);
/* How often each row is read; the caller releases it. */
struct eng_tensor *eng_embedding_frequency(struct eng *e, int64_t n);
/* After the table: where each row's segment begins, and buffers of segments and partial segments. */
void eng_embedding_segments(struct eng *e, int64_t n, int64_t rows, int64_t width,
                            enum vs_dtype dtype);

#endif
