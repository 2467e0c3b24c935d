/*
 * standin/runtime/nvml.c - NVML: the simulated devices, and their memory.
 *
 * A device's handle is one more than its number.
 */
#include <stdio.h>
#include <string.h>

#include "standin/runtime/calls.h"
#include "standin/runtime/runtime.h"

enum { NVML_INVALID_ARGUMENT = 2, NVML_INSUFFICIENT_SIZE = 7 };

static int device_of(const void *handle)
{
    return (int)((uintptr_t)handle - 1);
}

static int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = (unsigned)sti_gpu()->count;
    return STI_SUCCESS;
}

static int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    if (index >= (unsigned)sti_gpu()->count)
        return NVML_INVALID_ARGUMENT;
    *device = (void *)(uintptr_t)(index + 1);
    return STI_SUCCESS;
}

/* "GPU-56565656-…", its last byte the device's number, as cuDeviceGetUuid says it. */
static int nvmlDeviceGetUUID(const void *device, char *out, unsigned len)
{
    if (len < 41)
        return NVML_INSUFFICIENT_SIZE;
    snprintf(out, len, "GPU-56565656-5656-5656-5656-5656565656%02x",
             (unsigned)device_of(device) & 255);
    return STI_SUCCESS;
}

static int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    unsigned number = 0;

    if (strlen(uuid) < 40 || sscanf(uuid + 38, "%2x", &number) != 1)
        return NVML_INVALID_ARGUMENT;
    return nvmlDeviceGetHandleByIndex_v2(number, device);
}

static int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device)
{
    unsigned bus = 0;

    if (sscanf(id, "%*x:%x:", &bus) != 1 || !bus)
        return NVML_INVALID_ARGUMENT;
    return nvmlDeviceGetHandleByIndex_v2(bus - 1, device);
}

static int nvmlDeviceGetIndex(const void *device, unsigned *index)
{
    *index = (unsigned)device_of(device);
    return STI_SUCCESS;
}

static int nvmlDeviceGetName(const void *device, char *out, unsigned len)
{
    snprintf(out, len, "%s", sti_gpu()->title);
    return STI_SUCCESS;
}

/* nvmlMemory_t: total, free, used */
static int nvmlDeviceGetMemoryInfo(const void *device, unsigned long long *out)
{
    out[0] = sti_gpu()->capacity_bytes;
    out[2] = sti_memory_used(device_of(device));
    out[1] = out[0] - out[2];
    return STI_SUCCESS;
}

static int nvmlDeviceGetComputeRunningProcesses(const void *device, unsigned *count, void *out)
{
    *count = 0;
    return STI_SUCCESS;
}

static int nvmlDeviceGetCudaComputeCapability(const void *device, int *major, int *minor)
{
    *major = sti_gpu()->capability / 10;
    *minor = sti_gpu()->capability % 10;
    return STI_SUCCESS;
}

/* Utilisation, temperature, power, clocks: of an idle device. */
static int nvmlDeviceGetUtilizationRates(const void *device, unsigned *out)
{
    out[0] = out[1] = 0;
    return STI_SUCCESS;
}

static int nvmlDeviceGetTemperature(const void *device, int sensor, unsigned *out)
{
    *out = 30;
    return STI_SUCCESS;
}

static int nvmlDeviceGetPowerUsage(const void *device, unsigned *out)
{
    *out = 0;
    return STI_SUCCESS;
}

static int nvmlSystemGetCudaDriverVersion(int *version)
{
    *version = sti_versions()->cuda;
    return STI_SUCCESS;
}

static int nvmlSystemGetDriverVersion(char *out, unsigned len)
{
    snprintf(out, len, "played");
    return STI_SUCCESS;
}

static const char *nvmlErrorString(int status)
{
    return status ? "refused by vramscope's stand-in for a GPU" : "success";
}

const struct sti_call sti_calls_nvml[] = {
    STI_CALL(nvmlDeviceGetCount_v2),
    {"nvmlDeviceGetCount", (sti_function *)nvmlDeviceGetCount_v2},
    STI_CALL(nvmlDeviceGetHandleByIndex_v2),
    {"nvmlDeviceGetHandleByIndex", (sti_function *)nvmlDeviceGetHandleByIndex_v2},
    STI_CALL(nvmlDeviceGetUUID),
    STI_CALL(nvmlDeviceGetHandleByUUID),
    STI_CALL(nvmlDeviceGetHandleByPciBusId_v2),
    STI_CALL(nvmlDeviceGetIndex),
    STI_CALL(nvmlDeviceGetName),
    STI_CALL(nvmlDeviceGetMemoryInfo),
    STI_CALL(nvmlDeviceGetComputeRunningProcesses),
    {"nvmlDeviceGetComputeRunningProcesses_v2",
     (sti_function *)nvmlDeviceGetComputeRunningProcesses},
    {"nvmlDeviceGetComputeRunningProcesses_v3",
     (sti_function *)nvmlDeviceGetComputeRunningProcesses},
    STI_CALL(nvmlDeviceGetCudaComputeCapability),
    STI_CALL(nvmlDeviceGetUtilizationRates),
    STI_CALL(nvmlDeviceGetTemperature),
    STI_CALL(nvmlDeviceGetPowerUsage),
    {"nvmlSystemGetCudaDriverVersion", (sti_function *)nvmlSystemGetCudaDriverVersion},
    {"nvmlSystemGetCudaDriverVersion_v2", (sti_function *)nvmlSystemGetCudaDriverVersion},
    STI_CALL(nvmlSystemGetDriverVersion),
    STI_CALL(nvmlErrorString),
    STI_CALLS_END,
};
