/*
 * store/migrate.h - the version of a trace's format, and how an older file becomes one of today.
 *
 * For:            store/writer.c (a new file is one of version 0 brought up to date), store/reader.c.
 * Must not know:  rows.
 * Invariant:      the file is of one version or of the next, never between: a step is one transaction.
 */
#ifndef STO_MIGRATE_H
#define STO_MIGRATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/db_internal.h"

/* One step: from the version before it, in the table, to `version`. Called inside a transaction. */
struct sto_migrate_step {
    int version;
    enum vs_status (*apply)(const struct sto_db *db, struct vs_error *err);
};

/* A file of the newest version that has no views yet: store/create.h. */
#define STO_MIGRATE_BEGUN 0

/* The version that this program writes. */
int sto_migrate_current(void);

/* Can a file of this version be read without being brought up to date, where it may not be written? */
bool sto_migrate_is_readable(int version);

/* The version of the file. VS_E_FORMAT: no trace. VS_E_VERSION: newer than `newest`; the message names both. */
VS_MUST_USE enum vs_status sto_migrate_version(const struct sto_db *db, int newest, int *version,
                                               struct vs_error *err);

/* Make a trace of the empty database that `db` is. */
VS_MUST_USE enum vs_status sto_migrate_create(const struct sto_db *db, struct vs_error *err);

/* Bring a trace of version 1 or later up to the newest version. Nothing happens where it is. `db` is writable. */
VS_MUST_USE enum vs_status sto_migrate_update(const struct sto_db *db, struct vs_error *err);

/*
 * Apply those of `steps` (ascending versions) that are newer than `from`, each with its version in one transaction.
 * On failure the file stays at the last version reached.
 */
VS_MUST_USE enum vs_status sto_migrate_apply(const struct sto_db *db,
                                             const struct sto_migrate_step *steps, size_t count,
                                             int from, struct vs_error *err);

#endif
