/*
 * store/schema.h - the tables of a trace.
 *
 * For:            store/migrate.c (creates them), tests (check that every column says what it is).
 * Must not know:  how rows are written or read.
 * Invariant:      every column has a comment that stays in the file: `.schema` in the sqlite3 shell shows it.
 */
#ifndef STO_SCHEMA_H
#define STO_SCHEMA_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/db_internal.h"

/* "VRAM" as a big-endian number: SQLite's application_id, by which file(1) and we know a trace. */
#define STO_APPLICATION_ID 0x5652414d

/* Create all tables and views in an empty database, and fill those that hold names. The caller has a transaction. */
VS_MUST_USE enum vs_status sto_schema_create(const struct sto_db *db, struct vs_error *err);

/* Create the tables that stand beside the events: what is derived from them, and marks. The caller has a transaction. */
VS_MUST_USE enum vs_status sto_schema_beside(const struct sto_db *db, struct vs_error *err);

/* Version 3: traces of several devices. */
VS_MUST_USE enum vs_status sto_schema_devices(const struct sto_db *db, struct vs_error *err);

/* Version 4: what a GPU did for each op, and memory taken behind the allocator's back. The caller has a transaction. */
VS_MUST_USE enum vs_status sto_schema_work(const struct sto_db *db, struct vs_error *err);

/* Version 5: call stacks of events. The caller has a transaction. */
VS_MUST_USE enum vs_status sto_schema_stacks(const struct sto_db *db, struct vs_error *err);

#endif
