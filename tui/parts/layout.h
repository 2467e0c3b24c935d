/*
 * tui/parts/layout.h - which pane stands where, at any size.
 *
 * For:            screen.c draws it, app.c asks which pane a click hit.
 * Must not know:  what stands in a pane.
 * Invariant:      panes, header, status and footer never overlap and never leave the screen; where `is_too_small`, there are none.
 */
#ifndef TUI_LAYOUT_H
#define TUI_LAYOUT_H

#include <stdbool.h>

#include "tui/term/surface.h"

#define TUI_PANE_MAX 6
#define TUI_MIN_W 40
#define TUI_MIN_H 10

/*
 * header, status, keys   rows at the edges
 * panes    pane_count of them, the first is the main one; each from 1 by 2 cells: a title row and what is below it
 * walls    wall_count columns of one cell that stand between panes
 */
struct tui_layout {
    bool is_too_small;
    struct tui_rect header;
    struct tui_rect status;
    struct tui_rect keys;
    struct tui_rect panes[TUI_PANE_MAX];
    int pane_count;
    struct tui_rect walls[TUI_PANE_MAX];
    int wall_count;
};

/* The arrangement for w by h cells; with `is_single` one pane whatever the size. */
void tui_layout_fill(struct tui_layout *out, int w, int h, bool is_single);
/* Index of the pane that holds the cell, -1: none. */
int tui_layout_pane_at(const struct tui_layout *layout, int x, int y);

#endif
