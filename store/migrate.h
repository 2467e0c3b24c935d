/*
 * store/migrate.h - versions of the trace format, and upgrades of older files.
 *
 * For:            store/writer.c (a new file starts as version 0), store/reader.c.
 * Must not know:  rows.
 * Invariant:      a file always has exactly one version: each upgrade step is one transaction.
 */
#ifndef STO_MIGRATE_H
#define STO_MIGRATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/db_internal.h"

/* One upgrade step: from the version before it in the table to `version`. Called inside a transaction. */
struct sto_migrate_step {
    int version;
    enum vs_status (*apply)(const struct sto_db *db, struct vs_error *err);
};

/* Version number of a file of the newest version whose views are still missing: see store/create.h. */
#define STO_MIGRATE_BEGUN 0

/* The version that this program writes. */
int sto_migrate_current(void);

/* Whether a file of this version can be read without an upgrade, for files that cannot be written. */
bool sto_migrate_is_readable(int version);

/*
 * Read the version of the file. VS_E_FORMAT: not a trace. VS_E_VERSION: newer than `newest`; the message names both
 * versions.
 */
VS_MUST_USE enum vs_status sto_migrate_version(const struct sto_db *db, int newest, int *version,
                                               struct vs_error *err);

/* Create the tables of a trace in the empty database `db`. */
VS_MUST_USE enum vs_status sto_migrate_create(const struct sto_db *db, struct vs_error *err);

/* Upgrade a trace of version 1 or later to the newest version, if it is older. `db` must be writable. */
VS_MUST_USE enum vs_status sto_migrate_update(const struct sto_db *db, struct vs_error *err);

/*
 * Apply those of `steps` (ascending versions) that are newer than `from`, each in one transaction together with its
 * version number. On failure the file has the version of the last step that succeeded.
 */
VS_MUST_USE enum vs_status sto_migrate_apply(const struct sto_db *db,
                                             const struct sto_migrate_step *steps, size_t count,
                                             int from, struct vs_error *err);

#endif
