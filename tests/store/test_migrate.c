/*
 * tests/store/test_migrate.c - a trace of an older version is migrated to the current one, or stays as it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/migrate.h"
#include "store/reader.h"
#include "store/schema.h"
#include "tests/store/old/old_trace.h"
#include "tests/store/small_trace.h"
#include "tests/store/trace_file.h"

static enum vs_status table_add(const struct sto_db *db, struct vs_error *err)
{
    return sto_db_exec(db, "CREATE TABLE pyramid (level, text)", err);
}

static enum vs_status column_add(const struct sto_db *db, struct vs_error *err)
{
    return sto_db_exec(db, "ALTER TABLE pyramid ADD COLUMN width", err);
}

/* Does something, then fails. */
static enum vs_status half_step(const struct sto_db *db, struct vs_error *err)
{
    enum vs_status st = sto_db_exec(db, "DELETE FROM event_block", err);

    return st ? st : sto_db_exec(db, "INSERT INTO no_such_table VALUES (1)", err);
}

static void trace_open(void **state, struct sto_db *db, char *path, size_t size)
{
    struct vs_error err = VS_ERROR_INIT;

    trace_path(state, "old.db", path, size);
    remove(path);
    small_trace_write(path);
    if (sto_db_open(db, path, true, &err))
        fail_msg("%s", err.text);
}

static sqlite3_int64 number_of(const struct sto_db *db, const char *sql)
{
    struct vs_error err = VS_ERROR_INIT;
    sqlite3_int64 n = 0;

    if (sto_db_number(db, sql, &n, &err))
        fail_msg("%s", err.text);
    return n;
}

static void migration_steps_are_applied_in_order(void **state)
{
    const struct sto_migrate_step steps[] = {{1, half_step}, {2, table_add}, {9, column_add}};
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];
    struct sto_db db;
    int version = 0;

    trace_open(state, &db, path, sizeof(path));
    if (sto_migrate_apply(&db, steps, 3, 1, &err))
        fail_msg("%s", err.text);
    assert_int_equal(number_of(&db, "PRAGMA user_version"), 9);
    assert_int_equal(number_of(&db, "SELECT count(width) FROM pyramid"), 0);
    assert_true(number_of(&db, "SELECT sum(count) FROM event_block") > 100);
    assert_int_equal(sto_migrate_version(&db, 9, &version, &err), VS_OK);
    assert_int_equal(version, 9);
    assert_int_equal(sto_migrate_version(&db, 8, &version, &err), VS_E_VERSION);
    assert_int_equal(sto_migrate_update(&db, &err), VS_E_VERSION);
    sto_db_close(&db);
}

static void a_failed_migration_step_keeps_the_previous_version(void **state)
{
    const struct sto_migrate_step steps[] = {{2, table_add}, {3, half_step}, {4, column_add}};
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];
    struct sto_db db;

    trace_open(state, &db, path, sizeof(path));
    assert_int_equal(sto_migrate_apply(&db, steps, 3, 1, &err), VS_E_IO);
    assert_non_null(strstr(err.text, "no_such_table"));
    assert_int_equal(number_of(&db, "PRAGMA user_version"), 2);
    assert_true(number_of(&db, "SELECT sum(count) FROM event_block") > 100);
    sto_db_close(&db);
}

static void a_current_trace_is_not_migrated(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];
    struct sto_db db;

    trace_open(state, &db, path, sizeof(path));
    assert_int_equal(number_of(&db, "PRAGMA application_id"), STO_APPLICATION_ID);
    assert_int_equal(number_of(&db, "PRAGMA user_version"), sto_migrate_current());
    assert_int_equal(sto_migrate_update(&db, &err), VS_OK);
    assert_int_equal(sqlite3_total_changes(db.handle), 0);
    sto_db_close(&db);
}

static struct vs_event *events_read(const char *path, size_t *count)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r;
    struct vs_event *events;

    if (sto_reader_open(path, &r, &err))
        fail_msg("%s", err.text);
    *count = (size_t)sto_reader_event_count(r);
    events = vs_alloc(*count * sizeof(*events));
    if (sto_reader_events(r, 1, *count, events, &err))
        fail_msg("%s", err.text);
    sto_reader_close(r);
    return events;
}

static void tensors_compare(const char *path, const char *other)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *readers[2];
    uint32_t count;

    if (sto_reader_open(path, &readers[0], &err) || sto_reader_open(other, &readers[1], &err))
        fail_msg("%s", err.text);
    count = sto_reader_tensor_count(readers[0]);
    assert_int_equal(sto_reader_tensor_count(readers[1]), count);
    for (uint32_t id = 1; id <= count; id++) {
        struct vs_tensor_desc tensors[2];

        for (int i = 0; i < 2; i++) {
            memset(&tensors[i], 0, sizeof(tensors[i]));
            if (sto_reader_tensor(readers[i], id, &tensors[i], &err))
                fail_msg("%s", err.text);
        }
        assert_memory_equal(&tensors[0], &tensors[1], sizeof(tensors[0]));
        assert_int_equal(sto_reader_nameless_to(readers[0], id),
                         sto_reader_nameless_to(readers[1], id));
    }
    sto_reader_close(readers[0]);
    sto_reader_close(readers[1]);
}

/* What each version added, from the newest on. */
static const char *const added[] = {
    NULL,
    NULL,
    "DROP TABLE derived; DROP TABLE mark",
    "DROP TABLE device",
    "DROP VIEW op_work; DROP TABLE task; DROP TABLE work; DROP TABLE foreign_memory",
    "DROP VIEW call_stack; DROP TABLE frame; DROP TABLE event_stack",
};

static void a_trace_of_any_version_has_the_same_events_and_tensors(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];
    char old[4096];
    struct vs_event *events;
    size_t count;

    trace_path(state, "new.db", path, sizeof(path));
    small_trace_write(path);
    events = events_read(path, &count);
    for (int version = 5; version >= 1; version--) {
        struct sto_db db;
        struct vs_event *got;
        size_t got_count;
        char sql[64];

        trace_path(state, "older.db", old, sizeof(old));
        remove(old);
        small_trace_write(old);
        old_trace_make(old);
        if (sto_db_open(&db, old, true, &err))
            fail_msg("%s", err.text);
        for (int v = 5; v > version; v--)
            if (sto_db_exec(&db, added[v], &err))
                fail_msg("%s", err.text);
        snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", version);
        if (sto_db_exec(&db, sql, &err))
            fail_msg("%s", err.text);
        sto_db_close(&db);
        got = events_read(old, &got_count);
        assert_int_equal(got_count, count);
        assert_memory_equal(got, events, count * sizeof(*got));
        vs_free(got);
        tensors_compare(old, path);
        if (sto_db_open(&db, old, false, &err))
            fail_msg("%s", err.text);
        assert_int_equal(number_of(&db, "PRAGMA user_version"), sto_migrate_current());
        /* its views still need nothing but SQLite */
        assert_int_equal(number_of(&db, "SELECT count(*) FROM event"), count);
        sto_db_close(&db);
    }
    vs_free(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(migration_steps_are_applied_in_order),
        cmocka_unit_test(a_failed_migration_step_keeps_the_previous_version),
        cmocka_unit_test(a_current_trace_is_not_migrated),
        cmocka_unit_test(a_trace_of_any_version_has_the_same_events_and_tensors),
    };

    return cmocka_run_group_tests_name("store/migrate", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
