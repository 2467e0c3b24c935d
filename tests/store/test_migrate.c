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

#include "store/migrate.h"
#include "store/schema.h"
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
    assert_true(number_of(&db, "SELECT count(*) FROM event") > 100);
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
    assert_true(number_of(&db, "SELECT count(*) FROM event") > 100);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(migration_steps_are_applied_in_order),
        cmocka_unit_test(a_failed_migration_step_keeps_the_previous_version),
        cmocka_unit_test(a_current_trace_is_not_migrated),
    };

    return cmocka_run_group_tests_name("store/migrate", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
