/*
 * replay/ranks/skew.h - lines that make the peak of one rank higher than that of the others.
 *
 * For:            the summary over ranks.
 * Must not know:  where the text goes.
 * Invariant:      a function of the differences that rpl_ranks_fill found; ranks whose peaks are alike have none.
 */
#ifndef RPL_SKEW_H
#define RPL_SKEW_H

#include "replay/ranks/ranks.h"
#include "replay/report/mistakes.h"

/*
 * Fill `out`, which the caller zero-initialises and releases (rpl_mistakes_release), of ranks that were filled. kind:
 * "rank_skew". Nothing where no peak is a quarter higher than the lowest.
 */
void rpl_skew_find(const struct rpl_ranks *ranks, struct rpl_mistakes *out);

#endif
