/*
 * tests/tui/term/test_palette.c - the colours of the categories can be distinguished, with normal sight and each kind
 * of colour blindness, and stand out from the ground, in every theme.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/event.h"
#include "tests/sight.h"
#include "tui/parts/chart.h"
#include "tui/term/theme.h"

/* Smallest distances between any two categories, and between two that are neighbours in a stack. */
#define ANY_MIN 0.065
#define NEIGHBOURS_MIN 0.09
/* Between a category and the ground of a phase. */
#define PHASE_MIN 0.04
/* Smallest contrast of text and graphics, as WCAG 2 has it for large ones. */
#define READ_MIN 3.0

/* One of xterm's 256 colours, from 16 on. */
static struct colour colour_of(int index)
{
    static const int STEPS[] = {0, 95, 135, 175, 215, 255};
    int grey = 8 + 10 * (index - 232);

    assert_in_range(index, 16, 255);
    if (index >= 232)
        return sight_colour(grey, grey, grey);
    index -= 16;
    return sight_colour(STEPS[index / 36], STEPS[index / 6 % 6], STEPS[index % 6]);
}

static double distance(int a, int b)
{
    struct colour x = colour_of(a);
    struct colour y = colour_of(b);

    return sight_distance(&x, &y);
}

static int front_of(enum tui_theme theme, int colours, int category)
{
    return tui_theme_attributes(theme, colours, tui_style(tui_category_role(category))).front;
}

static int phase_of(enum tui_theme theme, int phase)
{
    return tui_theme_attributes(theme, 256, tui_style(tui_phase_role(phase))).behind;
}

static void any_two_categories_can_be_distinguished(void **state)
{
    (void)state;
    for (int theme = TUI_THEME_DARK; theme <= TUI_THEME_LIGHT; theme++)
        for (int a = 0; a < VS_CATEGORY_COUNT; a++)
            for (int b = 0; b < a; b++) {
                double is = distance(front_of((enum tui_theme)theme, 256, a),
                                     front_of((enum tui_theme)theme, 256, b));

                if (is < ANY_MIN)
                    fail_msg("%s: %s and %s are %.3f apart", tui_theme_name((enum tui_theme)theme),
                             vs_category_name((enum vs_category)a),
                             vs_category_name((enum vs_category)b), is);
            }
}

static void neighbours_in_a_stack_differ_more(void **state)
{
    (void)state;
    for (int theme = TUI_THEME_DARK; theme <= TUI_THEME_LIGHT; theme++)
        for (int i = 1; i < VS_CATEGORY_COUNT; i++) {
            int a = tui_chart_order(i - 1);
            int b = tui_chart_order(i);
            double is = distance(front_of((enum tui_theme)theme, 256, a),
                                 front_of((enum tui_theme)theme, 256, b));

            if (is < NEIGHBOURS_MIN)
                fail_msg("%s: %s and %s are %.3f apart", tui_theme_name((enum tui_theme)theme),
                         vs_category_name((enum vs_category)a),
                         vs_category_name((enum vs_category)b), is);
            assert_int_not_equal(front_of((enum tui_theme)theme, 8, a),
                                 front_of((enum tui_theme)theme, 8, b));
        }
    /* with eight colours the three that fill most peaks have one each */
    assert_int_not_equal(front_of(TUI_THEME_DARK, 8, VS_CAT_ACTIVATION),
                         front_of(TUI_THEME_DARK, 8, VS_CAT_TEMPORARY));
    assert_int_not_equal(front_of(TUI_THEME_DARK, 8, VS_CAT_SAVED),
                         front_of(TUI_THEME_DARK, 8, VS_CAT_TEMPORARY));
    assert_int_not_equal(front_of(TUI_THEME_DARK, 8, VS_CAT_SAVED),
                         front_of(TUI_THEME_DARK, 8, VS_CAT_ACTIVATION));
}

static double luminance(int index)
{
    struct colour c = colour_of(index);

    return sight_luminance(&c);
}

static void every_category_stands_out_from_the_ground(void **state)
{
    (void)state;
    for (int i = 0; i < VS_CATEGORY_COUNT; i++) {
        double dark = (luminance(front_of(TUI_THEME_DARK, 256, i)) + 0.05) / 0.05;
        double light = 1.05 / (luminance(front_of(TUI_THEME_LIGHT, 256, i)) + 0.05);

        if (dark < READ_MIN || light < READ_MIN)
            fail_msg("%s: contrast %.1f with black, %.1f with white",
                     vs_category_name((enum vs_category)i), dark, light);
    }
}

/* Quiet text can be read on the ground of the chosen row, in every theme; on the ground of all others it is better. */
static void quiet_text_can_be_read_on_the_chosen_row(void **state)
{
    static const enum tui_role QUIET[] = {TUI_DIM, TUI_LINE_NUMBER, TUI_COMMENT};

    (void)state;
    for (int theme = TUI_THEME_DARK; theme <= TUI_THEME_LIGHT; theme++)
        for (size_t i = 0; i < sizeof(QUIET) / sizeof(QUIET[0]); i++) {
            const struct tui_attributes text = tui_theme_attributes(
                (enum tui_theme)theme, 256, tui_style_marked(QUIET[i], TUI_SELECTED));
            const double a = luminance(text.front) + 0.05;
            const double b = luminance(text.behind) + 0.05;
            const double contrast = a > b ? a / b : b / a;

            if (contrast < READ_MIN)
                fail_msg("%s: colour %d on %d: contrast %.1f",
                         tui_theme_name((enum tui_theme)theme), text.front, text.behind, contrast);
        }
}

static void no_phase_has_the_colour_of_a_category(void **state)
{
    (void)state;
    for (int theme = TUI_THEME_DARK; theme <= TUI_THEME_LIGHT; theme++)
        for (int phase = 0; phase < VS_PHASE_COUNT; phase++)
            for (int i = 0; i < VS_CATEGORY_COUNT; i++) {
                double is = distance(phase_of((enum tui_theme)theme, phase),
                                     front_of((enum tui_theme)theme, 256, i));

                if (is < PHASE_MIN)
                    fail_msg("%s: %s and phase %s are %.3f apart",
                             tui_theme_name((enum tui_theme)theme),
                             vs_category_name((enum vs_category)i),
                             vs_phase_name((enum vs_phase)phase), is);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_two_categories_can_be_distinguished),
        cmocka_unit_test(neighbours_in_a_stack_differ_more),
        cmocka_unit_test(every_category_stands_out_from_the_ground),
        cmocka_unit_test(quiet_text_can_be_read_on_the_chosen_row),
        cmocka_unit_test(no_phase_has_the_colour_of_a_category),
    };

    return cmocka_run_group_tests_name("palette", tests, NULL, NULL);
}
