/*
 * standin/runtime/driver_memory.c - the driver's functions about memory: plain, and virtual (addresses and physical
 * memory apart, which PyTorch's expandable segments use).
 *
 * Invariant:      physical memory counts as used until its last handle is released and its last mapping is gone.
 */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "standin/runtime/calls.h"
#include "standin/runtime/late.h"
#include "standin/runtime/runtime.h"

#define GRANULARITY ((size_t)2 << 20)

/* ---- plain ---- */

static int cuMemAlloc(void **out, size_t size)
{
    return sti_memory_take(sti_device(), size, out);
}

static int cuMemFree(void *address)
{
    if (address)
        sti_late_sync_all();
    return sti_memory_give(address);
}

static int cuMemHostAlloc(void **out, size_t size, unsigned flags)
{
    return sti_memory_host(size, STI_MEMORY_HOST, out);
}

static int cuMemAllocManaged(void **out, size_t size, unsigned flags)
{
    return sti_memory_host(size, STI_MEMORY_MANAGED, out);
}

static int cuMemGetInfo(size_t *available, size_t *total)
{
    *total = sti_gpu()->capacity_bytes;
    *available = *total - sti_memory_used(sti_device());
    return STI_SUCCESS;
}

static int cuMemcpy(void *to, const void *from, size_t size)
{
    sti_late_sync_stream(NULL);
    sti_copy(to, from, size);
    return STI_SUCCESS;
}

static int cuMemcpyAsync(void *to, const void *from, size_t size, void *stream)
{
    sti_copy(to, from, size);
    return STI_SUCCESS;
}

/* ---- virtual ---- */

/* handles, maps: how often it is held and mapped */
struct physical {
    uint64_t handle;
    uint64_t bytes;
    int device;
    int handles;
    int maps;
};

struct map {
    const char *at;
    uint64_t bytes;
    uint64_t handle;
};

static struct {
    pthread_mutex_t lock;
    struct physical *physicals;
    size_t physical_count, physical_cap;
    struct map *maps;
    size_t map_count, map_cap;
} virtual = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct physical *physical_of(uint64_t handle)
{
    for (size_t i = virtual.physical_count; i-- > 0;)
        if (virtual.physicals[i].handle == handle)
            return &virtual.physicals[i];
    return NULL;
}

/* Change how often it is held and mapped; gone with the last of both. False: there is no such memory. */
static bool physical_change(uint64_t handle, int handles, int maps)
{
    struct physical gone = {0, 0, 0, 0, 0};
    struct physical *p;
    bool is_found;

    pthread_mutex_lock(&virtual.lock);
    p = physical_of(handle);
    is_found = p != NULL;
    if (p) {
        p->handles += handles;
        p->maps += maps;
        if (p->handles <= 0 && p->maps <= 0) {
            gone = *p;
            *p = virtual.physicals[--virtual.physical_count];
        }
    }
    pthread_mutex_unlock(&virtual.lock);
    if (gone.handle)
        sti_memory_release(gone.device, gone.bytes);
    return is_found;
}

static int cuMemGetAllocationGranularity(size_t *out, const void *properties, int option)
{
    *out = GRANULARITY;
    return STI_SUCCESS;
}

/* struct CUmemAllocationProp: type, handle types, then the location: kind and number. */
static int cuMemCreate(uint64_t *handle, size_t size, const int *properties,
                       unsigned long long flags)
{
    const bool is_device = properties[2] == 1;
    const int device = is_device ? properties[3] : sti_device();
    const uint64_t bytes = is_device ? size : 0; /* memory of the host is not the device's */
    int status;

    if (size % GRANULARITY || device < 0 || device >= sti_gpu()->count)
        return STI_INVALID_VALUE;
    status = sti_memory_create(device, bytes);
    if (status)
        return status;
    *handle = (uintptr_t)sti_handle();
    pthread_mutex_lock(&virtual.lock);
    virtual.physicals = vs_grow(virtual.physicals, virtual.physical_count, &virtual.physical_cap,
                                sizeof(*virtual.physicals));
    virtual.physicals[virtual.physical_count++] = (struct physical){*handle, bytes, device, 1, 0};
    pthread_mutex_unlock(&virtual.lock);
    return STI_SUCCESS;
}

static int cuMemRelease(uint64_t handle)
{
    return physical_change(handle, -1, 0) ? STI_SUCCESS : STI_INVALID_VALUE;
}

static int cuMemAddressReserve(void **out, size_t size, size_t alignment, void *wanted,
                               unsigned long long flags)
{
    return sti_memory_reserve(size, out);
}

static int cuMemAddressFree(void *address, size_t size)
{
    return sti_memory_unreserve(address);
}

static int cuMemMap(const char *at, size_t size, size_t offset, uint64_t handle,
                    unsigned long long flags)
{
    if (!physical_change(handle, 0, 1))
        return STI_INVALID_VALUE;
    pthread_mutex_lock(&virtual.lock);
    virtual.maps = vs_grow(virtual.maps, virtual.map_count, &virtual.map_cap,
                           sizeof(*virtual.maps));
    virtual.maps[virtual.map_count++] = (struct map){at, size, handle};
    pthread_mutex_unlock(&virtual.lock);
    return STI_SUCCESS;
}

/* A mapping within `at` to `at + size`, taken out; 0: none is left. */
static uint64_t map_take(const char *at, size_t size)
{
    uint64_t handle = 0;

    pthread_mutex_lock(&virtual.lock);
    for (size_t i = 0; i < virtual.map_count && !handle; i++)
        if (virtual.maps[i].at >= at && virtual.maps[i].at < at + size) {
            handle = virtual.maps[i].handle;
            virtual.maps[i] = virtual.maps[--virtual.map_count];
        }
    pthread_mutex_unlock(&virtual.lock);
    return handle;
}

static int cuMemUnmap(const char *at, size_t size)
{
    uint64_t handle;
    int count = 0;

    while ((handle = map_take(at, size)) != 0) {
        (void)physical_change(handle, 0, -1);
        count++;
    }
    return count ? STI_SUCCESS : STI_INVALID_VALUE;
}

static int cuMemRetainAllocationHandle(uint64_t *out, const char *address)
{
    *out = 0;
    pthread_mutex_lock(&virtual.lock);
    for (size_t i = 0; i < virtual.map_count; i++)
        if (address >= virtual.maps[i].at && address < virtual.maps[i].at + virtual.maps[i].bytes)
            *out = virtual.maps[i].handle;
    pthread_mutex_unlock(&virtual.lock);
    return *out && physical_change(*out, 1, 0) ? STI_SUCCESS : STI_INVALID_VALUE;
}

static int cuMemGetAccess(unsigned long long *flags, const void *location, const void *address)
{
    *flags = 3; /* read and write */
    return STI_SUCCESS;
}

const struct sti_call sti_calls_driver_memory[] = {
    {"cuMemAlloc_v2", (sti_function *)cuMemAlloc},
    {"cuMemFree_v2", (sti_function *)cuMemFree},
    STI_CALL(cuMemHostAlloc),
    {"cuMemAllocHost_v2", (sti_function *)cuMemHostAlloc},
    {"cuMemFreeHost", (sti_function *)cuMemFree},
    STI_CALL(cuMemAllocManaged),
    {"cuMemGetInfo_v2", (sti_function *)cuMemGetInfo},
    STI_CALL(cuMemcpy),
    {"cuMemcpyDtoH_v2", (sti_function *)cuMemcpy},
    {"cuMemcpyHtoD_v2", (sti_function *)cuMemcpy},
    {"cuMemcpyDtoD_v2", (sti_function *)cuMemcpy},
    STI_CALL(cuMemcpyAsync),
    {"cuMemcpyDtoHAsync_v2", (sti_function *)cuMemcpyAsync},
    {"cuMemcpyHtoDAsync_v2", (sti_function *)cuMemcpyAsync},
    {"cuMemcpyDtoDAsync_v2", (sti_function *)cuMemcpyAsync},
    STI_CALL(cuMemGetAllocationGranularity),
    STI_CALL(cuMemCreate),
    STI_CALL(cuMemRelease),
    STI_CALL(cuMemAddressReserve),
    STI_CALL(cuMemAddressFree),
    STI_CALL(cuMemMap),
    STI_CALL(cuMemUnmap),
    STI_CALL(cuMemRetainAllocationHandle),
    STI_CALL(cuMemGetAccess),
    STI_CALLS_END,
};
