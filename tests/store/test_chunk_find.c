/*
 * tests/store/test_chunk_find.c - chunks, tensors, steps and strings are found in the file when they are needed.
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
#include "store/codec/codec.h"
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

/* Parts of chunks in any order and length, one behind the other, and several times: what is read on is right, too. */
static void parts_of_chunks_are_those_of_the_whole(void **state)
{
    struct vs_event *got = vs_alloc(EVENTS * sizeof(*got));
    struct sample_random rnd = {11};
    struct vs_error err = VS_ERROR_INIT;
    char path[PATH_SIZE];
    struct sto_reader *r;
    uint64_t first = 1;

    trace_write(trace_path(state, "parts.db", path, sizeof(path)));
    r = trace_open(path);
    for (int i = 0; i < 100; i++) {
        size_t count = 1 + (size_t)sample_random_below(&rnd, i % 9 ? 3000 : 40000);

        if (i % 3 == 0 || first + count > EVENTS + 1)
            first = 1 + sample_random_below(&rnd, EVENTS - 40000);
        ok(sto_reader_events(r, first, count, got, &err), &err);
        assert_memory_equal(got, &events[first - 1], count * sizeof(*got));
        first += count;
    }
    sto_reader_close(r);
    vs_free(got);
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
        "INSERT INTO event_block VALUES (64 * 1000000, 1000000, 0, 1)",
        "INSERT INTO event_block VALUES (64 * 1000000, 16384 * 1000000 + 2, 0, 1)",
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

#define TENSORS (3 * STO_CHUNK_EVENTS + 7)

/* Those of each block, read in no order; the second block alone has names. */
static void tensors_of_any_block_are_found(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sample_random rnd = {9};
    struct sto_writer *w = NULL;
    struct sto_reader *r = NULL;
    struct vs_tensor_desc desc;
    char path[PATH_SIZE];
    uint32_t name = 0;

    ok(sto_writer_open(trace_path(state, "tensors.db", path, sizeof(path)), NULL, &w, &err), &err);
    ok(sto_writer_string(w, 1, "weight", &err), &err);
    for (uint32_t id = 1; id <= TENSORS; id++) {
        name = id == STO_CHUNK_EVENTS + 3;
        desc = (struct vs_tensor_desc){.id = id, .block = (uint64_t)id * 5, .name = name};
        ok(sto_writer_tensor(w, &desc, &err), &err);
    }
    ok(sto_writer_close(w, true, &err), &err);
    ok(sto_reader_open(path, &r, &err), &err);
    assert_int_equal(sto_reader_tensor_count(r), TENSORS);
    assert_int_equal(sto_reader_nameless_to(r, 1), STO_CHUNK_EVENTS);
    assert_int_equal(sto_reader_nameless_to(r, STO_CHUNK_EVENTS + 1), STO_CHUNK_EVENTS);
    assert_int_equal(sto_reader_nameless_to(r, TENSORS - 1), TENSORS);
    for (int i = 0; i < 50; i++) {
        const uint32_t id = 1 + (uint32_t)sample_random_below(&rnd, TENSORS);

        ok(sto_reader_tensor(r, id, &desc, &err), &err);
        assert_int_equal(desc.block, (uint64_t)id * 5);
    }
    assert_int_equal(sto_reader_tensor(r, TENSORS + 1, &desc, &err), VS_E_NOT_FOUND);
    assert_int_equal(sto_reader_tensor(r, 0, &desc, &err), VS_E_NOT_FOUND);
    sto_reader_close(r);
}

static void the_first_step_is_found_without_the_others(void **state)
{
    char path[PATH_SIZE];
    struct sto_reader *r;
    struct sto_step first;
    size_t i = 0;

    trace_write(trace_path(state, "steps.db", path, sizeof(path)));
    r = trace_open(path);
    assert_true(sto_reader_step_first(r, &first));
    while (sto_reader_step_at(r, i)->step < 0)
        i++;
    assert_int_equal(first.first_seq, sto_reader_step_at(r, i)->first_seq);
    assert_int_equal(first.last_seq, sto_reader_step_at(r, i)->last_seq);
    assert_int_equal(sto_reader_step_at(r, sto_reader_step_count(r) - 1)->last_seq, EVENTS);
    sto_reader_close(r);
}

/* What is read when it is first needed cannot say so; the events do. */
static void what_cannot_be_read_later_stops_the_reading_of_events(void **state)
{
    static const char *const TABLES[] = {"string", "place", "step"};
    char path[PATH_SIZE];

    for (size_t i = 0; i < sizeof(TABLES) / sizeof(TABLES[0]); i++) {
        struct vs_error err = VS_ERROR_INIT;
        struct vs_event event;
        struct sto_reader *r;
        char sql[100];

        trace_write(trace_path(state, "gone.db", path, sizeof(path)));
        sql_run(path, "INSERT OR IGNORE INTO string VALUES (1, 'a'); "
                      "INSERT OR IGNORE INTO place VALUES (1, 0, 0, 0, 7, 0)");
        r = trace_open(path);
        snprintf(sql, sizeof(sql), "DROP TABLE %s", TABLES[i]);
        sql_run(path, sql);
        ok(sto_reader_events(r, 1, 1, &event, &err), &err);
        assert_string_equal(sto_reader_string(r, 1), i == 0 ? "" : "a");
        assert_int_equal(sto_reader_location(r, 1)->line, i == 1 ? 0 : 7);
        assert_int_equal(sto_reader_step_count(r) == 0, i == 2);
        assert_int_not_equal(sto_reader_events(r, 1, 1, &event, &err), VS_OK);
        assert_non_null(strstr(err.text, TABLES[i]));
        sto_reader_close(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_is_found_from_anywhere),
        cmocka_unit_test(parts_of_chunks_are_those_of_the_whole),
        cmocka_unit_test(a_part_that_is_missing_is_noticed_where_it_is_read),
        cmocka_unit_test(a_last_chunk_of_no_possible_number_is_refused),
        cmocka_unit_test(the_fingerprint_is_of_the_events),
        cmocka_unit_test(tensors_of_any_block_are_found),
        cmocka_unit_test(the_first_step_is_found_without_the_others),
        cmocka_unit_test(what_cannot_be_read_later_stops_the_reading_of_events),
    };
    struct sample_random rnd = {3};
    int failed;

    events = vs_alloc(EVENTS * sizeof(*events));
    sample_events_training(&rnd, events, EVENTS);
    failed = cmocka_run_group_tests(tests, trace_folder_setup, trace_folder_teardown);
    vs_free(events);
    return failed;
}
