/*
 * tests/tracer/inject/injected.h - runs a program with the injection library, and queries what was recorded.
 *
 * For:        the tests of what CUDA programs leave behind.
 * Invariant:  the driver and CUPTI are fakes (fake/fake.h); the library, NVTX and the traces are real. Each run writes
 *             into a file of its own in the test's folder (tests/e2e/program.h).
 */
#ifndef TESTS_TRACER_INJECT_INJECTED_H
#define TESTS_TRACER_INJECT_INJECTED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define INJECTED_TEXT_MAX 65536
#define INJECTED_PATH_SIZE 512

/*
 * A setting for runs under the address sanitizer: a forked child keeps what its parent had allocated, which the
 * sanitizer takes for a leak, and python3 was not linked with it.
 */
#define INJECTED_LENIENT "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0"

/* One run: the path of its trace, what it printed, the text of its status file (empty where there is none). */
struct injected {
    char trace[INJECTED_PATH_SIZE];
    char out[INJECTED_TEXT_MAX];
    char status[INJECTED_TEXT_MAX];
    int exit_status; /* or 128 + the signal */
    pid_t pid;
};

/* Find the library and the fakes, which are in the folder of the program under test. Before anything else. */
void injected_setup(void);
/* A teardown of a group of tests: removes the test's folder. */
int injected_cleanup(void **state);

/* The path of the program that is built of fake/programs.c; its argument says which of them to run. */
const char *injected_programs(void);

/*
 * Run one of these programs, or argv (NULL at its end), and wait for its end. setting, settings: "NAME=VALUE" of its
 * environment, or NULL; settings has NULL at its end. The result is overwritten by the next run.
 */
struct injected *injected_run(const char *word, const char *setting);
struct injected *injected_run_args(const char *const *argv, const char *const *settings);
/* The same in two parts: start it; wait for its end and read what it left. */
void injected_start(struct injected *run, const char *const *argv, const char *const *settings);
void injected_end(struct injected *run);

/* How often `key` is in the status file. */
size_t injected_count(const struct injected *run, const char *key);
/* The path of the n-th trace, from 0, that the status file names; overwritten by the next call. */
const char *injected_trace(const struct injected *run, size_t n);

/* Each of these fails the test, with both values, where it is not so. */
void injected_assert_exit(const struct injected *run, int status);
void injected_assert_status(const struct injected *run, const char *fact);
void injected_assert_not_in_status(const struct injected *run, const char *fact);
/* The number, or the text, that `sql` gives on a trace. */
void injected_assert_sql(const char *trace, const char *sql, int64_t expected);
void injected_assert_text(const char *trace, const char *sql, const char *expected);
/* What `vramscope report` says: the peak in bytes, the event it is at, and the bytes allocated at the end. */
void injected_assert_report(const char *trace, uint64_t peak, uint64_t at, uint64_t end_bytes);
/* is_complete: 1 where the recording was closed, 0 where it was cut off. */
void injected_assert_complete(const char *trace, int64_t is_complete);

#endif
