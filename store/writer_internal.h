/*
 * store/writer_internal.h - the connection of a writer, for other files of store/ that write rows.
 *
 * For:            store/work.c, store/writer_locations.c.
 * Must not know:  events.
 * Invariant:      a user of the connection keeps the writer's transaction open, and reports its failures to the writer.
 */
#ifndef STO_WRITER_INTERNAL_H
#define STO_WRITER_INTERNAL_H

#include "store/db_internal.h"
#include "store/writer.h"

/* Borrowed. */
const struct sto_db *sto_writer_db(const struct sto_writer *w);
/* Return the writer's first failure in *err; VS_OK if there was none. */
enum vs_status sto_writer_failure(const struct sto_writer *w, struct vs_error *err);
/* Record a failure as the writer's, if it is the first one. Returns st. */
enum vs_status sto_writer_keep(struct sto_writer *w, enum vs_status st, struct vs_error *err);

#endif
