/*
 * tui/overlap.c - see overlap.h.
 *
 * Must not know:  terminals.
 * Invariant:      every row belongs to exactly one column.
 */
#include "tui/overlap.h"

#include <string.h>

#include "base/mem.h"
#include "tui/diff.h"
#include "tui/parts/format.h"
#include "tui/term/theme.h"

#define AXIS_W 7

/* Rows of the alignment that belong to the window of the shown run. */
static void rows_window(struct tui_overlap *o, const struct tui_app *app,
                        const struct rpl_pairs *pairs)
{
    bool is_b = app->change.is_shown;
    bool is_whole = app->window.first <= 1 && app->window.last >= tui_app_run(app)->events;
    size_t first = rpl_pairs_at(pairs, is_b, app->window.first);
    size_t last = rpl_pairs_at(pairs, is_b, app->window.last);

    o->first_row = is_whole || first == SIZE_MAX ? 0 : first;
    o->last_row = is_whole || last == SIZE_MAX ? pairs->row_count - 1 : last;
    if (o->last_row < o->first_row)
        o->last_row = o->first_row;
}

/* The first row of column x. */
static size_t column_row(const struct tui_overlap *o, int x)
{
    uint64_t rows = o->last_row - o->first_row + 1;

    return o->first_row + (size_t)((uint64_t)x * rows / (uint64_t)o->count);
}

/* The column of a row; -1: not in the window. */
static int column_of(const struct tui_overlap *o, size_t row)
{
    uint64_t rows = o->last_row - o->first_row + 1;
    uint64_t x;

    if (row == SIZE_MAX || row < o->first_row || row > o->last_row)
        return -1;
    x = ((uint64_t)(row - o->first_row) * (uint64_t)o->count) / rows;
    /* rounding: the quotient may be one column off */
    while (x + 1 < (uint64_t)o->count && column_row(o, (int)x + 1) <= row)
        x++;
    return (int)x;
}

void tui_overlap_fill(struct tui_overlap *o, const struct tui_app *app, int w)
{
    const struct rpl_pairs *pairs = tui_diff_pairs(app);

    o->count = pairs && pairs->row_count && w > AXIS_W ? w - AXIS_W : 0;
    o->top = 1;
    if (!o->count)
        return;
    o->sides = vs_realloc(o->sides, (size_t)o->count, sizeof(*o->sides));
    o->differs = vs_realloc(o->differs, (size_t)o->count, sizeof(*o->differs));
    rows_window(o, app, pairs);
    for (int x = 0; x < o->count; x++) {
        size_t first = column_row(o, x);
        size_t end = x + 1 < o->count ? column_row(o, x + 1) : o->last_row + 1;
        size_t last = end > first ? end - 1 : first;
        struct rpl_pair_top top = rpl_pairs_top(pairs, first, last);
        size_t stretch = rpl_pairs_stretch(pairs, first);

        o->sides[x] = (struct tui_sides){pairs->rows[top.a].total_a, pairs->rows[top.b].total_b};
        o->differs[x] = stretch < pairs->stretch_count && pairs->stretches[stretch].first <= last;
        if (o->sides[x].a > o->top)
            o->top = o->sides[x].a;
        if (o->sides[x].b > o->top)
            o->top = o->sides[x].b;
    }
    o->top += o->top / 32;
}

/* ---- drawing ---- */

static enum vs_phase row_phase(const struct rpl_pairs *pairs, size_t row)
{
    return (enum vs_phase)rpl_pair_location(pairs, &pairs->rows[row])->phase;
}

static void draw_phases(const struct tui_overlap *o, const struct rpl_pairs *pairs,
                        struct tui_canvas *c, int y)
{
    int from = 0;

    for (int x = 1; x <= o->count; x++) {
        enum vs_phase phase = row_phase(pairs, column_row(o, from));

        if (x < o->count && row_phase(pairs, column_row(o, x)) == phase)
            continue;
        tui_chart_piece(c, AXIS_W + from, y, x - from, tui_style(tui_phase_role((int)phase)),
                        tui_phase_text((int)phase, x - from));
        from = x;
    }
}

/* The axis: marks where the runs differ, at both peaks and at the cursor. */
static void draw_axis(const struct tui_overlap *o, const struct tui_app *app, struct tui_canvas *c,
                      int y)
{
    const struct rpl_pairs *pairs = tui_diff_pairs(app);
    int at = column_of(o, tui_diff_row(app));
    int peaks[2] = {column_of(o, rpl_pairs_at(pairs, false, app->base.top.event)),
                    column_of(o, rpl_pairs_at(pairs, true, app->change.run.top.event))};

    tui_text_right(c, 0, y, AXIS_W - 1, tui_style(TUI_DIM), "differ");
    tui_row(c, AXIS_W, y, o->count, TUI_G_HLINE, tui_style(TUI_LINE));
    for (int x = 0; x < o->count; x++)
        if (o->differs[x])
            tui_put_glyph(c, AXIS_W + x, y, TUI_G_DASHED, tui_style(TUI_BAD));
    for (int i = 0; i < 2; i++)
        if (peaks[i] >= 0)
            tui_put(c, AXIS_W + peaks[i], y, i ? 'B' : 'A',
                    tui_style_marked(i ? TUI_SIDE_B : TUI_SIDE_A, TUI_BOLD));
    if (at >= 0)
        tui_put_glyph(c, AXIS_W + at, y, TUI_G_UP, tui_style(TUI_CURSOR));
}

void tui_overlap_draw(const struct tui_overlap *o, const struct tui_app *app, struct tui_canvas *c,
                      bool has_phases)
{
    int h = c->at.h - 1 - has_phases;
    struct tui_canvas part = tui_canvas_part(c, (struct tui_rect){AXIS_W, 0, o->count, h});

    if (!o->count)
        return;
    tui_chart_axis(c, AXIS_W, h, o->top);
    tui_chart_sides(o->sides, o->count, o->top, tui_app_has_letters(app), &part);
    if (has_phases)
        draw_phases(o, tui_diff_pairs(app), c, h);
    draw_axis(o, app, c, c->at.h - 1);
}

size_t tui_overlap_row(const struct tui_overlap *o, int x)
{
    return x >= AXIS_W && x - AXIS_W < o->count ? column_row(o, x - AXIS_W) : SIZE_MAX;
}

void tui_overlap_release(struct tui_overlap *o)
{
    vs_free(o->sides);
    vs_free(o->differs);
}
