/*
 * standin/runtime/values.c - see runtime.h: copies, the values the host reads, and the few that are kept.
 *
 * Invariant:      what is not kept reads as zeros.
 */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "standin/runtime/runtime.h"

#define KEPT 64
#define KEPT_BYTES_MAX 65536u

struct kept {
    const char *at;
    size_t len;
    char *bytes;
};

static struct {
    pthread_mutex_t lock;
    struct kept kept[KEPT];
    int next;
    int is_keeping;
    struct sti_reads reads;
    void (*on_read)(uint64_t bytes);
    uint64_t most;
} values = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sti_values_keep(void)
{
    __atomic_store_n(&values.is_keeping, 1, __ATOMIC_RELAXED);
}

static bool is_keeping(void)
{
    return __atomic_load_n(&values.is_keeping, __ATOMIC_RELAXED) != 0;
}

const char *sti_values_find(const void *address, size_t bytes)
{
    const char *at = address;

    for (int i = 0; i < KEPT; i++) {
        const struct kept *k = &values.kept[i];

        if (k->at && at >= k->at && bytes <= k->len && (size_t)(at - k->at) <= k->len - bytes)
            return k->bytes + (at - k->at);
    }
    return NULL;
}

void sti_values_put(const void *address, const void *bytes, size_t len)
{
    int i = values.next;
    char *copy;

    if (!is_keeping() || !len || len > KEPT_BYTES_MAX)
        return;
    copy = vs_alloc(len);
    memcpy(copy, bytes, len);
    pthread_mutex_lock(&values.lock);
    for (int k = 0; k < KEPT; k++)
        if (values.kept[k].at == address)
            i = k;
    if (i == values.next)
        values.next = (values.next + 1) % KEPT;
    vs_free(values.kept[i].bytes);
    values.kept[i] = (struct kept){address, len, copy};
    pthread_mutex_unlock(&values.lock);
}

static void read_count(uint64_t bytes)
{
    void (*on_read)(uint64_t) = NULL;

    pthread_mutex_lock(&values.lock);
    values.reads.bytes += bytes;
    if (values.reads.count++ < values.most)
        on_read = values.on_read;
    pthread_mutex_unlock(&values.lock);
    if (on_read) /* without the lock: it takes Python's */
        on_read(bytes);
}

void sti_copy(void *to, const void *from, size_t bytes)
{
    const bool is_to_device = sti_memory_is_device(to);
    const bool is_from_device = sti_memory_is_device(from);
    const char *kept;

    if (!bytes)
        return;
    if (!is_to_device && !is_from_device) {
        memmove(to, from, bytes);
        return;
    }
    kept = is_keeping() && is_from_device ? sti_values_find(from, bytes) : NULL;
    if (is_to_device) {
        if (is_keeping() && (kept || !is_from_device))
            sti_values_put(to, kept ? kept : from, bytes);
        return;
    }
    if (kept)
        memcpy(to, kept, bytes);
    else
        memset(to, 0, bytes);
    read_count(bytes);
}

void sti_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                   size_t height)
{
    if (sti_memory_is_device(to) && sti_memory_is_device(from))
        return;
    for (size_t row = 0; row < height; row++)
        sti_copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
}

struct sti_reads sti_reads(void)
{
    struct sti_reads reads;

    pthread_mutex_lock(&values.lock);
    reads = values.reads;
    pthread_mutex_unlock(&values.lock);
    return reads;
}

void sti_reads_watch(void (*on_read)(uint64_t bytes), uint64_t most)
{
    pthread_mutex_lock(&values.lock);
    values.on_read = on_read;
    values.most = on_read ? values.reads.count + most : 0;
    pthread_mutex_unlock(&values.lock);
}
