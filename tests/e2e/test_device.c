/*
 * tests/e2e/test_device.c - `record` where the GPU is lost on the way, or its plug-in cannot be used.
 *
 * The GPU is made of host memory (tests/engine/device/twin), and is lost when it is waited for the Nth time; the
 * plug-in that is refused is that of tests/engine/device/fake, called as the real one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/program.h"

#define NET "sample_nets/lenet.py"

/* A file beside the program under test. */
static const char *beside(const char *file)
{
    static char path[PATH_MAX + 64];
    const char *program = getenv("VRAMSCOPE");
    char folder[PATH_MAX];

    assert_non_null(realpath(program ? program : "build/vramscope", folder));
    *strrchr(folder, '/') = '\0';
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    return path;
}

static int setup(void **state)
{
    (void)state;
    setenv("VRAMSCOPE_PLUGINS", beside("twin"), 1);
    unsetenv("VRAMSCOPE_TWIN_LOST");
    return 0;
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static struct program record(const char *trace, const char *device)
{
    return program_run("record", NET, "--device", device, "--steps", "2", "--cupti", "off", "-o",
                       trace, "--force", NULL);
}

/* Waited for at the end of each phase, and where a value is read. */
static void a_lost_gpu_is_reported_and_the_trace_is_kept(void **state)
{
    const char *trace = program_path("lost.db");
    int64_t whole;
    int64_t before = 0;
    struct program p = record(trace, "cuda");

    (void)state;
    assert_int_equal(p.status, 0);
    program_release(&p);
    whole = sql_int(trace, "SELECT count(*) FROM event");
    for (int nth = 2; nth <= 8; nth += 3) {
        char text[16];
        char *outcome;
        int64_t events;

        snprintf(text, sizeof(text), "%d", nth);
        setenv("VRAMSCOPE_TWIN_LOST", text, 1);
        p = record(trace, "cuda");
        assert_int_equal(p.status, 1);
        assert_non_null(strstr(p.err, "the GPU made of host memory is lost"));
        assert_non_null(strstr(p.err, "holds what happened so far"));
        program_release(&p);
        events = sql_int(trace, "SELECT count(*) FROM event");
        assert_in_range(events, before + 1, whole - 1);
        before = events;
        assert_int_equal(sql_int(trace, "SELECT count(*) FROM event WHERE kind = 'oom'"), 0);
        assert_int_equal(sql_int(trace, "SELECT count(*) FROM meta WHERE key = 'outcome' AND "
                                        "value = 'failed'"),
                         1);
        assert_int_equal(sql_int(trace, "SELECT count(*) FROM meta WHERE key = 'failure' AND "
                                        "value LIKE '%is lost%'"),
                         1);
        p = program_run("report", trace, "--json", NULL);
        assert_int_equal(p.status, 0);
        outcome = json_text(p.out, "$.complete");
        assert_non_null(outcome);
        assert_string_equal(outcome, "0");
        free(outcome);
        program_release(&p);
        p = program_run("report", trace, NULL);
        assert_non_null(strstr(p.out, "the run failed there: "));
        program_release(&p);
    }
}

/* A folder with the refused plug-in under the name of the real one. */
static void old_plugin_set(void)
{
    char command[3 * PATH_MAX];

    snprintf(command, sizeof(command), "mkdir -p '%s' && cp '%s' '%s/vramscope_cuda.so'",
             program_path("old"), beside("fake/vramscope_old.so"), program_path("old"));
    assert_int_equal(system(command), 0);
    setenv("VRAMSCOPE_PLUGINS", program_path("old"), 1);
    setenv("FAKE_PLUGIN_VERSION", "1", 1);
}

static void an_incompatible_plug_in_fails_cuda_and_makes_auto_use_the_cpu(void **state)
{
    const char *trace = program_path("old.db");
    struct program p;

    (void)state;
    old_plugin_set();
    p = record(trace, "cuda");
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "the plug-in is of version 1"));
    assert_int_not_equal(access(trace, F_OK), 0);
    program_release(&p);
    p = record(trace, "auto");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.err, "on the CPU, because the GPU could not be used: "));
    assert_non_null(strstr(p.err, "the plug-in is of version 1"));
    program_release(&p);
    assert_int_equal(
        sql_int(trace, "SELECT count(*) FROM meta WHERE key = 'device' AND value = 'cpu'"), 1);
    unsetenv("FAKE_PLUGIN_VERSION");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_lost_gpu_is_reported_and_the_trace_is_kept, setup),
        cmocka_unit_test_setup(an_incompatible_plug_in_fails_cuda_and_makes_auto_use_the_cpu,
                               setup),
    };

    return cmocka_run_group_tests_name("e2e/device", tests, NULL, cleanup);
}
