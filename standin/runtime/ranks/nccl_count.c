/*
 * standin/runtime/ranks/nccl_count.c - how often each collective and message of NCCL's was called, and with how many
 * bytes.
 *
 * Must not know:  communicators, results.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "standin/runtime/enter.h"
#include "standin/runtime/ranks/nccl_internal.h"

#define NAMES_MAX 16u

static struct {
    pthread_mutex_t lock;
    struct {
        const char *name;
        uint64_t count;
        uint64_t bytes;
    } kinds[NAMES_MAX];
    size_t count;
} counts = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sti_collective_count(const char *name, size_t bytes)
{
    size_t i = 0;

    pthread_mutex_lock(&counts.lock);
    while (i < counts.count && strcmp(counts.kinds[i].name, name) < 0)
        i++;
    if ((i == counts.count || strcmp(counts.kinds[i].name, name) != 0) &&
        counts.count < NAMES_MAX) { /* the names stay sorted */
        memmove(counts.kinds + i + 1, counts.kinds + i,
                (counts.count - i) * sizeof(counts.kinds[0]));
        counts.kinds[i].name = name;
        counts.kinds[i].count = counts.kinds[i].bytes = 0;
        counts.count++;
    }
    if (i < counts.count && strcmp(counts.kinds[i].name, name) == 0) {
        counts.kinds[i].count++;
        counts.kinds[i].bytes += bytes;
    }
    pthread_mutex_unlock(&counts.lock);
}

void sti_collectives(char *out, size_t size)
{
    size_t at = 0;

    if (!size)
        return;
    out[0] = '\0';
    pthread_mutex_lock(&counts.lock);
    for (size_t i = 0; i < counts.count && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%" PRIu64 " %" PRIu64 " %s", i ? " | " : "",
                               counts.kinds[i].count, counts.kinds[i].bytes, counts.kinds[i].name);
    pthread_mutex_unlock(&counts.lock);
}
