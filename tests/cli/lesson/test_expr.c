/*
 * tests/cli/lesson/test_expr.c - the expressions of lessons: their values, their formats, and the errors of malformed
 * ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "cli/lesson/expr.h"

/* peak(before) is 1000, peak(after) 400, peak of another run an error; sum(a, b) is the lengths of both arguments. */
static enum vs_status figure(void *user, const char *name, const struct cli_expr_arg *args,
                             size_t count, double *out, struct vs_error *err)
{
    (void)user;
    if (strcmp(name, "peak") == 0 && count == 1 && args[0].len == 6) {
        *out = 1000.0;
        return VS_OK;
    }
    if (strcmp(name, "peak") == 0 && count == 1 && args[0].len == 5) {
        *out = 400.0;
        return VS_OK;
    }
    if (strcmp(name, "sum") == 0 && count == 2) {
        *out = (double)(args[0].len + args[1].len);
        return VS_OK;
    }
    return vs_fail(err, VS_E_NOT_FOUND, "no figure %s", name);
}

static void expressions_are_evaluated_with_the_usual_precedence(void **state)
{
    static const struct {
        const char *text;
        double value;
    } CASES[] = {
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"10 - 2 - 3", 5},
        {"-2 * -3", 6},
        {"8 / 4 / 2", 1},
        {"2 * MiB", 2097152},
        {"3 * KiB + GiB", 1073744896},
        {"abs(2 - 5)", 3},
        {"floor(7 / 2)", 3},
        {"1 < 2 and 2 <= 2 and 3 > 2 and 3 >= 3 and 1 == 1 and 1 != 2", 1},
        {"1 > 2 or 2 > 1", 1},
        {"1 > 2 or 2 > 3", 0},
        {"not 1 > 2", 1},
        {"peak(before) - peak(after)", 600},
        {"peak(*)", 400},
        {"sum(layer1.0, \"two words, a comma\")", 26},
        {"0.5 * peak( before )", 500},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct vs_error err = VS_ERROR_INIT;
        double value = 0.0;

        if (cli_expr_value(CASES[i].text, "after", figure, NULL, &value, &err))
            fail_msg("%s: %s", CASES[i].text, err.text);
        if (fabs(value - CASES[i].value) > 1e-9)
            fail_msg("%s is %g, not %g", CASES[i].text, value, CASES[i].value);
    }
}

static void an_invalid_expression_is_refused_with_its_text(void **state)
{
    static const char *const BAD[] = {"",        "1 +",    "(1",      "1 2",          "1 / 0",
                                      "peak",    "1 = 1",  "2 MiB",   "peak(before",  "1 and",
                                      "floor(1", "peak()", "peak(*)", "other(before)"};

    (void)state;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        struct vs_error err = VS_ERROR_INIT;
        double value;

        if (!cli_expr_value(BAD[i], NULL, figure, NULL, &value, &err))
            fail_msg("`%s` was taken for an expression of value %g", BAD[i], value);
        assert_true(strlen(err.text) > 0);
    }
}

static void deeply_nested_brackets_are_refused(void **state)
{
    char text[1001];
    struct vs_error err = VS_ERROR_INIT;
    double value;

    (void)state;
    memset(text, '(', 1000);
    text[1000] = '\0';
    assert_int_equal(cli_expr_value(text, NULL, figure, NULL, &value, &err), VS_E_SYNTAX);
}

static void figures_in_a_text_are_formatted_as_declared(void **state)
{
    struct vs_text out = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(cli_expr_text("{1536 * KiB}, {peak(before) as B}, {peak(before) as count}, "
                                   "{peak(after) / peak(before) as %}, {peak(after) / "
                                   "peak(before) as change}, {1 / 3 as x}, {2500000000 as GFLOP}.",
                                   figure, NULL, &out, &err),
                     VS_OK);
    assert_string_equal(vs_text_get(&out),
                        "1.5 MiB, 1,000 B, 1,000, 40.0 %, -60.0 %, 0.33, 2.5 GFLOP.");
    vs_text_release(&out);
    assert_int_equal(cli_expr_text("{1 as miles}", figure, NULL, &out, &err), VS_E_VALUE);
    assert_int_equal(cli_expr_text("a { without an end", figure, NULL, &out, &err), VS_E_SYNTAX);
    vs_text_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_are_evaluated_with_the_usual_precedence),
        cmocka_unit_test(an_invalid_expression_is_refused_with_its_text),
        cmocka_unit_test(deeply_nested_brackets_are_refused),
        cmocka_unit_test(figures_in_a_text_are_formatted_as_declared),
    };

    return cmocka_run_group_tests_name("cli/lesson/expr", tests, NULL, NULL);
}
