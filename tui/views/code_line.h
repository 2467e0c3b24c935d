/*
 * tui/views/code_line.h - draws a line of Python's source.
 *
 * For:            the source view.
 * Must not know:  which line it is.
 * Invariant:      what is drawn is the text, whatever it contains.
 */
#ifndef TUI_CODE_LINE_H
#define TUI_CODE_LINE_H

#include "tui/term/surface.h"

/* Draw `len` bytes of `text` at x, y, with comments and keywords in their own colours. */
void tui_code_draw(struct tui_canvas *c, int x, int y, const char *text, int len);

#endif
