/*
 * tests/planner/random_chain.h - random chains, and the memory and cost of a plan, found by executing it step by step.
 *
 * For:            tests of planner/.
 * Must not know:  how plans are found.
 * Invariant:      the same seed gives the same chain.
 */
#ifndef TESTS_PLANNER_RANDOM_CHAIN_H
#define TESTS_PLANNER_RANDOM_CHAIN_H

#include <stdint.h>

#include "planner/chain.h"

/*
 * A chain of `count` stages with sizes of 0 … size, costs from 1 to size and, if `is_general`, stages that free more
 * than they keep, tails that are not run again, and gradients. is_nested: regions may only begin and end at some
 * stages, with a separate block between two of these; otherwise they may be anywhere. The caller releases it.
 */
struct pln_chain random_chain(uint64_t *seed, size_t count, uint32_t size, bool is_general,
                              bool is_nested) VS_MUST_USE;

/* Gives about every other stage something that a selective region keeps, up to `size` bytes. */
void random_saved(struct pln_chain *chain, uint64_t *seed, uint32_t size);

/* Carries a plan out, stage by stage, with counters of what is alive. Sets *peak and *cost. */
void carry_out(const struct pln_chain *chain, const struct pln_plan *plan, int64_t *peak,
               double *cost);

/* Calls `each` with every legal plan; selective regions only where they keep something. */
typedef void each_plan_fn(void *user, const struct pln_plan *plan);
void each_plan(const struct pln_chain *chain, each_plan_fn *each, void *user);

#endif
