/*
 * tracer/nvml/smi.h - what nvidia-smi says: the memory of every GPU by the driver's account, and who has it.
 *
 * For:            `vramscope smi`, and the recorder of a run on a GPU.
 * Must not know:  traces, CUDA.
 * Invariant:      what the driver does not say is unknown (SMI_UNKNOWN), never zero; a GPU that fails does not hide the others.
 */
#ifndef TRC_SMI_H
#define TRC_SMI_H

#include <stddef.h>
#include <stdint.h>

#include "tracer/nvml/nvml_api.h"

#define SMI_UNKNOWN UINT64_MAX
#define SMI_GPUS_MAX 64
#define SMI_PROCESSES_MAX 64

/* bytes: SMI_UNKNOWN where the driver does not tell them. name: "" where it does not tell that. */
struct smi_process {
    unsigned pid;
    uint64_t bytes;
    char name[128];
};

/*
 * why               this GPU could not be asked, and nothing but index is known; "" where it could
 * domain, bus, device  where it sits; -1: not known
 * total, used, free by the driver's account. used is the number that nvidia-smi prints: of all processes together
 * reserved          kept by the driver and the firmware; SMI_UNKNOWN with older drivers
 * has_processes     the list is known, and may be empty. The first SMI_PROCESSES_MAX of process_count are in it
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
 * Asks for everything. Starts the library and shuts it down again. Zero-initialise `out`; release it.
 *
 * VS_E_UNSUPPORTED: the library cannot be started, or does not say how many GPUs there are; the text says why.
 */
VS_MUST_USE enum vs_status smi_read(const struct nvml_api *api, struct smi *out,
                                    struct vs_error *err);
void smi_release(struct smi *smi);

/* The GPU at this place; where the place is not known (-1) and there is one GPU, that. NULL: none. */
const struct smi_gpu *smi_find(const struct smi *smi, int domain, int bus, int device);
/* Bytes of a process on a GPU; SMI_UNKNOWN where it is not in the list, or its bytes are not told. */
uint64_t smi_process_bytes(const struct smi_gpu *gpu, unsigned pid);

#endif
