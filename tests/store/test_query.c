/*
 * tests/store/test_query.c - a query of the program gives the rows that SQLite alone gives of the same trace as
 * version 5 of the format stored it: there the views decode the events in SQL.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "store/query.h"
#include "store/writer.h"
#include "tests/store/old/old_trace.h"
#include "tests/store/small_trace.h"
#include "tests/store/trace_file.h"

/* Two chunks and a part of a third. */
#define EVENTS 40000

static void row_add(void *user, size_t count, const struct sto_value *values)
{
    struct vs_text *out = user;

    for (size_t i = 0; i < count; i++)
        vs_text_addf(out, "%s|", values[i].text);
    vs_text_add_char(out, '\n');
}

static void no_columns(void *user, size_t count, const char *const *names)
{
    (void)user;
    (void)count;
    (void)names;
}

/* The rows as the program gives them. */
static void rows_here(const char *path, const char *sql, struct vs_text *out)
{
    struct sto_query_sink sink = {.user = out, .columns = no_columns, .row = row_add};
    struct vs_error err = VS_ERROR_INIT;

    if (sto_query(path, sql, &sink, &err))
        fail_msg("%s: %s", sql, err.text);
}

/* The rows as SQLite gives them without the program, of a trace of version 5. */
static void rows_plain(const char *path, const char *sql, struct vs_text *out)
{
    sqlite3_stmt *stmt;
    sqlite3 *db;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const char *text = (const char *)sqlite3_column_text(stmt, i);

            vs_text_addf(out, "%s|", text ? text : "");
        }
        vs_text_add_char(out, '\n');
    }
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    sqlite3_close(db);
}

/* Both are the same, and there are rows; also of the old trace, where the program reads that. */
static void check(const char *path, const char *old_path, const char *sql)
{
    struct vs_text plain = {NULL, 0, 0};

    rows_plain(old_path, sql, &plain);
    assert_true(plain.len > 0);
    for (int i = 0; i < 2; i++) {
        struct vs_text here = {NULL, 0, 0};

        rows_here(i ? old_path : path, sql, &here);
        if (here.len != plain.len || memcmp(here.data, plain.data, plain.len) != 0)
            fail_msg("%s gives\n%.2000s\ninstead of\n%.2000s", sql, vs_text_get(&here),
                     vs_text_get(&plain));
        vs_text_release(&here);
    }
    vs_text_release(&plain);
}

static void all_views_of_a_trace_have_the_same_rows(void **state)
{
    static const char *const SQL[] = {
        "SELECT * FROM cell ORDER BY kind, seq",
        "SELECT * FROM event_number ORDER BY seq",
        "SELECT * FROM event ORDER BY seq",
        "SELECT * FROM block ORDER BY id",
        "SELECT * FROM tensor ORDER BY id",
        "SELECT * FROM event WHERE seq = 20",
        "SELECT seq, aux FROM event_number WHERE seq > 20 AND kind = 0 ORDER BY seq",
        "SELECT kind, count(*), sum(time_ns) FROM cell GROUP BY kind",
        "SELECT s.step, e.* FROM phase_stat s JOIN event e ON e.seq = s.peak_seq ORDER BY e.seq",
        "SELECT e.seq, b.free_seq FROM event e JOIN block b ON b.alloc_seq = e.seq ORDER BY e.seq",
    };
    char path[4096];
    char old_path[4096];

    trace_path(state, "query.db", path, sizeof(path));
    trace_path(state, "query_old.db", old_path, sizeof(old_path));
    small_trace_gpu_write(path);
    small_trace_gpu_write(old_path);
    old_trace_make(old_path);
    for (size_t i = 0; i < sizeof(SQL) / sizeof(SQL[0]); i++)
        check(path, old_path, SQL[i]);
}

/* Tensors that cannot be decoded show who decodes them. */
static void a_search_among_events_decodes_no_tensors(void **state)
{
    static const char *const SQL[] = {
        "SELECT kind, seq FROM event WHERE seq = 20",
        "SELECT count(*) FROM event",
        "SELECT seq FROM event_number WHERE seq IN (3, 20)",
        "SELECT seq FROM cell WHERE kind <> '63' AND kind <> 63 AND seq = 20",
        ("SELECT seq FROM cell WHERE seq = 20 AND kind <> 63 AND kind = (SELECT kind FROM "
         "event_number WHERE seq = 20)"),
    };
    struct vs_text whole[sizeof(SQL) / sizeof(SQL[0])];
    char path[4096];
    sqlite3 *db = NULL;

    small_trace_gpu_write(trace_path(state, "tensors.db", path, sizeof(path)));
    for (size_t i = 0; i < sizeof(SQL) / sizeof(SQL[0]); i++) {
        whole[i] = (struct vs_text){NULL, 0, 0};
        rows_here(path, SQL[i], &whole[i]);
        assert_true(whole[i].len > 0);
    }
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE event_chunk SET data = x'00' WHERE id % 64 = 63",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_true(sqlite3_changes(db) > 0);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    for (size_t i = 0; i < sizeof(SQL) / sizeof(SQL[0]); i++) {
        struct vs_text here = {NULL, 0, 0};

        rows_here(path, SQL[i], &here);
        assert_string_equal(vs_text_get(&here), vs_text_get(&whole[i]));
        vs_text_release(&here);
        vs_text_release(&whole[i]);
    }
}

static void numbers_of_several_chunks_are_the_same(void **state)
{
    struct vs_event *events = vs_calloc(EVENTS, sizeof(*events));
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;
    char paths[2][4096];

    for (size_t i = 0; i < EVENTS; i++) {
        events[i].kind = (uint8_t)(i * i % 7 % 3 ? VS_EV_USE : VS_EV_OP_BEGIN);
        events[i].time_ns = i * 40 + i % 13;
        events[i].location = (uint32_t)(i % 900);
        events[i].raw.a = i / 3;
        events[i].raw.b = UINT64_C(1) << i % 64;
        events[i].raw.c = i % 5 * (i % 900);
    }
    for (int i = 0; i < 2; i++) {
        trace_path(state, i ? "chunks_old.db" : "chunks.db", paths[i], sizeof(paths[i]));
        if (sto_writer_open(paths[i], &(struct sto_writer_options){.force = true}, &w, &err) ||
            sto_writer_events(w, events, EVENTS, &err) || sto_writer_close(w, true, &err))
            fail_msg("%s", err.text);
    }
    old_trace_make(paths[1]);
    check(paths[0], paths[1],
          "SELECT kind, count(*), sum(seq), sum(time_ns), sum(place), sum(a), sum(b % 1000), "
          "sum(c), sum(d), sum(e), sum(aux) FROM cell GROUP BY kind ORDER BY kind");
    check(paths[0], paths[1],
          "SELECT * FROM cell WHERE seq IN (1, 16384, 16385, 39999, 40000) ORDER BY seq");
    vs_free(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_views_of_a_trace_have_the_same_rows),
        cmocka_unit_test(a_search_among_events_decodes_no_tensors),
        cmocka_unit_test(numbers_of_several_chunks_are_the_same),
    };

    return cmocka_run_group_tests(tests, trace_folder_setup, trace_folder_teardown);
}
