/*
 * replay/diff/lcs.h - what two sequences have in common, in the same order.
 *
 * For:            the alignment of two traces and of two net files.
 * Must not know:  what the keys stand for.
 * Invariant:      pairs have equal keys and rise in both sequences. Where the parts between the equal beginning and
 *                 the equal end are short (their product at most RPL_LCS_CELLS) no longer answer exists.
 *
 * Longer ones are cut first at keys that both have exactly once, as patience diff does, and where there are none
 * at the first of each key with the first, the second with the second, so the cost stays near linear.
 */
#ifndef RPL_LCS_H
#define RPL_LCS_H

#include <stddef.h>
#include <stdint.h>

#define RPL_LCS_CELLS 65536

/*
 * mate[i], i < a_count: number of the key of `b` that a[i] is paired with + 1; 0: it has none. Both counts are below
 * UINT32_MAX.
 */
void rpl_lcs(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count, uint32_t *mate);

/*
 * A longest strictly increasing subsequence of values[0 … count - 1]. Writes the positions of its values in increasing
 * order to `kept`, which has space for `count`, and returns their number. O(count log count).
 */
size_t rpl_rising(const uint32_t *values, size_t count, uint32_t *kept);

#endif
