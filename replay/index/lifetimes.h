/*
 * replay/index/lifetimes.h - from a block's number to its whole life: when it was made, read last, given back.
 *
 * For:            jumping between alloc and free, why-alive, what is kept too long, names of blocks.
 * Must not know:  cursors: a life is of the whole trace.
 * Invariant:      one row a block that was ever allocated.
 */
#ifndef RPL_LIFETIMES_H
#define RPL_LIFETIMES_H

#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/index.h"

/*
 * id             from 1
 * alloc_seq, free_seq, last_use_seq   events; 0: it is never given back, never read
 * requested, bytes   asked for, and of the block
 * tensor         whom it was made for; 0: a workspace
 * place          of the allocation
 * name           string id of the parameter or buffer name; 0: it has none
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

/* VS_E_NOT_FOUND: the trace has no block of this number. Reads no events. */
VS_MUST_USE enum vs_status rpl_lifetime_get(struct rpl_index *index, uint64_t id,
                                            struct rpl_lifetime *out, struct vs_error *err);

/* The largest block number; 0: there are no blocks. */
uint64_t rpl_lifetime_count(const struct rpl_index *index);

/* String id of the op of the backward node `node`; 0: it never runs in this trace. */
VS_MUST_USE enum vs_status rpl_node_name(struct rpl_index *index, uint64_t node, uint32_t *name,
                                         struct vs_error *err);

#endif
