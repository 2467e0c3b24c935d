/*
 * standin/runtime/driver.c - the driver's functions: devices, contexts, pointers, and looking functions up by name.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "standin/family.h"
#include "standin/runtime/calls.h"
#include "standin/runtime/loader.h"
#include "standin/runtime/runtime.h"
#include "standin/runtime/unknown.h"

/* ---- devices ---- */

static int cuDriverGetVersion(int *version)
{
    *version = sti_versions()->cuda;
    return STI_SUCCESS;
}

static int cuDeviceGetCount(int *count)
{
    *count = sti_gpu()->count;
    return STI_SUCCESS;
}

static int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal >= 0 && ordinal < sti_gpu()->count ? STI_SUCCESS : STI_INVALID_DEVICE;
}

static int cuDeviceGetName(char *out, int len, int device)
{
    snprintf(out, (size_t)len, "%s", sti_gpu()->title);
    return STI_SUCCESS;
}

static int cuDeviceGetUuid(char *out, int device)
{
    memset(out, 0x56, 16);
    out[15] = (char)device;
    return STI_SUCCESS;
}

static int cuDeviceTotalMem(size_t *bytes, int device)
{
    *bytes = sti_gpu()->capacity_bytes;
    return STI_SUCCESS;
}

static int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == 33 ? device + 1 : sti_attribute(attribute);
    return STI_SUCCESS;
}

static int cuDeviceComputeCapability(int *major, int *minor, int device)
{
    *major = sti_attribute(75);
    *minor = sti_attribute(76);
    return STI_SUCCESS;
}

/* ---- contexts: each device has one, whose handle is 16 more than its number ---- */

#define CONTEXT_FIRST 16

static void *context_of(int device)
{
    return (void *)(uintptr_t)(device + CONTEXT_FIRST);
}

static int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = context_of(device);
    return STI_SUCCESS;
}

static int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    *flags = 0;
    *active = 1;
    return STI_SUCCESS;
}

static int cuCtxGetCurrent(void **context)
{
    *context = context_of(sti_device());
    return STI_SUCCESS;
}

static int cuCtxSetCurrent(const void *context)
{
    return context ? sti_device_set((int)((uintptr_t)context - CONTEXT_FIRST)) : STI_SUCCESS;
}

static int cuCtxGetDevice(int *device)
{
    *device = sti_device();
    return STI_SUCCESS;
}

static int cuCtxCreate(void **context, unsigned flags, int device)
{
    return cuDevicePrimaryCtxRetain(context, device);
}

static int cuStreamGetCtx(const void *stream, void **context)
{
    return cuCtxGetCurrent(context);
}

static int cuCtxGetApiVersion(const void *context, unsigned *version)
{
    *version = 3020;
    return STI_SUCCESS;
}

/* ---- errors ---- */

static int cuGetErrorString(int error, const char **out)
{
    *out = sti_error_text(error, false);
    return STI_SUCCESS;
}

static int cuGetErrorName(int error, const char **out)
{
    *out = sti_error_text(error, true);
    return STI_SUCCESS;
}

/* ---- pointers ---- */

/* By the numbers of enum CUpointer_attribute; data is a value of the attribute's type. */
static int cuPointerGetAttribute(void *data, int attribute, const void *address)
{
    const struct sti_memory memory = sti_memory_of(address);
    /* the driver's memory types: 1 host, 2 device */
    const unsigned type = memory.kind == STI_MEMORY_DEVICE ? 2 : 1;
    void *context = context_of(memory.device);

    if (!memory.kind)
        return STI_INVALID_VALUE;
    switch (attribute) {
    case 1:
        memcpy(data, &context, sizeof(context));
        return STI_SUCCESS;
    case 2:
        memcpy(data, &type, sizeof(type));
        return STI_SUCCESS;
    case 3:
    case 4:
        memcpy(data, &address, sizeof(address));
        return STI_SUCCESS;
    case 7: /* a number that allocations do not share */
    case 11:
    case 19:
        memcpy(data, &memory.base, sizeof(memory.base));
        return STI_SUCCESS;
    case 8:
        *(unsigned char *)data = memory.kind == STI_MEMORY_MANAGED;
        return STI_SUCCESS;
    case 9:
        memcpy(data, &memory.device, sizeof(memory.device));
        return STI_SUCCESS;
    case 10:
    case 13:
        *(unsigned char *)data = 1;
        return STI_SUCCESS;
    case 12:
    case 18:
        memcpy(data, &memory.bytes, sizeof(memory.bytes));
        return STI_SUCCESS;
    default:
        return STI_NOT_SUPPORTED;
    }
}

static int cuPointerGetAttributes(unsigned count, const int *attributes, void **data,
                                  const void *address)
{
    for (unsigned i = 0; i < count; i++)
        (void)cuPointerGetAttribute(data[i], attributes[i], address);
    return STI_SUCCESS;
}

static int cuMemGetAddressRange(uintptr_t *base, size_t *bytes, const void *address)
{
    const struct sti_memory memory = sti_memory_of(address);

    if (!memory.kind)
        return STI_INVALID_VALUE;
    if (base)
        *base = memory.base;
    if (bytes)
        *bytes = (size_t)memory.bytes;
    return STI_SUCCESS;
}

/* ---- functions by name ---- */

sti_function *sti_driver_find(const char *name)
{
    static const char *const VERSIONS[] = {"_v2", "_v3", "", "_v4"};
    char later[256];
    sti_function *function = NULL;

    for (size_t i = 0; i < sizeof(VERSIONS) / sizeof(VERSIONS[0]) && !function; i++) {
        snprintf(later, sizeof(later), "%s%s", name, VERSIONS[i]);
        function = sti_call_find(later);
    }
    return function;
}

/*
 * status: 0 found, 1 no such symbol. The driver has every name that sounds like one of its functions: whoever looks
 * them up does so for many at once, and calls few. One that is not simulated reports its name
 * and fails when it is called.
 */
static int function_get(const char *name, void *out, int *status)
{
    sti_function *function = sti_driver_find(name);
    void *found = NULL;

    if (function)
        memcpy(&found, &function, sizeof(function));
    else if (sti_family_of(name) == STI_DRIVER)
        found = sti_loader_unknown(name);
    memcpy(out, &found, sizeof(found));
    if (status)
        *status = found ? 0 : 1;
    return found || status ? STI_SUCCESS : STI_NOT_FOUND;
}

static int cuGetProcAddress(const char *name, void *out, int version, uint64_t flags)
{
    return function_get(name, out, NULL);
}

static int cuGetProcAddress_v2(const char *name, void *out, int version, uint64_t flags,
                               int *status)
{
    return function_get(name, out, status);
}

static int cudaGetDriverEntryPoint(const char *name, void *out, unsigned long long flags,
                                   int *status)
{
    return function_get(name, out, status);
}

static int cudaGetDriverEntryPointByVersion(const char *name, void *out, unsigned version,
                                            unsigned long long flags, int *status)
{
    return function_get(name, out, status);
}

/*
 * Tables of functions that NVIDIA does not document. CUDA's runtime asks for them where a library has it linked in, as
 * extensions that nvcc made without PyTorch's builder, and cuDNN. The function is called by a jump from its stub, so
 * the return address is in that library.
 */
static int cuGetExportTable(const void **table, const void *id)
{
    char text[320];
    Dl_info from;
    const char *name = dladdr(__builtin_return_address(0), &from) ? from.dli_fname : "a library";
    const char *slash = strrchr(name, '/');

    snprintf(text, sizeof(text), "cuGetExportTable: %.200s has CUDA's runtime linked in",
             slash ? slash + 1 : name);
    sti_unknown_note("libcuda.so.1", text);
    *table = NULL;
    return STI_NOT_SUPPORTED;
}

const struct sti_call sti_calls_driver[] = {
    STI_CALL(cuDriverGetVersion),
    STI_CALL(cuDeviceGetCount),
    STI_CALL(cuDeviceGet),
    STI_CALL(cuDeviceGetName),
    {"cuDeviceGetUuid", (sti_function *)cuDeviceGetUuid},
    {"cuDeviceGetUuid_v2", (sti_function *)cuDeviceGetUuid},
    {"cuDeviceTotalMem_v2", (sti_function *)cuDeviceTotalMem},
    STI_CALL(cuDeviceGetAttribute),
    STI_CALL(cuDeviceComputeCapability),
    STI_CALL(cuDevicePrimaryCtxRetain),
    STI_CALL(cuDevicePrimaryCtxGetState),
    STI_CALL(cuCtxGetCurrent),
    STI_CALL(cuCtxSetCurrent),
    {"cuCtxPushCurrent_v2", (sti_function *)cuCtxSetCurrent},
    {"cuCtxPopCurrent_v2", (sti_function *)cuCtxGetCurrent},
    STI_CALL(cuCtxGetDevice),
    {"cuCtxCreate_v2", (sti_function *)cuCtxCreate},
    STI_CALL(cuStreamGetCtx),
    STI_CALL(cuCtxGetApiVersion),
    STI_CALL(cuGetErrorString),
    STI_CALL(cuGetErrorName),
    STI_CALL(cuPointerGetAttribute),
    STI_CALL(cuPointerGetAttributes),
    {"cuMemGetAddressRange_v2", (sti_function *)cuMemGetAddressRange},
    STI_CALL(cuGetProcAddress),
    STI_CALL(cuGetProcAddress_v2),
    STI_CALL(cuGetExportTable),
    STI_CALL(cudaGetDriverEntryPoint),
    STI_CALL(cudaGetDriverEntryPointByVersion),
    STI_CALLS_END,
};
