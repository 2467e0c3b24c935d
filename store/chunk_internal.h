/*
 * store/chunk_internal.h - the events of an open trace, decoded chunk by chunk.
 *
 * For:            store/reader.c, store/tensors.c.
 * Must not know:  strings, places, what the tensors' blocks mean.
 * Invariant:      the chunk read last stays decoded. A chunk that has grown in the file since the open is cut to the
 *                 events it had then.
 */
#ifndef STO_CHUNK_INTERNAL_H
#define STO_CHUNK_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "store/db_internal.h"

struct sto_chunks;

/*
 * Read the list of chunks. `db` is borrowed until sto_chunks_close; the caller may be inside a transaction.
 * VS_E_DAMAGED: they do not lie end to end. *out is NULL on failure.
 */
VS_MUST_USE enum vs_status sto_chunks_open(const struct sto_db *db, struct sto_chunks **out,
                                           struct vs_error *err);
void sto_chunks_close(struct sto_chunks *chunks);

/* Take in what was written since. The caller is inside a transaction. */
VS_MUST_USE enum vs_status sto_chunks_refresh(struct sto_chunks *chunks, struct vs_error *err);

/* See sto_reader_fingerprint. */
uint64_t sto_chunks_fingerprint(const struct sto_chunks *chunks);

uint64_t sto_chunks_event_count(const struct sto_chunks *chunks);

/* As sto_reader_events. */
VS_MUST_USE enum vs_status sto_chunks_read(struct sto_chunks *chunks, uint64_t first_seq,
                                           size_t count, struct vs_event *out,
                                           struct vs_error *err);

/*
 * The records of one block alone, in their own order: out[0 … count - 1]; count <= STO_CHUNK_EVENTS_MAX. A recorder may have added to
 * the block since it was listed: out has room for STO_CHUNK_EVENTS_MAX.
 */
VS_MUST_USE enum vs_status sto_chunks_block_read(struct sto_chunks *chunks, int64_t block_id,
                                                 size_t count, struct vs_event *out,
                                                 struct vs_error *err);

#endif
