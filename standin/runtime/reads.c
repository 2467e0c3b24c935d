/*
 * standin/runtime/reads.c - see runtime.h: how often the host read values of the device, by the operator of PyTorch
 * that did so.
 *
 * PyTorch's libraries export a function for each operator, at::_ops::NAME::call or redispatch. The outermost of them on
 * the call stack is what the program called.
 *
 * Invariant:      without PyTorch, or without names, all reads are copies.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "standin/runtime/runtime.h"

#define FRAMES_MAX 96
#define KNOWN 1024u
#define OPERATOR "_ZN2at4_ops"

/* A return address, and the operator whose function it lies in, of `len` characters; NULL: none. */
struct known {
    const void *address;
    const char *name;
    size_t len;
};

static struct {
    pthread_mutex_t lock;
    struct sti_reads all;
    struct sti_read_kind kinds[STI_READ_KINDS_MAX];
    size_t count;
    struct known known[KNOWN];
    sti_on_read *on_read;
} reads = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* at::_ops is followed by the length of the operator's name, and the name. */
static struct known operator_at(const void *address)
{
    struct known found = {address, NULL, 0};
    char *name;
    Dl_info info;

    if (!dladdr(address, &info) || !info.dli_sname ||
        strncmp(info.dli_sname, OPERATOR, strlen(OPERATOR)) != 0)
        return found;
    found.len = strtoul(info.dli_sname + strlen(OPERATOR), &name, 10);
    if (found.len > 0 && found.len <= strlen(name))
        found.name = name;
    return found;
}

static const struct known *operator_of(const void *address)
{
    struct known *known = &reads.known[((uintptr_t)address >> 2) % KNOWN];

    if (known->address != address)
        *known = operator_at(address);
    return known;
}

static void kind_name(void *const *frames, int count, char *out, size_t size)
{
    const struct known *outermost = NULL;

    for (int i = count; i-- > 0 && !outermost;)
        if (operator_of(frames[i])->name)
            outermost = operator_of(frames[i]);
    if (!outermost || outermost->len >= size) {
        memcpy(out, "copy", sizeof("copy"));
        return;
    }
    memcpy(out, outermost->name, outermost->len);
    out[outermost->len] = '\0';
}

/* The kind of this name, made if it is new; the last one stands for all that are too many. */
static struct sti_read_kind *kind_of(const char *name)
{
    for (size_t i = 0; i < reads.count; i++)
        if (strcmp(reads.kinds[i].name, name) == 0)
            return &reads.kinds[i];
    if (reads.count == STI_READ_KINDS_MAX)
        return &reads.kinds[reads.count - 1];
    memcpy(reads.kinds[reads.count].name, name, strlen(name) + 1);
    return &reads.kinds[reads.count++];
}

void sti_read_note(uint64_t bytes)
{
    void *frames[FRAMES_MAX];
    char name[STI_READ_NAME_MAX];
    const int count = backtrace(frames, FRAMES_MAX);
    sti_on_read *on_read = NULL;
    struct sti_read_kind *kind;

    pthread_mutex_lock(&reads.lock);
    kind_name(frames, count, name, sizeof(name));
    kind = kind_of(name);
    if (!kind->count++)
        on_read = reads.on_read;
    reads.all.count++;
    reads.all.bytes += bytes;
    pthread_mutex_unlock(&reads.lock);
    if (on_read) /* without the lock: it takes Python's */
        on_read(bytes, name);
}

struct sti_reads sti_reads(void)
{
    struct sti_reads all;

    pthread_mutex_lock(&reads.lock);
    all = reads.all;
    pthread_mutex_unlock(&reads.lock);
    return all;
}

bool sti_reads_kind(size_t index, struct sti_read_kind *out)
{
    bool is_there;

    pthread_mutex_lock(&reads.lock);
    is_there = index < reads.count;
    if (is_there)
        *out = reads.kinds[index];
    pthread_mutex_unlock(&reads.lock);
    return is_there;
}

void sti_reads_watch(sti_on_read *on_read)
{
    pthread_mutex_lock(&reads.lock);
    reads.on_read = on_read;
    pthread_mutex_unlock(&reads.lock);
}
