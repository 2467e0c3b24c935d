/*
 * tui/views/view_results.c - the results of a sweep: configurations, the Pareto front first.
 *
 * Must not know:  files, what a toggle means.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "tui/app.h"
#include "tui/change.h"
#include "tui/parts/format.h"
#include "tui/results.h"
#include "tui/views.h"
#include "whatif/grid/front.h"

#define VALUE_MAX_W 24
#define PEAK_W 9
#define FLOPS_W 13
#define AGAIN_W 9
#define SENT_W 9

/* widths: of the columns of toggles, 0: it is the same in all rows; number: of the results that they are of. */
struct results {
    struct tui_list list;
    int widths[VS_TOGGLE_COUNT];
    uint64_t number;
};

static const struct wif_grid_row *row_of(const struct tui_app *app, size_t row)
{
    return &app->results->table.rows[app->results->order[row]];
}

static void widths_fill(struct results *s, const struct wif_grid_table *table)
{
    for (int t = 0; t < VS_TOGGLE_COUNT; t++) {
        const enum vs_toggle toggle = (enum vs_toggle)t;
        int w = tui_text_width(vs_toggle_info(toggle)->name);

        s->widths[t] = 0;
        if (!wif_grid_table_differs(table, toggle))
            continue;
        for (size_t i = 0; i < table->count; i++) {
            const int own = tui_text_width(wif_grid_value(&table->rows[i], toggle));

            w = own > w ? own : w;
        }
        s->widths[t] = w > VALUE_MAX_W ? VALUE_MAX_W : w;
    }
}

static void sync(void *state, struct tui_app *app, int w, int h)
{
    struct results *s = state;

    (void)w;
    if (app->results && s->number != app->results->number) {
        s->number = app->results->number;
        tui_list_go(&s->list, 0);
        widths_fill(s, &app->results->table);
    }
    tui_list_fit(&s->list, app->results ? app->results->table.count : 0, h - 1);
}

static void draw_head(const struct results *s, struct tui_canvas *c)
{
    const struct tui_style style = tui_style_marked(TUI_DIM, TUI_UNDERLINE);
    int x = 3;

    tui_fill(c, (struct tui_rect){0, 0, c->at.w, 1}, style);
    for (int t = 0; t < VS_TOGGLE_COUNT; t++)
        if (s->widths[t]) {
            tui_text_cut(c, x, 0, s->widths[t], style, vs_toggle_info((enum vs_toggle)t)->name);
            x += s->widths[t] + 2;
        }
    tui_text_right(c, x, 0, PEAK_W, style, "peak");
    tui_text_right(c, x += PEAK_W, 0, PEAK_W, style, "reserved");
    tui_text_right(c, x += PEAK_W, 0, FLOPS_W, style, "GFLOP/sample");
    tui_text_right(c, x += FLOPS_W, 0, AGAIN_W, style, "again");
    tui_text_right(c, x += AGAIN_W, 0, SENT_W, style, "sent");
}

static void draw_figures(const struct sto_result *result, struct tui_canvas *c, int x, int y)
{
    struct vs_text text = {NULL, 0, 0};
    char buf[TUI_SHORT_MAX];

    tui_text_right(c, x, y, PEAK_W, tui_style(result->fits ? TUI_PLAIN : TUI_BAD),
                   tui_short_bytes(result->allocated, buf));
    tui_text_right(c, x += PEAK_W, y, PEAK_W, tui_style(TUI_PLAIN),
                   tui_short_bytes(result->reserved, buf));
    vs_text_addf(&text, "%.4g", wif_grid_flops(result) / 1e9);
    tui_text_right(c, x += PEAK_W, y, FLOPS_W, tui_style(TUI_PLAIN), vs_text_get(&text));
    vs_text_clear(&text);
    if (result->recompute_flops)
        vs_text_addf(&text, "%.1f %%",
                     100.0 * (double)result->recompute_flops / (double)result->total_flops);
    tui_text_right(c, x += FLOPS_W, y, AGAIN_W, tui_style(TUI_DIM), vs_text_get(&text));
    if (result->collective_count)
        tui_text_right(c, x + AGAIN_W, y, SENT_W, tui_style(TUI_PLAIN),
                       tui_short_bytes(wif_grid_step_sent(result), buf));
    vs_text_release(&text);
}

static void draw_row(const struct results *s, const struct tui_app *app,
                     const struct wif_grid_row *row, struct tui_canvas *c, int y)
{
    const struct tui_style style = tui_style(row->result.is_refused ? TUI_DIM : TUI_PLAIN);
    int x = 3;

    tui_put(c, 0, y, !row->result.is_refused && !row->result.fits ? '!' : ' ', tui_style(TUI_BAD));
    tui_put(c, 1, y, row->is_on ? '*' : ' ', tui_style(TUI_GOOD));
    for (int t = 0; t < VS_TOGGLE_COUNT; t++)
        if (s->widths[t]) {
            tui_text_cut(c, x, y, s->widths[t], style, wif_grid_value(row, (enum vs_toggle)t));
            x += s->widths[t] + 2;
        }
    if (row->result.is_refused)
        tui_text_cut(c, x, y, c->at.w - x, style, tui_reason_short(app, row->result.reason));
    else
        draw_figures(&row->result, c, x, y);
}

static void draw(const void *state, const struct tui_app *app, struct tui_canvas *c,
                 bool is_focused)
{
    const struct results *s = state;

    if (!app->results) {
        tui_text_wrap(c, 1, 0, c->at.w - 2, tui_style(TUI_DIM),
                      "`:results FILE` shows what a sweep of this net found:\n"
                      "vramscope sweep NET --vary batch=8..256 --vary checkpoint=off,blocks "
                      "-o FILE");
        return;
    }
    draw_head(s, c);
    for (int y = 1; y < c->at.h; y++) {
        const size_t row = s->list.top + (size_t)(y - 1);

        if (row >= app->results->table.count)
            break;
        draw_row(s, app, row_of(app, row), c, y);
        tui_list_mark(&s->list, row, c, y, is_focused);
    }
}

static bool key(void *state, struct tui_app *app, enum tui_action action, int64_t count)
{
    const struct results *s = state;

    (void)count;
    if (action != TUI_OPEN || !app->results || !app->results->table.count)
        return false;
    tui_results_show(app, s->list.at);
    return true;
}

static void text(const void *state, const struct tui_app *app, size_t row, struct vs_text *out)
{
    const struct wif_grid_row *of = row_of(app, row);
    char buf[VS_BYTES_TEXT_MAX];

    (void)state;
    for (int t = 0; t < VS_TOGGLE_COUNT; t++)
        if (vs_toggles_is_set(&of->toggles, (enum vs_toggle)t))
            vs_text_addf(out, "%s=%s ", vs_toggle_info((enum vs_toggle)t)->name,
                         vs_toggles_get(&of->toggles, (enum vs_toggle)t));
    vs_text_addf(out, " %s",
                 of->result.is_refused ? tui_reason_short(app, of->result.reason)
                                       : vs_bytes_text(of->result.allocated, buf));
}

static void title_more(const void *state, const struct tui_app *app, struct vs_text *out)
{
    size_t front = 0;
    char buf[VS_BYTES_TEXT_MAX];

    (void)state;
    if (!app->results)
        return;
    for (size_t i = 0; i < app->results->table.count; i++)
        front += app->results->table.rows[i].is_on;
    vs_text_addf(out, "%zu; * %zu on the Pareto front", app->results->table.count, front);
    if (app->results->table.capacity)
        vs_text_addf(out, "; ! too large for %s", vs_bytes_text(app->results->table.capacity, buf));
}

static const struct tui_hint HINTS[] = {
    {"enter", "show"},
    {":results", "open"},
    {"gw", "toggles"},
    {NULL, NULL},
};

const struct tui_view tui_view_results = {
    .name = "results",
    .title = "results",
    .letter = 'x',
    .scope = TUI_IN_RESULTS,
    .go = TUI_GO_RESULTS,
    .help =
        "`:results FILE` shows what `vramscope sweep -o FILE` found. * is on the Pareto front: "
        "no other configuration that fits is better in one of these and as good in the others: "
        "samples of each process, number of processes, peak, and arithmetic and traffic for each "
        "sample. ! does not fit. again: "
        "share of the arithmetic that is recomputed; sent: bytes that one process sends in a "
        "step. Enter runs the net with the toggles of a row.",
    .hints = HINTS,
    .beside = "timeline",
    .state_size = sizeof(struct results),
    .is_list = true,
    .list_y = 1,
    .sync = sync,
    .draw = draw,
    .key = key,
    .text = text,
    .title_more = title_more,
};
