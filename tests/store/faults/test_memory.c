/*
 * tests/store/faults/test_memory.c - whatever call of malloc fails while a trace is recorded and read, the program ends
 * with a message, or the call returns an error; what was committed opens.
 *
 * Each run is a child of the test, as memory that is exhausted ends a program. This file's malloc takes the place of
 * the C library's; under a sanitizer, which has its own, nothing is tested.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/dtype.h"
#include "store/reader.h"
#include "store/writer.h"
#include "tests/store/sample_events.h"
#include "tests/store/trace_file.h"
#include "tests/wait.h"

#ifdef __has_feature /* clang's way to tell */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define HAS_MALLOC 0
#else
#define HAS_MALLOC 1
#endif

#define PATH_SIZE 4096
#define EVENTS 300
/* More calls than a run makes. */
#define CALLS_MAX 20000
/* Every call fails in turn up to this number, then every second up to twice as many, and so on: as calls repeat. */
#define STRIDE 128
#define EXIT_OK 0
#define EXIT_ERROR 3

static struct vs_event events[EVENTS];

#if HAS_MALLOC

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

/* The call that fails, counted from 1, and all after it; 0: none. */
static uint64_t fails_at;
static uint64_t calls;

static bool fails(void)
{
    if (!fails_at || ++calls < fails_at)
        return false;
    errno = ENOMEM;
    return true;
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

/* Write a trace, commit it twice, and read it; how it went. `out` gets a byte at each commit. */
static enum vs_status record_and_read(const char *path, int out, struct vs_error *err)
{
    static struct vs_event got[EVENTS];
    struct vs_error ignored = VS_ERROR_INIT;
    struct sto_writer *w = NULL;
    struct sto_reader *r = NULL;
    enum vs_status st = sto_writer_open(path, &(struct sto_writer_options){.force = true}, &w, err);

    for (char commits = 1; !st && commits <= 2; commits++) {
        st = sto_writer_events(w, events + (commits - 1) * EVENTS / 2, EVENTS / 2, err);
        if (!st)
            st = sto_writer_commit(w, err);
        if (!st && write(out, &commits, 1) != 1)
            _exit(9);
    }
    if (st)
        (void)!sto_writer_close(w, false, &ignored);
    else
        st = sto_writer_close(w, true, err);
    if (!st)
        st = sto_reader_open(path, &r, err);
    if (!st)
        st = sto_reader_events(r, 1, EVENTS, got, err);
    sto_reader_close(r);
    return st;
}

/* In a child. */
static void run(const char *path, uint64_t n, int out, int said)
{
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st;

    dup2(said, STDERR_FILENO);
    calls = 0;
    fails_at = n;
    st = record_and_read(path, out, &err);
    fails_at = 0;
    if (st)
        dprintf(STDERR_FILENO, "%s", err.text);
    _exit(st ? EXIT_ERROR : EXIT_OK);
}

/* What the file has must be at least what was committed. */
static void left_check(const char *path, int commits, uint64_t n)
{
    static struct vs_event got[EVENTS];
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r = NULL;
    uint64_t count;

    if (!commits && access(path, F_OK) != 0)
        return;
    if (sto_reader_open(path, &r, &err))
        fail_msg("call %llu: %s", (unsigned long long)n, err.text);
    count = sto_reader_event_count(r);
    assert_in_range(count, (uint64_t)commits * EVENTS / 2, EVENTS);
    if (count && sto_reader_events(r, 1, (size_t)count, got, &err))
        fail_msg("call %llu: %s", (unsigned long long)n, err.text);
    assert_memory_equal(got, events, (size_t)count * sizeof(*got));
    sto_reader_close(r);
}

/* The run whose n-th call fails; returns whether it had so many. */
static bool fails_cleanly(const char *path, uint64_t n)
{
    char text[4096];
    char commits = 0;
    int done[2];
    int said[2];
    ssize_t len;
    pid_t child;
    int status;

    assert_int_equal(pipe(done), 0);
    assert_int_equal(pipe(said), 0);
    child = fork();
    assert_true(child >= 0);
    if (!child)
        run(path, n, done[1], said[1]);
    close(done[1]);
    close(said[1]);
    status = wait_child(child, "a run with little memory to end");
    while (read(done[0], &commits, 1) == 1)
        ;
    len = read(said[0], text, sizeof(text) - 1);
    text[len > 0 ? len : 0] = '\0';
    close(done[0]);
    close(said[0]);
    left_check(path, commits, n);
    unlink(path);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_OK)
        return false;
    /* vs_die() aborts a debug build */
    if (!(WIFEXITED(status) || WTERMSIG(status) == SIGABRT) || !strstr(text, "memory"))
        fail_msg("call %llu: status %d: %s", (unsigned long long)n, status, text);
    return true;
}

static void memory_that_is_exhausted_leaves_what_was_committed(void **state)
{
    char path[PATH_SIZE];
    uint64_t n = 1;

    trace_path(state, "memory.db", path, sizeof(path));
    while (fails_cleanly(path, n)) {
        n += 1 + n / STRIDE;
        assert_true(n < CALLS_MAX);
    }
    assert_true(n > STRIDE);
}

#else

static void memory_that_is_exhausted_leaves_what_was_committed(void **state)
{
    (void)state;
    skip();
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_is_exhausted_leaves_what_was_committed),
    };
    struct sample_random rnd = {5};

    sample_events_training(&rnd, events, EVENTS);
    return cmocka_run_group_tests(tests, trace_folder_setup, trace_folder_teardown);
}
