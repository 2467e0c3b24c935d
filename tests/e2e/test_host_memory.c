/*
 * tests/e2e/test_host_memory.c - whatever call of malloc fails, alone or with all after it: a command says that memory
 * is out, or does what it does; a trace that is left opens, and one that was there is as it was.
 *
 * tests/e2e/fake/fail_malloc.c takes the place of malloc in the program. A sanitizer has a malloc of its own, so with
 * one nothing is tested. Of the calls the first ones fail, the last ones, and more rarely those between; with
 * VRAMSCOPE_ALL_CALLS=1 each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/sanitizer.h"
#include "tests/skip.h"

#define NET "tests/nets/mlp.py"
#define ABORTED 134
#define ARGUMENTS 8
#define LAST 40
#define NO_THREAD "no thread can be started"

/* made: the trace that the command makes, or NULL. varies: what it prints is not the same each time. */
struct row {
    const char *arguments[ARGUMENTS];
    const char *made;
    bool varies;
};

/* The library beside the program under test. */
static const char *library(void)
{
    static char path[PATH_MAX + 32];
    const char *program = getenv("VRAMSCOPE");
    char real[PATH_MAX];
    char *slash;

    assert_non_null(realpath(program ? program : "build/vramscope", real));
    slash = strrchr(real, '/');
    snprintf(path, sizeof(path), "%.*s/fake/fail_malloc.so", (int)(slash - real), real);
    assert_int_equal(access(path, F_OK), 0);
    return path;
}

/* A row's command; what begins with @ is a file of the test's. */
static struct program row_run(const struct row *row)
{
    const char *a[ARGUMENTS + 1] = {NULL};

    for (size_t i = 0; i < ARGUMENTS && row->arguments[i]; i++)
        a[i] =
            row->arguments[i][0] == '@' ? program_path(row->arguments[i] + 1) : row->arguments[i];
    return program_run(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], NULL);
}

static struct program row_run_failing(const struct row *row, uint64_t at, bool on)
{
    char number[32];
    struct program p;

    snprintf(number, sizeof(number), "%" PRIu64, at);
    setenv("FAIL_AT", number, 1);
    setenv("FAIL_ON", on ? "1" : "0", 1);
    setenv("LD_PRELOAD", library(), 1);
    p = row_run(row);
    unsetenv("LD_PRELOAD");
    return p;
}

/* How many calls the command makes; *out: what it prints, heap memory. */
static uint64_t row_calls(const struct row *row, char **out)
{
    const char *path = program_path("calls");
    struct program p;
    uint64_t calls = 0;
    FILE *file;

    setenv("FAIL_COUNT", path, 1);
    p = row_run_failing(row, 0, false);
    unsetenv("FAIL_COUNT");
    if (p.status != 0)
        fail_msg("%s: status %d: %s", row->arguments[0], p.status, p.err);
    *out = strdup(p.out);
    program_release(&p);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%" SCNu64, &calls), 1);
    fclose(file);
    return calls;
}

static void made_check(const struct row *row, const char *what, bool is_whole)
{
    const char *path = program_path(row->made);
    struct program p;

    if (access(path, F_OK) != 0 && !is_whole)
        return;
    p = program_run("report", path, "--json", NULL);
    if (p.status != 0 || (is_whole && json_int(p.out, "$.complete") != 1))
        fail_msg("%s: status %d: %s", what, p.status, p.err);
    program_release(&p);
    unlink(path);
}

static void failing_check(const struct row *row, uint64_t at, bool on, const char *out)
{
    struct program p = row_run_failing(row, at, on);
    char what[64];

    snprintf(what, sizeof(what), "%s, call %" PRIu64 "%s", row->arguments[0], at,
             on ? " and all after it" : "");
    if (p.status == 0 ? !row->made && !row->varies && strcmp(p.out, out) != 0
                      : (p.status != 1 && p.status != ABORTED) ||
                            (!strstr(p.err, "memory") && !strstr(p.err, NO_THREAD)))
        fail_msg("%s: status %d: %s%s", what, p.status, p.err, p.status ? "" : p.out);
    if (row->made)
        made_check(row, what, p.status == 0);
    program_release(&p);
}

/* The call after `at`: no step goes beyond the last ones. */
static uint64_t next(uint64_t at, uint64_t calls, bool is_each)
{
    const uint64_t step = is_each ? 1 : 1 + at / 4;
    const uint64_t last = calls > LAST ? calls - LAST : 0;

    return at >= last ? at + 1 : at + step > last ? last : at + step;
}

static void row_check(const struct row *row)
{
    const bool is_each = getenv("VRAMSCOPE_ALL_CALLS") != NULL;
    char *out;
    const uint64_t calls = row_calls(row, &out);

    if (row->made)
        made_check(row, row->arguments[0], true);
    for (uint64_t at = 1; at <= calls; at = next(at, calls, is_each))
        for (int on = 0; on < 2; on++)
            failing_check(row, at, on, out);
    free(out);
}

/* ---- commands ---- */

static void a_recording_says_that_memory_is_out(void **state)
{
    const struct row row = {
        {"record", NET, "--device", "meta", "--steps", "1", "-o", "@r.db"}, "r.db", false};

    (void)state;
    row_check(&row);
}

static void a_report_says_that_memory_is_out(void **state)
{
    const struct row text = {{"report", "@trace.db"}, NULL, false};
    const struct row json = {{"report", "@trace.db", "--json"}, NULL, false};

    (void)state;
    row_check(&text);
    row_check(&json);
}

static void an_import_says_that_memory_is_out(void **state)
{
    const struct row row = {{"import", "@snapshot.pickle", "-o", "@i.db"}, "i.db", false};

    (void)state;
    row_check(&row);
}

static void the_screen_says_that_memory_is_out(void **state)
{
    const struct row row = {{"tui", "@trace.db", "--dump", "--keys", "llgvgb"}, NULL, false};

    (void)state;
    row_check(&row);
}

static void a_what_if_says_that_memory_is_out(void **state)
{
    const struct row row = {
        {"whatif", "@trace.db", "--set", "amp=bf16", "--set", "steps=1"}, NULL, true};

    (void)state;
    row_check(&row);
}

/* It is replaced when the new one has its first commit. */
static void where_a_trace_was_there_is_one_after_memory_was_out(void **state)
{
    const struct row row = {
        {"record", NET, "--device=meta", "--steps=1", "--batch=4", "-f", "-o", "@kept.db"},
        NULL,
        true};
    char *out;
    const uint64_t calls = row_calls(&row, &out);

    (void)state;
    free(out);
    for (uint64_t at = 1; at <= calls; at += 1 + at / 3) {
        struct program p = row_run_failing(&row, at, true);

        assert_int_not_equal(p.status, 0);
        program_release(&p);
        p = program_run("report", program_path("kept.db"), "--json", NULL);
        if (p.status != 0)
            fail_msg("call %" PRIu64 ": %s", at, p.err);
        program_release(&p);
    }
}

/* The traces that are read: each has its index. */
static int setup(void **state)
{
    const struct rlimit none = {0, 0};
    struct program p;

    (void)state;
    setrlimit(RLIMIT_CORE, &none);
    setenv("TMPDIR", program_folder(), 1);
    setenv("XDG_CONFIG_HOME", program_folder(), 1);
    p = program_run("record", NET, "--device", "meta", "--steps", "2", "-o",
                    program_path("trace.db"), NULL);
    if (p.status)
        fail_msg("%s", p.err);
    program_release(&p);
    p = program_run("export", program_path("trace.db"), "--format", "snapshot", "-o",
                    program_path("snapshot.pickle"), NULL);
    if (p.status)
        fail_msg("%s", p.err);
    program_release(&p);
    return 0;
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static void a_sanitizer_has_a_malloc_of_its_own(void **state)
{
    (void)state;
    tests_skip("the program has a sanitizer's malloc");
}

int main(void)
{
    const struct CMUnitTest none[] = {cmocka_unit_test(a_sanitizer_has_a_malloc_of_its_own)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recording_says_that_memory_is_out),
        cmocka_unit_test(a_report_says_that_memory_is_out),
        cmocka_unit_test(an_import_says_that_memory_is_out),
        cmocka_unit_test(the_screen_says_that_memory_is_out),
        cmocka_unit_test(a_what_if_says_that_memory_is_out),
        cmocka_unit_test(where_a_trace_was_there_is_one_after_memory_was_out),
    };

    if (HAS_SANITIZER)
        return cmocka_run_group_tests(none, NULL, NULL);
    return cmocka_run_group_tests(tests, setup, cleanup);
}
