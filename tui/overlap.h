/*
 * tui/overlap.h - a chart of two runs over each other, in which corresponding events share a column.
 *
 * For:            the diff view.
 * Must not know:  terminals, how events are aligned.
 * Invariant:      a column shows the peak of each run in it.
 */
#ifndef TUI_OVERLAP_H
#define TUI_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/app.h"
#include "tui/parts/chart.h"

/*
 * Zero-initialise. Rows first_row … last_row of the pairs in `count` columns.
 *
 * sides     peak of both runs in each column; differs: whether an event of the column differs
 * top       bytes at the upper edge
 */
struct tui_overlap {
    struct tui_sides *sides;
    bool *differs;
    int count;
    size_t first_row;
    size_t last_row;
    uint64_t top;
};

/* Compute the columns for the window of the shown run; `w` cells include the scale. None with only one run. */
void tui_overlap_fill(struct tui_overlap *o, const struct tui_app *app, int w);
/* Draw the chart, optionally the phases, and in the last row the differences, the peaks and the current event. */
void tui_overlap_draw(const struct tui_overlap *o, const struct tui_app *app, struct tui_canvas *c,
                      bool has_phases);
/* The first row of the pairs in column x of the canvas; SIZE_MAX: none. */
size_t tui_overlap_row(const struct tui_overlap *o, int x);
void tui_overlap_release(struct tui_overlap *o);

#endif
