/*
 * tui/overlap.h - two runs over each other, on an axis on which equal events stand together.
 *
 * For:            the diff view.
 * Must not know:  terminals, why two events belong together.
 * Invariant:      what is drawn of a column is the highest of each run in it.
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
 * sides     how high the two are in each; differs: whether an event of it does
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

/* For the window of the run that is shown, in `w` cells with the scale. No columns where there are not two runs. */
void tui_overlap_fill(struct tui_overlap *o, const struct tui_app *app, int w);
/* Chart, phases where they are wanted, and in the last row where the two differ, their peaks, and where one is. */
void tui_overlap_draw(const struct tui_overlap *o, const struct tui_app *app, struct tui_canvas *c,
                      bool has_phases);
/* The first row of the pairs in column x of the canvas; SIZE_MAX: none. */
size_t tui_overlap_row(const struct tui_overlap *o, int x);
void tui_overlap_release(struct tui_overlap *o);

#endif
