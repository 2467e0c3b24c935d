/*
 * store/schema.h - the tables of a trace.
 *
 * For:            store/migrate.c (creates them), tests (check that every column has a comment).
 * Must not know:  how rows are written or read.
 * Invariant:      every column has a comment that is kept in the file: `.schema` in the sqlite3 shell shows it.
 */
#ifndef STO_SCHEMA_H
#define STO_SCHEMA_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/db_internal.h"

/* SQLite's application_id, "VRAM" as a big-endian number, by which file(1) and this program recognise a trace. */
#define STO_APPLICATION_ID 0x5652414d
/* "VRSW": the results of a sweep (store/sweep/results.h) */
#define STO_SWEEP_APPLICATION_ID 0x56525357

/* Create all tables and views in an empty database, and fill the tables of names. Call inside a transaction. */
VS_MUST_USE enum vs_status sto_schema_create(const struct sto_db *db, struct vs_error *err);

/* Version 2: tables for derived data and marks. Call inside a transaction. */
VS_MUST_USE enum vs_status sto_schema_beside(const struct sto_db *db, struct vs_error *err);

/* Version 3: traces of several devices. Call inside a transaction. */
VS_MUST_USE enum vs_status sto_schema_devices(const struct sto_db *db, struct vs_error *err);

/*
 * Version 4: work of a GPU for each op, and device memory that was not allocated through the caching allocator. Call
 * inside a transaction.
 */
VS_MUST_USE enum vs_status sto_schema_work(const struct sto_db *db, struct vs_error *err);

/* Version 5: call stacks of events. Call inside a transaction. */
VS_MUST_USE enum vs_status sto_schema_stacks(const struct sto_db *db, struct vs_error *err);

/* Version 6: events as chunks (store/codec/), for those that come. Call inside a transaction. */
VS_MUST_USE enum vs_status sto_schema_chunks(const struct sto_db *db, struct vs_error *err);

#endif
