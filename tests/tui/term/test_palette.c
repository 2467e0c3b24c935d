/*
 * tests/tui/term/test_palette.c - the colours of the categories can be distinguished, with normal sight and each kind
 * of colour blindness, and everything that is written can be read on every ground, in every theme and with any number
 * of colours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* ---- contrast ---- */

/*
 * How a terminal shows a role's colours. bright: bold text in one of the 8 colours is shown in the brighter one. The
 * tables of the 8 have the colours 0 to 15; what is -1 is black on white, or white on black.
 */
static const struct terminal {
    const char *name;
    int colours;
    bool bright;
    const char *eight[16];
} TERMINALS[] = {
    {"direct colours", 1 << 24, false, {0}},
    {"256 colours", 256, false, {0}},
    {"8 colours of xterm",
     8,
     false,
     {"#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5",
      "#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff"}},
    {"8 colours of the Linux console",
     8,
     true,
     {"#000000", "#aa0000", "#00aa00", "#aa5500", "#0000aa", "#aa00aa", "#00aaaa", "#aaaaaa",
      "#555555", "#ff5555", "#55ff55", "#ffff55", "#5555ff", "#ff55ff", "#55ffff", "#ffffff"}},
};
#define TERMINAL_COUNT (sizeof(TERMINALS) / sizeof(TERMINALS[0]))

/* index -1: `own`, "#rrggbb". */
static double luminance(const struct terminal *t, int index, bool is_bright, const char *own)
{
    struct colour c = index < 0         ? sight_colour_parse(own)
                      : t->colours == 8 ? sight_colour_parse(t->eight[index + 8 * is_bright])
                                        : colour_of(index);

    return sight_luminance(&c);
}

/* Fails where text of this style has too little contrast. */
static void expect_readable(const struct terminal *t, enum tui_theme theme, struct tui_style style)
{
    static const char *const ROLE_NAMES[] = {
/* clang-format off */
#define TUI_ROLE(id, name, df, db, lf, lb, df8, db8, lf8, lb8, mono) [id] = name,
#include "tui/term/role.def"
#undef TUI_ROLE
        /* clang-format on */
    };
    const bool is_dark = theme == TUI_THEME_DARK;
    const struct tui_attributes text = tui_theme_attributes(theme, t->colours, style);
    const bool is_bright = t->bright && text.marks & TUI_BOLD;
    const double a = luminance(t, text.front, is_bright,
                               is_dark ? t->eight[7] ? t->eight[7] : "#ffffff" : "#000000") +
                     0.05;
    const double b = luminance(t, text.behind, false, is_dark ? "#000000" : "#ffffff") + 0.05;
    const double contrast = a > b ? a / b : b / a;

    if (contrast < READ_MIN)
        fail_msg("%s, %s: %s%s: %d on %d, contrast %.2f", t->name, tui_theme_name(theme),
                 ROLE_NAMES[style.role],
                 style.marks & TUI_SELECTED         ? " on the chosen row"
                 : style.marks & TUI_SELECTED_QUIET ? " on the chosen row of another pane"
                 : style.behind                     ? " on a bar"
                                                    : "",
                 text.front, text.behind, contrast);
}

/* Everything but lines that divide panes: on its own ground; what rows have, also on the ground of a chosen one. */
static void text_can_be_read_on_every_ground(void **state)
{
    (void)state;
    for (size_t i = 0; i < TERMINAL_COUNT; i++)
        for (int theme = TUI_THEME_DARK; theme <= TUI_THEME_LIGHT; theme++)
            for (int role = 0; role < TUI_ROLE_COUNT; role++) {
                const struct tui_style style = tui_style((enum tui_role)role);
                const bool is_in_rows = !(role >= TUI_BAR && role <= TUI_BAR_KEY) &&
                                        !(role >= TUI_PHASE_SETUP && role <= TUI_PHASE_ZERO_GRAD) &&
                                        role != TUI_ROW && role != TUI_ROW_QUIET &&
                                        role != TUI_SIDE_BOTH;

                if (role == TUI_LINE)
                    continue;
                if (role != TUI_ON_BAR)
                    expect_readable(&TERMINALS[i], (enum tui_theme)theme, style);
                if (is_in_rows) {
                    expect_readable(&TERMINALS[i], (enum tui_theme)theme,
                                    tui_style_marked((enum tui_role)role, TUI_SELECTED));
                    expect_readable(&TERMINALS[i], (enum tui_theme)theme,
                                    tui_style_marked((enum tui_role)role, TUI_SELECTED_QUIET));
                }
            }
}

static void names_on_bars_can_be_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < TERMINAL_COUNT; i++)
        for (int theme = TUI_THEME_DARK; theme <= TUI_THEME_LIGHT; theme++)
            for (int k = 0; k < VS_CATEGORY_COUNT; k++) {
                struct tui_style style = {TUI_ON_BAR, (uint8_t)tui_category_role(k), 0};

                expect_readable(&TERMINALS[i], (enum tui_theme)theme, style);
                style.marks = TUI_SELECTED;
                expect_readable(&TERMINALS[i], (enum tui_theme)theme, style);
            }
}

/* A chosen row differs from the others on every terminal, also where its pane has not the focus. */
static void a_chosen_row_differs_from_others(void **state)
{
    static const unsigned MARKS[] = {TUI_SELECTED, TUI_SELECTED_QUIET};

    (void)state;
    for (size_t i = 0; i < TERMINAL_COUNT; i++)
        for (int theme = TUI_THEME_DARK; theme < TUI_THEME_COUNT; theme++)
            for (size_t k = 0; k < 2; k++) {
                struct tui_attributes other = tui_theme_attributes(
                    (enum tui_theme)theme, TERMINALS[i].colours, tui_style(TUI_PLAIN));
                struct tui_attributes row =
                    tui_theme_attributes((enum tui_theme)theme, TERMINALS[i].colours,
                                         tui_style_marked(TUI_PLAIN, MARKS[k]));

                if (row.front == other.front && row.behind == other.behind &&
                    row.marks == other.marks)
                    fail_msg("%s, %s: mark %u changes nothing", TERMINALS[i].name,
                             tui_theme_name((enum tui_theme)theme), MARKS[k]);
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
        cmocka_unit_test(text_can_be_read_on_every_ground),
        cmocka_unit_test(names_on_bars_can_be_read),
        cmocka_unit_test(a_chosen_row_differs_from_others),
        cmocka_unit_test(no_phase_has_the_colour_of_a_category),
    };

    return cmocka_run_group_tests_name("palette", tests, NULL, NULL);
}
