/*
 * store/chunk_internal.h - the events of an open trace, decoded chunk by chunk.
 *
 * For:            store/reader.c, store/tensors.c.
 * Must not know:  strings, locations, the meaning of tensor records.
 * Invariant:      the chunk that was read last stays decoded. If a chunk has grown in the file since it was listed,
 *                 only the events it had then are returned.
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
 * Read the list of chunks. `db` is borrowed until sto_chunks_close(). The caller may be inside a transaction.
 * VS_E_DAMAGED: the chunks do not cover consecutive events. *out is NULL on failure.
 */
VS_MUST_USE enum vs_status sto_chunks_open(const struct sto_db *db, struct sto_chunks **out,
                                           struct vs_error *err);
void sto_chunks_close(struct sto_chunks *chunks);

/* Extend the list by the chunks that were written since. The caller must be inside a transaction. */
VS_MUST_USE enum vs_status sto_chunks_refresh(struct sto_chunks *chunks, struct vs_error *err);

/* See sto_reader_fingerprint(). */
uint64_t sto_chunks_fingerprint(const struct sto_chunks *chunks);

uint64_t sto_chunks_event_count(const struct sto_chunks *chunks);

/* See sto_reader_events(). */
VS_MUST_USE enum vs_status sto_chunks_read(struct sto_chunks *chunks, uint64_t first_seq,
                                           size_t count, struct vs_event *out,
                                           struct vs_error *err);

/*
 * Read all records of the block `block_id` into out[0 … count - 1], in the order in which they were encoded. count <=
 * STO_CHUNK_EVENTS_MAX. A recorder may have added records since the block was listed, so `out` must have space for
 * STO_CHUNK_EVENTS_MAX records.
 */
VS_MUST_USE enum vs_status sto_chunks_block_read(struct sto_chunks *chunks, int64_t block_id,
                                                 size_t count, struct vs_event *out,
                                                 struct vs_error *err);

/* The id of the first block of the chunk that contains event `seq`; -1: the list has none. */
int64_t sto_chunks_block_of(const struct sto_chunks *chunks, uint64_t seq);

/*
 * Read a block of any kind: event number s of its chunk, from 0, into out[s], and set is_filled[s]. Both have space for
 * STO_CHUNK_EVENTS_MAX; other elements are left undefined, and their is_filled is false.
 *
 * fields  bit 1 << field: what is wanted; other fields may be 0
 * Call it inside a transaction.
 */
VS_MUST_USE enum vs_status sto_chunks_block_fields(struct sto_chunks *chunks, int64_t block_id,
                                                   uint32_t fields, struct vs_event *out,
                                                   bool *is_filled, struct vs_error *err);

#endif
