/*
 * tui/term/surface_text.h - a surface as text.
 *
 * For:            --dump, copying a view, golden screens.
 * Must not know:  terminals, colours.
 * Invariant:      the same cells give the same text.
 */
#ifndef TUI_SURFACE_TEXT_H
#define TUI_SURFACE_TEXT_H

#include "base/text.h"
#include "tui/term/surface.h"

/* The characters of `at`, a line a row, without blanks at the ends of lines. */
void tui_surface_text(const struct tui_surface *surface, struct tui_rect at, struct vs_text *out);
/*
 * The styles of the whole surface, a line a row: "3: plain*10 title+bold*7 saved/input*2", where the name after the
 * slash is the role behind. Rows that are all plain are left out.
 */
void tui_surface_styles(const struct tui_surface *surface, struct vs_text *out);

#endif
