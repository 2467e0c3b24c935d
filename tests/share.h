/*
 * tests/share.h - which share of a long test a run performs.
 *
 * For:            tests over a grid of cases, of which any part covers the same code.
 * Must not know:  what the grid contains.
 * Invariant:      runs with the same share check the same cells; all shares together check every cell.
 */
#ifndef TESTS_SHARE_H
#define TESTS_SHARE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Of so many cells a test takes one: `usual`, unless GRID_SHARE is in the environment. Row number k begins with cell k
 * modulo this, so that every column comes up. `make SAN=… test` takes a part of them, with STRESS=1 all.
 */
size_t tests_share(size_t usual);
/* The same where rows have names and no numbers: the cell that row `name` begins with, less than tests_share(1). */
size_t tests_share_first(const char *name);

/* Of a row of few cells one is taken at least: is it cell `column` of `columns`? */
bool tests_share_has(size_t row, size_t column, size_t columns);

#endif
