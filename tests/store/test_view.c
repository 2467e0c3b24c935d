/*
 * tests/store/test_view.c - the views of a trace file compared with the events that were written: over the table
 * `cell`, and of traces of version 5 by SQLite alone.
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
#include "store/cell.h"
#include "store/codec/codec.h"
#include "store/view.h"
#include "store/writer.h"
#include "tests/store/old/old_trace.h"
#include "tests/store/sample_events.h"
#include "tests/store/trace_file.h"

static void trace_write(const char *path, const struct vs_event *events, size_t count)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;

    if (sto_writer_open(path, &(struct sto_writer_options){.force = true}, &w, &err) ||
        sto_writer_events(w, events, count, &err) || sto_writer_close(w, true, &err))
        fail_msg("%s", err.text);
}

static sqlite3 *db_open(const char *path, bool is_old)
{
    sqlite3 *db;

    if (is_old)
        old_trace_make(path);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (!is_old)
        assert_int_equal(sto_cell_register(db), SQLITE_OK);
    return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    return stmt;
}

static void numbers_check(sqlite3 *db, const struct vs_event *events, size_t count)
{
    sqlite3_stmt *stmt =
        prepare(db, "SELECT seq, kind, time_ns, place, a, b, c, d, e, aux FROM event_number");
    size_t rows = 0;
    bool *is_seen = vs_calloc(count, sizeof(*is_seen));

    while (sqlite3_step(stmt) == SQLITE_ROW) {
        uint64_t seq = (uint64_t)sqlite3_column_int64(stmt, 0);
        struct vs_event got = {
            .kind = (uint8_t)sqlite3_column_int(stmt, 1),
            .time_ns = (uint64_t)sqlite3_column_int64(stmt, 2),
            .location = (uint32_t)sqlite3_column_int64(stmt, 3),
            .raw = {.a = (uint64_t)sqlite3_column_int64(stmt, 4),
                    .b = (uint64_t)sqlite3_column_int64(stmt, 5),
                    .c = (uint64_t)sqlite3_column_int64(stmt, 6),
                    .d = (uint64_t)sqlite3_column_int64(stmt, 7),
                    .e = (uint32_t)sqlite3_column_int64(stmt, 8),
                    .aux = (uint8_t)sqlite3_column_int(stmt, 9)},
        };

        assert_in_range(seq, 1, count);
        assert_false(is_seen[seq - 1]);
        is_seen[seq - 1] = true;
        for (int i = 1; i < 10; i++)
            assert_int_equal(sqlite3_column_type(stmt, i), SQLITE_INTEGER);
        assert_memory_equal(&got, &events[seq - 1], sizeof(got));
        rows++;
    }
    assert_int_equal(rows, count);
    sqlite3_finalize(stmt);
    vs_free(is_seen);
}

static void the_views_give_what_was_written(void **state)
{
    static const struct {
        size_t count;
        bool is_wild;
    } rounds[] = {{1, true}, {300, true}, {300, true}, {2500, true}, {50, false}, {17000, false}};
    char path[4096];
    struct sample_random rnd = {31337};
    struct vs_event *events = vs_alloc(20000 * sizeof(*events));

    trace_path(state, "view.db", path, sizeof(path));
    for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        sqlite3 *db;

        if (rounds[i].is_wild)
            sample_events_wild(&rnd, events, rounds[i].count);
        else
            sample_events_training(&rnd, events, rounds[i].count);
        trace_write(path, events, rounds[i].count);
        for (int is_old = 0; is_old < 2; is_old++) {
            db = db_open(path, is_old);
            numbers_check(db, events, rounds[i].count);
            sqlite3_close(db);
        }
    }
    vs_free(events);
}

/* The answer to `sql`, one number. */
static sqlite3_int64 number_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = prepare(db, sql);
    sqlite3_int64 n;

    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    n = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

static void sums_over_the_view_equal_those_of_the_events(void **state)
{
    char path[4096];
    struct sample_random rnd = {8};
    size_t count = 5000;
    struct vs_event *events = vs_alloc(count * sizeof(*events));
    sqlite3_int64 bytes = 0;
    sqlite3_int64 live = 0;
    sqlite3_int64 holds = 0;
    sqlite3 *db;

    trace_path(state, "sums.db", path, sizeof(path));
    sample_events_training(&rnd, events, count);
    for (size_t i = 0; i < count; i++) {
        bytes += events[i].kind == VS_EV_ALLOC ? (sqlite3_int64)events[i].alloc.requested_bytes : 0;
        live += (events[i].kind == VS_EV_ALLOC) - (events[i].kind == VS_EV_FREE);
        holds += events[i].kind == VS_EV_HOLD;
    }
    trace_write(path, events, count);
    for (int is_old = 0; is_old < 2; is_old++) {
        db = db_open(path, is_old);
        assert_int_equal(number_of(db, "SELECT sum(size) FROM event WHERE kind = 'alloc'"), bytes);
        assert_int_equal(number_of(db, "SELECT count(*) FROM block WHERE free_seq IS NULL"), live);
        assert_int_equal(
            number_of(db, "SELECT count(*) FROM event WHERE holder = 'local' AND kind = 'hold'"),
            holds);
        assert_int_equal(number_of(db, "SELECT max(step) FROM event"),
                         (sqlite3_int64)(count - 1) / 2000 - 1);
        sqlite3_close(db);
    }
    vs_free(events);
}

/* Of a trace that is being recorded, over a connection that was opened before. */
static void events_of_later_chunks_are_found_by_their_number(void **state)
{
    struct sample_random rnd = {12};
    const size_t count = STO_CHUNK_EVENTS + 10;
    struct vs_event *events = vs_alloc(count * sizeof(*events));
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;
    char path[4096];
    sqlite3 *db;

    trace_path(state, "growing.db", path, sizeof(path));
    sample_events_training(&rnd, events, count);
    if (sto_writer_open(path, &(struct sto_writer_options){.force = true}, &w, &err) ||
        sto_writer_events(w, events, 5, &err) || sto_writer_commit(w, &err))
        fail_msg("%s", err.text);
    db = db_open(path, false);
    for (size_t n = 5; n <= count; n += count - 5) {
        for (size_t seq = 1; seq <= count; seq += n - 1) {
            char sql[100];

            snprintf(sql, sizeof(sql), "SELECT count(*) FROM event_number WHERE seq = %zu", seq);
            assert_int_equal(number_of(db, sql), seq <= n);
        }
        if (n == 5 &&
            (sto_writer_events(w, events + 5, count - 5, &err) || sto_writer_commit(w, &err)))
            fail_msg("%s", err.text);
    }
    sqlite3_close(db);
    if (sto_writer_close(w, true, &err))
        fail_msg("%s", err.text);
    vs_free(events);
}

/*
 * `seq` of a tensor is its id, and its row is in another chunk than the event of that number: a search for a number
 * finds the rows that reading all rows finds.
 */
static void a_search_for_a_number_finds_events_and_tensors(void **state)
{
    enum { COUNT = STO_CHUNK_EVENTS_MAX * 2 + 100, TENSORS = 3000 };
    char path[4096];
    struct vs_error err = VS_ERROR_INIT;
    struct sample_random rnd = {99};
    struct vs_event *events = vs_alloc(COUNT * sizeof(*events));
    struct sto_writer *w;
    sqlite3 *db;

    trace_path(state, "numbers.db", path, sizeof(path));
    sample_events_training(&rnd, events, COUNT);
    if (sto_writer_open(path, NULL, &w, &err) || sto_writer_events(w, events, COUNT - 100, &err))
        fail_msg("%s", err.text);
    for (uint32_t id = 1; id <= TENSORS; id++)
        if (sto_writer_tensor(w, &(struct vs_tensor_desc){.id = id, .block = 1, .ndim = 1}, &err))
            fail_msg("%s", err.text);
    if (sto_writer_events(w, events + COUNT - 100, 100, &err) || sto_writer_close(w, true, &err))
        fail_msg("%s", err.text);
    db = db_open(path, false);
    for (int seq = 1; seq <= TENSORS; seq += 499) {
        char sql[256];
        sqlite3_stmt *stmt;

        snprintf(sql, sizeof(sql),
                 "SELECT (SELECT count(*) FROM cell WHERE seq = %d), "
                 "(SELECT count(*) FROM cell WHERE +seq = %d), "
                 "(SELECT count(*) FROM cell WHERE seq = %d AND kind = 63)",
                 seq, seq, seq);
        stmt = prepare(db, sql);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(stmt, 0), 2);
        assert_int_equal(sqlite3_column_int(stmt, 1), 2);
        assert_int_equal(sqlite3_column_int(stmt, 2), 1);
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
    vs_free(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_views_give_what_was_written),
        cmocka_unit_test(sums_over_the_view_equal_those_of_the_events),
        cmocka_unit_test(events_of_later_chunks_are_found_by_their_number),
        cmocka_unit_test(a_search_for_a_number_finds_events_and_tensors),
    };

    return cmocka_run_group_tests_name("store/view", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
