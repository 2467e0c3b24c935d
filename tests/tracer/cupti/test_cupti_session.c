/*
 * tests/tracer/cupti/test_cupti_session.c - recordings with a simulated CUPTI: the contents of the trace, and messages
 * and state after a failed call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/work.h"
#include "tests/store/trace_file.h"
#include "tests/tracer/cupti/fake_cupti.h"
#include "tracer/cupti/cupti_session_internal.h"
#include "tracer/recorder.h"

#ifndef VS_CUPTI

static void a_build_without_cupti_is_reported(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct trc_cupti *c;

    (void)state;
    assert_int_equal(trc_cupti_open(&c, &err), VS_E_UNSUPPORTED);
    assert_null(c);
    assert_non_null(strstr(err.text, "built without CUPTI"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_build_without_cupti_is_reported)};

    return cmocka_run_group_tests_name("tracer/cupti_session", tests, NULL, NULL);
}

#else

#define MOST_OPS 2048
#define MOST_FOREIGN 8

/* A recording that is watched. */
struct run {
    char path[4096];
    struct trc_cupti *cupti;
    struct trc_recorder *rec;
    const struct eng_observer *observer;
    uint64_t event_count;
};

/* What the file says. */
struct found {
    struct sto_reader *reader;
    char tasks[64][32];
    char kinds[64][32];
    size_t task_count;
    uint64_t count[MOST_OPS];
    uint64_t ns[MOST_OPS];
    uint64_t bytes[MOST_OPS];
    struct sto_foreign foreign[MOST_FOREIGN];
    char api[MOST_FOREIGN][32];
    char library[MOST_FOREIGN][32];
    size_t foreign_count;
};

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static void recorder_begin(struct run *run)
{
    struct trc_recorder_options options = {
        .force = true, .commit_ms = 1, .beside = trc_cupti_write, .beside_user = run->cupti};
    struct vs_error err = VS_ERROR_INIT;

    ok(trc_recorder_open(run->path, &options, &run->rec, &err), &err);
    run->observer = trc_cupti_observer(run->cupti, trc_recorder_observer(run->rec));
}

static void begin(struct run *run, void **state, const char *name)
{
    struct vs_error err = VS_ERROR_INIT;

    memset(run, 0, sizeof(*run));
    trace_path(state, name, run->path, sizeof(run->path));
    fake_cupti_begin(FAKE_CUPTI_COUNT, 0, CUPTI_SUCCESS);
    ok(trc_cupti_open_with(fake_cupti_api(), &run->cupti, &err), &err);
    recorder_begin(run);
}

static uint64_t emit(struct run *run, enum vs_event_kind kind)
{
    struct vs_event event = {.kind = (uint8_t)kind};

    if (kind == VS_EV_OP_BEGIN || kind == VS_EV_OP_END)
        event.op.name = run->observer->string(run->observer->user, "op");
    run->observer->emit(run->observer->user, &event);
    return ++run->event_count;
}

static void on_task(void *user, const struct sto_task *task)
{
    struct found *found = user;

    snprintf(found->tasks[found->task_count], sizeof(found->tasks[0]), "%s", task->name);
    snprintf(found->kinds[found->task_count++], sizeof(found->kinds[0]), "%s",
             sto_task_kind_name(task->kind));
}

static void on_work(void *user, const struct sto_work *work)
{
    struct found *found = user;

    assert_true(work->op_seq < MOST_OPS);
    found->count[work->op_seq] += work->count;
    found->ns[work->op_seq] += work->ns;
    found->bytes[work->op_seq] += work->bytes;
}

static void on_foreign(void *user, const struct sto_foreign *foreign)
{
    struct found *found = user;
    size_t i = found->foreign_count++;

    assert_true(i < MOST_FOREIGN);
    found->foreign[i] = *foreign;
    snprintf(found->api[i], sizeof(found->api[0]), "%s", foreign->api);
    snprintf(found->library[i], sizeof(found->library[0]), "%s", foreign->library);
}

/* The run ends, and its file is read. */
static struct found *end(struct run *run)
{
    struct found *found = vs_calloc(1, sizeof(*found));
    struct vs_error err = VS_ERROR_INIT;

    trc_cupti_stop(run->cupti);
    ok(trc_recorder_close(run->rec, true, &err), &err);
    trc_cupti_close(run->cupti);
    ok(sto_reader_open(run->path, &found->reader, &err), &err);
    assert_int_equal(sto_reader_event_count(found->reader), run->event_count);
    ok(sto_reader_tasks(found->reader, on_task, found, &err), &err);
    ok(sto_reader_work(found->reader, on_work, found, &err), &err);
    ok(sto_reader_foreign(found->reader, on_foreign, found, &err), &err);
    return found;
}

static void found_free(struct found *found)
{
    sto_reader_close(found->reader);
    vs_free(found);
}

static void meta_is(const struct found *found, const char *key, const char *value)
{
    const char *got = sto_reader_meta(found->reader, key);

    if (!got || strcmp(got, value) != 0)
        fail_msg("%s is %s, not %s", key, got ? got : "not there", value);
}

static void each_op_has_its_kernels_and_copies(void **state)
{
    struct found *found;
    struct run run;
    uint64_t outer;
    uint64_t inner;

    begin(&run, state, "each.db");
    fake_cupti_copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 4096, 70); /* of no op */
    emit(&run, VS_EV_STEP);
    outer = emit(&run, VS_EV_OP_BEGIN);
    fake_cupti_launch("gemm", 1000);
    inner = emit(&run, VS_EV_OP_BEGIN);
    fake_cupti_launch("relu", 20);
    fake_cupti_launch("relu", 30);
    fake_cupti_fill(64, 4);
    emit(&run, VS_EV_OP_END);
    fake_cupti_launch("gemm", 500);
    fake_cupti_copy(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, 8, 9);
    emit(&run, VS_EV_OP_END);
    fake_cupti_copy(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, 16, 11);
    found = end(&run);
    assert_int_equal(found->ns[outer], 1509);
    assert_int_equal(found->count[outer], 3);
    assert_int_equal(found->bytes[outer], 8);
    assert_int_equal(found->ns[inner], 54);
    assert_int_equal(found->bytes[inner], 64);
    assert_int_equal(found->ns[0], 81);
    assert_int_equal(found->bytes[0], 4112);
    assert_int_equal(found->task_count, 6);
    assert_string_equal(found->tasks[0], "to the device");
    assert_string_equal(found->kinds[0], "copy");
    assert_string_equal(found->tasks[1], "gemm");
    assert_string_equal(found->kinds[3], "fill");
    meta_is(found, "cupti", "on");
    meta_is(found, "cupti_kernels", "4");
    meta_is(found, "cupti_copies", "3");
    meta_is(found, "cupti_fills", "1");
    meta_is(found, "cupti_device_ns", "1644");
    meta_is(found, "cupti_untied", "0");
    meta_is(found, "cupti_dropped", "0");
    meta_is(found, "cupti_cut", "0");
    assert_int_equal(fake_cupti_left(), 0);
    found_free(found);
}

/* Many buffers, delivered while the run goes on, newest first; compared with the launches. */
static void activity_buffers_in_any_order_give_each_op_its_time(void **state)
{
    uint64_t *ns = vs_calloc(MOST_OPS, sizeof(*ns));
    uint64_t open[8];
    size_t depth = 0;
    struct found *found;
    struct run run;

    begin(&run, state, "order.db");
    srand(13);
    while (run.event_count < MOST_OPS - 16) {
        int what = rand() % 10;

        if (what < 2 && depth < 8) {
            open[depth++] = emit(&run, VS_EV_OP_BEGIN);
        } else if (what < 4 && depth) {
            emit(&run, VS_EV_OP_END);
            depth--;
        } else if (what < 5) {
            emit(&run, VS_EV_USE);
        } else if (what < 9) {
            uint64_t took = 1 + (uint64_t)rand() % 100;

            fake_cupti_launch(rand() % 2 ? "a" : "b", took);
            ns[depth ? open[depth - 1] : 0] += took;
        }
        if (rand() % 40 == 0)
            fake_cupti_deliver(rand() % 2 ? FAKE_NEWEST_FIRST : FAKE_OLDEST_FIRST);
    }
    while (depth--)
        emit(&run, VS_EV_OP_END);
    found = end(&run);
    for (size_t i = 0; i < MOST_OPS; i++)
        assert_int_equal(found->ns[i], ns[i]);
    meta_is(found, "cupti_untied", "0");
    found_free(found);
    vs_free(ns);
}

static void lost_cupti_records_are_counted(void **state)
{
    const CUpti_ActivityKind odd[4] = {(CUpti_ActivityKind)240};
    struct found *found;
    struct run run;

    begin(&run, state, "lost.db");
    emit(&run, VS_EV_OP_BEGIN);
    fake_cupti_launch("whole", 100);
    fake_cupti_record(odd, FAKE_CUPTI_ODD_BYTES);
    fake_cupti_launch("whole", 200);
    fake_cupti_launch("untimed", 0);
    fake_cupti_launch("cut", 400);
    fake_cupti_cut(8);
    fake_cupti_drop(3);
    fake_cupti_deliver(FAKE_OLDEST_FIRST);
    fake_cupti_drop(2);
    fake_cupti_launch("late", 1);
    emit(&run, VS_EV_OP_END);
    found = end(&run);
    assert_int_equal(found->ns[1], 301);
    assert_int_equal(found->count[1], 4);
    meta_is(found, "cupti_dropped", "5");
    meta_is(found, "cupti_unknown", "1");
    meta_is(found, "cupti_cut", "1");
    meta_is(found, "cupti_untimed", "1");
    found_free(found);
}

static void memory_without_a_request_is_foreign(void **state)
{
    struct found *found;
    struct run run;
    uint64_t op;

    begin(&run, state, "foreign.db");
    trc_cupti_asked(run.cupti, true, 0x7000, 2097152);
    fake_cupti_malloc(0x7000, 2097152);
    fake_cupti_malloc(0x8000, 4096);
    trc_cupti_asked(run.cupti, true, 0x8000, 4096); /* requested later than reported */
    op = emit(&run, VS_EV_OP_BEGIN);
    fake_cupti_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
                      CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 0x9000, 100, true, "/lib/libcublas.so.13");
    fake_cupti_create(2097152, CUDA_SUCCESS);
    trc_cupti_created(run.cupti, 2097152);
    fake_cupti_create(4194304, CUDA_SUCCESS);
    fake_cupti_create(8388608, CUDA_ERROR_OUT_OF_MEMORY);
    emit(&run, VS_EV_OP_END);
    /* host memory and memory of a loaded module are never requested by the engine */
    fake_cupti_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
                      CUPTI_ACTIVITY_MEMORY_KIND_PINNED, 0xa000, 100, true, NULL);
    fake_cupti_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
                      CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC, 0xb000, 100, true, NULL);
    fake_cupti_pool(1 << 20);
    fake_cupti_free(0x7000, 2097152);
    trc_cupti_asked(run.cupti, false, 0x7000, 0);
    trc_cupti_asked(run.cupti, false, 0x8000, 0); /* CUPTI lost it */
    found = end(&run);
    assert_int_equal(found->foreign_count, 2);
    assert_string_equal(found->api[0], "cuMemCreate");
    assert_int_equal(found->foreign[0].alloc_bytes, 4194304);
    assert_int_equal(found->foreign[0].op_seq, op);
    assert_string_equal(found->api[1], "cuMemAlloc_v2");
    assert_string_equal(found->library[1], "/lib/libcublas.so.13");
    assert_int_equal(found->foreign[1].alloc_bytes, 100);
    assert_int_equal(found->foreign[1].op_seq, op);
    meta_is(found, "cupti_memory", "6");
    meta_is(found, "cupti_foreign", "2");
    meta_is(found, "cupti_unseen", "1");
    meta_is(found, "cupti_pools", "1");
    found_free(found);
}

/* The calls of the opening: without one of them there is nothing to watch with. */
static const enum fake_cupti_call OPENING[] = {
    FAKE_cuptiSubscribe,
    FAKE_cuptiActivityRegisterCallbacks,
    FAKE_cuptiActivityEnableAllocationSource,
    FAKE_cuptiActivityFlushPeriod,
    FAKE_cuptiEnableCallback,
};

static void cannot_open(enum fake_cupti_call call, uint64_t nth)
{
    struct vs_error err = VS_ERROR_INIT;
    struct trc_cupti *c;

    fake_cupti_begin(call, nth, CUPTI_ERROR_UNKNOWN);
    assert_int_equal(trc_cupti_open_with(fake_cupti_api(), &c, &err), VS_E_UNSUPPORTED);
    assert_null(c);
    assert_true(fake_cupti_has_failed());
    assert_non_null(strstr(err.text, fake_cupti_name(call)));
    assert_non_null(strstr(err.text, "an error of the test"));
    assert_int_equal(fake_cupti_left(), 0);
}

static void a_failed_start_of_cupti_leaves_nothing_enabled(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(OPENING) / sizeof(OPENING[0]); i++)
        cannot_open(OPENING[i], 1);
    for (uint64_t nth = 1; nth <= 8; nth++)
        cannot_open(FAKE_cuptiActivityEnable, nth);
}

/* The failure is reported, all events of the run are recorded, and everything is released. */
static void survives(void **state, enum fake_cupti_call call, uint64_t nth, bool is_reported)
{
    struct vs_error err = VS_ERROR_INIT;
    struct found *found;
    struct run run;

    memset(&run, 0, sizeof(run));
    trace_path(state, "survives.db", run.path, sizeof(run.path));
    fake_cupti_begin(call, nth, CUPTI_ERROR_UNKNOWN);
    ok(trc_cupti_open_with(fake_cupti_api(), &run.cupti, &err), &err);
    recorder_begin(&run);
    for (int i = 0; i < 3; i++) {
        emit(&run, VS_EV_OP_BEGIN);
        fake_cupti_launch("k", 10);
        fake_cupti_malloc(0x1000, 512);
        emit(&run, VS_EV_OP_END);
    }
    trc_cupti_stop(run.cupti);
    if (is_reported != (trc_cupti_trouble(run.cupti) != NULL))
        fail_msg("%s: the trouble is %s", fake_cupti_name(call),
                 is_reported ? "not told" : trc_cupti_trouble(run.cupti));
    found = end(&run);
    if (!fake_cupti_has_failed())
        fail_msg("%s is not called %u times", fake_cupti_name(call), (unsigned)nth);
    meta_is(found, "cupti", is_reported ? "an error of the test" : "on");
    /* an id that could not be taken off again is CUPTI's, and so is a buffer that was not flushed */
    if (call != FAKE_cuptiActivityPopExternalCorrelationId &&
        call != FAKE_cuptiActivityPushExternalCorrelationId)
        assert_int_equal(fake_cupti_left(), 0);
    found_free(found);
}

static void a_later_failure_of_cupti_is_reported_and_the_run_goes_on(void **state)
{
    survives(state, FAKE_cuptiActivityPushExternalCorrelationId, 1, true);
    survives(state, FAKE_cuptiActivityPushExternalCorrelationId, 2, true);
    survives(state, FAKE_cuptiActivityPopExternalCorrelationId, 2, true);
    survives(state, FAKE_cuptiActivityFlushAll, 1, true);
    survives(state, FAKE_cuptiActivityDisable, 3, true);
    survives(state, FAKE_cuptiUnsubscribe, 1, true);
    survives(state, FAKE_cuptiGetVersion, 1, false);
    survives(state, FAKE_cuptiActivityGetNextRecord, 1, false);
    survives(state, FAKE_cuptiActivityGetNextRecord, 2, false);
    survives(state, FAKE_cuptiActivityGetNumDroppedRecords, 1, false);
    survives(state, FAKE_cuptiGetCallbackName, 1, false);
}

static void a_refusal_by_cupti_is_reported_with_advice(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct trc_cupti *c;

    (void)state;
    fake_cupti_begin(FAKE_cuptiActivityEnable, 4, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    assert_int_equal(trc_cupti_open_with(fake_cupti_api(), &c, &err), VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "root"));
    assert_non_null(strstr(err.text, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"));
    fake_cupti_begin(FAKE_cuptiSubscribe, 1, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    assert_int_equal(trc_cupti_open_with(fake_cupti_api(), &c, &err), VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "another profiler"));
    assert_int_equal(fake_cupti_calls(FAKE_cuptiActivityFlushAll), 0); /* it is the other's */
    assert_int_equal(fake_cupti_calls(FAKE_cuptiActivityRegisterCallbacks), 0);
}

static void a_buffer_completed_after_the_end_is_only_released(void **state)
{
    struct found *found;
    struct run run;
    CUpti_ActivityAPI call = {.kind = CUPTI_ACTIVITY_KIND_RUNTIME};

    begin(&run, state, "late.db");
    emit(&run, VS_EV_OP_BEGIN);
    emit(&run, VS_EV_OP_END);
    found = end(&run);
    fake_cupti_deliver_buffer(&call, sizeof(call)); /* the leak checker sees whether it is freed */
    meta_is(found, "cupti_records", "0");
    found_free(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_op_has_its_kernels_and_copies),
        cmocka_unit_test(activity_buffers_in_any_order_give_each_op_its_time),
        cmocka_unit_test(lost_cupti_records_are_counted),
        cmocka_unit_test(memory_without_a_request_is_foreign),
        cmocka_unit_test(a_failed_start_of_cupti_leaves_nothing_enabled),
        cmocka_unit_test(a_later_failure_of_cupti_is_reported_and_the_run_goes_on),
        cmocka_unit_test(a_refusal_by_cupti_is_reported_with_advice),
        cmocka_unit_test(a_buffer_completed_after_the_end_is_only_released),
    };

    return cmocka_run_group_tests_name("tracer/cupti_session", tests, trace_folder_setup,
                                       trace_folder_teardown);
}

#endif
