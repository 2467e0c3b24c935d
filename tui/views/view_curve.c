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

#define VALUE_W 18
#define FIGURES_W 39
#define BAR_MIN_W 10
#define WHOLE_MIN_H 6

/* list: one row for each point with checkpoints, and then for each with copies to the host */
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
    if (!st)
        st = wif_curve_offload(&s->points, app->base.trace, &app->change.set, on_progress, &filling,
                               &err);
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
    tui_list_fit(&s->list, s->points.count + s->points.offload_count, rows_h(h));
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
    tui_text_right(c, VALUE_W + 28, 0, 11, style, "PCIe/step");
}

/* What a row shows. host_bytes: of a step; 0: none */
struct row {
    uint64_t peak;
    double recomputed;
    uint64_t host_bytes;
};

static void draw_figures(const struct row *row, uint64_t most, struct tui_canvas *c, int y)
{
    int x = VALUE_W + FIGURES_W + 2;
    int w = c->at.w - x - 1;
    struct vs_text text = {NULL, 0, 0};
    char change[VS_CHANGE_TEXT_MAX];
    char buf[TUI_SHORT_MAX];

    tui_text_right(c, VALUE_W, y, 8, tui_style(TUI_PLAIN), tui_short_bytes(row->peak, buf));
    tui_text_right(c, VALUE_W + 8, y, 9, tui_style(row->peak < most ? TUI_GOOD : TUI_DIM),
                   most ? vs_change_text((double)most, (double)row->peak, change) : "");
    vs_text_addf(&text, "%.1f %%", row->recomputed);
    tui_text_right(c, VALUE_W + 17, y, 11, tui_style(TUI_DIM), vs_text_get(&text));
    vs_text_release(&text);
    if (row->host_bytes)
        tui_text_right(c, VALUE_W + 28, y, 11, tui_style(TUI_PLAIN),
                       tui_short_bytes(row->host_bytes, buf));
    for (int i = 0;
         w >= BAR_MIN_W && most && i < (int)((double)w * (double)row->peak / (double)most); i++)
        tui_put(c, x + i, y, '=', tui_style(TUI_DIM));
}

static void draw_point(const struct wif_point *point, uint64_t most, struct tui_canvas *c, int y)
{
    const struct row row = {point->placement.peak, recomputed(&point->placement), 0};

    tui_text_cut(c, 1, y, VALUE_W - 1, tui_style(TUI_PLAIN), point->value);
    draw_figures(&row, most, c, y);
}

static uint64_t each_step(const struct wif_curve *points, const struct wif_offload_point *point)
{
    return points->steps ? point->host_bytes / points->steps : 0;
}

/* The last of its modules tells how far the offload goes. */
static void draw_offload(const struct wif_curve *points, const struct wif_offload_point *point,
                         struct tui_canvas *c, int y)
{
    const char *last = strrchr(point->value, ',');
    const struct row row = {point->peak,
                            point->total_flops ? 100.0 * (double)point->recompute_flops /
                                                     (double)point->total_flops
                                               : 0.0,
                            each_step(points, point)};
    struct vs_text label = {NULL, 0, 0};

    vs_text_addf(&label, "offload %s%s", last ? ".." : "", last ? last + 1 : point->value);
    tui_text_cut(c, 1, y, VALUE_W - 1, tui_style(TUI_PLAIN), vs_text_get(&label));
    vs_text_release(&label);
    draw_figures(&row, points->points[0].placement.peak, c, y);
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct curve *s = state;
    char buf[VS_BYTES_TEXT_MAX];

    (void)app;
    if (row < s->points.count) {
        const struct wif_point *point = &s->points.points[row];

        vs_text_addf(out, "checkpoint=%s  %s  %s", point->value,
                     vs_bytes_text(point->placement.peak, buf), point->placement.regions);
    } else {
        const struct wif_offload_point *point = &s->points.offloads[row - s->points.count];

        vs_text_addf(out, "offload=%s  %s", point->value, vs_bytes_text(point->peak, buf));
        vs_text_addf(out, ", %s over PCIe each step",
                     vs_bytes_text(each_step(&s->points, point), buf));
    }
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct curve *s = state;
    struct vs_text whole = {NULL, 0, 0};

    if (!s->points.count) {
        tui_text_wrap(c, 1, 0, c->at.w - 2, tui_style(TUI_DIM),
                      rpl_trace_source_text(app->base.trace)
                          ? "space finds where checkpoints save the most for the least "
                            "recomputation;\nenter then shows the run of a row"
                          : "this trace has no net, so no checkpoint can be placed in it");
        return;
    }
    draw_head(c);
    for (int y = 1; y <= rows_h(c->at.h); y++) {
        size_t row = s->list.top + (size_t)y - 1;

        if (row >= s->points.count + s->points.offload_count)
            break;
        if (row < s->points.count)
            draw_point(&s->points.points[row], s->points.points[0].placement.peak, c, y);
        else
            draw_offload(&s->points, &s->points.offloads[row - s->points.count], c, y);
        tui_list_mark(&s->list, row, c, y, is_focused);
    }
    if (rows_h(c->at.h) + 1 == c->at.h)
        return;
    text(s, app, s->list.at, &whole);
    tui_text_cut(c, 1, c->at.h - 1, c->at.w - 1, tui_style(TUI_STRONG), vs_text_get(&whole));
    vs_text_release(&whole);
}

/* Run a what-if with the chosen row's checkpoints, or its copies to the host. */
static void take(struct curve *s, struct tui_app *app)
{
    const bool is_offload = s->list.at >= s->points.count;
    const char *checkpoint = is_offload ? "off" : s->points.points[s->list.at].value;
    const char *offload =
        is_offload ? s->points.offloads[s->list.at - s->points.count].value : NULL;
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = tui_change_set(app, VS_TOGGLE_CHECKPOINT, checkpoint, &err);

    /* a row with checkpoints was run without the copies that an earlier row has set */
    if (!st && (offload || s->points.offload_count))
        st = tui_change_set(app, VS_TOGGLE_OFFLOAD, offload ? offload : "off", &err);
    if (st)
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
    else if (action == TUI_OPEN && s->list.count)
        take(s, app);
    else if (action == TUI_OPEN)
        tui_app_say(app, "there are no points yet: space finds them");
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
        "last line has its regions: a checkpoint in parentheses, others inside. Rows with offload "
        "copy "
        "what the first modules save to the host; PCIe/step is what goes over the bus in a step.",
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
