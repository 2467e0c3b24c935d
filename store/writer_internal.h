/*
 * store/writer_internal.h - the connection of a writer, for other files of store/ that write rows; and what
 * writes the rows of chunks.
 *
 * For:            store/writer.c, store/work.c, store/writer_locations.c.
 * Must not know:  the meaning of events.
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

/* Writes chunks of events and of tensors, each in their order. Borrows the connection. */
struct sto_writer_chunks;

VS_MUST_USE enum vs_status sto_writer_chunks_open(const struct sto_db *db,
                                                  struct sto_writer_chunks **out,
                                                  struct vs_error *err);
void sto_writer_chunks_close(struct sto_writer_chunks *chunks);

/* Finalize the statements of the connection, which may be closed then; prepare them again once it is open. */
void sto_writer_chunks_pause(struct sto_writer_chunks *chunks);
VS_MUST_USE enum vs_status sto_writer_chunks_resume(struct sto_writer_chunks *chunks,
                                                    struct vs_error *err);

/*
 * Write the next chunk of events, whose first is number `first_seq`. is_complete: the next call is for the next chunk;
 * otherwise for this one, with more events, which replaces it. Adds the encoded bytes to *bytes.
 */
VS_MUST_USE enum vs_status sto_writer_chunks_events(struct sto_writer_chunks *chunks,
                                                    uint64_t first_seq,
                                                    const struct vs_event *events, size_t count,
                                                    bool is_complete, size_t *bytes,
                                                    struct vs_error *err);
/* The same for tensors, which are numbered in their order. Complete chunks have STO_CHUNK_EVENTS. */
VS_MUST_USE enum vs_status sto_writer_chunks_tensors(struct sto_writer_chunks *chunks,
                                                     const struct vs_event *tensors, size_t count,
                                                     bool is_complete, size_t *bytes,
                                                     struct vs_error *err);

#endif
