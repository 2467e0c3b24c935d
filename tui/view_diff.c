/*
 * tui/view_diff.c - what differs between the two runs: both over each other on one axis, and the difference in rows that add up to it.
 *
 * Must not know:  terminals, how blocks are counted (replay/diff.h).
 * Invariant:      the rows add up to what stands above them, to the byte, by whichever grouping, and so does what is inside a row.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "tui/app.h"
#include "tui/chart.h"
#include "tui/diff.h"
#include "tui/format.h"
#include "tui/views.h"

#define AXIS_W 7
/* Heights from which there is a chart; a line about how the runs were made, and one that says all of the chosen row; the phases. */
#define CHART_MIN_H 9
#define MADE_MIN_H 14
#define PHASE_MIN_H 17
/* From this width on a row has room to say why. */
#define WHY_MIN_W 60
#define NAME_MAX_W 44
#define CATEGORY_W 18
#define FIGURES_W 25
/* From this width on a tensor's shape is in its row. */
#define SHAPE_MIN_W 110

/* What is compared. */
enum look { AT_PEAK, AT_CURSOR, IN_STEP, SAVED, LOOK_COUNT };
/* By what: those of replay/diff.h, and how the two were made: toggles, lines of the net. */
#define BY_MADE RPL_DIFF_BY_COUNT
#define BY_TOTAL (RPL_DIFF_BY_COUNT + 1)

/* A row that has been opened: only what is in it is shown. `key` is owned. */
struct opened {
    struct rpl_diff_inside row;
    char *key;
};

/*
 * part, finer   the rows, and those of the next grouping, which say why
 * sides         the chart: first_row … last_row of the pairs in `count` columns
 * serial, made_*   what they were made for
 */
struct diff {
    struct tui_list list;
    enum look look;
    int by;
    struct opened opened[RPL_DIFF_BY_COUNT];
    size_t opened_count;
    struct rpl_diff_part part;
    struct rpl_diff_part finer;
    struct rpl_peak at[2];
    struct tui_sides *sides;
    bool *differs;
    int count;
    size_t first_row;
    size_t last_row;
    uint64_t top;
    uint64_t serial;
    uint64_t moves;
    uint64_t event;
    bool is_b;
    bool is_stale;
    int w;
    struct vs_text failure;
};

/* ---- asking for the rows ---- */

static void parts_release(struct diff *s)
{
    rpl_diff_part_release(&s->part);
    rpl_diff_part_release(&s->finer);
}

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
    enum rpl_diff_what what = RPL_DIFF_MOMENT;
    uint64_t other = tui_diff_other(app);

    for (size_t i = 0; i < s->opened_count; i++)
        inside[i] = s->opened[i].row;
    switch (s->look) {
    case AT_PEAK:
    case LOOK_COUNT:
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

static void rows_ask(struct diff *s, struct tui_diff *made, const struct tui_app *app)
{
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = VS_OK;
    int by = s->by == BY_MADE ? RPL_DIFF_CATEGORY : s->by;

    parts_release(s);
    vs_text_clear(&s->failure);
    /* what says why of a category is its modules, of a module and a line their tensors */
    if (by != RPL_DIFF_TENSOR)
        st = part_take(s, made, by == RPL_DIFF_CATEGORY ? RPL_DIFF_MODULE : RPL_DIFF_TENSOR, app,
                       &s->finer, &err);
    if (!st)
        st = part_take(s, made, by, app, &s->part, &err);
    if (st)
        vs_text_add(&s->failure, err.text);
    s->at[0] = made->diff.a.at;
    s->at[1] = made->diff.b.at;
}

/* ---- asking for the chart ---- */

/* The rows behind the window of the run that is shown. */
static void rows_window(struct diff *s, const struct tui_app *app, const struct rpl_pairs *pairs)
{
    bool is_b = app->change.is_shown;
    bool is_whole = app->window.first <= 1 && app->window.last >= tui_app_run(app)->events;
    size_t first = rpl_pairs_at(pairs, is_b, app->window.first);
    size_t last = rpl_pairs_at(pairs, is_b, app->window.last);

    s->first_row = is_whole || first == SIZE_MAX ? 0 : first;
    s->last_row = is_whole || last == SIZE_MAX ? pairs->row_count - 1 : last;
    if (s->last_row < s->first_row)
        s->last_row = s->first_row;
}

/* The first row of column x. */
static size_t column_row(const struct diff *s, int x)
{
    uint64_t rows = s->last_row - s->first_row + 1;

    return s->first_row + (size_t)((uint64_t)x * rows / (uint64_t)s->count);
}

/* The column of a row; -1: not in the window. */
static int column_of(const struct diff *s, size_t row)
{
    uint64_t rows = s->last_row - s->first_row + 1;
    uint64_t x;

    if (row == SIZE_MAX || row < s->first_row || row > s->last_row)
        return -1;
    x = ((uint64_t)(row - s->first_row) * (uint64_t)s->count) / rows;
    /* columns begin at rounded rows */
    while (x + 1 < (uint64_t)s->count && column_row(s, (int)x + 1) <= row)
        x++;
    return (int)x;
}

static void chart_ask(struct diff *s, const struct tui_app *app, const struct rpl_pairs *pairs)
{
    s->count = pairs->row_count && s->w > AXIS_W ? s->w - AXIS_W : 0;
    s->top = 1;
    if (!s->count)
        return;
    s->sides = vs_realloc(s->sides, (size_t)s->count, sizeof(*s->sides));
    s->differs = vs_realloc(s->differs, (size_t)s->count, sizeof(*s->differs));
    rows_window(s, app, pairs);
    for (int x = 0; x < s->count; x++) {
        size_t first = column_row(s, x);
        size_t end = x + 1 < s->count ? column_row(s, x + 1) : s->last_row + 1;
        size_t last = end > first ? end - 1 : first;
        struct rpl_pair_top top = rpl_pairs_top(pairs, first, last);
        size_t stretch = rpl_pairs_stretch(pairs, first);

        s->sides[x] = (struct tui_sides){pairs->rows[top.a].total_a, pairs->rows[top.b].total_b};
        s->differs[x] = stretch < pairs->stretch_count && pairs->stretches[stretch].first <= last;
        if (s->sides[x].a > s->top)
            s->top = s->sides[x].a;
        if (s->sides[x].b > s->top)
            s->top = s->sides[x].b;
    }
    s->top += s->top / 32;
}

/* ---- where things stand ---- */

/* Rows of the canvas; -1: not there. */
struct bands {
    int made;
    int chart;
    int chart_h;
    int phase;
    int axis;
    int head;
    int rows;
    int rows_h;
};

static struct bands bands_of(int h)
{
    struct bands bands = {.made = -1, .chart = -1, .chart_h = 0, .phase = -1, .axis = -1};
    int y = 2;

    if (h >= MADE_MIN_H)
        bands.made = y++;
    if (h >= CHART_MIN_H) {
        bands.chart = y;
        bands.chart_h = (h - y - 2) * 2 / 5;
        if (bands.chart_h > 12)
            bands.chart_h = 12;
        y += bands.chart_h;
        if (h >= PHASE_MIN_H)
            bands.phase = y++;
        bands.axis = y++;
    }
    bands.head = y++;
    bands.rows = y;
    bands.rows_h = h - y - (h >= MADE_MIN_H);
    return bands;
}

static size_t row_count(const struct diff *s, const struct tui_app *app)
{
    const struct tui_diff *made = app->change.diff;

    if (!tui_diff_pairs(app))
        return 0;
    if (s->by == BY_MADE)
        return made->diff.toggle_count + made->diff.line_count;
    return s->part.row_count;
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct diff *s = state;
    struct tui_diff *made = tui_diff_get(app);
    struct bands bands = bands_of(h);

    if (!made) {
        tui_list_fit(&s->list, 0, h);
        return;
    }
    if (s->serial != made->serial) {
        while (s->opened_count)
            opened_pop(s);
        s->is_stale = true;
    }
    if (s->is_stale ||
        (s->look == AT_CURSOR && (s->event != app->at || s->is_b != app->change.is_shown)))
        rows_ask(s, made, app);
    if (s->serial != made->serial || s->moves != app->moves || s->w != w) {
        s->w = w;
        chart_ask(s, app, &made->diff.pairs);
    }
    s->serial = made->serial;
    s->moves = app->moves;
    s->event = app->at;
    s->is_b = app->change.is_shown;
    s->is_stale = false;
    tui_list_fit(&s->list, row_count(s, app), bands.rows_h);
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
    const struct vs_place *place = rpl_trace_place(side->trace, at->place);
    const char *op = rpl_trace_string(side->trace, place->op);
    const char *module = rpl_trace_string(side->trace, place->module);
    bool is_moment = s->look == AT_PEAK || s->look == AT_CURSOR;
    struct vs_text text = {NULL, 0, 0};
    char buf[VS_BYTES_TEXT_MAX];
    int x;

    tui_put(c, 1, y, is_b ? 'B' : 'A',
            tui_style_marked(is_b ? TUI_SIDE_B : TUI_SIDE_A, TUI_REVERSE));
    x = tui_textf(c, 3, y, tui_style(TUI_STRONG), "%10s",
                  tui_app_bytes(app,
                                is_moment ? at->allocated
                                : is_b    ? s->part.b
                                          : s->part.a,
                                buf));
    if (is_moment) {
        vs_text_addf(&text, " @%" PRIu64 " ", at->event);
        if (at->step >= 0)
            vs_text_addf(&text, "step %" PRId64 " ", at->step);
        vs_text_addf(&text, "%s%s%s%s%s%s", vs_phase_name(at->phase), *op ? ", " : "", op,
                     *module ? " of " : "", module, at->is_recompute ? " (run again)" : "");
    }
    vs_text_addf(&text, "  %s", side_name(app, is_b));
    tui_text_cut(c, x, y, c->at.w - x, tui_style(TUI_PLAIN), vs_text_get(&text));
    vs_text_release(&text);
}

/* How the two were made, and how well they match. */
static void draw_made(const struct tui_app *app, struct tui_canvas *c, int y)
{
    const struct rpl_diff *diff = &app->change.diff->diff;
    uint64_t most = diff->align.a.alloc_count > diff->align.b.alloc_count
                        ? diff->align.a.alloc_count
                        : diff->align.b.alloc_count;
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = 0; i < diff->toggle_count; i++)
        vs_text_addf(&text, "%s %s -> %s, ", diff->toggles[i].name,
                     diff->toggles[i].a ? diff->toggles[i].a : "?",
                     diff->toggles[i].b ? diff->toggles[i].b : "?");
    if (diff->line_count)
        vs_text_addf(&text, "%zu lines of the net, ", diff->line_count);
    vs_text_addf(&text, "%.1f %% match",
                 most ? 100.0 * (double)diff->paired / (double)most : 100.0);
    if (diff->only_a || diff->only_b)
        vs_text_addf(&text, ", only in A %" PRIu64 ", in B %" PRIu64, diff->only_a, diff->only_b);
    if (diff->moved)
        vs_text_addf(&text, ", %" PRIu64 " moved", diff->moved);
    tui_text_cut(c, 1, y, c->at.w - 1, tui_style(TUI_DIM), vs_text_get(&text));
    vs_text_release(&text);
}

/* ---- drawing the chart ---- */

static enum vs_phase row_phase(const struct rpl_pairs *pairs, size_t row)
{
    const struct rpl_pair_row *r = &pairs->rows[row];
    bool is_b = !r->alloc_a;
    const struct rpl_align_side *side = is_b ? &pairs->align->b : &pairs->align->a;
    const struct rpl_alloc *alloc = &side->allocs[(is_b ? r->alloc_b : r->alloc_a) - 1];

    return (enum vs_phase)rpl_trace_place(side->trace,
                                          r->is_free ? alloc->free_place : alloc->place)
        ->phase;
}

static void draw_phases(const struct diff *s, const struct rpl_pairs *pairs, struct tui_canvas *c,
                        int y)
{
    int from = 0;

    for (int x = 1; x <= s->count; x++) {
        enum vs_phase phase = row_phase(pairs, column_row(s, from));

        if (x < s->count && row_phase(pairs, column_row(s, x)) == phase)
            continue;
        tui_chart_piece(c, AXIS_W + from, y, x - from, tui_style(tui_phase_role((int)phase)),
                        vs_phase_name(phase));
        from = x;
    }
}

/* The axis: where the two differ, their peaks, where one is. */
static void draw_axis(const struct diff *s, const struct tui_app *app, struct tui_canvas *c, int y)
{
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    int at = column_of(s, tui_diff_row(app));
    int peaks[2] = {column_of(s, rpl_pairs_at(pairs, false, app->base.top.event)),
                    column_of(s, rpl_pairs_at(pairs, true, app->change.run.top.event))};

    tui_text_right(c, 0, y, AXIS_W - 1, tui_style(TUI_DIM), "differ");
    tui_row(c, AXIS_W, y, s->count, TUI_G_HLINE, tui_style(TUI_LINE));
    for (int x = 0; x < s->count; x++)
        if (s->differs[x])
            tui_put_glyph(c, AXIS_W + x, y, TUI_G_DASHED, tui_style(TUI_BAD));
    for (int i = 0; i < 2; i++)
        if (peaks[i] >= 0)
            tui_put(c, AXIS_W + peaks[i], y, i ? 'B' : 'A',
                    tui_style_marked(i ? TUI_SIDE_B : TUI_SIDE_A, TUI_BOLD));
    if (at >= 0)
        tui_put_glyph(c, AXIS_W + at, y, TUI_G_UP, tui_style(TUI_CURSOR));
}

static void draw_chart(const struct diff *s, const struct tui_app *app, struct tui_canvas *c,
                       const struct bands *bands)
{
    struct tui_canvas scale =
        tui_canvas_part(c, (struct tui_rect){0, bands->chart, AXIS_W, bands->chart_h});
    struct tui_canvas part =
        tui_canvas_part(c, (struct tui_rect){AXIS_W, bands->chart, s->count, bands->chart_h});

    tui_chart_axis(&scale, AXIS_W, bands->chart_h, s->top);
    tui_chart_sides(s->sides, s->count, s->top, tui_app_has_letters(app), &part);
    if (bands->phase >= 0)
        draw_phases(s, tui_diff_pairs(app), c, bands->phase);
    draw_axis(s, app, c, bands->axis);
}

/* ---- drawing the rows ---- */

/* Where the columns of figures begin: as far right as names need, where why stands behind them. */
static int figures_x(const struct diff *s, int w)
{
    int name = s->by == RPL_DIFF_CATEGORY ? CATEGORY_W : w * 2 / 5;

    if (w < WHY_MIN_W)
        name = w - FIGURES_W;
    if (name > NAME_MAX_W && w >= WHY_MIN_W)
        name = NAME_MAX_W;
    return name > 4 ? name : 4;
}

static const char *by_name(int by)
{
    return by == BY_MADE ? "how they were made" : rpl_diff_by_name((enum rpl_diff_by)by);
}

/* Above the rows, what they add up to. */
static void draw_head(const struct diff *s, struct tui_canvas *c, int y)
{
    struct tui_style style = tui_style_marked(TUI_STRONG, TUI_UNDERLINE);
    int x = figures_x(s, c->at.w);
    char buf[TUI_SHORT_MAX];
    struct vs_text text = {NULL, 0, 0};

    tui_fill(c, (struct tui_rect){0, y, c->at.w, 1}, style);
    if (s->by == BY_MADE) {
        tui_text(c, 1, y, style, "toggles, and lines of the net: - only in A, + only in B");
        return;
    }
    vs_text_addf(&text, "by %s: all", by_name(s->by));
    tui_text_cut(c, 1, y, x - 1, style, vs_text_get(&text));
    vs_text_release(&text);
    tui_textf(c, x, y, style, "A %6s", tui_short_bytes(s->part.a, buf));
    tui_textf(c, x + 9, y, style, "B %6s", tui_short_bytes(s->part.b, buf));
    tui_textf(c, x + 18, y, style, "%7s", tui_short_delta((int64_t)(s->part.b - s->part.a), buf));
    if (c->at.w >= WHY_MIN_W)
        tui_text(c, x + 27, y, style, "why");
}

/* How much of the change of `row` another row has, in its direction. */
static int64_t share_of(const struct rpl_diff_row *row, const struct rpl_diff_row *other)
{
    int64_t change = (int64_t)(other->b - other->a);

    return row->b >= row->a ? change : -change;
}

/* "layers.11.attn" is one of "layers.*.attn". */
static void add_kind(const char *path, struct vs_text *out)
{
    while (*path) {
        size_t len = strcspn(path, ".");
        bool is_number = len && strspn(path, "0123456789") >= len;

        vs_text_add_n(out, is_number ? "*" : path, is_number ? 1 : len);
        path += len;
        if (*path)
            vs_text_add_char(out, *path++);
    }
}

/* Which modules have most of the change of a category, those that differ in a number taken together. */
static void why_modules(const struct diff *s, const struct rpl_diff_row *row, struct vs_text *out)
{
    struct vs_text *kinds = vs_calloc(s->finer.row_count + 1, sizeof(*kinds));
    int64_t *shares = vs_calloc(s->finer.row_count + 1, sizeof(*shares));
    size_t count = 0;
    size_t best = 0;
    char buf[TUI_SHORT_MAX];

    for (size_t i = 0; i < s->finer.row_count; i++) {
        const struct rpl_diff_row *module = &s->finer.rows[i];
        size_t k = 0;

        if (module->category != row->category)
            continue;
        add_kind(module->key, &kinds[count]);
        while (strcmp(vs_text_get(&kinds[k]), vs_text_get(&kinds[count])) != 0)
            k++;
        shares[k] += share_of(row, module);
        if (k == count)
            count++;
        else
            vs_text_clear(&kinds[count]);
    }
    for (size_t k = 1; k < count; k++)
        if (shares[k] > shares[best])
            best = k;
    if (count && shares[best] > 0)
        vs_text_addf(out, "%s %s",
                     tui_short_delta(row->b >= row->a ? shares[best] : -shares[best], buf),
                     kinds[best].len ? vs_text_get(&kinds[best]) : "(the model itself)");
    for (size_t k = 0; k <= count; k++)
        vs_text_release(&kinds[k]);
    vs_free(kinds);
    vs_free(shares);
}

/* Of a module or a line: which tensor has most of its change, and what became of it. */
static void why_tensor(const struct diff *s, const struct rpl_diff *diff,
                       const struct rpl_diff_row *row, struct vs_text *out)
{
    const struct rpl_diff_row *best = NULL;
    char buf[TUI_SHORT_MAX];

    for (size_t i = 0; i < s->finer.row_count; i++) {
        const struct rpl_diff_row *tensor = &s->finer.rows[i];

        if (tensor->category != row->category ||
            share_of(row, tensor) <= (best ? share_of(row, best) : 0))
            continue;
        if (s->by == RPL_DIFF_MODULE
                ? strcmp(row->key, tensor->module) == 0
                : row->line_a == tensor->line_a && row->line_b == tensor->line_b)
            best = tensor;
    }
    if (!best)
        return;
    vs_text_addf(out, "%s ", tui_short_delta((int64_t)(best->b - best->a), buf));
    rpl_diff_fate_text(diff, &s->finer, best, out);
    if (best->cause == RPL_DIFF_BOTH)
        vs_text_add(out, "of another size");
    vs_text_addf(out, ": %s", best->key);
}

static void why_text(const struct diff *s, const struct rpl_diff *diff,
                     const struct rpl_diff_row *row, struct vs_text *out)
{
    if (s->by == RPL_DIFF_TENSOR)
        rpl_diff_fate_text(diff, &s->part, row, out);
    else if (row->a != row->b && s->by == RPL_DIFF_CATEGORY)
        why_modules(s, row, out);
    else if (row->a != row->b)
        why_tensor(s, diff, row, out);
}

/* What a row is about; where cells are few a tensor goes without its shape. */
static void row_text(const struct diff *s, const struct rpl_diff *diff,
                     const struct rpl_diff_row *row, bool is_short, struct vs_text *out)
{
    if (is_short && s->by == RPL_DIFF_TENSOR)
        vs_text_add(out, row->key);
    else
        rpl_diff_row_text(diff, row, out);
}

static void draw_row(const struct diff *s, const struct rpl_diff *diff,
                     const struct rpl_diff_row *row, struct tui_canvas *c, int y)
{
    int x = figures_x(s, c->at.w);
    int64_t change = (int64_t)(row->b - row->a);
    struct vs_text text = {NULL, 0, 0};
    char buf[TUI_SHORT_MAX];

    tui_put(c, 1, y, (unsigned char)tui_category_letter(row->category),
            tui_style(tui_category_role(row->category)));
    row_text(s, diff, row, c->at.w < SHAPE_MIN_W, &text);
    if (s->by == RPL_DIFF_MODULE)
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
        why_text(s, diff, row, &text);
    tui_text_cut(c, x + 27, y, c->at.w - x - 27, tui_style(TUI_DIM), vs_text_get(&text));
    vs_text_release(&text);
}

/* A toggle or a line of the net, as in a patch. */
static void made_text(const struct rpl_diff *diff, size_t i, struct vs_text *out)
{
    const struct rpl_diff_line *line;

    if (i < diff->toggle_count) {
        const struct rpl_diff_toggle *toggle = &diff->toggles[i];

        vs_text_addf(out, "%s: %s -> %s", toggle->name, toggle->a ? toggle->a : "unknown",
                     toggle->b ? toggle->b : "unknown");
        return;
    }
    line = &diff->lines[i - diff->toggle_count];
    vs_text_addf(out, "%c%5" PRIu32 "  %s",
                 !line->b  ? '-'
                 : line->a ? '='
                           : '+',
                 line->b ? line->b : line->a, line->text);
}

static void draw_made_row(const struct rpl_diff *diff, size_t i, struct tui_canvas *c, int y)
{
    struct vs_text text = {NULL, 0, 0};
    enum tui_role role = TUI_STRONG;

    if (i >= diff->toggle_count) {
        const struct rpl_diff_line *line = &diff->lines[i - diff->toggle_count];

        role = !line->b ? TUI_SIDE_A : line->a ? TUI_PLAIN : TUI_SIDE_B;
    }
    made_text(diff, i, &text);
    tui_text_cut(c, 1, y, c->at.w - 1, tui_style(role), vs_text_get(&text));
    vs_text_release(&text);
}

static void draw_rows(const struct diff *s, const struct tui_app *app, struct tui_canvas *c,
                      const struct bands *bands, bool is_focused)
{
    const struct rpl_diff *diff = &app->change.diff->diff;

    draw_head(s, c, bands->head);
    if (!s->list.count)
        tui_text(c, 1, bands->rows, tui_style(TUI_DIM),
                 s->by == BY_MADE ? "the same toggles, and the same net" : "nothing in either");
    for (int y = bands->rows; y < bands->rows + bands->rows_h; y++) {
        size_t i = s->list.top + (size_t)(y - bands->rows);

        if (i >= s->list.count)
            break;
        if (s->by == BY_MADE)
            draw_made_row(diff, i, c, y);
        else
            draw_row(s, diff, &s->part.rows[i], c, y);
        if (i == s->list.at)
            tui_mark(c, (struct tui_rect){0, y, c->at.w, 1},
                     is_focused ? TUI_SELECTED : TUI_SELECTED_QUIET);
    }
}

/* All that is known of a row, with its figures or without. */
static void row_say(const struct diff *s, const struct tui_app *app, size_t row, bool has_figures,
                    struct vs_text *out)
{
    const struct rpl_diff *diff;
    const struct rpl_diff_row *at;
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];
    char d[VS_BYTES_TEXT_MAX];
    struct vs_text why = {NULL, 0, 0};

    if (row >= row_count(s, app))
        return;
    diff = &app->change.diff->diff;
    if (s->by == BY_MADE) {
        made_text(diff, row, out);
        return;
    }
    at = &s->part.rows[row];
    if (s->by != RPL_DIFF_CATEGORY)
        vs_text_addf(out, "%s  ", vs_category_name(at->category));
    rpl_diff_row_text(diff, at, out);
    if (has_figures)
        vs_text_addf(out, "  %s  %s  %s", vs_bytes_text(at->a, a), vs_bytes_text(at->b, b),
                     vs_bytes_delta_text((int64_t)(at->b - at->a), d));
    why_text(s, diff, at, &why);
    if (why.len)
        vs_text_addf(out, "  %s", vs_text_get(&why));
    vs_text_release(&why);
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    row_say(state, app, row, true, out);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct diff *s = state;
    struct bands bands = bands_of(c->at.h);
    struct vs_text all = {NULL, 0, 0};

    if (!tui_diff_pairs(app) || s->failure.len) {
        tui_text(c, 1, 0, tui_style(TUI_DIM),
                 s->failure.len ? vs_text_get(&s->failure) : tui_diff_missing(app));
        return;
    }
    draw_side(s, app, false, c, 0);
    draw_side(s, app, true, c, 1);
    if (bands.made >= 0)
        draw_made(app, c, bands.made);
    if (bands.chart >= 0 && s->count)
        draw_chart(s, app, c, &bands);
    draw_rows(s, app, c, &bands, is_focused);
    if (bands.rows + bands.rows_h == c->at.h || !s->list.count)
        return;
    row_say(s, app, s->list.at, false, &all);
    tui_text_cut(c, 1, c->at.h - 1, c->at.w - 1, tui_style(TUI_STRONG), vs_text_get(&all));
    vs_text_release(&all);
}

/* ---- keys ---- */

/* Inside of the chosen row; of a tensor, to where it is made. */
static void row_open(struct diff *s, struct tui_app *app)
{
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    const struct rpl_diff_row *row;
    struct opened *opened;

    if (s->by == BY_MADE || !s->list.count)
        return;
    row = &s->part.rows[s->list.at];
    if (s->by == RPL_DIFF_TENSOR) {
        bool is_b = row->alloc_a == NULL;

        tui_diff_go(app, rpl_pairs_at(pairs, is_b, (is_b ? row->alloc_b : row->alloc_a)->seq),
                    true);
        tui_app_view(app, "pairs");
        return;
    }
    VS_ASSERT(s->opened_count < RPL_DIFF_BY_COUNT);
    opened = &s->opened[s->opened_count++];
    opened->key = vs_strdup(row->key);
    opened->row = (struct rpl_diff_inside){(enum rpl_diff_by)s->by, opened->key, row->category,
                                           row->line_a, row->line_b};
    s->by = s->by == RPL_DIFF_CATEGORY ? RPL_DIFF_MODULE : RPL_DIFF_TENSOR;
    s->list.at = 0;
    s->is_stale = true;
}

/* Out of the row that was opened last, which is chosen again by being the first of its kind. */
static void row_leave(struct diff *s)
{
    s->by = (int)s->opened[s->opened_count - 1].row.by;
    opened_pop(s);
    s->list.at = 0;
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct diff *s = state;

    if (action == TUI_RESET && !s->opened_count) {
        tui_diff_forget(app);
        app->moves++;
        return true;
    }
    if (!tui_diff_pairs(app))
        return tui_diff_key_missing(app, action);
    if (action == TUI_DIFF_NEXT || action == TUI_DIFF_BACK) {
        tui_diff_next(app, action == TUI_DIFF_BACK, count);
    } else if (action == TUI_MODE) {
        while (s->opened_count)
            opened_pop(s);
        s->by = (s->by + 1) % BY_TOTAL;
        s->list.at = 0;
        s->is_stale = true;
    } else if (action == TUI_ACT) {
        s->look = (enum look)((s->look + 1) % LOOK_COUNT);
        s->is_stale = true;
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
    struct bands bands = bands_of(app->layout.panes[app->focus].h - 1);

    if (y >= bands.rows) {
        size_t row = s->list.top + (size_t)(y - bands.rows);

        if (row < s->list.count && y < bands.rows + bands.rows_h)
            s->list.at = row;
    } else if (bands.chart >= 0 && y >= bands.chart && y < bands.head && x >= AXIS_W &&
               x - AXIS_W < s->count) {
        tui_diff_go(app, column_row(s, x - AXIS_W), true);
    }
    return true;
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    static const char *const LOOKS[LOOK_COUNT] = {
        "at each one's peak", "at the cursor", "all that a step allocates", "saved for backward"};
    const struct diff *s = state;
    char buf[VS_BYTES_TEXT_MAX];

    if (!tui_diff_pairs(app) || s->failure.len)
        return;
    vs_text_addf(out, "B - A %s", vs_bytes_delta_text((int64_t)(s->part.b - s->part.a), buf));
    if (s->part.a)
        vs_text_addf(out, " (%+.1f %%)",
                     100.0 * ((double)s->part.b - (double)s->part.a) / (double)s->part.a);
    for (size_t i = 0; i < s->opened_count; i++) {
        vs_text_add(out, i ? " > " : "  in ");
        if (s->opened[i].row.by == RPL_DIFF_LINE)
            vs_text_addf(out, "line %" PRIu32,
                         s->opened[i].row.line_b ? s->opened[i].row.line_b
                                                 : s->opened[i].row.line_a);
        else
            vs_text_add(out, *s->opened[i].key ? s->opened[i].key : "(the model itself)");
    }
    vs_text_addf(out, "  %s", LOOKS[s->look]);
    if (s->look == IN_STEP && app->change.diff->diff.options.step >= 0)
        vs_text_addf(out, " (step %" PRId64 ")", app->change.diff->diff.options.step);
}

static void release(void *state)
{
    struct diff *s = state;

    while (s->opened_count)
        opened_pop(s);
    parts_release(s);
    vs_free(s->sides);
    vs_free(s->differs);
    vs_text_release(&s->failure);
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
    .help = "A is before, B after: a second trace, or the what-if. The chart: = is what both have, "
            "A and "
            "B what one has more, on an axis on which equal events stand together. t: by category, "
            "module, line, tensor, or how the two were made. Space: at the peaks, at the cursor, "
            "all of "
            "a step, saved for backward. Enter: what is inside a row; q: out of it. n and N: from "
            "difference to difference.",
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
