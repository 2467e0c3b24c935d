/*
 * tui/parts/list.h - the cursor of a scrolled list: moving, scrolling, paging.
 *
 * For:            every view that shows rows.
 * Must not know:  the contents of rows.
 * Invariant:      if there are rows, at < count, and row `at` is visible.
 */
#ifndef TUI_LIST_H
#define TUI_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/parts/keys.h"
#include "tui/term/surface.h"

/* at: the selected row. top: the first visible row. count, height: as given to the last tui_list_fit. */
struct tui_list {
    size_t at;
    size_t top;
    size_t count;
    size_t height;
};

/* Set the number of rows, and the number of rows that are visible; adjusts `at` and `top`. */
void tui_list_fit(struct tui_list *list, size_t count, int height);
/* Move the cursor as `action` says, `count` times; false: the action is not a movement. */
bool tui_list_act(struct tui_list *list, enum tui_action action, int64_t count);
/* Select row `row` and scroll it to the middle, so that the visible rows depend only on `row`. */
void tui_list_go(struct tui_list *list, size_t row);
/* Highlight line y of the canvas, which shows row `row`, if that row is selected. */
void tui_list_mark(const struct tui_list *list, size_t row, struct tui_canvas *c, int y,
                   bool is_focused);

/*
 * The left part of a canvas, `w` cells wide but at least TUI_TABLE_LEAST_W, as far as there are so many: a table is
 * drawn there, so that on a wide screen its figures stay near the names they belong to.
 */
#define TUI_TABLE_LEAST_W 80
struct tui_canvas tui_table_canvas(const struct tui_canvas *c, int w);

#endif
