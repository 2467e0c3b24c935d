/*
 * replay/trace/mem_pack.h - events and tensors of a cached run, compressed in memory.
 *
 * For:            replay/trace/trace_mem.c; whatif/cache.c, which keeps many runs.
 * Must not know:  what the run is used for, how many runs there are.
 * Invariant:      reading gives exactly what was added; compressed bytes never change.
 *
 * Events are compressed in the chunks of an index. A chunk that is read stays decompressed until RPL_MEM_OPEN other
 * chunks have been read, or until rpl_mem_packed_close. Equal tensor descriptions are stored once.
 */
#ifndef RPL_MEM_PACK_H
#define RPL_MEM_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "base/table.h"
#include "replay/trace/events_pack.h"
#include "replay/trace/trace.h"

/* Number of chunks decompressed at a time: as many as an index keeps available (RPL_WINDOW in index_internal.h). */
#define RPL_MEM_OPEN 40

/* The part of a tensor's description that is its own; dtype, shape and offset are those of description `shape`. */
struct rpl_mem_tensor_own {
    uint64_t block;
    uint32_t name;
    uint32_t shape;
};

struct rpl_mem_open {
    struct vs_event *events;
    /* Number of the chunk + 1; 0: the slot is empty. */
    size_t chunk;
    uint64_t used;
};

/*
 * events, tensors  total numbers of events and tensors
 * chunks           chunk_count compressed chunks so far, of RPL_CHUNK_EVENTS events each; the last has the remaining
 *                  ones
 * own              tensor_count entries so far, by tensor id - 1
 * shapes           shape_count distinct descriptions, without block, id and name
 * shapes_by_hash   finds a description; used while compressing
 * bytes            total size of the compressed chunks
 */
struct rpl_mem_packed {
    size_t events;
    size_t tensors;
    struct rpl_events_packed *chunks;
    size_t chunk_count;
    struct rpl_mem_tensor_own *own;
    size_t tensor_count;
    struct vs_tensor_desc *shapes;
    size_t shape_count;
    size_t shape_cap;
    struct vs_table shapes_by_hash;
    uint64_t bytes;
    struct rpl_mem_open open[RPL_MEM_OPEN];
    uint64_t clock;
};

/*
 * An empty store for `events` events and `tensors` tensors, which rpl_mem_packed_take adds. The caller frees it.
 */
struct rpl_mem_packed *rpl_mem_packed_new(size_t events, size_t tensors) VS_MUST_USE;
void rpl_mem_packed_free(struct rpl_mem_packed *packed);
/*
 * Compress the next chunk of events or add the next tensors: about a millisecond of work per call. `events` and
 * `tensors` are the complete arrays, the same at each call. Returns false when everything had been added before.
 */
bool rpl_mem_packed_take(struct rpl_mem_packed *packed, const struct vs_event *events,
                         const struct vs_tensor_desc *tensors);

/*
 * The events of a chunk, decompressed where necessary. Borrowed until RPL_MEM_OPEN other chunks were read, or
 * rpl_mem_packed_close.
 */
const struct vs_event *rpl_mem_packed_chunk(struct rpl_mem_packed *packed, size_t chunk);
/* Copy `count` events to `out`, beginning with event `first` (from 1). */
void rpl_mem_packed_events(struct rpl_mem_packed *packed, uint64_t first, size_t count,
                           struct vs_event *out);
/* The description of tensor `id`, 1 … tensor_count. */
struct vs_tensor_desc rpl_mem_packed_tensor(const struct rpl_mem_packed *packed, uint32_t id);
/* Free all decompressed chunks; they are decompressed again when read. */
void rpl_mem_packed_close(struct rpl_mem_packed *packed);
/* Host memory used, in bytes, decompressed chunks included. */
uint64_t rpl_mem_packed_bytes(const struct rpl_mem_packed *packed);

#endif
