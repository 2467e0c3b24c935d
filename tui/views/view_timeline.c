/*
 * tui/views/view_timeline.c - memory over the run: stacked by category, with phases, steps, capacity, peak, cursor and
 * the other run.
 *
 * Must not know:  terminals.
 * Invariant:      a column stands for the events that replay/index/timeline.h says it stands for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/index/timeline.h"
#include "replay/inspect/step.h"
#include "tui/app.h"
#include "tui/diff.h"
#include "tui/names.h"
#include "tui/parts/chart.h"
#include "tui/parts/format.h"
#include "tui/views.h"
#include "tui/views/columns.h"

#define AXIS_W 7
/* Smallest heights at which each row below the chart is shown. */
#define PHASE_H 6
#define STEP_H 8
#define LEGEND_H 7
#define BRUSH_H 14
/* The capacity is drawn as a line if it is at most this many quarters of the highest total. */
#define CAPACITY_QUARTERS 6
/* Steps narrower than this many columns are shown as an envelope, with numbers at least TICK_COLUMNS apart. */
#define STEP_COLUMNS 4
#define TICK_COLUMNS 10
/* Smallest height of a chart with a row for the mark of the peak. */
#define MARK_MIN_H 4

/*
 * columns, other, brush   `count` columns each; other_count 0: there is no other run
 * columns_made …          of what they were computed
 * moves, w, h             app->moves and the size when the columns were built
 * top                     bytes at the upper edge
 * steps                   training steps that the window shows, or a part of
 * is_by_time              columns cover equal times, otherwise equal numbers of events
 * from_ns, to_ns          times of the window's first and last event; the same where events have no times
 */
struct timeline {
    struct rpl_column *columns;
    struct rpl_column *other;
    struct rpl_column *brush;
    struct tui_columns_made columns_made;
    struct tui_columns_made other_made;
    struct tui_columns_made brush_made;
    int count;
    int other_count;
    uint64_t moves;
    int w;
    int h;
    int64_t steps;
    uint64_t top;
    bool is_by_time;
    uint64_t from_ns;
    uint64_t to_ns;
};

/* Rows of the canvas at which each part is drawn; -1: not shown. */
struct bands {
    int chart_h;
    int axis;
    int phase;
    int step;
    int legend;
    int brush;
};

static struct bands bands_of(int h)
{
    struct bands bands = {.chart_h = h - 1, .phase = -1, .step = -1, .legend = -1, .brush = -1};
    int y;

    bands.chart_h -= (h >= PHASE_H) + (h >= STEP_H) + (h >= LEGEND_H) + (h >= BRUSH_H);
    if (bands.chart_h < 1)
        bands.chart_h = 1;
    y = bands.chart_h;
    if (h >= PHASE_H)
        bands.phase = y++;
    if (h >= STEP_H)
        bands.step = y++;
    bands.axis = y++;
    if (h >= LEGEND_H)
        bands.legend = y++;
    if (h >= BRUSH_H)
        bands.brush = y++;
    return bands;
}

/* ---- asking ---- */

static uint64_t highest(const struct rpl_column *columns, int count, uint64_t most)
{
    for (int i = 0; i < count; i++)
        if (columns[i].allocated_max > most)
            most = columns[i].allocated_max;
    return most;
}

/* h: rows of the chart. There is a free one above the highest column, in which the mark of the peak stands. */
static void top_pick(struct timeline *t, const struct tui_app *app, int h)
{
    uint64_t most = highest(t->columns, t->count, 1);

    most = highest(t->other, t->other_count, most);
    /* the scale includes the capacity, unless that is so far above that the chart would be flat */
    if (app->capacity > most && app->capacity / CAPACITY_QUARTERS < most / 4)
        most = app->capacity;
    t->top = h >= MARK_MIN_H ? most + most / (uint64_t)(h - 1) + 1 : most + most / 32;
}

/* If the two runs are aligned, a column of the other run covers the counterparts of the column's events. */
static void other_align(struct timeline *t, const struct tui_app *app,
                        const struct rpl_pairs *pairs)
{
    bool is_b = app->change.is_shown;

    for (int x = 0; x < t->count; x++) {
        const struct rpl_column *column = &t->columns[x];
        uint64_t last_seq = column->last_seq;
        uint64_t before = column->first_seq ? column->first_seq - 1 : 0;
        size_t end = rpl_pairs_until(pairs, is_b, last_seq);
        size_t first = before < last_seq ? rpl_pairs_until(pairs, is_b, before) : end;
        struct rpl_pair_top top;

        t->other[x].allocated_max = 0;
        if (!end)
            continue;
        /* a column without events has the height of the one before */
        top = rpl_pairs_top(pairs, first < end ? first : end - 1, end - 1);
        t->other[x].allocated_max = is_b ? pairs->rows[top.a].total_a : pairs->rows[top.b].total_b;
    }
    t->other_count = t->count;
}

static enum vs_status times_fill(struct timeline *t, const struct tui_app *app,
                                 struct vs_error *err)
{
    struct rpl_index *index = tui_app_run(app)->index;
    struct vs_event first;
    struct vs_event last;
    enum vs_status st = rpl_index_event(index, app->window.first, &first, err);

    if (!st)
        st = rpl_index_event(index, app->window.last, &last, err);
    t->from_ns = st ? 0 : first.time_ns;
    t->to_ns = st ? 0 : last.time_ns;
    return st;
}

static enum vs_status fill(struct timeline *t, struct tui_app *app, struct vs_error *err)
{
    const struct tui_run *run = tui_app_run(app);
    const struct tui_run *other = tui_app_other(app);
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    enum vs_status st;
    struct tui_columns want = {app->window.first, app->window.last, t->count,
                               tui_app_split(app).columns, t->is_by_time};

    t->other_count = 0;
    st = tui_columns_fill(run, want, &t->columns_made, t->columns, err);
    if (!st && t->is_by_time)
        st = times_fill(t, app, err);
    if (!st)
        st = tui_columns_fill(run, (struct tui_columns){1, run->events, t->count, 0, t->is_by_time},
                              &t->brush_made, t->brush, err);
    if (st || !other || !other->events)
        return st;
    if (pairs && pairs->row_count) {
        other_align(t, app, pairs);
        t->other_made.index = NULL;
        return VS_OK;
    }
    want.first = want.first <= 1 ? 1 : tui_app_map(app, want.first);
    want.last = want.last >= run->events ? other->events : tui_app_map(app, want.last);
    if (want.last < want.first)
        return VS_OK;
    st = tui_columns_fill(other, want, &t->other_made, t->other, err);
    if (!st)
        t->other_count = t->count;
    return st;
}

/* Training steps of which the window has events; the set-up is none. */
static int64_t steps_count(const struct tui_app *app)
{
    const struct tui_run *run = tui_app_run(app);
    struct vs_error ignored = VS_ERROR_INIT;
    uint64_t first = app->window.first > run->setup_last ? app->window.first : run->setup_last + 1;
    uint64_t from;
    uint64_t to;

    if (first > app->window.last || !rpl_step_total(run->index, RPL_VERB_STEP) ||
        rpl_step_number(run->index, RPL_VERB_STEP, first, &from, &ignored) ||
        rpl_step_number(run->index, RPL_VERB_STEP, app->window.last, &to, &ignored))
        return 0;
    return (int64_t)(to - from) + 1;
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct timeline *t = state;
    struct vs_error err = VS_ERROR_INIT;

    app->columns = w > AXIS_W ? w - AXIS_W : 1;
    if (t->moves == app->moves && t->w == w && t->h == h)
        return;
    if (t->w != w || !t->columns) {
        t->columns = vs_realloc(t->columns, (size_t)app->columns, sizeof(*t->columns));
        t->other = vs_realloc(t->other, (size_t)app->columns, sizeof(*t->other));
        t->brush = vs_realloc(t->brush, (size_t)app->columns, sizeof(*t->brush));
    }
    t->moves = app->moves;
    t->w = w;
    t->h = h;
    t->count = app->columns;
    t->other_count = 0;
    t->steps = steps_count(app);
    if (!tui_app_run(app)->events) {
        t->count = 0;
    } else if (fill(t, app, &err)) {
        t->count = 0;
        tui_app_fail(app, "%s", err.text);
    }
    top_pick(t, app, bands_of(h).chart_h);
}

/* The column that has event `seq`; -1: none. */
static int column_of(const struct rpl_column *columns, int count, uint64_t seq)
{
    int found = -1;

    for (int i = 0; i < count; i++)
        if (columns[i].first_seq <= seq && columns[i].first_seq <= columns[i].last_seq)
            found = i;
    return found >= 0 && columns[found].last_seq >= seq ? found : -1;
}

/* ---- drawing ---- */

static void draw_capacity(const struct timeline *t, const struct tui_app *app, struct tui_canvas *c,
                          int h)
{
    char buf[VS_BYTES_TEXT_MAX];
    int y = tui_chart_row(app->capacity, t->top, h);

    if (!app->capacity || y < 0 || y >= h)
        return;
    for (int x = AXIS_W; x < c->at.w; x++)
        tui_put_glyph(c, x, y, TUI_G_HLINE, tui_style(TUI_CAPACITY));
    tui_textf(c, AXIS_W + 1, y, tui_style(TUI_CAPACITY), " device %s ",
              vs_bytes_text(app->capacity, buf));
}

static void draw_peak(const struct timeline *t, const struct tui_app *app, struct tui_canvas *c,
                      int h)
{
    const struct tui_run *run = tui_app_run(app);
    int x = column_of(t->columns, t->count, run->top.event);
    char buf[VS_BYTES_TEXT_MAX];
    struct vs_text text = {NULL, 0, 0};
    int y;
    int w;

    if (!run->top.event || x < 0)
        return;
    y = tui_chart_row(run->top.allocated, t->top, h) - 1;
    if (y < 0)
        y = 0;
    tui_put_glyph(c, AXIS_W + x, y, TUI_G_DOWN, tui_style(TUI_PEAK));
    vs_text_addf(&text, "peak %s", vs_bytes_text(run->top.allocated, buf));
    w = tui_text_width(vs_text_get(&text));
    if (AXIS_W + x + 3 + w <= c->at.w)
        tui_textf(c, AXIS_W + x + 1, y, tui_style(TUI_PEAK), " %s ", vs_text_get(&text));
    else if (x > w + 2)
        tui_textf(c, AXIS_W + x - 2 - w, y, tui_style(TUI_PEAK), " %s ", vs_text_get(&text));
    vs_text_release(&text);
}

/* Whether there are so many steps that their phases have no columns of their own. */
static bool is_dense(const struct timeline *t)
{
    return t->steps * STEP_COLUMNS > t->count;
}

static void draw_phases(const struct timeline *t, struct tui_canvas *c, int y)
{
    for (int from = 0, x = 1; x <= t->count; x++) {
        enum vs_phase phase = t->columns[from].phase;

        if (is_dense(t) && t->columns[from].step >= 0) {
            struct vs_text text = {NULL, 0, 0};

            vs_text_addf(&text, "%" PRId64 " steps; = shows one and its phases", t->steps);
            tui_text_cut(c, AXIS_W + from + 1, y, t->count - from - 1, tui_style(TUI_DIM),
                         vs_text_get(&text));
            vs_text_release(&text);
            return;
        }
        if (x < t->count && t->columns[x].phase == phase &&
            t->columns[x].step == t->columns[from].step)
            continue;
        tui_chart_piece(c, AXIS_W + from, y, x - from, tui_style(tui_phase_role((int)phase)),
                        tui_phase_text((int)phase, x - from));
        from = x;
    }
}

/* Numbers of steps at round distances, each where its step begins. */
static void draw_ticks(const struct timeline *t, struct tui_canvas *c, int y)
{
    static const int64_t ROUND[] = {1, 2, 5};
    int64_t every = 1;
    int64_t scale = 1;

    for (size_t i = 0; t->steps * TICK_COLUMNS > every * t->count; i++) {
        every = ROUND[i % 3] * scale;
        scale *= i % 3 == 2 ? 10 : 1;
    }
    for (int x = 1; x < t->count; x++) {
        int64_t step = t->columns[x].step;
        char buf[24];

        /* the first multiple of `every` after the step of the column before */
        if (step < 0 ||
            (t->columns[x - 1].step >= 0 && step / every == t->columns[x - 1].step / every))
            continue;
        snprintf(buf, sizeof(buf), "%" PRId64, step / every * every);
        tui_put_glyph(c, AXIS_W + x, y, TUI_G_VLINE, tui_style(TUI_LINE));
        tui_text_cut(c, AXIS_W + x + 1, y, t->count - x - 1, tui_style(TUI_DIM), buf);
    }
}

static void draw_steps(const struct timeline *t, struct tui_canvas *c, int y)
{
    if (is_dense(t)) {
        draw_ticks(t, c, y);
        return;
    }
    for (int from = 0, x = 1; x <= t->count; x++) {
        int64_t step = t->columns[from].step;
        struct vs_text text = {NULL, 0, 0};

        if (x < t->count && t->columns[x].step == step)
            continue;
        if (step >= 0)
            vs_text_addf(&text, "step %" PRId64, step);
        /* the number is what differs */
        if (tui_text_width(vs_text_get(&text)) > x - from) {
            vs_text_clear(&text);
            vs_text_addf(&text, "%" PRId64, step);
        }
        tui_chart_piece(c, AXIS_W + from, y, x - from,
                        tui_style_marked(TUI_DIM, step % 2 ? TUI_REVERSE : 0), vs_text_get(&text));
        vs_text_release(&text);
        from = x;
    }
}

static bool has_times(const struct timeline *t)
{
    return t->is_by_time && t->from_ns < t->to_ns;
}

/* Whether something is drawn on the axis at column `x`: the cursor, the range or a mark. */
static bool is_taken(const struct timeline *t, const struct tui_app *app, int x)
{
    int at = column_of(t->columns, t->count, app->at);
    int from = app->range_from ? column_of(t->columns, t->count, app->range_from) : at;

    if (at >= 0 && x >= (from < at ? from : at) && x <= (from < at ? at : from))
        return true;
    for (size_t i = 0; !app->change.is_shown && i < rpl_marks_count(app->marks); i++)
        if (column_of(t->columns, t->count, rpl_marks_at(app->marks, i)->seq) == x)
            return true;
    return false;
}

/* The first and the last event of the window, or their times; the last one where nothing else covers it. */
static void draw_axis(const struct timeline *t, const struct tui_app *app, struct tui_canvas *c,
                      int y)
{
    bool is_timed = has_times(t);
    char buf[TUI_SHORT_MAX];
    const char *last;
    int end = t->count;
    int w;

    tui_row(c, AXIS_W, y, t->count, TUI_G_HLINE, tui_style(TUI_LINE));
    tui_text_right(c, 0, y, AXIS_W - 1, tui_style(TUI_DIM),
                   is_timed ? tui_short_ns(t->from_ns, buf)
                            : tui_short_count(app->window.first, buf));
    last = is_timed ? tui_short_ns(t->to_ns, buf) : tui_short_count(app->window.last, buf);
    w = tui_text_width(last);
    for (int x = end - 1; x >= 0 && x >= end - w; x--)
        if (is_taken(t, app, x))
            end = x;
    if (end >= w && end >= t->count - 2 * w)
        tui_text_right(c, AXIS_W + end - w, y, w, tui_style(TUI_DIM), last);
}

static void draw_cursor(const struct timeline *t, const struct tui_app *app, struct tui_canvas *c,
                        const struct bands *bands)
{
    int x = column_of(t->columns, t->count, app->at);
    int from = app->range_from ? column_of(t->columns, t->count, app->range_from) : -1;
    int y;

    draw_axis(t, app, c, bands->axis);
    if (app->range_from && x >= 0) {
        int a = from < 0 ? (app->range_from < app->at ? 0 : t->count - 1) : from;

        tui_row(c, AXIS_W + (a < x ? a : x), bands->axis, (a < x ? x - a : a - x) + 1, TUI_G_DASHED,
                tui_style(TUI_CURSOR));
    }
    if (x < 0)
        return;
    y = tui_chart_row(t->columns[x].allocated_max, t->top, bands->chart_h);
    for (int row = 0; row < y; row++)
        if (tui_surface_cell(c->surface, c->at.x + AXIS_W + x, c->at.y + row)->ch == ' ')
            tui_put_glyph(c, AXIS_W + x, row, TUI_G_DOTTED, tui_style(TUI_CURSOR));
    tui_put_glyph(c, AXIS_W + x, bands->axis, TUI_G_UP, tui_style(TUI_CURSOR));
}

static void draw_marks(const struct timeline *t, const struct tui_app *app, struct tui_canvas *c,
                       int y)
{
    for (size_t i = 0; !app->change.is_shown && i < rpl_marks_count(app->marks); i++) {
        const struct rpl_mark *mark = rpl_marks_at(app->marks, i);
        int x = column_of(t->columns, t->count, mark->seq);

        /* where the cursor stands its mark is reversed */
        if (x >= 0)
            tui_text_cut(c, AXIS_W + x, y, 1,
                         x == column_of(t->columns, t->count, app->at)
                             ? tui_style_marked(TUI_CURSOR, TUI_REVERSE)
                             : tui_style(TUI_KEY_NAME),
                         mark->key);
    }
}

static void draw_brush(const struct timeline *t, const struct tui_app *app, struct tui_canvas *c,
                       int y)
{
    struct tui_chart chart = {t->brush, NULL, t->count, 0, false, false};
    int from = column_of(t->brush, t->count, app->window.first);
    int to = column_of(t->brush, t->count, app->window.last);

    chart.top = highest(t->brush, t->count, 1);
    tui_text_right(c, 0, y, AXIS_W - 1, tui_style(TUI_DIM), "run");
    tui_chart_spark(&chart, c, AXIS_W, y, tui_style(TUI_DIM));
    if (from >= 0 && to >= from && to - from + 1 < t->count)
        tui_mark(c, (struct tui_rect){AXIS_W + from, y, to - from + 1, 1}, TUI_REVERSE);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct timeline *t = state;
    struct bands bands = bands_of(c->at.h);
    struct tui_chart chart = {t->columns,  t->other_count ? t->other : NULL, t->count, t->top,
                              is_dense(t), tui_app_has_letters(app)};
    struct tui_canvas part =
        tui_canvas_part(c, (struct tui_rect){AXIS_W, 0, t->count, bands.chart_h});

    (void)is_focused;
    if (!t->count) {
        tui_text(c, 1, 0, tui_style(TUI_DIM), "no events");
        return;
    }
    tui_chart_axis(c, AXIS_W, bands.chart_h, t->top);
    draw_capacity(t, app, c, bands.chart_h);
    tui_chart_draw(&chart, &part);
    if (bands.phase >= 0)
        draw_phases(t, c, bands.phase);
    if (bands.step >= 0)
        draw_steps(t, c, bands.step);
    draw_peak(t, app, c, bands.chart_h);
    draw_cursor(t, app, c, &bands);
    draw_marks(t, app, c, bands.axis);
    if (bands.legend >= 0)
        tui_chart_legend(rpl_cursor_live(tui_app_run(app)->cursor)->by_category, c, bands.legend);
    if (bands.brush >= 0)
        draw_brush(t, app, c, bands.brush);
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct timeline *t = state;
    struct rpl_column column;
    struct vs_error err = VS_ERROR_INIT;
    char ns[TUI_SHORT_MAX];
    uint64_t first = app->range_from < app->at ? app->range_from : app->at;
    uint64_t last = app->range_from < app->at ? app->at : app->range_from;
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];

    if (has_times(t))
        vs_text_addf(out, "by time, here %s",
                     tui_short_ns(rpl_cursor_here(tui_app_run(app)->cursor).event.time_ns, ns));
    else if (t->is_by_time)
        vs_text_add(out, "the events of this run have no times");
    tui_derived_text(tui_app_run(app), out);
    if (app->change.is_run)
        vs_text_addf(out, "%sline: %s", out->len ? "  " : "",
                     app->change.name       ? (app->change.is_shown ? app->name : app->change.name)
                     : app->change.is_shown ? "as recorded"
                                            : "what if");
    if (!app->range_from || rpl_timeline_range(tui_app_run(app)->index, first, last, &column, &err))
        return;
    vs_text_addf(out, "%srange of %" PRIu64 " events: %s to %s", out->len ? "  " : "",
                 last - first + 1, vs_bytes_text(column.allocated_min, a),
                 vs_bytes_text(column.allocated_max, b));
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct tui_command zoom = {.action = TUI_ZOOM_IN, .count = count};
    struct timeline *t = state;

    if (action == TUI_MODE) {
        t->is_by_time = !t->is_by_time;
        app->moves++;
        return true;
    }
    if (action == TUI_OPEN) {
        if (rpl_cursor_live(tui_app_run(app)->cursor)->block_count)
            tui_app_view(app, "blocks");
        else
            tui_app_say(app, "nothing is alive here");
        return true;
    }
    if (action != TUI_UP && action != TUI_DOWN)
        return false;
    /* the timeline has no rows, so up zooms in and down zooms out */
    if (action == TUI_DOWN)
        zoom.action = TUI_ZOOM_OUT;
    tui_app_act(app, &zoom);
    return true;
}

static bool click(void *state, struct tui_app *app, int x, int y)
{
    const struct timeline *t = state;
    struct bands bands = bands_of(app->layout.panes[app->focus].h - 1);
    const struct rpl_column *columns = y == bands.brush ? t->brush : t->columns;

    x -= AXIS_W;
    if (x >= 0 && x < t->count)
        tui_app_go(app, y < bands.chart_h ? columns[x].max_seq : columns[x].first_seq, true);
    return true;
}

static void release(void *state)
{
    struct timeline *t = state;

    vs_free(t->columns);
    vs_free(t->other);
    vs_free(t->brush);
}

static const struct tui_hint HINTS[] = {
    {"h/l", "move"},
    {"j/k", "zoom"},
    {NULL, NULL},
};

const struct tui_view tui_view_timeline = {
    .name = "timeline",
    .title = "memory",
    .letter = 't',
    .scope = TUI_IN_TIMELINE,
    .go = TUI_GO_TIMELINE,
    .help = "h and l move by columns, j and k zoom, v and z zoom to a range, = to this training "
            "step, 0 to the whole run. t: columns of equal time instead of equally many events. A "
            "click goes to the peak of a column. The line over the bars is the other run, where "
            "there is one.",
    .hints = HINTS,
    .beside = "source",
    .state_size = sizeof(struct timeline),
    .sync = sync,
    .draw = draw,
    .key = key,
    .click = click,
    .title_more = title_more,
    .release = release,
};
