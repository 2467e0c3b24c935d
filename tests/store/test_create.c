/*
 * tests/store/test_create.c - a new trace file has the current schema, even if its recorder was killed at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "store/cell.h"
#include "store/create.h"
#include "store/migrate.h"
#include "store/reader.h"
#include "store/schema.h"
#include "tests/store/trace_file.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static sqlite3_int64 number_of(const struct sto_db *db, const char *sql)
{
    struct vs_error err = VS_ERROR_INIT;
    sqlite3_int64 n = 0;

    ok(sto_db_number(db, sql, &n, &err), &err);
    return n;
}

/* Rows that one of the two has and the other has not. */
static void rows_are_the_same(const struct sto_db *db, const char *table, const char *columns)
{
    char sql[512];

    snprintf(sql, sizeof(sql),
             "WITH made AS (SELECT %s FROM main.%s), found AS (SELECT %s FROM file.%s)"
             " SELECT abs((SELECT count(*) FROM made) - (SELECT count(*) FROM found))"
             " + (SELECT count(*) FROM (SELECT * FROM made EXCEPT SELECT * FROM found))",
             columns, table, columns, table);
    if (number_of(db, sql))
        fail_msg("%s is not what the schema makes", table);
}

/* Compares the file with an in-memory database in which the schema is created statement by statement. */
static void is_what_the_schema_makes(const char *path)
{
    struct sto_db db = {NULL, "memory"};
    struct vs_error err = VS_ERROR_INIT;
    sqlite3_stmt *stmt;
    bool has_row = true;
    int tables = 0;
    char sql[4200];

    assert_int_equal(sqlite3_open(":memory:", &db.handle), SQLITE_OK);
    ok(sto_migrate_create(&db, &err), &err);
    snprintf(sql, sizeof(sql), "ATTACH '%s' AS file", path);
    ok(sto_db_exec(&db, sql, &err), &err);
    assert_int_equal(number_of(&db, "PRAGMA file.application_id"), STO_APPLICATION_ID);
    assert_int_equal(number_of(&db, "PRAGMA file.user_version"), sto_migrate_current());
    rows_are_the_same(&db, "sqlite_schema", "type, name, tbl_name, sql");
    ok(sto_db_prepare(&db, "SELECT name FROM sqlite_schema WHERE type = 'table'", &stmt, &err),
       &err);
    for (;; tables++) {
        ok(sto_db_row(&db, stmt, &has_row, &err), &err);
        if (!has_row)
            break;
        rows_are_the_same(&db, (const char *)sqlite3_column_text(stmt, 0), "*");
    }
    assert_true(tables > 10);
    sqlite3_finalize(stmt);
    sto_db_close(&db);
    ok(sto_db_open(&db, path, false, &err), &err);
    assert_int_equal(sto_cell_register(db.handle), SQLITE_OK);
    ok(sto_db_exec(&db, "SELECT count(*) FROM event; SELECT count(*) FROM block", &err), &err);
    sto_db_close(&db);
}

static void a_new_trace_has_the_current_schema(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_db db;
    char path[4096];

    trace_path(state, "new.db", path, sizeof(path));
    ok(sto_create(path, false, &err), &err);
    ok(sto_db_open(&db, path, true, &err), &err);
    ok(sto_db_exec(&db, "BEGIN IMMEDIATE", &err), &err);
    ok(sto_create_views(&db, &err), &err);
    ok(sto_db_exec(&db, "COMMIT", &err), &err);
    sto_db_close(&db);
    is_what_the_schema_makes(path);
}

/* The first transaction is missing: the first reader that opens the file creates the views, and no other does. */
static void a_trace_without_a_first_commit_gets_its_views_when_opened(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *reader;
    struct sto_db db;
    char path[4096];

    trace_path(state, "left.db", path, sizeof(path));
    ok(sto_create(path, false, &err), &err);
    ok(sto_db_open(&db, path, true, &err), &err);
    assert_int_equal(number_of(&db, "SELECT count(*) FROM sqlite_schema WHERE type = 'view'"), 0);
    ok(sto_reader_open(path, &reader, &err), &err);
    sto_reader_close(reader);
    ok(sto_create_finish(&db, &err), &err);
    sto_db_close(&db);
    is_what_the_schema_makes(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_trace_has_the_current_schema),
        cmocka_unit_test(a_trace_without_a_first_commit_gets_its_views_when_opened),
    };

    return cmocka_run_group_tests_name("store/create", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
