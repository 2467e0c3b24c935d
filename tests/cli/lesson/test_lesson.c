/*
 * tests/cli/lesson/test_lesson.c - the headers of lesson files: what is read, and the line that the error of a
 * malformed one names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cli/lesson/lesson.h"

#define CASE "# if: 1 > 0\n# verdict: true\n# text: It is.\n"
#define RUNS "# run before: : as it is\n# run after: AFTER=True batch=4 : changed\n"
#define GOOD                                                                                       \
    "# lesson: 7 A title\n# claim: Do\n#   this: now.\n" RUNS CASE "AFTER = False\n# no head\n"

static void a_lesson_header_ends_at_the_first_line_of_code(void **state)
{
    struct cli_lesson lesson = {.number = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    if (cli_lesson_parse("07.py", GOOD, strlen(GOOD), &lesson, &err))
        fail_msg("%s", err.text);
    assert_int_equal(lesson.number, 7);
    assert_string_equal(lesson.title, "A title");
    assert_string_equal(lesson.claim, "Do this: now.");
    assert_int_equal(lesson.run_count, 2);
    assert_string_equal(lesson.runs[1].label, "changed");
    assert_string_equal(lesson.runs[1].settings, "AFTER=True batch=4");
    assert_int_equal(lesson.runs[1].define_count, 1);
    assert_string_equal(vs_toggles_get(&lesson.runs[1].toggles, VS_TOGGLE_BATCH), "4");
    assert_string_equal(lesson.cases[0].text, "It is.");
    assert_string_equal(lesson.keys, "gp");
    assert_int_equal(cli_lesson_run_find(&lesson, "afterwards", 5), 1);
    assert_int_equal(cli_lesson_run_find(&lesson, "aft", 3), 2);
    cli_lesson_release(&lesson);
}

static void a_figure_has_a_label_an_expression_and_a_format(void **state)
{
    static const char TEXT[] = "# lesson: 1 A\n# claim: B\n" RUNS
                               "# show share of it: peak(*) / 2 as %\n# known some: 1 == 1\n" CASE;
    struct cli_lesson lesson = {.number = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(cli_lesson_parse("1.py", TEXT, strlen(TEXT), &lesson, &err), VS_OK);
    assert_int_equal(lesson.show_count, 1);
    assert_string_equal(lesson.shows[0].label, "share of it");
    assert_string_equal(lesson.shows[0].expr, "peak(*) / 2");
    assert_string_equal(lesson.shows[0].format, "%");
    assert_int_equal(lesson.shows[0].line, 5);
    assert_int_equal(lesson.known_count, 1);
    cli_lesson_release(&lesson);
}

static void an_invalid_lesson_header_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } BAD[] = {
        {"", "x.py:1: "},
        {"import torch\n", "x.py:1: the lesson lacks"},
        {"# claim: first\n", "x.py:1: the first line"},
        {"# lesson: no number\n", "x.py:1: a lesson must have a number"},
        {"# lesson: 1 A\n# a comment\n", "x.py:2: a line of the header"},
        {"# lesson: 1 A\n# color: red\n", "x.py:2: a lesson cannot have the key `color`"},
        {"# lesson: 1 A\n# claim: B\n# run before: no label\n", "x.py:3: a run must be"},
        {"# lesson: 1 A\n# run a: stray : B\n", "x.py:2: a run takes one net file"},
        {"# lesson: 1 A\n# run a: : B\n# run a: : B\n", "x.py:3: there are two runs `a`"},
        {"# lesson: 1 A\n# run a: bacth=4 : B\n", "x.py:2: "},
        {"# lesson: 1 A\n# run a: batch=x : B\n", "x.py:2: "},
        {"# lesson: 1 A\n# verdict: true\n", "x.py:2: a case must be"},
        {"# lesson: 1 A\n# if: 1\n# text: no verdict\n", "x.py:3: a case must be"},
        {"# lesson: 1 A\n# if: 1\n# verdict: maybe\n", "x.py:3: a verdict must be"},
        {"# lesson: 1 A\n# claim: B\n# run before: : B\n" CASE, "x.py:7: the lesson lacks `# run "},
        {"# lesson: 1 A\n# claim: B\n" RUNS, "x.py:5: the lesson lacks `# if"},
        {"# lesson: 1 A\n" RUNS CASE, "x.py:7: the lesson lacks `# claim"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        struct cli_lesson lesson = {.number = 0};
        struct vs_error err = VS_ERROR_INIT;

        if (!cli_lesson_parse("x.py", BAD[i].text, strlen(BAD[i].text), &lesson, &err))
            fail_msg("this head was accepted:\n%s", BAD[i].text);
        if (strncmp(err.text, BAD[i].message, strlen(BAD[i].message)) != 0)
            fail_msg("the message is `%s`, not `%s…`", err.text, BAD[i].message);
        cli_lesson_release(&lesson);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lesson_header_ends_at_the_first_line_of_code),
        cmocka_unit_test(a_figure_has_a_label_an_expression_and_a_format),
        cmocka_unit_test(an_invalid_lesson_header_is_refused_with_its_line),
    };

    return cmocka_run_group_tests_name("cli/lesson/lesson", tests, NULL, NULL);
}
