/*
 * export/svg_internal.h - the data from which a timeline is drawn.
 *
 * For:            export/svg_page.c, which lays the page out, and export/svg_chart.c, which draws the plot.
 * Must not know:  the syntax of elements (export/svg.h).
 * Invariant:      both runs have the same number of columns, which cover the whole trace of each.
 */
#ifndef EXP_SVG_INTERNAL_H
#define EXP_SVG_INTERNAL_H

#include <stdbool.h>

#include "export/out.h"
#include "replay/index/index.h"
#include "replay/index/timeline.h"

/* Pixels of the page; its height depends on what is below the plot. */
#define SVG_WIDTH 960
#define SVG_LEFT 84
#define SVG_RIGHT 20
#define SVG_PLOT_WIDTH (SVG_WIDTH - SVG_LEFT - SVG_RIGHT)
#define SVG_PLOT_HEIGHT 320
/* Maximum number of columns: two pixels each. */
#define SVG_COLUMNS (SVG_PLOT_WIDTH / 2)

/*
 * A run that is drawn.
 *
 * columns  `count` columns that cover all its events; NULL: there are none
 * peak     the state right after the event with the peak, as a column of that event alone
 */
struct svg_run {
    struct rpl_index *index;
    struct rpl_trace *trace;
    struct rpl_column *columns;
    size_t count;
    struct rpl_column peak;
};

/*
 * The plot.
 *
 * run           the run drawn as coloured areas
 * second        the run drawn as a line over it, named second_name; its index is NULL if there is none
 * capacity      capacity of the device in bytes; 0: not known
 * top           bytes at the upper edge of the plot
 * y             pixels from the top of the page to the top of the plot
 * peak_label, peak_location   text at the mark of the peak
 */
struct svg_chart {
    struct exp_out *out;
    struct svg_run run;
    struct svg_run second;
    const char *second_name;
    uint64_t capacity;
    uint64_t top;
    double y;
    const char *peak_label;
    const char *peak_location;
};

/* The CSS class for the colour of a category: "vs-0", …; `buf` has SVG_CLASS_MAX bytes; returns buf. */
#define SVG_CLASS_MAX 16
const char *exp_svg_category_class(size_t category, char *buf);

/* Is the capacity inside the plot? */
bool exp_svg_shows_capacity(const struct svg_chart *chart);

/* Draw the plot: axis, areas, lines and marks. */
void exp_svg_plot(const struct svg_chart *chart);
/* Draw the bands of phases and steps below the plot; returns their height in pixels. */
double exp_svg_bands(const struct svg_chart *chart);

#endif
