/*
 * standin/runtime/copy.c - the functions of CUDA's runtime about memory: allocation, copies, pools, pointers.
 */
#include <string.h>

#include "standin/runtime/calls.h"
#include "standin/runtime/late.h"
#include "standin/runtime/runtime.h"

/* ---- allocation ---- */

static int cudaMalloc(void **out, size_t size)
{
    return sti_error(sti_memory_take(sti_device(), size, out));
}

static int cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(out, *pitch * height);
}

/* It waits for the device; so does cudaFreeHost. */
static int cudaFree(void *address)
{
    if (address)
        sti_late_sync_all();
    return sti_error(sti_memory_give(address));
}

static int cudaMallocManaged(void **out, size_t size, unsigned flags)
{
    return sti_error(sti_memory_host(size, STI_MEMORY_MANAGED, out));
}

static int cudaMallocHost(void **out, size_t size)
{
    return sti_error(sti_memory_host(size, STI_MEMORY_HOST, out));
}

static int cudaHostAlloc(void **out, size_t size, unsigned flags)
{
    return cudaMallocHost(out, size);
}

static int cudaHostRegister(void *address, size_t size, unsigned flags)
{
    return sti_error(sti_memory_register(address, size));
}

static int cudaHostUnregister(void *address)
{
    return sti_error(sti_memory_unregister(address));
}

static int cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    *device = host;
    return STI_SUCCESS;
}

static int cudaMemGetInfo(size_t *available, size_t *total)
{
    *total = sti_gpu()->capacity_bytes;
    *available = *total - sti_memory_used(sti_device());
    return STI_SUCCESS;
}

/* ---- pools: what is given back is free at once ---- */

static int cudaMallocAsync(void **out, size_t size, void *stream)
{
    const int status = sti_memory_take(sti_device(), size, out);

    if (!status)
        sti_pool_count(sti_device(), (int64_t)size);
    return sti_error(status);
}

static int cudaMallocFromPoolAsync(void **out, size_t size, void *pool, void *stream)
{
    return cudaMallocAsync(out, size, stream);
}

static int cudaFreeAsync(void *address, void *stream)
{
    const struct sti_memory block = sti_memory_of(address);
    const int status = sti_memory_give(address);

    if (!status && address)
        sti_pool_count(block.device, -(int64_t)block.bytes);
    return sti_error(status);
}

/* ---- copies ---- */

static int cudaMemcpy(void *to, const void *from, size_t size, int kind)
{
    sti_late_sync_stream(NULL);
    sti_copy(to, from, size);
    return STI_SUCCESS;
}

static int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream)
{
    sti_copy(to, from, size);
    return STI_SUCCESS;
}

static int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                        size_t width, size_t height, int kind)
{
    sti_copy_rows(to, to_pitch, from, from_pitch, width, height);
    return STI_SUCCESS;
}

static int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                             size_t width, size_t height, int kind, void *stream)
{
    return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

/* A symbol of the device has no memory here: it reads as zeros, and what is written is gone. */
static int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset, int kind)
{
    memset(to, 0, size);
    return STI_SUCCESS;
}

static int cudaMemset(void *address, int value, size_t size)
{
    if (!sti_memory_is_device(address))
        memset(address, value, size);
    return STI_SUCCESS;
}

static int cudaMemsetAsync(void *address, int value, size_t size, void *stream)
{
    return cudaMemset(address, value, size);
}

static int cudaGetSymbolAddress(void **out, const void *symbol)
{
    return sti_error(sti_memory_reserve(1, out));
}

static int cudaGetSymbolSize(size_t *out, const void *symbol)
{
    *out = 1;
    return STI_SUCCESS;
}

/* ---- pointers ---- */

static int cudaPointerGetAttributes(void *out, const void *address)
{
    struct {
        int type;
        int device;
        const void *device_pointer;
        const void *host_pointer;
        long reserved[8];
    } a;
    const struct sti_memory memory = sti_memory_of(address);

    memset(&a, 0, sizeof(a));
    a.type = (int)memory.kind; /* the numbers of enum cudaMemoryType */
    a.device = memory.kind ? memory.device : -2;
    if (memory.kind)
        a.device_pointer = address;
    if (memory.kind == STI_MEMORY_HOST || memory.kind == STI_MEMORY_MANAGED)
        a.host_pointer = address;
    memcpy(out, &a, sti_versions()->cuda >= 13000 ? sizeof(a) : offsetof(__typeof__(a), reserved));
    return STI_SUCCESS;
}

/* ---- between processes: a handle is the address ---- */

#define IPC_HANDLE_BYTES 64

static int cudaIpcGetMemHandle(void *handle, void *address)
{
    memset(handle, 0, IPC_HANDLE_BYTES);
    memcpy(handle, &address, sizeof(address));
    return STI_SUCCESS;
}

struct ipc_handle {
    char bytes[IPC_HANDLE_BYTES];
};

static int cudaIpcOpenMemHandle(void **out, struct ipc_handle handle, unsigned flags)
{
    memcpy(out, handle.bytes, sizeof(*out));
    return STI_SUCCESS;
}

static int cudaIpcGetEventHandle(void *handle, void *event)
{
    memset(handle, 0, IPC_HANDLE_BYTES);
    return STI_SUCCESS;
}

const struct sti_call sti_calls_copy[] = {
    STI_CALL(cudaMalloc),
    STI_CALL(cudaMallocPitch),
    STI_CALL(cudaFree),
    STI_CALL(cudaMallocManaged),
    STI_CALL(cudaMallocHost),
    STI_CALL(cudaHostAlloc),
    {"cudaFreeHost", (sti_function *)cudaFree},
    STI_CALL(cudaHostRegister),
    STI_CALL(cudaHostUnregister),
    STI_CALL(cudaHostGetDevicePointer),
    STI_CALL(cudaMemGetInfo),
    STI_CALL(cudaMallocAsync),
    STI_CALL(cudaMallocFromPoolAsync),
    STI_CALL(cudaFreeAsync),
    STI_CALL(cudaMemcpy),
    STI_CALL(cudaMemcpyAsync),
    STI_CALL(cudaMemcpy2D),
    STI_CALL(cudaMemcpy2DAsync),
    STI_CALL(cudaMemcpyFromSymbol),
    STI_CALL(cudaMemset),
    STI_CALL(cudaMemsetAsync),
    STI_CALL(cudaGetSymbolAddress),
    STI_CALL(cudaGetSymbolSize),
    STI_CALL(cudaPointerGetAttributes),
    STI_CALL(cudaIpcGetMemHandle),
    STI_CALL(cudaIpcOpenMemHandle),
    STI_CALL(cudaIpcGetEventHandle),
    STI_CALLS_END,
};
