/*
 * tests/store/test_beside.c - the other data in a trace file: derived parts and marks; and reading while a recorder
 * writes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "store/codec/codec.h"
#include "store/derived.h"
#include "store/marks.h"
#include "store/reader.h"
#include "store/writer.h"
#include "tests/store/small_trace.h"
#include "tests/store/trace_file.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static const char *trace_make(void **state, char *path, size_t size)
{
    trace_path(state, "beside.db", path, size);
    remove(path);
    small_trace_write(path);
    return path;
}

static struct sto_reader *reader_open(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r;

    ok(sto_reader_open(path, &r, &err), &err);
    return r;
}

static void sql(const char *path, const char *text)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, NULL))
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void derived_parts_are_stored_all_or_none(void **state)
{
    char path[4096];
    struct vs_error err = VS_ERROR_INIT;
    struct sto_derived_writer *w;
    struct sto_reader *r = reader_open(trace_make(state, path, sizeof(path)));
    uint8_t *bytes = NULL;
    size_t len = 0;
    size_t cap = 0;

    assert_int_equal(sto_derived_get(r, 7, &bytes, &len, &cap, &err), VS_E_NOT_FOUND);
    ok(sto_derived_begin(path, &w, &err), &err);
    ok(sto_derived_put(w, 7, (const uint8_t *)"seven", 5, &err), &err);
    ok(sto_derived_put(w, UINT64_C(3) << 32, (const uint8_t *)"", 0, &err), &err);
    ok(sto_derived_end(w, true, &err), &err);
    ok(sto_derived_get(r, 7, &bytes, &len, &cap, &err), &err);
    assert_int_equal(len, 5);
    assert_memory_equal(bytes, "seven", 5);
    ok(sto_derived_get(r, UINT64_C(3) << 32, &bytes, &len, &cap, &err), &err);
    assert_int_equal(len, 0);
    /* given up: the old ones stay */
    ok(sto_derived_begin(path, &w, &err), &err);
    ok(sto_derived_put(w, 7, (const uint8_t *)"x", 1, &err), &err);
    ok(sto_derived_end(w, false, &err), &err);
    ok(sto_derived_get(r, 7, &bytes, &len, &cap, &err), &err);
    assert_int_equal(len, 5);
    /* done: the old ones have been deleted */
    ok(sto_derived_begin(path, &w, &err), &err);
    ok(sto_derived_put(w, 8, (const uint8_t *)"x", 1, &err), &err);
    ok(sto_derived_end(w, true, &err), &err);
    assert_int_equal(sto_derived_get(r, 7, &bytes, &len, &cap, &err), VS_E_NOT_FOUND);
    vs_free(bytes);
    sto_reader_close(r);
}

static long file_bytes(const char *path, const char *end)
{
    char name[4200];
    struct stat found;

    snprintf(name, sizeof(name), "%s%s", path, end);
    assert_int_equal(stat(name, &found), 0);
    return (long)found.st_size;
}

/* Pages that a transaction changes are in memory, and in the journal as they were before. */
static void replacing_a_large_index_changes_few_pages(void **state)
{
    enum { PART = 1 << 20, PARTS = 6 };
    char path[4096];
    struct vs_error err = VS_ERROR_INIT;
    struct sto_derived_writer *w;
    uint8_t *bytes = vs_alloc(PART);
    uint32_t random = 1;

    trace_make(state, path, sizeof(path));
    for (size_t i = 0; i < PART; i++)
        bytes[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
    ok(sto_derived_begin(path, &w, &err), &err);
    for (uint64_t i = 1; i <= PARTS; i++)
        ok(sto_derived_put(w, i, bytes, PART, &err), &err);
    ok(sto_derived_end(w, true, &err), &err);
    assert_true(file_bytes(path, "") > PARTS * (long)PART);
    ok(sto_derived_begin(path, &w, &err), &err);
    assert_true(file_bytes(path, "-journal") < PART);
    ok(sto_derived_end(w, false, &err), &err);
    vs_free(bytes);
}

static void a_locked_trace_is_not_waited_for(void **state)
{
    char path[4096];
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *recorder;
    struct sto_derived_writer *w;

    trace_path(state, "busy.db", path, sizeof(path));
    ok(sto_writer_open(path, NULL, &recorder, &err), &err);
    assert_int_equal(sto_derived_begin(path, &w, &err), VS_E_STOPPED);
    assert_null(w);
    assert_int_equal(sto_mark_set(path, "a", 1, "", &err), VS_E_STOPPED);
    ok(sto_writer_close(recorder, true, &err), &err);
    ok(sto_derived_begin(path, &w, &err), &err);
    ok(sto_derived_end(w, true, &err), &err);
    assert_int_equal(sto_derived_begin("no/such/file.db", &w, &err), VS_E_IO);
    assert_int_equal(sto_mark_set("no/such/file.db", "a", 1, "", &err), VS_E_IO);
}

/* The marks as text: "a 3 note; …". */
static void mark_add(void *user, const char *key, uint64_t seq, const char *note)
{
    char *text = user;

    snprintf(text + strlen(text), 200 - strlen(text), "%s %d %s; ", key, (int)seq, note);
}

static void marks_are_set_replaced_and_removed(void **state)
{
    char path[4096];
    char text[200] = "";
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r = reader_open(trace_make(state, path, sizeof(path)));

    ok(sto_mark_set(path, "b", 9, "it's here", &err), &err);
    ok(sto_mark_set(path, "a", 3, "", &err), &err);
    ok(sto_mark_set(path, "b", 4, "no, here", &err), &err);
    ok(sto_marks_each(r, mark_add, text, &err), &err);
    assert_string_equal(text, "a 3 ; b 4 no, here; ");
    ok(sto_mark_set(path, "a", 0, NULL, &err), &err);
    ok(sto_mark_set(path, "x", 0, NULL, &err), &err);
    text[0] = '\0';
    ok(sto_marks_each(r, mark_add, text, &err), &err);
    assert_string_equal(text, "b 4 no, here; ");
    sto_reader_close(r);
}

/* Everything that can be derived from the events from `from` to the end was written. */
static void assert_events(struct sto_reader *r, uint64_t count)
{
    struct vs_error err = VS_ERROR_INIT;

    assert_int_equal(sto_reader_event_count(r), count);
    for (uint64_t seq = 1; seq <= count; seq++) {
        struct vs_event event;

        ok(sto_reader_events(r, seq, 1, &event, &err), &err);
        assert_int_equal(event.time_ns, seq * 10);
    }
}

static void a_reader_sees_what_a_recorder_commits(void **state)
{
    const uint64_t parts[] = {3, 1, 200, 0, 5};
    char path[4096];
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;
    struct sto_reader *r;
    const char *first;
    uint64_t given = 0;
    uint32_t strings = 0;

    trace_path(state, "growing.db", path, sizeof(path));
    ok(sto_writer_open(path, NULL, &w, &err), &err);
    ok(sto_writer_string(w, ++strings, "first", &err), &err);
    ok(sto_writer_commit(w, &err), &err);
    r = reader_open(path);
    first = sto_reader_string(r, 1);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        for (uint64_t k = 0; k < parts[i]; k++) {
            struct vs_event event = {.kind = given % 50 ? VS_EV_HOLD : VS_EV_STEP,
                                     .time_ns = (given + 1) * 10,
                                     .step = {.number_plus_one = given / 50}};
            struct vs_tensor_desc desc = {.id = (uint32_t)given + 1, .block = given, .ndim = 0};

            ok(sto_writer_events(w, &event, 1, &err), &err);
            ok(sto_writer_tensor(w, &desc, &err), &err);
            given++;
        }
        ok(sto_writer_string(w, ++strings, "more", &err), &err);
        ok(sto_writer_commit(w, &err), &err);
        ok(sto_reader_refresh(r, &err), &err);
        assert_events(r, given);
        assert_int_equal(sto_reader_string_count(r), strings);
        assert_int_equal(sto_reader_tensor_count(r), given);
        for (uint64_t id = 1; id <= given; id++) {
            struct vs_tensor_desc desc;

            ok(sto_reader_tensor(r, (uint32_t)id, &desc, &err), &err);
            assert_int_equal(desc.block, id - 1);
        }
        assert_int_equal(sto_reader_step_count(r), (given + 49) / 50);
        assert_int_equal(sto_reader_step_at(r, sto_reader_step_count(r) - 1)->last_seq, given);
    }
    assert_ptr_equal(sto_reader_string(r, 1), first);
    assert_false(sto_reader_is_complete(r));
    ok(sto_writer_close(w, true, &err), &err);
    ok(sto_reader_refresh(r, &err), &err);
    assert_true(sto_reader_is_complete(r));
    sto_reader_close(r);
}

/* Data listed when the trace was opened is read on request, while the recorder goes on writing. */
static void tensors_can_be_read_while_a_recorder_adds_to_their_block(void **state)
{
    char path[4096];
    struct vs_error err = VS_ERROR_INIT;
    struct vs_tensor_desc desc = {.ndim = 0};
    struct sto_writer *w;
    struct sto_reader *r = NULL;

    trace_path(state, "block.db", path, sizeof(path));
    ok(sto_writer_open(path, NULL, &w, &err), &err);
    for (uint32_t id = 1; id <= 400; id++) {
        /* far apart, so that the columns get wider */
        desc = (struct vs_tensor_desc){.id = id, .block = (uint64_t)id * id * id};
        ok(sto_writer_tensor(w, &desc, &err), &err);
        if (id % 100 == 0)
            ok(sto_writer_commit(w, &err), &err);
        if (id == 100)
            r = reader_open(path);
    }
    assert_int_equal(sto_reader_tensor_count(r), 100);
    for (uint32_t id = 1; id <= 100; id++) {
        ok(sto_reader_tensor(r, id, &desc, &err), &err);
        assert_int_equal(desc.block, (uint64_t)id * id * id);
    }
    sto_reader_close(r);
    ok(sto_writer_close(w, true, &err), &err);
}

static void changed_events_change_the_fingerprint(void **state)
{
    char path[4096];
    struct sto_reader *r = reader_open(trace_make(state, path, sizeof(path)));
    uint64_t print = sto_reader_fingerprint(r);

    sto_reader_close(r);
    r = reader_open(path);
    assert_true(sto_reader_fingerprint(r) == print);
    sto_reader_close(r);
    sql(path, "UPDATE event_block SET count = count - 1, id = id WHERE id = (SELECT max(id) FROM "
              "event_block WHERE id % 64 <> 63)");
    r = reader_open(path);
    assert_true(sto_reader_fingerprint(r) != print);
    sto_reader_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derived_parts_are_stored_all_or_none),
        cmocka_unit_test(replacing_a_large_index_changes_few_pages),
        cmocka_unit_test(a_locked_trace_is_not_waited_for),
        cmocka_unit_test(marks_are_set_replaced_and_removed),
        cmocka_unit_test(a_reader_sees_what_a_recorder_commits),
        cmocka_unit_test(tensors_can_be_read_while_a_recorder_adds_to_their_block),
        cmocka_unit_test(changed_events_change_the_fingerprint),
    };

    return cmocka_run_group_tests_name("store/beside", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
