/*
 * store/create.h - creates an empty trace file.
 *
 * For:            store/writer.c.
 * Must not know:  rows.
 * Invariant:      at any time the path holds either its previous contents or a valid trace.
 */
#ifndef STO_CREATE_H
#define STO_CREATE_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/db_internal.h"

/*
 * Create an empty trace at `path`: as a temporary file in the same folder, which is then renamed. The views are still
 * missing.
 *
 * is_forced  replace an existing file; without it, an existing file is VS_E_EXISTS
 * VS_E_IO: the folder is missing, full or not writable, or `path` is not a regular file. No file is left behind on
 * failure.
 */
VS_MUST_USE enum vs_status sto_create(const char *path, bool is_forced, struct vs_error *err);

/*
 * Create the views inside a write transaction, unless they exist. The writer of a new trace calls it in its first
 * transaction, on a connection that does not use the views: they are inserted into sqlite_schema as rows. Making SQLite
 * parse their 20 KB of SQL here, and on opening a file that has them, took a third of the time of recording a small
 * trace.
 */
VS_MUST_USE enum vs_status sto_create_views(const struct sto_db *db, struct vs_error *err);

/*
 * The same in a transaction of its own, for a trace whose recorder ended before its first transaction. VS_E_FORMAT,
 * VS_E_VERSION: see sto_migrate_version().
 */
VS_MUST_USE enum vs_status sto_create_finish(const struct sto_db *db, struct vs_error *err);

#endif
