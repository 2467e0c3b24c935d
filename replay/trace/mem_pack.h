/*
 * replay/trace/mem_pack.h - the events and tensors of a run that is only kept, compressed in memory.
 *
 * For:            replay/trace/trace_mem.c; whatif/cache.c, which keeps many runs.
 * Must not know:  what a run answers, how many there are.
 * Invariant:      what is read is what was there before; compressed bytes never change.
 *
 * Events are compressed by the chunks of an index. A chunk that is read stays decompressed until RPL_MEM_OPEN others
 * have been read, or until the run is closed. Tensors share equal descriptions.
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

/* As many as an index promises to have at a time. */
#define RPL_MEM_OPEN 20

/* Of a tensor what is its own; its dtype, shape and offset are those of desc `shape`. */
struct rpl_mem_tensor_own {
    uint64_t block;
    uint32_t name;
    uint32_t shape;
};

struct rpl_mem_open {
    struct vs_event *events;
    size_t chunk; /* + 1; 0: empty */
    uint64_t used;
};

/*
 * events, tensors  so many there are in all
 * chunks       chunk_count of them so far, of RPL_CHUNK_EVENTS events each, the last of what is left
 * own          tensor_count of them so far, by id - 1
 * shapes       shape_count descriptions, each once, without block, id and name; shapes_by_hash: while it is being made
 * bytes        of the chunks
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

/* Of so many events and tensors, of which none has been taken in. */
struct rpl_mem_packed *rpl_mem_packed_new(size_t events, size_t tensors) VS_MUST_USE;
void rpl_mem_packed_free(struct rpl_mem_packed *packed);
/*
 * Compress the next chunk of events, or take in the next tensors: about a millisecond of work. `events` and `tensors`
 * are all of them, the same at each call. False: nothing was left to do.
 */
bool rpl_mem_packed_take(struct rpl_mem_packed *packed, const struct vs_event *events,
                         const struct vs_tensor_desc *tensors);

/* The events of a chunk, borrowed: good until RPL_MEM_OPEN others were asked for, or all are closed. */
const struct vs_event *rpl_mem_packed_chunk(struct rpl_mem_packed *packed, size_t chunk);
/* `count` events from `first` (1 …) on, copied. */
void rpl_mem_packed_events(struct rpl_mem_packed *packed, uint64_t first, size_t count,
                           struct vs_event *out);
/* Tensor `id`, 1 … tensor_count. */
struct vs_tensor_desc rpl_mem_packed_tensor(const struct rpl_mem_packed *packed, uint32_t id);
/* No chunk is looked at any more. */
void rpl_mem_packed_close(struct rpl_mem_packed *packed);
/* Host memory it takes. */
uint64_t rpl_mem_packed_bytes(const struct rpl_mem_packed *packed);

#endif
