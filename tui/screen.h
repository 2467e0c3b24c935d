/*
 * tui/screen.h - the whole screen: header, panes with their titles, walls, status, footer.
 *
 * For:            loop.c, --dump, tests.
 * Must not know:  terminals, what a view shows.
 * Invariant:      the same session gives the same cells.
 */
#ifndef TUI_SCREEN_H
#define TUI_SCREEN_H

#include "base/text.h"
#include "tui/app.h"
#include "tui/term/surface.h"

/* Draw all of it; the surface has the app's size. tui_app_sync has been called since the last input. */
void tui_screen_draw(const struct tui_app *app, struct tui_surface *surface);
/* The focused pane as text, title included. */
void tui_pane_text(const struct tui_app *app, struct vs_text *out);
/* The view whose tab in the header is at column x; -1: none. */
int tui_screen_tab_at(const struct tui_app *app, int x);
/* Where the terminal's own cursor belongs: in the prompt. False: nowhere. */
VS_MUST_USE bool tui_screen_cursor(const struct tui_app *app, int *x, int *y);
#endif
