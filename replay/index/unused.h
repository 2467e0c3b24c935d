/*
 * replay/index/unused.h - the totals without the unused blocks, reduced to the few states of a run that matter.
 *
 * For:            replay/inspect/alive.c: by how much the peak would fall if blocks were freed right after their last
 *                 use.
 * Must not know:  cursors, which allocation sites a caller is interested in.
 * Invariant:      for every set of sites, the highest total of the whole trace without the unused bytes of these sites
 *                 is that of one of the states, or `floor`.
 *
 * A block is unused from its last use to its free. Blocks of one allocation site and one size are a site here. The
 * unused bytes at an event, by site, are a state; of all events with the same state only the highest total matters. A
 * training loop passes through the same states in every step, so their number does not grow with the length of the
 * trace.
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

/* From this state on `bytes` of the site are unused. */
struct rpl_unused_change {
    uint32_t site;
    uint64_t bytes;
};

/*
 * allocated  the highest total in this state
 * end        changes up to this index (not included) lead from the state before to this one; the state before the
 *            first has no unused bytes
 */
struct rpl_unused_state {
    uint64_t allocated;
    size_t end;
};

/* floor: the highest total without the unused bytes of all sites */
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
 * The states of an index, which owns them: read from the file, or computed by one pass over all blocks. Errors: those
 * of reading.
 */
VS_MUST_USE enum vs_status rpl_unused_get(struct rpl_index *index, const struct rpl_unused **out,
                                          struct vs_error *err);
void rpl_unused_free(struct rpl_unused *unused);

#endif
