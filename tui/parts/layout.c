/*
 * tui/parts/layout.c - see layout.h.
 *
 * Must not know:  the contents of panes.
 * Invariant:      every rectangle is cut from one that is still free, so none can overlap another.
 */
#include "tui/parts/layout.h"

#include <string.h>

/* Smallest sizes of the screen with more than one pane. */
#define TWO_ROWS_H 20
#define TWO_COLUMNS_W 100
#define THREE_COLUMNS_W 140
#define SIX_H 30

static struct tui_rect cut_top(struct tui_rect *rest, int h)
{
    struct tui_rect cut = {rest->x, rest->y, rest->w, h};

    rest->y += h;
    rest->h -= h;
    return cut;
}

static struct tui_rect cut_left(struct tui_rect *rest, int w)
{
    struct tui_rect cut = {rest->x, rest->y, w, rest->h};

    rest->x += w;
    rest->w -= w;
    return cut;
}

static void pane_add(struct tui_layout *out, struct tui_rect at)
{
    out->panes[out->pane_count++] = at;
}

/* Take a column of `w` cells, and the separator beside it, off the area. */
static struct tui_rect cut_column(struct tui_layout *out, struct tui_rect *rest, int w)
{
    struct tui_rect column = cut_left(rest, w);

    out->walls[out->wall_count++] = cut_left(rest, 1);
    return column;
}

/* One above the other: the main pane has three fifths. */
static void two(struct tui_layout *out, struct tui_rect rest)
{
    pane_add(out, cut_top(&rest, rest.h * 3 / 5));
    pane_add(out, rest);
}

static void four(struct tui_layout *out, struct tui_rect rest)
{
    struct tui_rect left = cut_column(out, &rest, rest.w * 3 / 5);

    two(out, left);
    two(out, rest);
}

/* Above: the main pane, and two beside it. Below: three. */
static void six(struct tui_layout *out, struct tui_rect rest)
{
    struct tui_rect above = cut_top(&rest, rest.h * 3 / 5);
    struct tui_rect main_pane = cut_column(out, &above, above.w * 3 / 5);
    int third = (rest.w - 2) / 3;

    pane_add(out, main_pane);
    pane_add(out, cut_column(out, &rest, third));
    two(out, above);
    pane_add(out, cut_column(out, &rest, third));
    pane_add(out, rest);
}

void tui_layout_fill(struct tui_layout *out, int w, int h, bool is_single)
{
    struct tui_rect rest = {0, 0, w, h};

    memset(out, 0, sizeof(*out));
    if (w < TUI_MIN_W || h < TUI_MIN_H) {
        out->is_too_small = true;
        return;
    }
    out->header = cut_top(&rest, 2);
    out->status = (struct tui_rect){0, h - 2, w, 1};
    out->keys = (struct tui_rect){0, h - 1, w, 1};
    rest.h -= 2;
    if (is_single || h < TWO_ROWS_H)
        pane_add(out, rest);
    else if (w < TWO_COLUMNS_W)
        two(out, rest);
    else if (w < THREE_COLUMNS_W || h < SIX_H)
        four(out, rest);
    else
        six(out, rest);
}

int tui_layout_pane_at(const struct tui_layout *layout, int x, int y)
{
    for (int i = 0; i < layout->pane_count; i++) {
        const struct tui_rect *at = &layout->panes[i];

        if (x >= at->x && x < at->x + at->w && y >= at->y && y < at->y + at->h)
            return i;
    }
    return -1;
}
