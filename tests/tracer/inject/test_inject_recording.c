/*
 * tests/tracer/inject/test_inject_recording.c - the trace has what a program does with CUDA: bytes, functions, steps.
 * The figures are added up from what the programs of fake/programs.c allocate.
 *
 * The figures are added up from what the programs of fake/programs.c allocate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tests/e2e/program.h"
#include "tests/tracer/inject/injected.h"

static void a_program_is_recorded_and_keeps_its_exit_status(void **state)
{
    struct injected *run = injected_run("basic", NULL);

    (void)state;
    injected_assert_exit(run, 7);
    assert_string_equal(run->out, "basic is done\n");
    injected_assert_complete(run->trace, 1);
    injected_assert_report(run->trace, 6000, 8, 6000);
    injected_assert_sql(run->trace, "SELECT count(*) FROM event", 8);
    injected_assert_sql(run->trace, "SELECT sum(size) FROM event WHERE kind = 'alloc'", 7000);
    injected_assert_sql(run->trace, "SELECT address FROM event WHERE seq = 2",
                        INT64_C(0x7f0000000000));
    injected_assert_text(run->trace, "SELECT value FROM meta WHERE key = 'source_kind'", "program");
    injected_assert_text(run->trace, "SELECT value FROM meta WHERE key = 'source_name'",
                         "programs");
    injected_assert_text(run->trace, "SELECT value FROM meta WHERE key = 'device_name'",
                         "Fake GPU 0");
    injected_assert_text(run->trace, "SELECT value FROM meta WHERE key = 'outcome'", "done");
    injected_assert_sql(run->trace, "SELECT value FROM meta WHERE key = 'driver_version'", 13000);
    injected_assert_sql(run->trace, "SELECT value FROM meta WHERE key = 'device_bytes'",
                        INT64_C(1) << 30);
    injected_assert_sql(run->trace, "SELECT value FROM meta WHERE key = 'pid'", run->pid);
    injected_assert_status(run, "cuda: initialized");
    injected_assert_status(run, "device: 0 Fake GPU 0");
    injected_assert_status(run, "closed: ");
}

static void an_allocation_has_its_function_and_the_kernel_before_it(void **state)
{
    struct injected *run = injected_run("basic", NULL);

    (void)state;
    injected_assert_text(run->trace, "SELECT func FROM event WHERE seq = 2",
                         "programs!program_allocates");
    injected_assert_text(run->trace, "SELECT op FROM event WHERE seq = 2", "cuMemAlloc");
    injected_assert_text(run->trace, "SELECT op FROM event WHERE seq = 4",
                         "cuMemAlloc after axpy_kernel");
    injected_assert_text(run->trace, "SELECT op FROM event WHERE seq = 5",
                         "cuMemFree after axpy_kernel");
}

static void an_allocation_has_its_whole_call_stack(void **state)
{
    struct injected *run = injected_run("basic", NULL);

    (void)state;
    injected_assert_sql(run->trace, "SELECT count(DISTINCT seq) FROM call_stack",
                        3); /* of the allocations */
    injected_assert_sql(run->trace, "SELECT count(DISTINCT id / 256) FROM frame",
                        3); /* each from its own line */
    injected_assert_sql(
        run->trace,
        "SELECT count(*) FROM call_stack a JOIN call_stack b ON b.seq = a.seq AND b.depth > "
        "a.depth "
        "WHERE a.seq = 2 AND a.func = 'programs!program_allocates' AND b.func = 'programs!_start'",
        1);
    injected_assert_sql(run->trace,
                        "SELECT count(*) FROM call_stack WHERE func LIKE '%vramscope_inject%'", 0);
    injected_assert_sql(run->trace, "SELECT min(depth) FROM call_stack WHERE seq = 2", 0);
}

static void calls_of_the_runtime_are_recorded_under_the_runtimes_names(void **state)
{
    static const char *const SETTINGS[] = {NULL, "FAKE_CUDA_OPAQUE=1"};

    (void)state;
    /* CUPTI reports the driver's function, and then only the runtime's */
    for (size_t i = 0; i < 2; i++) {
        struct injected *run = injected_run("runtime", SETTINGS[i]);

        injected_assert_exit(run, 0);
        injected_assert_report(run->trace, 8000, 4, 5000);
        injected_assert_sql(run->trace, "SELECT count(*) FROM event WHERE kind = 'alloc'", 2);
        injected_assert_text(run->trace, "SELECT op FROM event WHERE seq = 2", "cudaMalloc");
        injected_assert_text(run->trace, "SELECT op FROM event WHERE kind = 'free'", "cudaFree");
    }
}

/* 512 * 10 pitched, 7000 managed, 3000 on a stream, 1500 of a pool; pinned: 50000 + 20000 - 50000. */
static void every_kind_of_allocation_is_recorded(void **state)
{
    struct injected *run = injected_run("kinds", NULL);

    (void)state;
    injected_assert_exit(run, 0);
    injected_assert_report(run->trace, 5120 + 7000 + 3000 + 1500, 8, 5120 + 7000 + 1500);
    injected_assert_sql(run->trace, "SELECT stream FROM event WHERE seq = 5", 12);
    injected_assert_sql(run->trace, "SELECT value FROM meta WHERE key = 'host_peak'", 70000);
    injected_assert_sql(run->trace, "SELECT value FROM meta WHERE key = 'host_allocated'", 20000);
}

static void physical_memory_lives_as_long_as_a_handle_or_a_mapping(void **state)
{
    struct injected *run = injected_run("physical", NULL);

    (void)state;
    injected_assert_exit(run, 0);
    injected_assert_report(run->trace, 4194304, 4, 0);
    injected_assert_text(run->trace, "SELECT op FROM event WHERE kind = 'free' AND block = 2",
                         "cuMemRelease");
    injected_assert_text(run->trace, "SELECT op FROM event WHERE kind = 'free' AND block = 1",
                         "cuMemUnmap");
}

static void out_of_memory_is_recorded_as_an_event_and_as_the_outcome(void **state)
{
    struct injected *run = injected_run("oom", "FAKE_CUDA_BYTES=1000");

    (void)state;
    injected_assert_exit(run, 0);
    injected_assert_report(run->trace, 900, 2, 900);
    injected_assert_sql(run->trace, "SELECT size FROM event WHERE kind = 'oom'", 200);
    injected_assert_sql(run->trace, "SELECT device_free FROM event WHERE kind = 'oom'", 100);
    injected_assert_text(run->trace, "SELECT value FROM meta WHERE key = 'outcome'", "oom");
    injected_assert_complete(run->trace, 1);
    injected_assert_status(run, "oom: 200 bytes requested, 100 free");
}

static void a_program_that_exits_right_after_an_out_of_memory_has_it_in_its_trace(void **state)
{
    struct injected *run = injected_run("oom-leaves", "FAKE_CUDA_BYTES=1000");

    (void)state;
    injected_assert_exit(run, 6);
    injected_assert_report(run->trace, 900, 2, 900);
    injected_assert_sql(run->trace, "SELECT size FROM event WHERE kind = 'oom'", 200);
    injected_assert_complete(run->trace, 0);
}

static void concurrent_allocations_of_several_threads_are_all_recorded(void **state)
{
    struct injected *run = injected_run("threads", NULL);

    (void)state;
    injected_assert_exit(run, 0);
    /* 4 threads, 500 rounds, 4 blocks of 512, 1024, 1536, 2048 */
    injected_assert_sql(run->trace, "SELECT count(*) FROM event WHERE kind = 'alloc'", 8000);
    injected_assert_sql(run->trace, "SELECT count(*) FROM event WHERE kind = 'free'", 8000);
    injected_assert_sql(run->trace, "SELECT sum(size) FROM event WHERE kind = 'alloc'",
                        4 * 500 * 5120);
    injected_assert_sql(run->trace, "SELECT count(*) FROM block WHERE free_seq IS NULL", 0);
    /* no two blocks have an address at once */
    injected_assert_sql(
        run->trace,
        "SELECT count(*) FROM (SELECT alloc_seq, lag(free_seq) OVER (PARTITION BY address "
        "ORDER BY alloc_seq) AS before FROM block) WHERE before > alloc_seq",
        0);
}

static void a_device_reset_frees_the_blocks_of_its_context(void **state)
{
    struct injected *run = injected_run("resets", NULL);

    (void)state;
    injected_assert_exit(run, 0);
    injected_assert_report(run->trace, 3000, 4, 500);
    injected_assert_sql(
        run->trace, "SELECT count(*) FROM event WHERE op = 'context destroyed' AND kind = 'free'",
        2);
}

static void each_device_has_a_trace(void **state)
{
    struct injected *run = injected_run("devices", NULL);
    const char *second;

    (void)state;
    injected_assert_exit(run, 0);
    injected_assert_report(run->trace, 1000, 2, 1000);
    injected_assert_sql(run->trace, "SELECT value FROM meta WHERE key = 'device_number'", 1);
    second = injected_trace(run, 1);
    assert_non_null(strstr(second, ".db.gpu0"));
    injected_assert_report(second, 2000, 2, 2000);
    injected_assert_complete(second, 1);
}

static void ranges_are_steps_phases_and_modules(void **state)
{
    struct injected *run = injected_run("ranges", NULL);

    (void)state;
    injected_assert_exit(run, 0);
    injected_assert_text(
        run->trace,
        "SELECT group_concat(size || ' ' || step || ' ' || phase || ' ' || module, '; ') "
        "FROM (SELECT * FROM event WHERE kind = 'alloc' AND step < 1 ORDER BY seq)",
        "1000 -1 setup before; 2000 0 forward epoch 0.mine:loading; "
        "3000 0 forward epoch 0.mine:loading; 4000 0 backward epoch 0");
    injected_assert_sql(run->trace, "SELECT count(*) FROM step", 3);
    injected_assert_sql(run->trace,
                        "SELECT allocated_peak FROM phase_stat WHERE step = 1 AND phase = 4",
                        1000 + 2 * 9000 + 5000);
    injected_assert_text(
        run->trace, "SELECT coalesce(module, '') FROM event WHERE size = 5000 AND kind = 'alloc'",
        "");
}

static void every_command_reads_the_trace_as_one_without_a_net(void **state)
{
    const struct injected *run = injected_run("basic", NULL);
    struct program p = program_run("report", run->trace, NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "programs on cuda, 8 events"));
    assert_non_null(strstr(p.out, "programs!program_allocates"));
    assert_non_null(strstr(p.out, "not recorded in calls of the driver"));
    assert_null(strstr(p.out, "parameters"));
    program_release(&p);
    p = program_run("whatif", run->trace, "--each", NULL);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "this trace has no net"));
    program_release(&p);
    p = program_run("whatif", run->trace, "--set", "alloc-conf=expandable_segments:True", NULL);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "this trace has no net"));
    program_release(&p);
    p = program_run("tui", run->trace, "--size", "160x48", "--keys", "gw", "--dump", NULL);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "requested from the driver, and what"));
    program_release(&p);
    p = program_run("diff", run->trace, run->trace, "--json", NULL);
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.delta_allocated"), 0);
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_recorded_and_keeps_its_exit_status),
        cmocka_unit_test(an_allocation_has_its_function_and_the_kernel_before_it),
        cmocka_unit_test(an_allocation_has_its_whole_call_stack),
        cmocka_unit_test(calls_of_the_runtime_are_recorded_under_the_runtimes_names),
        cmocka_unit_test(every_kind_of_allocation_is_recorded),
        cmocka_unit_test(physical_memory_lives_as_long_as_a_handle_or_a_mapping),
        cmocka_unit_test(out_of_memory_is_recorded_as_an_event_and_as_the_outcome),
        cmocka_unit_test(a_program_that_exits_right_after_an_out_of_memory_has_it_in_its_trace),
        cmocka_unit_test(concurrent_allocations_of_several_threads_are_all_recorded),
        cmocka_unit_test(a_device_reset_frees_the_blocks_of_its_context),
        cmocka_unit_test(each_device_has_a_trace),
        cmocka_unit_test(ranges_are_steps_phases_and_modules),
        cmocka_unit_test(every_command_reads_the_trace_as_one_without_a_net),
    };

    injected_setup();
    return cmocka_run_group_tests(tests, NULL, injected_cleanup);
}
