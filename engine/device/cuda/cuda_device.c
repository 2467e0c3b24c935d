/*
 * engine/device/cuda/cuda_device.c - see cuda_device.h.
 *
 * Must not know:  kernels.
 * Invariant:      the first call that fails is remembered with its name; nothing is queued after it.
 */
#include "engine/device/cuda/cuda_device.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/target.h"
#include "engine/device/cuda/cuda_internal.h"
#include "engine/device/cuda/cuda_segments.h"
#include "engine/device/plugin.h"
#include "engine/device/workspace_sizes.h"

#define SCRATCH_FIRST (UINT64_C(4) << 20)
#define SCRATCH_ALIGN UINT64_C(256)

struct chunk {
    char *memory;
    uint64_t bytes;
    uint64_t used;
};

static struct {
    struct cuda_api api;
    const struct eng_kernels *host;
    cudaStream_t stream;
    cublasHandle_t blas;
    cudnnHandle_t dnn;
    int *flag;
    struct cuda_segments segments;
    struct chunk *chunks; /* scratch; the last one is in use */
    size_t chunk_count;
    int scratch_depth;
    struct eng_device_workspace workspace; /* set by the engine for the next kernel */
    uint64_t workspace_used;
    void *own_library;   /* cuBLAS's workspace if the engine sets none */
    const void *library; /* the workspace that cuBLAS has now */
    uint64_t library_bytes;
    struct eng_device_info info;
    CUmemAllocationProp granule_prop;
    size_t granule;
    struct vs_error error; /* the first failure; VS_OK: none */
} gpu;

const struct cuda_api *cuda_api_get(void)
{
    return &gpu.api;
}

cudaStream_t cuda_stream(void)
{
    return gpu.stream;
}

cublasHandle_t cuda_blas(void)
{
    return gpu.blas;
}

cudnnHandle_t cuda_dnn(void)
{
    return gpu.dnn;
}

bool cuda_failed(void)
{
    return gpu.error.status != VS_OK;
}

bool cuda_ok(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return true;
    if (!cuda_failed())
        (void)vs_fail(&gpu.error, VS_E_IO, "cuda: %s: %s", what,
                      gpu.api.cudaGetErrorString(status));
    return false;
}

void cuda_fail(const char *what, const char *why)
{
    if (!cuda_failed())
        (void)vs_fail(&gpu.error, VS_E_IO, "cuda: %s: %s", what, why);
}

bool cuda_is_device(const void *memory)
{
    return cuda_segments_has(&gpu.segments, (uint64_t)(uintptr_t)memory);
}

/* ---- the allocator's driver ---- */

/*
 * Exhausted memory is not a failure of the device; any other error of cudaMalloc may come from a kernel that was
 * queued earlier.
 */
static bool malloc_try(void **out, uint64_t bytes)
{
    cudaError_t st = gpu.api.cudaMalloc(out, bytes);

    if (st != cudaErrorMemoryAllocation)
        return cuda_ok(st, "cudaMalloc");
    (void)gpu.api.cudaGetLastError();
    return false;
}

static bool segment_alloc(void *user, uint64_t bytes, uint64_t *out_address)
{
    void *memory = NULL;

    (void)user;
    if (cuda_failed())
        return false;
    if (!malloc_try(&memory, bytes))
        return false;
    *out_address = (uint64_t)(uintptr_t)memory;
    cuda_segments_add(&gpu.segments, *out_address, bytes);
    return true;
}

static void segment_free(void *user, uint64_t address, uint64_t bytes)
{
    (void)user;
    (void)bytes;
    cuda_segments_remove(&gpu.segments, address);
    cuda_ok(gpu.api.cudaStreamSynchronize(gpu.stream), "cudaStreamSynchronize");
    cuda_ok(gpu.api.cudaFree((void *)(uintptr_t)address), "cudaFree");
}

/* The same for the driver API: a lost GPU is not out of memory. */
static bool driver_try(CUresult status, const char *what)
{
    const char *why = NULL;

    if (status == CUDA_SUCCESS || status == CUDA_ERROR_OUT_OF_MEMORY)
        return status == CUDA_SUCCESS;
    if (gpu.api.cuGetErrorString(status, &why) != CUDA_SUCCESS || !why)
        why = "an error without a name";
    cuda_fail(what, why);
    return false;
}

static bool range_reserve(void *user, uint64_t bytes, uint64_t *out_address)
{
    CUdeviceptr address = 0;

    (void)user;
    if (cuda_failed() ||
        !driver_try(gpu.api.cuMemAddressReserve(&address, bytes, 0, 0, 0), "cuMemAddressReserve"))
        return false;
    *out_address = (uint64_t)address;
    return true;
}

static void range_release(void *user, uint64_t address, uint64_t bytes)
{
    (void)user;
    if (gpu.api.cuMemAddressFree((CUdeviceptr)address, bytes) != CUDA_SUCCESS)
        cuda_fail("cuMemAddressFree", "the range is not what was reserved");
}

static void unmap_one(uint64_t address)
{
    cuda_segments_remove(&gpu.segments, address);
    if (gpu.api.cuMemUnmap((CUdeviceptr)address, gpu.granule) != CUDA_SUCCESS)
        cuda_fail("cuMemUnmap", "the range is not what was mapped");
}

/* The handle is released at once: the mapping keeps the memory. */
static bool map_one(uint64_t address)
{
    CUmemAccessDesc access = {.location = gpu.granule_prop.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    bool is_mapped;

    if (!driver_try(gpu.api.cuMemCreate(&handle, gpu.granule, &gpu.granule_prop, 0), "cuMemCreate"))
        return false;
    is_mapped =
        driver_try(gpu.api.cuMemMap((CUdeviceptr)address, gpu.granule, 0, handle, 0), "cuMemMap");
    if (gpu.api.cuMemRelease(handle) != CUDA_SUCCESS)
        cuda_fail("cuMemRelease", "the memory is not what was created");
    if (!is_mapped)
        return false;
    cuda_segments_add(&gpu.segments, address, gpu.granule);
    if (driver_try(gpu.api.cuMemSetAccess((CUdeviceptr)address, gpu.granule, &access, 1),
                   "cuMemSetAccess"))
        return true;
    unmap_one(address);
    return false;
}

static bool range_map(void *user, uint64_t address, uint64_t bytes)
{
    (void)user;
    if (cuda_failed())
        return false;
    for (uint64_t done = 0; done < bytes; done += gpu.granule) {
        if (map_one(address + done))
            continue;
        while (done > 0) {
            done -= gpu.granule;
            unmap_one(address + done);
        }
        return false;
    }
    return true;
}

static void range_unmap(void *user, uint64_t address, uint64_t bytes)
{
    (void)user;
    cuda_ok(gpu.api.cudaStreamSynchronize(gpu.stream), "cudaStreamSynchronize");
    for (uint64_t done = 0; done < bytes; done += gpu.granule)
        unmap_one(address + done);
}

static void mem_info(void *user, uint64_t *out_free_bytes, uint64_t *out_total_bytes)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;

    (void)user;
    cuda_ok(gpu.api.cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    *out_free_bytes = free_bytes;
    *out_total_bytes = total_bytes;
}

/* ---- scratch, copies, launches ---- */

static bool chunk_add(uint64_t bytes)
{
    struct chunk c = {NULL, bytes, 0};
    void *memory = NULL;

    if (cuda_failed() || !malloc_try(&memory, bytes))
        return false;
    c.memory = memory;
    gpu.chunks = vs_realloc(gpu.chunks, gpu.chunk_count + 1, sizeof(*gpu.chunks));
    gpu.chunks[gpu.chunk_count++] = c;
    cuda_segments_add(&gpu.segments, (uint64_t)(uintptr_t)memory, bytes);
    return true;
}

void *cuda_stage_try(uint64_t bytes)
{
    struct chunk *c = gpu.chunk_count ? &gpu.chunks[gpu.chunk_count - 1] : NULL;
    void *out;

    bytes = (bytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
    if (!c || c->bytes - c->used < bytes) {
        uint64_t wanted = c ? 2 * c->bytes : SCRATCH_FIRST;

        if (!chunk_add(wanted > bytes ? wanted : bytes))
            return NULL;
        c = &gpu.chunks[gpu.chunk_count - 1];
    }
    out = c->memory + c->used;
    c->used += bytes;
    return out;
}

void *cuda_stage(uint64_t bytes)
{
    void *out = cuda_stage_try(bytes);

    if (!out)
        cuda_fail("cudaMalloc", "out of memory for what a kernel works in");
    return out;
}

void *cuda_scratch(uint64_t bytes)
{
    char *out = (char *)gpu.workspace.scratch + gpu.workspace_used;

    if (!gpu.workspace.scratch)
        return cuda_stage(bytes);
    VS_ASSERT(gpu.workspace_used + bytes <= gpu.workspace.scratch_bytes);
    gpu.workspace_used += eng_workspace_part(bytes);
    return out;
}

static void workspace_set(const struct eng_device_workspace *workspace)
{
    gpu.workspace = *workspace;
    gpu.workspace_used = 0;
}

const struct eng_conv_way *cuda_workspace_way(void)
{
    return gpu.workspace.way;
}

/*
 * cuBLAS's workspace is the one that the engine has set, or else memory of the device itself; never one that cuBLAS
 * allocates, whose size is not known. Work that still uses the former workspace is earlier in the stream.
 */
bool cuda_library_workspace(void)
{
    void *memory = gpu.workspace.library;
    uint64_t bytes = gpu.workspace.library_bytes;

    if (!memory) {
        bytes = vs_cublas_workspace(gpu.info.capability, true);
        if (!gpu.own_library && !cuda_failed() &&
            !cuda_ok(gpu.api.cudaMalloc(&gpu.own_library, bytes), "cudaMalloc for cuBLAS"))
            gpu.own_library = NULL;
        memory = gpu.own_library;
    }
    if (cuda_failed() || !memory)
        return false;
    if (gpu.library == memory && gpu.library_bytes == bytes)
        return true;
    if (gpu.api.cublasSetWorkspace_v2(gpu.blas, memory, bytes) != CUBLAS_STATUS_SUCCESS) {
        cuda_fail("cublasSetWorkspace", "the memory was refused");
        return false;
    }
    gpu.library = memory;
    gpu.library_bytes = bytes;
    return true;
}

void cuda_scratch_begin(void)
{
    gpu.scratch_depth++;
}

/* The largest chunk is kept for the next call, whose work is queued after this one's. */
void cuda_scratch_end(void)
{
    if (--gpu.scratch_depth > 0)
        return;
    while (gpu.chunk_count > 1) {
        struct chunk c = gpu.chunks[0];

        memmove(gpu.chunks, gpu.chunks + 1, --gpu.chunk_count * sizeof(*gpu.chunks));
        cuda_segments_remove(&gpu.segments, (uint64_t)(uintptr_t)c.memory);
        cuda_ok(gpu.api.cudaStreamSynchronize(gpu.stream), "cudaStreamSynchronize");
        cuda_ok(gpu.api.cudaFree(c.memory), "cudaFree of scratch");
    }
    if (gpu.chunk_count)
        gpu.chunks[0].used = 0;
}

void cuda_copy_in(void *device, const void *host, uint64_t bytes)
{
    if (!cuda_failed() && device)
        cuda_ok(gpu.api.cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, gpu.stream),
                "cudaMemcpyAsync to the device");
    /* a copy from pageable memory has read it on return only if it is small */
    if (!cuda_failed())
        cuda_ok(gpu.api.cudaStreamSynchronize(gpu.stream), "cudaStreamSynchronize");
}

void cuda_copy_out(void *host, const void *device, uint64_t bytes)
{
    if (!cuda_failed() && device &&
        cuda_ok(gpu.api.cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, gpu.stream),
                "cudaMemcpyAsync to the host"))
        cuda_ok(gpu.api.cudaStreamSynchronize(gpu.stream), "a kernel before this copy");
    if (cuda_failed())
        memset(host, 0, bytes);
}

void cuda_launch(const void *kernel, unsigned blocks, unsigned threads, void **args)
{
    dim3 grid = {blocks, 1, 1};
    dim3 block = {threads, 1, 1};

    if (!cuda_failed())
        cuda_ok(gpu.api.cudaLaunchKernel(kernel, grid, block, args, 0, gpu.stream),
                "cudaLaunchKernel");
}

int *cuda_flag(void)
{
    return gpu.flag;
}

bool cuda_flag_raised(void)
{
    int value = 0;

    cuda_copy_out(&value, gpu.flag, sizeof(value));
    if (value && !cuda_failed())
        cuda_ok(gpu.api.cudaMemsetAsync(gpu.flag, 0, sizeof(*gpu.flag), gpu.stream),
                "cudaMemsetAsync");
    return value != 0;
}

const struct eng_kernels *cuda_host(void)
{
    return gpu.host;
}

void *cuda_mem_get(uint64_t bytes)
{
    return gpu.host->mem_get(bytes);
}

void cuda_mem_put(void *data, uint64_t bytes)
{
    gpu.host->mem_put(data, bytes);
}

/* ---- opening and closing ---- */

static enum vs_status wait_all(struct vs_error *err)
{
    if (!cuda_failed())
        cuda_ok(gpu.api.cudaStreamSynchronize(gpu.stream), "a kernel");
    if (!cuda_failed())
        return VS_OK;
    *err = gpu.error;
    return err->status;
}

/* Also closes a device that was only partly opened. */
static void close_all(void)
{
    cuda_watch(&gpu.api, NULL, NULL);
    while (gpu.chunk_count > 0)
        (void)gpu.api.cudaFree(gpu.chunks[--gpu.chunk_count].memory);
    if (gpu.flag)
        (void)gpu.api.cudaFree(gpu.flag);
    if (gpu.own_library)
        (void)gpu.api.cudaFree(gpu.own_library);
    if (gpu.dnn)
        (void)gpu.api.cudnnDestroy(gpu.dnn);
    if (gpu.blas)
        (void)gpu.api.cublasDestroy_v2(gpu.blas);
    if (gpu.stream)
        (void)gpu.api.cudaStreamDestroy(gpu.stream);
    vs_free(gpu.chunks);
    cuda_segments_free(&gpu.segments);
    memset(&gpu, 0, sizeof(gpu));
}

static enum vs_status refuse(struct vs_error *err, const char *what, cudaError_t status)
{
    return vs_fail(err, VS_E_UNSUPPORTED, "cuda: %s: %s", what, gpu.api.cudaGetErrorString(status));
}

static enum vs_status device_info_read(struct eng_device_info *info, struct vs_error *err)
{
    struct cudaDeviceProp prop;
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    int count = 0;
    cudaError_t st;

    memset(&prop, 0, sizeof(prop));
    (void)gpu.api.cudaDriverGetVersion(&info->driver_version);
    (void)gpu.api.cudaRuntimeGetVersion(&info->runtime_version);
    st = gpu.api.cudaGetDeviceCount(&count);
    if (st == cudaErrorInsufficientDriver)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "cuda: the driver is for CUDA %d.%d, older than this program's %d.%d: "
                       "install a newer driver",
                       info->driver_version / 1000, info->driver_version % 1000 / 10,
                       info->runtime_version / 1000, info->runtime_version % 1000 / 10);
    if (st != cudaSuccess)
        return refuse(err, "looking for a GPU", st);
    if (count == 0)
        return vs_fail(err, VS_E_UNSUPPORTED, "cuda: there is no GPU on this machine");
    st = gpu.api.cudaSetDevice(0);
    if (st == cudaSuccess)
        st = gpu.api.cudaGetDeviceProperties(&prop, 0);
    if (st == cudaSuccess)
        st = gpu.api.cudaMemGetInfo(&free_bytes, &total_bytes);
    if (st != cudaSuccess)
        return refuse(err, "opening the GPU", st);
    memcpy(info->name, prop.name, sizeof(info->name) - 1);
    info->capability = prop.major * 10 + prop.minor;
    info->pci[0] = prop.pciDomainID;
    info->pci[1] = prop.pciBusID;
    info->pci[2] = prop.pciDeviceID;
    info->processors = prop.multiProcessorCount;
    info->free_bytes = free_bytes;
    info->total_bytes = total_bytes;
    return VS_OK;
}

static enum vs_status open_libraries(struct vs_error *err)
{
    void *flag = NULL;
    cudaError_t st = gpu.api.cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking);
    cudnnStatus_t dnn;

    if (st == cudaSuccess)
        st = gpu.api.cudaMalloc(&flag, 256);
    gpu.flag = flag;
    if (st == cudaSuccess)
        st = gpu.api.cudaMemsetAsync(gpu.flag, 0, 256, gpu.stream);
    if (st != cudaSuccess)
        return refuse(err, "preparing the GPU", st);
    if (gpu.api.cublasCreate_v2(&gpu.blas) != CUBLAS_STATUS_SUCCESS ||
        gpu.api.cublasSetStream_v2(gpu.blas, gpu.stream) != CUBLAS_STATUS_SUCCESS ||
        gpu.api.cublasSetMathMode(gpu.blas, CUBLAS_DEFAULT_MATH) != CUBLAS_STATUS_SUCCESS)
        return vs_fail(err, VS_E_UNSUPPORTED, "cuda: cuBLAS cannot be opened");
    dnn = gpu.api.cudnnCreate(&gpu.dnn);
    if (dnn == CUDNN_STATUS_SUCCESS)
        dnn = gpu.api.cudnnSetStream(gpu.dnn, gpu.stream);
    if (dnn != CUDNN_STATUS_SUCCESS)
        return vs_fail(err, VS_E_UNSUPPORTED, "cuda: cuDNN cannot be opened: %s",
                       gpu.api.cudnnGetErrorString(dnn));
    gpu.granule_prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    gpu.granule_prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    if (gpu.api.cuMemGetAllocationGranularity(&gpu.granule, &gpu.granule_prop,
                                              CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
        return vs_fail(err, VS_E_UNSUPPORTED, "cuda: this GPU cannot map memory in pieces");
    return VS_OK;
}

static void watch(eng_device_watch_fn *report, void *user)
{
    cuda_watch(&gpu.api, report, user);
}

enum vs_status cuda_device_open_with(const struct cuda_api *api, const struct eng_kernels *host,
                                     struct eng_device *out, struct vs_error *err)
{
    enum vs_status st;

    VS_ASSERT(!gpu.host);
    gpu.api = *api;
    gpu.host = host;
    memset(out, 0, sizeof(*out));
    st = device_info_read(&out->info, err);
    if (!st)
        st = open_libraries(err);
    if (st) {
        close_all();
        return st;
    }
    gpu.info = out->info;
    out->kernels = eng_kernels_cuda();
    out->driver = (struct eng_alloc_driver){.segment_alloc = segment_alloc,
                                            .segment_free = segment_free,
                                            .range_reserve = range_reserve,
                                            .range_release = range_release,
                                            .range_map = range_map,
                                            .range_unmap = range_unmap,
                                            .mem_info = mem_info};
    out->watch = watch;
    out->wait = wait_all;
    out->set_workspace = workspace_set;
    out->conv_ways = cuda_conv_ways;
    out->close = close_all;
    return VS_OK;
}
