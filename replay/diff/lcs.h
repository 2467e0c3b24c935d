/*
 * replay/diff/lcs.h - longest common subsequence of two sequences.
 *
 * For:            the alignment of two traces and of two net files.
 * Must not know:  what the keys stand for.
 * Invariant:      paired keys are equal, and pairs ascend in both sequences. If the parts between the common beginning
 *                 and the common end are short (the product of their lengths is at most RPL_LCS_CELLS), the result is
 *                 a longest one.
 *
 * Longer parts are first divided at keys that occur exactly once in both, as patience diff does, or else by pairing
 * the first occurrence of each key with the first, the second with the second, so the cost is nearly linear.
 */
#ifndef RPL_LCS_H
#define RPL_LCS_H

#include <stddef.h>
#include <stdint.h>

#define RPL_LCS_CELLS 65536

/*
 * Sets mate[i], i < a_count, to the number of the key of `b` that a[i] is paired with, + 1; 0: none. Both counts are
 * below UINT32_MAX.
 */
void rpl_lcs(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count, uint32_t *mate);

/*
 * A longest strictly increasing subsequence of `values`: writes the indices of its elements, in order, to `kept`,
 * which has capacity for `count`. Returns their number. O(count log count).
 */
size_t rpl_rising(const uint32_t *values, size_t count, uint32_t *kept);

#endif
