/*
 * tui/parts/layout.h - the arrangement of panes for a screen of any size.
 *
 * For:            screen.c, which draws it; app.c, which finds the pane that was clicked.
 * Must not know:  the contents of panes.
 * Invariant:      panes, header, status and footer lie inside the screen and do not overlap; there are none if
 *                 `is_too_small`.
 */
#ifndef TUI_LAYOUT_H
#define TUI_LAYOUT_H

#include <stdbool.h>

#include "tui/term/surface.h"

#define TUI_PANE_MAX 6
#define TUI_MIN_W 40
#define TUI_MIN_H 10

/*
 * header, status, keys   rows at the edges of the screen
 * panes    pane_count panes, the main one first; at least 1 by 2 cells each: a title row and the content below it
 * walls    wall_count separators between panes, one cell wide
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

/* Compute the layout for w by h cells; is_single: a single pane at any size. */
void tui_layout_fill(struct tui_layout *out, int w, int h, bool is_single);
/* Index of the pane that contains the cell (x, y); -1: none. */
int tui_layout_pane_at(const struct tui_layout *layout, int x, int y);

#endif
