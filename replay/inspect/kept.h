/*
 * replay/inspect/kept.h - what is alive at an event although nothing will read it again.
 *
 * For:            the report: memory that could be given back with a `del`, a rebinding, or an option.
 * Must not know:  how it is shown.
 * Invariant:      nothing is listed that an op reads later in the trace, or that a running op is reading now.
 */
#ifndef RPL_KEPT_H
#define RPL_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/state/live.h"
#include "replay/trace/trace.h"

/*
 * block   as it was at the event; last_use_seq 0: it was never read at all
 * gain    by how much the highest allocated bytes of the trace would fall if this one went right after its last use, and likewise
 *         every other block that was made at the same place with the same size: those of the other steps
 */
struct rpl_kept {
    struct rpl_block block;
    uint64_t gain;
};

/*
 * items       count of them, the largest first, at most RPL_KEPT_MAX
 * total       bytes of all there are, also those not among the items
 * total_count how many there are
 * gain        as above, if all items went
 */
#define RPL_KEPT_MAX 32
struct rpl_kept_list {
    struct rpl_kept items[RPL_KEPT_MAX];
    size_t count;
    uint64_t total;
    uint64_t total_count;
    uint64_t gain;
};

/*
 * At event `at` of the trace. Parameters, buffers and the state of the optimizer are never listed: the next step reads them; nor what libraries keep.
 * Reads the trace three times. Errors: those of reading it.
 */
VS_MUST_USE enum vs_status rpl_kept_fill(struct rpl_kept_list *out, struct rpl_trace *trace,
                                         uint64_t at, struct vs_error *err);

#endif
