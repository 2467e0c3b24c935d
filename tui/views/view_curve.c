/*
 * tui/views/view_curve.c - peak against recomputation: placements of checkpoints, from none to the least peak.
 *
 * Must not know:  how a placement is found.
 * Invariant:      a row is a run of the net (whatif/curve.h); choosing it sets the toggle `checkpoint` to its value.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "tui/app.h"
#include "tui/change.h"
#include "tui/parts/format.h"
#include "tui/views.h"
#include "tui/waiting.h"
#include "whatif/curve.h"

#define VALUE_W 14
#define FIGURES_W 28
#define BAR_MIN_W 10
#define WHOLE_MIN_H 6

/* list: one row for each point */
struct curve {
    struct tui_list list;
    struct wif_curve points;
};

/* ---- filling ---- */

struct filling {
    struct tui_waiting waiting;
    const struct wif_curve *points;
};

static bool on_progress(void *user, uint64_t done, uint64_t total)
{
    struct filling *filling = user;

    (void)done, (void)total;
    return tui_waiting_show(&filling->waiting, filling->points->count, WIF_CURVE_POINTS);
}

static void fill(struct curve *s, struct tui_app *app)
{
    struct filling filling = {.points = &s->points};
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st;

    wif_curve_release(&s->points);
    tui_waiting_init(&filling.waiting, app, "placing checkpoints");
    st = wif_curve_fill(&s->points, app->base.trace, &app->change.set, WIF_CURVE_POINTS,
                        on_progress, &filling, &err);
    vs_text_clear(&app->message);
    if (st == VS_E_STOPPED)
        tui_app_say(app, "stopped; space begins again");
    else if (st)
        tui_app_fail(app, "%s", err.text);
    app->moves++;
}

/* ---- the view ---- */

/* Rows below the head; if the pane is high enough, the last line shows the placement of the chosen row. */
static int rows_h(int h)
{
    return h - 1 - (h >= WHOLE_MIN_H);
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct curve *s = state;

    (void)app;
    (void)w;
    tui_list_fit(&s->list, s->points.count, rows_h(h));
}

static double recomputed(const struct wif_placement *p)
{
    return p->total_flops ? 100.0 * (double)p->recompute_flops / (double)p->total_flops : 0.0;
}

static void draw_head(struct tui_canvas *c)
{
    struct tui_style style = tui_style_marked(TUI_DIM, TUI_UNDERLINE);

    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, style);
    tui_text(c, 1, 0, style, "checkpoint");
    tui_text_right(c, VALUE_W, 0, 8, style, "peak");
    tui_text_right(c, VALUE_W + 8, 0, 9, style, "%");
    tui_text_right(c, VALUE_W + 17, 0, 11, style, "recomputed");
}

static void draw_point(const struct wif_point *point, uint64_t most, struct tui_canvas *c, int y)
{
    const struct wif_placement *p = &point->placement;
    int x = VALUE_W + FIGURES_W + 2;
    int w = c->at.w - x - 1;
    struct vs_text text = {NULL, 0, 0};
    char buf[TUI_SHORT_MAX];

    tui_text_cut(c, 1, y, VALUE_W - 1, tui_style(TUI_PLAIN), point->value);
    tui_text_right(c, VALUE_W, y, 8, tui_style(TUI_PLAIN), tui_short_bytes(p->peak, buf));
    if (most)
        vs_text_addf(&text, "%+.1f %%", 100.0 * ((double)p->peak - (double)most) / (double)most);
    tui_text_right(c, VALUE_W + 8, y, 9, tui_style(p->peak < most ? TUI_GOOD : TUI_DIM),
                   vs_text_get(&text));
    vs_text_clear(&text);
    vs_text_addf(&text, "%.1f %%", recomputed(p));
    tui_text_right(c, VALUE_W + 17, y, 11, tui_style(TUI_DIM), vs_text_get(&text));
    vs_text_release(&text);
    for (int i = 0; w >= BAR_MIN_W && most && i < (int)((double)w * (double)p->peak / (double)most);
         i++)
        tui_put(c, x + i, y, '=', tui_style(TUI_DIM));
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct curve *s = state;
    const struct wif_point *point = &s->points.points[row];
    char buf[VS_BYTES_TEXT_MAX];

    (void)app;
    vs_text_addf(out, "checkpoint=%s  %s  %s", point->value,
                 vs_bytes_text(point->placement.peak, buf), point->placement.regions);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct curve *s = state;
    struct vs_text whole = {NULL, 0, 0};

    if (!s->points.count) {
        tui_text(c, 1, 0, tui_style(TUI_DIM),
                 rpl_trace_source_text(app->base.trace)
                     ? "space finds where checkpoints save the most for the least recomputation;"
                     : "this trace has no net, so no checkpoint can be placed in it");
        if (rpl_trace_source_text(app->base.trace))
            tui_text(c, 1, 1, tui_style(TUI_DIM), "enter then shows the run of a row");
        return;
    }
    draw_head(c);
    for (int y = 1; y <= rows_h(c->at.h); y++) {
        size_t row = s->list.top + (size_t)y - 1;

        if (row >= s->points.count)
            break;
        draw_point(&s->points.points[row], s->points.points[0].placement.peak, c, y);
        tui_list_mark(&s->list, row, c, y, is_focused);
    }
    if (rows_h(c->at.h) + 1 == c->at.h)
        return;
    text(s, app, s->list.at, &whole);
    tui_text_cut(c, 1, c->at.h - 1, c->at.w - 1, tui_style(TUI_STRONG), vs_text_get(&whole));
    vs_text_release(&whole);
}

/* Run a what-if with the chosen row's checkpoints. */
static void take(struct curve *s, struct tui_app *app)
{
    struct vs_error err = VS_ERROR_INIT;

    if (tui_change_set(app, VS_TOGGLE_CHECKPOINT, s->points.points[s->list.at].value, &err))
        tui_app_fail(app, "%s", err.text);
    else
        tui_app_change(app);
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    struct curve *s = state;

    (void)count;
    if (action == TUI_ACT)
        fill(s, app);
    else if (action == TUI_OPEN && s->points.count)
        take(s, app);
    else
        return false;
    return true;
}

static void release(void *state)
{
    struct curve *s = state;

    wif_curve_release(&s->points);
}

static const struct tui_hint HINTS[] = {
    {"space", "find"},
    {"enter", "take"},
    {"gw", "toggles"},
    {NULL, NULL},
};

const struct tui_view tui_view_curve = {
    .name = "curve",
    .title = "peak against recomputation",
    .letter = 'C',
    .scope = TUI_IN_CURVE,
    .go = TUI_GO_CURVE,
    .help =
        "Space finds placements of checkpoints between none and the least peak, each of them run; "
        "<C-c> "
        "stops it. Enter takes the one of a row: the what-if with that value of checkpoint. The "
        "last line has its regions: a checkpoint in parentheses, others inside.",
    .hints = HINTS,
    .beside = "timeline",
    .state_size = sizeof(struct curve),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .release = release,
};
