/*
 * tests/programs/observed/rows.h - the whole corpus, recorded without the observer and with it.
 *
 * For:            test_observed.c (one process) and test_observed_ranks.c (several).
 * Must not know:  what a program does.
 * Invariant:      every program of tests/programs, of this folder and of toggles/ has a row, or is named as an
 * exception.
 */
#ifndef TESTS_PROGRAMS_OBSERVED_ROWS_H
#define TESTS_PROGRAMS_OBSERVED_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct CMUnitTest;

/* Fill `out`, which has ROWS_MAX elements, with a test for each program of several processes, or of one; returns how
 * many. A test: both recordings have the same events of the allocator, and PyTorch's own peaks, to the byte. */
#define ROWS_MAX 64
size_t rows_tests(bool of_ranks, struct CMUnitTest *out);

/* A test: no program is left out. */
void no_program_is_left_out(void **state);

#endif
