/*
 * tui/term/surface.h - a grid of character cells, and the drawing on it.
 *
 * For:            every view; surface_curses.c sends one to a terminal, surface_text.c writes one as text, tests read
 *                 one.
 * Must not know:  terminals, colours, what is drawn.
 * Invariant:      nothing is ever drawn outside the canvas's rectangle; a wide character stands in both of its cells
 *                 or in neither.
 *
 * Texts are UTF-8; what is not, and control characters, shows as `?`. Columns and rows count from 0.
 */
#ifndef TUI_SURFACE_H
#define TUI_SURFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* What a cell is for. tui/term/theme.h says how that looks. */
enum tui_role {
/* clang-format off */
#define TUI_ROLE(id, name, df, db, lf, lb, df8, db8, lf8, lb8, mono) id,
#include "tui/term/role.def"
#undef TUI_ROLE
    /* clang-format on */
    TUI_ROLE_COUNT
};

enum tui_mark {
    TUI_BOLD = 1 << 0,
    TUI_REVERSE = 1 << 1,
    TUI_UNDERLINE = 1 << 2,
    TUI_SELECTED = 1 << 3,       /* the ground of TUI_ROW */
    TUI_SELECTED_QUIET = 1 << 4, /* of TUI_ROW_QUIET: the row of a pane without the focus */
};

enum tui_glyph {
/* clang-format off */
#define TUI_GLYPH(id, unicode, ascii) id,
#include "tui/term/glyph.def"
#undef TUI_GLYPH
    /* clang-format on */
    TUI_GLYPH_COUNT
};

/*
 * role    enum tui_role, in front
 * behind  TUI_PLAIN: what the role has behind itself; else a role whose colour in front fills the ground
 * marks   enum tui_mark, or-ed
 */
struct tui_style {
    uint8_t role;
    uint8_t behind;
    uint8_t marks;
};

/* ch: code point. width: 1, 2, or 0 for the right half of a wide character, whose ch is 0. */
struct tui_cell {
    uint32_t ch;
    struct tui_style style;
    uint8_t width;
};

struct tui_rect {
    int x;
    int y;
    int w;
    int h;
};

/* cells: w * h of them, row by row. is_ascii: nothing but ASCII is put into it. */
struct tui_surface {
    int w;
    int h;
    bool is_ascii;
    struct tui_cell *cells;
};

/* Part of a surface; coordinates of the drawing functions are inside it. */
struct tui_canvas {
    struct tui_surface *surface;
    struct tui_rect at;
};

/* Blank, of w by h cells, both from 1. */
void tui_surface_init(struct tui_surface *surface, int w, int h, bool is_ascii);
void tui_surface_release(struct tui_surface *surface);
/* Another size; blank. */
void tui_surface_resize(struct tui_surface *surface, int w, int h);
void tui_surface_clear(struct tui_surface *surface);
/* Inside the surface (asserted). */
const struct tui_cell *tui_surface_cell(const struct tui_surface *surface, int x, int y);

/* The canvas of `at`, cut to the surface. May be empty. */
struct tui_canvas tui_canvas_of(struct tui_surface *surface, struct tui_rect at);
/* A part of a canvas, cut to it. */
struct tui_canvas tui_canvas_part(const struct tui_canvas *canvas, struct tui_rect at);

struct tui_style tui_style(enum tui_role role);
struct tui_style tui_style_marked(enum tui_role role, unsigned marks);

/* One character. A wide one that does not fit is a blank. */
void tui_put(struct tui_canvas *c, int x, int y, uint32_t ch, struct tui_style style);
void tui_put_glyph(struct tui_canvas *c, int x, int y, enum tui_glyph glyph,
                   struct tui_style style);
/* `count` times along the row, or down the column. */
void tui_row(struct tui_canvas *c, int x, int y, int count, enum tui_glyph glyph,
             struct tui_style style);
void tui_column(struct tui_canvas *c, int x, int y, int count, enum tui_glyph glyph,
                struct tui_style style);
/* Blank in this style. */
void tui_fill(struct tui_canvas *c, struct tui_rect at, struct tui_style style);
/* Add marks to what is written there. */
void tui_mark(struct tui_canvas *c, struct tui_rect at, unsigned marks);

/* Text from (x, y) to the edge. Returns the column after it, also where that lies outside. */
int tui_text(struct tui_canvas *c, int x, int y, struct tui_style style, const char *text);
int tui_textf(struct tui_canvas *c, int x, int y, struct tui_style style, const char *fmt, ...)
    VS_PRINTF(5, 6);
/* In `w` cells: a longer text ends in TUI_G_MORE. Returns x + w. */
int tui_text_cut(struct tui_canvas *c, int x, int y, int w, struct tui_style style,
                 const char *text);
/* The same with the beginning left out: of a path the end says most. */
int tui_text_tail(struct tui_canvas *c, int x, int y, int w, struct tui_style style,
                  const char *text);
/* As tui_text_cut, but cut before a word where that leaves one. */
int tui_text_words(struct tui_canvas *c, int x, int y, int w, struct tui_style style,
                   const char *text);
/*
 * From (x, y), broken at blanks into rows of `w` cells at most, and where the text has a line feed; the last row of the
 * canvas is cut as by tui_text_cut. Returns the number of rows.
 */
int tui_text_wrap(struct tui_canvas *c, int x, int y, int w, struct tui_style style,
                  const char *text);
/* How many rows tui_text_wrap needs for all of the text; w >= 1. */
int tui_text_rows(int w, const char *text);
/* Ending before column `x + w`, cut where it is longer. */
void tui_text_right(struct tui_canvas *c, int x, int y, int w, struct tui_style style,
                    const char *text);

/* Cells that a text takes. */
int tui_text_width(const char *text);
/* The code point at *text, which is moved past it; 0 at the end. What is not UTF-8 is U+FFFD, a byte at a time. */
uint32_t tui_utf8_next(const char **text);
/* Writes 1 to 4 bytes, no NUL; returns how many. */
int tui_utf8_put(uint32_t ch, char out[4]);
/* Cells of a character: 0 (it joins the one before), 1 or 2. */
int tui_char_width(uint32_t ch);

#endif
