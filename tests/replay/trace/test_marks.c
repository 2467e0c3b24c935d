/*
 * tests/replay/trace/test_marks.c - marks in a file and in memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <string.h>

#include "replay/trace/marks.h"
#include "tests/replay/random_trace.h"
#include "tests/store/trace_file.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static void assert_mark(const struct rpl_mark *mark, const char *key, uint64_t seq,
                        const char *note)
{
    assert_non_null(mark);
    assert_string_equal(mark->key, key);
    assert_int_equal(mark->seq, seq);
    assert_string_equal(mark->note, note);
}

/* Set some, and look at them. */
static void set_marks(struct rpl_trace *trace)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_marks *marks;

    ok(rpl_marks_open(trace, &marks, &err), &err);
    assert_int_equal(rpl_marks_count(marks), 0);
    ok(rpl_marks_set(marks, "b", 50, "spike starts here", &err), &err);
    ok(rpl_marks_set(marks, "\xc3\xa9", 7, "", &err), &err);
    ok(rpl_marks_set(marks, "a", 50, "same place", &err), &err);
    ok(rpl_marks_set(marks, "x", 60, "goes", &err), &err);
    /* moved, with the note it has */
    ok(rpl_marks_set(marks, "b", 40, rpl_marks_get(marks, "b")->note, &err), &err);
    ok(rpl_marks_remove(marks, "x", &err), &err);
    ok(rpl_marks_remove(marks, "never set", &err), &err);
    assert_int_equal(rpl_marks_count(marks), 3);
    assert_mark(rpl_marks_at(marks, 0), "\xc3\xa9", 7, "");
    assert_mark(rpl_marks_at(marks, 1), "b", 40, "spike starts here");
    assert_mark(rpl_marks_at(marks, 2), "a", 50, "same place");
    assert_null(rpl_marks_get(marks, "x"));
    rpl_marks_free(marks);
}

static void marks_of_a_file_persist_until_the_next_open(void **state)
{
    struct rpl_trace *memory = random_trace(200, 3);
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_marks *marks;
    struct rpl_trace *trace;
    char path[4096];
    sqlite3 *other;

    trace_path(state, "marks.db", path, sizeof(path));
    random_trace_write(memory, 200, path);
    ok(rpl_trace_open(path, &trace, &err), &err);
    set_marks(trace);
    rpl_trace_free(trace);
    ok(rpl_trace_open(path, &trace, &err), &err);
    ok(rpl_marks_open(trace, &marks, &err), &err);
    assert_int_equal(rpl_marks_count(marks), 3);
    assert_mark(rpl_marks_get(marks, "b"), "b", 40, "spike starts here");
    /* what cannot be written does not change */
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(rpl_marks_set(marks, "b", 1, "", &err), VS_E_STOPPED);
    assert_int_equal(rpl_marks_remove(marks, "b", &err), VS_E_STOPPED);
    assert_mark(rpl_marks_get(marks, "b"), "b", 40, "spike starts here");
    sqlite3_close(other);
    rpl_marks_free(marks);
    rpl_trace_free(trace);
    rpl_trace_free(memory);
}

static void marks_of_a_trace_in_memory_last_until_it_is_closed(void **state)
{
    struct rpl_trace *memory = random_trace(200, 3);

    (void)state;
    set_marks(memory);
    set_marks(memory);
    rpl_trace_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_of_a_file_persist_until_the_next_open),
        cmocka_unit_test(marks_of_a_trace_in_memory_last_until_it_is_closed),
    };

    return cmocka_run_group_tests_name("replay/marks", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
