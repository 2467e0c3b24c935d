/*
 * tui/term/theme.h - how a style looks: colours and marks, on a terminal of 256 colours, of 8, of none.
 *
 * For:            surface_curses.c, and the key that changes the theme.
 * Must not know:  terminals, views.
 * Invariant:      the theme `mono` has no colour at all; letters and marks distinguish what it shows.
 */
#ifndef TUI_THEME_H
#define TUI_THEME_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/error.h"
#include "tui/term/surface.h"

enum tui_theme { TUI_THEME_DARK, TUI_THEME_LIGHT, TUI_THEME_MONO, TUI_THEME_COUNT };

/* Colour numbers of the terminal, -1 its own. marks: bold, reverse, underline. */
struct tui_attributes {
    int front;
    int behind;
    unsigned marks;
};

const char *tui_theme_name(enum tui_theme theme);
/* "dark", "light" or "mono". VS_E_VALUE: none of these. */
VS_MUST_USE enum vs_status tui_theme_find(const char *name, enum tui_theme *out,
                                          struct vs_error *err);
/*
 * The theme to begin with: `no_color` and `colorfgbg` are the variables of these names, or NULL; NO_COLOR counts where
 * it is not empty, COLORFGBG says of some terminals which ground they have.
 */
enum tui_theme tui_theme_pick(const char *no_color, const char *colorfgbg);

/* colours: how many the terminal has; below 8 every theme is mono. */
struct tui_attributes tui_theme_attributes(enum tui_theme theme, int colours,
                                           struct tui_style style);

/* The letter of a category, upper case, each a different one. */
char tui_category_letter(int category);
enum tui_role tui_category_role(int category);
enum tui_role tui_phase_role(int phase);

#endif
