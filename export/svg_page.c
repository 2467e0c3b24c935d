/*
 * export/svg_page.c - the timeline of a trace as a self-contained drawing for a report or a pull request.
 *
 * Must not know:  how the plot is drawn (export/svg_chart.c).
 * Invariant:      the drawing has no script and refers to no other resource; the same trace gives the same bytes.
 *                 Everything shown by colour is also shown as text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/text.h"
#include "export/fill.h"
#include "export/formats.h"
#include "export/svg.h"
#include "export/svg_internal.h"
#include "replay/report/uncertainty.h"
#include "replay/trace/scripts.h"

#define LEGEND_COLUMNS 4
#define LEGEND_ROW_PX 19.0
#define TITLE_LETTERS 104
#define LINE_LETTERS 140
/* A capacity is drawn as a line where it is at most so many quarters of what is used. */
#define CAPACITY_QUARTERS 8

static const char STYLE[] =
    "text{font-family:sans-serif;fill:#1f2328}.vs-bg{fill:#fff}.vs-h{font-size:15px;font-weight:"
    "bold}.vs-t{font-size:11px}.vs-s{font-size:10px}.vs-c{font-size:12px;font-family:monospace}"
    ".vs-b{font-weight:bold}.vs-halo{paint-order:stroke;stroke:#fff;stroke-width:3px;"
    "stroke-linejoin:round}.vs-on{font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:2px;"
    "stroke-linejoin:round}.vs-grid{stroke:#d0d7de;stroke-width:1}.vs-reserved{fill:#57606a}"
    ".vs-second{fill:#a40e26}.vs-cap{stroke:#a40e26;stroke-width:1.5;stroke-dasharray:7 4}"
    ".vs-oom{stroke:#a40e26;stroke-width:2}.vs-peak{fill:#1f2328}.vs-mark{stroke:#1f2328;"
    "stroke-width:1;stroke-dasharray:2 3}.vs-p{stroke:#fff;stroke-width:.6}.vs-p0{fill:#eaeef2}"
    ".vs-p1{fill:#d0d7de}.vs-p2{fill:#ddf4ff}.vs-p3{fill:#fff8c5}";

static const char STYLE_DARK[] =
    "text{fill:#e6edf3}.vs-bg{fill:#0d1117}.vs-halo,.vs-on{stroke:#0d1117}.vs-grid{stroke:#30363d}"
    ".vs-reserved{fill:#8b949e}.vs-second{fill:#ff7b72}.vs-cap,.vs-oom{stroke:#ff7b72}.vs-peak{"
    "fill:#e6edf3}.vs-mark{stroke:#e6edf3}.vs-p{stroke:#0d1117}.vs-p0{fill:#21262d}.vs-p1{fill:"
    "#30363d}.vs-p2{fill:#12324a}.vs-p3{fill:#3b3211}";

/* The texts of a page. lines: line_count of them below the title. */
struct page {
    struct svg_chart chart;
    struct vs_text title;
    struct vs_text lines[3];
    struct vs_text peak_label;
    struct vs_text peak_location;
    struct vs_text desc;
};

/* ---- text ---- */

static void amount_add(struct vs_text *out, uint64_t bytes)
{
    char round[VS_BYTES_TEXT_MAX];
    char exact[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s (%s bytes)", vs_bytes_text(bytes, round),
                 vs_bytes_exact_text(bytes, exact));
}

/* "in ReluBackward0 of layer1.0.relu, line 25 in BasicBlock.forward"; nothing where it is not known. */
static void location_add(const struct svg_run *run, const struct vs_location *location,
                         struct vs_text *out)
{
    const char *op = rpl_trace_string(run->trace, location->op);
    const char *module = rpl_trace_string(run->trace, location->module);
    const char *func = rpl_trace_string(run->trace, location->func);

    if (*op)
        vs_text_addf(out, "%s", op);
    if (*module)
        vs_text_addf(out, "%s%s", out->len ? " of " : "in ", module);
    if (location->line)
        vs_text_addf(out, "%sline %" PRIu32, out->len ? ", " : "", location->line);
    if (*func)
        vs_text_addf(out, "%s%s", out->len ? " in " : "in ", func);
}

static void event_add(const struct svg_run *run, struct vs_text *out)
{
    char exact[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "event %s, ", vs_bytes_exact_text(run->peak.max_seq, exact));
    if (run->peak.step < 0)
        vs_text_add(out, "setup");
    else
        vs_text_addf(out, "step %" PRId64, run->peak.step);
    if (run->peak.phase != VS_PHASE_SETUP && run->peak.phase < VS_PHASE_COUNT)
        vs_text_addf(out, ", %s", vs_phase_name(run->peak.phase));
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static void title_say(struct page *page, const char *name)
{
    const struct svg_run *run = &page->chart.run;
    const char *source = rpl_trace_source_name(run->trace);

    if (!source)
        source = rpl_trace_meta(run->trace, "source_name");
    if (name || source)
        vs_text_addf(&page->title, "%s: ", base_of(name ? name : source));
    if (!run->peak.max_seq) {
        vs_text_add(&page->title, "nothing was allocated");
        return;
    }
    vs_text_add(&page->title, "peak ");
    amount_add(&page->title, run->peak.allocated_max);
    if (name && source)
        vs_text_addf(&page->title, ", %s", base_of(source));
}

static void second_say(struct page *page)
{
    struct svg_chart *chart = &page->chart;
    struct vs_text *line = &page->lines[2];
    uint64_t before = chart->run.peak.allocated_max;
    uint64_t after = chart->second.peak.allocated_max;
    char delta[VS_BYTES_TEXT_MAX];

    vs_text_addf(line, "%s: peak ", chart->second_name);
    amount_add(line, after);
    vs_text_addf(line, ", %s", vs_bytes_delta_text((int64_t)(after - before), delta));
    if (before)
        vs_text_addf(line, " (%s)", vs_change_text((double)before, (double)after, delta));
}

static enum vs_status peak_say(struct page *page, struct vs_error *err)
{
    const struct svg_run *run = &page->chart.run;
    struct vs_text where = {NULL, 0, 0};
    const struct vs_location *location;
    struct vs_event event;
    char bytes[VS_BYTES_TEXT_MAX];
    const char *source;
    size_t len;
    enum vs_status st = rpl_index_event(run->index, run->peak.max_seq, &event, err);

    if (st)
        return st;
    location = rpl_trace_location(run->trace, event.location);
    location_add(run, location, &where);
    vs_text_add(&page->lines[0], "at ");
    event_add(run, &page->lines[0]);
    if (where.len)
        vs_text_addf(&page->lines[0], ": %s", vs_text_get(&where));
    source = rpl_location_source(run->trace, location, &len);
    if (len) {
        vs_text_addf(&page->lines[1], "%" PRIu32 " | ", location->line);
        vs_text_add_n(&page->lines[1], source, len);
    }
    vs_text_addf(&page->peak_label, "peak %s", vs_bytes_text(run->peak.allocated_max, bytes));
    if (location->op)
        vs_text_addf(&page->peak_location, "%s", rpl_trace_string(run->trace, location->op));
    if (location->line)
        vs_text_addf(&page->peak_location, "%sline %" PRIu32, page->peak_location.len ? ", " : "",
                     location->line);
    vs_text_release(&where);
    return VS_OK;
}

static void categories_say(const struct svg_run *run, struct vs_text *out)
{
    const char *between = " By category: ";

    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        if (run->peak.by_category[i]) {
            vs_text_addf(out, "%s%s %" PRIu64, between, vs_category_name((enum vs_category)i),
                         run->peak.by_category[i]);
            between = ", ";
        }
    vs_text_add(out, *between == ',' ? "." : "");
}

/* All figures as text, for screen readers. */
static void desc_say(struct page *page)
{
    const struct svg_chart *chart = &page->chart;
    const struct svg_run *run = &chart->run;
    struct vs_text *out = &page->desc;

    vs_text_addf(out, "Allocated bytes, stacked by category, over the %" PRIu64 " events of a run.",
                 rpl_index_event_count(run->index));
    if (run->peak.max_seq) {
        vs_text_addf(out, " The highest is %" PRIu64 " bytes with %" PRIu64 " reserved, %s.",
                     run->peak.allocated_max, run->peak.reserved_max, vs_text_get(&page->lines[0]));
        categories_say(run, out);
    }
    if (chart->capacity)
        vs_text_addf(out, " The device has %" PRIu64 " bytes.", chart->capacity);
    if (rpl_index_oom(run->index))
        vs_text_addf(out, " Memory ran out at event %" PRIu64 ".", rpl_index_oom(run->index));
    if (chart->second.index) {
        vs_text_addf(out, " The line is %s, whose highest is %" PRIu64 " bytes.",
                     chart->second_name, chart->second.peak.allocated_max);
        categories_say(&chart->second, out);
    }
}

/* ---- drawing ---- */

static void style_put(struct exp_out *out)
{
    exp_put_text(out, "<style>");
    exp_put_text(out, STYLE);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
        exp_put_member(out, ".vs-", i);
        exp_put_text(out, "{fill:");
        exp_put_text(out, exp_fill((enum vs_category)i, false));
        exp_put_char(out, '}');
    }
    exp_put_text(out, "@media (prefers-color-scheme:dark){");
    exp_put_text(out, STYLE_DARK);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
        exp_put_member(out, ".vs-", i);
        exp_put_text(out, "{fill:");
        exp_put_text(out, exp_fill((enum vs_category)i, true));
        exp_put_char(out, '}');
    }
    exp_put_text(out, "}</style>\n");
}

static bool is_in_legend(const struct svg_chart *chart, size_t category)
{
    if (chart->second.peak.by_category[category])
        return true;
    for (size_t i = 0; i < chart->run.count; i++)
        if (chart->run.columns[i].by_category[category])
            return true;
    return false;
}

static size_t legend_count(const struct svg_chart *chart)
{
    size_t count = 0;

    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        count += is_in_legend(chart, i);
    return count;
}

static double legend_px(const struct svg_chart *chart)
{
    return 24 + LEGEND_ROW_PX *
                    (double)((legend_count(chart) + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS + 1);
}

/* A category's name and its bytes at the peak; with a second run also at that run's peak. */
static void entry_put(const struct svg_chart *chart, size_t category, double x, double y)
{
    struct vs_text text = {NULL, 0, 0};
    char bytes[VS_BYTES_TEXT_MAX];
    char css[SVG_CLASS_MAX];

    exp_svg_rect(chart->out, x, y - 9, 10, 10, exp_svg_category_class(category, css), NULL);
    vs_text_addf(&text, "%s %s", vs_category_name((enum vs_category)category),
                 vs_bytes_text(chart->run.peak.by_category[category], bytes));
    if (chart->second.index)
        vs_text_addf(&text, " → %s",
                     vs_bytes_text(chart->second.peak.by_category[category], bytes));
    else if (chart->run.peak.allocated_max)
        vs_text_addf(&text, "  %.1f %%",
                     100.0 * (double)chart->run.peak.by_category[category] /
                         (double)chart->run.peak.allocated_max);
    exp_svg_text(chart->out, x + 15, y, "vs-t", "start", vs_text_get(&text), SIZE_MAX);
    vs_text_release(&text);
}

/* Below the categories the legend of the lines in the chart. */
static void lines_put(const struct svg_chart *chart, double y)
{
    double x = SVG_LEFT;
    struct vs_text text = {NULL, 0, 0};
    char bytes[VS_BYTES_TEXT_MAX];

    exp_svg_rect(chart->out, x, y - 5, 10, 1, "vs-reserved", NULL);
    vs_text_addf(&text, "reserved %s", vs_bytes_text(chart->run.peak.reserved_max, bytes));
    if (chart->capacity && !exp_svg_shows_capacity(chart))
        vs_text_addf(&text, ", of a device of %s", vs_bytes_text(chart->capacity, bytes));
    exp_svg_text(chart->out, x + 15, y, "vs-t", "start", vs_text_get(&text), SIZE_MAX);
    if (chart->second.index) {
        x += 2.0 * SVG_PLOT_WIDTH / LEGEND_COLUMNS;
        exp_svg_rect(chart->out, x, y - 5, 10, 2, "vs-second", NULL);
        exp_svg_text(chart->out, x + 15, y, "vs-t", "start", chart->second_name, 60);
    }
    vs_text_release(&text);
}

static void legend_put(const struct svg_chart *chart, double y)
{
    size_t n = 0;

    exp_svg_text(chart->out, SVG_LEFT - 8, y, "vs-t", "end", "at the peak", SIZE_MAX);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        if (is_in_legend(chart, i)) {
            entry_put(chart, i,
                      SVG_LEFT + (double)(n % LEGEND_COLUMNS) * SVG_PLOT_WIDTH / LEGEND_COLUMNS,
                      y + LEGEND_ROW_PX * (double)(n / LEGEND_COLUMNS));
            n++;
        }
    lines_put(chart, y + LEGEND_ROW_PX * (double)((n + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS));
}

static void head_put(struct exp_out *out, const struct page *page, double height)
{
    char size[160];

    snprintf(size, sizeof(size),
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
             "height=\"%.0f\" role=\"img\" aria-label=\"",
             SVG_WIDTH, height, SVG_WIDTH, height);
    exp_put_text(out, size);
    exp_svg_escaped(out, vs_text_get(&page->title));
    exp_put_text(out, "\">\n<title>");
    exp_svg_escaped(out, vs_text_get(&page->title));
    exp_put_text(out, "</title>\n<desc>");
    exp_svg_escaped(out, vs_text_get(&page->desc));
    exp_put_text(out, "</desc>\n");
    style_put(out);
    exp_svg_rect(out, 0, 0, SVG_WIDTH, height, "vs-bg", NULL);
}

static void page_put(struct page *page)
{
    static const char *const CLASSES[] = {"vs-t", "vs-c", "vs-t vs-b"};
    struct svg_chart *chart = &page->chart;
    struct exp_out *out = chart->out;
    double y = 26;
    double bands;

    chart->y = 52;
    for (size_t i = 0; i < 3; i++)
        chart->y += page->lines[i].len ? 17 : 0;
    /* phases and steps, with a separator between neighbours */
    bands = chart->run.count ? 36 : 0;
    head_put(out, page, chart->y + SVG_PLOT_HEIGHT + bands + legend_px(chart) + 4);
    exp_svg_text(out, 16, y, "vs-h", "start", vs_text_get(&page->title), TITLE_LETTERS);
    for (size_t i = 0; i < 3; i++)
        if (page->lines[i].len)
            exp_svg_text(out, 16, y += 17, CLASSES[i], "start", vs_text_get(&page->lines[i]),
                         LINE_LETTERS);
    exp_svg_plot(chart);
    exp_svg_bands(chart);
    if (chart->run.count)
        legend_put(chart, chart->y + SVG_PLOT_HEIGHT + bands + 24);
    exp_put_text(out, "</svg>\n");
}

/* ---- the whole ---- */

static enum vs_status run_fill(struct svg_run *run, struct rpl_index *index, size_t count,
                               struct vs_error *err)
{
    uint64_t events = rpl_index_event_count(index);
    uint64_t top = rpl_index_top(index).event;
    enum vs_status st;

    run->index = index;
    run->trace = rpl_index_trace(index);
    if (!events)
        return VS_OK;
    run->count = count;
    run->columns = vs_calloc(count, sizeof(*run->columns));
    st = rpl_timeline_columns(index, 1, events, run->columns, count, err);
    return st || !top ? st : rpl_timeline_range(index, top, top, &run->peak, err);
}

/* Space above the peak for the mark and its label. */
static void top_find(struct svg_chart *chart)
{
    uint64_t most = 1;

    for (size_t i = 0; i < chart->run.count; i++)
        if (chart->run.columns[i].reserved_max > most)
            most = chart->run.columns[i].reserved_max;
    if (chart->run.peak.allocated_max > most)
        most = chart->run.peak.allocated_max;
    if (chart->second.peak.allocated_max > most)
        most = chart->second.peak.allocated_max;
    if (chart->capacity > most && chart->capacity / CAPACITY_QUARTERS < most / 4)
        most = chart->capacity;
    chart->top = most > UINT64_MAX / 2 ? most : most + most / 9 + 1;
}

static void page_release(struct page *page)
{
    vs_free(page->chart.run.columns);
    vs_free(page->chart.second.columns);
    vs_text_release(&page->title);
    for (size_t i = 0; i < 3; i++)
        vs_text_release(&page->lines[i]);
    vs_text_release(&page->peak_label);
    vs_text_release(&page->peak_location);
    vs_text_release(&page->desc);
}

enum vs_status exp_svg_write(struct rpl_index *index, const struct exp_options *options,
                             struct exp_out *out, struct vs_error *err)
{
    struct page page = {.chart = {.out = out, .second_name = options->second_name}};
    struct svg_chart *chart = &page.chart;
    uint64_t events = rpl_index_event_count(index);
    size_t count = events < SVG_COLUMNS ? (size_t)events : SVG_COLUMNS;
    enum vs_status st = run_fill(&chart->run, index, count, err);

    if (!st && options->second && count)
        st = run_fill(&chart->second, options->second, count, err);
    if (!chart->second_name)
        chart->second_name = "the other run";
    if (!st && chart->run.peak.max_seq)
        st = peak_say(&page, err);
    if (st)
        goto out;
    chart->capacity = rpl_capacity(chart->run.trace);
    title_say(&page, options->name);
    if (chart->second.index)
        second_say(&page);
    desc_say(&page);
    top_find(chart);
    chart->peak_label = vs_text_get(&page.peak_label);
    chart->peak_location = vs_text_get(&page.peak_location);
    page_put(&page);
out:
    page_release(&page);
    return st;
}
