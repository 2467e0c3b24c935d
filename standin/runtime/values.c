/*
 * standin/runtime/values.c - see runtime.h: copies, the values the host reads, and the few that are kept.
 *
 * Invariant:      what is not kept reads as zeros.
 */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "standin/runtime/runtime.h"

/* As many as that, and some for each rank of the largest communicator: a gather may be a copy for each. */
#define KEPT 64
#define KEPT_OF_A_RANK 2
#define KEPT_MAX 8192
#define KEPT_BYTES_MAX 65536u
/* Before there is a communicator, larger ones are data. */
#define EARLY_BYTES_MAX 4096u
/* So many kernels later memory is likely to have been written by one of them. */
#define LAUNCHES_MAX 64u

/* number: counts what was kept; of two that overlap the later one holds */
struct kept {
    const char *at;
    size_t len;
    char *bytes;
    uint64_t launch;
    uint64_t number;
};

static struct {
    pthread_mutex_t lock;
    struct kept *kept;
    size_t count;
    size_t next;
    int is_shared;
    uint64_t number;
    uint64_t launches;
} values = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define EXPECTED_BYTES_MAX 16u

/* What the next read of the thread gets. */
static _Thread_local struct {
    char bytes[EXPECTED_BYTES_MAX];
    size_t len;
} expected;

void sti_values_expect(const void *bytes, size_t len)
{
    expected.len = len < EXPECTED_BYTES_MAX ? len : EXPECTED_BYTES_MAX;
    if (expected.len)
        memcpy(expected.bytes, bytes, expected.len);
}

/* `to` has other values, or zeros, which stay behind what is expected. */
static void expected_take(void *to, size_t bytes)
{
    if (expected.len)
        memcpy(to, expected.bytes, bytes < expected.len ? bytes : expected.len);
    expected.len = 0;
}

/* Make place for so many; the caller has the lock. */
static void kept_reserve(size_t count)
{
    if (count <= values.count)
        return;
    values.kept = vs_realloc(values.kept, count, sizeof(*values.kept));
    memset(values.kept + values.count, 0, (count - values.count) * sizeof(*values.kept));
    values.next = values.count;
    values.count = count;
}

void sti_values_share(int ranks)
{
    const size_t count = KEPT + (size_t)ranks * KEPT_OF_A_RANK;

    pthread_mutex_lock(&values.lock);
    kept_reserve(count < KEPT_MAX ? count : KEPT_MAX);
    pthread_mutex_unlock(&values.lock);
    __atomic_store_n(&values.is_shared, 1, __ATOMIC_RELAXED);
}

static bool is_shared(void)
{
    return __atomic_load_n(&values.is_shared, __ATOMIC_RELAXED) != 0;
}

void sti_values_age(void)
{
    __atomic_add_fetch(&values.launches, 1, __ATOMIC_RELAXED);
}

static uint64_t launches(void)
{
    return __atomic_load_n(&values.launches, __ATOMIC_RELAXED);
}

/* The latest of those that have all of the bytes. */
static const struct kept *kept_find(const char *at, size_t bytes)
{
    const struct kept *best = NULL;

    for (size_t i = 0; i < values.count; i++) {
        const struct kept *k = &values.kept[i];

        if (k->at && at >= k->at && bytes <= k->len && (size_t)(at - k->at) <= k->len - bytes &&
            launches() - k->launch <= LAUNCHES_MAX && (!best || k->number > best->number))
            best = k;
    }
    return best;
}

bool sti_values_get(const void *address, void *out, size_t bytes)
{
    const char *at = address;
    const struct kept *k;

    if (!bytes || bytes > KEPT_BYTES_MAX)
        return false;
    pthread_mutex_lock(&values.lock);
    k = kept_find(at, bytes);
    if (k)
        memcpy(out, k->bytes + (at - k->at), bytes);
    pthread_mutex_unlock(&values.lock);
    return k != NULL;
}

void sti_values_put(const void *address, const void *bytes, size_t len)
{
    char *copy;
    size_t i;

    if (!len || len > (is_shared() ? KEPT_BYTES_MAX : EARLY_BYTES_MAX))
        return;
    copy = vs_alloc(len);
    memcpy(copy, bytes, len);
    pthread_mutex_lock(&values.lock);
    kept_reserve(KEPT);
    i = values.next;
    for (size_t k = 0; k < values.count; k++)
        if (values.kept[k].at == address)
            i = k;
    if (i == values.next)
        values.next = (values.next + 1) % values.count;
    vs_free(values.kept[i].bytes);
    values.kept[i] = (struct kept){address, len, copy, launches(), ++values.number};
    pthread_mutex_unlock(&values.lock);
}

/* Between two addresses of the device: what is kept of one is kept of the other. */
static void device_copy(void *to, const void *from, size_t bytes)
{
    char *kept;

    if (bytes > KEPT_BYTES_MAX)
        return;
    kept = vs_alloc(bytes);
    if (sti_values_get(from, kept, bytes))
        sti_values_put(to, kept, bytes);
    vs_free(kept);
}

void sti_copy(void *to, const void *from, size_t bytes)
{
    const bool is_to_device = sti_memory_is_device(to);
    const bool is_from_device = sti_memory_is_device(from);

    if (!bytes)
        return;
    if (!is_to_device && !is_from_device) {
        memmove(to, from, bytes);
    } else if (is_to_device && is_from_device) {
        device_copy(to, from, bytes);
    } else if (is_to_device) {
        sti_values_put(to, from, bytes);
    } else {
        if (!is_shared() || !sti_values_get(from, to, bytes))
            memset(to, 0, bytes);
        expected_take(to, bytes);
        sti_read_note(bytes);
    }
}

void sti_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                   size_t height)
{
    const bool is_read = sti_memory_is_device(from) && !sti_memory_is_device(to);

    if (sti_memory_is_device(to))
        return;
    for (size_t row = 0; row < height; row++)
        if (is_read)
            memset((char *)to + row * to_pitch, 0, width);
        else
            memmove((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
    if (is_read)
        sti_read_note((uint64_t)width * height);
}
