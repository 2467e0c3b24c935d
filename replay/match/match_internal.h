/*
 * replay/match/match_internal.h - converts both sides of a comparison to the same form.
 *
 * For:            replay/match only.
 * Must not know:  when items agree.
 * Invariant:      blocks and segments are numbered from 0 in the order in which each side first refers to them.
 */
#ifndef RPL_MATCH_INTERNAL_H
#define RPL_MATCH_INTERNAL_H

#include "replay/match/match.h"

/* Fill match->real, left_out and events from the list. */
VS_MUST_USE enum vs_status rpl_match_read_list(struct rpl_match *match, struct vs_error *err);
/* Fill match->ours from the trace, beginning with event first_seq. */
VS_MUST_USE enum vs_status rpl_match_read_trace(struct rpl_match *match, uint64_t first_seq,
                                                struct vs_error *err);

#endif
