/*
 * engine/device/cuda/cuda_internal.h - what the C files of the CUDA device share: the table of functions, handles, failures.
 *
 * For:            this folder, and the test that puts its own table in.
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

/* Has a call failed since the device was opened? */
bool cuda_failed(void);
/* False, and the failure kept, where status is one. `what` is a constant string: the call. */
bool cuda_ok(cudaError_t status, const char *what);
void cuda_fail(const char *what, const char *why);

/* NULL where there is no such memory to be had; no failure. */
void *cuda_stage_try(uint64_t bytes);
/* The way of the convolution that is computed next; NULL: it has to choose one itself. */
const struct eng_conv_way *cuda_workspace_way(void);
/* What cuBLAS works in is given to it. False: a call failed. */
bool cuda_library_workspace(void);
int cuda_conv_ways(enum eng_conv_kind kind, const struct eng_view *x, const struct eng_view *w,
                   const struct eng_view *y, const struct eng_conv2d *p, struct eng_conv_way *out);

/* Opens the GPU through `api`, which is copied. Everything taken is given back where it fails. */
VS_MUST_USE enum vs_status cuda_device_open_with(const struct cuda_api *api,
                                                 const struct eng_kernels *host,
                                                 struct eng_device *out, struct vs_error *err);

/* See struct eng_device; the watcher stands in `api`. NULL, where there is one: the table is as it was. */
void cuda_watch(struct cuda_api *api, eng_device_watch_fn *tell, void *user);

#endif
