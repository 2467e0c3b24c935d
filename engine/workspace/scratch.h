/*
 * engine/workspace/scratch.h - memory that PyTorch's libraries and kernels take from the caching allocator in addition
 * to tensors, on a given GPU.
 *
 * For:            ops: each calls the function for its kind of work, at the right point among its allocations.
 * Must not know:  ops, the owners of tensors.
 * Invariant:      without a target nothing here allocates, except for matrix products on a real GPU. All of it is of
 *                 category `workspace`, has no tensor, and is released before the op continues, except the workspaces
 *                 that cuBLAS keeps.
 *
 * Sizes are those of PyTorch's launch code (CUDABlas, Reduce.cuh, CUB), which are functions of shapes and of the
 * device; docs/internals/target.md says how they were checked. What cannot be known without the device (cuDNN's
 * workspaces) is listed in base/unmodelled.def.
 */
#ifndef ENG_SCRATCH_H
#define ENG_SCRATCH_H

#include "base/target.h"
#include "engine/core/engine_internal.h"

/* Multiprocessors of the target; without one, those of the device measured in docs/internals/oracle-findings.md. */
int eng_scratch_processors(const struct eng *e);

/*
 * Allocates the workspace of a matrix product, as the toggle `workspace` says; to be called after the output was
 * allocated. is_lt: the product uses cuBLASLt (addmm with a bias). Returns what the caller releases after the product
 * (NULL: nothing); *out is the workspace to be used. The sizes are those of the target, or of the device that runs or
 * is repeated (engine/workspace/workspace.h).
 */
struct eng_storage *eng_scratch_gemm(struct eng *e, bool is_lt, struct eng_storage **out);
/* Releases the workspaces that are kept, at the end of the run. */
void eng_scratch_release(struct eng *e);

/* What a reduction kernel carries from element to element, which decides the size; named like the kernels. */
enum eng_scratch_reduce {
    ENG_SR_SUM,     /* sum, mean, product, norm: float for the half types */
    ENG_SR_VALUE,   /* maximum and minimum without index, any, all: the type itself */
    ENG_SR_INDEXED, /* a value and an int64 index */
    ENG_SR_WELFORD, /* variance */
};

/*
 * The buffer and semaphores of a reduction of `x` over the dims in the bit mask `mask` into `out` (as the op returns
 * it, see keepdim); allocated only where the kernel splits one output over several blocks. To be called after the
 * outputs were allocated. Does nothing for host tensors.
 */
void eng_scratch_reduce(struct eng *e, enum eng_scratch_reduce kind, const struct eng_tensor *x,
                        const struct eng_tensor *out, uint32_t mask, bool keepdim);

/*
 * CUB's temporary storage on the device. sort: pairs of int64 values by keys from 0 to `largest`; unique: the first of
 * equal neighbours (its keys are written to a buffer that is not read); scan: running sums of `dtype`.
 */
void eng_scratch_sort(struct eng *e, uint64_t items, int64_t largest);
/*
 * sort() of lines of more than 4,096 elements. CUB's storage for keys of less than four bytes is not known and left
 * out.
 */
void eng_scratch_sort_lines(struct eng *e, uint64_t lines, uint64_t length, enum vs_dtype dtype);
void eng_scratch_unique(struct eng *e, uint64_t items);
void eng_scratch_scan(struct eng *e, uint64_t items, enum vs_dtype dtype);
/*
 * nonzero() of a tensor without non-zero elements. The storage for counting assumes that the kernel's blocks fill the
 * device.
 */
void eng_scratch_nonzero(struct eng *e, uint64_t items);

#endif
