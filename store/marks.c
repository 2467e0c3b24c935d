/*
 * store/marks.c - see marks.h.
 *
 * Must not know:  keys of the terminal.
 * Invariant:      each change is one transaction of a separate connection.
 */
#include "store/marks.h"

#include "store/db_internal.h"
#include "store/reader_internal.h"

enum vs_status sto_marks_each(struct sto_reader *r, sto_mark_fn *each, void *user,
                              struct vs_error *err)
{
    const struct sto_db *db = sto_reader_db(r);
    sqlite3_stmt *stmt = NULL;
    bool exists = false;
    bool has_row = true;
    enum vs_status st;

    st = sto_db_table_find(db, "mark", &exists, err);
    if (st || !exists)
        return st;
    st = sto_db_prepare(db, "SELECT key, seq, note FROM mark ORDER BY key", &stmt, err);
    while (!st) {
        st = sto_db_row(db, stmt, &has_row, err);
        if (st || !has_row)
            break;
        each(user, (const char *)sqlite3_column_text(stmt, 0),
             (uint64_t)sqlite3_column_int64(stmt, 1), (const char *)sqlite3_column_text(stmt, 2));
    }
    sqlite3_finalize(stmt);
    return st;
}

static enum vs_status fail(const struct sto_db *db, const char *path, struct vs_error *err)
{
    if ((sqlite3_errcode(db->handle) & 0xff) == SQLITE_BUSY)
        return vs_fail(err, VS_E_STOPPED, "%s: another process is writing it", path);
    return sto_db_fail(db, err);
}

/* One statement, so one transaction. */
enum vs_status sto_mark_set(const char *path, const char *key, uint64_t seq, const char *note,
                            struct vs_error *err)
{
    const char *sql = note ? "INSERT OR REPLACE INTO mark VALUES (?1, ?2, ?3)"
                           : "DELETE FROM mark WHERE key = ?1";
    struct sto_db db = {0};
    sqlite3_stmt *stmt = NULL;
    enum vs_status st = sto_db_open(&db, path, true, err);

    if (st)
        return st;
    sqlite3_busy_timeout(db.handle, 0);
    if (sqlite3_prepare_v2(db.handle, sql, -1, &stmt, NULL) != SQLITE_OK)
        st = fail(&db, path, err);
    if (!st) {
        sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
        if (note) {
            sqlite3_bind_int64(stmt, 2, (sqlite3_int64)seq);
            sqlite3_bind_text(stmt, 3, note, -1, SQLITE_STATIC);
        }
        if (sqlite3_step(stmt) != SQLITE_DONE)
            st = fail(&db, path, err);
    }
    sqlite3_finalize(stmt);
    sto_db_close(&db);
    return st;
}

/* ---- breakpoints ---- */

/* The table is made with the first breakpoint: traces of earlier programs, and those nobody debugged, have none. */
static const char BREAKPOINT_TABLE[] = "CREATE TABLE IF NOT EXISTS breakpoint (\n"
                                       "  number    INTEGER PRIMARY KEY,\n"
                                       "  is_watch  INTEGER NOT NULL,\n"
                                       "  is_on     INTEGER NOT NULL,\n"
                                       "  condition TEXT    NOT NULL\n"
                                       ")";

enum vs_status sto_breakpoints_each(struct sto_reader *r, sto_breakpoint_fn *each, void *user,
                                    struct vs_error *err)
{
    const struct sto_db *db = sto_reader_db(r);
    sqlite3_stmt *stmt = NULL;
    bool exists = false;
    bool has_row = true;
    enum vs_status st = sto_db_table_find(db, "breakpoint", &exists, err);

    if (st || !exists)
        return st;
    st = sto_db_prepare(db, "SELECT is_watch, is_on, condition FROM breakpoint ORDER BY number",
                        &stmt, err);
    while (!st) {
        struct sto_breakpoint row;

        st = sto_db_row(db, stmt, &has_row, err);
        if (st || !has_row)
            break;
        row = (struct sto_breakpoint){.is_watch = sqlite3_column_int(stmt, 0) != 0,
                                      .is_on = sqlite3_column_int(stmt, 1) != 0,
                                      .condition = (const char *)sqlite3_column_text(stmt, 2)};
        if (row.condition)
            each(user, &row);
    }
    sqlite3_finalize(stmt);
    return st;
}

static enum vs_status breakpoints_insert(const struct sto_db *db, const struct sto_breakpoint *all,
                                         size_t count, struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum vs_status st = sto_db_prepare(
        db, "INSERT INTO breakpoint (is_watch, is_on, condition) VALUES (?1, ?2, ?3)", &stmt, err);

    for (size_t i = 0; !st && i < count; i++) {
        sqlite3_bind_int(stmt, 1, all[i].is_watch);
        sqlite3_bind_int(stmt, 2, all[i].is_on);
        sqlite3_bind_text(stmt, 3, all[i].condition, -1, SQLITE_STATIC);
        st = sto_db_run(db, stmt, err);
    }
    sqlite3_finalize(stmt);
    return st;
}

enum vs_status sto_breakpoints_set(const char *path, const struct sto_breakpoint *all, size_t count,
                                   struct vs_error *err)
{
    struct sto_db db = {0};
    enum vs_status st = sto_db_open(&db, path, true, err);

    if (st)
        return st;
    sqlite3_busy_timeout(db.handle, 0);
    if (sqlite3_exec(db.handle, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        st = fail(&db, path, err);
    if (!st)
        st = sto_db_exec(&db, BREAKPOINT_TABLE, err);
    if (!st)
        st = sto_db_exec(&db, "DELETE FROM breakpoint", err);
    if (!st)
        st = breakpoints_insert(&db, all, count, err);
    /* closing the connection undoes a transaction that was not committed */
    if (!st)
        st = sto_db_exec(&db, "COMMIT", err);
    sto_db_close(&db);
    return st;
}
