/*
 * tests/tui/term/test_surface_curses.c - the contents that curses reports for a terminal after a surface was sent:
 * characters, colours, bold, reverse, underline.
 *
 * Must not know:  the bytes curses sends, which depend on its version and on terminfo; tests/tui/term/test_terminal.c
 *                 looks at real terminals.
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
#include <wchar.h>

#include <cmocka.h>
#include <curses.h>

#include "base/text.h"
#include "tests/e2e/program.h"
#include "tui/term/surface.h"
#include "tui/term/surface_curses.h"
#include "tui/term/theme.h"

#define W 40
#define H 12
#define FRAMES 60

/* A terminal of this type that is a file. */
static SCREEN *terminal_open(const char *type, FILE *out)
{
    SCREEN *screen;

    assert_non_null(out);
    screen = newterm(type, out, stdin);
    if (!screen)
        fail_msg("%s is not in this machine's terminfo", type);
    if (has_colors() && start_color() == OK)
        use_default_colors();
    return screen;
}

static void terminal_close(SCREEN *screen, FILE *out)
{
    endwin();
    delscreen(screen);
    fclose(out);
}

struct seen {
    uint32_t ch;
    int front;
    int behind;
    unsigned marks;
};

static struct seen seen_at(int x, int y)
{
    struct seen seen = {0, -1, -1, 0};
    wchar_t text[CCHARW_MAX + 1] = {0};
    attr_t attributes = 0;
    short short_pair = 0;
    int pair = 0;
    cchar_t cell;

    assert_int_equal(mvwin_wch(curscr, y, x, &cell), OK);
    assert_int_equal(getcchar(&cell, text, &attributes, &short_pair, &pair), OK);
    if (pair)
        assert_int_equal(extended_pair_content(pair, &seen.front, &seen.behind), OK);
    seen.ch = (uint32_t)text[0];
    seen.marks = (attributes & A_BOLD ? TUI_BOLD : 0) | (attributes & A_REVERSE ? TUI_REVERSE : 0) |
                 (attributes & A_UNDERLINE ? TUI_UNDERLINE : 0);
    return seen;
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

static void expect_cell(const struct tui_surface *surface, int x, int y, const char *type)
{
    const struct tui_cell *cell = tui_surface_cell(surface, x, y);
    struct tui_style style = {cell->style.role, cell->style.behind,
                              cell->ch == 0x2588
                                  ? cell->style.marks & (TUI_BOLD | TUI_REVERSE | TUI_UNDERLINE)
                                  : cell->style.marks};
    struct tui_attributes attributes =
        tui_theme_attributes(TUI_THEME_DARK, has_colors() ? COLORS : 0, style);
    struct seen seen = seen_at(x, y);
    struct seen want = {cell->ch, attributes.front, attributes.behind, attributes.marks};
    bool is_blank;

    if (!cell->width)
        return;
    if (cell->ch == 0x2588 && want.front >= 0 && !want.marks)
        want = (struct seen){' ', -1, want.front, 0};
    is_blank = want.ch == ' ' && !(want.marks & (TUI_REVERSE | TUI_UNDERLINE));
    if (is_blank) {
        /* these are invisible on a blank */
        want.front = seen.front;
        want.marks = seen.marks & TUI_BOLD;
    }
    if (seen.ch != want.ch || seen.front != want.front || seen.behind != want.behind ||
        seen.marks != want.marks)
        fail_msg("%s, cell %d,%d: U+%04X %d on %d marks %u is shown, not U+%04X %d on %d marks %u",
                 type, x, y, seen.ch, seen.front, seen.behind, seen.marks, want.ch, want.front,
                 want.behind, want.marks);
}

static void frames_expect(const char *type)
{
    struct tui_surface surface;

    tui_surface_init(&surface, W, H, false);
    for (int i = 0; i < FRAMES; i++) {
        int cursor = any(4) ? -1 : (int)any(W);
        int x;
        int y;

        any_change(&surface);
        if (any(10) == 0)
            tui_curses_forget();
        tui_curses_show(&surface, TUI_THEME_DARK, cursor, 3);
        for (int at = 0; at < W * H; at++)
            expect_cell(&surface, at % W, at / W, type);
        getyx(stdscr, y, x);
        if (cursor >= 0 && (x != cursor || y != 3))
            fail_msg("%s: the cursor is at %d,%d, not %d,3", type, x, y, cursor);
    }
    tui_surface_release(&surface);
}

static void the_terminal_shows_the_surface(void **unused)
{
    static const char *const TYPES[] = {"xterm-256color", "tmux-256color", "screen-256color",
                                        "xterm",          "linux",         "vt100"};

    (void)unused;
    for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
        FILE *out = tmpfile();
        SCREEN *screen = terminal_open(TYPES[i], out);

        frames_expect(TYPES[i]);
        terminal_close(screen, out);
    }
}

/* Show `surface`, and say how many bytes that sent. */
static long bytes_shown(const struct tui_surface *surface, FILE *out)
{
    off_t before = lseek(fileno(out), 0, SEEK_END);

    tui_curses_show(surface, TUI_THEME_DARK, -1, 0);
    fflush(out);
    return (long)(lseek(fileno(out), 0, SEEK_END) - before);
}

static void unchanged_cells_are_not_sent(void **unused)
{
    FILE *out = tmpfile();
    SCREEN *screen = terminal_open("xterm-256color", out);
    struct tui_surface surface;
    struct tui_canvas c;
    long bytes;

    (void)unused;
    tui_surface_init(&surface, W, H, false);
    c = tui_canvas_of(&surface, (struct tui_rect){0, 0, W, H});
    tui_text(&c, 3, 3, tui_style(TUI_LINE), "here");
    assert_true(bytes_shown(&surface, out) > 4);
    assert_int_equal(bytes_shown(&surface, out), 0);
    tui_text(&c, 3, 3, tui_style(TUI_LINE), "hero");
    bytes = bytes_shown(&surface, out);
    /* to the cell, its colour, one character, the terminal's own colour */
    if (bytes < 1 || bytes > 32)
        fail_msg("one character took %ld bytes", bytes);
    /* another role that looks the same */
    tui_fill(&c, (struct tui_rect){20, 3, 5, 1}, tui_style(TUI_LINE));
    assert_int_equal(bytes_shown(&surface, out), 0);
    tui_surface_release(&surface);
    terminal_close(screen, out);
}

/* Describe a terminal like xterm-256color with so many colours to curses, in `folder`. */
static void terminal_describe(const char *folder, const char *type, const char *capabilities)
{
    struct vs_text line = {NULL, 0, 0};

    vs_text_addf(&line,
                 "printf '%%s|made by a test, %s, use=xterm-256color,\\n' '%s' | tic -x -o '%s' -",
                 capabilities, type, folder);
    if (system(vs_text_get(&line)) != 0)
        fail_msg("this failed: %s", vs_text_get(&line));
    vs_text_release(&line);
}

static void any_number_of_colours_is_supported(void **unused)
{
    /* 16 on 220, and 246, of the 256 colours; what the 8 have for the same roles */
    static const struct {
        const char *type;
        const char *capabilities;
        struct seen key;
        struct seen dim;
    } CASES[] = {
        {"vs-256", "colors#256", {'k', 222, 236, 0}, {'d', 246, -1, 0}},
        {"vs-direct",
         "colors#0x1000000, RGB",
         {'k', 0xFFD787, 0x303030, 0},
         {'d', 0x949494, -1, 0}},
        {"vs-16", "colors#16, pairs#0x100", {'k', 3, 4, TUI_BOLD}, {'d', -1, -1, 0}},
        {"vs-8", "colors#8, pairs#64", {'k', 3, 4, TUI_BOLD}, {'d', -1, -1, 0}},
        {"vs-none", "colors@, pairs@", {'k', -1, -1, TUI_REVERSE | TUI_BOLD}, {'d', -1, -1, 0}},
    };
    const char *folder = program_folder();
    struct tui_surface surface;
    struct tui_canvas c;

    (void)unused;
    setenv("TERMINFO", folder, 1);
    tui_surface_init(&surface, W, H, false);
    c = tui_canvas_of(&surface, (struct tui_rect){0, 0, W, H});
    tui_text(&c, 0, 0, tui_style(TUI_BAR_KEY), "k");
    tui_text(&c, 1, 0, tui_style(TUI_DIM), "d");
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        FILE *out = tmpfile();
        SCREEN *screen;
        struct seen seen[2];

        terminal_describe(folder, CASES[i].type, CASES[i].capabilities);
        screen = terminal_open(CASES[i].type, out);
        tui_curses_show(&surface, TUI_THEME_DARK, -1, 0);
        seen[0] = seen_at(0, 0);
        seen[1] = seen_at(1, 0);
        terminal_close(screen, out);
        for (int k = 0; k < 2; k++) {
            struct seen want = k ? CASES[i].dim : CASES[i].key;

            if (memcmp(&seen[k], &want, sizeof(want)) != 0)
                fail_msg("%s: `%c` is shown in %06X on %06X, marks %u; not %06X on %06X, marks %u",
                         CASES[i].type, (char)want.ch, (unsigned)seen[k].front,
                         (unsigned)seen[k].behind, seen[k].marks, (unsigned)want.front,
                         (unsigned)want.behind, want.marks);
        }
    }
    unsetenv("TERMINFO");
    tui_surface_release(&surface);
}

static void a_bar_keeps_its_colour_on_the_chosen_row(void **unused)
{
    const char *folder = program_folder();
    struct tui_surface surface;
    struct tui_canvas c;
    struct seen bar;
    struct seen letter;
    FILE *out = tmpfile();
    SCREEN *screen;

    (void)unused;
    setenv("TERMINFO", folder, 1);
    tui_surface_init(&surface, W, H, false);
    c = tui_canvas_of(&surface, (struct tui_rect){0, 0, W, H});
    tui_text(&c, 0, 0, tui_style(TUI_CAT_TEMPORARY), "T");
    tui_put_glyph(&c, 1, 0, TUI_G_FULL, tui_style(TUI_CAT_TEMPORARY));
    tui_mark(&c, (struct tui_rect){0, 0, W, 1}, TUI_SELECTED);
    terminal_describe(folder, "vs-256", "colors#256");
    screen = terminal_open("vs-256", out);
    tui_curses_show(&surface, TUI_THEME_DARK, -1, 0);
    letter = seen_at(0, 0);
    bar = seen_at(1, 0);
    terminal_close(screen, out);
    assert_int_equal(letter.front, 231);
    assert_int_equal(letter.behind, 238);
    assert_int_equal(bar.behind, 95);
    unsetenv("TERMINFO");
    tui_surface_release(&surface);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bar_keeps_its_colour_on_the_chosen_row),
        cmocka_unit_test(the_terminal_shows_the_surface),
        cmocka_unit_test(unchanged_cells_are_not_sent),
        cmocka_unit_test(any_number_of_colours_is_supported),
    };
    char number[8];
    int failed;

    setlocale(LC_ALL, "C.UTF-8");
    snprintf(number, sizeof(number), "%d", W);
    setenv("COLUMNS", number, 1);
    snprintf(number, sizeof(number), "%d", H);
    setenv("LINES", number, 1);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    program_cleanup();
    return failed;
}
