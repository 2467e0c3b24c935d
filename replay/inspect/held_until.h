/*
 * replay/inspect/held_until.h - in words: which name keeps a block alive, and until when; or which one released it.
 *
 * For:            the diff view, which says of a tensor that only one run has why that is so.
 * Must not know:  the other run.
 * Invariant:      the name is that of a holder in the trace.
 */
#ifndef RPL_HELD_UNTIL_H
#define RPL_HELD_UNTIL_H

#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "replay/index/index.h"

/*
 * Append what holds the block at event `at`, as a clause: "local `x1` keeps it to line 25"; of a block
 * that was freed before, what released it last: "`x` is bound again on line 18"; of one that is
 * allocated later, "allocated later, at event 623". Nothing where the trace has no holders of it.
 *
 * Costs a seek to `at`, with a cursor of its own. Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_held_until_text(struct rpl_index *index, uint64_t block, uint64_t at,
                                               struct vs_text *out, struct vs_error *err);

#endif
