/*
 * tests/e2e/test_cupti.c - whole runs on the device made of host memory (tests/engine/device/twin/) that a simulated
 * CUPTI watches (tests/tracer/cupti/twin/): the kernel of the op with event number N takes 1000 + N ns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/e2e/program.h"
#include "tests/skip.h"

#define NET "tests/nets/gpt_tiny.py"

static char folder[4096];

/* Beside the program under test. */
static int setup(void **state)
{
    const char *program = getenv("VRAMSCOPE");
    char *slash;

    (void)state;
    snprintf(folder, sizeof(folder), "%s", program ? program : "build/vramscope");
    slash = strrchr(folder, '/');
    assert_non_null(slash);
    snprintf(slash, sizeof(folder) - (size_t)(slash - folder), "/twin");
    setenv("VRAMSCOPE_PLUGINS", folder, 1);
    setenv("VRAMSCOPE_CUDA_LIBS", folder, 1);
    return 0;
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* Is the simulated CUPTI built? Without the toolkit's headers there is not, and the program says so. */
static bool is_simulated(void)
{
    char path[4200];

    snprintf(path, sizeof(path), "%s/libcupti.so.13", folder);
    return access(path, R_OK) == 0;
}

static struct program record_with(const char *trace, const char *how, const char *cupti,
                                  const char *checkpoint)
{
    struct program p;

    setenv("VRAMSCOPE_FAKE_CUPTI", how, 1);
    p = program_run("record", NET, "--device", "cuda", "--checkpoint", checkpoint, "--force", "-o",
                    trace, "--cupti", cupti, NULL);
    unsetenv("VRAMSCOPE_FAKE_CUPTI");
    return p;
}

static struct program record(const char *trace, const char *how, const char *cupti)
{
    return record_with(trace, how, cupti, "blocks");
}

static void succeeds(struct program p)
{
    if (p.status)
        fail_msg("status %d: %s", p.status, p.err);
    program_release(&p);
}

static int64_t int_at(const struct program *p, const char *path)
{
    return json_int(p->out, path);
}

static void every_op_has_the_time_of_its_kernel(void **state)
{
    const char *trace = program_path("times.db");
    struct program report;
    int64_t ops;

    (void)state;
    if (!is_simulated())
        tests_skip("the stand-in for CUPTI needs CUPTI's headers to be built");
    succeeds(record(trace, "", "on"));
    ops = sql_int(trace, "SELECT count(*) FROM event WHERE kind = 'op_begin'");
    assert_true(ops > 300);
    assert_int_equal(sql_int(trace, "SELECT count(*) FROM op_work"), ops);
    assert_int_equal(sql_int(trace, "SELECT count(*) FROM op_work w JOIN event e ON e.seq = w.seq "
                                    "WHERE e.kind = 'op_begin' AND w.ns = 1000 + w.seq AND "
                                    "w.count = 1 AND w.kind = 'kernel'"),
                     ops);
    report = program_run("report", trace, "--json", NULL);
    assert_int_equal(report.status, 0);
    assert_int_equal(int_at(&report, "$.gpu_work.device_ns"),
                     sql_int(trace, "SELECT sum(1000 + seq) FROM event WHERE kind = 'op_begin'"));
    assert_int_equal(int_at(&report, "$.gpu_work.kernels"), ops);
    assert_int_equal(int_at(&report, "$.gpu_work.recompute_ns"),
                     sql_int(trace, "SELECT sum(1000 + seq) FROM event WHERE kind = 'op_begin' AND "
                                    "role = 'recompute'"));
    assert_true(int_at(&report, "$.gpu_work.recompute_ns") > 0);
    assert_int_equal(int_at(&report, "$.gpu_work.by_phase.forward"),
                     sql_int(trace, "SELECT sum(1000 + seq) FROM event WHERE kind = 'op_begin' AND "
                                    "phase = 'forward'"));
    assert_int_equal(int_at(&report, "$.gpu_work.untied"), 0);
    assert_int_equal(int_at(&report, "$.gpu_work.lost_records"), 0);
    /* each segment was taken by cudaMalloc; nothing else was */
    assert_int_equal(int_at(&report, "$.gpu_work.memory_unseen"), 0);
    assert_int_equal(sql_int(trace, "SELECT count(*) FROM foreign_memory"), 0);
    assert_true(int_at(&report, "$.gpu_work.memory_seen") >=
                sql_int(trace, "SELECT count(*) FROM event WHERE kind = 'segment_alloc'"));
    program_release(&report);
}

/* The events are the same with and without CUPTI. */
static void recording_gpu_times_changes_no_event(void **state)
{
    static const char EVENTS[] = "SELECT count(*) FROM event";
    const char *watched = program_path("watched.db");
    const char *alone = program_path("alone.db");
    struct program diff;
    struct program report;
    char *why;

    (void)state;
    if (!is_simulated())
        tests_skip("the stand-in for CUPTI needs CUPTI's headers to be built");
    succeeds(record(watched, "", "on"));
    succeeds(record(alone, "", "off"));
    assert_int_equal(sql_int(watched, EVENTS), sql_int(alone, EVENTS));
    diff = program_run("diff", watched, alone, NULL);
    assert_int_equal(diff.status, 0);
    program_release(&diff);
    assert_int_equal(sql_int(alone, "SELECT count(*) FROM work"), 0);
    report = program_run("report", alone, "--json", NULL);
    why = json_text(report.out, "$.gpu_work.why_not");
    assert_string_equal(why, "off");
    vs_free(why);
    program_release(&report);
}

static void memory_that_pytorch_did_not_request_is_reported(void **state)
{
    const char *trace = program_path("foreign.db");
    struct program report;
    int64_t rows;

    (void)state;
    if (!is_simulated())
        tests_skip("the stand-in for CUPTI needs CUPTI's headers to be built");
    succeeds(record(trace, "foreign", "on"));
    rows = sql_int(trace, "SELECT count(*) FROM foreign_memory WHERE api = 'cuMemAlloc_v2' AND "
                          "library = '/usr/lib/libother.so' AND allocs = 1 AND alloc_bytes = 4096 "
                          "AND op_seq IN (SELECT seq FROM event WHERE kind = 'op_begin')");
    assert_int_equal(rows, sql_int(trace, "SELECT count(*) FROM foreign_memory"));
    /* every hundredth op took some */
    assert_int_equal(rows,
                     sql_int(trace, "SELECT count(*) / 100 FROM event WHERE kind = 'op_begin'"));
    report = program_run("report", trace, NULL);
    assert_non_null(strstr(report.out, "not requested by this run's device"));
    assert_non_null(strstr(report.out, "cuMemAlloc_v2 of /usr/lib/libother.so: 1 of 4.0 KiB"));
    program_release(&report);
}

static struct program whatif(const char *trace, const char *set, const char *json)
{
    struct program p = program_run("whatif", trace, "--set", "checkpoint=blocks", "--set",
                                   "checkpoint-impl=reentrant", "--set", set, json, NULL);

    if (p.status)
        fail_msg("status %d: %s", p.status, p.err);
    return p;
}

/* A checkpoint of the whole blocks runs all of their ops again, each as long as it took. */
static void recomputation_is_estimated_from_measured_times(void **state)
{
    static const char BLOCKS[] =
        "SELECT %s FROM event WHERE kind = 'op_begin' AND role = 'forward' "
        "AND module LIKE 'blocks.%%'";
    const char *trace = program_path("first.db");
    struct program p;
    char sql[256];
    int64_t thirds;

    (void)state;
    if (!is_simulated())
        tests_skip("the stand-in for CUPTI needs CUPTI's headers to be built");
    succeeds(record_with(trace, "", "on", "off"));
    p = whatif(trace, "batch=3", "--json");
    snprintf(sql, sizeof(sql), BLOCKS, "sum(1000 + seq)");
    thirds = sql_int(trace, sql); /* of three steps */
    assert_true(llabs(3 * int_at(&p, "$.gpu_cost.recompute_ns") - thirds) <= 3);
    snprintf(sql, sizeof(sql), BLOCKS, "count(*) / 3");
    assert_int_equal(int_at(&p, "$.gpu_cost.recomputed_ops"), sql_int(trace, sql));
    assert_int_equal(int_at(&p, "$.gpu_cost.unmeasured_ops"), 0);
    program_release(&p);
    p = whatif(trace, "batch=9", "--json");
    assert_true(int_at(&p, "$.gpu_cost.unmeasured_ops") > 50);
    program_release(&p);
    p = whatif(trace, "batch=9", NULL);
    assert_non_null(strstr(p.out, "not recorded at these sizes"));
    program_release(&p);
}

static void the_list_of_ops_has_a_column_of_times(void **state)
{
    const char *watched = program_path("column.db");
    const char *alone = program_path("nocolumn.db");
    struct program p;

    (void)state;
    if (!is_simulated())
        tests_skip("the stand-in for CUPTI needs CUPTI's headers to be built");
    succeeds(record(watched, "", "on"));
    p = program_run("tui", watched, "--dump", "--size", "140x24", "--keys", "go", NULL);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "on GPU"));
    assert_non_null(strstr(p.out, "us ")); /* its kernels take microseconds */
    program_release(&p);
    succeeds(record(alone, "", "off"));
    p = program_run("tui", alone, "--dump", "--size", "140x24", "--keys", "go", NULL);
    assert_int_equal(p.status, 0);
    assert_null(strstr(p.out, "on GPU"));
    program_release(&p);
}

static void a_report_without_gpu_times_says_so(void **state)
{
    const char *trace = program_path("none.db");
    struct program p;
    char *cost;

    (void)state;
    succeeds(record_with(trace, "", "off", "off"));
    p = whatif(trace, "batch=3", NULL);
    assert_non_null(strstr(p.out, "time not known: the recording has no times (off)"));
    program_release(&p);
    p = whatif(trace, "batch=3", "--json");
    cost = json_text(p.out, "$.gpu_cost");
    assert_null(cost);
    program_release(&p);
}

static void is_said(const char *how, const char *part)
{
    const char *trace = program_path("missing.db");
    struct program p = record(trace, how, "auto");
    const char *warning = strstr(p.err, "warning: cupti: ");

    assert_int_equal(p.status, 0);
    if (!warning || !strstr(warning, part) || strstr(warning + 1, "warning: cupti"))
        fail_msg("%s is not said once: %s", part, p.err);
    program_release(&p);
    assert_true(sql_int(trace, "SELECT count(*) FROM event WHERE kind = 'op_begin'") > 300);
    assert_int_equal(sql_int(trace, "SELECT value FROM meta WHERE key = 'complete'"), 1);
    assert_int_equal(sql_int(trace, "SELECT value LIKE 'cupti: %' FROM meta WHERE key = 'cupti'"),
                     1);
    p = record(trace, how, "on");
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, part));
    program_release(&p);
}

static void the_reason_for_no_gpu_times_is_given_once_and_the_run_goes_on(void **state)
{
    (void)state;
    if (!is_simulated()) {
        is_said("", "built without CUPTI");
        return;
    }
    is_said("privileges", "NVreg_RestrictProfilingToAdminUsers");
    is_said("subscribers", "another profiler");
    is_said("version", "is of version 26");
}

static void cupti_is_refused_on_the_cpu(void **state)
{
    struct program p = program_run("record", NET, "--device", "cpu", "--cupti", "on", "-o",
                                   program_path("cpu.db"), NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "--cupti on needs a GPU"));
    program_release(&p);
    p = program_run("record", NET, "--cupti", "maybe", "-o", program_path("cpu.db"), NULL);
    assert_int_equal(p.status, 2);
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_the_time_of_its_kernel),
        cmocka_unit_test(recording_gpu_times_changes_no_event),
        cmocka_unit_test(memory_that_pytorch_did_not_request_is_reported),
        cmocka_unit_test(recomputation_is_estimated_from_measured_times),
        cmocka_unit_test(the_list_of_ops_has_a_column_of_times),
        cmocka_unit_test(a_report_without_gpu_times_says_so),
        cmocka_unit_test(the_reason_for_no_gpu_times_is_given_once_and_the_run_goes_on),
        cmocka_unit_test(cupti_is_refused_on_the_cpu),
    };

    return cmocka_run_group_tests_name("e2e/cupti", tests, setup, cleanup);
}
