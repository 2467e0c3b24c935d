/*
 * store/db_internal.h - SQLite's calls with our errors.
 *
 * For:            the other files of store/ alone.
 * Must not know:  what the tables hold.
 * Invariant:      a failure names the file, and says in plain words what happened and what to do.
 */
#ifndef STO_DB_INTERNAL_H
#define STO_DB_INTERNAL_H

#include <stdbool.h>

#include <sqlite3.h>

#include "base/attr.h"
#include "base/error.h"

/* A connection and the path it stands for in messages. The path is borrowed. */
struct sto_db {
    sqlite3 *handle;
    const char *path;
};

/*
 * Open the file (which exists) for reading, or for writing as well. A lock of another program is waited for.
 * On failure nothing is left open.
 */
VS_MUST_USE enum vs_status sto_db_open(struct sto_db *db, const char *path, bool is_writable,
                                       struct vs_error *err);
/* Close; safe on a zeroed struct. All statements are finalized by then. */
void sto_db_close(struct sto_db *db);

/* Turn the connection's last failure into an error. Never returns VS_OK. */
enum vs_status sto_db_fail(const struct sto_db *db, struct vs_error *err);

/*
 * Is the file as long as its header says? SQLite itself only looks at whole pages, and only at those it needs.
 * To be called inside a transaction that has read something. VS_E_DAMAGED: it is cut off.
 */
VS_MUST_USE enum vs_status sto_db_length_check(const struct sto_db *db, struct vs_error *err);

/* Run statements that give no rows, or whose rows do not matter. */
VS_MUST_USE enum vs_status sto_db_exec(const struct sto_db *db, const char *sql,
                                       struct vs_error *err);

/* Prepare one statement that is used often. */
VS_MUST_USE enum vs_status sto_db_prepare(const struct sto_db *db, const char *sql,
                                          sqlite3_stmt **out, struct vs_error *err);

/* Run a statement whose parameters are bound, up to its end, and make it ready for the next run. */
VS_MUST_USE enum vs_status sto_db_run(const struct sto_db *db, sqlite3_stmt *stmt,
                                      struct vs_error *err);

/* Take the next row: *has_row tells whether there is one. At the end and on failure the statement is reset. */
VS_MUST_USE enum vs_status sto_db_row(const struct sto_db *db, sqlite3_stmt *stmt, bool *has_row,
                                      struct vs_error *err);

/* The one number that `sql` gives, for pragmas and counts. */
VS_MUST_USE enum vs_status sto_db_number(const struct sto_db *db, const char *sql,
                                         sqlite3_int64 *out, struct vs_error *err);

#endif
