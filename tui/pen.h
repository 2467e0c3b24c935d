/*
 * tui/pen.h - the shortest bytes that bring a terminal's cursor and colours from one state to another.
 *
 * For:            surface_curses.c.
 * Must not know:  what is drawn, what the terminal shows.
 * Invariant:      nothing is sent that the terminal's own description (terminfo) does not name; what is sent, tui_pen fields included,
 *                 says in which state the terminal then is.
 *
 * curses writes both colours of a cell at each change, and often goes through the terminal's own: two thirds of the bytes of a screen.
 */
#ifndef TUI_PEN_H
#define TUI_PEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* A colour that nobody would see, such as that of a blank: whatever the pen has. */
#define TUI_PEN_ANY (-2)

/*
 * A cell as the terminal shows it.
 *
 * ch             code point
 * front, behind  colour, -1: the terminal's own; front may be TUI_PEN_ANY
 * marks          TUI_BOLD, TUI_REVERSE, TUI_UNDERLINE
 * width          as in struct tui_cell
 */
struct tui_ink {
    uint32_t ch;
    int front;
    int behind;
    uint8_t marks;
    uint8_t width;
};

/* What of a terminal's description is used. */
enum tui_pen_cap {
    TUI_PEN_OFF,
    TUI_PEN_OWN_COLOURS,
    TUI_PEN_FRONT,
    TUI_PEN_BEHIND,
    TUI_PEN_BOLD,
    TUI_PEN_REVERSE,
    TUI_PEN_UNDERLINE,
    TUI_PEN_PLACE,
    TUI_PEN_COLUMN,
    TUI_PEN_RIGHT,
    TUI_PEN_LEFT,
    TUI_PEN_ERASE_REST,
    TUI_PEN_ERASE_SOME,
    TUI_PEN_CAP_COUNT
};

/*
 * out            bytes to be sent; whoever sends them empties it
 * w, h           of the screen
 * x, y           of the cursor; x -1: nobody knows
 * front, behind, marks   in which the next character would be written
 * style_end      length of `out` behind the last change of style
 * caps           strings of terminfo, NULL: it cannot
 * the rest       what else it is like: tui_pen_init
 */
struct tui_pen {
    struct vs_text out;
    int w;
    int h;
    int x;
    int y;
    int front;
    int behind;
    unsigned marks;
    size_t style_end;
    const char *caps[TUI_PEN_CAP_COUNT];
    int colours;
    int not_with_colours;
    bool has_own_apart;
    bool has_erase_in_colour;
    bool moves_in_style;
    bool wraps_at_once;
};

/* Learn what the terminal can do that curses has open. Zero-initialised before. */
void tui_pen_init(struct tui_pen *pen);
void tui_pen_release(struct tui_pen *pen);
/* The screen was cleared: w by h cells, no style, the cursor anywhere. */
void tui_pen_cleared(struct tui_pen *pen, int w, int h);

/* What the terminal makes of an ink: colours it has, marks that go with them. */
struct tui_ink tui_pen_ink(const struct tui_pen *pen, struct tui_ink ink);
/* Whether the next character would look so. */
bool tui_pen_has(const struct tui_pen *pen, const struct tui_ink *ink);
/* Bytes that tui_pen_move would take, along the row of the cursor. */
int tui_pen_move_cost(const struct tui_pen *pen, int x);
void tui_pen_move(struct tui_pen *pen, int x, int y);
/* One character, at the cursor. */
void tui_pen_put(struct tui_pen *pen, const struct tui_ink *ink);
/* `count` blanks from the cursor on, which may stay where it is. */
void tui_pen_blanks(struct tui_pen *pen, const struct tui_ink *ink, int count);
/* Colours and marks off. */
void tui_pen_off(struct tui_pen *pen);

#endif
