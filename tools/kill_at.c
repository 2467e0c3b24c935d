/*
 * tools/kill_at.c - a library that ends the program it is loaded into, at one of its calls that change a file.
 *
 * For:            tools/kill_campaign.py, which compiles it and loads it with LD_PRELOAD.
 * Must not know:  the product's code.
 * Invariant:      without KILL_AT the program does what it does without the library, but for the clock and the disk.
 *
 * Calls are counted from 1: open with O_CREAT, write (not to the standard streams), pwrite, ftruncate, fsync, unlink,
 * rename. Of the environment:
 *
 *     KILL_AT=n       the n-th call is the last: SIGKILL before it, after it, or, of a write, after a part of it
 *     KILL_PART=k     k % 3 says which of these; k / 3 how much is written
 *     KILL_COUNT=f    at its end the program adds a line to the file f: how many calls it made
 *     KILL_TRACE=f    after each commit of SQLite's to the file f, which is when its journal is gone, f is copied to
 *                     f.committed
 *     KILL_CLOCK=n    the monotonic clock goes n times as fast, so that there are n times as many commits
 *
 * Nothing waits for the disk: a program that is killed loses nothing that the kernel has.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int open64(const char *path, int flags, ...);
int ftruncate64(int fd, off_t len);
ssize_t pwrite64(int fd, const void *bytes, size_t len, off_t at);

static atomic_ulong calls;

static unsigned long number_of(const char *name)
{
    const char *text = getenv(name);

    return text ? strtoul(text, NULL, 10) : 0;
}

static void end(void)
{
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;)
        pause();
}

/* Count a call; whether it is the last, which the caller ends with. */
static int is_last(void)
{
    const unsigned long last = number_of("KILL_AT");
    const unsigned long now = atomic_fetch_add(&calls, 1) + 1;

    if (last && now == last && number_of("KILL_PART") % 3 == 0)
        end();
    return last && now == last;
}

/* How many of `len` bytes the last write writes. */
static size_t part_of(size_t len)
{
    const unsigned long part = number_of("KILL_PART");

    return part % 3 == 1 ? len : part / 3 % (len + 1);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off_t at)
{
    if (is_last()) {
        syscall(SYS_pwrite64, fd, bytes, part_of(len), at);
        end();
    }
    return syscall(SYS_pwrite64, fd, bytes, len, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    return pwrite64(fd, bytes, len, at);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    if (fd > 2 && is_last()) {
        syscall(SYS_write, fd, bytes, part_of(len));
        end();
    }
    return syscall(SYS_write, fd, bytes, len);
}

int ftruncate64(int fd, off_t len)
{
    int last = is_last();
    int rc = (int)syscall(SYS_ftruncate, fd, len);

    if (last)
        end();
    return rc;
}

int ftruncate(int fd, off_t len)
{
    return ftruncate64(fd, len);
}

int fsync(int fd)
{
    (void)fd;
    if (is_last())
        end();
    return 0;
}

int fdatasync(int fd)
{
    return fsync(fd);
}

static void copy(const char *from, const char *to)
{
    static char bytes[1 << 16]; /* one thread commits to this file */
    int in = (int)syscall(SYS_openat, AT_FDCWD, from, O_RDONLY, 0);
    int out = (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    long n;

    while (in >= 0 && out >= 0 && (n = syscall(SYS_read, in, bytes, sizeof(bytes))) > 0)
        syscall(SYS_write, out, bytes, n);
    syscall(SYS_close, in);
    syscall(SYS_close, out);
}

static void commit_note(const char *journal)
{
    const char *trace = getenv("KILL_TRACE");
    char to[4096];

    if (!trace || strncmp(journal, trace, strlen(trace)) != 0 ||
        strcmp(journal + strlen(trace), "-journal") != 0)
        return;
    snprintf(to, sizeof(to), "%s.committed", trace);
    copy(trace, to);
}

int unlink(const char *path)
{
    int last = is_last();
    int rc = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);

    if (!rc)
        commit_note(path);
    if (last)
        end();
    return rc;
}

int rename(const char *from, const char *to)
{
    int last = is_last();
    int rc = (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);

    if (last)
        end();
    return rc;
}

int open64(const char *path, int flags, ...)
{
    unsigned mode = 0;
    int last;
    int fd;
    va_list more;

    va_start(more, flags);
    if (flags & O_CREAT)
        mode = va_arg(more, unsigned);
    va_end(more);
    last = flags & O_CREAT ? is_last() : 0;
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (last)
        end();
    return fd;
}

int open(const char *path, int flags, ...)
{
    unsigned mode = 0;
    va_list more;

    va_start(more, flags);
    if (flags & O_CREAT)
        mode = va_arg(more, unsigned);
    va_end(more);
    return open64(path, flags, mode);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    const unsigned long times = number_of("KILL_CLOCK");
    int rc = (int)syscall(SYS_clock_gettime, clock, out);

    if (!rc && times && clock == CLOCK_MONOTONIC) {
        const unsigned long long ns = times * ((unsigned long long)out->tv_sec * 1000000000 +
                                               (unsigned long long)out->tv_nsec);

        out->tv_sec = (time_t)(ns / 1000000000);
        out->tv_nsec = (long)(ns % 1000000000);
    }
    return rc;
}

__attribute__((destructor)) static void count_print(void)
{
    const char *path = getenv("KILL_COUNT");
    char line[32];
    int len = snprintf(line, sizeof(line), "%lu\n", atomic_load(&calls));
    int fd;

    if (!path)
        return;
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd >= 0 && len > 0)
        syscall(SYS_write, fd, line, (size_t)len);
    syscall(SYS_close, fd);
}
