/*
 * store/writer_internal.h - the connection of a writer, for the other files of store/ that write beside the events.
 *
 * For:            store/work.c, store/writer_places.c.
 * Must not know:  events.
 * Invariant:      the transaction that the writer has open stays open; a failure is the writer's.
 */
#ifndef STO_WRITER_INTERNAL_H
#define STO_WRITER_INTERNAL_H

#include "store/db_internal.h"
#include "store/writer.h"

/* Borrowed. */
const struct sto_db *sto_writer_db(const struct sto_writer *w);
/* The writer's first failure, told again; VS_OK: there was none. */
enum vs_status sto_writer_failure(const struct sto_writer *w, struct vs_error *err);
/* Keeps a failure as the writer's, where it is its first; returns st. */
enum vs_status sto_writer_keep(struct sto_writer *w, enum vs_status st, struct vs_error *err);

#endif
