/*
 * engine/device/cuda/cuda_watch.c - reports the device's allocations and frees to a listener.
 *
 * For:            cuda_device.c.
 * Must not know:  what the memory is for.
 * Invariant:      it replaces three functions of the table, so that no call is missed; without a listener the table
 *                 has the original functions.
 */
#include "engine/device/cuda/cuda_internal.h"

static struct {
    eng_device_watch_fn *report;
    void *user;
    struct cuda_api real;
} watch;

static cudaError_t watched_malloc(void **out, size_t bytes)
{
    cudaError_t status = watch.real.cudaMalloc(out, bytes);

    if (status == cudaSuccess)
        watch.report(watch.user, ENG_DEVICE_TAKEN, (uint64_t)(uintptr_t)*out, bytes);
    return status;
}

static cudaError_t watched_free(void *memory)
{
    cudaError_t status = watch.real.cudaFree(memory);

    if (status == cudaSuccess && memory)
        watch.report(watch.user, ENG_DEVICE_GIVEN, (uint64_t)(uintptr_t)memory, 0);
    return status;
}

static CUresult watched_create(CUmemGenericAllocationHandle *out, size_t bytes,
                               const CUmemAllocationProp *prop, unsigned long long flags)
{
    CUresult status = watch.real.cuMemCreate(out, bytes, prop, flags);

    if (status == CUDA_SUCCESS)
        watch.report(watch.user, ENG_DEVICE_CREATED, 0, bytes);
    return status;
}

void cuda_watch(struct cuda_api *api, eng_device_watch_fn *report, void *user)
{
    if (watch.report)
        *api = watch.real;
    watch.report = report;
    watch.user = user;
    if (!report)
        return;
    watch.real = *api;
    api->cudaMalloc = watched_malloc;
    api->cudaFree = watched_free;
    api->cuMemCreate = watched_create;
}
