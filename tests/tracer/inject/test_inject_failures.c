/*
 * tests/tracer/inject/test_inject_failures.c - a program runs on where CUPTI, a call of CUDA or the trace fails, and
 * the status file gives the reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "tests/tracer/inject/injected.h"

/* The program does what it does without us, and one line says why there is no trace. */
static void runs_on_unrecorded(const char *setting, const char *reason)
{
    struct injected *run = injected_run("basic", setting);

    injected_assert_exit(run, 7);
    assert_string_equal(run->out, "basic is done\n");
    injected_assert_status(run, reason);
    assert_int_equal(access(run->trace, F_OK), -1);
}

/* The first: none is found, or NVIDIA's own, which finds no driver of its own. */
static void without_cupti_the_program_runs_on(void **state)
{
    (void)state;
    runs_on_unrecorded("VRAMSCOPE_CUDA_LIBS=/nowhere", "cupti: ");
    runs_on_unrecorded("FAKE_CUPTI_FAIL=cuptiGetVersion:999", "cupti: ");
    runs_on_unrecorded("FAKE_CUPTI_FAIL=cuptiSubscribe:35",
                       "cupti: not permitted (CUPTI_ERROR_35)");
    runs_on_unrecorded("FAKE_CUPTI_FAIL=cuptiSubscribe:39",
                       "cupti: another profiler is attached to this program");
    runs_on_unrecorded("FAKE_CUPTI_FAIL=cuptiSubscribe:1",
                       "cupti: calls of the driver cannot be observed");
    runs_on_unrecorded("FAKE_CUPTI_FAIL=cuptiEnableCallback:35",
                       "cupti: none of CUDA's functions can be observed");
}

/* Each function that only adds to what is known may fail: the bytes stay right. */
static void byte_counts_are_right_when_a_cupti_function_fails(void **state)
{
    static const char *const FAILS[] = {
        "FAKE_CUPTI_FAIL=cuptiGetDeviceId:3",
        "FAKE_CUPTI_FAIL=cuptiGetStreamIdEx:3",
        "FAKE_CUPTI_FAIL=cuptiGetContextId:3",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(FAILS) / sizeof(FAILS[0]); i++) {
        struct injected *run = injected_run("kinds", FAILS[i]);

        injected_assert_exit(run, 0);
        injected_assert_report(run->trace, 5120 + 7000 + 3000 + 1500, 8, 5120 + 7000 + 1500);
    }
}

/* The third call fails: each function once. What it was to do did not happen. */
static void a_call_that_fails_changes_nothing(void **state)
{
    struct injected *run = injected_run("basic", "FAKE_CUDA_FAIL=cuMemFree_v2:1:1");

    (void)state;
    injected_assert_exit(run, 3); /* the program ends at the first failure */
    injected_assert_report(run->trace, 3000, 4, 3000);
    run = injected_run("basic", "FAKE_CUDA_FAIL=cuMemAlloc_v2:2:1");
    injected_assert_exit(run, 3);
    injected_assert_report(run->trace, 1000, 2, 1000);
    run = injected_run("physical", "FAKE_CUDA_FAIL=cuMemMap:1:1");
    injected_assert_exit(run, 3);
    injected_assert_report(run->trace, 4194304, 4, 4194304);
    run = injected_run("physical", "FAKE_CUDA_FAIL=cuMemRelease:2:1");
    injected_assert_exit(run, 3);
    injected_assert_report(run->trace, 4194304, 4, 4194304);
    run = injected_run("physical", "FAKE_CUDA_FAIL=cuMemUnmap:1:1");
    injected_assert_exit(run, 3);
    injected_assert_report(run->trace, 4194304, 4, 2097152);
    run = injected_run("kinds", "FAKE_CUDA_FAIL=cuMemAllocHost_v2:1:2");
    injected_assert_exit(run, 3);
    injected_assert_sql(run->trace, "SELECT count(*) FROM event WHERE kind = 'oom'",
                        0); /* the host's */
}

static void a_free_of_an_unknown_address_is_no_event(void **state)
{
    struct injected *run = injected_run("fails", NULL);

    (void)state;
    injected_assert_exit(run, 0);
    injected_assert_sql(run->trace, "SELECT count(*) FROM event WHERE kind = 'free'", 1);
}

static void a_lost_gpu_is_reported_once(void **state)
{
    struct injected *run = injected_run("fails", "FAKE_CUDA_FAIL=cuStreamSynchronize:1:700");

    (void)state;
    injected_assert_exit(run, 0);
    injected_assert_status(run,
                           "gpu: lost: CUDA_ERROR_ILLEGAL_ADDRESS, said by cuStreamSynchronize");
    assert_int_equal(injected_count(run, "gpu: "), 1);
    injected_assert_text(run->trace, "SELECT value FROM meta WHERE key = 'device_error'",
                         "CUDA_ERROR_ILLEGAL_ADDRESS, said by cuStreamSynchronize");
    injected_assert_complete(run->trace, 1);
}

static void an_unwritable_trace_path_does_not_stop_the_program(void **state)
{
    struct injected *run = injected_run("basic", "VRAMSCOPE_OUT=/proc/nowhere/t.db");

    (void)state;
    injected_assert_exit(run, 7);
    assert_string_equal(run->out, "basic is done\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_cupti_the_program_runs_on),
        cmocka_unit_test(byte_counts_are_right_when_a_cupti_function_fails),
        cmocka_unit_test(a_call_that_fails_changes_nothing),
        cmocka_unit_test(a_free_of_an_unknown_address_is_no_event),
        cmocka_unit_test(a_lost_gpu_is_reported_once),
        cmocka_unit_test(an_unwritable_trace_path_does_not_stop_the_program),
    };

    injected_setup();
    return cmocka_run_group_tests(tests, NULL, injected_cleanup);
}
