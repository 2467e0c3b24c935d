/*
 * replay/index/lifetimes.h - the lifetime of a block by its number: when it is allocated, last read and freed.
 *
 * For:            jumping between alloc and free, why-alive, unused tensors, names of blocks.
 * Must not know:  cursors: a lifetime concerns the whole trace.
 * Invariant:      one row per block that was ever allocated.
 */
#ifndef RPL_LIFETIMES_H
#define RPL_LIFETIMES_H

#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/index.h"

/*
 * id                from 1
 * alloc_seq         event of the allocation
 * free_seq          event at which it is freed; 0: not freed within the trace
 * last_use_seq      last event at which an op reads it; 0: never read
 * requested, bytes  requested bytes, and the bytes of the block, rounded up
 * tensor            the tensor that it was allocated for; 0: a workspace
 * location          location of the allocation
 * name              string id of the name of a parameter or buffer; 0: it has none
 */
struct rpl_lifetime {
    uint64_t id;
    uint64_t alloc_seq;
    uint64_t free_seq;
    uint64_t last_use_seq;
    uint64_t requested;
    uint64_t bytes;
    uint32_t tensor;
    uint32_t location;
    uint32_t name;
};

/*
 * The lifetime of block `id`. VS_E_NOT_FOUND: the trace has no block of this number. Other errors: those of reading
 * the index. Reads no events.
 */
VS_MUST_USE enum vs_status rpl_lifetime_get(struct rpl_index *index, uint64_t id,
                                            struct rpl_lifetime *out, struct vs_error *err);

/* The largest block number; 0: there are no blocks. */
uint64_t rpl_lifetime_count(const struct rpl_index *index);

/* String id of the op of backward node `node`; 0: the node never runs in this trace. */
VS_MUST_USE enum vs_status rpl_node_name(struct rpl_index *index, uint64_t node, uint32_t *name,
                                         struct vs_error *err);

#endif
