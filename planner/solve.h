/*
 * planner/solve.h - the cheapest placements of checkpoints on a chain, for every budget at once.
 *
 * For:            planner/curve.h.
 * Must not know:  where the chain comes from.
 * Invariant:      a plan for a budget needs no more than the budget but for a thousandth of a unit; with sizes that are
 *                 multiples of the unit, no legal plan within it costs less, of those whose selective regions span
 *                 at most 16 cuts of a run.
 *
 * The dynamic programme of arXiv 1911.13214, with regions restricted to those of chain.h. E(i, k, m) is the least cost
 * of re-runs to go forward from cut i and return with the gradient there, over the stages i … k, with m bytes above
 * what is alive at the start (the gradient that comes in from behind k among them):
 *
 *     E(k, k, m)  0 where m is enough for stage k to run forward recording, and backward
 *     keep i      E(i+1, k, m - kept(i)), where m is enough for stage i likewise
 *     drop i … j  max(0, cost(i … j-1) - tail_cost(j-1)) + E(j, k, m - crossing(j))
 *                 + E(i, j-1, m - gradients(j … k) - input_freed(i))
 *     selective   the same with saved_cost(i … j-1) and saved_tail_cost(j-1) taken off, saved(i … j-1) beside
 *                 crossing(j), and all stages i … j-1 kept when they run again
 *
 * The table has one plan for each window and number of units. What that plan needs is not rounded: it is kept beside
 * the cost, and the plan is stored at the number of units that it fits. So a plan for a budget fits it, and only where
 * sizes are no multiples of the unit a better one may be missed, which shared its number of units with a cheaper one.
 *
 * O(windows * cuts of a run * slots) time and at most O(windows * slots) memory, where the windows are the pairs (i, k)
 * with k the last stage or the end of a region.
 */
#ifndef PLN_SOLVE_H
#define PLN_SOLVE_H

#include "planner/chain.h"

struct pln_table;

/*
 * The table for budgets of 0 … slots units of `unit` bytes. Borrows the chain, which has at least one stage. unit > 0,
 * slots > 0, below 65535. is_plain: without selective regions, in half of the time. The caller frees it.
 */
struct pln_table *pln_table_new(const struct pln_chain *chain, uint64_t unit, uint32_t slots,
                                bool is_plain) VS_MUST_USE;
void pln_table_free(struct pln_table *table);

/* The least cost within a budget of `slot` units (<= slots); INFINITY: no plan fits. */
double pln_table_cost(const struct pln_table *table, uint32_t slot);

/*
 * Adds to *plan (empty) the regions of a plan with that cost, and measures it (pln_plan_measure). Some plan must fit.
 */
void pln_table_plan(const struct pln_table *table, uint32_t slot, struct pln_plan *plan);

/* Number of choices that a table compares at every slot: its time is proportional to it and to the slots. */
uint64_t pln_table_work(const struct pln_table *table) VS_MUST_USE;

#endif
