/*
 * store/chunk_internal.h - the events of an open trace, decoded chunk by chunk.
 *
 * For:            store/reader.c, store/tensors.c, store/cell.c; the second part: store/chunk.c.
 * Must not know:  strings, locations, the meaning of tensor records.
 * Invariant:      chunks are numbered without gaps, in the order of their events. Where they begin is looked up in the
 *                 file; only the end of the last one is in memory. If that one has grown since the opening or refresh,
 *                 only the events it had then are returned. The chunk that was read last stays decoded, as
 *                 far as it was read: a request for less than a chunk decodes it no further than it asks for, and the
 *                 next one for more of the same chunk decodes all of it.
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
 * `db` is borrowed until sto_chunks_close(). The caller may be inside a transaction. VS_E_DAMAGED: the last chunk
 * cannot be where it is. *out is NULL on failure. O(log chunks).
 */
VS_MUST_USE enum vs_status sto_chunks_open(const struct sto_db *db, struct sto_chunks **out,
                                           struct vs_error *err);
void sto_chunks_close(struct sto_chunks *chunks);

/* See also the chunks that were written since. The caller must be inside a transaction. */
VS_MUST_USE enum vs_status sto_chunks_refresh(struct sto_chunks *chunks, struct vs_error *err);

/* See sto_reader_fingerprint(). */
uint64_t sto_chunks_fingerprint(const struct sto_chunks *chunks);

uint64_t sto_chunks_event_count(const struct sto_chunks *chunks);

/* See sto_reader_events(). */
VS_MUST_USE enum vs_status sto_chunks_read(struct sto_chunks *chunks, uint64_t first_seq,
                                           size_t count, struct vs_event *out,
                                           struct vs_error *err);

/*
 * Read the events of the chunk whose first block has the id `id`, or the tensors of the block `id`, as they are in the
 * file now, the first `wanted` if there are more, into `out`, which has space for STO_CHUNK_EVENTS_MAX. Tensors have
 * the shape in b. In the caller's transaction, if there is one.
 */
VS_MUST_USE enum vs_status sto_chunks_block_read(struct sto_chunks *chunks, int64_t id,
                                                 size_t wanted, struct vs_event *out, size_t *count,
                                                 struct vs_error *err);

/* *out: the id of the first block of the chunk that contains event `seq`; -1: there is none. */
VS_MUST_USE enum vs_status sto_chunks_block_of(struct sto_chunks *chunks, uint64_t seq,
                                               int64_t *out, struct vs_error *err);

/* ---- store/chunk_load.c: the events of one chunk, of every version of the format ---- */

struct sto_loader;

/* `db` is borrowed until sto_loader_close(). *out is NULL on failure. */
VS_MUST_USE enum vs_status sto_loader_open(const struct sto_db *db, struct sto_loader **out,
                                           struct vs_error *err);
void sto_loader_close(struct sto_loader *loader);

/*
 * Read the chunk whose first block has the id `id` (of tensors: the id of their block), as it is in the file now. Its
 * count is 1 to STO_CHUNK_EVENTS_MAX; sto_loader_events() then gives its events. VS_E_DAMAGED: it is not there, or its
 * parts do not agree.
 */
VS_MUST_USE enum vs_status sto_loader_read(struct sto_loader *loader, int64_t id, size_t *count,
                                           struct vs_error *err);

/*
 * Decode the first `wanted` events, at least one, of the chunk that was read last into `out`, which has space for all
 * of them. Tensors have the shape in b and the kind STO_KIND_TENSOR. VS_E_DAMAGED: they cannot be decoded. Touches no
 * file.
 */
VS_MUST_USE enum vs_status sto_loader_events(struct sto_loader *loader, struct vs_event *out,
                                             size_t wanted, struct vs_error *err);

#endif
