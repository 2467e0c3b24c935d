/*
 * tests/store/test_format_page.c - docs/formats/trace-format.md compared with the file format. Runs in the root of the
 * repository, as `make test` does.
 *
 * Runs in the root of the repository, as `make test` does.
 */
#include <ctype.h>
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
#include "store/migrate.h"
#include "store/schema.h"
#include "tests/store/small_trace.h"
#include "tests/store/trace_file.h"

#define PAGE "docs/formats/trace-format.md"

static char *page_read(void)
{
    FILE *file = fopen(PAGE, "rb");
    char *text = vs_alloc(1 << 20);
    size_t len;

    if (!file)
        fail_msg("%s cannot be opened: run the tests in the root of the repository", PAGE);
    len = fread(text, 1, (1 << 20) - 1, file);
    text[len] = '\0';
    fclose(file);
    return text;
}

static sqlite3 *small_trace_open(void **state)
{
    char path[4096];
    sqlite3 *db;

    trace_path(state, "small.db", path, sizeof(path));
    remove(path);
    small_trace_gpu_write(path);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sto_cell_register(db), SQLITE_OK);
    return db;
}

/* What the sqlite3 shell prints: columns with bars between them. */
static char *answer_of(sqlite3 *db, const char *sql)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_stmt *stmt;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sqlite3_errmsg(db), sql);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const char *text = (const char *)sqlite3_column_text(stmt, i);

            sqlite3_str_appendf(out, "%s%s", i ? "|" : "", text ? text : "");
        }
        sqlite3_str_appendchar(out, 1, '\n');
    }
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    sqlite3_str_appendchar(out, 1, '\0');
    return sqlite3_str_finish(out);
}

/*
 * The text of the next fenced block of `language` from *at on, terminated in place; *at is moved behind it. NULL at
 * the end.
 */
static char *fence_next(char **at, const char *language)
{
    char mark[16];
    char *start;
    char *end;

    snprintf(mark, sizeof(mark), "```%s\n", language);
    start = strstr(*at, mark);
    if (!start)
        return NULL;
    start += strlen(mark);
    end = strstr(start, "```");
    assert_non_null(end);
    *end = '\0';
    *at = end + 1;
    return start;
}

static void the_queries_on_the_page_give_the_results_on_the_page(void **state)
{
    sqlite3 *db = small_trace_open(state);
    char *page = page_read();
    char *at = page;
    const char *sql;
    int count = 0;

    while ((sql = fence_next(&at, "sql"))) {
        const char *wanted = fence_next(&at, "text");
        char *got = answer_of(db, sql);

        assert_non_null(wanted);
        if (strcmp(got, wanted) != 0)
            fail_msg("query:\n%sgives:\n%sthe page says:\n%s", sql, got, wanted);
        sqlite3_free(got);
        count++;
    }
    assert_true(count >= 10);
    vs_free(page);
    sqlite3_close(db);
}

static bool page_names(const char *page, const char *word)
{
    char quoted[128];

    snprintf(quoted, sizeof(quoted), "`%s`", word);
    return strstr(page, quoted) != NULL;
}

static void the_page_names_every_table_view_and_column(void **state)
{
    sqlite3 *db = small_trace_open(state);
    char *page = page_read();
    sqlite3_stmt *stmt;
    int count = 0;

    assert_int_equal(sqlite3_prepare_v2(
                         db,
                         "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c "
                         "WHERE s.type IN ('table', 'view') AND s.name <> 'cell'",
                         -1, &stmt, NULL),
                     SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(stmt, 0);
        const char *column = (const char *)sqlite3_column_text(stmt, 1);

        if (!page_names(page, table) || !page_names(page, column))
            fail_msg("%s does not name %s.%s", PAGE, table, column);
        count++;
    }
    assert_true(count > 100);
    sqlite3_finalize(stmt);
    vs_free(page);
    sqlite3_close(db);
}

/* In the text of a CREATE TABLE, every line that defines a column carries a comment. */
static void every_column_has_a_comment_in_the_file(void **state)
{
    sqlite3 *db = small_trace_open(state);
    sqlite3_stmt *stmt;
    int count = 0;

    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "SELECT s.name, s.sql, (SELECT count(*) FROM pragma_table_info(s.name)) "
                           "FROM sqlite_schema s WHERE s.type = 'table'",
                           -1, &stmt, NULL),
        SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *line = strchr((const char *)sqlite3_column_text(stmt, 1), '\n');
        int columns = 0;

        for (; line && strncmp(line, "\n)", 2) != 0; line = strchr(line + 1, '\n')) {
            const char *comment = strstr(line, "-- ");
            const char *end = strchr(line + 1, '\n');

            if (!comment || !end || comment > end || end - comment < 6)
                fail_msg("a column of %s has no comment: %s", sqlite3_column_text(stmt, 0),
                         line + 1);
            columns++;
        }
        assert_int_equal(columns, sqlite3_column_int(stmt, 2));
        count += columns;
    }
    assert_true(count > 50);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

static void the_page_states_the_identification_numbers_of_the_file(void **state)
{
    char *page = page_read();
    char text[64];

    (void)state;
    snprintf(text, sizeof(text), "`PRAGMA application_id`: %d,", STO_APPLICATION_ID);
    assert_non_null(strstr(page, text));
    snprintf(text, sizeof(text), "`PRAGMA user_version`: %d,", sto_migrate_current());
    assert_non_null(strstr(page, text));
    vs_free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_queries_on_the_page_give_the_results_on_the_page),
        cmocka_unit_test(the_page_names_every_table_view_and_column),
        cmocka_unit_test(every_column_has_a_comment_in_the_file),
        cmocka_unit_test(the_page_states_the_identification_numbers_of_the_file),
    };

    return cmocka_run_group_tests_name("store/format_page", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
