/*
 * tests/facts/balance.h - a run's allocations and frees against an allocator of the test's own, and what its steps end with.
 *
 * For:            test_balance.c and the random nets of tests/property.
 * Must not know:  which nets are run.
 * Invariant:      at every allocation and free the second allocator hands out the recorded address and block size, and its counters equal
 *                 the sums over the events; at every phase end those are what the engine's own allocator said.
 */
#ifndef TESTS_FACTS_BALANCE_H
#define TESTS_FACTS_BALANCE_H

#include "tests/facts/facts.h"

/* Fails the test where an event does not balance. conf_text: the alloc-conf in force, "" for none. */
void facts_balances(const char *what, const struct facts_run *run, const char *conf_text);

/*
 * What is asked for when each step ends, at most `max` of them; returns how many steps. (What is allocated may differ by what the allocator
 * does not split off the blocks it finds, as on a GPU.)
 */
size_t facts_step_ends(const struct facts_run *run, uint64_t *out, size_t max);
/* Fails the test where a step ends with more or less than the one before. At most 8 steps. */
void facts_steps_end_alike(const char *what, const struct facts_run *run);

#endif
