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
 * Make an empty trace at `path`: beside it under another name first, then renamed. It is of the version before today's: a reader would bring it up to
 * date, as any other.
 *
 * is_forced  replace a file that is there. Without it, VS_E_EXISTS.
 * VS_E_IO: the folder is missing, full, not writable, or `path` is no regular file. Nothing is left behind on failure.
 */
VS_MUST_USE enum vs_status sto_create(const char *path, bool is_forced, struct vs_error *err);

/*
 * Bring the new trace up to date: to be called in the first transaction on it, of a connection that will not use the views. They are put into
 * sqlite_schema as the rows they are: to have SQLite read their 20 KB of text, here and in opening a file that has them, took a third of what a small
 * trace costs.
 */
VS_MUST_USE enum vs_status sto_create_views(const struct sto_db *db, struct vs_error *err);

#endif
