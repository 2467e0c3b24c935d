/*
 * engine/device/cpu/cpu_mem.c - memory for storages and scratch, with a cache of freed buffers.
 *
 * For:            mem_get and mem_put of the table; scratch of kernels.
 * Must not know:  tensors. Device memory is counted elsewhere.
 * Invariant:      bytes in use plus bytes kept in the cache never exceed the peak of bytes in use by more than a
 *                 quarter and 64 MiB.
 *
 * A training step allocates the same large buffers again and again. With malloc each would be mapped, zeroed by the
 * operating system page by page and unmapped again. There is one cache per process, because kernels get no context
 * argument: it is the only writable state here. Under the address sanitizer nothing is kept, so that it sees every use
 * after a free.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"

#if defined(__SANITIZE_ADDRESS__)
#define KEEP 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEP 0
#endif
#endif
#ifndef KEEP
#define KEEP 1
#endif

#define STEPS 8 /* size classes between two powers of two: at most 1/8 is wasted */
#define CLASSES (64 * STEPS)
#define HUGE_BYTES (2u << 20) /* a page of the large kind */
#define SLACK (64u << 20)

struct kept { /* lies at the start of a kept buffer */
    struct kept *next;
};

struct cache {
    pthread_mutex_t lock;
    struct kept *list[CLASSES];
    uint64_t in_use;
    uint64_t cached;
    uint64_t max_in_use;
};

static struct cache cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The class of a size, and the bytes that buffers of the class have. */
static int class_of(uint64_t bytes, uint64_t *class_bytes)
{
    uint64_t units = (bytes + 63) / 64;
    int shift = 0;

    while ((units >> shift) >= 2 * STEPS)
        shift++;
    units = (units + (UINT64_C(1) << shift) - 1) >> shift;
    if (units == 2 * STEPS) {
        shift++;
        units = STEPS;
    }
    *class_bytes = (units << shift) * 64;
    return shift * STEPS + (int)units;
}

static void *fresh(uint64_t bytes)
{
    size_t align = bytes >= 2 * HUGE_BYTES ? HUGE_BYTES : 64;
    void *p = NULL;

    if (posix_memalign(&p, align, bytes) != 0)
        vs_die("out of host memory: %llu bytes for a tensor of the cpu device",
               (unsigned long long)bytes);
    if (align == HUGE_BYTES)
        (void)madvise(p, bytes, MADV_HUGEPAGE); /* fewer page faults; nothing depends on it */
    return p;
}

/* Frees cached buffers, largest first, until at most `keep` bytes are cached. The caller holds the lock. */
static void evict(uint64_t keep)
{
    for (int c = CLASSES - 1; c > 0 && cache.cached > keep; c--) {
        int shift = c < 2 * STEPS ? 0 : c / STEPS - 1;
        uint64_t bytes = ((uint64_t)(c - shift * STEPS) << shift) * 64;

        while (cache.list[c] && cache.cached > keep) {
            struct kept *k = cache.list[c];

            cache.list[c] = k->next;
            cache.cached -= bytes;
            free(k);
        }
    }
}

void *cpu_mem_get(uint64_t bytes)
{
    uint64_t size;
    int c = class_of(bytes, &size);
    struct kept *k;
    uint64_t limit;

    VS_ASSERT(bytes > 0 && c < CLASSES);
    pthread_mutex_lock(&cache.lock);
    cache.in_use += size;
    if (cache.in_use > cache.max_in_use)
        cache.max_in_use = cache.in_use;
    k = cache.list[c];
    if (k) {
        cache.list[c] = k->next;
        cache.cached -= size;
    } else {
        limit = cache.max_in_use + cache.max_in_use / 4 + SLACK - cache.in_use;
        if (cache.cached > limit)
            evict(limit);
    }
    pthread_mutex_unlock(&cache.lock);
    return k ? (void *)k : fresh(size);
}

void cpu_mem_put(void *data, uint64_t bytes)
{
    uint64_t size;
    int c = class_of(bytes, &size);
    struct kept *k = data;

    VS_ASSERT(data);
    pthread_mutex_lock(&cache.lock);
    VS_ASSERT(cache.in_use >= size);
    cache.in_use -= size;
    if (KEEP) {
        k->next = cache.list[c];
        cache.list[c] = k;
        cache.cached += size;
    }
    pthread_mutex_unlock(&cache.lock);
    if (!KEEP)
        free(data);
}

void cpu_mem_trim(void)
{
    pthread_mutex_lock(&cache.lock);
    evict(0);
    cache.max_in_use = cache.in_use;
    pthread_mutex_unlock(&cache.lock);
}

void cpu_mem_stats(uint64_t *in_use, uint64_t *cached)
{
    pthread_mutex_lock(&cache.lock);
    *in_use = cache.in_use;
    *cached = cache.cached;
    pthread_mutex_unlock(&cache.lock);
}
