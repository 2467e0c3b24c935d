/*
 * store/create.h - an empty trace at a path, whole from its first moment.
 *
 * For:            store/writer.c.
 * Must not know:  rows.
 * Invariant:      the path holds either what was there before or a valid trace, at every moment.
 */
#ifndef STO_CREATE_H
#define STO_CREATE_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/db_internal.h"

/*
 * Make an empty trace at `path`: beside it under another name first, then renamed. Its views are missing still.
 *
 * is_forced  replace a file that is there. Without it, VS_E_EXISTS.
 * VS_E_IO: the folder is missing, full, not writable, or `path` is no regular file. Nothing is left behind on failure.
 */
VS_MUST_USE enum vs_status sto_create(const char *path, bool is_forced, struct vs_error *err);

/*
 * Put the views in, inside a transaction for writing; nothing happens where they are. Whoever writes a new trace does so in the first transaction, on a
 * connection that will not use them: they become rows of sqlite_schema as they are, because having SQLite read their 20 KB of text, here and in opening
 * a file that has them, took a third of what a small trace costs.
 */
VS_MUST_USE enum vs_status sto_create_views(const struct sto_db *db, struct vs_error *err);

/* The same in a transaction of its own, for a trace that was left before its first one. VS_E_FORMAT, VS_E_VERSION: as sto_migrate_version. */
VS_MUST_USE enum vs_status sto_create_finish(const struct sto_db *db, struct vs_error *err);

#endif
