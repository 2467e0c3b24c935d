/*
 * tests/e2e/test_sql_extension.c - the extension of SQLite gives another program the events of a trace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/e2e/program.h"

/* A connection that has loaded the library beside the program. */
static sqlite3 *open_loaded(const char *path)
{
    const char *program = getenv("VRAMSCOPE");
    const char *slash;
    char library[4096];
    char *why = NULL;
    sqlite3 *db;

    program = program ? program : "build/vramscope";
    slash = strrchr(program, '/');
    assert_non_null(slash);
    snprintf(library, sizeof(library), "%.*s/vramscope_sqlite.so", (int)(slash - program), program);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    if (sqlite3_load_extension(db, library, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", library, why);
    return db;
}

static void statement_run(sqlite3 *db, const char *sql)
{
    char *why = NULL;

    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
}

/* The rows of a query, columns with bars between, as `vramscope sql` prints them. */
static char *rows_of(sqlite3 *db, const char *sql)
{
    sqlite3_str *out = sqlite3_str_new(db);
    sqlite3_stmt *stmt;
    int rc;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const char *text = (const char *)sqlite3_column_text(stmt, i);

            sqlite3_str_appendf(out, "%s%s", i ? "|" : "", text ? text : "");
        }
        sqlite3_str_appendchar(out, 1, '\n');
    }
    if (rc != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_finalize(stmt);
    return sqlite3_str_finish(out);
}

static void refused(sqlite3 *db, const char *sql, const char *part)
{
    char *why = NULL;

    assert_int_not_equal(sqlite3_exec(db, sql, NULL, NULL, &why), SQLITE_OK);
    if (!why || !strstr(why, part))
        fail_msg("%s: %s", sql, why);
    sqlite3_free(why);
}

static void queries_give_what_the_program_gives(void **state)
{
    static const char *const SQL[] = {
        "select * from event order by seq",
        "select * from block order by id",
        "select * from tensor order by id",
        "select kind, count(*), sum(size) from event group by kind order by kind",
        "select seq, time_ns, a, b, c, d, e, aux from event_number where seq in (1, 2000, 9000)",
    };
    const char *trace = program_record("sample_nets/lenet.py", "loaded.db", "--steps", "8");
    sqlite3 *db = open_loaded(trace);

    (void)state;
    /* programs that do not trust a file use this */
    statement_run(db, "pragma trusted_schema = off");
    for (size_t i = 0; i < sizeof(SQL) / sizeof(SQL[0]); i++) {
        struct program p = program_run("sql", trace, SQL[i], NULL);
        char *rows = rows_of(db, SQL[i]);
        const char *first = strchr(p.out, '\n'); /* behind the names of the columns */

        assert_int_equal(p.status, 0);
        assert_non_null(first);
        assert_true(strlen(rows) > 20);
        if (strcmp(rows, first + 1) != 0)
            fail_msg("%s gives\n%.1000s\ninstead of\n%.1000s", SQL[i], rows, first + 1);
        sqlite3_free(rows);
        program_release(&p);
    }
    sqlite3_close(db);
}

static void events_can_be_copied_to_other_tables(void **state)
{
    const char *trace = program_record("sample_nets/lenet.py", "copied.db", NULL, NULL);
    sqlite3 *db = open_loaded(trace);
    char *rows;

    (void)state;
    statement_run(db, "create temp table mine as select * from event");
    statement_run(db, "begin; create temp table again as select * from event; commit");
    rows = rows_of(db, "select (select count(*) from mine) = (select sum(count) from event_block "
                       "where kind <> 63), (select count(*) from mine) = (select count(*) from "
                       "again)");
    assert_string_equal(rows, "1|1\n");
    sqlite3_free(rows);
    sqlite3_close(db);
}

static void one_trace_is_read_at_a_time(void **state)
{
    const char *trace = program_record("sample_nets/lenet.py", "one.db", NULL, NULL);
    const char *other = program_record("sample_nets/lenet.py", "other.db", "--batch", "4");
    sqlite3 *db = open_loaded(trace);
    char sql[4200];
    char *rows;

    (void)state;
    snprintf(sql, sizeof(sql), "attach '%s' as other", other);
    statement_run(db, sql);
    refused(db, "select count(*) from other.event", "one trace");
    refused(db, "select count(*) from event", "one trace");
    statement_run(db, "detach other");
    /* what is no trace does not matter */
    statement_run(db, "attach ':memory:' as notes; create table notes.note (seq, text)");
    rows = rows_of(db, "select count(*) > 100 from event");
    assert_string_equal(rows, "1\n");
    sqlite3_free(rows);
    sqlite3_close(db);
}

static void what_is_no_trace_is_refused(void **state)
{
    sqlite3 *db = open_loaded(":memory:");

    (void)state;
    refused(db, "select * from cell", "event_block");
    sqlite3_close(db);
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_give_what_the_program_gives),
        cmocka_unit_test(events_can_be_copied_to_other_tables),
        cmocka_unit_test(one_trace_is_read_at_a_time),
        cmocka_unit_test(what_is_no_trace_is_refused),
    };

    return cmocka_run_group_tests_name("e2e/sql_extension", tests, NULL, cleanup);
}
