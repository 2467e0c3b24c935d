/*
 * tests/store/test_chunk_list.c - a trace opens the same with a stored list of its chunks, without one, and with one
 * that is damaged or of other chunks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/mem.h"
#include "store/derived.h"
#include "store/reader.h"
#include "store/writer.h"
#include "tests/store/sample_events.h"
#include "tests/store/trace_file.h"

#define PATH_SIZE 4096
#define EVENTS 50000
#define THE_LIST "id >> 32 = 128"
#define LIST_PART (UINT64_C(128) << 32)

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

/* A trace of the first `count` events, with the list of its chunks. */
static void trace_write(const char *path, size_t count)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_derived_writer *derived = NULL;
    struct sto_writer *w = NULL;
    struct sto_reader *r = NULL;

    ok(sto_writer_open(path, NULL, &w, &err), &err);
    ok(sto_writer_events(w, events, count, &err), &err);
    ok(sto_writer_close(w, true, &err), &err);
    ok(sto_reader_open(path, &r, &err), &err);
    ok(sto_derived_begin(path, &derived, &err), &err);
    ok(sto_derived_put_list(derived, r, &err), &err);
    ok(sto_derived_end(derived, true, &err), &err);
    sto_reader_close(r);
}

/* Opens it, and reads all of it; returns the fingerprint of its chunks. */
static uint64_t read_all(const char *path, size_t count)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_event *got = vs_alloc(count * sizeof(*got));
    struct sto_reader *r = NULL;
    uint64_t fingerprint;

    ok(sto_reader_open(path, &r, &err), &err);
    assert_int_equal(sto_reader_event_count(r), count);
    ok(sto_reader_events(r, 1, count, got, &err), &err);
    assert_memory_equal(got, events, count * sizeof(*got));
    fingerprint = sto_reader_fingerprint(r);
    sto_reader_close(r);
    vs_free(got);
    return fingerprint;
}

static void a_trace_opens_the_same_with_and_without_its_list(void **state)
{
    char path[PATH_SIZE];
    uint64_t with;

    trace_write(trace_path(state, "list.db", path, sizeof(path)), EVENTS);
    with = read_all(path, EVENTS);
    /* with the list, no row of a chunk but those that are read is needed for opening */
    sql_run(path, "UPDATE event_block SET first_seq = first_seq + 1 WHERE id % 64 <> 63");
    assert_int_equal(read_all(path, EVENTS), with);
    sql_run(path, "UPDATE event_block SET first_seq = first_seq - 1 WHERE id % 64 <> 63");
    sql_run(path, "DELETE FROM derived WHERE " THE_LIST);
    assert_int_equal(read_all(path, EVENTS), with);
}

static void a_damaged_list_is_not_used(void **state)
{
    static const char *const DAMAGE[] = {
        "UPDATE derived SET data = zeroblob(30) WHERE " THE_LIST,
        "UPDATE derived SET data = substr(data, 1, length(data) - 3) WHERE " THE_LIST,
        "UPDATE derived SET data = x'' WHERE " THE_LIST,
    };
    char path[PATH_SIZE];
    uint64_t print;

    trace_write(trace_path(state, "damaged_list.db", path, sizeof(path)), EVENTS);
    print = read_all(path, EVENTS);
    for (size_t i = 0; i < sizeof(DAMAGE) / sizeof(DAMAGE[0]); i++) {
        sql_run(path, DAMAGE[i]);
        assert_int_equal(read_all(path, EVENTS), print);
    }
}

/* Stored as it should be, so that no checksum of the compression notices: the list has a hash of its own. */
static void a_list_with_another_byte_is_not_used(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r = NULL;
    uint8_t *list = NULL;
    size_t cap = 0;
    size_t len = 0;
    char path[PATH_SIZE];
    uint64_t print;

    trace_write(trace_path(state, "flipped_list.db", path, sizeof(path)), EVENTS);
    print = read_all(path, EVENTS);
    ok(sto_reader_open(path, &r, &err), &err);
    ok(sto_derived_get(r, LIST_PART, &list, &len, &cap, &err), &err);
    sto_reader_close(r);
    assert_true(len > 12);
    for (size_t at = 0; at < len; at++) {
        struct sto_derived_writer *derived = NULL;

        list[at] ^= 1;
        ok(sto_derived_begin(path, &derived, &err), &err);
        ok(sto_derived_put(derived, LIST_PART, list, len, &err), &err);
        ok(sto_derived_end(derived, true, &err), &err);
        assert_int_equal(read_all(path, EVENTS), print);
        list[at] ^= 1;
    }
    vs_free(list);
}

/* The list of a longer trace, and one of a trace to which events were added. */
static void a_list_of_other_chunks_is_not_used(void **state)
{
    char path[PATH_SIZE];
    char longer[PATH_SIZE];
    char sql[PATH_SIZE + 200];
    uint64_t print;

    trace_write(trace_path(state, "short_list.db", path, sizeof(path)), EVENTS / 2);
    trace_write(trace_path(state, "long_list.db", longer, sizeof(longer)), EVENTS);
    print = read_all(path, EVENTS / 2);
    sqlite3_snprintf(sizeof(sql), sql,
                     "ATTACH %Q AS other; UPDATE derived SET data = (SELECT data FROM "
                     "other.derived WHERE " THE_LIST ") WHERE " THE_LIST,
                     longer);
    sql_run(path, sql);
    assert_int_equal(read_all(path, EVENTS / 2), print);
    sqlite3_snprintf(sizeof(sql), sql,
                     "ATTACH %Q AS other; DELETE FROM event_block; DELETE FROM event_chunk; INSERT "
                     "INTO event_block SELECT * FROM other.event_block; INSERT INTO event_chunk "
                     "SELECT * FROM other.event_chunk",
                     longer);
    trace_write(trace_path(state, "grown_list.db", path, sizeof(path)), EVENTS / 2);
    sql_run(path, sql);
    assert_int_equal(read_all(path, EVENTS), read_all(longer, EVENTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_opens_the_same_with_and_without_its_list),
        cmocka_unit_test(a_damaged_list_is_not_used),
        cmocka_unit_test(a_list_with_another_byte_is_not_used),
        cmocka_unit_test(a_list_of_other_chunks_is_not_used),
    };
    struct sample_random rnd = {3};
    int failed;

    events = vs_alloc(EVENTS * sizeof(*events));
    sample_events_training(&rnd, events, EVENTS);
    failed = cmocka_run_group_tests(tests, trace_folder_setup, trace_folder_teardown);
    vs_free(events);
    return failed;
}
