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

/* Set some, look at them and store them. */
static void set_marks(struct rpl_trace *trace, bool is_file)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_marks *marks;

    ok(rpl_marks_open(trace, &marks, &err), &err);
    assert_int_equal(rpl_marks_count(marks), 0);
    rpl_marks_set(marks, "b", 50, "spike starts here");
    rpl_marks_set(marks, "\xc3\xa9", 7, "");
    rpl_marks_set(marks, "a", 50, "same place");
    rpl_marks_set(marks, "x", 60, "goes");
    /* moved, with the note it has */
    rpl_marks_set(marks, "b", 40, rpl_marks_get(marks, "b")->note);
    rpl_marks_remove(marks, "x");
    rpl_marks_remove(marks, "never set");
    assert_int_equal(rpl_marks_count(marks), 3);
    assert_mark(rpl_marks_at(marks, 0), "\xc3\xa9", 7, "");
    assert_mark(rpl_marks_at(marks, 1), "b", 40, "spike starts here");
    assert_mark(rpl_marks_at(marks, 2), "a", 50, "same place");
    assert_null(rpl_marks_get(marks, "x"));
    assert_int_equal(rpl_marks_is_changed(marks), is_file);
    ok(rpl_marks_store(marks, &err), &err);
    assert_false(rpl_marks_is_changed(marks));
    rpl_marks_free(marks);
}

static void marks_of_a_file_persist_until_the_next_open(void **state)
{
    struct rpl_trace *memory = random_trace(200, 3);
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_marks *marks;
    struct rpl_trace *trace;
    char path[4096];

    trace_path(state, "marks.db", path, sizeof(path));
    random_trace_write(memory, 200, path);
    ok(rpl_trace_open(path, &trace, &err), &err);
    set_marks(trace, true);
    rpl_trace_free(trace);
    ok(rpl_trace_open(path, &trace, &err), &err);
    ok(rpl_marks_open(trace, &marks, &err), &err);
    assert_int_equal(rpl_marks_count(marks), 3);
    assert_mark(rpl_marks_get(marks, "b"), "b", 40, "spike starts here");
    rpl_marks_free(marks);
    rpl_trace_free(trace);
    rpl_trace_free(memory);
}

/* It is in memory all the same, and written when somebody tries again. */
static void what_cannot_be_written_is_kept_for_the_next_try(void **state)
{
    static const struct rpl_stored_break BREAK = {false, true, "line = 3"};
    struct rpl_trace *memory = random_trace(200, 3);
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_marks *marks;
    struct rpl_trace *trace;
    char path[4096];
    sqlite3 *other;

    trace_path(state, "locked.db", path, sizeof(path));
    random_trace_write(memory, 200, path);
    ok(rpl_trace_open(path, &trace, &err), &err);
    ok(rpl_marks_open(trace, &marks, &err), &err);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    rpl_marks_set(marks, "b", 1, "");
    rpl_marks_breaks_set(marks, &BREAK, 1);
    assert_int_equal(rpl_marks_store(marks, &err), VS_E_STOPPED);
    assert_false(rpl_marks_is_changed(marks));
    assert_mark(rpl_marks_get(marks, "b"), "b", 1, "");
    sqlite3_close(other);
    rpl_marks_set(marks, "c", 2, "");
    ok(rpl_marks_store(marks, &err), &err);
    rpl_marks_free(marks);
    ok(rpl_marks_open(trace, &marks, &err), &err);
    assert_int_equal(rpl_marks_count(marks), 2);
    assert_mark(rpl_marks_get(marks, "b"), "b", 1, "");
    assert_int_equal(rpl_marks_break_count(marks), 1);
    assert_string_equal(rpl_marks_break_at(marks, 0)->condition, "line = 3");
    /* the same once more is no change */
    rpl_marks_breaks_set(marks, &BREAK, 1);
    assert_false(rpl_marks_is_changed(marks));
    rpl_marks_free(marks);
    rpl_trace_free(trace);
    rpl_trace_free(memory);
}

static void marks_of_a_trace_in_memory_last_until_it_is_closed(void **state)
{
    struct rpl_trace *memory = random_trace(200, 3);

    (void)state;
    set_marks(memory, false);
    set_marks(memory, false);
    rpl_trace_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_of_a_file_persist_until_the_next_open),
        cmocka_unit_test(what_cannot_be_written_is_kept_for_the_next_try),
        cmocka_unit_test(marks_of_a_trace_in_memory_last_until_it_is_closed),
    };

    return cmocka_run_group_tests_name("replay/marks", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
