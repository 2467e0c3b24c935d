/*
 * tui/surface_curses.c - see surface_curses.h.
 *
 * Must not know:  what is drawn.
 * Invariant:      `last` is what the terminal shows, as long as is_known. curses takes the terminal, clears it and gives it back; its own
 *                 picture of the screen stays blank, so that it never draws.
 */
#include "tui/surface_curses.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <curses.h>

#include "base/mem.h"
#include "tui/pen.h"

/*
 * last   the cells as shown, w * h
 * fd     the terminal
 */
struct tui_shown {
    struct tui_cell *last;
    int w;
    int h;
    bool is_known;
    enum tui_theme theme;
    struct tui_pen pen;
    int fd;
};

struct tui_shown *tui_shown_new(int fd)
{
    struct tui_shown *shown = vs_calloc(1, sizeof(*shown));

    shown->fd = fd;
    tui_pen_init(&shown->pen);
    return shown;
}

void tui_shown_free(struct tui_shown *shown)
{
    if (!shown)
        return;
    tui_pen_release(&shown->pen);
    vs_free(shown->last);
    vs_free(shown);
}

void tui_shown_forget(struct tui_shown *shown)
{
    shown->is_known = false;
}

/* ---- cells ---- */

static struct tui_ink ink_of(const struct tui_shown *shown, const struct tui_cell *cell)
{
    struct tui_look look = tui_theme_look(shown->theme, shown->pen.colours, cell->style);

    return tui_pen_ink(&shown->pen, (struct tui_ink){.ch = cell->ch,
                                                     .front = look.front,
                                                     .behind = look.behind,
                                                     .marks = (uint8_t)look.marks,
                                                     .width = cell->width});
}

static bool is_same_cell(const struct tui_cell *a, const struct tui_cell *b)
{
    return a->ch == b->ch && a->width == b->width && a->style.role == b->style.role &&
           a->style.behind == b->style.behind && a->style.marks == b->style.marks;
}

static bool is_same_ink(const struct tui_ink *a, const struct tui_ink *b)
{
    return a->ch == b->ch && a->width == b->width && a->front == b->front &&
           a->behind == b->behind && a->marks == b->marks;
}

/* Whether cell i is to be sent; *ink is what it is then. */
static bool is_news(const struct tui_shown *shown, const struct tui_surface *surface, size_t i,
                    struct tui_ink *ink)
{
    struct tui_ink last;

    /* the right half comes with the left one */
    if (surface->cells[i].width == 0 || is_same_cell(&surface->cells[i], &shown->last[i]))
        return false;
    *ink = ink_of(shown, &surface->cells[i]);
    last = ink_of(shown, &shown->last[i]);
    return !is_same_ink(ink, &last);
}

/* ---- rows ---- */

/* To cell x: by writing what stands in between, where that is as short as moving. */
static void go(struct tui_shown *shown, const struct tui_cell *row, int x, int y)
{
    struct tui_pen *pen = &shown->pen;
    bool is_ahead = pen->x >= 0 && pen->y == y && pen->x < x;
    int most = is_ahead ? tui_pen_move_cost(pen, x) : 0;
    int cost = 0;
    char bytes[4];

    for (int i = pen->x; is_ahead && i < x && cost <= most; i++) {
        struct tui_ink ink = ink_of(shown, &row[i]);

        is_ahead = ink.width == 1 && tui_pen_has(pen, &ink);
        cost += tui_utf8_put(ink.ch, bytes);
    }
    if (!is_ahead || cost > most) {
        tui_pen_move(pen, x, y);
        return;
    }
    while (pen->x < x) {
        struct tui_ink ink = ink_of(shown, &row[pen->x]);

        tui_pen_put(pen, &ink);
    }
}

/* Blanks of one ground from cell x on, up to the last of them that is to be sent, or to the end of the row. */
static int blanks_from(const struct tui_shown *shown, const struct tui_surface *surface, int x,
                       int y, const struct tui_ink *blank)
{
    const struct tui_cell *row = &surface->cells[(size_t)y * (size_t)surface->w];
    int count = 1;
    int i;

    for (i = x + 1; i < surface->w; i++) {
        struct tui_ink ink = ink_of(shown, &row[i]);

        if (!is_same_ink(&ink, blank))
            break;
        if (is_news(shown, surface, (size_t)y * (size_t)surface->w + (size_t)i, &ink))
            count = i + 1 - x;
    }
    return i == surface->w ? i - x : count;
}

static size_t row_send(struct tui_shown *shown, const struct tui_surface *surface, int y)
{
    struct tui_pen *pen = &shown->pen;
    size_t from = (size_t)y * (size_t)surface->w;
    /* there the screen would go up by a row */
    int end = surface->w - (pen->wraps_at_once && y == surface->h - 1);
    size_t sent = 0;

    for (int x = 0; x < end;) {
        struct tui_ink ink;
        int count = 1;

        if (!is_news(shown, surface, from + (size_t)x, &ink)) {
            x++;
            continue;
        }
        go(shown, &surface->cells[from], x, y);
        if (ink.front == TUI_PEN_ANY) {
            count = blanks_from(shown, surface, x, y, &ink);
            count = count > end - x ? end - x : count;
            tui_pen_blanks(pen, &ink, count);
        } else {
            tui_pen_put(pen, &ink);
        }
        x += count;
        sent += (size_t)count;
    }
    return sent;
}

/* ---- the screen ---- */

/* Room for this size, and a clear screen where something has changed that all cells depend on. */
static void shown_prepare(struct tui_shown *shown, const struct tui_surface *surface,
                          enum tui_theme theme)
{
    size_t count = (size_t)surface->w * (size_t)surface->h;

    if (shown->w != surface->w || shown->h != surface->h || shown->theme != theme)
        shown->is_known = false;
    if (shown->is_known)
        return;
    shown->w = surface->w;
    shown->h = surface->h;
    shown->theme = theme;
    shown->last = vs_realloc(shown->last, count, sizeof(*shown->last));
    for (size_t i = 0; i < count; i++)
        shown->last[i] = (struct tui_cell){' ', {TUI_PLAIN, TUI_PLAIN, 0}, 1};
    erase();
    clearok(stdscr, TRUE);
    refresh();
    tui_pen_cleared(&shown->pen, surface->w, surface->h);
    shown->is_known = true;
}

/* Handlers of signals interrupt a write; what is left is still to be sent. A terminal that is gone shows at the next input. */
static void bytes_send(struct tui_shown *shown)
{
    const char *bytes = vs_text_get(&shown->pen.out);
    size_t left = shown->pen.out.len;

    while (left) {
        struct pollfd fd = {.fd = shown->fd, .events = POLLOUT, .revents = 0};
        ssize_t n = write(shown->fd, bytes, left);

        if (n < 0 && errno == EAGAIN) {
            poll(&fd, 1, -1);
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        bytes += n;
        left -= (size_t)n;
    }
    vs_text_clear(&shown->pen.out);
    shown->pen.style_end = 0;
}

size_t tui_shown_update(struct tui_shown *shown, const struct tui_surface *surface,
                        enum tui_theme theme, int cursor_x, int cursor_y)
{
    size_t sent = 0;

    shown_prepare(shown, surface, theme);
    for (int y = 0; y < surface->h; y++)
        sent += row_send(shown, surface, y);
    memcpy(shown->last, surface->cells,
           (size_t)surface->w * (size_t)surface->h * sizeof(*shown->last));
    /* whoever writes to the terminal next finds it without a style */
    tui_pen_off(&shown->pen);
    if (cursor_x >= 0)
        tui_pen_move(&shown->pen, cursor_x, cursor_y);
    bytes_send(shown);
    curs_set(cursor_x >= 0);
    return sent;
}
