/*
 * tui/pen.c - see pen.h.
 *
 * Must not know:  what is drawn, what the terminal shows.
 * Invariant:      after the last column the column of the cursor is not known: terminals differ in what they do there.
 */
#include "tui/pen.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <curses.h>
#include <term.h>

#include "base/error.h"
#include "tui/surface.h"

/* A capability with its numbers filled in. */
#define SEQUENCE_MAX 64
/* Bits of `ncv`: marks that a terminal cannot show together with colours. */
#define NCV_UNDERLINE 2
#define NCV_REVERSE 4
#define NCV_BOLD 32

/* ---- what the terminal can do ---- */

static const char *const NAMES[TUI_PEN_CAP_COUNT] = {
    [TUI_PEN_OFF] = "sgr0",       [TUI_PEN_OWN_COLOURS] = "op", [TUI_PEN_FRONT] = "setaf",
    [TUI_PEN_BEHIND] = "setab",   [TUI_PEN_BOLD] = "bold",      [TUI_PEN_REVERSE] = "rev",
    [TUI_PEN_UNDERLINE] = "smul", [TUI_PEN_PLACE] = "cup",      [TUI_PEN_COLUMN] = "hpa",
    [TUI_PEN_RIGHT] = "cuf",      [TUI_PEN_LEFT] = "cub",       [TUI_PEN_ERASE_REST] = "el",
    [TUI_PEN_ERASE_SOME] = "ech",
};

void tui_pen_init(struct tui_pen *pen)
{
    for (int i = 0; i < TUI_PEN_CAP_COUNT; i++) {
        const char *text = tigetstr(NAMES[i]);

        pen->caps[i] = text == (const char *)-1 ? NULL : text;
    }
    pen->colours = has_colors() && pen->caps[TUI_PEN_OWN_COLOURS] ? COLORS : 0;
    pen->not_with_colours = tigetnum("ncv");
    if (pen->not_with_colours < 0)
        pen->not_with_colours = 0;
    pen->has_own_apart = tigetflag("AX") > 0;
    pen->has_erase_in_colour = tigetflag("bce") > 0;
    pen->moves_in_style = tigetflag("msgr") > 0;
    pen->wraps_at_once = tigetflag("am") > 0 && tigetflag("xenl") <= 0;
    tui_pen_cleared(pen, 0, 0);
}

void tui_pen_release(struct tui_pen *pen)
{
    vs_text_release(&pen->out);
}

void tui_pen_cleared(struct tui_pen *pen, int w, int h)
{
    pen->w = w;
    pen->h = h;
    pen->x = -1;
    pen->y = -1;
    pen->front = -1;
    pen->behind = -1;
    pen->marks = 0;
}

/*
 * A capability's string into `out`, of SEQUENCE_MAX bytes, without the waiting that only tputs understands ("$<5>"), and without the
 * change of the character set that some switch their marks off with: no other is ever in use. Its length.
 */
static size_t plain(const char *text, char *out)
{
    size_t len = 0;

    while (text && *text && len < SEQUENCE_MAX - 1) {
        const char *end = strncmp(text, "$<", 2) == 0 ? strchr(text, '>') : NULL;

        if (end)
            text = end + 1;
        else if (strncmp(text, "\033(B", 3) == 0)
            text += 3;
        else if (*text == '\017')
            text++;
        else
            out[len++] = *text++;
    }
    out[len] = '\0';
    return len;
}

static size_t filled(const struct tui_pen *pen, enum tui_pen_cap cap, int a, int b, char *out)
{
    return pen->caps[cap] ? plain(tiparm(pen->caps[cap], a, b), out) : 0;
}

/* ---- style ---- */

/* "ESC [ numbers m", which may follow another one as "; numbers m". */
static bool is_plain_style(const char *text, size_t len)
{
    return len >= 3 && text[0] == '\033' && text[1] == '[' && text[len - 1] == 'm' &&
           strspn(text + 2, "0123456789;") == len - 3;
}

static void style_add(struct tui_pen *pen, const char *text, size_t len)
{
    bool is_plain = is_plain_style(text, len);

    if (is_plain && pen->out.len && pen->out.len == pen->style_end) {
        pen->out.data[pen->out.len - 1] = ';';
        text += 2;
        len -= 2;
    }
    vs_text_add_n(&pen->out, text, len);
    pen->style_end = is_plain ? pen->out.len : 0;
}

static void style_cap(struct tui_pen *pen, enum tui_pen_cap cap, int number)
{
    char text[SEQUENCE_MAX];
    size_t len = filled(pen, cap, number, 0, text);

    style_add(pen, text, len);
}

void tui_pen_off(struct tui_pen *pen)
{
    if (!pen->marks && pen->front == -1 && pen->behind == -1)
        return;
    style_cap(pen, pen->caps[TUI_PEN_OFF] ? TUI_PEN_OFF : TUI_PEN_OWN_COLOURS, 0);
    pen->front = -1;
    pen->behind = -1;
    pen->marks = 0;
}

/* Back to the terminal's own colours where the ink has them; of some terminals both go at once. */
static void own_colours(struct tui_pen *pen, int front, int behind)
{
    bool front_back = front == -1 && pen->front != -1;
    bool behind_back = behind == -1 && pen->behind != -1;

    if (!front_back && !behind_back)
        return;
    if ((front_back && behind_back) || !pen->has_own_apart) {
        style_cap(pen, TUI_PEN_OWN_COLOURS, 0);
        pen->front = -1;
        pen->behind = -1;
    } else if (front_back) {
        style_add(pen, "\033[39m", 5);
        pen->front = -1;
    } else {
        style_add(pen, "\033[49m", 5);
        pen->behind = -1;
    }
}

static void style(struct tui_pen *pen, const struct tui_ink *ink)
{
    int front = ink->front == TUI_PEN_ANY ? pen->front : ink->front;
    int behind = ink->behind;
    unsigned marks = ink->marks | (ink->front == TUI_PEN_ANY ? pen->marks & TUI_BOLD : 0);
    unsigned more;

    if (tui_pen_has(pen, ink))
        return;
    /* marks go off together, and with them the colours */
    if ((pen->marks & ~marks) || (front == -1 && behind == -1 && !marks)) {
        tui_pen_off(pen);
        front = ink->front == TUI_PEN_ANY ? -1 : ink->front;
        marks = ink->marks;
    }
    own_colours(pen, front, behind);
    more = marks & ~pen->marks;
    if (more & TUI_BOLD)
        style_cap(pen, TUI_PEN_BOLD, 0);
    if (more & TUI_REVERSE)
        style_cap(pen, TUI_PEN_REVERSE, 0);
    if (more & TUI_UNDERLINE)
        style_cap(pen, TUI_PEN_UNDERLINE, 0);
    if (front != -1 && front != pen->front)
        style_cap(pen, TUI_PEN_FRONT, front);
    if (behind != -1 && behind != pen->behind)
        style_cap(pen, TUI_PEN_BEHIND, behind);
    pen->marks = marks;
    pen->front = front;
    pen->behind = behind;
}

struct tui_ink tui_pen_ink(const struct tui_pen *pen, struct tui_ink ink)
{
    bool is_coloured;

    if (ink.front >= pen->colours)
        ink.front = -1;
    if (ink.behind >= pen->colours)
        ink.behind = -1;
    is_coloured = ink.front >= 0 || ink.behind >= 0;
    if (is_coloured && pen->not_with_colours & NCV_UNDERLINE)
        ink.marks &= (uint8_t)~TUI_UNDERLINE;
    if (is_coloured && pen->not_with_colours & NCV_BOLD)
        ink.marks &= (uint8_t)~TUI_BOLD;
    if (ink.front >= 0 && ink.behind >= 0 && ink.marks & TUI_REVERSE &&
        pen->not_with_colours & NCV_REVERSE) {
        int front = ink.front;

        ink.front = ink.behind;
        ink.behind = front;
        ink.marks &= (uint8_t)~TUI_REVERSE;
    }
    /* a full block is a blank on its colour: one byte, and many of them can be erased at once */
    if (ink.ch == 0x2588 && ink.front >= 0 && !ink.marks) {
        ink.ch = ' ';
        ink.behind = ink.front;
    }
    if (ink.ch == ' ' && !(ink.marks & (TUI_REVERSE | TUI_UNDERLINE))) {
        ink.front = TUI_PEN_ANY;
        ink.marks = 0;
    }
    return ink;
}

bool tui_pen_has(const struct tui_pen *pen, const struct tui_ink *ink)
{
    /* a blank shows no bold */
    unsigned marks = ink->front == TUI_PEN_ANY ? pen->marks & ~(unsigned)TUI_BOLD : pen->marks;

    return marks == ink->marks && pen->behind == ink->behind &&
           (ink->front == TUI_PEN_ANY || pen->front == ink->front);
}

/* ---- place ---- */

/* The shortest way along the row; 0: none. Writes it to `out`. */
static size_t along(const struct tui_pen *pen, int x, char *out)
{
    char other[SEQUENCE_MAX];
    size_t len = filled(pen, TUI_PEN_COLUMN, x, 0, out);
    size_t other_len;

    if (x == 0) {
        strcpy(out, "\r");
        return 1;
    }
    other_len = x > pen->x ? filled(pen, TUI_PEN_RIGHT, x - pen->x, 0, other)
                           : filled(pen, TUI_PEN_LEFT, pen->x - x, 0, other);
    if (other_len && (!len || other_len < len)) {
        memcpy(out, other, other_len + 1);
        len = other_len;
    }
    return len;
}

int tui_pen_move_cost(const struct tui_pen *pen, int x)
{
    char text[SEQUENCE_MAX];
    size_t len = pen->x >= 0 ? along(pen, x, text) : 0;

    return len ? (int)len : INT_MAX;
}

void tui_pen_move(struct tui_pen *pen, int x, int y)
{
    char text[SEQUENCE_MAX];
    size_t len = 0;

    if (x == pen->x && y == pen->y)
        return;
    if (!pen->moves_in_style && pen->marks)
        tui_pen_off(pen);
    if (pen->x >= 0 && y == pen->y) {
        len = along(pen, x, text);
    } else if (x == 0 && pen->y >= 0 && y == pen->y + 1) {
        strcpy(text, "\r\n");
        len = 2;
    }
    if (!len)
        len = filled(pen, TUI_PEN_PLACE, y, x, text);
    vs_text_add_n(&pen->out, text, len);
    pen->x = x;
    pen->y = y;
}

/* ---- characters ---- */

/* Past the last column a terminal waits there for the next character, or is in the next row already. */
static void on(struct tui_pen *pen, int cells)
{
    pen->x += cells;
    if (pen->x < pen->w)
        return;
    pen->x = -1;
    if (pen->wraps_at_once)
        pen->y = -1;
}

void tui_pen_put(struct tui_pen *pen, const struct tui_ink *ink)
{
    char bytes[4];

    style(pen, ink);
    vs_text_add_n(&pen->out, bytes, (size_t)tui_utf8_put(ink->ch, bytes));
    on(pen, ink->width);
}

void tui_pen_blanks(struct tui_pen *pen, const struct tui_ink *ink, int count)
{
    char text[SEQUENCE_MAX];
    size_t len = 0;

    style(pen, ink);
    if (!(pen->marks & ~(unsigned)TUI_BOLD) && (pen->has_erase_in_colour || ink->behind == -1)) {
        if (pen->x + count >= pen->w)
            len = filled(pen, TUI_PEN_ERASE_REST, 0, 0, text);
        else
            len = filled(pen, TUI_PEN_ERASE_SOME, count, 0, text);
    }
    /* past what was erased the cursor has to be moved, but for the end of the row */
    if (len && (int)len + (pen->x + count < pen->w ? (int)len : 0) < count) {
        vs_text_add_n(&pen->out, text, len);
        return;
    }
    vs_text_add_fill(&pen->out, ' ', count);
    on(pen, count);
}
