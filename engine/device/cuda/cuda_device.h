/*
 * engine/device/cuda/cuda_device.h - the GPU of the process: its stream, its memory ranges, scratch for kernels.
 *
 * For:            the files of this folder.
 * Must not know:  tensors, the allocator.
 * Invariant:      all work is queued on one stream, so freed memory may be reused at once by work that is queued
 *                 later.
 *
 * Kernels have no context argument, so a process has one device (as PyTorch has one current device in each thread).
 * The first call that fails is remembered; later launches do nothing, and functions that return values to the host
 * report the failure.
 */
#ifndef ENG_DEVICE_CUDA_DEVICE_H
#define ENG_DEVICE_CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "engine/device/kernels.h"

/* The host's kernels, for calls whose operands are all on the host. */
const struct eng_kernels *cuda_host(void);

/* Whether `memory` is in a segment of the device. False for NULL. */
bool cuda_is_device(const void *memory);

/* Queues a launch; args as in cudaLaunchKernel. */
void cuda_launch(const void *kernel, unsigned blocks, unsigned threads, void **args);

/*
 * Device memory, 256-byte aligned, that is valid between a begin and its end. The pairs may be nested; the outermost
 * end frees all of it.
 * scratch: for the kernel, with the sizes of engine/device/workspace_sizes.h; part of the workspace that the engine
 * has set, if there is one.
 * stage: for operands that are on the host, and small tables; always allocated by the device itself.
 */
void cuda_scratch_begin(void);
void *cuda_scratch(uint64_t bytes);
void *cuda_stage(uint64_t bytes);
void cuda_scratch_end(void);

/*
 * c = beta*c + alpha * a b for each batch, through cuBLAS; three dims each, all on the device. In a and b rows or
 * columns are contiguous, in c rows; rows are less than 2^31 elements apart. a and b have one floating dtype; c has
 * the same, or f32.
 */
void cuda_product(const struct eng_view *a, const struct eng_view *b, const struct eng_view *c,
                  double alpha, double beta);

/* Queue copies; `to_host` waits until the bytes have arrived. */
void cuda_copy_in(void *device, const void *host, uint64_t bytes);
void cuda_copy_out(void *host, const void *device, uint64_t bytes);

/*
 * An int on the device that kernels set to 1 if an index is out of range. cuda_flag_raised waits, reads and clears
 * it.
 */
int *cuda_flag(void);
bool cuda_flag_raised(void);

/* Host memory for storages that are not on the device; from the host's kernels. */
void *cuda_mem_get(uint64_t bytes);
void cuda_mem_put(void *data, uint64_t bytes);

/* The table of the CUDA device. */
const struct eng_kernels *eng_kernels_cuda(void);

#ifdef __cplusplus
}
#endif

#endif
