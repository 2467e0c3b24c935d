/*
 * tracer/nvml/smi.h - the data of nvidia-smi: memory of every GPU according to the driver, and the processes that use
 * it.
 *
 * For:            `vramscope smi`, and the recording of a run on a GPU.
 * Must not know:  traces, CUDA.
 * Invariant:      a value that the driver does not report is SMI_UNKNOWN, never zero. A failing GPU does not hide the
 *                 others.
 */
#ifndef TRC_SMI_H
#define TRC_SMI_H

#include <stddef.h>
#include <stdint.h>

#include "tracer/nvml/nvml_api.h"

#define SMI_UNKNOWN UINT64_MAX
#define SMI_GPUS_MAX 64
#define SMI_PROCESSES_MAX 64

/* bytes: SMI_UNKNOWN if not reported. name: "" if not reported. */
struct smi_process {
    unsigned pid;
    uint64_t bytes;
    char name[128];
};

/*
 * why               error text if this GPU could not be queried, in which case only the index is known; otherwise ""
 * domain, bus, device  PCI location; -1: unknown
 * total, used, free  according to the driver. used is the number that nvidia-smi prints, for all processes together
 * reserved          by the driver and the firmware; SMI_UNKNOWN with older drivers
 * has_processes     the list is known; it may be empty. It has the first SMI_PROCESSES_MAX of process_count processes
 */
struct smi_gpu {
    unsigned index;
    char why[160];
    char name[96];
    int domain, bus, device;
    uint64_t total, used, free, reserved;
    int has_processes;
    size_t process_count;
    struct smi_process processes[SMI_PROCESSES_MAX];
};

struct smi {
    char driver[80];
    size_t count;
    struct smi_gpu *gpus;
};

/*
 * Query all GPUs. Initialises the library and shuts it down again. Zero-initialise `out`; the caller releases it.
 *
 * VS_E_UNSUPPORTED: the library cannot be initialised, or does not report the number of GPUs; the text says why.
 */
VS_MUST_USE enum vs_status smi_read(const struct nvml_api *api, struct smi *out,
                                    struct vs_error *err);
void smi_release(struct smi *smi);

/* The GPU at this PCI location; if the location is unknown (-1) and there is one GPU, that one. NULL: not found. */
const struct smi_gpu *smi_find(const struct smi *smi, int domain, int bus, int device);
/* Bytes of a process on a GPU; SMI_UNKNOWN if the process is not in the list or its bytes are not reported. */
uint64_t smi_process_bytes(const struct smi_gpu *gpu, unsigned pid);

#endif
