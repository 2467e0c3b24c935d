/*
 * tracer/nvml/nvml_api.h - a table of all functions of NVIDIA's management library (NVML) that are called.
 *
 * For:            smi.c, which calls NVML only through this table; tests use a library of their own.
 * Must not know:  what the calls are for.
 * Invariant:      the library is loaded at run time, never linked; after nvml_api_load() no entry is NULL except the
 *                 optional ones.
 */
#ifndef TRC_NVML_API_H
#define TRC_NVML_API_H

#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"

typedef struct nvml_device_opaque *nvml_device;

/* The values of nvmlReturn_t that are distinguished. */
enum nvml_result {
    NVML_OK = 0,
    NVML_NO_PERMISSION = 4,
    NVML_TOO_SMALL = 7,
    NVML_NO_DRIVER = 9,
    NVML_LOST = 15,
    NVML_MISMATCH = 18,
};

/* NVML's value for unknown bytes of a process: in another container's namespace, under MIG, in another driver model. */
#define NVML_UNKNOWN UINT64_MAX

struct nvml_memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

#define NVML_MEMORY_V2 ((unsigned)sizeof(struct nvml_memory_v2) | 2u << 24)
struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total;
    unsigned long long reserved; /* by the driver and the firmware */
    unsigned long long free;
    unsigned long long used;
};

struct nvml_process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance;
    unsigned compute_instance;
};

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned pci_device_id;
    unsigned pci_subsystem_id;
    char bus_id[32];
};

struct nvml_api {
#define NVML_API(name, args, is_needed) int(*name) args;
#include "tracer/nvml/nvml_api.def"
#undef NVML_API
};

/*
 * Fill the table from libnvidia-ml.so.1, which is part of the driver; VRAMSCOPE_NVML names another file. The library
 * stays loaded and is not initialised.
 *
 * VS_E_UNSUPPORTED: there is no such library, or it lacks a required function; the text begins with "nvml: " and says
 * which.
 */
VS_MUST_USE enum vs_status nvml_api_load(struct nvml_api *out, struct vs_error *err);

/* A description of a result. */
const char *nvml_result_text(int result);

#endif
