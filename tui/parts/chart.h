/*
 * tui/parts/chart.h - draws the columns of a timeline in cells: stacked by category, or as a single row.
 *
 * For:            the timeline, its overview row, the chart of two runs.
 * Must not know:  runs and events; it only gets figures.
 * Invariant:      the height of a column is its peak, to an eighth of a cell (with letters: to half a cell).
 */
#ifndef TUI_CHART_H
#define TUI_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/index/timeline.h"
#include "tui/term/surface.h"

/*
 * columns, other   `count` columns each; other: the run drawn as a line over it, or NULL. Both borrowed.
 * top              bytes at the upper edge
 * has_low          mark the lowest bytes of each column, too: the columns are an envelope of many steps
 * has_letters      show categories as letters, not only as colours
 */
struct tui_chart {
    const struct rpl_column *columns;
    const struct rpl_column *other;
    int count;
    uint64_t top;
    bool has_low;
    bool has_letters;
};

/* The i-th category from the bottom of a stack: the categories that live longest are at the bottom. */
int tui_chart_order(int i);
/* Draw the chart into the canvas, one column of cells per column of the chart. */
void tui_chart_draw(const struct tui_chart *chart, struct tui_canvas *c);

/*
 * Bytes of two runs in a column. They are drawn as one band up to the smaller, with the excess of the larger above it.
 */
struct tui_sides {
    uint64_t a;
    uint64_t b;
};
void tui_chart_sides(const struct tui_sides *sides, int count, uint64_t top, bool has_letters,
                     struct tui_canvas *c);

/*
 * The same of several parts, the first one below: `bytes` has `parts` values for each column, at most
 * TUI_CHART_PARTS. Each is drawn in tui_chart_part_role or with tui_chart_part_letter.
 */
#define TUI_CHART_PARTS 8
void tui_chart_parts(const uint64_t *bytes, size_t parts, int count, uint64_t top, bool has_letters,
                     struct tui_canvas *c);
enum tui_role tui_chart_part_role(size_t part);
char tui_chart_part_letter(size_t part);

/* Draw the scale beside a chart of h rows, `w` cells wide: a vertical line, and byte values in some rows. */
void tui_chart_axis(struct tui_canvas *c, int w, int h, uint64_t top);
/* Draw a part of a band below a chart, with its name if that fits. */
void tui_chart_piece(struct tui_canvas *c, int x, int y, int w, struct tui_style style,
                     const char *name);
/* The row of a canvas of h rows in which `bytes` ends; h if `bytes` is 0, negative if it is above the upper edge. */
int tui_chart_row(uint64_t bytes, uint64_t top, int h);
/*
 * Draw which category has which letter and colour and how many bytes, by enum vs_category; those without any are left
 * out. Names are left out where they do not fit.
 */
void tui_chart_legend(const uint64_t *by_category, struct tui_canvas *c, int y);
/* Draw the heights of the columns in a single row. */
void tui_chart_spark(const struct tui_chart *chart, struct tui_canvas *c, int x, int y,
                     struct tui_style style);

#endif
