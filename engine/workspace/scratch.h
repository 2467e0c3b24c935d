/*
 * engine/workspace/scratch.h - what libraries and kernels take from the caching allocator beside tensors, on a given GPU.
 *
 * For:            ops: each says which kind of work it does, where in its allocations that comes.
 * Must not know:  ops, tensors' owners.
 * Invariant:      without a target nothing here allocates, but for products on a GPU of our own. Everything taken is of category
 *                 `workspace`, has no tensor, and is given back before the op goes on, save the workspaces that a library keeps for ever.
 *
 * Sizes are those of PyTorch's launch code (CUDABlas, Reduce.cuh, CUB), which are functions of shapes and of the device; how they were checked is in
 * docs/internals/target.md. What cannot be known without the device (cuDNN's workspaces) is in base/unmodelled.def.
 */
#ifndef ENG_SCRATCH_H
#define ENG_SCRATCH_H

#include "base/target.h"
#include "engine/core/engine_internal.h"

/* Multiprocessors of the target; without one, of the device the tables of docs/internals/oracle-findings.md were measured for. */
int eng_scratch_processors(const struct eng *e);

/*
 * The workspace of a matrix product on the device, after its output, by the toggle `workspace`; of cuBLASLt where is_lt (addmm with a bias).
 * Returns what the caller gives back when the product is queued (NULL: nothing); *out is what cuBLAS has to work in. By target, or by the
 * device that runs or is repeated (engine/workspace/workspace.h), the caller of this.
 */
struct eng_storage *eng_scratch_gemm(struct eng *e, bool is_lt, struct eng_storage **out);
/* Lets go of what is kept, when the run is over. */
void eng_scratch_release(struct eng *e);

/* What is carried from element to element of a reduction, for its size; the names are those of the kernels. */
enum eng_scratch_reduce {
    ENG_SR_SUM,     /* sum, mean, product, norm: float for the half types */
    ENG_SR_VALUE,   /* maximum and minimum without index, any, all: the type itself */
    ENG_SR_INDEXED, /* a value and an int64 index */
    ENG_SR_WELFORD, /* variance */
};

/*
 * The buffer and the semaphores of a reduction of `x` over the dims of `mask` into `out` (as the op returns it: with `keepdim` or
 * without the reduced dims), where the kernel spreads one output over several blocks. Comes after the outputs. On the host nothing.
 */
void eng_scratch_reduce(struct eng *e, enum eng_scratch_reduce kind, const struct eng_tensor *x,
                        const struct eng_tensor *out, uint32_t mask, bool keepdim);

/* CUB on the device: sorting pairs of int64 by keys from 0 to `largest`; the first of equal neighbours (its keys
 * go to a buffer that nobody reads); running sums of `dtype`. */
void eng_scratch_sort(struct eng *e, uint64_t items, int64_t largest);
/* sort() of lines of more than 4,096 elements; for keys of under four bytes what CUB takes is not known, and nothing is taken for it. */
void eng_scratch_sort_lines(struct eng *e, uint64_t lines, uint64_t length, enum vs_dtype dtype);
void eng_scratch_unique(struct eng *e, uint64_t items);
void eng_scratch_scan(struct eng *e, uint64_t items, enum vs_dtype dtype);
/* nonzero() that finds nothing; what is taken for counting assumes that the kernel's blocks fill the device. */
void eng_scratch_nonzero(struct eng *e, uint64_t items);

#endif
