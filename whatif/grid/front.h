/*
 * whatif/grid/front.h - the Pareto front of a sweep: what is worth a choice.
 *
 * For:            `vramscope sweep`, the view of its results.
 * Must not know:  toggles.
 * Invariant:      for each result that fits and is not on the front there is one on it that dominates it.
 */
#ifndef WIF_GRID_FRONT_H
#define WIF_GRID_FRONT_H

#include <stdbool.h>
#include <stddef.h>

#include "store/sweep/results.h"

/*
 * One result dominates another if each process trains on at least as many samples, of no more processes, with a peak of
 * allocated bytes, arithmetic and traffic for each sample that are no higher, and one of the five is better. On the
 * front is what fits and what nothing that fits dominates; of results that are equal in all five, all.
 *
 * is_on[i]: whether results[i] is on the front. O(count · size of the front).
 */
void wif_grid_front(const struct sto_result *const *results, size_t count, bool *is_on);

/*
 * Operations and bytes sent for each sample, of a result that was run: of all processes that share its batch, as if
 * they were like this one, which the stages of a pipeline need not be.
 */
double wif_grid_flops(const struct sto_result *result);
double wif_grid_sent(const struct sto_result *result);
/* Bytes that one process sends in a step. */
uint64_t wif_grid_step_sent(const struct sto_result *result);

#endif
