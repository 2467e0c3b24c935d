/*
 * replay/index/walk.h - the totals along the events, without who makes them up.
 *
 * For:            timeline, steps, breaks: what needs no more than how much there is.
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
 * events  of the chunk, NULL: not read yet; borrowed from the index: other walks and cursors may be used meanwhile,
 *         but few
 * seq     event it stands after; place: of that event (0 at the start)
 */
struct rpl_walk {
    struct rpl_index *index;
    size_t chunk;
    const struct vs_event *events;
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
 * Go to right after event `seq`, 0 … event count: reads its chunk up to there; nothing where the next event is another
 * chunk's first.
 */
VS_MUST_USE enum vs_status rpl_walk_to(struct rpl_walk *walk, uint64_t seq, struct vs_error *err);

/* Go to right before the first event of a chunk, which is read. */
VS_MUST_USE enum vs_status rpl_walk_enter(struct rpl_walk *walk, size_t chunk,
                                          struct vs_error *err);

/* The next event, which there is; NULL on failure. Borrowed. */
const struct vs_event *rpl_walk_next(struct rpl_walk *walk, struct vs_error *err);

/*
 * The next event of one of `kinds` (bits 1 << kind) up to event `end`, likewise; *out is NULL where there is none, and
 * the walk is right after `end`.
 */
VS_MUST_USE enum vs_status rpl_walk_until(struct rpl_walk *walk, uint32_t kinds, uint64_t end,
                                          const struct vs_event **out, struct vs_error *err);

#endif
