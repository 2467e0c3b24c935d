/*
 * tests/replay/trace/test_work.c - the GPU times of a trace: the small trace with one kernel for each op.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "replay/report/report.h"
#include "replay/trace/work.h"
#include "tests/store/small_trace.h"
#include "tests/store/trace_file.h"

/* Ops: three forward ones and the loss, then three backward nodes, in each of two steps. */
#define OPS 14

static struct rpl_trace *open_trace(void **state, const char *name, const char *sql)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace;
    char path[4096];
    sqlite3 *db;

    trace_path(state, name, path, sizeof(path));
    small_trace_gpu_write(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    if (rpl_trace_open(path, &trace, &err))
        fail_msg("%s", err.text);
    return trace;
}

#define WATCHED                                                                                    \
    "INSERT INTO meta VALUES ('cupti_records', '99'), ('cupti', 'on'), ('cupti_untied', '2'), "    \
    "('cupti_dropped', '3'), ('cupti_cut', '1')"

static void times_add_up_by_op_by_task_and_by_phase(void **state)
{
    struct rpl_trace *trace = open_trace(state, "sums.db", WATCHED);
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_work work = {.is_measured = false};
    uint64_t by_op = 0;
    uint64_t by_phase = 0;
    uint64_t calls = 0;
    /* 1000 + 2 i ns of op i, and 250 of no op */
    uint64_t ops_ns = 1000 * OPS + 2 * (OPS * (OPS - 1) / 2);

    assert_int_equal(rpl_work_fill(&work, trace, &err), VS_OK);
    assert_true(work.is_measured);
    assert_int_equal(work.device_ns, ops_ns + 250);
    assert_int_equal(work.outside_ns, 250);
    for (size_t i = 0; i < work.op_count; i++) {
        by_op += work.ops[i].ns;
        calls += work.ops[i].calls;
        assert_int_equal(work.ops[i].calls, work.ops[i].tasks);
        assert_true(!i || work.ops[i].ns <= work.ops[i - 1].ns);
    }
    for (size_t i = 0; i < VS_PHASE_COUNT; i++)
        by_phase += work.by_phase[i];
    assert_int_equal(by_op, ops_ns);
    assert_int_equal(by_phase, ops_ns);
    assert_int_equal(calls, OPS);
    assert_int_equal(work.task_count, 2);
    assert_string_equal(work.tasks[0].name, "gemm");
    assert_int_equal(work.tasks[0].ns, ops_ns);
    assert_int_equal(work.tasks[1].bytes, 2048);
    assert_int_equal(work.lost, 4);
    assert_int_equal(work.untied, 2);
    assert_int_equal(work.foreign_count, 1);
    assert_int_equal(work.foreign[0].alloc_bytes, 4096);
    rpl_work_release(&work);
    rpl_trace_free(trace);
}

static void each_op_has_its_own_time(void **state)
{
    struct rpl_trace *trace = open_trace(state, "own.db", WATCHED);
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_work work = {.is_measured = false};
    struct rpl_scan scan;
    const struct vs_event *event;
    uint64_t ops = 0;

    assert_int_equal(rpl_work_fill_times(&work, trace, &err), VS_OK);
    rpl_scan_init(&scan, trace, 1, rpl_trace_event_count(trace));
    while ((event = rpl_scan_next(&scan, &err)) != NULL) {
        uint64_t wanted = event->kind == VS_EV_OP_BEGIN ? 1000 + 2 * ops++ : 0;

        assert_int_equal(rpl_work_ns(&work, scan.seq), wanted);
    }
    assert_int_equal(ops, OPS);
    assert_int_equal(rpl_work_ns(&work, 1 << 20), 0);
    rpl_work_release(&work);
    rpl_trace_free(trace);
}

static void a_run_without_gpu_times_gives_the_reason(void **state)
{
    struct rpl_trace *trace =
        open_trace(state, "why.db",
                   "UPDATE meta SET value = 'cuda' WHERE key = 'device'; "
                   "INSERT INTO meta VALUES ('cupti', 'cupti: not found'); DELETE FROM work");
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_report report = {.trace = NULL};
    struct vs_text text = {NULL, 0, 0};

    assert_int_equal(rpl_report_fill(&report, trace, 0, &err), VS_OK);
    assert_false(report.work.is_measured);
    rpl_report_text(&report, "why.db", &text);
    assert_non_null(strstr(vs_text_get(&text), "No times of the GPU: cupti: not found\n"));
    vs_text_release(&text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
}

/* A run on meta says nothing of it. */
static void a_run_without_a_gpu_has_no_section_on_gpu_times(void **state)
{
    struct rpl_trace *trace = open_trace(state, "meta.db", "DELETE FROM work");
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_report report = {.trace = NULL};
    struct vs_text text = {NULL, 0, 0};

    assert_int_equal(rpl_report_fill(&report, trace, 0, &err), VS_OK);
    rpl_report_text(&report, "meta.db", &text);
    assert_null(strstr(vs_text_get(&text), "GPU:"));
    vs_text_clear(&text);
    rpl_report_json(&report, &text);
    assert_non_null(strstr(vs_text_get(&text), "\"gpu_work\": null"));
    vs_text_release(&text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
}

static void missing_records_are_reported_with_the_sums(void **state)
{
    struct rpl_trace *trace = open_trace(state, "beside.db", WATCHED);
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_report report = {.trace = NULL};
    struct vs_text text = {NULL, 0, 0};

    assert_int_equal(rpl_report_fill(&report, trace, 0, &err), VS_OK);
    rpl_report_text(&report, "beside.db", &text);
    assert_non_null(strstr(vs_text_get(&text), "of an op that is not known: 2 records"));
    assert_non_null(strstr(vs_text_get(&text), "lost by CUPTI, so that there was more: 4 records"));
    assert_non_null(strstr(vs_text_get(&text),
                           "cuMemAlloc_v2 of libother.so: 2 of 4.0 KiB, 1 freed of 2.0 KiB"));
    vs_text_release(&text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
}

static void work_without_its_task_is_reported_as_damage(void **state)
{
    struct rpl_trace *trace =
        open_trace(state, "damage.db", WATCHED "; DELETE FROM task WHERE id = 2");
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_work work = {.is_measured = false};

    assert_int_equal(rpl_work_fill(&work, trace, &err), VS_E_DAMAGED);
    rpl_work_release(&work);
    rpl_trace_free(trace);
}

static void kernel_names_are_shortened(void **state)
{
    static const char *const NAMES[][2] = {
        {"ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"},
        {"_Z9add_floatPfi", "add_float"},
        {"_ZN7cutlass6KernelI4gemmEEvNT_6ParamsE", "cutlass::Kernel"},
        {"_ZN48_GLOBAL__N__1f9d2b8a_17_kernels_index_cu_12345676gatherE9cuda_view", "gather"},
        {"_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi",
         "at::native::vectorized_elementwise_kernel"},
        {"_Z", "_Z"},
        {"_Z99short", "_Z99short"},
        {"_ZN99999999999999999999999x", "_ZN99999999999999999999999x"},
        {"", ""},
    };
    char buf[64];

    (void)state;
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
        assert_string_equal(rpl_kernel_short(NAMES[i][0], buf, sizeof(buf)), NAMES[i][1]);
    /* cut between names, where there is no space */
    assert_string_equal(rpl_kernel_short("_ZN2at6native3addE", buf, 12), "at::native");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_add_up_by_op_by_task_and_by_phase),
        cmocka_unit_test(each_op_has_its_own_time),
        cmocka_unit_test(a_run_without_gpu_times_gives_the_reason),
        cmocka_unit_test(a_run_without_a_gpu_has_no_section_on_gpu_times),
        cmocka_unit_test(missing_records_are_reported_with_the_sums),
        cmocka_unit_test(work_without_its_task_is_reported_as_damage),
        cmocka_unit_test(kernel_names_are_shortened),
    };

    return cmocka_run_group_tests_name("replay/work", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
