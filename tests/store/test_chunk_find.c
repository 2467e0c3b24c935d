/*
 * tests/store/test_chunk_find.c - the chunk of an event is found in the file, without a list of all of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/mem.h"
#include "store/reader.h"
#include "store/writer.h"
#include "tests/store/sample_events.h"
#include "tests/store/trace_file.h"

#define PATH_SIZE 4096
#define EVENTS UINT64_C(300000)

static struct vs_event *events;

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s: %s", vs_status_name(st), err->text);
}

static void sql_run(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void trace_write(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w = NULL;

    (void)remove(path);
    ok(sto_writer_open(path, NULL, &w, &err), &err);
    ok(sto_writer_events(w, events, EVENTS, &err), &err);
    ok(sto_writer_close(w, true, &err), &err);
}

static struct sto_reader *trace_open(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r = NULL;

    ok(sto_reader_open(path, &r, &err), &err);
    assert_int_equal(sto_reader_event_count(r), EVENTS);
    return r;
}

static void event_check(struct sto_reader *r, uint64_t seq)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_event got;

    ok(sto_reader_events(r, seq, 1, &got, &err), &err);
    assert_memory_equal(&got, &events[seq - 1], sizeof(got));
}

static void every_chunk_is_found_from_anywhere(void **state)
{
    struct sample_random rnd = {7};
    char path[PATH_SIZE];
    struct sto_reader *r;

    trace_write(trace_path(state, "find.db", path, sizeof(path)));
    r = trace_open(path);
    for (uint64_t seq = EVENTS; seq > 9000; seq -= 9000)
        event_check(r, seq);
    for (int i = 0; i < 60; i++)
        event_check(r, 1 + sample_random_below(&rnd, EVENTS));
    event_check(r, 1);
    event_check(r, EVENTS);
    sto_reader_close(r);
}

/* A chunk's row says another event than its first, or there is none: its neighbours are read, and it is refused. */
static void a_part_that_is_missing_is_noticed_where_it_is_read(void **state)
{
    static const char *const LOSSES[] = {
        "UPDATE event_block SET first_seq = first_seq + 1 WHERE id / 64 = "
        "(SELECT max(id) / 128 FROM event_block WHERE id % 64 <> 63)",
        "DELETE FROM event_block WHERE id % 64 <> 63 AND id / 64 = "
        "(SELECT max(id) / 128 FROM event_block WHERE id % 64 <> 63)",
    };
    char path[PATH_SIZE];
    struct vs_event *got = vs_alloc(EVENTS * sizeof(*got));

    for (size_t i = 0; i < sizeof(LOSSES) / sizeof(LOSSES[0]); i++) {
        struct vs_error err = VS_ERROR_INIT;
        struct sto_reader *r = NULL;

        trace_write(trace_path(state, "loss.db", path, sizeof(path)));
        sql_run(path, LOSSES[i]);
        if (sto_reader_open(path, &r, &err) == VS_OK) {
            event_check(r, EVENTS);
            assert_int_equal(sto_reader_events(r, 1, EVENTS, got, &err), VS_E_DAMAGED);
        }
        assert_int_equal(err.status, VS_E_DAMAGED);
        sto_reader_close(r);
    }
    vs_free(got);
}

/* Opening must not believe a number that would mean far more events than there are. */
static void a_last_chunk_of_no_possible_number_is_refused(void **state)
{
    static const char *const ENDS[] = {
        "INSERT INTO event_block VALUES (64 * 1000000000, 1000000001, 0, 1)",
        "INSERT INTO event_block VALUES (64 * 1000, 1000, 0, 1)",
        "INSERT INTO event_block VALUES (64 * 1000, 16384 * 1000 + 2, 0, 1)",
        "INSERT INTO event_block VALUES (9223372036854775807 - 63, 1, 0, 1)",
    };
    char path[PATH_SIZE];

    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
        struct vs_error err = VS_ERROR_INIT;
        struct sto_reader *r = NULL;

        trace_write(trace_path(state, "end.db", path, sizeof(path)));
        sql_run(path, ENDS[i]);
        assert_int_equal(sto_reader_open(path, &r, &err), VS_E_DAMAGED);
        assert_null(r);
    }
}

static uint64_t fingerprint_after(const char *path, const char *sql)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r = NULL;
    uint64_t print;

    sql_run(path, sql);
    ok(sto_reader_open(path, &r, &err), &err);
    print = sto_reader_fingerprint(r);
    sto_reader_close(r);
    return print;
}

static void the_fingerprint_is_of_the_events(void **state)
{
    char path[PATH_SIZE];
    uint64_t print;

    trace_write(trace_path(state, "print.db", path, sizeof(path)));
    print = fingerprint_after(path, "SELECT 1");
    assert_int_equal(fingerprint_after(path, "DELETE FROM derived"), print);
    /* of the first chunk: other kinds; of the last: one event less */
    assert_int_not_equal(fingerprint_after(path,
                                           "UPDATE event_block SET id = id + 1, kind = kind + 1 "
                                           "WHERE id = (SELECT max(id) FROM event_block WHERE "
                                           "id < 62)"),
                         print);
    trace_write(path);
    assert_int_equal(fingerprint_after(path, "SELECT 1"), print);
    assert_int_not_equal(fingerprint_after(path,
                                           "UPDATE event_block SET count = count - 1 WHERE id = "
                                           "(SELECT max(id) FROM event_block WHERE id % 64 <> "
                                           "63)"),
                         print);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_is_found_from_anywhere),
        cmocka_unit_test(a_part_that_is_missing_is_noticed_where_it_is_read),
        cmocka_unit_test(a_last_chunk_of_no_possible_number_is_refused),
        cmocka_unit_test(the_fingerprint_is_of_the_events),
    };
    struct sample_random rnd = {3};
    int failed;

    events = vs_alloc(EVENTS * sizeof(*events));
    sample_events_training(&rnd, events, EVENTS);
    failed = cmocka_run_group_tests(tests, trace_folder_setup, trace_folder_teardown);
    vs_free(events);
    return failed;
}
