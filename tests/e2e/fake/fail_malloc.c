/*
 * tests/e2e/fake/fail_malloc.c - a malloc that fails once, for a program that it is loaded into with LD_PRELOAD.
 *
 * For:            tests/e2e/test_host_memory.c.
 * Must not know:  the product's code.
 *
 * Calls of malloc, calloc, realloc and the aligned ones are counted from 1, in all threads of the process. Of the
 * environment:
 *
 *     FAIL_AT=n     the n-th call fails; with FAIL_ON=1 all after it do, too
 *     FAIL_COUNT=f  at its end the program writes into the file f how many calls it made
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

static atomic_ulong calls;
static unsigned long fail_at;
static int fail_on;

static unsigned long number_of(const char *name)
{
    const char *text = getenv(name);

    return text ? strtoul(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void begin(void)
{
    fail_on = number_of("FAIL_ON") != 0;
    atomic_store(&calls, 0);
    fail_at = number_of("FAIL_AT");
    unsetenv("LD_PRELOAD"); /* the program alone, and no process that it starts */
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAIL_COUNT");
    const unsigned long count = atomic_load(&calls);
    char text[32];
    const int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

    if (fd < 0)
        return;
    snprintf(text, sizeof(text), "%lu\n", count);
    (void)!write(fd, text, strlen(text));
    close(fd);
}

static int fails(void)
{
    const unsigned long now = atomic_fetch_add(&calls, 1) + 1;

    if (!fail_at || (fail_on ? now < fail_at : now != fail_at))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails() ? NULL : __libc_realloc(old, size);
}

void *memalign(size_t align, size_t size)
{
    return fails() ? NULL : __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    void *made = memalign(align, size);

    if (!made)
        return ENOMEM;
    *out = made;
    return 0;
}
