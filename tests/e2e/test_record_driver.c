/*
 * tests/e2e/test_record_driver.c - `vramscope record -- PROGRAM` with the injection library: the driver's calls of
 * every process under a name of its own, beside PyTorch's history where there is one.
 *
 * The driver and CUPTI are those of tests/tracer/inject/fake; PyTorch is that of tests/tracer/python.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/skip.h"

static char build[512];
static char programs[560];

static int setup(void **state)
{
    const char *program = getenv("VRAMSCOPE");
    char path[1024];
    char here[400];

    (void)state;
    assert_non_null(getcwd(here, sizeof(here)));
    assert_non_null(realpath(program ? program : "build/vramscope", path));
    *strrchr(path, '/') = '\0';
    snprintf(build, sizeof(build), "%.500s", path);
    snprintf(programs, sizeof(programs), "%s/fake/programs", build);
    snprintf(path, sizeof(path), "%s/fake", build);
    setenv("LD_LIBRARY_PATH", path, 1);
    snprintf(path, sizeof(path), "%s/fake/cupti", build);
    setenv("VRAMSCOPE_CUDA_LIBS", path, 1);
    snprintf(path, sizeof(path), "%s/tests/tracer/python", here);
    setenv("PYTHONPATH", path, 1);
    snprintf(path, sizeof(path), "%s/tests/golden/snapshots/attention_3g.pickle.gz", here);
    setenv("FAKE_TORCH_SNAPSHOT", path, 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    unsetenv("RANK");
    return 0;
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* Nothing is left of the test before. */
static int begin(void **state)
{
    char command[256];

    (void)state;
    unsetenv("FAKE_CUPTI_FAIL");
    unsetenv("FAKE_CUDA_BYTES");
    unsetenv("ASAN_OPTIONS");
    snprintf(command, sizeof(command), "rm -rf '%s'/*", program_folder());
    assert_int_equal(system(command), 0);
    return 0;
}

/* Without CUPTI's headers there is no injection library. First in every test: a set-up cannot skip one. */
static void needs_library(void)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/vramscope_inject.so", build);
    if (access(path, F_OK) != 0 || access(programs, X_OK) != 0)
        tests_skip("the injection library needs CUPTI's headers to be built");
}

/*
 * Where the tests run under the address sanitizer: a forked child leaves what its parent had where it is, which the
 * sanitizer takes for a leak, and python3 was not linked with it. Until the next test begins.
 */
static void be_lenient(void)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0", 1);
}

/* It ended with `status`, says `err`, and leaves `traces` and nothing else. */
static void check(struct program p, int status, const char *err, int traces)
{
    if (p.status != status || !strstr(p.err, err))
        fail_msg("status %d (not %d), out: %s; err: %s; but should: %s", p.status, status, p.out,
                 p.err, err);
    if (program_count("*.db") != traces || program_count("*") - program_count("*.py") != traces)
        fail_msg("%d traces, not %d, of %d files; err: %s", program_count("*.db"), traces,
                 program_count("*"), p.err);
    program_release(&p);
}

static void check_run(const char *command, int status, const char *err, int traces)
{
    check(program_run("record", "-o", program_path("trace.db"), "--", "sh", "-c", command, NULL),
          status, err, traces);
}

static void check_program(const char *word, int status, const char *err, int traces)
{
    check(program_run("record", "-o", program_path("trace.db"), "--", programs, word, NULL), status,
          err, traces);
}

/* 1000 + 2000 - 1000 + 4000 bytes */
static void calls_of_the_driver_are_recorded_as_a_trace(void **state)
{
    struct program p;

    (void)state;
    needs_library();
    check_program("basic", 7, "to the driver, 8 events, peak 5.9 KiB", 1);
    p = program_run("report", program_path("trace.db"), NULL);
    assert_non_null(strstr(p.out, "trace.db: programs on cuda, 8 events"));
    assert_non_null(strstr(p.out, "not recorded in calls of the driver"));
    assert_null(strstr(p.out, "parameters"));
    program_release(&p);
    p = program_run("report", program_path("trace.db"), "--json", NULL);
    assert_int_equal(json_int(p.out, "$.peak.allocated"), 6000);
    json_expect(p.out, "$.driver", "null");
    program_release(&p);
    p = program_run("whatif", program_path("trace.db"), "--set", "alloc-conf=backend:native", NULL);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "no net"));
    program_release(&p);
}

static void how_a_program_ends_is_reported(void **state)
{
    (void)state;
    needs_library();
    check_program("never", 9, "never called CUDA; there is no trace", 0);
    /* an out of memory is committed at once, so there is something in the trace whenever it ends */
    setenv("FAKE_CUDA_BYTES", "1000", 1);
    check_program("oom-leaves", 6, "up to its sudden end", 1);
    assert_int_equal(
        sql_int(program_path("trace.db"), "select value + 0 from meta where key = 'complete'"), 0);
    begin(NULL);
    setenv("FAKE_CUPTI_FAIL", "cuptiSubscribe:15", 1);
    check_program("basic", 7, "requests to the driver are not recorded: ", 0);
    check_program("basic", 7, "nothing was recorded, so it has no trace", 0);
    begin(NULL);
    setenv("FAKE_CUPTI_FAIL", "cuptiEnableCallback:35", 1);
    check_program("basic", 7, "none of CUDA's functions can be observed (and ", 0);
    begin(NULL);
    setenv("FAKE_CUDA_BYTES", "1000", 1);
    check_program("oom", 0, "the driver was out of memory: ", 1);
}

static void every_process_and_device_has_a_trace(void **state)
{
    char command[1200];
    struct program p;

    (void)state;
    needs_library();
    p = program_run("record", "--json", "-o", program_path("trace.db"), "--", programs, "basic",
                    NULL);
    assert_int_equal(json_int(p.out, "$.traces[0].peak.allocated"), 6000);
    json_expect(p.out, "$.traces[0].complete", "bool");
    program_release(&p);
    begin(NULL);
    check_program("devices", 0, "trace.gpu", 2);
    assert_int_equal(program_count("trace.gpu[0-9].db"), 1);
    begin(NULL);
    snprintf(command, sizeof(command), "'%s' basic; '%s' basic", programs, programs);
    check_run(command, 7, "trace.db: requests of pid", 2);
    assert_int_equal(program_count("trace.[0-9]*.db"), 1);
    begin(NULL);
    be_lenient();
    check_program("forks", 0, "trace.db: requests of pid", 2);
    assert_int_equal(program_count("trace.[0-9]*.db"), 1);
    /* what has the name stays, and what it is replaced by is the program's */
    check(program_run("record", "-o", program_path("trace.db"), "--force", "--", programs, "basic",
                      NULL),
          7, "8 events", 2);
}

#define CUDA                                                                                       \
    "import ctypes, os, sys, torch\n"                                                              \
    "cu = ctypes.CDLL('libcuda.so.1')\n"                                                           \
    "c, p = ctypes.c_void_p(), ctypes.c_uint64()\n"                                                \
    "def cuda(size):\n"                                                                            \
    "    assert cu.cuInit(0) == 0\n"                                                               \
    "    assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(c), 0) == 0\n"                            \
    "    assert cu.cuCtxSetCurrent(c) == 0\n"                                                      \
    "    assert cu.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(size)) == 0\n"

#define ON                                                                                         \
    "def on(device, size):\n"                                                                      \
    "    assert cu.cuInit(0) == 0\n"                                                               \
    "    assert cu.cuDevicePrimaryCtxRetain(ctypes.byref(c), device) == 0\n"                       \
    "    assert cu.cuCtxSetCurrent(c) == 0\n"                                                      \
    "    assert cu.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(size)) == 0\n"

static void check_python(const char *text, const char *err, int traces)
{
    const char *path = program_file("train.py", text);

    check(program_run("record", "-o", program_path("trace.db"), "--", "python3", path, NULL), 0,
          err, traces);
}

static void pytorchs_history_and_the_drivers_calls_are_both_recorded(void **state)
{
    const char *trace = program_path("trace.db");
    struct program p;

    (void)state;
    needs_library();
    be_lenient();
    if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null") != 0)
        tests_skip("there is no python3 from 3.8 on");
    check_python(CUDA "torch.cuda.init()\ncuda(5000)\n", "trace.driver.db: requests of pid", 2);
    assert_int_equal(sql_int(trace, "select value + 0 from meta where key = 'recorded_events'"),
                     97);
    assert_int_equal(sql_int(program_path("trace.driver.db"),
                             "select sum(size) from event where kind = 'alloc'"),
                     5000);
    p = program_run("report", trace, "--json", NULL);
    assert_int_equal(json_int(p.out, "$.driver.peak"), 5000);
    assert_int_equal(json_int(p.out, "$.driver.outside"), 5000);
    program_release(&p);
    p = program_run("report", trace, NULL);
    assert_non_null(
        strstr(p.out, "Memory not from PyTorch: at the peak of 4.9 KiB from the driver"));
    program_release(&p);
    /* the file may go its own way */
    assert_int_equal(unlink(program_path("trace.driver.db")), 0);
    p = program_run("report", trace, "--json", NULL);
    assert_int_equal(p.status, 0);
    json_expect(p.out, "$.driver", "null");
    program_release(&p);
}

/* The first device is the one with the most requested bytes; a history belongs to one device, here to device 0. */
static void each_history_is_paired_with_the_driver_trace_of_its_device(void **state)
{
    static const char *const programs_text[] = {
        CUDA ON "torch.cuda.init()\non(1, 1000)\non(0, 5000)\n",
        CUDA ON "torch.cuda.init()\non(0, 5000)\non(1, 9000)\non(1, 9000)\n",
        CUDA ON "torch.cuda.init()\non(1, 9000)\non(1, 9000)\non(0, 5000)\n",
    };

    (void)state;
    needs_library();
    be_lenient();
    if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null") != 0)
        tests_skip("there is no python3 from 3.8 on");
    for (int i = 0; i < 3; i++) {
        struct program p;

        begin(NULL);
        be_lenient();
        check_python(programs_text[i], "trace.driver", 3);
        p = program_run("report", program_path("trace.db"), "--json", NULL);
        assert_int_equal(json_int(p.out, "$.driver.peak"), 5000);
        program_release(&p);
    }
}

/* The child initialises CUDA first, so it has the first name while both run; afterwards the program itself has it. */
static void the_main_process_gets_the_unnumbered_trace_name(void **state)
{
    (void)state;
    needs_library();
    be_lenient();
    if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null") != 0)
        tests_skip("there is no python3 from 3.8 on");
    check_python(CUDA "if os.fork() == 0:\n    cuda(1000)\n    sys.exit(0)\n"
                      "os.wait()\ncuda(2000)\ntorch.cuda.init()\n",
                 "trace.db: PyTorch's history", 3);
    assert_int_equal(sql_int(program_path("trace.driver.db"),
                             "select sum(size) from event where kind = 'alloc'"),
                     2000);
    assert_int_equal(program_count("trace.[0-9]*.db"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(calls_of_the_driver_are_recorded_as_a_trace, begin),
        cmocka_unit_test_setup(how_a_program_ends_is_reported, begin),
        cmocka_unit_test_setup(every_process_and_device_has_a_trace, begin),
        cmocka_unit_test_setup(pytorchs_history_and_the_drivers_calls_are_both_recorded, begin),
        cmocka_unit_test_setup(each_history_is_paired_with_the_driver_trace_of_its_device, begin),
        cmocka_unit_test_setup(the_main_process_gets_the_unnumbered_trace_name, begin),
    };

    return cmocka_run_group_tests(tests, setup, cleanup);
}
