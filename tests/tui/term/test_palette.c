/*
 * tests/tui/term/test_palette.c - the colours of the categories can be distinguished, with normal sight and each kind
 * of colour blindness, and stand out from the ground, in every theme.
 *
 * Distances are Euclidean in OKLab (Ottosson, 2020), where 0.02 is about what is just noticed. Colour blindness is
 * simulated as in Machado, Oliveira and Fernandes (2009), at full severity.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/event.h"
#include "tui/parts/chart.h"
#include "tui/term/theme.h"

/* Smallest distances between any two categories, and between two that are neighbours in a stack. */
#define ANY_MIN 0.065
#define NEIGHBOURS_MIN 0.09
/* Between a category and the ground of a phase. */
#define PHASE_MIN 0.04

struct colour {
    double v[3];
};

static const double SIGHTS[][3][3] = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {{0.152286, 1.052583, -0.204868},
     {0.114503, 0.786281, 0.099216},
     {-0.003882, -0.048116, 1.051998}},
    {{0.367322, 0.860646, -0.227968},
     {0.280085, 0.672501, 0.047413},
     {-0.011820, 0.042940, 0.968881}},
    {{1.255528, -0.076749, -0.178779},
     {-0.078411, 0.930809, 0.147602},
     {0.004733, 0.691367, 0.303900}},
};
#define SIGHT_COUNT (sizeof(SIGHTS) / sizeof(SIGHTS[0]))

static double linear(int value)
{
    double part = value / 255.0;

    return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
}

/* Linear red, green and blue of one of xterm's 256 colours, from 16 on. */
static struct colour colour_of(int index)
{
    static const int STEPS[] = {0, 95, 135, 175, 215, 255};
    int grey = 8 + 10 * (index - 232);
    struct colour out;

    assert_in_range(index, 16, 255);
    if (index >= 232)
        return (struct colour){{linear(grey), linear(grey), linear(grey)}};
    index -= 16;
    out.v[0] = linear(STEPS[index / 36]);
    out.v[1] = linear(STEPS[index / 6 % 6]);
    out.v[2] = linear(STEPS[index % 6]);
    return out;
}

static struct colour mixed(const struct colour *c, const double m[3][3])
{
    struct colour out;

    for (int i = 0; i < 3; i++)
        out.v[i] = m[i][0] * c->v[0] + m[i][1] * c->v[1] + m[i][2] * c->v[2];
    return out;
}

static struct colour oklab(int index, const double sight[3][3])
{
    static const double LMS[3][3] = {{0.4122214708, 0.5363325363, 0.0514459929},
                                     {0.2119034982, 0.6806995451, 0.1073969566},
                                     {0.0883024619, 0.2817188376, 0.6299787005}};
    static const double LAB[3][3] = {{0.2104542553, 0.7936177850, -0.0040720468},
                                     {1.9779984951, -2.4285922050, 0.4505937099},
                                     {0.0259040371, 0.7827717662, -0.8086757660}};
    struct colour seen = colour_of(index);
    struct colour lms;

    seen = mixed(&seen, sight);
    for (int i = 0; i < 3; i++)
        seen.v[i] = fmin(1.0, fmax(0.0, seen.v[i]));
    lms = mixed(&seen, LMS);
    for (int i = 0; i < 3; i++)
        lms.v[i] = cbrt(lms.v[i]);
    return mixed(&lms, LAB);
}

/* The smallest distance of two colours over all kinds of sight. */
static double distance(int a, int b)
{
    double least = 10.0;

    for (size_t s = 0; s < SIGHT_COUNT; s++) {
        struct colour x = oklab(a, SIGHTS[s]);
        struct colour y = oklab(b, SIGHTS[s]);
        double sum = 0.0;

        for (int i = 0; i < 3; i++)
            sum += (x.v[i] - y.v[i]) * (x.v[i] - y.v[i]);
        least = fmin(least, sqrt(sum));
    }
    return least;
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

/* Relative luminance, as contrast is defined in WCAG 2. */
static double luminance(int index)
{
    struct colour c = colour_of(index);

    return 0.2126 * c.v[0] + 0.7152 * c.v[1] + 0.0722 * c.v[2];
}

static void every_category_stands_out_from_the_ground(void **state)
{
    (void)state;
    for (int i = 0; i < VS_CATEGORY_COUNT; i++) {
        double dark = (luminance(front_of(TUI_THEME_DARK, 256, i)) + 0.05) / 0.05;
        double light = 1.05 / (luminance(front_of(TUI_THEME_LIGHT, 256, i)) + 0.05);

        if (dark < 3.0 || light < 2.3)
            fail_msg("%s: contrast %.1f with black, %.1f with white",
                     vs_category_name((enum vs_category)i), dark, light);
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
        cmocka_unit_test(no_phase_has_the_colour_of_a_category),
    };

    return cmocka_run_group_tests_name("palette", tests, NULL, NULL);
}
