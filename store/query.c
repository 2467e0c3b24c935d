/*
 * store/query.c - see query.h.
 *
 * Must not know:  the meaning of the statement.
 * Invariant:      the connection is read-only, except its temporary schema.
 *
 * The views of a trace are made of the table `cell` (store/cell.c). In traces of versions 1 to 5 it is a view, which
 * decodes events in SQL: it is replaced here, as the table is faster.
 */
#include "store/query.h"

#include <string.h>

#include "base/mem.h"
#include "store/cell.h"
#include "store/db_internal.h"
#include "store/devices_internal.h"
#include "store/reader.h"
#include "store/view.h"

/* Put the table and temporary views in front of the views of the file. */
static enum vs_status views_replace(const struct sto_db *db, struct vs_error *err)
{
    char *views = sto_view_sql(true);
    enum vs_status st;

    if (sto_cell_register(db->handle))
        st = sto_db_fail(db, err);
    else
        st = sto_db_exec(db,
                         "PRAGMA temp_store = MEMORY; "
                         "CREATE VIRTUAL TABLE temp.cell USING cell",
                         err);
    if (!st)
        st = sto_db_exec(db, views, err);
    sqlite3_free(views);
    return st;
}

/* ---- statements ---- */

/* Prepare the single statement of `sql`, which must be read-only. */
static enum vs_status statement_get(const struct sto_db *db, const char *sql, sqlite3_stmt **out,
                                    struct vs_error *err)
{
    const char *rest = NULL;

    if (sqlite3_prepare_v2(db->handle, sql, -1, out, &rest) != SQLITE_OK)
        return vs_fail(err, VS_E_USAGE, "sql: %s", sqlite3_errmsg(db->handle));
    if (!*out)
        return vs_fail(err, VS_E_USAGE,
                       "sql: the text has no statement; try \"select * from meta\"");
    if (rest[strspn(rest, " \t\r\n;")])
        return vs_fail(err, VS_E_USAGE, "sql: give one statement at a time");
    if (!sqlite3_stmt_readonly(*out))
        return vs_fail(err, VS_E_USAGE, "sql: a trace can only be read; give a select statement");
    return VS_OK;
}

static struct sto_value value_get(sqlite3_stmt *stmt, int column)
{
    static const enum sto_value_kind KINDS[] = {
        [SQLITE_INTEGER] = STO_VALUE_INTEGER, [SQLITE_FLOAT] = STO_VALUE_REAL,
        [SQLITE_TEXT] = STO_VALUE_TEXT,       [SQLITE_BLOB] = STO_VALUE_BLOB,
        [SQLITE_NULL] = STO_VALUE_NULL,
    };
    struct sto_value value = {.kind = KINDS[sqlite3_column_type(stmt, column)], .text = ""};

    if (value.kind == STO_VALUE_INTEGER)
        value.integer = sqlite3_column_int64(stmt, column);
    if (value.kind == STO_VALUE_REAL)
        value.real = sqlite3_column_double(stmt, column);
    if (value.kind == STO_VALUE_BLOB)
        value.text = sqlite3_column_blob(stmt, column);
    else if (value.kind != STO_VALUE_NULL)
        value.text = (const char *)sqlite3_column_text(stmt, column);
    if (!value.text)
        value.text = "";
    value.len = (size_t)sqlite3_column_bytes(stmt, column);
    return value;
}

/* Instructions of SQLite's machine between two calls of goes_on: about a millisecond. */
#define STEPS_BETWEEN 20000

static bool goes_on(const struct sto_query_sink *sink)
{
    return !sink->goes_on || sink->goes_on(sink->user);
}

/* SQLite's progress handler: not 0 stops the statement. */
static int on_progress(void *user)
{
    return !goes_on(user);
}

static enum vs_status rows_give(const struct sto_db *db, sqlite3_stmt *stmt,
                                const struct sto_query_sink *sink, struct vs_error *err)
{
    size_t count = (size_t)sqlite3_column_count(stmt);
    const char **names = vs_calloc(count + 1, sizeof(*names));
    struct sto_value *values = vs_calloc(count + 1, sizeof(*values));
    enum vs_status st = VS_OK;
    bool has_row = true;

    for (size_t i = 0; i < count; i++)
        names[i] = sqlite3_column_name(stmt, (int)i);
    sink->columns(sink->user, count, names);
    while (!st) {
        st = goes_on(sink) ? sto_db_row(db, stmt, &has_row, err)
                           : vs_fail(err, VS_E_STOPPED, "sql: stopped");
        if (st && sqlite3_errcode(db->handle) == SQLITE_INTERRUPT)
            st = vs_fail(err, VS_E_STOPPED, "sql: stopped");
        if (st || !has_row)
            break;
        for (size_t i = 0; i < count; i++)
            values[i] = value_get(stmt, (int)i);
        sink->row(sink->user, count, values);
    }
    vs_free(names);
    vs_free(values);
    return st;
}

enum vs_status sto_query(const char *path, const char *sql, const struct sto_query_sink *sink,
                         struct vs_error *err)
{
    struct sto_reader *reader = NULL;
    struct sto_db db = {NULL, NULL};
    sqlite3_stmt *stmt = NULL;
    char *file = NULL;
    enum vs_status st;

    /* the reader reports what is wrong with a file, and upgrades an old one */
    st = sto_reader_open(path, &reader, err);
    if (st)
        return st;
    (void)sto_devices_split(path, &file); /* the tables contain the events of all devices */
    st = sto_db_open(&db, file, false, err);
    if (!st)
        st = views_replace(&db, err);
    if (!st)
        st = sto_db_exec(&db, "PRAGMA query_only = 1", err);
    if (!st)
        st = statement_get(&db, sql, &stmt, err);
    if (!st)
        sqlite3_progress_handler(db.handle, STEPS_BETWEEN, on_progress, (void *)(uintptr_t)sink);
    if (!st)
        st = rows_give(&db, stmt, sink, err);
    sqlite3_finalize(stmt);
    sto_db_close(&db);
    sto_reader_close(reader);
    vs_free(file);
    return st;
}

const char *sto_sqlite_version(void)
{
    return sqlite3_libversion();
}
