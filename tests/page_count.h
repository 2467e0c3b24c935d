/*
 * tests/page_count.h - keeps the counts of docs/internals/fidelity.md equal to what the tests counted.
 *
 * For:            tests that compare with figures of PyTorch and count what is equal.
 * Must not know:  what is counted.
 * Invariant:      the page has one row for each count, and a test fails whose row is missing or has another count.
 */
#ifndef TESTS_PAGE_COUNT_H
#define TESTS_PAGE_COUNT_H

#include <stdint.h>

/*
 * The table "Counts" of the page has a row "| `data` | EQUAL of TOTAL |". Fails the running test where it has not.
 *
 * Does nothing where a part of the cells is left out (GRID_SHARE, tests/share.h). Under VRAMSCOPE_GOLDEN=write (`make
 * golden-counts`) the row is rewritten instead; programs that run side by side take turns.
 */
void page_count_check(const char *data, uint64_t equal, uint64_t total);

#endif
