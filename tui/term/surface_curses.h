/*
 * tui/term/surface_curses.h - shows a surface on the terminal that curses has open.
 *
 * For:            loop.c, once a screen.
 * Must not know:  what is drawn.
 * Invariant:      curses compares the screen with what the terminal shows and sends the difference; nothing else writes
 *                 cells.
 */
#ifndef TUI_SURFACE_CURSES_H
#define TUI_SURFACE_CURSES_H

#include "tui/term/surface.h"
#include "tui/term/theme.h"

/*
 * Show `surface`, which is as large as the terminal (tui/term/term.h, open). cursor_x below 0: no cursor.
 * Cost: every cell is handed to curses; only those that look different are sent.
 */
void tui_curses_show(const struct tui_surface *surface, enum tui_theme theme, int cursor_x,
                     int cursor_y);
/* Somebody else may have written to the terminal: the next tui_curses_show clears it and sends everything. */
void tui_curses_forget(void);

#endif
