/*
 * replay/match/match_internal.h - the two sides of a match, brought into one form.
 *
 * For:            replay/match*.c only.
 * Must not know:  what is equal.
 * Invariant:      allocations and segments are numbered from 0 as each side first mentions them.
 */
#ifndef RPL_MATCH_INTERNAL_H
#define RPL_MATCH_INTERNAL_H

#include "replay/match/match.h"

/* Fill match->real, left_out and events. */
VS_MUST_USE enum vs_status rpl_match_read_list(struct rpl_match *match, struct vs_error *err);
/* Fill match->ours, from event first_seq on. */
VS_MUST_USE enum vs_status rpl_match_read_trace(struct rpl_match *match, uint64_t first_seq,
                                                struct vs_error *err);

#endif
