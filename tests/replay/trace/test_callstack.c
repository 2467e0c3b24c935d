/*
 * tests/replay/trace/test_callstack.c - call stacks of a trace in a file, of several devices, and in memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>

#include "base/text.h"
#include "replay/trace/callstack.h"
#include "store/writer.h"
#include "tests/replay/random_trace.h"
#include "tests/store/trace_file.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static void on_frame(void *user, const char *func, uint32_t line)
{
    vs_text_addf(user, "[%s %" PRIu32 "]", func, line);
}

static void stack_check(const struct rpl_trace *trace, uint64_t seq, const char *expected)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};

    ok(rpl_trace_stack_each(trace, seq, on_frame, &text, &err), &err);
    if (strcmp(vs_text_get(&text), expected) != 0)
        fail_msg("event %" PRIu64 ": `%s`, should be `%s`", seq, vs_text_get(&text), expected);
    vs_text_release(&text);
}

/* Two segments of one device; the second has the call stack `stack`. */
static void events_write(struct sto_writer *w, uint32_t stack)
{
    const struct vs_event event = {.kind = VS_EV_SEGMENT_ALLOC, .segment = {.bytes = 2097152}};
    struct vs_error err = VS_ERROR_INIT;

    ok(sto_writer_events(w, &event, 1, &err), &err);
    ok(sto_writer_stack(w, stack, &err), &err);
    ok(sto_writer_events(w, &event, 1, &err), &err);
}

static void frames_write(struct sto_writer *w)
{
    struct vs_error err = VS_ERROR_INIT;

    ok(sto_writer_string(w, 1, "net.py:forward", &err), &err);
    ok(sto_writer_string(w, 2, "train.py:main", &err), &err);
    ok(sto_writer_frame(w, 1, 0, 1, 10, &err), &err);
    ok(sto_writer_frame(w, 1, 1, 2, 0, &err), &err);
    ok(sto_writer_frame(w, 2, 0, 2, 7, &err), &err);
}

static void an_event_has_the_frames_of_its_stack_innermost_first(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w = NULL;
    struct rpl_trace *trace = NULL;
    char path[512];

    trace_path(state, "trace.db", path, sizeof(path));
    ok(sto_writer_open(path, NULL, &w, &err), &err);
    frames_write(w);
    events_write(w, 1);
    ok(sto_writer_close(w, true, &err), &err);
    ok(rpl_trace_open(path, &trace, &err), &err);
    stack_check(trace, 1, "");
    stack_check(trace, 2, "[net.py:forward 10][train.py:main 0]");
    rpl_trace_free(trace);
}

static void events_of_each_device_have_their_own_stacks(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w = NULL;
    struct rpl_trace *trace = NULL;
    char path[512];

    trace_path(state, "trace.db", path, sizeof(path));
    ok(sto_writer_open(path, NULL, &w, &err), &err);
    frames_write(w);
    ok(sto_writer_device(w, 0, 0, &err), &err);
    events_write(w, 1);
    ok(sto_writer_device(w, 1, 0, &err), &err);
    events_write(w, 2);
    ok(sto_writer_close(w, true, &err), &err);
    trace_path(state, "trace.db@1", path, sizeof(path));
    ok(rpl_trace_open(path, &trace, &err), &err);
    stack_check(trace, 1, "");
    stack_check(trace, 2, "[train.py:main 7]");
    rpl_trace_free(trace);
}

static void a_trace_in_memory_and_one_without_the_tables_have_no_stacks(void **state)
{
    struct rpl_trace *trace = random_trace(50, 3);
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w = NULL;
    sqlite3 *db = NULL;
    char path[512];

    stack_check(trace, 1, "");
    rpl_trace_free(trace);
    trace_path(state, "old.db", path, sizeof(path));
    ok(sto_writer_open(path, NULL, &w, &err), &err);
    frames_write(w);
    events_write(w, 1);
    ok(sto_writer_close(w, true, &err), &err);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "drop view call_stack; drop table event_stack", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    ok(rpl_trace_open(path, &trace, &err), &err);
    stack_check(trace, 2, "");
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_event_has_the_frames_of_its_stack_innermost_first,
                                        trace_folder_setup, trace_folder_teardown),
        cmocka_unit_test_setup_teardown(events_of_each_device_have_their_own_stacks,
                                        trace_folder_setup, trace_folder_teardown),
        cmocka_unit_test_setup_teardown(a_trace_in_memory_and_one_without_the_tables_have_no_stacks,
                                        trace_folder_setup, trace_folder_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
