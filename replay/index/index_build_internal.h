/*
 * replay/index/index_build_internal.h - the state of building an index, event by event.
 *
 * For:            replay/index/index_build.c, replay/index/index_events.c, replay/index/index_detail.c.
 * Must not know:  files.
 * Invariant:      everything here is as it is right after the last event added.
 */
#ifndef RPL_INDEX_BUILD_INTERNAL_H
#define RPL_INDEX_BUILD_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/index_internal.h"

/*
 * The builder's state.
 *
 * allocated … location  right after the last event
 * recompute_depth  number of running recomputations
 * is_rising        searching the next peak: extreme is the highest total since the last valley, first reached at
 *                  extreme_seq; otherwise searching the next valley: the lowest since the last peak
 * module           string id of the module of the last event
 * tensors          number of tensors whose names were examined
 * is_named         by string id: the name is in the index
 * detail           what index_detail.c computes, at the same time or later
 */
struct rpl_builder {
    uint64_t allocated;
    uint64_t requested;
    uint64_t reserved;
    uint64_t by_category[VS_CATEGORY_COUNT];
    uint64_t recompute_depth;
    int64_t step;
    uint8_t phase;
    uint32_t location;
    bool is_rising;
    uint64_t extreme;
    uint64_t extreme_seq;
    bool has_pending_peak;
    uint32_t module;
    uint32_t tensors;
    bool *is_named;
    size_t is_named_count;
    struct rpl_detail *detail;
};

/* Reserve capacity for `count` items in all, if the number is known in advance. */
void rpl_pages_reserve(struct rpl_pages *pages, size_t count);
/* Append an item, zeroed. */
void *rpl_pages_add(struct rpl_pages *pages);

/* The row of the block of an event; NULL if the number is invalid. */
static inline struct rpl_row *rpl_builder_row(struct rpl_index *index, uint64_t block)
{
    if (block < 1 || block > index->rows.count)
        return NULL;
    return (struct rpl_row *)index->rows.items + (block - 1);
}

/* Events that change nothing but what is known about a block: the most frequent ones. */
#define RPL_BLOCK_KINDS                                                                            \
    (UINT32_C(1) << VS_EV_SAVE | UINT32_C(1) << VS_EV_UNSAVE | UINT32_C(1) << VS_EV_HOLD |         \
     UINT32_C(1) << VS_EV_DROP | UINT32_C(1) << VS_EV_USE)

/* The block is read by event `seq`. */
static inline void rpl_builder_use(struct rpl_index *index, uint64_t seq, uint64_t block)
{
    struct rpl_row *row = rpl_builder_row(index, block);

    if (row && row->alloc_seq && !row->free_seq)
        row->last_use_seq = seq;
}

/* Add the begin or end of an op. */
void rpl_builder_op(struct rpl_index *index, uint64_t seq, const struct vs_event *event);
/* Add any other event to totals, blocks and ops. VS_E_DAMAGED: it cannot follow the events before it. */
VS_MUST_USE enum vs_status rpl_builder_apply(struct rpl_index *index, struct rpl_chunk *chunk,
                                             uint64_t seq, const struct vs_event *event,
                                             struct vs_error *err);

/* Set `err` to "event `seq` `what` `number`"; always returns VS_E_DAMAGED. */
enum vs_status rpl_builder_damaged(uint64_t seq, const char *what, uint64_t number,
                                   struct vs_error *err);

/* ---- index_detail.c ---- */

/*
 * The parts of an index that need the details of events: for a file computed together with the rest, as reading the
 * file again would cost more; for a trace in memory when first needed (rpl_index_detail). is_file: also compute the
 * parts that only a file has: keyframes, event classes, the blocks that a chunk touches. scratch: where to keep them,
 * or NULL.
 */
struct rpl_detail *rpl_detail_new(bool is_file, struct rpl_scratch *scratch);
void rpl_detail_free(struct rpl_detail *detail);
/* Host memory used, in bytes. */
uint64_t rpl_detail_bytes(const struct rpl_detail *detail);
/*
 * Add the events of the chunk that `detail` lacks, up to the last of the index; `events` begins with the chunk's
 * first.
 */
VS_MUST_USE enum vs_status rpl_detail_take(struct rpl_index *index, size_t chunk,
                                           const struct vs_event *events, struct vs_error *err);

#endif
