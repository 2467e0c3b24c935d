/*
 * engine/device/cuda/cuda_device.h - the one GPU of a process: its stream, where memory lies, scratch for kernels.
 *
 * For:            the files of this folder.
 * Must not know:  tensors, the allocator.
 * Invariant:      all work is queued on one stream, so memory that is given back may be used again at once by what is queued later.
 *
 * Kernels get no context, so there is one device a process, as PyTorch has one current device a thread. The first call that fails is
 * kept; later launches do nothing, and whoever reads a value on the host is told.
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

/* The kernels of the host, for calls all of whose operands lie there. */
const struct eng_kernels *cuda_host(void);

/* Is `memory` in a segment of the device? NULL is not. */
bool cuda_is_device(const void *memory);

/* Queues a launch; args as cudaLaunchKernel takes them. */
void cuda_launch(const void *kernel, unsigned blocks, unsigned threads, void **args);

/*
 * Memory on the device, 256-byte aligned, for the time between a begin and its end; they nest, and the outermost end gives all of it back.
 * scratch: what a kernel works in, of the sizes engine/device/workspace_sizes.h says; taken of the room that the engine brought, where it did.
 * stage: for operands that lie on the host, and small tables; always the device's own.
 */
void cuda_scratch_begin(void);
void *cuda_scratch(uint64_t bytes);
void *cuda_stage(uint64_t bytes);
void cuda_scratch_end(void);

/*
 * c = beta*c + alpha * a b, batch by batch, through cuBLAS; three dims each, all on the device. Rows or columns of a and b are contiguous,
 * rows of c are, and less than 2^31 apart. a and b have one floating dtype, c has it too or is f32.
 */
void cuda_product(const struct eng_view *a, const struct eng_view *b, const struct eng_view *c,
                  double alpha, double beta);

/* Queued copies; `to_host` waits until the bytes are there. */
void cuda_copy_in(void *device, const void *host, uint64_t bytes);
void cuda_copy_out(void *host, const void *device, uint64_t bytes);

/* A word on the device that kernels set to 1 when an index is out of range; raised waits, reads it and clears it. */
int *cuda_flag(void);
bool cuda_flag_raised(void);

/* Memory for what lies on the host beside the device: as the host's kernels have it. */
void *cuda_mem_get(uint64_t bytes);
void cuda_mem_put(void *data, uint64_t bytes);

/* The table. */
const struct eng_kernels *eng_kernels_cuda(void);

#ifdef __cplusplus
}
#endif

#endif
