/*
 * replay/index/index_pack.h - the encoding of the items of an index, each as the differences from the item before it.
 *
 * For:            replay/index/index_store.c, index_save.c.
 * Must not know:  files, groups.
 * Invariant:      unpacked items refer only to events that the trace has; otherwise in->is_bad is set.
 *
 * `before` is the item before, of the same group; zeros for the first.
 */
#ifndef RPL_INDEX_PACK_H
#define RPL_INDEX_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "replay/index/index_internal.h"
#include "replay/trace/pack.h"

/* The number of the first event of node `i` of a level. */
uint64_t rpl_index_node_first(size_t level, size_t i);

/* A node whose first event is `first`, in a trace of `count` events. */
void rpl_index_pack_node(const struct rpl_node *n, const struct rpl_node *before, uint64_t first,
                         struct rpl_pack *out);
void rpl_index_unpack_node(struct rpl_unpack *in, const struct rpl_node *before, uint64_t first,
                           uint64_t count, struct rpl_node *n);

/* The lifetime of a block, in a trace of `count` events. */
void rpl_index_pack_row(const struct rpl_row *r, const struct rpl_row *before,
                        struct rpl_pack *out);
void rpl_index_unpack_row(struct rpl_unpack *in, const struct rpl_row *before, uint64_t count,
                          struct rpl_row *r);

/* A chunk of `events` events, without its filters. */
void rpl_index_pack_chunk(const struct rpl_chunk *c, const struct rpl_chunk *before,
                          struct rpl_pack *out);
void rpl_index_unpack_chunk(struct rpl_unpack *in, const struct rpl_chunk *before, size_t events,
                            struct rpl_chunk *c);

/* The filters of a chunk, `locations` and `lines`. */
void rpl_index_pack_filters(const struct rpl_chunk *c, struct rpl_pack *out);
void rpl_index_unpack_filters(struct rpl_unpack *in, struct rpl_chunk *c);

#endif
