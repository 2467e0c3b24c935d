/*
 * replay/index/walk.h - the totals from event to event, without the blocks that make them up.
 *
 * For:            timeline, steps, breakpoints: whatever needs only the totals.
 * Must not know:  blocks, holders.
 * Invariant:      allocated, requested and reserved are those right after event `seq`.
 */
#ifndef RPL_WALK_H
#define RPL_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "replay/index/index_internal.h"

/*
 * events    the events of the chunk up to event `last`, NULL: not read yet. Borrowed from the index: fewer than
 *           RPL_WINDOW other chunks may be read meanwhile
 * seq       the event that the walk is right after
 * location  that of event `seq` (0 before the first)
 */
struct rpl_walk {
    struct rpl_index *index;
    size_t chunk;
    const struct vs_event *events;
    uint64_t last;
    uint64_t seq;
    uint64_t allocated;
    uint64_t requested;
    uint64_t reserved;
    int64_t step;
    uint8_t phase;
    uint32_t location;
};

void rpl_walk_init(struct rpl_walk *walk, struct rpl_index *index);

/*
 * Move to right after event `seq`, 0 … event count. Reads the chunk of `seq` as far as needed, or none if `seq` is the
 * last event of a chunk.
 */
VS_MUST_USE enum vs_status rpl_walk_to(struct rpl_walk *walk, uint64_t seq, struct vs_error *err);

/* Move to right before the first event of a chunk, and read the beginning of the chunk. */
VS_MUST_USE enum vs_status rpl_walk_enter(struct rpl_walk *walk, size_t chunk,
                                          struct vs_error *err);

/* The next event, which must exist; NULL on failure. Borrowed as `events`. */
const struct vs_event *rpl_walk_next(struct rpl_walk *walk, struct vs_error *err);

/*
 * Move to the next event of one of `kinds` (bits 1 << kind), up to event `end`. *out is that event, borrowed as
 * `events`, or NULL if there is none; the walk is then right after `end`.
 */
VS_MUST_USE enum vs_status rpl_walk_until(struct rpl_walk *walk, uint32_t kinds, uint64_t end,
                                          const struct vs_event **out, struct vs_error *err);

#endif
