/*
 * tui/views/view_diff.c - the difference of the two runs: both in one chart, and the difference as rows that add up to
 * it.
 *
 * Must not know:  terminals, how blocks are counted (replay/diff/diff.h).
 * Invariant:      in every grouping the rows add up exactly to the total above them, and the sub-rows of a row to that
 *                 row.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/report/dropped.h"
#include "tui/app.h"
#include "tui/diff.h"
#include "tui/overlap.h"
#include "tui/parts/format.h"
#include "tui/views.h"
#include "tui/views/diff_rows.h"

/* Minimum heights of the view for the chart, for a line on the settings of both runs, and for the phases. */
#define CHART_MIN_H 9
#define MADE_MIN_H 14
#define PHASE_MIN_H 17
/*
 * Below the list the chosen row in full: from this height on, of at least so many rows where the view is high enough
 * for the settings, and of so many that the list keeps LIST_MIN_H.
 */
#define DETAIL_MIN_H 11
#define DETAIL_LEAST 2
#define LIST_MIN_H 2
#define CHART_MAX_H 12
/* Minimum width for the column `why`. */
#define WHY_MIN_W 60
#define NAME_MAX_W 44
#define NAME_MIN_W 18
#define FIGURES_W 25
/* Minimum width at which a row shows the shape of its tensor. */
#define SHAPE_MIN_W 110

/* The levels of comparison. */
enum scope { AT_PEAK, AT_CURSOR, IN_STEP, SAVED, SCOPE_COUNT };
static const char *const SCOPES[SCOPE_COUNT] = {"at the peak of each run", "at the cursor",
                                                "allocated in a step", "saved for backward"};
/* A row that was opened: only its sub-rows are shown. `key` is owned. */
struct opened {
    struct rpl_diff_inside row;
    char *key;
};

/*
 * serial, made_*   the comparison and settings for which the rows were built
 * held             of the chosen row held_row, a tensor: what holds it in A and in B, or released it
 * detail           the chosen row in full, and `held`
 * name_w           cells that the names of the rows need
 */
struct diff {
    struct tui_list list;
    enum scope scope;
    struct tui_diff_rows rows;
    struct opened opened[RPL_DIFF_BY_COUNT];
    size_t opened_count;
    struct rpl_peak at[2];
    struct tui_overlap overlap;
    int name_w;
    uint64_t serial;
    uint64_t moves;
    uint64_t event;
    bool is_b;
    bool is_stale;
    int w;
    struct vs_text failure;
    struct vs_text held;
    size_t held_row;
    struct tui_page detail;
};

/* ---- asking for the rows ---- */

static void opened_pop(struct diff *s)
{
    vs_free(s->opened[--s->opened_count].key);
    s->is_stale = true;
}

static enum vs_status part_take(const struct diff *s, struct tui_diff *made, int by,
                                const struct tui_app *app, struct rpl_diff_part *out,
                                struct vs_error *err)
{
    struct rpl_diff_inside inside[RPL_DIFF_BY_COUNT];
    struct rpl_diff_options options = {.by = (enum rpl_diff_by)by,
                                       .at = RPL_DIFF_AT_PEAK,
                                       .step = RPL_DIFF_STEP_LAST,
                                       .inside = inside,
                                       .inside_count = s->opened_count};
    enum rpl_diff_what what = RPL_DIFF_LIVE;
    uint64_t other = tui_diff_other(app);

    for (size_t i = 0; i < s->opened_count; i++)
        inside[i] = s->opened[i].row;
    switch (s->scope) {
    case AT_PEAK:
    case SCOPE_COUNT:
        break;
    case AT_CURSOR:
        options.at = RPL_DIFF_AT_EVENT;
        options.event_a = app->change.is_shown ? other : app->at;
        options.event_b = app->change.is_shown ? app->at : other;
        break;
    case IN_STEP:
        what = RPL_DIFF_STEP;
        break;
    case SAVED:
        what = RPL_DIFF_SAVED;
        break;
    }
    return rpl_diff_take(&made->diff, what, &options, out, err);
}

static void rows_fill(struct diff *s, struct tui_diff *made, const struct tui_app *app)
{
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = VS_OK;
    int by = s->rows.by == TUI_BY_MADE ? RPL_DIFF_CATEGORY : s->rows.by;

    tui_diff_rows_release(&s->rows);
    vs_text_clear(&s->failure);
    /* a category is explained by its modules, a module or a line by their tensors */
    if (by != RPL_DIFF_TENSOR)
        st = part_take(s, made, by == RPL_DIFF_CATEGORY ? RPL_DIFF_MODULE : RPL_DIFF_TENSOR, app,
                       &s->rows.finer, &err);
    if (!st)
        st = part_take(s, made, by, app, &s->rows.part, &err);
    if (st)
        vs_text_add(&s->failure, err.text);
    s->rows.diff = &made->diff;
    s->at[0] = made->diff.a.at;
    s->at[1] = made->diff.b.at;
}

/* ---- layout ---- */

/* Rows of the canvas at which each part is drawn; -1: not shown. */
struct bands {
    int made;
    int chart;
    int chart_h;
    bool has_phases;
    int head;
    int rows;
    int rows_h;
    int detail_h;
};

/* detail: rows that the chosen row needs in full. */
static struct bands bands_of(int h, int detail)
{
    struct bands bands = {.made = -1, .chart = -1};
    int y = 2;

    if (h >= MADE_MIN_H)
        bands.made = y++;
    if (h >= CHART_MIN_H) {
        bands.chart = y;
        bands.has_phases = h >= PHASE_MIN_H;
        bands.chart_h = (h - y - 2) * 2 / 5;
        if (bands.chart_h > CHART_MAX_H)
            bands.chart_h = CHART_MAX_H;
        bands.chart_h += 1 + bands.has_phases;
        y += bands.chart_h;
    }
    bands.head = y++;
    bands.rows = y;
    bands.detail_h = h < DETAIL_MIN_H                           ? 0
                     : h >= MADE_MIN_H && detail < DETAIL_LEAST ? DETAIL_LEAST
                                                                : detail;
    if (bands.detail_h > h - y - LIST_MIN_H)
        bands.detail_h = h - y - LIST_MIN_H < 0 ? 0 : h - y - LIST_MIN_H;
    bands.rows_h = h - y - bands.detail_h;
    return bands;
}

/* What holds the chosen row's tensor in each run, where both are at an event. */
static void held_fill(struct diff *s, const struct tui_app *app)
{
    struct rpl_index *const indices[2] = {app->base.index, app->change.run.index};
    const uint64_t events[2] = {s->at[0].event, s->at[1].event};

    vs_text_clear(&s->held);
    s->held_row = s->list.at;
    if (s->scope == AT_PEAK || s->scope == AT_CURSOR)
        tui_diff_held_text(&s->rows, s->list.at, indices, events, &s->held);
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct diff *s = state;
    bool is_new = s->is_stale || s->moves != app->moves;
    struct tui_diff *made = tui_diff_get(app);

    if (!made) {
        tui_diff_rows_release(&s->rows);
        s->is_stale = true;
        tui_list_fit(&s->list, 0, h);
        return;
    }
    if (s->serial != made->serial) {
        while (s->opened_count)
            opened_pop(s);
        s->is_stale = true;
    }
    if (s->is_stale ||
        (s->scope == AT_CURSOR && (s->event != app->at || s->is_b != app->change.is_shown)))
        rows_fill(s, made, app);
    if (s->serial != made->serial || s->moves != app->moves || s->w != w) {
        s->w = w;
        tui_overlap_fill(&s->overlap, app, w);
    }
    if (is_new || s->is_stale)
        s->name_w = tui_diff_names_width(&s->rows, w < SHAPE_MIN_W, NAME_MAX_W);
    s->serial = made->serial;
    s->moves = app->moves;
    s->event = app->at;
    s->is_b = app->change.is_shown;
    s->is_stale = false;
    tui_list_fit(&s->list, tui_diff_rows_count(&s->rows), bands_of(h, 0).rows_h);
    if (is_new || s->held_row != s->list.at)
        held_fill(s, app);
    tui_diff_detail_fill(&s->rows, s->list.at, vs_text_get(&s->held), w, &s->detail);
    tui_list_fit(&s->list, s->list.count, bands_of(h, (int)s->detail.count).rows_h);
}

/* ---- drawing the head ---- */

static const char *side_name(const struct tui_app *app, bool is_b)
{
    return !is_b ? app->name : app->change.name ? app->change.name : "what if";
}

/* "A 61.3 MiB @1432 step 2 backward, softmax of layers.11  base.db" */
static void draw_side(const struct diff *s, const struct tui_app *app, bool is_b,
                      struct tui_canvas *c, int y)
{
    const struct rpl_diff_side *side = is_b ? &app->change.diff->diff.b : &app->change.diff->diff.a;
    const struct rpl_peak *at = &s->at[is_b];
    const struct vs_location *location = rpl_trace_location(side->trace, at->location);
    const char *op = rpl_trace_string(side->trace, location->op);
    const char *module = rpl_trace_string(side->trace, location->module);
    const char *kept = !is_b && rpl_has_dropped(app->base.trace) ? ", what was kept" : "";
    bool is_at_event = s->scope == AT_PEAK || s->scope == AT_CURSOR;
    struct vs_text text = {NULL, 0, 0};
    char buf[VS_BYTES_TEXT_MAX];
    int x;

    tui_put(c, 1, y, is_b ? 'B' : 'A',
            tui_style_marked(is_b ? TUI_SIDE_B : TUI_SIDE_A, TUI_REVERSE));
    x = tui_textf(c, 3, y, tui_style(TUI_STRONG), "%10s",
                  tui_app_bytes(app,
                                is_at_event ? at->allocated
                                : is_b      ? s->rows.part.b
                                            : s->rows.part.a,
                                buf));
    if (is_at_event) {
        vs_text_addf(&text, " @%" PRIu64 " ", at->event);
        if (at->step >= 0)
            vs_text_addf(&text, "step %" PRId64 " ", at->step);
        vs_text_addf(&text, "%s%s%s%s%s%s", vs_phase_name(at->phase), *op ? ", " : "", op,
                     *module ? " of " : "", module, at->is_recompute ? " (run again)" : "");
    }
    if (x + tui_text_width(vs_text_get(&text)) + 2 + tui_text_width(side_name(app, is_b)) +
            tui_text_width(kept) <
        c->at.w)
        vs_text_addf(&text, "  %s", side_name(app, is_b));
    vs_text_add(&text, kept);
    tui_text_cut(c, x, y, c->at.w - x, tui_style(TUI_PLAIN), vs_text_get(&text));
    vs_text_release(&text);
}

/* How well the two runs match, and what is configured differently: the rows by configuration have it whole. */
static void draw_made(const struct tui_app *app, struct tui_canvas *c, int y)
{
    const struct rpl_diff *diff = &app->change.diff->diff;
    uint64_t most = diff->align.a.alloc_count > diff->align.b.alloc_count
                        ? diff->align.a.alloc_count
                        : diff->align.b.alloc_count;
    struct vs_text text = {NULL, 0, 0};

    vs_text_addf(&text, "%.1f %% match",
                 most ? 100.0 * (double)diff->paired / (double)most : 100.0);
    if (diff->only_a || diff->only_b)
        vs_text_addf(&text, ", only in A %" PRIu64 ", in B %" PRIu64, diff->only_a, diff->only_b);
    if (diff->moved)
        vs_text_addf(&text, ", %" PRIu64 " moved", diff->moved);
    for (size_t i = 0; i < diff->toggle_count; i++)
        vs_text_addf(&text, "%s%s %s -> %s", i ? ", " : "; ", diff->toggles[i].name,
                     diff->toggles[i].a ? diff->toggles[i].a : "?",
                     diff->toggles[i].b ? diff->toggles[i].b : "?");
    if (diff->line_count)
        vs_text_addf(&text, "%s%zu lines of the net differ", diff->toggle_count ? ", " : "; ",
                     diff->line_count);
    tui_text_cut(c, 1, y, c->at.w - 1, tui_style(TUI_DIM), vs_text_get(&text));
    vs_text_release(&text);
}

/* ---- drawing the rows ---- */

/* Column at which the figures begin: as far right as the names need, where reasons follow them. */
static int figures_x(const struct diff *s, int w)
{
    int most = w * 2 / 5 < NAME_MAX_W ? w * 2 / 5 : NAME_MAX_W;
    int name = s->name_w + 4 < NAME_MIN_W ? NAME_MIN_W : s->name_w + 4;

    if (w < WHY_MIN_W)
        return w - FIGURES_W > 4 ? w - FIGURES_W : 4;
    return name < most ? name : most;
}

static const char *by_name(int by)
{
    return by == TUI_BY_MADE ? "configuration" : rpl_diff_by_name((enum rpl_diff_by)by);
}

/* The totals above the rows. */
static void draw_head(const struct diff *s, struct tui_canvas *c, int y)
{
    struct tui_style style = tui_style_marked(TUI_STRONG, TUI_UNDERLINE);
    int x = figures_x(s, c->at.w);
    char buf[TUI_SHORT_MAX];
    struct vs_text text = {NULL, 0, 0};

    tui_fill(c, (struct tui_rect){0, y, c->at.w, 1}, style);
    if (s->rows.by == TUI_BY_MADE) {
        tui_text(c, 1, y, style, "toggles, and lines of the net: - only in A, + only in B");
        return;
    }
    vs_text_addf(&text, "by %s: all", by_name(s->rows.by));
    tui_text_cut(c, 1, y, x - 1, style, vs_text_get(&text));
    vs_text_release(&text);
    tui_textf(c, x, y, style, "A %6s", tui_short_bytes(s->rows.part.a, buf));
    tui_textf(c, x + 9, y, style, "B %6s", tui_short_bytes(s->rows.part.b, buf));
    tui_textf(c, x + 18, y, style, "%7s",
              tui_short_delta((int64_t)(s->rows.part.b - s->rows.part.a), buf));
    if (c->at.w >= WHY_MIN_W)
        tui_text(c, x + 27, y, style, "why");
}

static void draw_row(const struct diff *s, const struct rpl_diff_row *row, struct tui_canvas *c,
                     int y)
{
    int x = figures_x(s, c->at.w);
    int64_t change = (int64_t)(row->b - row->a);
    struct vs_text text = {NULL, 0, 0};
    char buf[TUI_SHORT_MAX];

    tui_put(c, 1, y, (unsigned char)tui_category_letter((int)row->category),
            tui_style(tui_category_role((int)row->category)));
    tui_diff_name_text(&s->rows, row, c->at.w < SHAPE_MIN_W, &text);
    if (s->rows.by == RPL_DIFF_MODULE)
        tui_text_tail(c, 3, y, x - 4, tui_style(TUI_PLAIN), vs_text_get(&text));
    else
        tui_text_cut(c, 3, y, x - 4, tui_style(TUI_PLAIN), vs_text_get(&text));
    tui_text_right(c, x, y, 8, tui_style(row->a ? TUI_PLAIN : TUI_DIM),
                   tui_short_bytes(row->a, buf));
    tui_text_right(c, x + 9, y, 8, tui_style(row->b ? TUI_PLAIN : TUI_DIM),
                   tui_short_bytes(row->b, buf));
    tui_text_right(c, x + 18, y, 7,
                   tui_style(change > 0   ? TUI_BAD
                             : change < 0 ? TUI_GOOD
                                          : TUI_DIM),
                   tui_short_delta(change, buf));
    vs_text_clear(&text);
    if (c->at.w >= WHY_MIN_W)
        tui_diff_why_text(&s->rows, row, &text);
    tui_text_cut(c, x + 27, y, c->at.w - x - 27, tui_style(TUI_DIM), vs_text_get(&text));
    vs_text_release(&text);
}

static void draw_made_row(const struct diff *s, size_t i, struct tui_canvas *c, int y)
{
    const struct rpl_diff *diff = s->rows.diff;
    struct vs_text text = {NULL, 0, 0};
    enum tui_role role = TUI_STRONG;

    if (i >= diff->toggle_count) {
        const struct rpl_diff_line *line = &diff->lines[i - diff->toggle_count];

        role = !line->b ? TUI_SIDE_A : line->a ? TUI_PLAIN : TUI_SIDE_B;
    }
    tui_diff_row_text(&s->rows, i, false, &text);
    tui_text_cut(c, 1, y, c->at.w - 1, tui_style(role), vs_text_get(&text));
    vs_text_release(&text);
}

static void draw_rows(const struct diff *s, struct tui_canvas *c, const struct bands *bands,
                      bool is_focused)
{
    draw_head(s, c, bands->head);
    if (!s->list.count)
        tui_text(c, 1, bands->rows, tui_style(TUI_DIM),
                 s->rows.by == TUI_BY_MADE ? "same toggles, same net" : "nothing in either run");
    for (int y = bands->rows; y < bands->rows + bands->rows_h; y++) {
        size_t i = s->list.top + (size_t)(y - bands->rows);

        if (i >= s->list.count)
            break;
        if (s->rows.by == TUI_BY_MADE)
            draw_made_row(s, i, c, y);
        else
            draw_row(s, &s->rows.part.rows[i], c, y);
        tui_list_mark(&s->list, i, c, y, is_focused);
    }
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    (void)app;
    tui_diff_row_text(&((const struct diff *)state)->rows, row, true, out);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct diff *s = state;
    struct bands bands = bands_of(c->at.h, (int)s->detail.count);
    struct tui_canvas chart =
        tui_canvas_part(c, (struct tui_rect){0, bands.chart, c->at.w, bands.chart_h});

    if (!tui_diff_pairs(app) || s->failure.len) {
        tui_text(c, 1, 0, tui_style(TUI_DIM),
                 s->failure.len ? vs_text_get(&s->failure) : tui_diff_missing(app));
        return;
    }
    draw_side(s, app, false, c, 0);
    draw_side(s, app, true, c, 1);
    if (bands.made >= 0)
        draw_made(app, c, bands.made);
    if (bands.chart >= 0)
        tui_overlap_draw(&s->overlap, app, &chart, bands.has_phases);
    draw_rows(s, c, &bands, is_focused);
    for (int i = 0; i < bands.detail_h && (size_t)i < s->detail.count; i++)
        tui_text(c, 0, c->at.h - bands.detail_h + i, tui_style(s->detail.lines[i].parts[0].role),
                 vs_text_get(&s->detail.lines[i].text));
}

/* ---- keys ---- */

/* Open the chosen row: its sub-rows; of a tensor, go to its allocation. */
static void row_open(struct diff *s, struct tui_app *app)
{
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    const struct rpl_diff_row *row;
    struct opened *opened;

    if (s->rows.by == TUI_BY_MADE || !s->list.count)
        return;
    row = &s->rows.part.rows[s->list.at];
    if (s->rows.by == RPL_DIFF_TENSOR) {
        bool is_b = row->alloc_a == NULL;

        tui_diff_go(app, rpl_pairs_at(pairs, is_b, (is_b ? row->alloc_b : row->alloc_a)->seq),
                    true);
        tui_app_view(app, "pairs");
        return;
    }
    VS_ASSERT(s->opened_count < RPL_DIFF_BY_COUNT);
    opened = &s->opened[s->opened_count++];
    opened->key = vs_strdup(row->key);
    opened->row = (struct rpl_diff_inside){(enum rpl_diff_by)s->rows.by, opened->key, row->category,
                                           row->line_a, row->line_b};
    s->rows.by = s->rows.by == RPL_DIFF_CATEGORY ? RPL_DIFF_MODULE : RPL_DIFF_TENSOR;
    s->list.at = 0;
    s->is_stale = true;
}

/* Close the row that was opened last; it is chosen again. */
static void row_leave(struct diff *s)
{
    s->rows.by = (int)s->opened[s->opened_count - 1].row.by;
    opened_pop(s);
    s->list.at = 0;
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct diff *s = state;

    if (!tui_diff_pairs(app))
        return tui_diff_key_missing(app, action);
    if (action == TUI_DIFF_NEXT || action == TUI_DIFF_BACK) {
        tui_diff_next(app, action == TUI_DIFF_BACK, count);
    } else if (action == TUI_MODE) {
        while (s->opened_count)
            opened_pop(s);
        s->rows.by = (s->rows.by + 1) % TUI_BY_COUNT;
        s->list.at = 0;
        s->is_stale = true;
    } else if (action == TUI_ACT) {
        s->scope = (enum scope)((s->scope + 1) % SCOPE_COUNT);
        s->is_stale = true;
        tui_app_say(app, "differences %s", SCOPES[s->scope]);
    } else if (action == TUI_OPEN) {
        row_open(s, app);
    } else if ((action == TUI_CLOSE || action == TUI_RESET) && s->opened_count) {
        row_leave(s);
    } else {
        return false;
    }
    app->moves++;
    return true;
}

static bool click(void *state, struct tui_app *app, int x, int y)
{
    struct diff *s = state;
    struct bands bands = bands_of(app->layout.panes[app->focus].h - 1, (int)s->detail.count);

    if (y >= bands.rows) {
        size_t row = s->list.top + (size_t)(y - bands.rows);

        if (row < s->list.count && y < bands.rows + bands.rows_h)
            s->list.at = row;
    } else if (bands.chart >= 0 && y >= bands.chart && y < bands.head) {
        tui_diff_go(app, tui_overlap_row(&s->overlap, x), true);
    }
    return true;
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct diff *s = state;
    char buf[VS_BYTES_TEXT_MAX];

    if (!tui_diff_pairs(app) || s->failure.len)
        return;
    vs_text_addf(out, "B - A %s",
                 vs_bytes_delta_text((int64_t)(s->rows.part.b - s->rows.part.a), buf));
    if (s->rows.part.a)
        vs_text_addf(out, " (%s)",
                     vs_change_text((double)s->rows.part.a, (double)s->rows.part.b, buf));
    for (size_t i = 0; i < s->opened_count; i++) {
        vs_text_add(out, i ? " > " : "  in ");
        if (s->opened[i].row.by == RPL_DIFF_LINE && !s->opened[i].row.line_a &&
            !s->opened[i].row.line_b)
            vs_text_add(out, "on no line");
        else if (s->opened[i].row.by == RPL_DIFF_LINE)
            vs_text_addf(out, "line %" PRIu32,
                         s->opened[i].row.line_b ? s->opened[i].row.line_b
                                                 : s->opened[i].row.line_a);
        else
            vs_text_add(out, *s->opened[i].key ? s->opened[i].key : "(the model itself)");
    }
    vs_text_addf(out, "  %s", SCOPES[s->scope]);
    if (s->scope == IN_STEP && app->change.diff->diff.options.step >= 0)
        vs_text_addf(out, " (step %" PRId64 ")", app->change.diff->diff.options.step);
}

static void release(void *state)
{
    struct diff *s = state;

    while (s->opened_count)
        opened_pop(s);
    tui_diff_rows_release(&s->rows);
    tui_overlap_release(&s->overlap);
    vs_text_release(&s->failure);
    vs_text_release(&s->held);
    tui_page_release(&s->detail);
}

static const struct tui_hint HINTS[] = {
    {"t", "by"},        {"space", "when"}, {"enter", "inside"}, {"n/N", "difference"},
    {"D", "other run"}, {"gD", "events"},  {NULL, NULL},
};

const struct tui_view tui_view_diff = {
    .name = "diff",
    .title = "difference",
    .letter = 'd',
    .scope = TUI_IN_DIFF,
    .go = TUI_GO_DIFF,
    .help = "A is the run before, B the run after: a second trace, or the what-if. In the chart, = "
            "is memory that both have, A and B what one of them has in addition; events that "
            "correspond share a column. t: rows by category, module, line, tensor, or by how the "
            "runs were configured. Space: compare at the peaks, at the cursor, all allocations of "
            "a step, or what is saved for backward. Enter opens a row, q closes it. n and N: next "
            "and previous difference; / and enter continue a search.",
    .hints = HINTS,
    .beside = "pairs",
    .state_size = sizeof(struct diff),
    .is_list = true,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .click = click,
    .title_more = title_more,
    .release = release,
};
