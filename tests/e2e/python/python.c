/*
 * tests/e2e/python/python.c - see python.h.
 */
#include "tests/e2e/python/python.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/wait.h"

#define SNAPSHOT "tests/golden/snapshots/attention_3g.pickle.gz"
#define FAKE_VERSION "2.15.0+fake"
#define SNAPSHOT_PEAK INT64_C(3249144832)

static char tests_folder[512];

bool python_is_there(void)
{
    return system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null") == 0;
}

const char *python_tests_folder(void)
{
    return tests_folder;
}

int python_setup(void **state)
{
    char path[1024];
    char here[400];

    (void)state;
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(tests_folder, sizeof(tests_folder), "%s/tests/tracer/python", here);
    setenv("PYTHONPATH", tests_folder, 1);
    snprintf(path, sizeof(path), "%s/" SNAPSHOT, here);
    setenv("FAKE_TORCH_SNAPSHOT", path, 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("FAKE_TORCH_SAY", program_path("said"), 1);
    setenv("TMPDIR", program_folder(), 1);
    setenv("VRAMSCOPE_SAVE_EVERY", "0", 1);
    /* python3 was not linked with the address sanitizer, and keeps memory to its end */
    setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0", 1);
    unsetenv("RANK");
    return 0;
}

int python_cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

int python_begin(void **state)
{
    char command[256];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'/*", program_folder());
    assert_int_equal(system(command), 0);
    return 0;
}

struct program python_run(const char *text)
{
    const char *path = program_file("train.py", text);

    return program_run("record", "-o", program_path("trace.db"), "--", "python3", path, "-x", NULL);
}

void python_check(struct program p, int status, const char *out, const char *err, int traces)
{
    if (p.status != status || strcmp(p.out, out) != 0 || !strstr(p.err, err))
        fail_msg("status %d (not %d), out: %s; err: %s; but should: %s%s", p.status, status, p.out,
                 p.err, out, err);
    if (program_count("*.db") != traces ||
        program_count("vramscope-record-* *.status *.part *.pickle") != 0)
        fail_msg("%d traces, not %d, %d other files; err: %s", program_count("*.db"), traces,
                 program_count("vramscope-record-*"), p.err);
    program_release(&p);
}

void python_check_trace(const char *name, const char *dumped, int complete)
{
    const char *trace = program_path(name);
    struct program p = program_run("report", trace, "--json", NULL);
    char *version;
    char sql[128];

    if (p.status)
        fail_msg("%s: %s", name, p.err);
    assert_int_equal(json_int(p.out, "$.peak.allocated"), SNAPSHOT_PEAK);
    version = json_text(p.out, "$.torch");
    if (!version || strcmp(version, FAKE_VERSION) != 0)
        fail_msg("PyTorch is %s, not " FAKE_VERSION, version ? version : "not there");
    free(version);
    program_release(&p);
    p = program_run("report", trace, NULL);
    if (!strstr(p.out, " events, PyTorch " FAKE_VERSION "\n") &&
        !strstr(p.out, " events, PyTorch " FAKE_VERSION ";"))
        fail_msg("it prints %s", p.out);
    program_release(&p);
    assert_int_equal(sql_int(trace, "select value + 0 from meta where key = 'recorded_events'"),
                     SNAPSHOT_EVENTS);
    snprintf(sql, sizeof(sql), "select value = '%s' from meta where key = 'dumped'", dumped);
    assert_int_equal(sql_int(trace, sql), 1);
    assert_int_equal(sql_int(trace, "select value + 0 from meta where key = 'complete'"), complete);
}

pid_t python_start(const char *text)
{
    const char *train = program_file("train.py", text);
    pid_t pid =
        program_start("record", "-o", program_path("trace.db"), "--", "python3", train, NULL);
    struct wait w;

    w = wait_for(pid, "the file %s", program_path("ready"));
    while (access(program_path("ready"), F_OK) != 0)
        wait_more(&w);
    return pid;
}

int python_status(pid_t pid)
{
    int status = wait_child(pid, "the recorder of a Python program to end");

    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
