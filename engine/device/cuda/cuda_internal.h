/*
 * engine/device/cuda/cuda_internal.h - what the C files of the CUDA device share: the table of functions, handles,
 * failures.
 *
 * For:            this folder, and the test that uses a table of its own.
 * Must not know:  kernels.
 * Invariant:      handles are valid between open and close.
 */
#ifndef ENG_DEVICE_CUDA_INTERNAL_H
#define ENG_DEVICE_CUDA_INTERNAL_H

#include "engine/device/cuda/cuda_api.h"
#include "engine/device/plugin.h"

const struct cuda_api *cuda_api_get(void);
cudaStream_t cuda_stream(void);
cublasHandle_t cuda_blas(void);
cudnnHandle_t cuda_dnn(void);

/* Whether a call has failed since the device was opened. */
bool cuda_failed(void);
/*
 * Whether `status` is success; a failure is remembered. `what`: the name of the call, a constant string.
 */
bool cuda_ok(cudaError_t status, const char *what);
void cuda_fail(const char *what, const char *why);

/*
 * Allocates staging memory; NULL if the device has no such memory free, which is not remembered as a failure.
 */
void *cuda_stage_try(uint64_t bytes);
/* The algorithm of the convolution that is computed next; NULL: the device chooses one. */
const struct eng_conv_way *cuda_workspace_way(void);
/* Sets cuBLAS's workspace. Returns false if a call failed. */
bool cuda_library_workspace(void);
int cuda_conv_ways(enum eng_conv_kind kind, const struct eng_view *x, const struct eng_view *w,
                   const struct eng_view *y, const struct eng_conv2d *p, struct eng_conv_way *out);

/* Opens the GPU through `api`, which is copied. If it fails, everything is freed again. */
VS_MUST_USE enum vs_status cuda_device_open_with(const struct cuda_api *api,
                                                 const struct eng_kernels *host,
                                                 struct eng_device *out, struct vs_error *err);

/*
 * Implements watch of struct eng_device by wrapping functions in `api`; NULL restores the original functions.
 */
void cuda_watch(struct cuda_api *api, eng_device_watch_fn *report, void *user);

#endif
