/*
 * export/svg_internal.h - what the drawing of a timeline is made from.
 *
 * For:            export/svg_page.c, which lays the page out, and export/svg_chart.c, which draws the plot.
 * Must not know:  how elements are spelled (export/svg.h).
 * Invariant:      columns of both runs are as many, and each run's are its whole trace.
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
/* At most so many columns: two pixels each. */
#define SVG_COLUMNS (SVG_PLOT_WIDTH / 2)

/*
 * A run that is drawn.
 *
 * columns  count of them, of all its events; NULL: there are none
 * peak     the moment right after its highest event, as a column of that event alone
 */
struct svg_run {
    struct rpl_index *index;
    struct rpl_trace *trace;
    struct rpl_column *columns;
    size_t count;
    struct rpl_column peak;
};

/*
 * run, second   the one in colours, and the one drawn as a line over it (index NULL: there is none), which is called second_name
 * capacity      of the device; 0: not known
 * top           bytes at the upper edge of the plot
 * y             pixels from the page's top to the plot's
 * peak_label, peak_location   what stands at the mark
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

/* The class of a category's colour: "vs-0" …; `buf` has SVG_CLASS_MAX bytes; returns buf. */
#define SVG_CLASS_MAX 16
const char *exp_svg_category_class(size_t category, char *buf);

/* Is the capacity inside the plot? */
bool exp_svg_shows_capacity(const struct svg_chart *chart);

/* Axis, areas, lines and marks. */
void exp_svg_plot(const struct svg_chart *chart);
/* Phases and steps below it; returns how many pixels they take. */
double exp_svg_bands(const struct svg_chart *chart);

#endif
