/*
 * tracer/nvml/smi.c - see smi.h: queries NVML.
 *
 * Must not know:  the caller.
 * Invariant:      the library is shut down if it was initialised.
 */
#include "tracer/nvml/smi.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

typedef int processes_fn(nvml_device device, unsigned *count, struct nvml_process *out);

static bool failed(struct smi_gpu *gpu, const char *what, int result)
{
    if (result == NVML_OK)
        return false;
    snprintf(gpu->why, sizeof(gpu->why), "%s: %s (error %d)", what, nvml_result_text(result),
             result);
    return true;
}

static bool read_memory(const struct nvml_api *api, nvml_device device, struct smi_gpu *gpu)
{
    struct nvml_memory_v2 newer = {.version = NVML_MEMORY_V2};
    struct nvml_memory memory_v1 = {0, 0, 0};

    gpu->reserved = SMI_UNKNOWN;
    if (api->nvmlDeviceGetMemoryInfo_v2 &&
        api->nvmlDeviceGetMemoryInfo_v2(device, &newer) == NVML_OK) {
        gpu->total = newer.total;
        gpu->free = newer.free;
        gpu->used = newer.used;
        gpu->reserved = newer.reserved;
        return true;
    }
    if (failed(gpu, "nvmlDeviceGetMemoryInfo", api->nvmlDeviceGetMemoryInfo(device, &memory_v1)))
        return false;
    gpu->total = memory_v1.total;
    gpu->free = memory_v1.free;
    gpu->used = memory_v1.used;
    return true;
}

static void process_add(const struct nvml_api *api, struct smi_gpu *gpu,
                        const struct nvml_process *p)
{
    struct smi_process *out;

    for (size_t i = 0; i < gpu->process_count && i < SMI_PROCESSES_MAX; i++)
        if (gpu->processes[i].pid == p->pid)
            return; /* it uses both compute and graphics */
    if (gpu->process_count++ >= SMI_PROCESSES_MAX)
        return;
    out = &gpu->processes[gpu->process_count - 1];
    out->pid = p->pid;
    out->bytes = p->bytes == NVML_UNKNOWN ? SMI_UNKNOWN : p->bytes;
    if (!api->nvmlSystemGetProcessName ||
        api->nvmlSystemGetProcessName(p->pid, out->name, sizeof(out->name)) != NVML_OK)
        out->name[0] = '\0';
    out->name[sizeof(out->name) - 1] = '\0';
}

/* Read one of the two lists of processes; false if the driver does not report it. */
static bool read_list(const struct nvml_api *api, processes_fn *list, nvml_device device,
                      struct smi_gpu *gpu)
{
    struct nvml_process *found = NULL;
    unsigned capacity = SMI_PROCESSES_MAX;
    unsigned count;
    int result;

    if (!list)
        return false;
    do { /* the list may have grown in between */
        count = capacity;
        found = vs_realloc(found, capacity, sizeof(*found));
        result = list(device, &count, found);
        capacity = 2 * (count > capacity ? count : capacity);
    } while (result == NVML_TOO_SMALL && capacity < (1u << 20));
    for (unsigned i = 0; result == NVML_OK && i < count; i++)
        process_add(api, gpu, &found[i]);
    vs_free(found);
    return result == NVML_OK;
}

static void read_gpu(const struct nvml_api *api, unsigned index, struct smi_gpu *gpu)
{
    nvml_device device = NULL;
    struct nvml_pci pci;

    gpu->index = index;
    gpu->domain = gpu->bus = gpu->device = -1;
    gpu->total = gpu->used = gpu->free = gpu->reserved = SMI_UNKNOWN;
    if (failed(gpu, "nvmlDeviceGetHandleByIndex",
               api->nvmlDeviceGetHandleByIndex_v2(index, &device)))
        return;
    if (api->nvmlDeviceGetName(device, gpu->name, sizeof(gpu->name)) != NVML_OK)
        gpu->name[0] = '\0';
    gpu->name[sizeof(gpu->name) - 1] = '\0';
    memset(&pci, 0, sizeof(pci));
    if (api->nvmlDeviceGetPciInfo_v3 && api->nvmlDeviceGetPciInfo_v3(device, &pci) == NVML_OK) {
        gpu->domain = (int)pci.domain;
        gpu->bus = (int)pci.bus;
        gpu->device = (int)pci.device;
    }
    if (!read_memory(api, device, gpu))
        return;
    gpu->has_processes = read_list(api, api->nvmlDeviceGetComputeRunningProcesses_v3, device, gpu);
    if (gpu->has_processes)
        (void)read_list(api, api->nvmlDeviceGetGraphicsRunningProcesses_v3, device, gpu);
}

enum vs_status smi_read(const struct nvml_api *api, struct smi *out, struct vs_error *err)
{
    unsigned count = 0;
    int result = api->nvmlInit_v2();

    if (result != NVML_OK)
        return vs_fail(err, VS_E_UNSUPPORTED, "nvml: nvmlInit: %s (error %d)",
                       nvml_result_text(result), result);
    result = api->nvmlDeviceGetCount_v2(&count);
    if (result != NVML_OK) {
        (void)api->nvmlShutdown();
        return vs_fail(err, VS_E_UNSUPPORTED, "nvml: nvmlDeviceGetCount: %s (error %d)",
                       nvml_result_text(result), result);
    }
    if (api->nvmlSystemGetDriverVersion(out->driver, sizeof(out->driver)) != NVML_OK)
        out->driver[0] = '\0';
    out->driver[sizeof(out->driver) - 1] = '\0';
    out->count = count < SMI_GPUS_MAX ? count : SMI_GPUS_MAX;
    out->gpus = vs_calloc(out->count + 1, sizeof(*out->gpus));
    for (unsigned i = 0; i < out->count; i++)
        read_gpu(api, i, &out->gpus[i]);
    (void)api->nvmlShutdown();
    return VS_OK;
}

void smi_release(struct smi *smi)
{
    vs_free(smi->gpus);
    memset(smi, 0, sizeof(*smi));
}

const struct smi_gpu *smi_find(const struct smi *smi, int domain, int bus, int device)
{
    if (bus < 0)
        return smi->count == 1 ? &smi->gpus[0] : NULL;
    for (size_t i = 0; i < smi->count; i++) {
        const struct smi_gpu *g = &smi->gpus[i];

        if (g->domain == domain && g->bus == bus && g->device == device)
            return g;
    }
    return NULL;
}

uint64_t smi_process_bytes(const struct smi_gpu *gpu, unsigned pid)
{
    for (size_t i = 0; i < gpu->process_count && i < SMI_PROCESSES_MAX; i++)
        if (gpu->processes[i].pid == pid)
            return gpu->processes[i].bytes;
    return SMI_UNKNOWN;
}
