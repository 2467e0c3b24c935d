/*
 * tui/parts/list.h - a cursor in rows of which only some fit: moving, scrolling, pages.
 *
 * For:            every view of rows.
 * Must not know:  what a row is.
 * Invariant:      at < count where there are rows, and row `at` is among those shown.
 */
#ifndef TUI_LIST_H
#define TUI_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/parts/keys.h"
#include "tui/term/surface.h"

/* at: the chosen row. top: the first one shown. count, height: as of the last tui_list_fit. */
struct tui_list {
    size_t at;
    size_t top;
    size_t count;
    size_t height;
};

/* There are `count` rows now, of which `height` fit. */
void tui_list_fit(struct tui_list *list, size_t count, int height);
/* Move as the action says; false where it is none of moving. */
bool tui_list_act(struct tui_list *list, enum tui_action action, int64_t count);
/* To row `row`, which comes into the middle: what is shown depends on the row alone, not on the way to it. */
void tui_list_go(struct tui_list *list, size_t row);
/* Mark line y of the canvas, which shows row `row`, where that is the chosen one. */
void tui_list_mark(const struct tui_list *list, size_t row, struct tui_canvas *c, int y,
                   bool is_focused);

#endif
