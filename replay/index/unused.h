/*
 * replay/index/unused.h - what the totals would be without the blocks that nothing needs any more: the few moments of
 * a run at which that matters.
 *
 * For:            replay/inspect/alive.c: by how much the peak would fall.
 * Must not know:  cursors, which blocks anybody asks about.
 * Invariant:      whatever set of sites is taken out, the highest total of the whole trace without their idle bytes is
 *                 that of one of the states, or `floor`.
 *
 * A block is idle from the event on at which nothing will read it again until it is freed. Blocks made at one place
 * and of one size are a site. Bytes that are idle at a moment, by site, are a state of idleness; of all moments with
 * the same state only the highest total counts. A run that repeats itself comes by the same states again, so there are
 * as many as one training step has, however long the trace.
 */
#ifndef RPL_UNUSED_H
#define RPL_UNUSED_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/index.h"

struct rpl_unused_site {
    uint32_t location;
    uint64_t requested;
};

/* From this state on so many bytes of the site are idle. */
struct rpl_unused_change {
    uint32_t site;
    uint64_t bytes;
};

/*
 * allocated: the highest total in this state; end: changes[…] up to here make it out of the state before, the first
 * out of nothing idle
 */
struct rpl_unused_state {
    uint64_t allocated;
    size_t end;
};

/* floor: the highest total were all idle bytes of all sites gone */
struct rpl_unused {
    struct rpl_unused_site *sites;
    size_t site_count;
    struct rpl_unused_state *states;
    size_t state_count;
    struct rpl_unused_change *changes;
    size_t change_count;
    uint64_t floor;
};

/*
 * Those of the index, which keeps them: read from the file, or found (passing through all blocks once) where it has
 * none. Errors: those of reading.
 */
VS_MUST_USE enum vs_status rpl_unused_get(struct rpl_index *index, const struct rpl_unused **out,
                                          struct vs_error *err);
void rpl_unused_free(struct rpl_unused *unused);

#endif
