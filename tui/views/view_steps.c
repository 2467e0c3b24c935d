/*
 * tui/views/view_steps.c - the training steps: laid over each other, and as a table with what each leaves behind.
 *
 * Must not know:  terminals.
 * Invariant:      the steps of a run are read one by one while no key is typed, each once, even when the run grows.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "replay/inspect/steps.h"
#include "tui/app.h"
#include "tui/parts/format.h"
#include "tui/views.h"

/* Columns of the table: mark and step, peak, difference, reserved, end, kept, blocks, loss. */
#define STEP_W 8
#define TABLE_W (STEP_W + 9 + 9 + 10 + 9 + 9 + 8)
#define LOSS_W 10
/* Cells of the axis, and the least height of a pane in which the chart is drawn. */
#define AXIS_W 8
#define CHART_MIN_H 16

/*
 * steps     of the run `number` of `index`, when it had `events` events; is_failed: they cannot be read further
 * low, high   the lowest and highest of all curves but those of outliers, at each point
 * top       highest value of all curves; 0: there are none yet
 * percent   how far they were read when the screen was drawn
 * own       the curve of row own_row, the chosen one, where it is none of those; SIZE_MAX: there is none
 * is_plain  the table alone; has_chart: there are curves above it
 */
struct steps {
    struct tui_list list;
    struct rpl_steps steps;
    const struct rpl_index *index;
    uint64_t number;
    uint64_t events;
    uint64_t low[RPL_STEP_POINTS];
    uint64_t high[RPL_STEP_POINTS];
    uint64_t top;
    unsigned percent;
    uint64_t own[RPL_STEP_POINTS];
    size_t own_row;
    bool is_failed;
    uint64_t at;
    bool is_plain;
    bool has_chart;
};

static void envelope_fill(struct steps *s)
{
    const struct rpl_steps *steps = &s->steps;

    s->top = steps->curve_count > 0;
    memset(s->high, 0, sizeof(s->high));
    memset(s->low, 0xff, sizeof(s->low));
    for (size_t i = 0; i < steps->curve_count; i++)
        for (size_t p = 0; p < RPL_STEP_POINTS; p++) {
            uint64_t value = steps->curves[i * RPL_STEP_POINTS + p];

            s->top = value > s->top ? value : s->top;
            if (steps->rows[steps->curve_rows[i]].is_outlier)
                continue;
            s->low[p] = value < s->low[p] ? value : s->low[p];
            s->high[p] = value > s->high[p] ? value : s->high[p];
        }
}

static void steps_begin(struct steps *s, const struct tui_run *run)
{
    bool is_grown = s->index == run->index && s->number == run->number && s->events <= run->events;

    s->index = run->index;
    s->number = run->number;
    s->events = run->events;
    s->is_failed = false;
    s->percent = 0;
    s->own_row = SIZE_MAX;
    rpl_steps_begin(&s->steps, run->index, is_grown);
    envelope_fill(s);
}

/* Rows first, then curves. */
static unsigned percent_of(const struct rpl_steps *steps)
{
    return (unsigned)(steps->count ? 50 * (steps->done + steps->next_curve) / steps->count : 100);
}

static const uint64_t *curve_of(const struct steps *s, size_t row)
{
    if (row == s->own_row)
        return s->own;
    for (size_t i = 0; i < s->steps.curve_count; i++)
        if (s->steps.curve_rows[i] == row)
            return &s->steps.curves[i * RPL_STEP_POINTS];
    return NULL;
}

/* The curve of the chosen row, where it has none yet. */
static bool own_read(struct steps *s, struct rpl_index *index, struct vs_error *err)
{
    const struct rpl_step_row *row = &s->steps.rows[s->list.at];

    if (s->list.at >= s->steps.done || row->step < 0 || row->last < row->first ||
        curve_of(s, s->list.at))
        return false;
    s->own_row = s->list.at;
    s->is_failed = rpl_steps_curve(&s->steps, s->list.at, index, s->own, err) != VS_OK;
    return true;
}

static bool read_on(void *state, struct tui_app *app)
{
    struct steps *s = state;
    const struct tui_run *run = tui_app_run(app);
    struct vs_error err = VS_ERROR_INIT;

    if (s->is_failed || s->index != run->index || s->number != run->number ||
        s->events != run->events)
        return false;
    if (own_read(s, run->index, &err)) {
        if (s->is_failed)
            tui_app_fail(app, "%s", err.text);
        app->news++;
        return true;
    }
    if (rpl_steps_is_done(&s->steps))
        return false;
    if (rpl_steps_next(&s->steps, run->index, &err)) {
        s->is_failed = true;
        tui_app_fail(app, "%s", err.text);
    }
    if (s->is_failed || rpl_steps_is_done(&s->steps) || percent_of(&s->steps) != s->percent) {
        s->percent = percent_of(&s->steps);
        envelope_fill(s);
        app->news++;
    }
    return true;
}

/* Rows of the chart; 0: there is none. */
static int chart_h(const struct steps *s, int h)
{
    return s->is_plain || !s->top || h < CHART_MIN_H || s->steps.curve_count < 2 ? 0 : h / 2 - 1;
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct steps *s = state;
    const struct tui_run *run = tui_app_run(app);
    int head = chart_h(s, h) + 1;

    (void)w;
    s->has_chart = head > 1;
    if (s->index != run->index || s->number != run->number || s->events != run->events)
        steps_begin(s, run);
    if (s->at != app->at) {
        s->at = app->at;
        for (size_t i = 0; i < s->steps.count; i++)
            if (s->steps.rows[i].first <= s->at && s->at <= s->steps.rows[i].last)
                tui_list_go(&s->list, i);
    }
    tui_list_fit(&s->list, s->steps.count, h - head);
}

/* ---- the chart ---- */

static int row_of(const struct steps *s, uint64_t value, int h)
{
    int up = (int)((double)value / (double)s->top * (double)(h - 1) + 0.5);

    return h - 1 - up;
}

/* Rows first … last of a column of the chart, which touch those of the column before. */
struct rows {
    int first;
    int last;
};

static struct rows rows_touching(struct rows rows, const struct rows *before)
{
    if (before->last + 1 < rows.first)
        rows.first = before->last + 1;
    else if (before->first - 1 > rows.last)
        rows.last = before->first - 1;
    return rows;
}

static void draw_curve(const struct steps *s, const uint64_t *curve, struct tui_canvas *c, int h,
                       enum tui_glyph glyph, enum tui_role role)
{
    int w = c->at.w - AXIS_W - 1;
    struct rows before = {0, 0};

    for (int x = 0; curve && x < w; x++) {
        int y = row_of(s, curve[x * RPL_STEP_POINTS / w], h);
        struct rows rows = {y, y};

        if (x)
            rows = rows_touching(rows, &before);
        before = (struct rows){y, y};
        for (y = rows.first; y <= rows.last; y++)
            tui_put_glyph(c, AXIS_W + x, y, glyph, tui_style(role));
    }
}

static void draw_chart(const struct steps *s, struct tui_canvas *c, int h)
{
    const struct rpl_steps *steps = &s->steps;
    int w = c->at.w - AXIS_W - 1;
    struct rows before = {0, 0};
    char buf[TUI_SHORT_MAX];

    tui_text_right(c, 0, 0, AXIS_W - 1, tui_style(TUI_DIM), tui_short_bytes(s->top, buf));
    tui_text_right(c, 0, h - 1, AXIS_W - 1, tui_style(TUI_DIM), "0");
    for (int x = 0; x < w; x++) {
        int p = x * RPL_STEP_POINTS / w;

        struct rows rows;

        if (s->high[p] < s->low[p])
            continue;
        rows = (struct rows){row_of(s, s->high[p], h), row_of(s, s->low[p], h)};
        if (x)
            rows = rows_touching(rows, &before);
        before = (struct rows){row_of(s, s->high[p], h), row_of(s, s->low[p], h)};
        for (int y = rows.first; y <= rows.last; y++)
            tui_put_glyph(c, AXIS_W + x, y, TUI_G_SHADE, tui_style(TUI_DIM));
    }
    for (size_t i = 0; i < steps->curve_count; i++)
        if (steps->rows[steps->curve_rows[i]].is_outlier)
            draw_curve(s, &steps->curves[i * RPL_STEP_POINTS], c, h, TUI_G_RING, TUI_BAD);
    if (s->list.at < steps->count)
        draw_curve(s, curve_of(s, s->list.at), c, h, TUI_G_BULLET, TUI_CURSOR);
}

/* ---- the table ---- */

/* Whether a row that is shown has a loss: there is none without arithmetic. */
static bool has_loss(const struct steps *s)
{
    for (size_t i = s->list.top; i < s->steps.count && i < s->list.top + s->list.height; i++)
        if (isfinite(s->steps.rows[i].loss))
            return true;
    return false;
}

static void draw_head(const struct steps *s, struct tui_canvas *c, int y)
{
    struct tui_style style = tui_style_marked(TUI_DIM, TUI_UNDERLINE);

    tui_fill(c, (struct tui_rect){0, y, c->at.w, 1}, style);
    tui_text_right(c, 0, y, STEP_W - 1, style, "step");
    tui_text_right(c, STEP_W, y, 8, style, "peak");
    tui_text_right(c, STEP_W + 9, y, 8, style, "differs");
    tui_text_right(c, STEP_W + 18, y, 9, style, "reserved");
    tui_text_right(c, STEP_W + 28, y, 8, style, "at end");
    tui_text_right(c, STEP_W + 37, y, 8, style, "kept");
    tui_text_right(c, STEP_W + 46, y, 7, style, "blocks");
    if (c->at.w >= TABLE_W + LOSS_W && has_loss(s))
        tui_text_right(c, TABLE_W, y, LOSS_W - 1, style, "loss");
}

static void draw_row(const struct steps *s, size_t at, struct tui_canvas *c, int y)
{
    const struct rpl_step_row *row = &s->steps.rows[at];
    enum tui_role peak = row->is_outlier ? TUI_BAD : TUI_STRONG;
    /* the first training step leaves the optimizer's state */
    enum tui_role kept = row->step > 0 && row->kept ? TUI_BAD : TUI_DIM;
    char buf[TUI_SHORT_MAX];

    if (row->is_outlier)
        tui_put_glyph(c, 0, y, TUI_G_RING, tui_style(TUI_BAD));
    if (row->step < 0)
        tui_text_right(c, 0, y, STEP_W - 1, tui_style(TUI_DIM), "setup");
    else
        tui_textf(c, 1, y, tui_style(TUI_PLAIN), "%*" PRId64, STEP_W - 2, row->step);
    if (c->at.w >= TABLE_W + LOSS_W && isfinite(row->loss))
        tui_textf(c, TABLE_W, y, tui_style(TUI_DIM), "%*.4g", LOSS_W - 1, row->loss);
    if (at >= s->steps.done) /* not read yet */
        return;
    tui_text_right(c, STEP_W, y, 8, tui_style(peak), tui_short_bytes(row->peak, buf));
    if (row->step >= 0 && s->steps.is_compared)
        tui_text_right(c, STEP_W + 9, y, 8, tui_style(row->is_outlier ? TUI_BAD : TUI_DIM),
                       tui_short_delta((int64_t)(row->peak - s->steps.median), buf));
    tui_text_right(c, STEP_W + 18, y, 9, tui_style(TUI_PLAIN), tui_short_bytes(row->reserved, buf));
    tui_text_right(c, STEP_W + 28, y, 8, tui_style(TUI_PLAIN), tui_short_bytes(row->end, buf));
    if (row->step >= 0 && row->kept) {
        tui_text_right(c, STEP_W + 37, y, 8, tui_style(kept), tui_short_bytes(row->kept, buf));
        tui_text_right(c, STEP_W + 46, y, 7, tui_style(kept),
                       tui_short_count(row->kept_count, buf));
    }
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct steps *s = state;
    int top = chart_h(s, c->at.h);

    (void)app;
    if (!s->steps.count) {
        tui_text(c, 1, 0, tui_style(TUI_DIM), "this trace has no steps");
        return;
    }
    if (top)
        draw_chart(s, c, top);
    draw_head(s, c, top);
    for (int y = top + 1; y < c->at.h; y++) {
        size_t row = s->list.top + (size_t)(y - top - 1);

        if (row >= s->steps.count)
            break;
        draw_row(s, row, c, y);
        tui_list_mark(&s->list, row, c, y, is_focused);
    }
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct steps *s = state;
    const struct rpl_step_row *step = &s->steps.rows[row];
    char peak[VS_BYTES_TEXT_MAX];
    char kept[VS_BYTES_TEXT_MAX];

    (void)app;
    if (row >= s->steps.done) {
        vs_text_addf(out, "step %" PRId64, step->step);
        return;
    }
    vs_text_addf(out, "step %" PRId64 ": peak %s, kept %s%s", step->step,
                 vs_bytes_text(step->peak, peak), vs_bytes_text(step->kept, kept),
                 step->is_outlier ? ", differs" : "");
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct steps *s = state;
    const struct rpl_step_row *row;

    (void)count;
    if (action == TUI_MODE) {
        if (!s->has_chart && !s->is_plain)
            tui_app_say(app, "the chart needs two steps and a higher pane: M");
        else
            s->is_plain = !s->is_plain;
        return true;
    }
    if ((action != TUI_OPEN && action != TUI_ACT) || !s->steps.count)
        return false;
    row = &s->steps.rows[s->list.at];
    if (s->list.at >= s->steps.done) {
        tui_app_say(app, "this step is still being read");
        return true;
    }
    s->at = action == TUI_OPEN ? row->peak_seq : row->last;
    if (action == TUI_ACT && row->kept_block)
        tui_app_choose_block(app, row->kept_block);
    else if (action == TUI_ACT && row->step >= 0)
        tui_app_say(app, s->list.at + 1 < s->steps.count
                             ? "this step keeps nothing; this is its end"
                             : "this is the end of the last step; what it keeps, the next one "
                               "would show");
    else if (s->at == app->at)
        tui_app_say(app, "event %" PRIu64 " is the current one", s->at);
    tui_app_go(app, s->at, true);
    return true;
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    const struct steps *s = state;
    size_t outliers = 0;
    char buf[VS_BYTES_TEXT_MAX];

    if (!s->is_failed && !rpl_steps_is_done(&s->steps))
        vs_text_addf(out, "reading them: %u %%  ", s->percent);
    if (!s->steps.median)
        return;
    for (size_t i = 0; i < s->steps.count; i++)
        outliers += s->steps.rows[i].is_outlier;
    vs_text_addf(out, "median peak %s", vs_bytes_text(s->steps.median, buf));
    if (outliers)
        vs_text_addf(out, ", %zu differ%s", outliers, outliers == 1 ? "s" : "");
    if (outliers && s->has_chart)
        vs_text_add(out, app->is_ascii ? ": o, chosen *, others ." : ": ○, chosen ●, others ░");
    if (s->steps.growth)
        vs_text_addf(out, ", each keeps %s", vs_bytes_text(s->steps.growth, buf));
}

static void release(void *state)
{
    struct steps *s = state;

    rpl_steps_release(&s->steps);
}

static const struct tui_hint HINTS[] = {
    {"enter", "its peak"},
    {"space", "what it keeps"},
    {"t", "chart"},
    {NULL, NULL},
};

const struct tui_view tui_view_steps = {
    .name = "steps",
    .title = "steps",
    .letter = 'S',
    .scope = TUI_IN_STEPS,
    .go = TUI_GO_STEPS,
    .help = "The steps laid over each other: shaded between the lowest and highest of all, the "
            "chosen step with bullets, steps that differ with rings. differs: the peak against "
            "the median. kept: what a step allocated that is alive when the next one ends; of the "
            "first step that is the state of the optimizer, of later ones a leak. Enter goes to "
            "the peak of a step, space to its end, and chooses the largest block that it keeps.",
    .hints = HINTS,
    .beside = "timeline",
    .state_size = sizeof(struct steps),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .read_on = read_on,
    .draw = draw,
    .key = key,
    .text = text,
    .title_more = title_more,
    .release = release,
};
