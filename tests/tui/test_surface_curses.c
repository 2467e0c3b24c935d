/*
 * tests/tui/test_surface_curses.c - what reaches a terminal: a small terminal of our own reads the bytes, and its cells are those of the surface.
 */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <curses.h>
#include <term.h>

#include "base/text.h"
#include "tui/surface.h"
#include "tui/surface_curses.h"
#include "tui/theme.h"

#define W 40
#define H 12
#define FRAMES 60

struct seen {
    uint32_t ch;
    int front;
    int behind;
    unsigned marks;
};

/* waits: the last column was written, the next character goes to the next row (xterm and most others) */
struct vt {
    struct seen cells[H][W];
    struct seen pen;
    int x;
    int y;
    bool waits;
    bool erases_in_colour;
};

static struct seen blank(const struct vt *vt)
{
    return (struct seen){' ', -1, vt->erases_in_colour ? vt->pen.behind : -1, 0};
}

static void vt_erase(struct vt *vt, int from, int to)
{
    for (int i = from; i < to && i < W * H; i++)
        vt->cells[i / W][i % W] = blank(vt);
}

static void vt_style(struct vt *vt, const int *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        int n = numbers[i];

        if (n == 0)
            vt->pen = (struct seen){' ', -1, -1, 0};
        else if (n == 1)
            vt->pen.marks |= TUI_BOLD;
        else if (n == 4)
            vt->pen.marks |= TUI_UNDERLINE;
        else if (n == 7)
            vt->pen.marks |= TUI_REVERSE;
        else if (n >= 30 && n <= 37)
            vt->pen.front = n - 30;
        else if (n >= 40 && n <= 47)
            vt->pen.behind = n - 40;
        else if (n >= 90 && n <= 97)
            vt->pen.front = n - 82;
        else if (n >= 100 && n <= 107)
            vt->pen.behind = n - 92;
        else if (n == 39)
            vt->pen.front = -1;
        else if (n == 49)
            vt->pen.behind = -1;
        else if (n == 38 && i + 2 < count && numbers[i + 1] == 5)
            vt->pen.front = numbers[i += 2];
        else if (n == 48 && i + 2 < count && numbers[i + 1] == 5)
            vt->pen.behind = numbers[i += 2];
        else
            fail_msg("style %d of %d numbers is not known", n, count);
    }
}

static void vt_go(struct vt *vt, int x, int y)
{
    assert_in_range(x, 0, W - 1);
    assert_in_range(y, 0, H - 1);
    vt->x = x;
    vt->y = y;
    vt->waits = false;
}

static void vt_control(struct vt *vt, char what, const int *n, int count)
{
    int one = count && n[0] ? n[0] : 1;

    switch (what) {
    case 'm':
        vt_style(vt, count ? n : (const int[]){0}, count ? count : 1);
        break;
    case 'H':
        vt_go(vt, count > 1 ? n[1] - 1 : 0, one - 1);
        break;
    case 'G':
    case '`':
        vt_go(vt, one - 1, vt->y);
        break;
    case 'd':
        vt_go(vt, vt->x, one - 1);
        break;
    case 'C':
        assert_false(vt->waits);
        vt_go(vt, vt->x + one, vt->y);
        break;
    case 'D':
        assert_false(vt->waits);
        vt_go(vt, vt->x - one, vt->y);
        break;
    case 'K':
        assert_false(vt->waits);
        assert_int_equal(count && n[0], 0);
        vt_erase(vt, vt->y * W + vt->x, vt->y * W + W);
        break;
    case 'X':
        assert_false(vt->waits);
        assert_true(vt->x + one <= W);
        vt_erase(vt, vt->y * W + vt->x, vt->y * W + vt->x + one);
        break;
    case 'J':
        vt_erase(vt, count && n[0] == 2 ? 0 : vt->y * W + vt->x, W * H);
        break;
    default:
        /* modes, the window, the scrolling region: what curses sets up */
        assert_non_null(strchr("hlrtc", what));
    }
}

static const char *vt_sequence(struct vt *vt, const char *at)
{
    int numbers[32] = {0};
    int count = 0;
    bool is_private = *at == '?';

    at += is_private;
    while (strchr("0123456789;", *at)) {
        assert_true(count < 32);
        if (count == 0)
            count = 1;
        if (*at == ';')
            count++;
        else
            numbers[count - 1] = numbers[count - 1] * 10 + *at - '0';
        at++;
    }
    if (!is_private)
        vt_control(vt, *at, numbers, count);
    return at + 1;
}

static void vt_put(struct vt *vt, uint32_t ch)
{
    int width = tui_char_width(ch);

    if (vt->waits)
        fail_msg("U+%04X is written past the end of row %d", ch, vt->y);
    assert_true(vt->x + width <= W);
    vt->pen.ch = ch;
    vt->cells[vt->y][vt->x] = vt->pen;
    if (width == 2)
        vt->cells[vt->y][vt->x + 1] = (struct seen){0, vt->pen.front, vt->pen.behind, 0};
    vt->x += width;
    if (vt->x == W) {
        vt->x = W - 1;
        vt->waits = true;
    }
}

static void vt_read(struct vt *vt, const char *bytes)
{
    while (*bytes) {
        if (bytes[0] == '\033' && bytes[1] == '[') {
            bytes = vt_sequence(vt, bytes + 2);
        } else if (bytes[0] == '\033' && strchr("()", bytes[1])) {
            bytes += 3;
        } else if (bytes[0] == '\033') {
            bytes += 2;
        } else if (*bytes == '\r') {
            vt_go(vt, 0, vt->y);
            bytes++;
        } else if (*bytes == '\n') {
            vt_go(vt, vt->x, vt->y + 1);
            bytes++;
        } else if (*bytes == '\017') {
            bytes++;
        } else {
            vt_put(vt, tui_utf8_next(&bytes));
        }
    }
}

/* ---- random screens ---- */

static uint32_t state = 1;

static uint32_t any(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static struct tui_style any_style(void)
{
    static const uint8_t MARKS[] = {
        0, 0, 0, TUI_BOLD, TUI_REVERSE, TUI_UNDERLINE, TUI_SELECTED, TUI_SELECTED_QUIET | TUI_BOLD};

    return (struct tui_style){(uint8_t)any(TUI_ROLE_COUNT),
                              any(3) ? TUI_PLAIN : (uint8_t)any(TUI_ROLE_COUNT),
                              MARKS[any(sizeof(MARKS))]};
}

/* Some rectangles, texts and glyphs over what is there, or over nothing. */
static void any_change(struct tui_surface *surface)
{
    static const char *const TEXTS[] = {"a b", "  ", "\xe6\xbc\xa2\xe5\xad\x97", "total  512 MiB"};
    struct tui_canvas c = tui_canvas_of(surface, (struct tui_rect){0, 0, W, H});

    if (any(8) == 0)
        tui_surface_clear(surface);
    for (uint32_t n = any(12); n; n--) {
        int x = (int)any(W);
        int y = (int)any(H);
        struct tui_style style = any_style();

        if (any(3) == 0)
            tui_fill(&c, (struct tui_rect){x, y, (int)any(W), (int)any(4)}, style);
        else if (any(2))
            tui_row(&c, x, y, (int)any(W), (enum tui_glyph)any(TUI_GLYPH_COUNT), style);
        else
            tui_text(&c, x, y, style, TEXTS[any(4)]);
    }
}

/* ---- what is expected ---- */

static void expect_cell(const struct vt *vt, const struct tui_surface *surface, int x, int y,
                        const char *term)
{
    const struct tui_cell *cell = tui_surface_cell(surface, x, y);
    struct tui_look look = tui_theme_look(TUI_THEME_DARK, has_colors() ? COLORS : 0, cell->style);
    const struct seen *seen = &vt->cells[y][x];
    struct seen want = {cell->ch, look.front, look.behind, look.marks};
    bool is_blank;

    if (cell->ch == 0x2588 && want.front >= 0 && !want.marks)
        want = (struct seen){' ', -1, want.front, 0};
    if (strcmp(term, "linux") == 0 && (want.front >= 0 || want.behind >= 0))
        want.marks &= ~(unsigned)TUI_UNDERLINE; /* its ncv */
    is_blank = want.ch == ' ' && !(want.marks & (TUI_REVERSE | TUI_UNDERLINE));
    if (seen->ch != want.ch || seen->behind != want.behind ||
        (!is_blank && cell->width && (seen->front != want.front || seen->marks != want.marks)))
        fail_msg("%s, cell %d,%d: U+%04X %d on %d marks %u is shown, not U+%04X %d on %d marks %u",
                 term, x, y, seen->ch, seen->front, seen->behind, seen->marks, want.ch, want.front,
                 want.behind, want.marks);
}

static void frames_expect(const char *term, FILE *out)
{
    struct vt vt = {.pen = {' ', -1, -1, 0}, .erases_in_colour = tigetflag("bce") > 0};
    struct tui_shown *shown = tui_shown_new(fileno(out));
    struct tui_surface surface;
    static char bytes[1 << 16];

    tui_surface_init(&surface, W, H, false);
    for (int i = 0; i < FRAMES; i++) {
        off_t from = lseek(fileno(out), 0, SEEK_END);
        int cursor = any(4) ? -1 : (int)any(W);
        ssize_t n;

        any_change(&surface);
        if (any(10) == 0)
            tui_shown_forget(shown);
        tui_shown_update(shown, &surface, TUI_THEME_DARK, cursor, 3);
        fflush(out);
        n = pread(fileno(out), bytes, sizeof(bytes) - 1, from);
        assert_true(n >= 0);
        bytes[n] = '\0';
        vt_read(&vt, bytes);
        for (int at = 0; at < W * H; at++)
            expect_cell(&vt, &surface, at % W, at / W, term);
        if (cursor >= 0 && (vt.x != cursor || vt.y != 3))
            fail_msg("%s: the cursor is at %d,%d, not %d,3", term, vt.x, vt.y, cursor);
        assert_int_equal(vt.pen.marks, 0);
        assert_int_equal(vt.pen.behind, -1);
    }
    tui_surface_release(&surface);
    tui_shown_free(shown);
}

static void the_terminal_shows_the_surface(void **unused)
{
    static const char *const TERMS[] = {"xterm-256color", "tmux-256color", "screen-256color",
                                        "xterm",          "linux",         "vt100"};

    (void)unused;
    for (size_t i = 0; i < sizeof(TERMS) / sizeof(TERMS[0]); i++) {
        FILE *out = tmpfile();
        SCREEN *screen;

        assert_non_null(out);
        screen = newterm(TERMS[i], out, stdin);
        if (!screen)
            fail_msg("%s is not in this machine's terminfo", TERMS[i]);
        if (has_colors() && start_color() == OK)
            use_default_colors();
        nonl();
        frames_expect(TERMS[i], out);
        endwin();
        delscreen(screen);
        fclose(out);
    }
}

static void what_stays_is_not_sent(void **unused)
{
    FILE *out = tmpfile();
    SCREEN *screen = newterm("xterm-256color", out, stdin);
    struct tui_surface surface;
    struct tui_shown *shown;
    struct tui_canvas c;

    (void)unused;
    start_color();
    use_default_colors();
    shown = tui_shown_new(fileno(out));
    tui_surface_init(&surface, W, H, false);
    c = tui_canvas_of(&surface, (struct tui_rect){0, 0, W, H});
    tui_text(&c, 3, 3, tui_style(TUI_STRONG), "here");
    assert_int_equal(tui_shown_update(shown, &surface, TUI_THEME_DARK, -1, 0), 4);
    assert_int_equal(tui_shown_update(shown, &surface, TUI_THEME_DARK, -1, 0), 0);
    tui_text(&c, 3, 3, tui_style(TUI_STRONG), "hero");
    assert_int_equal(tui_shown_update(shown, &surface, TUI_THEME_DARK, -1, 0), 1);
    /* another role, but nobody sees a difference */
    tui_fill(&c, (struct tui_rect){20, 3, 5, 1}, tui_style(TUI_STRONG));
    assert_int_equal(tui_shown_update(shown, &surface, TUI_THEME_DARK, -1, 0), 0);
    tui_surface_release(&surface);
    tui_shown_free(shown);
    endwin();
    delscreen(screen);
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_terminal_shows_the_surface),
        cmocka_unit_test(what_stays_is_not_sent),
    };
    char number[8];

    setlocale(LC_ALL, "C.UTF-8");
    snprintf(number, sizeof(number), "%d", W);
    setenv("COLUMNS", number, 1);
    snprintf(number, sizeof(number), "%d", H);
    setenv("LINES", number, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
