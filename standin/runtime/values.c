/*
 * standin/runtime/values.c - see runtime.h: copies, the values the host reads, and the few that are kept.
 *
 * Invariant:      what is not kept reads as zeros.
 */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "standin/runtime/enter.h"
#include "standin/runtime/runtime.h"

/* As many as that, and some for each rank of the largest communicator: a gather may be a copy for each. */
#define KEPT 64
#define KEPT_OF_A_RANK 2
#define KEPT_MAX 8192
#define KEPT_BYTES_MAX 65536u
/* While all values are held. */
#define HELD_BYTES_MAX ((size_t)64 << 20)
/* Before there is a communicator, larger ones are data. */
#define EARLY_BYTES_MAX 4096u
/* So many kernels later memory is likely to have been written by one of them. */
#define LAUNCHES_MAX 64u

/* Of two that overlap the one with the later stamp holds. */
struct kept {
    const char *at;
    size_t len;
    char *bytes;
    struct sti_stamp stamp;
};

static struct {
    pthread_mutex_t lock;
    struct kept *kept;
    size_t count;
    int is_shared;
    int holders;
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

static bool is_held(void)
{
    return __atomic_load_n(&values.holders, __ATOMIC_RELAXED) > 0;
}

struct sti_stamp sti_values_stamp(void)
{
    return (struct sti_stamp){__atomic_add_fetch(&values.number, 1, __ATOMIC_RELAXED),
                              __atomic_load_n(&values.launches, __ATOMIC_RELAXED), is_held()};
}

bool sti_values_last(struct sti_stamp put, struct sti_stamp read)
{
    return put.is_held || read.launch - put.launch <= LAUNCHES_MAX;
}

static size_t limit_of(bool held)
{
    return held ? HELD_BYTES_MAX : is_shared() ? KEPT_BYTES_MAX : EARLY_BYTES_MAX;
}

size_t sti_values_limit(void)
{
    return limit_of(is_held());
}

void sti_hold_values(int on)
{
    pthread_mutex_lock(&values.lock);
    values.holders += on ? 1 : -1;
    for (size_t i = 0; i < values.count && !values.holders; i++)
        if (values.kept[i].stamp.is_held) {
            vs_free(values.kept[i].bytes);
            values.kept[i] = (struct kept){.at = NULL};
        }
    pthread_mutex_unlock(&values.lock);
}

/* The latest of those that have all of the bytes. */
static const struct kept *kept_find(const char *at, size_t bytes, struct sti_stamp read)
{
    const struct kept *best = NULL;

    for (size_t i = 0; i < values.count; i++) {
        const struct kept *k = &values.kept[i];

        if (k->at && at >= k->at && bytes <= k->len && (size_t)(at - k->at) <= k->len - bytes &&
            sti_values_last(k->stamp, read) && (!best || k->stamp.number > best->stamp.number))
            best = k;
    }
    return best;
}

/* The latest of those that have the first byte; how many of `bytes` it has: *len. */
static const struct kept *kept_begin(const char *at, size_t bytes, size_t *len)
{
    const struct kept *best = NULL;

    for (size_t i = 0; i < values.count; i++) {
        const struct kept *k = &values.kept[i];

        if (k->at && k->stamp.is_held && at >= k->at && at < k->at + k->len &&
            (!best || k->stamp.number > best->stamp.number))
            best = k;
    }
    if (best)
        *len = best->len - (size_t)(at - best->at);
    if (best && *len > bytes)
        *len = bytes;
    return best;
}

uint64_t sti_values_get_at(const void *address, void *out, size_t bytes, struct sti_stamp read)
{
    const char *at = address;
    const struct kept *k;
    size_t len = bytes;
    uint64_t number = 0;

    if (!bytes || bytes > HELD_BYTES_MAX)
        return 0;
    pthread_mutex_lock(&values.lock);
    k = kept_find(at, bytes, read);
    if (!k &&
        values
            .holders) { /* a tensor that was made larger: what follows its first bytes is anything */
        k = kept_begin(at, bytes, &len);
        if (k)
            memset((char *)out + len, 0, bytes - len);
    }
    if (k) {
        memcpy(out, k->bytes + (at - k->at), len);
        number = k->stamp.number;
    }
    pthread_mutex_unlock(&values.lock);
    return number;
}

bool sti_values_get(const void *address, void *out, size_t bytes)
{
    return sti_values_get_at(address, out, bytes, sti_values_stamp()) != 0;
}

/*
 * Where to keep something of `address`: where that has something already, or in place of what was kept longest ago.
 * While values are held nothing gives way. NULL: that is later than what should be kept.
 */
static struct kept *kept_place(const char *address, uint64_t number)
{
    struct kept *oldest = NULL;

    kept_reserve(KEPT);
    for (size_t i = 0; i < values.count; i++) {
        struct kept *k = &values.kept[i];

        if (k->at == address)
            return k->stamp.number < number ? k : NULL;
        if (!k->stamp.is_held && (!values.holders || !k->at) &&
            (!oldest || k->stamp.number < oldest->stamp.number))
            oldest = k;
    }
    if (!oldest) {
        kept_reserve(values.count * 2);
        return &values.kept[values.count / 2];
    }
    return oldest->stamp.number < number ? oldest : NULL;
}

void sti_values_put_at(const void *address, const void *bytes, size_t len, struct sti_stamp put)
{
    struct kept *k;
    char *copy;

    if (!len || len > limit_of(put.is_held) || (put.is_held && !is_held()))
        return;
    copy = vs_alloc(len);
    memcpy(copy, bytes, len);
    pthread_mutex_lock(&values.lock);
    k = kept_place(address, put.number);
    if (k) {
        vs_free(k->bytes);
        *k = (struct kept){address, len, copy, put};
    }
    pthread_mutex_unlock(&values.lock);
    if (!k)
        vs_free(copy);
}

void sti_values_put(const void *address, const void *bytes, size_t len)
{
    sti_values_put_at(address, bytes, len, sti_values_stamp());
}

/* Between two addresses of the device: what is kept of one is kept of the other. */
static void device_copy(void *to, const void *from, size_t bytes)
{
    char *kept;

    if (bytes > sti_values_limit())
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
        if (!sti_results_copy(to, from, bytes))
            device_copy(to, from, bytes);
    } else if (is_to_device) {
        sti_results_drop(to, bytes);
        sti_values_put(to, from, bytes);
    } else {
        sti_results_settle(from, bytes);
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
