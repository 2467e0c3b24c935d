/*
 * tests/engine/device/cuda/fake_api.c - see fake_api.h.
 */
#include "tests/engine/device/cuda/fake_api.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define GRANULE ((size_t)2 << 20)
#define MOST 65536

struct piece {
    void *memory;
    size_t bytes;
};

static struct {
    uint64_t calls[FAKE_COUNT];
    enum fake_call fails;
    uint64_t nth;
    int has_failed;
    uint64_t all; /* calls of all functions, and after which of them the GPU is gone; 0: never */
    uint64_t lost_after;
    uint64_t left;
    struct piece pieces[MOST];
    size_t piece_count;
} fake;

const char *fake_name(enum fake_call call)
{
    static const char *const NAMES[] = {
#define CUDA_API(library, result, name, args) #name,
#include "engine/device/cuda/cuda_api.def"
#undef CUDA_API
    };

    return NAMES[call];
}

void fake_begin(enum fake_call call, uint64_t nth)
{
    memset(&fake, 0, sizeof(fake));
    fake.fails = call;
    fake.nth = nth;
}

uint64_t fake_calls(enum fake_call call)
{
    return fake.calls[call];
}

int fake_has_failed(void)
{
    return fake.has_failed;
}

uint64_t fake_left(void)
{
    return fake.left;
}

void fake_lose(uint64_t after)
{
    fake_begin(FAKE_COUNT, 0);
    fake.lost_after = after;
}

uint64_t fake_all_calls(void)
{
    return fake.all;
}

/* 0, or 1 where this is the call that fails: an error of every library. */
static int answer(enum fake_call call)
{
    fake.all++;
    if (fake.lost_after && fake.all > fake.lost_after) {
        fake.calls[call]++;
        fake.has_failed = 1;
        return 1;
    }
    if (++fake.calls[call] != fake.nth || call != fake.fails)
        return 0;
    fake.has_failed = 1;
    return 1;
}

#define RESULT(type, name) ((type)answer(FAKE_##name))

/* All of them answer and do no more; those below do. */
#define CUDA_API(library, result, name, args)                                                      \
    static result plain_##name args                                                                \
    {                                                                                              \
        return (result)(intptr_t)answer(FAKE_##name);                                              \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "engine/device/cuda/cuda_api.def"
#pragma GCC diagnostic pop
#undef CUDA_API

/* ---- memory ---- */

static void *memory_take(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    VS_ASSERT(memory != MAP_FAILED && fake.piece_count < MOST);
    fake.pieces[fake.piece_count++] = (struct piece){memory, bytes};
    fake.left++;
    return memory;
}

static void memory_give(void *memory)
{
    size_t i = 0;

    while (i < fake.piece_count && fake.pieces[i].memory != memory)
        i++;
    VS_ASSERT(i < fake.piece_count); /* given back twice, or never taken */
    munmap(memory, fake.pieces[i].bytes);
    fake.pieces[i] = fake.pieces[--fake.piece_count];
    fake.left--;
}

/* What a library is given is memory of the device: anything else would end the run on a real one. */
static void expect_device(const void *memory)
{
    size_t i = 0;

    while (i < fake.piece_count &&
           ((const char *)memory < (const char *)fake.pieces[i].memory ||
            (const char *)memory >= (const char *)fake.pieces[i].memory + fake.pieces[i].bytes))
        i++;
    VS_ASSERT(i < fake.piece_count);
}

static cublasStatus_t do_workspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    expect_device(workspace);
    expect_device((char *)workspace + bytes - 1);
    return RESULT(cublasStatus_t, cublasSetWorkspace_v2);
}

static cublasStatus_t do_product(cublasHandle_t handle, cublasOperation_t op_a,
                                 cublasOperation_t op_b, int m, int n, int k, const void *alpha,
                                 const void *a, cudaDataType a_type, int lda, long long a_stride,
                                 const void *b, cudaDataType b_type, int ldb, long long b_stride,
                                 const void *beta, void *c, cudaDataType c_type, int ldc,
                                 long long c_stride, int batch, cublasComputeType_t compute,
                                 cublasGemmAlgo_t algo)
{
    expect_device(a);
    expect_device(b);
    expect_device(c);
    VS_ASSERT(lda >= (op_a == CUBLAS_OP_N ? m : k) && ldb >= (op_b == CUBLAS_OP_N ? k : n) &&
              ldc >= m);
    return RESULT(cublasStatus_t, cublasGemmStridedBatchedEx);
}

static cudnnStatus_t do_convolve(cudnnHandle_t handle, const void *alpha,
                                 cudnnTensorDescriptor_t x_desc, const void *x,
                                 cudnnFilterDescriptor_t w_desc, const void *w,
                                 cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t algo,
                                 void *workspace, size_t workspace_bytes, const void *beta,
                                 cudnnTensorDescriptor_t y_desc, void *y)
{
    expect_device(x);
    expect_device(w);
    expect_device(y);
    if (workspace_bytes) {
        expect_device(workspace);
        expect_device((char *)workspace + workspace_bytes - 1);
    }
    return RESULT(cudnnStatus_t, cudnnConvolutionForward);
}

static cudaError_t do_malloc(void **out, size_t bytes)
{
    if (answer(FAKE_cudaMalloc))
        return fake.lost_after ? cudaErrorUnknown : cudaErrorMemoryAllocation;
    *out = memory_take(bytes);
    return cudaSuccess;
}

static cudaError_t do_free(void *memory)
{
    memory_give(memory);
    return RESULT(cudaError_t, cudaFree);
}

static cudaError_t do_copy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
                           cudaStream_t stream)
{
    if (answer(FAKE_cudaMemcpyAsync))
        return cudaErrorIllegalAddress;
    memcpy(dst, src, bytes);
    return cudaSuccess;
}

static cudaError_t do_set(void *dst, int value, size_t bytes, cudaStream_t stream)
{
    if (answer(FAKE_cudaMemsetAsync))
        return cudaErrorIllegalAddress;
    memset(dst, value, bytes);
    return cudaSuccess;
}

static CUresult do_driver_string(CUresult error, const char **out)
{
    *out = "an error of the test";
    return CUDA_SUCCESS;
}

static CUresult do_granularity(size_t *out, const CUmemAllocationProp *prop,
                               CUmemAllocationGranularity_flags option)
{
    *out = GRANULE;
    return RESULT(CUresult, cuMemGetAllocationGranularity);
}

static CUresult do_reserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr address,
                           unsigned long long flags)
{
    if (answer(FAKE_cuMemAddressReserve))
        return fake.lost_after ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUdeviceptr)(uintptr_t)memory_take(bytes);
    return CUDA_SUCCESS;
}

static CUresult do_unreserve(CUdeviceptr address, size_t bytes)
{
    memory_give((void *)(uintptr_t)address);
    return RESULT(CUresult, cuMemAddressFree);
}

static CUresult do_create(CUmemGenericAllocationHandle *out, size_t bytes,
                          const CUmemAllocationProp *prop, unsigned long long flags)
{
    if (answer(FAKE_cuMemCreate))
        return fake.lost_after ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_OUT_OF_MEMORY;
    *out = 1;
    fake.left++;
    return CUDA_SUCCESS;
}

static CUresult do_release(CUmemGenericAllocationHandle handle)
{
    fake.left--;
    return RESULT(CUresult, cuMemRelease);
}

static CUresult do_map(CUdeviceptr address, size_t bytes, size_t offset,
                       CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    if (answer(FAKE_cuMemMap))
        return CUDA_ERROR_INVALID_VALUE;
    fake.left++;
    return CUDA_SUCCESS;
}

static CUresult do_unmap(CUdeviceptr address, size_t bytes)
{
    fake.left--;
    return RESULT(CUresult, cuMemUnmap);
}

/* ---- the device ---- */

static cudaError_t do_count(int *count)
{
    *count = 1;
    return RESULT(cudaError_t, cudaGetDeviceCount);
}

static cudaError_t do_properties(struct cudaDeviceProp *out, int device)
{
    memset(out, 0, sizeof(*out));
    strcpy(out->name, "a table of functions");
    out->major = 9;
    out->multiProcessorCount = 132;
    return RESULT(cudaError_t, cudaGetDeviceProperties);
}

static cudaError_t do_mem_info(size_t *free_bytes, size_t *total_bytes)
{
    *free_bytes = (size_t)64 << 30;
    *total_bytes = (size_t)80 << 30;
    return RESULT(cudaError_t, cudaMemGetInfo);
}

static const char *do_error_string(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory" : "an error of the test";
}

static const char *do_dnn_string(cudnnStatus_t status)
{
    return "an error of the test";
}

/* ---- handles and descriptors: counted ---- */

#define TAKES(name, type)                                                                          \
    static plain_result_##name take_##name(type *out)                                              \
    {                                                                                              \
        if (answer(FAKE_##name))                                                                   \
            return (plain_result_##name)1;                                                         \
        *out = (type)(uintptr_t)0x10;                                                              \
        fake.left++;                                                                               \
        return (plain_result_##name)0;                                                             \
    }
#define GIVES(name, type)                                                                          \
    static plain_result_##name give_##name(type handle)                                            \
    {                                                                                              \
        VS_ASSERT(handle);                                                                         \
        fake.left--;                                                                               \
        return (plain_result_##name)answer(FAKE_##name);                                           \
    }
#define CUDA_API(library, result, name, args) typedef result plain_result_##name;
#include "engine/device/cuda/cuda_api.def"
#undef CUDA_API
TAKES(cublasCreate_v2, cublasHandle_t)
GIVES(cublasDestroy_v2, cublasHandle_t)
TAKES(cudnnCreate, cudnnHandle_t)
GIVES(cudnnDestroy, cudnnHandle_t)
TAKES(cudnnCreateTensorDescriptor, cudnnTensorDescriptor_t)
GIVES(cudnnDestroyTensorDescriptor, cudnnTensorDescriptor_t)
TAKES(cudnnCreateFilterDescriptor, cudnnFilterDescriptor_t)
GIVES(cudnnDestroyFilterDescriptor, cudnnFilterDescriptor_t)
TAKES(cudnnCreateConvolutionDescriptor, cudnnConvolutionDescriptor_t)
GIVES(cudnnDestroyConvolutionDescriptor, cudnnConvolutionDescriptor_t)
GIVES(cudaStreamDestroy, cudaStream_t)

static cudaError_t do_stream(cudaStream_t *out, unsigned flags)
{
    if (answer(FAKE_cudaStreamCreateWithFlags))
        return cudaErrorInvalidValue;
    *out = (cudaStream_t)(uintptr_t)0x10;
    fake.left++;
    return cudaSuccess;
}

static cudnnStatus_t do_forward(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t conv,
                                cudnnTensorDescriptor_t y, int wanted, int *found,
                                cudnnConvolutionFwdAlgoPerf_t *out)
{
    memset(out, 0, 3 * sizeof(*out));
    for (int i = 0; i < 3; i++)
        out[i].determinism = CUDNN_DETERMINISTIC;
    out[0].memory = 4096;
    out[1].memory = 8192; /* slower, and it needs more: never taken */
    *found = 3;
    return RESULT(cudnnStatus_t, cudnnGetConvolutionForwardAlgorithm_v7);
}

static cudnnStatus_t do_data(cudnnHandle_t handle, cudnnFilterDescriptor_t w,
                             cudnnTensorDescriptor_t dy, cudnnConvolutionDescriptor_t conv,
                             cudnnTensorDescriptor_t dx, int wanted, int *found,
                             cudnnConvolutionBwdDataAlgoPerf_t *out)
{
    memset(out, 0, sizeof(*out));
    out->determinism = CUDNN_DETERMINISTIC;
    *found = 1;
    return RESULT(cudnnStatus_t, cudnnGetConvolutionBackwardDataAlgorithm_v7);
}

static cudnnStatus_t do_filter(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                               cudnnTensorDescriptor_t dy, cudnnConvolutionDescriptor_t conv,
                               cudnnFilterDescriptor_t dw, int wanted, int *found,
                               cudnnConvolutionBwdFilterAlgoPerf_t *out)
{
    memset(out, 0, sizeof(*out));
    out->determinism = CUDNN_DETERMINISTIC;
    out->memory = 1 << 20;
    *found = 1;
    return RESULT(cudnnStatus_t, cudnnGetConvolutionBackwardFilterAlgorithm_v7);
}

static const struct cuda_api FAKE = {
    .cudaGetDeviceCount = do_count,
    .cudaSetDevice = plain_cudaSetDevice,
    .cudaDriverGetVersion = plain_cudaDriverGetVersion,
    .cudaRuntimeGetVersion = plain_cudaRuntimeGetVersion,
    .cudaGetDeviceProperties = do_properties,
    .cudaMemGetInfo = do_mem_info,
    .cudaMalloc = do_malloc,
    .cudaFree = do_free,
    .cudaMemcpyAsync = do_copy,
    .cudaMemsetAsync = do_set,
    .cudaStreamCreateWithFlags = do_stream,
    .cudaStreamDestroy = give_cudaStreamDestroy,
    .cudaStreamSynchronize = plain_cudaStreamSynchronize,
    .cudaGetLastError = plain_cudaGetLastError,
    .cudaGetErrorString = do_error_string,
    .cudaLaunchKernel = plain_cudaLaunchKernel,
    .cuGetErrorString = do_driver_string,
    .cuMemGetAllocationGranularity = do_granularity,
    .cuMemAddressReserve = do_reserve,
    .cuMemAddressFree = do_unreserve,
    .cuMemCreate = do_create,
    .cuMemRelease = do_release,
    .cuMemMap = do_map,
    .cuMemSetAccess = plain_cuMemSetAccess,
    .cuMemUnmap = do_unmap,
    .cublasCreate_v2 = take_cublasCreate_v2,
    .cublasDestroy_v2 = give_cublasDestroy_v2,
    .cublasSetStream_v2 = plain_cublasSetStream_v2,
    .cublasSetWorkspace_v2 = do_workspace,
    .cublasSetMathMode = plain_cublasSetMathMode,
    .cublasGemmStridedBatchedEx = do_product,
    .cudnnGetErrorString = do_dnn_string,
    .cudnnCreate = take_cudnnCreate,
    .cudnnDestroy = give_cudnnDestroy,
    .cudnnSetStream = plain_cudnnSetStream,
    .cudnnCreateTensorDescriptor = take_cudnnCreateTensorDescriptor,
    .cudnnDestroyTensorDescriptor = give_cudnnDestroyTensorDescriptor,
    .cudnnSetTensorNdDescriptor = plain_cudnnSetTensorNdDescriptor,
    .cudnnCreateFilterDescriptor = take_cudnnCreateFilterDescriptor,
    .cudnnDestroyFilterDescriptor = give_cudnnDestroyFilterDescriptor,
    .cudnnSetFilterNdDescriptor = plain_cudnnSetFilterNdDescriptor,
    .cudnnCreateConvolutionDescriptor = take_cudnnCreateConvolutionDescriptor,
    .cudnnDestroyConvolutionDescriptor = give_cudnnDestroyConvolutionDescriptor,
    .cudnnSetConvolutionNdDescriptor = plain_cudnnSetConvolutionNdDescriptor,
    .cudnnSetConvolutionGroupCount = plain_cudnnSetConvolutionGroupCount,
    .cudnnSetConvolutionMathType = plain_cudnnSetConvolutionMathType,
    .cudnnGetConvolutionForwardAlgorithm_v7 = do_forward,
    .cudnnGetConvolutionBackwardDataAlgorithm_v7 = do_data,
    .cudnnGetConvolutionBackwardFilterAlgorithm_v7 = do_filter,
    .cudnnConvolutionForward = do_convolve,
    .cudnnConvolutionBackwardData = plain_cudnnConvolutionBackwardData,
    .cudnnConvolutionBackwardFilter = plain_cudnnConvolutionBackwardFilter,
};

const struct cuda_api *fake_api(void)
{
    return &FAKE;
}
