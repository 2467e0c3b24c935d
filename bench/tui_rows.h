/*
 * bench/tui_rows.h - the rows of bench_tui: the keys, and what is typed before them.
 *
 * For:            bench_tui.c.
 * Must not know:  how a key is measured.
 * Invariant:      every action of keys.def has a row, or a reason not to have one.
 */
#ifndef BENCH_TUI_ROWS_H
#define BENCH_TUI_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "tui/parts/keys.h"

/* once: typed when the trace is opened; before: typed at each place, before the clock runs */
struct bench_key {
    char name[40];
    const char *once;
    const char *before;
    char keys[40];
};

/* The row of an action; why it has none, or NULL. */
struct bench_key bench_row_of(enum tui_action action);
const char *bench_left_out(enum tui_action action);
/* Row `i` of what else there is to ask: a count, another view in front, other conditions. NULL past the end. */
const struct bench_key *bench_more(size_t i);
/* Whether its key runs to a breakpoint, which may be far or nowhere. */
bool bench_is_search(const struct bench_key *row);

#endif
