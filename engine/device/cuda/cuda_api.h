/*
 * engine/device/cuda/cuda_api.h - the functions of CUDA, cuBLAS and cuDNN that the device calls, as one table.
 *
 * For:            the files of this folder, which call NVIDIA's functions only through it; tests use a table of their
 *                 own.
 * Must not know:  what the calls are for.
 * Invariant:      after cuda_api_load no entry is NULL; if a library is missing it fails and names the library.
 */
#ifndef ENG_DEVICE_CUDA_API_H
#define ENG_DEVICE_CUDA_API_H

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuda_api {
#define CUDA_API(library, result, name, args) result(*name) args;
#include "engine/device/cuda/cuda_api.def"
#undef CUDA_API
};

/*
 * Fills the table. The runtime is linked in; the driver, cuBLAS and cuDNN are searched for by the dynamic linker and
 * then in the folders of VRAMSCOPE_CUDA_LIBS (separated by colons), in the versions that the program was built with.
 *
 * VS_E_UNSUPPORTED: a library or one of its functions is missing; the text says which.
 */
VS_MUST_USE enum vs_status cuda_api_load(struct cuda_api *out, struct vs_error *err);

#ifdef __cplusplus
}
#endif

#endif
