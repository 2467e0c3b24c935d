/*
 * tui/surface_curses.h - brings a surface onto the terminal.
 *
 * For:            screen by screen, loop.c.
 * Must not know:  what is drawn.
 * Invariant:      only cells that differ from those shown are sent; the terminal is open (tui/term.h) whenever one of these is called.
 */
#ifndef TUI_SURFACE_CURSES_H
#define TUI_SURFACE_CURSES_H

#include "tui/surface.h"
#include "tui/theme.h"

struct tui_shown;

/* Nothing shown yet, on the terminal that curses has open and that `fd` writes to. The caller frees it. */
struct tui_shown *tui_shown_new(int fd) VS_MUST_USE;
void tui_shown_free(struct tui_shown *shown);
/* Show `surface`, which is as large as the terminal. cursor_x below 0: no cursor. Returns how many cells were sent. */
size_t tui_shown_update(struct tui_shown *shown, const struct tui_surface *surface,
                        enum tui_theme theme, int cursor_x, int cursor_y);
/* Forget what is shown: the next update sends everything. */
void tui_shown_forget(struct tui_shown *shown);

#endif
