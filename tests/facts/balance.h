/*
 * tests/facts/balance.h - checks a run's allocations and frees with a second allocator, and what is allocated at the
 * ends of its steps.
 *
 * For:            test_balance.c and the random nets of tests/property.
 * Must not know:  which nets are run.
 * Invariant:      at every allocation and free the second allocator hands out the recorded address and block size, and
 *                 its counters equal the sums over the events; at the end of every phase they equal those of the
 *                 engine's own allocator.
 */
#ifndef TESTS_FACTS_BALANCE_H
#define TESTS_FACTS_BALANCE_H

#include "tests/facts/facts.h"

/* Fails the test if an event does not balance. conf_text: the alloc-conf in effect, "" for none. */
void facts_balances(const char *what, const struct facts_run *run, const char *conf_text);

/*
 * Requested bytes at the end of each step, of at most `max` steps; returns the number of steps. (Allocated bytes may
 * differ between steps by what the allocator does not split off the blocks it reuses, as on a GPU.)
 */
size_t facts_step_ends(const struct facts_run *run, uint64_t *out, size_t max);
/* Fails the test if a step ends with more or fewer requested bytes than the one before. At most 8 steps. */
void facts_steps_end_alike(const char *what, const struct facts_run *run);

#endif
