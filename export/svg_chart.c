/*
 * export/svg_chart.c - the plot of a timeline and the bands below it.
 *
 * Must not know:  the rest of the page.
 * Invariant:      the highest edge over a column is the column's allocated_max, to the byte.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "export/svg.h"
#include "export/svg_internal.h"

/* Rough width of a letter of the labels, in pixels. */
#define LETTER_PX 6.2
#define BAND_LETTER_PX 5.5
#define LABEL_PX 11.0
#define BAND_PX 15.0
/* The largest number of ticks of the scale. */
#define TICKS_MAX 7

const char *exp_svg_category_class(size_t category, char *buf)
{
    snprintf(buf, SVG_CLASS_MAX, "vs-%zu", category);
    return buf;
}

static double x_of(const struct svg_chart *chart, double column)
{
    return SVG_LEFT + column * SVG_PLOT_WIDTH / (double)chart->run.count;
}

static double y_of(const struct svg_chart *chart, uint64_t bytes)
{
    return chart->y + SVG_PLOT_HEIGHT * (1.0 - (double)bytes / (double)chart->top);
}

bool exp_svg_shows_capacity(const struct svg_chart *chart)
{
    return chart->capacity && chart->capacity <= chart->top;
}

/* ---- axis ---- */

static void axis_put(const struct svg_chart *chart)
{
    double unit;
    char letter;
    const double every = vs_bytes_tick((double)chart->top / TICKS_MAX, &unit, &letter);

    for (double at = 0; at <= (double)chart->top; at += every) {
        double y = y_of(chart, (uint64_t)at);
        char text[48] = "0";

        if (at > 0)
            snprintf(text, sizeof(text), letter == 'B' ? "%.4g B" : "%.4g %ciB", at / unit, letter);
        exp_svg_line(chart->out, SVG_LEFT, y, SVG_LEFT + SVG_PLOT_WIDTH, y, "vs-grid");
        exp_svg_text(chart->out, SVG_LEFT - 8, y + 4, "vs-t", "end", text, SIZE_MAX);
    }
}

/* ---- areas ---- */

/* The area of one category: its lower and upper edge in each column. */
struct band {
    uint64_t *low;
    uint64_t *high;
    size_t category;
    uint64_t highest;
};

static void band_next(const struct svg_chart *chart, struct band *band, size_t category)
{
    const struct svg_run *run = &chart->run;

    band->category = category;
    band->highest = 0;
    for (size_t i = 0; i < run->count; i++) {
        uint64_t bytes = run->columns[i].by_category[category];

        band->low[i] = band->high[i];
        band->high[i] += bytes;
        band->highest = bytes > band->highest ? bytes : band->highest;
    }
}

static void band_put(const struct svg_chart *chart, const struct band *band)
{
    char css[SVG_CLASS_MAX];
    char most[VS_BYTES_TEXT_MAX];
    char title[128];

    if (!band->highest)
        return;
    snprintf(title, sizeof(title), "%s: %s at most",
             vs_category_name((enum vs_category)band->category),
             vs_bytes_text(band->highest, most));
    exp_svg_area(chart->out, band->low, band->high, chart->run.count,
                 exp_svg_category_class(band->category, css), title);
}

/* Whether a line of text around `y` fits into the area at column `i`. */
static bool holds(const struct svg_chart *chart, const struct band *band, size_t i, double y)
{
    return y_of(chart, band->high[i]) <= y - LABEL_PX / 2 - 1 &&
           y_of(chart, band->low[i]) >= y + LABEL_PX / 2 + 1;
}

/* The category's name inside its area, around the thickest column, if the area is wide and high enough there. */
static void band_label(const struct svg_chart *chart, const struct band *band)
{
    const char *name = vs_category_name((enum vs_category)band->category);
    size_t thick = 0;
    size_t from;
    size_t to;
    double y;

    for (size_t i = 1; i < chart->run.count; i++)
        if (band->high[i] - band->low[i] > band->high[thick] - band->low[thick])
            thick = i;
    y = (y_of(chart, band->low[thick]) + y_of(chart, band->high[thick])) / 2;
    if (!holds(chart, band, thick, y))
        return;
    for (from = thick; from && holds(chart, band, from - 1, y);)
        from--;
    for (to = thick + 1; to < chart->run.count && holds(chart, band, to, y);)
        to++;
    if (x_of(chart, (double)to) - x_of(chart, (double)from) >= LETTER_PX * (double)strlen(name) + 8)
        exp_svg_text(chart->out, (x_of(chart, (double)from) + x_of(chart, (double)to)) / 2, y + 4,
                     "vs-on", "middle", name, SIZE_MAX);
}

/*
 * Open the group whose units are columns and bytes. Numbers are written without exponents, which not every reader of
 * SVG knows.
 */
static void bytes_begin(const struct svg_chart *chart)
{
    char text[128];

    snprintf(text, sizeof(text), "<g transform=\"translate(%d %.2f) scale(%.9f %.24f)\">\n",
             SVG_LEFT, chart->y + SVG_PLOT_HEIGHT,
             (double)SVG_PLOT_WIDTH / (double)chart->run.count,
             -(double)SVG_PLOT_HEIGHT / (double)chart->top);
    exp_put_text(chart->out, text);
}

static void areas_put(const struct svg_chart *chart, bool labels)
{
    size_t size = (chart->run.count + 1) * sizeof(uint64_t);
    struct band band = {.low = vs_calloc(1, size), .high = vs_calloc(1, size)};

    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
        band_next(chart, &band, i);
        if (labels)
            band_label(chart, &band);
        else
            band_put(chart, &band);
    }
    vs_free(band.low);
    vs_free(band.high);
}

/* ---- lines ---- */

enum figure { FIGURE_RESERVED, FIGURE_ALLOCATED };

static void line_put(const struct svg_chart *chart, const struct svg_run *run, enum figure figure,
                     double px, const char *css, const char *title)
{
    uint64_t *heights = vs_calloc(run->count + 1, sizeof(*heights));
    double columns = px * (double)run->count / SVG_PLOT_WIDTH;

    for (size_t i = 0; i < run->count; i++)
        heights[i] = figure == FIGURE_RESERVED ? run->columns[i].reserved_max
                                               : run->columns[i].allocated_max;
    exp_svg_steps(chart->out, heights, run->count,
                  (uint64_t)((double)chart->top * px / SVG_PLOT_HEIGHT), columns, css, title);
    vs_free(heights);
}

static void capacity_put(const struct svg_chart *chart)
{
    double y = y_of(chart, chart->capacity);
    char bytes[VS_BYTES_TEXT_MAX];
    char text[64];

    if (!exp_svg_shows_capacity(chart))
        return;
    snprintf(text, sizeof(text), "capacity %s", vs_bytes_text(chart->capacity, bytes));
    exp_svg_line(chart->out, SVG_LEFT, y, SVG_LEFT + SVG_PLOT_WIDTH, y, "vs-cap");
    exp_svg_text(chart->out, SVG_LEFT + 4, y - 5, "vs-t vs-b", "start", text, SIZE_MAX);
}

/* ---- marks ---- */

static size_t column_of(const struct svg_run *run, uint64_t seq)
{
    size_t i = 0;

    while (i + 1 < run->count && run->columns[i].last_seq < seq)
        i++;
    return i;
}

/* Height of the two lines of the label of the peak. */
#define PEAK_LABEL_PX 28.0

/*
 * A triangle above the highest column, and its label on the side with more space; above the line of the reserved bytes
 * where that would go through the label.
 */
static void peak_put(const struct svg_chart *chart)
{
    size_t column = column_of(&chart->run, chart->run.peak.max_seq);
    double x = x_of(chart, (double)column + 0.5);
    double y = y_of(chart, chart->run.peak.allocated_max);
    double reserved_y = y_of(chart, chart->run.columns[column].reserved_max);
    double label_y = reserved_y < y && reserved_y > y - PEAK_LABEL_PX ? reserved_y : y;
    bool is_right = x > SVG_LEFT + SVG_PLOT_WIDTH * 0.55;
    double text_x = is_right ? x - 9 : x + 9;
    const char *anchor = is_right ? "end" : "start";
    char path[128];

    snprintf(path, sizeof(path), "<path class=\"vs-peak\" d=\"M%.2f %.2fl-5 -9h10z\"/>\n", x,
             y - 1);
    exp_put_text(chart->out, path);
    exp_svg_line(chart->out, x, y, x, chart->y + SVG_PLOT_HEIGHT, "vs-mark");
    exp_svg_text(chart->out, text_x, label_y - 16, "vs-t vs-b vs-halo", anchor, chart->peak_label,
                 SIZE_MAX);
    exp_svg_text(chart->out, text_x, label_y - 4, "vs-t vs-halo", anchor, chart->peak_location, 64);
}

static void oom_put(const struct svg_chart *chart)
{
    uint64_t seq = rpl_index_oom(chart->run.index);
    double x;

    if (!seq)
        return;
    x = x_of(chart, (double)column_of(&chart->run, seq) + 1);
    exp_svg_line(chart->out, x, chart->y, x, chart->y + SVG_PLOT_HEIGHT, "vs-oom");
    exp_svg_text(chart->out, x - 5, chart->y + 11, "vs-t vs-b vs-halo", "end", "out of memory",
                 SIZE_MAX);
}

void exp_svg_plot(const struct svg_chart *chart)
{
    axis_put(chart);
    if (!chart->run.count)
        return;
    bytes_begin(chart);
    areas_put(chart, false);
    line_put(chart, &chart->run, FIGURE_RESERVED, 1.0, "vs-reserved", "reserved (segments)");
    if (chart->second.count)
        line_put(chart, &chart->second, FIGURE_ALLOCATED, 2.0, "vs-second", chart->second_name);
    exp_put_text(chart->out, "</g>\n");
    areas_put(chart, true);
    capacity_put(chart);
    if (chart->run.peak.max_seq)
        peak_put(chart);
    oom_put(chart);
}

/* ---- bands ---- */

/* One run of equal columns: a box with its name, shortened to fit. */
static void stretch_put(const struct svg_chart *chart, size_t from, size_t to, double y,
                        const char *css, const char *name, const char *title)
{
    double x = x_of(chart, (double)from);
    double width = x_of(chart, (double)to) - x;

    exp_svg_rect(chart->out, x, y, width, BAND_PX, css, title);
    if (width >= BAND_LETTER_PX * (double)strlen(name) + 4)
        exp_svg_text(chart->out, x + width / 2, y + 11.5, "vs-s", "middle", name, SIZE_MAX);
}

static bool has_phases(const struct svg_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        if (run->columns[i].phase != VS_PHASE_SETUP)
            return true;
    return false;
}

static void phases_put(const struct svg_chart *chart, double y)
{
    const struct svg_run *run = &chart->run;

    for (size_t i = 0, end; i < run->count; i = end) {
        const struct rpl_column *column = &run->columns[i];
        const char *name =
            column->phase < VS_PHASE_COUNT ? vs_phase_name(column->phase) : "unknown";
        char title[96];
        char css[24];

        for (end = i + 1; end < run->count && run->columns[end].phase == column->phase &&
                          run->columns[end].step == column->step;)
            end++;
        snprintf(title, sizeof(title), "%s of step %" PRId64, name, column->step);
        snprintf(css, sizeof(css), "vs-p vs-p%u", (unsigned)column->phase % 4);
        stretch_put(chart, i, end, y, css, name, column->step < 0 ? name : title);
    }
}

static void steps_put(const struct svg_chart *chart, double y)
{
    const struct svg_run *run = &chart->run;

    for (size_t i = 0, end; i < run->count; i = end) {
        int64_t step = run->columns[i].step;
        char name[32];

        for (end = i + 1; end < run->count && run->columns[end].step == step;)
            end++;
        snprintf(name, sizeof(name), "step %" PRId64, step);
        stretch_put(chart, i, end, y, step % 2 ? "vs-p vs-p0" : "vs-p vs-p1",
                    step < 0 ? "setup" : name, step < 0 ? "setup" : name);
    }
}

double exp_svg_bands(const struct svg_chart *chart)
{
    double y = chart->y + SVG_PLOT_HEIGHT + 5;

    if (!chart->run.count)
        return 0;
    if (has_phases(&chart->run)) {
        phases_put(chart, y);
        y += BAND_PX + 1;
    }
    steps_put(chart, y);
    return y + BAND_PX - chart->y - SVG_PLOT_HEIGHT;
}
