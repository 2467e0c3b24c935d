/*
 * tests/tracer/inject/fake/fake_cuda.c - a libcuda.so.1 without a GPU, with the runtime's functions over it: see
 * fake.h.
 */
#include "tests/tracer/inject/fake/fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES 2
#define CONTEXTS_MAX 16
#define BLOCKS_MAX 65536
#define UNIT 512
#define ADDRESS_BASE UINT64_C(0x7f0000000000)

/* What a block is of. */
enum kind { DEVICE = 1, PHYSICAL, HOST };

struct block {
    enum kind kind;
    uint64_t key;
    uint64_t bytes;
    uint32_t device;
    uint32_t context;
    int refs; /* of physical memory: handles and mappings */
};

struct CUctx_st {
    uint32_t id; /* 0: not there */
    uint32_t device;
};

static struct {
    pthread_mutex_t lock;
    fake_listener *listener;
    bool is_initialized;
    struct CUctx_st contexts[CONTEXTS_MAX];
    uint32_t context_count;
    struct block blocks[BLOCKS_MAX];
    size_t block_count;
    uint64_t used[DEVICES];
    uint64_t next_address;
    uint64_t next_handle;
    uint64_t free_address; /* given again first: of the last block that was freed */
    uint64_t free_bytes;
    unsigned calls;
    unsigned correlation;
} cuda = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_address = ADDRESS_BASE, .next_handle = 0x1000};

static _Thread_local CUcontext current;

/* ---- reporting ---- */

void fake_cuda_listen(fake_listener *listener)
{
    cuda.listener = listener;
}

uint32_t fake_cuda_context_id(CUcontext context)
{
    return context->id;
}

uint32_t fake_cuda_context_device(CUcontext context)
{
    return context->device;
}

/* One call, from its begin to its end. */
struct reporting {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId id;
    CUpti_CallbackData data;
    uint64_t correlation;
};

static void report(struct reporting *t, CUpti_ApiCallbackSite site, void *result)
{
    t->data.callbackSite = site;
    t->data.functionReturnValue = result;
    t->data.context = current;
    t->data.contextUid = current ? current->id : 0;
    t->data.correlationData = &t->correlation;
    if (cuda.listener)
        cuda.listener(t->domain, t->id, &t->data);
}

static void report_begin(struct reporting *t, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                         const char *name, const void *params, const char *symbol)
{
    memset(t, 0, sizeof(*t));
    t->domain = domain;
    t->id = id;
    t->data.functionName = name;
    t->data.functionParams = params;
    t->data.symbolName = symbol;
    report(t, CUPTI_API_ENTER, NULL);
}

static int report_end(struct reporting *t, int result)
{
    report(t, CUPTI_API_EXIT, &result);
    return result;
}

/* What FAKE_CUDA_FAIL says of this call: 0 to do it. */
static int result_of(const char *function)
{
    const char *fail = getenv("FAKE_CUDA_FAIL");
    const size_t len = strlen(function);
    int number;
    int result;

    if (!fail || strncmp(fail, function, len) != 0 || fail[len] != ':' ||
        sscanf(fail + len + 1, "%d:%d", &number, &result) != 2)
        return 0;
    return ++cuda.calls == (unsigned)number ? result : 0;
}

#define DRIVER_CALL(name, symbol, params, body)                                                    \
    struct reporting t;                                                                            \
    int result;                                                                                    \
                                                                                                   \
    report_begin(&t, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name, #name, params,    \
                 symbol);                                                                          \
    result = result_of(#name);                                                                     \
    if (!result)                                                                                   \
        result = body;                                                                             \
    return (CUresult)report_end(&t, result)

/* ---- memory ---- */

static uint64_t capacity(void)
{
    const char *bytes = getenv("FAKE_CUDA_BYTES");

    return bytes ? strtoull(bytes, NULL, 10) : UINT64_C(1) << 30;
}

static uint32_t device_now(void)
{
    return current ? current->device : 0;
}

static struct block *block_find(enum kind kind, uint64_t key)
{
    for (size_t i = 0; i < cuda.block_count; i++)
        if (cuda.blocks[i].kind == kind && cuda.blocks[i].key == key)
            return &cuda.blocks[i];
    return NULL;
}

static uint64_t address_next(uint64_t bytes)
{
    uint64_t address = cuda.next_address;

    if (cuda.free_address && cuda.free_bytes >= bytes) {
        address = cuda.free_address;
        cuda.free_address = 0;
        return address;
    }
    cuda.next_address += (bytes + UNIT - 1) / UNIT * UNIT;
    return address;
}

static int block_take(enum kind kind, uint64_t bytes, uint32_t device, uint64_t *key)
{
    int result = CUDA_SUCCESS;

    if (!cuda.is_initialized || !current)
        return cuda.is_initialized ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_NOT_INITIALIZED;
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&cuda.lock);
    if (kind != HOST && cuda.used[device] + bytes > capacity()) {
        result = CUDA_ERROR_OUT_OF_MEMORY;
    } else if (cuda.block_count == BLOCKS_MAX) {
        abort();
    } else {
        *key = kind == PHYSICAL ? cuda.next_handle++ : address_next(bytes);
        cuda.blocks[cuda.block_count++] = (struct block){kind, *key, bytes, device, current->id, 1};
        cuda.used[device] += kind == HOST ? 0 : bytes;
    }
    pthread_mutex_unlock(&cuda.lock);
    return result;
}

static void block_end(struct block *block)
{
    cuda.used[block->device] -= block->kind == HOST ? 0 : block->bytes;
    if (block->kind == DEVICE) {
        cuda.free_address = block->key;
        cuda.free_bytes = block->bytes;
    }
    *block = cuda.blocks[--cuda.block_count];
}

static int block_give(enum kind kind, uint64_t key)
{
    struct block *block;
    int result = CUDA_SUCCESS;

    if (!key)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&cuda.lock);
    block = block_find(kind, key);
    if (!block)
        result = CUDA_ERROR_INVALID_VALUE;
    else if (--block->refs == 0)
        block_end(block);
    pthread_mutex_unlock(&cuda.lock);
    return result;
}

/* A thread may have the lock while another forks. */
static void lock_take(void)
{
    pthread_mutex_lock(&cuda.lock);
}

static void lock_give(void)
{
    pthread_mutex_unlock(&cuda.lock);
}

/* ---- contexts ---- */

CUresult cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library;
    void *function;
    int (*initialize)(void);

    if (cuda.is_initialized || flags)
        return CUDA_SUCCESS;
    cuda.is_initialized = true;
    pthread_atfork(lock_take, lock_give, lock_give);
    library = path ? dlopen(path, RTLD_NOW) : NULL;
    function = library ? dlsym(library, "InitializeInjection") : NULL;
    if (function) {
        memcpy(&initialize, &function, sizeof(initialize));
        initialize();
    }
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    for (uint32_t i = 0; i < cuda.context_count; i++)
        if (cuda.contexts[i].id && cuda.contexts[i].device == (uint32_t)device) {
            *out = &cuda.contexts[i];
            return CUDA_SUCCESS;
        }
    if (device < 0 || device >= DEVICES || cuda.context_count == CONTEXTS_MAX)
        return CUDA_ERROR_INVALID_DEVICE;
    *out = &cuda.contexts[cuda.context_count++];
    **out = (struct CUctx_st){cuda.context_count, (uint32_t)device};
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CUcontext context = NULL;
    CUpti_ResourceData data;
    CUresult result = cuDevicePrimaryCtxRetain(&context, device);

    if (result)
        return result;
    data = (CUpti_ResourceData){.context = context};
    if (cuda.listener)
        cuda.listener(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
                      &data);
    pthread_mutex_lock(&cuda.lock);
    for (size_t i = cuda.block_count; i > 0; i--)
        if (cuda.blocks[i - 1].context == context->id && cuda.blocks[i - 1].kind != PHYSICAL)
            block_end(&cuda.blocks[i - 1]);
    pthread_mutex_unlock(&cuda.lock);
    context->id = 0;
    return CUDA_SUCCESS;
}

/* ---- what the library itself asks ---- */

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    *total_bytes = capacity();
    pthread_mutex_lock(&cuda.lock);
    *free_bytes = *total_bytes - cuda.used[device_now()];
    pthread_mutex_unlock(&cuda.lock);
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice device)
{
    snprintf(name, (size_t)len, "Fake GPU %d", device);
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    *name = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_X";
    return CUDA_SUCCESS;
}

/* ---- functions of the driver ---- */

static int take_device(CUdeviceptr *out, size_t bytes)
{
    uint64_t key = 0;
    int result = block_take(DEVICE, bytes, device_now(), &key);

    if (!result)
        *out = key;
    return result;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    cuMemAlloc_v2_params p = {dptr, bytesize};

    DRIVER_CALL(cuMemAlloc_v2, NULL, &p, take_device(dptr, bytesize));
}

static int take_pitch(const cuMemAllocPitch_v2_params *p)
{
    const size_t pitch = (p->WidthInBytes + UNIT - 1) / UNIT * UNIT;
    int result = take_device(p->dptr, pitch * p->Height);

    if (!result)
        *p->pPitch = pitch;
    return result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                            unsigned ElementSizeBytes)
{
    cuMemAllocPitch_v2_params p = {dptr, pPitch, WidthInBytes, Height, ElementSizeBytes};

    DRIVER_CALL(cuMemAllocPitch_v2, NULL, &p, take_pitch(&p));
}

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned flags)
{
    cuMemAllocManaged_params p = {dptr, bytesize, flags};

    DRIVER_CALL(cuMemAllocManaged, NULL, &p, take_device(dptr, bytesize));
}

CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    cuMemAllocAsync_params p = {dptr, bytesize, hStream};

    DRIVER_CALL(cuMemAllocAsync, NULL, &p, take_device(dptr, bytesize));
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    cuMemFree_v2_params p = {dptr};

    DRIVER_CALL(cuMemFree_v2, NULL, &p, block_give(DEVICE, dptr));
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    cuMemFreeAsync_params p = {dptr, hStream};

    DRIVER_CALL(cuMemFreeAsync, NULL, &p, block_give(DEVICE, dptr));
}

static int pool_create(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    *pool = (CUmemoryPool)(uintptr_t)(0x5000 + (unsigned)props->location.id);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    cuMemPoolCreate_params p = {pool, poolProps};

    DRIVER_CALL(cuMemPoolCreate, NULL, &p, pool_create(pool, poolProps));
}

static int take_from_pool(CUdeviceptr *out, size_t bytes, CUmemoryPool pool)
{
    uint64_t key = 0;
    int result = block_take(DEVICE, bytes, (uint32_t)((uintptr_t)pool - 0x5000), &key);

    if (!result)
        *out = key;
    return result;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream)
{
    cuMemAllocFromPoolAsync_params p = {dptr, bytesize, pool, hStream};

    DRIVER_CALL(cuMemAllocFromPoolAsync, NULL, &p, take_from_pool(dptr, bytesize, pool));
}

static int take_physical(const cuMemCreate_params *p)
{
    uint64_t key = 0;
    int result = block_take(PHYSICAL, p->size, (uint32_t)p->prop->location.id, &key);

    if (!result)
        *p->handle = key;
    return result;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    cuMemCreate_params p = {handle, size, prop, flags};

    DRIVER_CALL(cuMemCreate, NULL, &p, take_physical(&p));
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    cuMemRelease_params p = {handle};

    DRIVER_CALL(cuMemRelease, NULL, &p, block_give(PHYSICAL, handle));
}

/* One handle is mapped at one address at most: enough for the programs here. */
static int map(CUdeviceptr ptr, CUmemGenericAllocationHandle handle)
{
    struct block *block = block_find(PHYSICAL, handle);

    if (!block || !ptr)
        return CUDA_ERROR_INVALID_VALUE;
    block->refs++;
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    cuMemMap_params p = {ptr, size, offset, handle, flags};

    DRIVER_CALL(cuMemMap, NULL, &p, map(ptr, handle));
}

/* The programs choose the handle by the address: both have the same low bits. */
CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    cuMemUnmap_params p = {ptr, size};

    DRIVER_CALL(cuMemUnmap, NULL, &p, block_give(PHYSICAL, 0x1000 + (ptr & 0xff)));
}

static int take_host(void **out, size_t bytes)
{
    uint64_t key = 0;
    int result = block_take(HOST, bytes, device_now(), &key);

    if (!result)
        *out = (void *)(uintptr_t)key;
    return result;
}

CUresult cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    cuMemAllocHost_v2_params p = {pp, bytesize};

    DRIVER_CALL(cuMemAllocHost_v2, NULL, &p, take_host(pp, bytesize));
}

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned Flags)
{
    cuMemHostAlloc_params p = {pp, bytesize, Flags};

    DRIVER_CALL(cuMemHostAlloc, NULL, &p, take_host(pp, bytesize));
}

CUresult cuMemFreeHost(void *ptr)
{
    cuMemFreeHost_params p = {ptr};

    DRIVER_CALL(cuMemFreeHost, NULL, &p, block_give(HOST, (uint64_t)(uintptr_t)ptr));
}

/* A CUfunction is the kernel's name here. */
CUresult cuLaunchKernel(CUfunction f, unsigned gridDimX, unsigned gridDimY, unsigned gridDimZ,
                        unsigned blockDimX, unsigned blockDimY, unsigned blockDimZ,
                        unsigned sharedMemBytes, CUstream hStream, void **kernelParams,
                        void **extra)
{
    cuLaunchKernel_params p = {f,         gridDimX,     gridDimY,  gridDimZ,
                               blockDimX, blockDimY,    blockDimZ, sharedMemBytes,
                               hStream,   kernelParams, extra};
    const void *name = f;

    DRIVER_CALL(cuLaunchKernel, name, &p, CUDA_SUCCESS);
}

CUresult cuStreamSynchronize(CUstream hStream)
{
    cuStreamSynchronize_params p = {hStream};

    DRIVER_CALL(cuStreamSynchronize, NULL, &p, CUDA_SUCCESS);
}

/* ---- functions of the runtime ---- */

static int runtime_malloc(void **out, size_t size)
{
    CUdeviceptr address = 0;
    int result;

    if (getenv("FAKE_CUDA_OPAQUE"))
        result = take_device(&address, size);
    else
        result = (int)cuMemAlloc_v2(&address, size);
    *out = (void *)(uintptr_t)address;
    return result;
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    cudaMalloc_v3020_params p = {devPtr, size};
    struct reporting t;

    report_begin(&t, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020,
                 "cudaMalloc", &p, NULL);
    return (cudaError_t)report_end(&t, runtime_malloc(devPtr, size));
}

cudaError_t cudaFree(void *devPtr)
{
    cudaFree_v3020_params p = {devPtr};
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)devPtr;
    struct reporting t;
    int result;

    report_begin(&t, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020,
                 "cudaFree", &p, NULL);
    result = getenv("FAKE_CUDA_OPAQUE") ? block_give(DEVICE, address) : (int)cuMemFree_v2(address);
    return (cudaError_t)report_end(&t, result);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}
