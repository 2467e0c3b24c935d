/*
 * standin/runtime/device.c - the functions of CUDA's runtime about devices, versions and errors.
 */
#include <stdio.h>
#include <string.h>

#include "standin/runtime/calls.h"
#include "standin/runtime/runtime.h"

/* ---- cudaDeviceProp ---- */

/* Its beginning, which CUDA 12 and 13 have in common. */
struct properties_head {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luid_mask;
    size_t total_memory;
    size_t shared_per_block;
    int regs_per_block;
    int warp_size;
    size_t pitch;
    int threads_per_block;
    int threads_dim[3];
    int grid_size[3];
    int clock_rate; /* of CUDA 12; 13 has nothing here */
};

/* What follows in CUDA 13: 1,008 bytes in all. */
struct properties_13 {
    struct properties_head head;
    size_t total_const;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    int processors, integrated, can_map_host;
    int textures[39];
    size_t surface_alignment;
    int concurrent_kernels, ecc;
    int pci_bus, pci_device, pci_domain;
    int tcc, async_engines, unified_addressing;
    int bus_width, l2_cache, persisting_l2, threads_per_processor;
    int stream_priorities, global_l1, local_l1;
    size_t shared_per_processor;
    int regs_per_processor, managed;
    int multi_gpu_board, multi_gpu_group, host_atomics;
    int pageable, concurrent_managed, preemption, host_pointer, cooperative;
    size_t shared_optin;
    int pageable_tables, direct_managed, blocks_per_processor, access_policy;
    size_t reserved_shared;
    int host_register;
    int rest[75];
};

/* And in CUDA 12, which has the mode of the device and others between: 1,032 bytes. */
struct properties_12 {
    struct properties_head head;
    size_t total_const;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    int overlap, processors, timeout, integrated, can_map_host, compute_mode;
    int textures[40];
    size_t surface_alignment;
    int concurrent_kernels, ecc;
    int pci_bus, pci_device, pci_domain;
    int tcc, async_engines, unified_addressing;
    int memory_clock, bus_width, l2_cache, persisting_l2, threads_per_processor;
    int stream_priorities, global_l1, local_l1;
    size_t shared_per_processor;
    int regs_per_processor, managed;
    int multi_gpu_board, multi_gpu_group, host_atomics, single_to_double;
    int pageable, concurrent_managed, preemption, host_pointer, cooperative, cooperative_multi;
    size_t shared_optin;
    int pageable_tables, direct_managed, blocks_per_processor, access_policy;
    size_t reserved_shared;
    int host_register;
    int rest[75];
};

_Static_assert(sizeof(struct properties_13) == 1008, "as cudaDeviceProp of CUDA 13");
_Static_assert(sizeof(struct properties_12) == 1032, "as cudaDeviceProp of CUDA 12");

static void head_fill(struct properties_head *p, int device)
{
    snprintf(p->name, sizeof(p->name), "%s", sti_gpu()->title);
    memset(p->uuid, 0x56, sizeof(p->uuid)); /* devices differ in the last byte */
    p->uuid[15] = (char)device;
    p->total_memory = sti_gpu()->capacity_bytes;
    p->shared_per_block = (size_t)sti_attribute(8);
    p->regs_per_block = sti_attribute(12);
    p->warp_size = sti_attribute(10);
    p->pitch = (size_t)sti_attribute(11);
    p->threads_per_block = sti_attribute(1);
    for (int i = 0; i < 3; i++) {
        p->threads_dim[i] = sti_attribute(2 + i);
        p->grid_size[i] = sti_attribute(5 + i);
    }
}

/* The fields that both layouts have by the same name. */
#define PROPERTIES_FILL(p, device)                                                                 \
    do {                                                                                           \
        memset((p), 0, sizeof(*(p)));                                                              \
        head_fill(&(p)->head, device);                                                             \
        (p)->total_const = (size_t)sti_attribute(9);                                               \
        (p)->major = sti_attribute(75);                                                            \
        (p)->minor = sti_attribute(76);                                                            \
        (p)->texture_alignment = (size_t)sti_attribute(14);                                        \
        (p)->texture_pitch_alignment = (size_t)sti_attribute(51);                                  \
        (p)->processors = sti_attribute(16);                                                       \
        (p)->can_map_host = sti_attribute(19);                                                     \
        (p)->surface_alignment = (size_t)sti_attribute(14);                                        \
        (p)->concurrent_kernels = sti_attribute(31);                                               \
        (p)->pci_bus = (device) + 1;                                                               \
        (p)->async_engines = sti_attribute(40);                                                    \
        (p)->unified_addressing = sti_attribute(41);                                               \
        (p)->l2_cache = sti_attribute(38);                                                         \
        (p)->threads_per_processor = sti_attribute(39);                                            \
        (p)->stream_priorities = sti_attribute(78);                                                \
        (p)->global_l1 = sti_attribute(79);                                                        \
        (p)->local_l1 = sti_attribute(80);                                                         \
        (p)->shared_per_processor = (size_t)sti_attribute(81);                                     \
        (p)->regs_per_processor = sti_attribute(82);                                               \
        (p)->managed = sti_attribute(83);                                                          \
        (p)->concurrent_managed = sti_attribute(89);                                               \
        (p)->preemption = sti_attribute(90);                                                       \
        (p)->cooperative = sti_attribute(95);                                                      \
        (p)->shared_optin = (size_t)sti_attribute(97);                                             \
        (p)->blocks_per_processor = sti_attribute(106);                                            \
        (p)->reserved_shared = (size_t)sti_attribute(111);                                         \
        (p)->host_register = sti_attribute(99);                                                    \
    } while (0)

static bool has_device(int device)
{
    return device >= 0 && device < sti_gpu()->count;
}

static int cudaGetDeviceProperties(void *out, int device)
{
    struct properties_13 p;

    if (!has_device(device))
        return sti_error(STI_INVALID_DEVICE);
    PROPERTIES_FILL(&p, device);
    memcpy(out, &p, sizeof(p));
    return STI_SUCCESS;
}

static int cudaGetDeviceProperties_v2(void *out, int device)
{
    struct properties_12 p;

    if (!has_device(device))
        return sti_error(STI_INVALID_DEVICE);
    PROPERTIES_FILL(&p, device);
    memcpy(out, &p, sizeof(p));
    return STI_SUCCESS;
}

/* ---- devices ---- */

static int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    if (!has_device(device))
        return sti_error(STI_INVALID_DEVICE);
    *value = attribute == 33 ? device + 1 : sti_attribute(attribute);
    return STI_SUCCESS;
}

static int cudaGetDeviceCount(int *count)
{
    *count = sti_gpu()->count;
    return *count ? STI_SUCCESS : sti_error(STI_NO_DEVICE);
}

static int cudaGetDevice(int *device)
{
    *device = sti_device();
    return STI_SUCCESS;
}

static int cudaSetDevice(int device)
{
    return sti_error(sti_device_set(device));
}

static int cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    return has_device(device) ? STI_SUCCESS : sti_error(STI_INVALID_DEVICE);
}

static int cudaDeviceGetPCIBusId(char *out, int len, int device)
{
    if (!has_device(device) || len < 13)
        return sti_error(STI_INVALID_VALUE);
    snprintf(out, (size_t)len, "0000:%02X:00.0", device + 1);
    return STI_SUCCESS;
}

static int cudaDeviceGetByPCIBusId(int *device, const char *id)
{
    unsigned bus = 0;

    if (sscanf(id, "%*x:%x:", &bus) != 1 || !has_device((int)bus - 1))
        return sti_error(STI_INVALID_DEVICE);
    *device = (int)bus - 1;
    return STI_SUCCESS;
}

static int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer && has_device(device) && has_device(peer);
    return STI_SUCCESS;
}

static int cudaDeviceGetP2PAttribute(int *value, int attribute, int device, int peer)
{
    *value = attribute != 1; /* 1 is a rank of performance, 0 the best */
    return STI_SUCCESS;
}

static int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return STI_SUCCESS;
}

static int cudaGetDeviceFlags(unsigned *flags)
{
    *flags = 0;
    return STI_SUCCESS;
}

static int cudaDeviceGetLimit(size_t *value, int limit)
{
    *value = limit == 0 ? 1024 : limit == 1 ? 1 << 20 : 8 << 20; /* stack, printf, heap */
    return STI_SUCCESS;
}

static int cudaDriverGetVersion(int *version)
{
    *version = sti_versions()->cuda;
    return STI_SUCCESS;
}

static int cudaRuntimeGetVersion(int *version)
{
    *version = sti_versions()->cuda;
    return STI_SUCCESS;
}

/* ---- errors ---- */

const char *sti_error_text(int error, bool is_name)
{
    static const struct {
        int error;
        const char *name;
        const char *text;
    } ERRORS[] = {
        {STI_SUCCESS, "cudaSuccess", "no error"},
        {STI_INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
        {STI_OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
        {STI_NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
        {STI_INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
        {STI_NOT_FOUND, "cudaErrorSymbolNotFound", "named symbol not found"},
        {STI_NOT_READY, "cudaErrorNotReady", "device not ready"},
        {STI_LAUNCH_TIMEOUT, "cudaErrorLaunchTimeout",
         "the launch timed out and was terminated (another rank is not there)"},
        {STI_PEER_ALREADY_ENABLED, "cudaErrorPeerAccessAlreadyEnabled",
         "peer access is already enabled"},
        {STI_NOT_SUPPORTED, "cudaErrorNotSupported",
         "operation not supported (by vramscope's stand-in for a GPU)"},
        {STI_CAPTURE_UNSUPPORTED, "cudaErrorStreamCaptureUnsupported",
         "operation not permitted when stream is capturing"},
    };

    for (size_t i = 0; i < sizeof(ERRORS) / sizeof(ERRORS[0]); i++)
        if (ERRORS[i].error == error)
            return is_name ? ERRORS[i].name : ERRORS[i].text;
    return is_name ? "cudaErrorUnknown" : "unknown error";
}

static const char *cudaGetErrorString(int error)
{
    return sti_error_text(error, false);
}

static const char *cudaGetErrorName(int error)
{
    return sti_error_text(error, true);
}

static int cudaGetLastError(void)
{
    return sti_error_last(true);
}

static int cudaPeekAtLastError(void)
{
    return sti_error_last(false);
}

const struct sti_call sti_calls_device[] = {
    STI_CALL(cudaGetDeviceProperties),
    STI_CALL(cudaGetDeviceProperties_v2),
    STI_CALL(cudaDeviceGetAttribute),
    STI_CALL(cudaGetDeviceCount),
    STI_CALL(cudaGetDevice),
    STI_CALL(cudaSetDevice),
    STI_CALL(cudaInitDevice),
    STI_CALL(cudaDeviceGetPCIBusId),
    STI_CALL(cudaDeviceGetByPCIBusId),
    STI_CALL(cudaDeviceCanAccessPeer),
    STI_CALL(cudaDeviceGetP2PAttribute),
    STI_CALL(cudaDeviceGetStreamPriorityRange),
    STI_CALL(cudaGetDeviceFlags),
    STI_CALL(cudaDeviceGetLimit),
    {"cuCtxGetLimit", (sti_function *)cudaDeviceGetLimit},
    STI_CALL(cudaDriverGetVersion),
    STI_CALL(cudaRuntimeGetVersion),
    STI_CALL(cudaGetErrorString),
    STI_CALL(cudaGetErrorName),
    STI_CALL(cudaGetLastError),
    STI_CALL(cudaPeekAtLastError),
    STI_CALLS_END,
};
