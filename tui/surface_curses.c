/*
 * tui/surface_curses.c - see surface_curses.h.
 *
 * Must not know:  what is drawn.
 * Invariant:      `last` is what the terminal shows, as long as is_known.
 */
#include "tui/surface_curses.h"

#include <string.h>
#include <wchar.h>

#include <curses.h>

#include "base/mem.h"

/* Colours a pair is kept for: the terminal's own and 0 … 255. */
#define COLOUR_COUNT 257

/*
 * last      the cells as shown, w * h
 * pairs     number of the pair of colours (front, behind), 0: none yet
 * pair_count  pairs in use; the first is the terminal's own
 */
struct tui_shown {
    struct tui_cell *last;
    int w;
    int h;
    bool is_known;
    enum tui_theme theme;
    short pair_count;
    short pairs[COLOUR_COUNT][COLOUR_COUNT];
};

struct tui_shown *tui_shown_new(void)
{
    struct tui_shown *shown = vs_calloc(1, sizeof(*shown));

    shown->pair_count = 1;
    return shown;
}

void tui_shown_free(struct tui_shown *shown)
{
    if (!shown)
        return;
    vs_free(shown->last);
    vs_free(shown);
}

void tui_shown_forget(struct tui_shown *shown)
{
    shown->is_known = false;
}

/* A pair for these two colours; where the terminal has no more of them, the terminal's own. */
static short pair_get(struct tui_shown *shown, int front, int behind)
{
    short *pair;

    if (front >= COLORS || behind >= COLORS || (front < 0 && behind < 0))
        return 0;
    pair = &shown->pairs[front + 1][behind + 1];
    if (*pair)
        return *pair;
    if (shown->pair_count >= COLOR_PAIRS - 1 ||
        init_pair(shown->pair_count, (short)front, (short)behind) == ERR)
        return behind < 0 ? 0 : pair_get(shown, front, -1);
    *pair = shown->pair_count++;
    return *pair;
}

static attr_t attributes(unsigned marks)
{
    return (marks & TUI_BOLD ? A_BOLD : 0) | (marks & TUI_REVERSE ? A_REVERSE : 0) |
           (marks & TUI_UNDERLINE ? A_UNDERLINE : 0);
}

static void send(struct tui_shown *shown, const struct tui_cell *cell, int x, int y)
{
    int colours = has_colors() ? COLORS : 0;
    struct tui_look look = tui_theme_look(shown->theme, colours, cell->style);
    wchar_t text[2] = {(wchar_t)cell->ch, 0};
    cchar_t out;

    if (setcchar(&out, text, attributes(look.marks),
                 colours ? pair_get(shown, look.front, look.behind) : (short)0, NULL) == OK)
        mvadd_wchnstr(y, x, &out, 1);
}

static bool is_same(const struct tui_cell *a, const struct tui_cell *b)
{
    return a->ch == b->ch && a->width == b->width && a->style.role == b->style.role &&
           a->style.behind == b->style.behind && a->style.marks == b->style.marks;
}

/* Room for this size, and nothing known where something has changed that all cells depend on. */
static void shown_prepare(struct tui_shown *shown, const struct tui_surface *surface,
                          enum tui_theme theme)
{
    if (shown->w != surface->w || shown->h != surface->h || shown->theme != theme)
        shown->is_known = false;
    if (shown->is_known)
        return;
    shown->w = surface->w;
    shown->h = surface->h;
    shown->theme = theme;
    shown->last =
        vs_realloc(shown->last, (size_t)surface->w * (size_t)surface->h, sizeof(*shown->last));
    clearok(stdscr, TRUE);
}

size_t tui_shown_update(struct tui_shown *shown, const struct tui_surface *surface,
                        enum tui_theme theme, int cursor_x, int cursor_y)
{
    size_t count = (size_t)surface->w * (size_t)surface->h;
    size_t sent = 0;

    shown_prepare(shown, surface, theme);
    for (size_t i = 0; i < count; i++) {
        const struct tui_cell *cell = &surface->cells[i];

        /* the right half comes with the left one */
        if (cell->width == 0 || (shown->is_known && is_same(cell, &shown->last[i])))
            continue;
        send(shown, cell, (int)(i % (size_t)surface->w), (int)(i / (size_t)surface->w));
        sent++;
    }
    memcpy(shown->last, surface->cells, count * sizeof(*shown->last));
    shown->is_known = true;
    if (cursor_x >= 0)
        move(cursor_y, cursor_x);
    curs_set(cursor_x >= 0);
    refresh();
    return sent;
}
