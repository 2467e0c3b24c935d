/*
 * tui/parts/chart.h - columns of a timeline as cells: stacked by category, and as one row.
 *
 * For:            the timeline, its brush, the two runs over each other.
 * Must not know:  runs, events; only figures.
 * Invariant:      the height of a column is that of its highest moment, to an eighth of a cell (with letters: to half a cell).
 */
#ifndef TUI_CHART_H
#define TUI_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/index/timeline.h"
#include "tui/term/surface.h"

/*
 * columns, other   count of them; other is the run drawn as a line over it, or NULL
 * top              bytes at the upper edge
 * has_letters      categories as letters, not as colours alone
 */
struct tui_chart {
    const struct rpl_column *columns;
    const struct rpl_column *other;
    int count;
    uint64_t top;
    bool has_letters;
};

/* The categories from the bottom of a stack up: what stays longest is below. */
int tui_chart_order(int i);
/* Fill the canvas, a column a column. */
void tui_chart_draw(const struct tui_chart *chart, struct tui_canvas *c);

/* How high two runs are in a column: what both have is one band, over it what one has more. */
struct tui_sides {
    uint64_t a;
    uint64_t b;
};
void tui_chart_sides(const struct tui_sides *sides, int count, uint64_t top, bool has_letters,
                     struct tui_canvas *c);

/* The scale beside a chart of h rows, in `w` columns: its line, and bytes in some rows. */
void tui_chart_axis(struct tui_canvas *c, int w, int h, uint64_t top);
/* A piece of a band below a chart, its name in it where it fits. */
void tui_chart_piece(struct tui_canvas *c, int x, int y, int w, struct tui_style style,
                     const char *name);
/* Row of the canvas, h cells high, in which `bytes` ends; h where it is 0 and below 0 where it lies above the edge. */
int tui_chart_row(uint64_t bytes, uint64_t top, int h);
/* One row: how high each column is. */
void tui_chart_spark(const struct tui_chart *chart, struct tui_canvas *c, int x, int y,
                     struct tui_style style);

#endif
