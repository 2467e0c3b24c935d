/*
 * standin/runtime/state.c - see runtime.h: the GPU, versions, handles, errors.
 *
 * Invariant:      the GPU does not change once a simulated function has been called.
 */
#include "standin/runtime/runtime.h"

#include <string.h>

/* CUDA's functions have no context to travel in, so what they share is here. */
static struct {
    struct sti_gpu gpu;
    struct sti_versions versions;
    uint64_t handle;
    uint64_t work;
} state;

static _Thread_local struct {
    int error;
    int device;
} thread;

const struct sti_gpu *sti_gpu(void)
{
    return &state.gpu;
}

const struct sti_versions *sti_versions(void)
{
    return &state.versions;
}

void sti_gpu_set(const struct sti_gpu *gpu)
{
    state.gpu = *gpu;
}

void sti_versions_set(const struct sti_versions *versions)
{
    if (versions->cuda)
        state.versions.cuda = versions->cuda;
    if (versions->cudnn)
        state.versions.cudnn = versions->cudnn;
    if (versions->nccl)
        state.versions.nccl = versions->nccl;
}

void *sti_handle(void)
{
    const uint64_t number = __atomic_add_fetch(&state.handle, 16, __ATOMIC_RELAXED);

    return (void *)(uintptr_t)(UINT64_C(0x1000) + number);
}

void sti_work(void)
{
    __atomic_add_fetch(&state.work, 1, __ATOMIC_RELAXED);
}

uint64_t sti_work_count(void)
{
    return __atomic_load_n(&state.work, __ATOMIC_RELAXED);
}

int sti_error(int status)
{
    if (status)
        thread.error = status;
    return status;
}

int sti_error_last(bool clear)
{
    const int status = thread.error;

    if (clear)
        thread.error = STI_SUCCESS;
    return status;
}

int sti_device(void)
{
    return thread.device;
}

int sti_device_set(int device)
{
    if (device < 0 || device >= state.gpu.count)
        return STI_INVALID_DEVICE;
    thread.device = device;
    return STI_SUCCESS;
}
