/*
 * tests/store/phase_rows.h - reads the table of phases in a trace file, which is there for SQL queries.
 */
#ifndef TESTS_STORE_PHASE_ROWS_H
#define TESTS_STORE_PHASE_ROWS_H

#include <stddef.h>

#include "store/reader.h"

/*
 * The stretches of the device that is read, numbered as its events are, into `out`; returns how many. Fails the test
 * beyond `max`.
 */
size_t phase_rows(const struct sto_reader *r, struct sto_phase_stat *out, size_t max);

#endif
