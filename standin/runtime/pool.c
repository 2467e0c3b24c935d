/*
 * standin/runtime/pool.c - stream-ordered memory pools: their figures. Each device has one pool, whatever is asked for.
 *
 * Invariant:      nothing is kept: reserved bytes are those in use.
 */
#include <pthread.h>
#include <string.h>

#include "standin/runtime/calls.h"
#include "standin/runtime/runtime.h"

enum { RESERVED = 5, RESERVED_HIGH, USED, USED_HIGH };

static struct {
    pthread_mutex_t lock;
    uint64_t used[STI_DEVICES_MAX];
    uint64_t high[STI_DEVICES_MAX];
    uint64_t threshold[STI_DEVICES_MAX];
} pools = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A pool's handle is one more than its device. */
static int device_of(const void *pool)
{
    const uintptr_t device = (uintptr_t)pool - 1;

    return device < STI_DEVICES_MAX ? (int)device : 0;
}

void sti_pool_count(int device, int64_t bytes)
{
    pthread_mutex_lock(&pools.lock);
    pools.used[device] += (uint64_t)bytes;
    if (pools.used[device] > pools.high[device])
        pools.high[device] = pools.used[device];
    pthread_mutex_unlock(&pools.lock);
}

static int cudaDeviceGetDefaultMemPool(void **pool, int device)
{
    *pool = (void *)(uintptr_t)(device + 1);
    return STI_SUCCESS;
}

static int cudaMemPoolCreate(void **pool, const void *properties)
{
    return cudaDeviceGetDefaultMemPool(pool, sti_device());
}

static int cudaMemPoolGetAttribute(void *pool, int attribute, void *value)
{
    const int device = device_of(pool);
    uint64_t bytes = 0;

    pthread_mutex_lock(&pools.lock);
    if (attribute == RESERVED || attribute == USED)
        bytes = pools.used[device];
    else if (attribute == RESERVED_HIGH || attribute == USED_HIGH)
        bytes = pools.high[device];
    else
        bytes = pools.threshold[device];
    pthread_mutex_unlock(&pools.lock);
    if (attribute < 4) /* how memory may be reused: an int */
        *(int *)value = 1;
    else
        memcpy(value, &bytes, sizeof(bytes));
    return STI_SUCCESS;
}

static int cudaMemPoolSetAttribute(void *pool, int attribute, const void *value)
{
    const int device = device_of(pool);

    pthread_mutex_lock(&pools.lock);
    if (attribute == 4)
        memcpy(&pools.threshold[device], value, sizeof(uint64_t));
    else if (attribute == RESERVED_HIGH || attribute == USED_HIGH)
        pools.high[device] = pools.used[device];
    pthread_mutex_unlock(&pools.lock);
    return STI_SUCCESS;
}

static int cudaMemPoolGetAccess(int *flags, void *pool, const void *location)
{
    *flags = 3; /* read and write */
    return STI_SUCCESS;
}

static int cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value)
{
    memset(value, 0, sizeof(uint64_t));
    return STI_SUCCESS;
}

const struct sti_call sti_calls_pool[] = {
    STI_CALL(cudaDeviceGetDefaultMemPool),
    {"cudaDeviceGetMemPool", (sti_function *)cudaDeviceGetDefaultMemPool},
    STI_CALL(cudaMemPoolCreate),
    STI_CALL(cudaMemPoolGetAttribute),
    STI_CALL(cudaMemPoolSetAttribute),
    STI_CALL(cudaMemPoolGetAccess),
    STI_CALL(cudaDeviceGetGraphMemAttribute),
    STI_CALLS_END,
};
