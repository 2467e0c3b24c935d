/*
 * tests/tracer/nvml/fake/fake_nvml.c - a fake of NVIDIA's management library that needs no GPU: each call can be made
 * to fail.
 *
 * For:            test_smi.c and the tests of runs, which name it in VRAMSCOPE_NVML.
 * Must not know:  its callers.
 * Invariant:      every nvmlInit needs an nvmlShutdown; FAKE_NVML_LOG records both.
 *
 * FAKE_NVML_FAILS=NAME:RESULT   this function returns RESULT
 * FAKE_NVML_GPUS=N              number of GPUs (default 1)
 * FAKE_NVML_PROCESSES=N         processes on each GPU: the caller's own pid, then 100, 101, … (default 2)
 * FAKE_NVML_USED=MIB            memory in use at the first query; each further query finds 512 MiB more
 * FAKE_NVML_LOG=FILE            receives one line for each nvmlInit and nvmlShutdown
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/nvml/nvml_api.h"

#define MIB (UINT64_C(1) << 20)
#define TOTAL (143771 * MIB)
#define RESERVED (629 * MIB)
#define STEP (512 * MIB)

#define NVML_API(name, args, is_needed) int name args;
#include "tracer/nvml/nvml_api.def"
#undef NVML_API

static int answer(const char *name)
{
    const char *fails = getenv("FAKE_NVML_FAILS");
    size_t len = strlen(name);

    return fails && !strncmp(fails, name, len) && fails[len] == ':' ? atoi(fails + len + 1) : 0;
}

static unsigned number(const char *variable, unsigned otherwise)
{
    const char *text = getenv(variable);

    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static int say(const char *name)
{
    const char *log = getenv("FAKE_NVML_LOG");
    FILE *f = log ? fopen(log, "a") : NULL;

    if (f) {
        fprintf(f, "%s\n", name);
        fclose(f);
    }
    return answer(name);
}

int nvmlInit_v2(void)
{
    return say("nvmlInit_v2");
}

int nvmlShutdown(void)
{
    return say("nvmlShutdown");
}

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    snprintf(out, size, "580.0");
    return answer("nvmlSystemGetDriverVersion");
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = number("FAKE_NVML_GPUS", 1);
    return answer("nvmlDeviceGetCount_v2");
}

/* A device is its index and 1. The first one is the one that a failure is for. */
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *out)
{
    *out = (nvml_device)(uintptr_t)(index + 1);
    return index ? 0 : answer("nvmlDeviceGetHandleByIndex_v2");
}

int nvmlDeviceGetName(nvml_device device, char *out, unsigned size)
{
    snprintf(out, size, "GPU of a test %u", (unsigned)(uintptr_t)device);
    return answer("nvmlDeviceGetName");
}

int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *out)
{
    memset(out, 0, sizeof(*out));
    out->domain = 2;
    out->bus = 0x65;
    out->device = (unsigned)(uintptr_t)device - 1;
    return answer("nvmlDeviceGetPciInfo_v3");
}

static uint64_t used_now(void)
{
    static uint64_t asked;

    return number("FAKE_NVML_USED", 1000) * MIB + asked++ * STEP;
}

int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *out)
{
    (void)device;
    out->total = TOTAL;
    out->used = used_now() + RESERVED;
    out->free = TOTAL - out->used;
    return answer("nvmlDeviceGetMemoryInfo");
}

int nvmlDeviceGetMemoryInfo_v2(nvml_device device, struct nvml_memory_v2 *out)
{
    int result = answer("nvmlDeviceGetMemoryInfo_v2");

    (void)device;
    if (result)
        return result;
    if (out->version != (40u | 2u << 24)) /* NVML refuses a shape it does not know */
        return 25;
    out->total = TOTAL;
    out->reserved = RESERVED;
    out->used = used_now();
    out->free = TOTAL - RESERVED - out->used;
    return 0;
}

static int list(unsigned *count, struct nvml_process *out)
{
    unsigned have = number("FAKE_NVML_PROCESSES", 2);
    unsigned capacity = *count;

    *count = have;
    if (have > capacity)
        return NVML_TOO_SMALL;
    for (unsigned i = 0; i < have; i++)
        out[i] = (struct nvml_process){i ? 100 + i : (unsigned)getpid(),
                                       i == 1 ? NVML_UNKNOWN : (i + 1) * 100 * MIB, 0, 0};
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned *count,
                                            struct nvml_process *out)
{
    int result = answer("nvmlDeviceGetComputeRunningProcesses_v3");

    (void)device;
    return result ? result : list(count, out);
}

/* Those that compute draw as well. */
int nvmlDeviceGetGraphicsRunningProcesses_v3(nvml_device device, unsigned *count,
                                             struct nvml_process *out)
{
    int result = answer("nvmlDeviceGetGraphicsRunningProcesses_v3");

    (void)device;
    return result ? result : list(count, out);
}

int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size)
{
    snprintf(out, size, "program-%u", pid > 100 && pid < 1000 ? pid : 0);
    return answer("nvmlSystemGetProcessName");
}
