/*
 * store/marks.c - see marks.h.
 *
 * Must not know:  keys of a terminal.
 * Invariant:      a change is one transaction of a connection of its own.
 */
#include "store/marks.h"

#include "store/db_internal.h"
#include "store/reader_internal.h"

enum vs_status sto_marks_each(struct sto_reader *r, sto_mark_fn *each, void *user,
                              struct vs_error *err)
{
    const struct sto_db *db = sto_reader_db(r);
    sqlite3_stmt *stmt = NULL;
    sqlite3_int64 exists = 0;
    bool has_row = true;
    enum vs_status st;

    st = sto_db_number(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'mark'", &exists, err);
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
        return vs_fail(err, VS_E_STOPPED, "%s: it is being written by someone else", path);
    return sto_db_fail(db, err);
}

static enum vs_status run(const struct sto_db *db, const char *sql, const char *path,
                          struct vs_error *err)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? VS_OK
                                                                        : fail(db, path, err);
}

/* In the transaction that is open. */
static enum vs_status marks_put(const struct sto_db *db, const char *path,
                                const struct sto_mark *marks, size_t count, struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum vs_status st =
        sto_db_prepare(db, "INSERT OR REPLACE INTO mark VALUES (?, ?, ?)", &stmt, err);

    for (size_t i = 0; i < count && !st; i++) {
        sqlite3_bind_text(stmt, 1, marks[i].key, -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, (sqlite3_int64)marks[i].seq);
        sqlite3_bind_text(stmt, 3, marks[i].note, -1, SQLITE_STATIC);
        if (sqlite3_step(stmt) != SQLITE_DONE)
            st = fail(db, path, err);
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
    return st;
}

enum vs_status sto_marks_set(const char *path, const struct sto_mark *marks, size_t count,
                             struct vs_error *err)
{
    struct sto_db db = {0};
    enum vs_status st = sto_db_open(&db, path, true, err);

    if (st)
        return st;
    sqlite3_busy_timeout(db.handle, 0);
    st = run(&db, "BEGIN IMMEDIATE", path, err);
    if (!st)
        st = marks_put(&db, path, marks, count, err);
    if (!st)
        st = run(&db, "COMMIT", path, err);
    sto_db_close(&db); /* which undoes what was not committed */
    return st;
}

enum vs_status sto_mark_set(const char *path, const char *key, uint64_t seq, const char *note,
                            struct vs_error *err)
{
    struct sto_db db = {0};
    sqlite3_stmt *stmt = NULL;
    enum vs_status st;

    if (note)
        return sto_marks_set(path, &(struct sto_mark){key, seq, note}, 1, err);
    st = sto_db_open(&db, path, true, err);
    if (st)
        return st;
    sqlite3_busy_timeout(db.handle, 0);
    st = sto_db_prepare(&db, "DELETE FROM mark WHERE key = ?", &stmt, err);
    if (!st) {
        sqlite3_bind_text(stmt, 1, key, -1, SQLITE_STATIC);
        if (sqlite3_step(stmt) != SQLITE_DONE)
            st = fail(&db, path, err);
    }
    sqlite3_finalize(stmt);
    sto_db_close(&db);
    return st;
}
