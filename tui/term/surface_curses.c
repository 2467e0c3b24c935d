/*
 * tui/term/surface_curses.c - see surface_curses.h.
 *
 * Must not know:  what is drawn, what the terminal shows: curses compares and sends.
 * Invariant:      stdscr has the size of the terminal, and every cell of it comes from the surface drawn last.
 */
#include "tui/term/surface_curses.h"

#include <stdbool.h>
#include <wchar.h>

#include <curses.h>

#define FULL_BLOCK 0x2588
/* A terminal with more colours than this takes a colour as red, green and blue in 8 bits each, not as an index. */
#define INDEXED_COLOURS 256
/* Of the 256 colours, from here on a cube of 6 * 6 * 6 colours, then 24 greys. */
#define CUBE_FIRST 16
#define GREY_FIRST 232

/* The red, green and blue of an index; below CUBE_FIRST a terminal with direct colours takes the index. */
static int direct_colour(int index)
{
    static const int LEVELS[] = {0x00, 0x5F, 0x87, 0xAF, 0xD7, 0xFF};
    int cube = index - CUBE_FIRST;

    if (index < CUBE_FIRST)
        return index;
    if (index >= GREY_FIRST)
        return (8 + 10 * (index - GREY_FIRST)) * 0x010101;
    return LEVELS[cube / 36] << 16 | LEVELS[cube / 6 % 6] << 8 | LEVELS[cube % 6];
}

/* Number of the colour pair with these colours; 0, the terminal's own colours, once all pairs are taken. */
static int pair_of(int colours, struct tui_attributes attrs)
{
    int pair;

    if (!colours || (attrs.front < 0 && attrs.behind < 0))
        return 0;
    if (colours > INDEXED_COLOURS) {
        attrs.front = direct_colour(attrs.front);
        attrs.behind = direct_colour(attrs.behind);
    }
    pair = alloc_pair(attrs.front, attrs.behind);
    return pair < 0 ? 0 : pair;
}

static attr_t attributes(unsigned marks)
{
    return (marks & TUI_BOLD ? A_BOLD : 0) | (marks & TUI_REVERSE ? A_REVERSE : 0) |
           (marks & TUI_UNDERLINE ? A_UNDERLINE : 0);
}

static bool is_blank(wchar_t ch, unsigned marks)
{
    return ch == L' ' && !(marks & (TUI_REVERSE | TUI_UNDERLINE));
}

/*
 * One character at (x, y). `before` is how the character left of it was sent, and becomes how this one was. Of two ways
 * that attrs alike the one that takes fewer bytes is chosen.
 */
static void cell_put(const struct tui_cell *cell, struct tui_attributes attrs, int colours, int x,
                     int y, struct tui_attributes *before)
{
    wchar_t text[2] = {(wchar_t)cell->ch, 0};
    cchar_t out;
    int pair;

    /* a full block is a blank on its colour: one byte instead of three, and a run of blanks can be erased */
    if (cell->ch == FULL_BLOCK && attrs.front >= 0 && !attrs.marks) {
        text[0] = L' ';
        attrs.behind = attrs.front;
    }
    /* a blank shows no colour in front and no bold: with those of the character before, no change of colour is sent */
    if (is_blank(text[0], attrs.marks)) {
        bool can_keep = before->behind == attrs.behind && is_blank(L' ', before->marks);

        attrs.front = can_keep ? before->front : -1;
        attrs.marks = can_keep ? before->marks : 0;
    }
    pair = pair_of(colours, attrs);
    if (setcchar(&out, text, attributes(attrs.marks), (short)pair, &pair) == OK)
        mvadd_wchnstr(y, x, &out, 1);
    *before = attrs;
}

void tui_curses_show(const struct tui_surface *surface, enum tui_theme theme, int cursor_x,
                     int cursor_y)
{
    const unsigned grounds = TUI_SELECTED | TUI_SELECTED_QUIET;
    int colours = has_colors() ? COLORS : 0;

    for (int y = 0; y < surface->h; y++) {
        struct tui_attributes before = {-1, -1, 0};

        for (int x = 0; x < surface->w; x++) {
            const struct tui_cell *cell = tui_surface_cell(surface, x, y);
            struct tui_style style = cell->style;

            /* a full block hides the ground of a chosen row: its own colour says what it is */
            if (cell->ch == FULL_BLOCK)
                style.marks &= (uint8_t)~grounds;
            /* the right half of a wide character comes with its left half */
            if (cell->width)
                cell_put(cell, tui_theme_attributes(theme, colours, style), colours, x, y, &before);
        }
    }
    /* a cursor that is not shown stays where the last character was sent */
    leaveok(stdscr, cursor_x < 0);
    if (cursor_x >= 0)
        move(cursor_y, cursor_x);
    curs_set(cursor_x >= 0);
    refresh();
}

void tui_curses_forget(void)
{
    clearok(stdscr, TRUE);
}
