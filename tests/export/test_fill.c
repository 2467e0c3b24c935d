/*
 * tests/export/test_fill.c - the colours of a drawing and of a report can be distinguished, with normal sight and each
 * kind of colour blindness, and stand out from the page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/event.h"
#include "export/fill.h"
#include "tests/sight.h"

/* Smallest distances: of any two categories, of two that fill most peaks, of neighbours in a stack. */
#define ANY_MIN 0.08
#define LARGE_MIN 0.1
#define NEIGHBOURS_MIN 0.125

static const bool IS_LARGE[VS_CATEGORY_COUNT] = {
    [VS_CAT_PARAMETER] = true, [VS_CAT_GRADIENT] = true,   [VS_CAT_OPTIMIZER] = true,
    [VS_CAT_SAVED] = true,     [VS_CAT_ACTIVATION] = true, [VS_CAT_TEMPORARY] = true,
    [VS_CAT_WORKSPACE] = true,
};

static struct colour fill(int category, bool is_dark)
{
    return sight_colour_parse(exp_fill((enum vs_category)category, is_dark));
}

static void any_two_categories_can_be_distinguished(void **state)
{
    (void)state;
    for (int is_dark = 0; is_dark < 2; is_dark++)
        for (int a = 0; a < VS_CATEGORY_COUNT; a++)
            for (int b = 0; b < a; b++) {
                const struct colour x = fill(a, is_dark);
                const struct colour y = fill(b, is_dark);
                const double is = sight_distance(&x, &y);
                const double least = a == b + 1                   ? NEIGHBOURS_MIN
                                     : IS_LARGE[a] && IS_LARGE[b] ? LARGE_MIN
                                                                  : ANY_MIN;

                if (is < least)
                    fail_msg("%s: %s and %s are %.3f apart, not %.3f", is_dark ? "dark" : "light",
                             vs_category_name((enum vs_category)a),
                             vs_category_name((enum vs_category)b), is, least);
            }
}

/* Contrasts as in WCAG 2, with the pages that page.css and svg_page.c draw. */
static void every_category_stands_out_from_the_page(void **state)
{
    const struct colour light = sight_colour_parse("#ffffff");
    const struct colour dark = sight_colour_parse("#131922");

    (void)state;
    for (int i = 0; i < VS_CATEGORY_COUNT; i++) {
        const struct colour on_light = fill(i, false);
        const struct colour on_dark = fill(i, true);
        const double a = (sight_luminance(&light) + 0.05) / (sight_luminance(&on_light) + 0.05);
        const double b = (sight_luminance(&on_dark) + 0.05) / (sight_luminance(&dark) + 0.05);

        if (a < 1.5 || b < 2.5)
            fail_msg("%s: contrast %.2f on light, %.2f on dark",
                     vs_category_name((enum vs_category)i), a, b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_two_categories_can_be_distinguished),
        cmocka_unit_test(every_category_stands_out_from_the_page),
    };

    return cmocka_run_group_tests_name("fill", tests, NULL, NULL);
}
