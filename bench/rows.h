/*
 * bench/rows.h - rows of docs/guide/performance.md, as a benchmark measured them.
 *
 * For:            the benchmarks; `make bench` (tools/bench.sh) prints these rows and puts them into the page.
 * Must not know:  what is measured.
 * Invariant:      a row is one line of the file: benchmark, what was measured, figure, peer's figure, tabs between.
 */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include "base/attr.h"

/*
 * Append a row to the file that $BENCH_ROWS names; does nothing without one. what: the first cell of the page's row.
 * format: the cells from `now` on, with tabs between; one that is empty stays as it is in the page.
 */
void bench_row(const char *bench, const char *what, const char *format, ...) VS_PRINTF(3, 4);

#define BENCH_TEXT_MAX 40
/* "0.48", "1.5", "18.3", "954", "10,598": two digits or more, with commas. Returns text. */
const char *bench_number(double n, char text[BENCH_TEXT_MAX]);

#endif
