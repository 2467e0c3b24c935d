/*
 * replay/index/index_build_internal.h - what the making of an index goes on with from event to event.
 *
 * For:            replay/index/index_build.c, replay/index/index_events.c, replay/index/index_detail.c.
 * Must not know:  files.
 * Invariant:      everything here is as it is right after the last event taken in.
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
 * What the events so far lead to.
 *
 * allocated, by_category, requested, reserved, step, phase, place   right after the last event
 * recompute_depth   re-runs that run
 * is_rising    looking for the next peak: extreme is the highest since the last valley, at extreme_seq; else the
 *              lowest since the last peak
 * module       that of the last event, which its chunk knows of
 * tensors      tensors whose names were looked at; is_named, by string id: it is among the index's names
 * detail       what goes on beside it, or later: index_detail.c
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

/* Room for `count` items in all, where that is known before. */
void rpl_pages_reserve(struct rpl_pages *pages, size_t count);
/* One more item, zeroed. */
void *rpl_pages_add(struct rpl_pages *pages);

/* The row of a block that an event speaks of; NULL: it has none. */
static inline struct rpl_row *rpl_builder_row(struct rpl_index *index, uint64_t block)
{
    if (block < 1 || block > index->rows.count)
        return NULL;
    return (struct rpl_row *)index->rows.items + (block - 1);
}

/* Events that only say something about a block: most of all that there are. */
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

/* The beginning or end of an op. */
void rpl_builder_op(struct rpl_index *index, uint64_t seq, const struct vs_event *event);
/* What any other event does, as far as totals, blocks and ops go. VS_E_DAMAGED: it cannot follow what came before. */
VS_MUST_USE enum vs_status rpl_builder_apply(struct rpl_index *index, struct rpl_chunk *chunk,
                                             uint64_t seq, const struct vs_event *event,
                                             struct vs_error *err);

/* Event `seq` `what` `number`; always VS_E_DAMAGED. */
enum vs_status rpl_builder_damaged(uint64_t seq, const char *what, uint64_t number,
                                   struct vs_error *err);

/* ---- index_detail.c ---- */

/*
 * What is made of the events beside the rest: of a file all at once, as reading it again would cost more; of a trace
 * in memory when somebody asks (rpl_index_detail). is_file: with the parts that only a file has: frames, sorts, which
 * blocks a chunk touches.
 */
struct rpl_detail *rpl_detail_new(bool is_file);
void rpl_detail_free(struct rpl_detail *detail);
/* Host memory it takes. */
uint64_t rpl_detail_bytes(const struct rpl_detail *detail);
/* The events of the chunk that it lacks, up to the last of the index; `events` begins with the chunk's. */
VS_MUST_USE enum vs_status rpl_detail_take(struct rpl_index *index, size_t chunk,
                                           const struct vs_event *events, struct vs_error *err);

#endif
