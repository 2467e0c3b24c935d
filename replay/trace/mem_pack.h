/*
 * replay/trace/mem_pack.h - the events and tensors of a run in memory that is only kept, in a twentieth of the memory.
 *
 * For:            replay/trace/trace_mem.c; whatif/answers.c, which keeps many runs.
 * Must not know:  what a run answers, how many there are.
 * Invariant:      what is read is what was there before; what was packed never changes.
 *
 * Events are packed by the chunks of an index, and a chunk that is looked at stays unpacked until many others were looked at, or until
 * nobody looks at the run any more. Tensors share the descriptions that they have in common.
 */
#ifndef RPL_MEM_PACK_H
#define RPL_MEM_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "base/table.h"
#include "replay/index/index.h"
#include "replay/trace/events_pack.h"

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
    struct rpl_pack room;
};

/* Of so many events and tensors, of which none has been taken in. */
struct rpl_mem_packed *rpl_mem_packed_new(size_t events, size_t tensors) VS_MUST_USE;
void rpl_mem_packed_free(struct rpl_mem_packed *packed);
/* The next chunk, or the next tensors, of all that there are: a millisecond of work at most. False: they were taken in before, nothing was left to do. */
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
