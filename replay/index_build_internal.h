/*
 * replay/index_build_internal.h - what the making of an index goes on with from event to event.
 *
 * For:            replay/index_build.c, replay/index_events.c.
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
#include "base/sort.h"
#include "replay/index_internal.h"
#include "replay/pack.h"
#include "replay/state.h"

/*
 * What the events so far lead to.
 *
 * state        blocks and holders, for the frames; has_state: of a file only, as reading that again is what frames save
 * allocated, by_category, requested, reserved, step, phase, place   right after the last event
 * frame_seq    event right after which the last frame was kept
 * is_rising    looking for the next peak: extreme is the highest since the last valley, at extreme_seq; else the lowest since the last peak
 * ops          the ops and re-runs that run; nothing else of it is used
 * waiting      blocks that were needed by what runs, perhaps for the last time; settled_since: since when that ran when they were gone through last
 * changes      of what is allocated, in the chunk; change_offset: of the last one
 * module       that of the last event, which its chunk knows of
 * touched      the chunk's older blocks, their numbers as keys, in the order in which they came
 * tensors      tensors whose names were looked at; is_named, by string id: it is among the index's names
 */
struct rpl_builder {
    struct rpl_state state;
    bool has_state;
    uint64_t allocated;
    uint64_t requested;
    uint64_t reserved;
    uint64_t by_category[VS_CATEGORY_COUNT];
    int64_t step;
    uint8_t phase;
    uint32_t place;
    uint64_t frame_seq;
    bool is_rising;
    uint64_t extreme;
    uint64_t extreme_seq;
    bool has_pending_peak;
    struct rpl_live ops;
    uint64_t *waiting;
    size_t waiting_count;
    size_t waiting_cap;
    uint64_t settled_since;
    struct rpl_pack changes;
    uint32_t change_offset;
    uint32_t module;
    struct vs_keyed *touched;
    size_t touched_count;
    size_t touched_cap;
    uint32_t tensors;
    bool *is_named;
    size_t is_named_count;
};

/* One more item, zeroed. */
void *rpl_pages_add(struct rpl_pages *pages);
/* Item number `i` of what event `seq` speaks of, with empty ones before it; NULL where that would be too many. */
void *rpl_pages_at(struct rpl_pages *pages, uint64_t i, uint64_t seq);

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

/* The block is spoken of in the chunk for the first time. */
void rpl_builder_touch(struct rpl_index *index, struct rpl_row *row, uint64_t block);
/* The block is needed now: by what runs, or by whoever has it made. */
void rpl_builder_need(struct rpl_builder *b, struct rpl_row *row, uint64_t block);

/* One of RPL_BLOCK_KINDS. */
static inline void rpl_builder_block(struct rpl_index *index, uint64_t seq,
                                     const struct vs_event *event)
{
    struct rpl_row *row = rpl_builder_row(index, event->a);

    if (!row || !row->alloc_seq)
        return;
    if (row->touched != index->chunk_count)
        rpl_builder_touch(index, row, event->a);
    if (event->kind == VS_EV_USE && !row->free_seq) {
        row->last_use_seq = seq;
        row->idle_seq = 0;
        if (!row->is_waiting)
            rpl_builder_need(index->builder, row, event->a);
    }
}

/* What any other event does, as far as totals, blocks and ops go. VS_E_DAMAGED: it cannot follow what came before. */
VS_MUST_USE enum vs_status rpl_builder_apply(struct rpl_index *index, struct rpl_chunk *chunk,
                                             uint64_t seq, const struct vs_event *event,
                                             struct vs_error *err);

/* Event `seq` `what` `number`; always VS_E_DAMAGED. */
enum vs_status rpl_builder_damaged(uint64_t seq, const char *what, uint64_t number,
                                   struct vs_error *err);

#endif
