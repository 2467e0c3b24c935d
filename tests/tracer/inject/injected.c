/*
 * tests/tracer/inject/injected.c - see injected.h.
 */
#include "tests/tracer/inject/injected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/wait.h"

static char build[INJECTED_PATH_SIZE];
static unsigned runs;

int injected_cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

void injected_setup(void)
{
    const char *program = getenv("VRAMSCOPE");
    char *slash;

    assert_non_null(realpath(program ? program : "build/vramscope", build));
    slash = strrchr(build, '/');
    assert_non_null(slash);
    *slash = '\0';
}

static void text_read(const char *path, char *out)
{
    FILE *file = fopen(path, "r");
    size_t len = file ? fread(out, 1, INJECTED_TEXT_MAX - 1, file) : 0;

    out[len] = '\0';
    if (file)
        fclose(file);
}

static void folder_set(const char *variable, const char *below)
{
    char path[2 * INJECTED_PATH_SIZE];

    snprintf(path, sizeof(path), "%s%s", build, below);
    setenv(variable, path, 1);
}

/* In the child. settings: "NAME=VALUE". */
static void enter(const struct injected *run, const char *const *settings)
{
    folder_set("LD_LIBRARY_PATH", "/fake");
    folder_set("VRAMSCOPE_CUDA_LIBS", "/fake/cupti");
    folder_set("CUDA_INJECTION64_PATH", "/vramscope_inject.so");
    folder_set("NVTX_INJECTION64_PATH", "/vramscope_inject.so");
    setenv("VRAMSCOPE_OUT", run->trace, 1);
    for (size_t i = 0; settings && settings[i]; i++)
        putenv(strdup(settings[i]));
}

const char *injected_programs(void)
{
    static char path[INJECTED_PATH_SIZE + 16];

    snprintf(path, sizeof(path), "%s/fake/programs", build);
    return path;
}

static void out_path(char *path, size_t size)
{
    snprintf(path, size, "%s/out", program_folder());
}

void injected_start(struct injected *run, const char *const *argv, const char *const *settings)
{
    char out[INJECTED_PATH_SIZE];

    memset(run, 0, sizeof(*run));
    snprintf(run->trace, sizeof(run->trace), "%s/%u.db", program_folder(), ++runs);
    out_path(out, sizeof(out));
    run->pid = fork();
    assert_true(run->pid >= 0);
    if (run->pid)
        return;
    if (!freopen(out, "w", stdout))
        _exit(126);
    enter(run, settings);
    /* execvp takes char *const[] for historical reasons; it changes nothing */
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

void injected_end(struct injected *run)
{
    char path[INJECTED_PATH_SIZE + 16];
    int status = wait_child(run->pid, "the program that writes %s to end", run->trace);

    run->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    out_path(path, sizeof(path));
    text_read(path, run->out);
    snprintf(path, sizeof(path), "%s.status", run->trace);
    text_read(path, run->status);
}

struct injected *injected_run_args(const char *const *argv, const char *const *settings)
{
    static struct injected run;

    injected_start(&run, argv, settings);
    injected_end(&run);
    return &run;
}

struct injected *injected_run(const char *word, const char *setting)
{
    const char *argv[] = {injected_programs(), word, NULL};
    const char *settings[] = {setting, NULL};

    return injected_run_args(argv, settings);
}

void injected_assert_exit(const struct injected *run, int status)
{
    if (run->exit_status != status)
        fail_msg("exit status %d, not %d; status file:\n%s", run->exit_status, status, run->status);
}

void injected_assert_status(const struct injected *run, const char *fact)
{
    if (!strstr(run->status, fact))
        fail_msg("the status file does not say `%s`:\n%s", fact, run->status);
}

void injected_assert_not_in_status(const struct injected *run, const char *fact)
{
    if (strstr(run->status, fact))
        fail_msg("the status file says `%s`:\n%s", fact, run->status);
}

size_t injected_count(const struct injected *run, const char *key)
{
    size_t count = 0;

    for (const char *at = run->status; (at = strstr(at, key)) != NULL; at++)
        count++;
    return count;
}

/* The path of the n-th trace (from 0) that the status file names. */
const char *injected_trace(const struct injected *run, size_t n)
{
    static char path[INJECTED_PATH_SIZE];
    const char *at = run->status;

    for (size_t i = 0; i <= n; i++) {
        at = strstr(at, " trace: ");
        assert_non_null(at);
        at += strlen(" trace: ");
    }
    snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, "\n"), at);
    return path;
}

void injected_assert_sql(const char *trace, const char *sql, int64_t expected)
{
    const int64_t value = sql_int(trace, sql);

    if (value != expected)
        fail_msg("%s: %" PRId64 ", not %" PRId64, sql, value, expected);
}

void injected_assert_text(const char *trace, const char *sql, const char *expected)
{
    char test[1024];

    snprintf(test, sizeof(test), "SELECT (%s) = '%s'", sql, expected);
    if (sql_int(trace, test) != 1)
        fail_msg("%s is not %s", sql, expected);
}

void injected_assert_report(const char *trace, uint64_t peak, uint64_t at, uint64_t end_bytes)
{
    struct program p = program_run("report", trace, "--json", NULL);

    if (p.status != 0)
        fail_msg("report: %d: %s", p.status, p.err);
    assert_int_equal(json_int(p.out, "$.peak.allocated"), peak);
    assert_int_equal(json_int(p.out, "$.peak.requested"), peak);
    assert_int_equal(json_int(p.out, "$.peak.reserved"), peak);
    assert_int_equal(json_int(p.out, "$.peak.event"), at);
    assert_int_equal(json_int(p.out, "$.devices[0].allocated"), end_bytes);
    assert_int_equal(json_int(p.out, "$.devices[0].reserved"), end_bytes);
    program_release(&p);
}

void injected_assert_complete(const char *trace, int64_t is_complete)
{
    injected_assert_sql(trace, "SELECT value FROM meta WHERE key = 'complete'", is_complete);
}
