/*
 * tests/store/test_work.c - GPU times are written with the events and read back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "store/work.h"
#include "tests/store/small_trace.h"
#include "tests/store/trace_file.h"

#define MOST 64

struct rows {
    struct sto_task tasks[MOST];
    char names[MOST][32];
    size_t task_count;
    struct sto_work work[MOST];
    size_t work_count;
    struct sto_foreign foreign[MOST];
    size_t foreign_count;
};

static void on_task(void *user, const struct sto_task *task)
{
    struct rows *rows = user;

    assert_true(rows->task_count < MOST);
    snprintf(rows->names[rows->task_count], sizeof(rows->names[0]), "%s", task->name);
    rows->tasks[rows->task_count++] = *task;
}

static void on_work(void *user, const struct sto_work *work)
{
    struct rows *rows = user;

    assert_true(rows->work_count < MOST);
    rows->work[rows->work_count++] = *work;
}

static void on_foreign(void *user, const struct sto_foreign *foreign)
{
    struct rows *rows = user;

    assert_true(rows->foreign_count < MOST);
    assert_string_equal(foreign->api, "cuMemAlloc_v2");
    assert_string_equal(foreign->library, "libother.so");
    rows->foreign[rows->foreign_count++] = *foreign;
}

static enum vs_status rows_read(const char *path, struct rows *rows, struct vs_error *err)
{
    struct sto_reader *r = NULL;
    enum vs_status st = sto_reader_open(path, &r, err);

    memset(rows, 0, sizeof(*rows));
    assert_int_equal(st, VS_OK);
    st = sto_reader_tasks(r, on_task, rows, err);
    if (!st)
        st = sto_reader_work(r, on_work, rows, err);
    if (!st)
        st = sto_reader_foreign(r, on_foreign, rows, err);
    sto_reader_close(r);
    return st;
}

static void sql_do(const char *path, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void work_written_in_parts_is_read_as_one(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rows rows;
    char path[4096];

    trace_path(state, "parts.db", path, sizeof(path));
    small_trace_gpu_write(path);
    assert_int_equal(rows_read(path, &rows, &err), VS_OK);
    assert_int_equal(rows.task_count, 2);
    assert_int_equal(rows.tasks[0].kind, STO_TASK_KERNEL);
    assert_string_equal(rows.names[1], "to the device");
    /* the copies of no op come first; then an op a row: forward 4, backward 3, in each of two steps */
    assert_int_equal(rows.work_count, 1 + 2 * 7);
    assert_int_equal(rows.work[0].op_seq, 0);
    assert_int_equal(rows.work[0].bytes, 2048);
    for (size_t i = 1; i < rows.work_count; i++) {
        assert_true(rows.work[i].op_seq > rows.work[i - 1].op_seq);
        assert_int_equal(rows.work[i].task, 1);
        assert_int_equal(rows.work[i].count, 1);
        assert_int_equal(rows.work[i].ns, 1000 + 2 * (i - 1));
    }
    assert_int_equal(rows.foreign_count, 1);
    assert_int_equal(rows.foreign[0].alloc_bytes, 4096);
    assert_int_equal(rows.foreign[0].frees, 1);
}

static void a_trace_without_the_tables_has_no_work(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rows rows;
    char path[4096];

    trace_path(state, "older.db", path, sizeof(path));
    small_trace_gpu_write(path);
    sql_do(path, "DROP VIEW op_work; DROP TABLE work; DROP TABLE task; DROP TABLE foreign_memory; "
                 "PRAGMA user_version = 3");
    assert_int_equal(rows_read(path, &rows, &err), VS_OK);
    assert_int_equal(rows.work_count + rows.task_count + rows.foreign_count, 0);
}

static void a_task_of_an_unknown_kind_is_reported_as_damage(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rows rows;
    char path[4096];

    trace_path(state, "damaged.db", path, sizeof(path));
    small_trace_gpu_write(path);
    sql_do(path, "UPDATE task SET kind = 'tea' WHERE id = 2");
    assert_int_equal(rows_read(path, &rows, &err), VS_E_DAMAGED);
    assert_non_null(strstr(err.text, "tea"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_written_in_parts_is_read_as_one),
        cmocka_unit_test(a_trace_without_the_tables_has_no_work),
        cmocka_unit_test(a_task_of_an_unknown_kind_is_reported_as_damage),
    };

    return cmocka_run_group_tests_name("store/work", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
