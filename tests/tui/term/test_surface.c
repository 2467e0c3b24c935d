/*
 * tests/tui/term/test_surface.c - drawing on cells.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tui/term/surface.h"
#include "tui/term/surface_text.h"
#include "tui/term/theme.h"

static char *text_of(const struct tui_surface *surface)
{
    struct vs_text text = {NULL, 0, 0};

    tui_surface_text(surface, (struct tui_rect){0, 0, surface->w, surface->h}, &text);
    return vs_text_take(&text);
}

static void expect(const struct tui_surface *surface, const char *wanted)
{
    char *text = text_of(surface);

    assert_string_equal(text, wanted);
    free(text);
}

static void text_is_clipped_at_the_surface(void **state)
{
    struct tui_surface s;
    struct tui_canvas c;

    (void)state;
    tui_surface_init(&s, 8, 3, false);
    c = tui_canvas_of(&s, (struct tui_rect){2, 1, 4, 1});
    assert_int_equal(tui_text(&c, -1, 0, tui_style(TUI_PLAIN), "abcdefgh"), 7);
    tui_text(&c, 0, 1, tui_style(TUI_PLAIN), "below");
    expect(&s, "\n  bcde\n\n");
    tui_surface_release(&s);
}

static void a_wide_character_is_drawn_completely_or_not_at_all(void **state)
{
    struct tui_surface s;
    struct tui_canvas c;

    (void)state;
    tui_surface_init(&s, 5, 1, false);
    c = tui_canvas_of(&s, (struct tui_rect){0, 0, 5, 1});
    tui_text(&c, 0, 0, tui_style(TUI_PLAIN), "a\xE4\xB8\xAD\xE6\x96\x87\xE5\xAD\x97");
    expect(&s, "a\xE4\xB8\xAD\xE6\x96\x87\n");
    tui_put(&c, 2, 0, 'x', tui_style(TUI_PLAIN));
    expect(&s, "a x\xE6\x96\x87\n");
    tui_put(&c, 4, 0, 0x4E2D, tui_style(TUI_PLAIN));
    expect(&s, "a x\n");
    tui_surface_release(&s);
}

static void shortened_text_has_an_ellipsis_at_the_omitted_end(void **state)
{
    struct tui_surface s;
    struct tui_canvas c;

    (void)state;
    tui_surface_init(&s, 10, 4, true);
    c = tui_canvas_of(&s, (struct tui_rect){0, 0, 10, 4});
    tui_text_cut(&c, 0, 0, 5, tui_style(TUI_PLAIN), "abcdefgh");
    tui_text_tail(&c, 0, 1, 5, tui_style(TUI_PLAIN), "abcdefgh");
    tui_text_right(&c, 0, 2, 10, tui_style(TUI_PLAIN), "abc");
    tui_text_cut(&c, 0, 3, 5, tui_style(TUI_PLAIN), "abcde");
    expect(&s, "abcd~\n~efgh\n       abc\nabcde\n");
    tui_surface_release(&s);
}

static void text_is_cut_before_a_word_where_that_leaves_one(void **state)
{
    struct tui_surface s;
    struct tui_canvas c;

    (void)state;
    tui_surface_init(&s, 12, 4, true);
    c = tui_canvas_of(&s, (struct tui_rect){0, 0, 12, 4});
    tui_text_words(&c, 0, 0, 8, tui_style(TUI_PLAIN), "ab cd efgh");
    tui_text_words(&c, 0, 1, 6, tui_style(TUI_PLAIN), "ab cd efgh");
    tui_text_words(&c, 0, 2, 5, tui_style(TUI_PLAIN), "abcdefgh ij");
    tui_text_words(&c, 0, 3, 10, tui_style(TUI_PLAIN), "ab cd efgh");
    expect(&s, "ab cd ~\nab ~\nabcd~\nab cd efgh\n");
    tui_surface_release(&s);
}

static void rows_are_counted_as_they_are_drawn(void **state)
{
    static const char *const TEXTS[] = {"", "one", "one two three four five", "a\nb",
                                        "abcdefghijklm"};
    struct tui_surface s;
    struct tui_canvas c;

    (void)state;
    tui_surface_init(&s, 10, 8, true);
    c = tui_canvas_of(&s, (struct tui_rect){0, 0, 10, 8});
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++)
        assert_int_equal(tui_text_rows(9, TEXTS[i]),
                         tui_text_wrap(&c, 0, 0, 9, tui_style(TUI_PLAIN), TEXTS[i]));
    tui_surface_release(&s);
}

static void text_is_wrapped_at_blanks_and_cut_in_the_last_row(void **state)
{
    struct tui_surface s;
    struct tui_canvas c;

    (void)state;
    tui_surface_init(&s, 8, 5, true);
    c = tui_canvas_of(&s, (struct tui_rect){0, 0, 8, 5});
    assert_int_equal(
        tui_text_wrap(&c, 1, 0, 7, tui_style(TUI_PLAIN), "one two  threefour\nfive six seven"), 5);
    expect(&s, " one two\n threefo\n ur\n five\n six se~\n");
    tui_surface_clear(&s);
    assert_int_equal(tui_text_wrap(&c, 0, 3, 8, tui_style(TUI_PLAIN), "one row"), 1);
    expect(&s, "\n\n\none row\n\n");
    tui_surface_release(&s);
}

static void an_ascii_surface_has_only_ascii(void **state)
{
    struct tui_surface s;
    struct tui_canvas c;

    (void)state;
    tui_surface_init(&s, 40, 2, true);
    c = tui_canvas_of(&s, (struct tui_rect){0, 0, 40, 2});
    for (int i = 0; i < TUI_GLYPH_COUNT; i++)
        tui_put_glyph(&c, i, 0, (enum tui_glyph)i, tui_style(TUI_PLAIN));
    tui_text(&c, 0, 1, tui_style(TUI_PLAIN), "\xC3\xA9\xE2\x80\xA6\x01\xFF\xE4\xB8\xAD!");
    for (int i = 0; i < 80; i++)
        assert_in_range(s.cells[i].ch, 0x20, 0x7E);
    assert_int_equal(s.cells[40 + 1].ch, '~');
    tui_surface_release(&s);
}

static void invalid_utf8_is_drawn_byte_by_byte(void **state)
{
    const char *text = "\xC3(\xE2\x82\xF5\x80z";
    uint32_t wanted[] = {0xFFFD, '(', 0xFFFD, 0xFFFD, 0xFFFD, 0xFFFD, 'z', 0};

    (void)state;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        assert_int_equal(tui_utf8_next(&text), wanted[i]);
}

/*
 * Random strokes, also far outside: under the sanitizers nothing may be touched but the cells; no half of a wide
 * character is left.
 */
static void random_drawing_leaves_the_cells_consistent(void **state)
{
    struct tui_surface s;
    unsigned seed = 7;

    (void)state;
    tui_surface_init(&s, 17, 9, false);
    for (int i = 0; i < 20000; i++) {
        int r[6];
        struct tui_canvas c;

        for (size_t k = 0; k < 6; k++)
            r[k] = (int)((seed = seed * 1103515245u + 12345u) >> 16) % 40 - 10;
        c = tui_canvas_of(&s, (struct tui_rect){r[0], r[1], r[2], r[3]});
        tui_put(&c, r[4], r[5], i % 3 ? 0x4E2D : 'x', tui_style(TUI_PLAIN));
        tui_mark(&c, (struct tui_rect){r[4], r[5], 3, 2}, TUI_BOLD);
        tui_text_tail(&c, r[4], r[5], r[2], tui_style(TUI_DIM), "\xE4\xB8\xAD text");
    }
    for (int y = 0; y < s.h; y++) {
        for (int x = 0; x < s.w; x++) {
            const struct tui_cell *cell = tui_surface_cell(&s, x, y);

            if (cell->width == 2)
                assert_int_equal(tui_surface_cell(&s, x + 1, y)->width, 0);
            if (cell->width == 0)
                assert_int_equal(tui_surface_cell(&s, x - 1, y)->width, 2);
        }
    }
    tui_surface_release(&s);
}

static void without_colours_every_style_uses_attributes_only(void **state)
{
    (void)state;
    for (int role = 0; role < TUI_ROLE_COUNT; role++) {
        struct tui_style style = tui_style_marked((enum tui_role)role, TUI_SELECTED);

        style.behind = TUI_CAT_SAVED;
        for (int colours = 0; colours <= 256; colours += 256) {
            struct tui_attributes attributes = tui_theme_attributes(TUI_THEME_MONO, colours, style);

            assert_int_equal(attributes.front, -1);
            assert_int_equal(attributes.behind, -1);
            assert_true(attributes.marks & TUI_REVERSE);
        }
        for (int theme = 0; theme < TUI_THEME_MONO; theme++) {
            struct tui_attributes attributes =
                tui_theme_attributes((enum tui_theme)theme, 8, style);

            assert_in_range(attributes.front + 1, 0, 8);
            assert_in_range(attributes.behind + 1, 0, 8);
            assert_true(attributes.front != attributes.behind || attributes.front == -1);
        }
    }
    assert_int_equal(tui_theme_pick("1", NULL), TUI_THEME_MONO);
    assert_int_equal(tui_theme_pick("", "0;15"), TUI_THEME_LIGHT);
    assert_int_equal(tui_theme_pick(NULL, "15;0"), TUI_THEME_DARK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_clipped_at_the_surface),
        cmocka_unit_test(a_wide_character_is_drawn_completely_or_not_at_all),
        cmocka_unit_test(shortened_text_has_an_ellipsis_at_the_omitted_end),
        cmocka_unit_test(text_is_cut_before_a_word_where_that_leaves_one),
        cmocka_unit_test(rows_are_counted_as_they_are_drawn),
        cmocka_unit_test(text_is_wrapped_at_blanks_and_cut_in_the_last_row),
        cmocka_unit_test(an_ascii_surface_has_only_ascii),
        cmocka_unit_test(invalid_utf8_is_drawn_byte_by_byte),
        cmocka_unit_test(random_drawing_leaves_the_cells_consistent),
        cmocka_unit_test(without_colours_every_style_uses_attributes_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
