/*
 * store/db_internal.h - calls of SQLite, with errors as struct vs_error.
 *
 * For:            the other files of store/.
 * Must not know:  the contents of tables.
 * Invariant:      an error message names the file, what happened and what the user can do.
 */
#ifndef STO_DB_INTERNAL_H
#define STO_DB_INTERNAL_H

#include <stdbool.h>

#include <sqlite3.h>

#include "base/attr.h"
#include "base/error.h"

/* A connection, and the path that messages name. The path is borrowed. */
struct sto_db {
    sqlite3 *handle;
    const char *path;
};

/*
 * Open an existing file for reading, or for reading and writing. Waits for locks of other programs. On failure nothing
 * remains open.
 */
VS_MUST_USE enum vs_status sto_db_open(struct sto_db *db, const char *path, bool is_writable,
                                       struct vs_error *err);
/* Close the connection; accepts a zeroed struct. All statements must have been finalized. */
void sto_db_close(struct sto_db *db);

/*
 * Undo a commit of the file that was left incomplete, as the next reader that may write would. Nothing happens where
 * there is none, or where that fails, too.
 */
void sto_db_undo(const char *path);

/* Convert the connection's last failure to an error. Never returns VS_OK. */
enum vs_status sto_db_fail(const struct sto_db *db, struct vs_error *err);

/*
 * Compare the length of the file with the length that its header states; SQLite checks only the pages it reads. Call it
 * inside a transaction that has read something. VS_E_DAMAGED: the file is cut off.
 */
VS_MUST_USE enum vs_status sto_db_length_check(const struct sto_db *db, struct vs_error *err);

/* Run statements, ignoring any rows. */
VS_MUST_USE enum vs_status sto_db_exec(const struct sto_db *db, const char *sql,
                                       struct vs_error *err);

/* Prepare a statement that is used often. The caller finalizes it. */
VS_MUST_USE enum vs_status sto_db_prepare(const struct sto_db *db, const char *sql,
                                          sqlite3_stmt **out, struct vs_error *err);

/* Run a statement whose parameters are bound to its end, and reset it. */
VS_MUST_USE enum vs_status sto_db_run(const struct sto_db *db, sqlite3_stmt *stmt,
                                      struct vs_error *err);

/* Step to the next row; *has_row is false at the end. The statement is reset at the end and on failure. */
VS_MUST_USE enum vs_status sto_db_row(const struct sto_db *db, sqlite3_stmt *stmt, bool *has_row,
                                      struct vs_error *err);

/* Run a statement that returns one number: a pragma or a count. */
VS_MUST_USE enum vs_status sto_db_number(const struct sto_db *db, const char *sql,
                                         sqlite3_int64 *out, struct vs_error *err);

/* *out: whether the file has the table `name`. */
VS_MUST_USE enum vs_status sto_db_table_find(const struct sto_db *db, const char *name, bool *out,
                                             struct vs_error *err);

#endif
