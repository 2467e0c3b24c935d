/*
 * tests/e2e/test_lesson.c - the lessons as the program runs them: verdicts, figures, the page of techniques.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/text.h"
#include "tests/e2e/program.h"

#define PAGE "docs/guide/techniques.md"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static char *file_read(const char *path)
{
    struct vs_text text = {NULL, 0, 0};
    FILE *file = fopen(path, "r");
    char part[4096];
    size_t n;

    if (!file)
        fail_msg("%s cannot be opened", path);
    while (file && (n = fread(part, 1, sizeof(part), file)) > 0)
        vs_text_add_n(&text, part, n);
    fclose(file);
    return vs_text_take(&text);
}

/* Every lesson reaches its known figures, and its figures support a verdict; the page is what they make. */
static void the_page_of_techniques_equals_the_output_of_lesson(void **state)
{
    struct program p = program_run("lesson", "--page", NULL);
    char *page = file_read(PAGE);

    (void)state;
    if (p.status)
        fail_msg("lesson --page: exit status %d: %s", p.status, p.err);
    assert_null(strstr(p.out, "NOT REACHED"));
    assert_null(strstr(p.out, "not reproduced"));
    if (strcmp(p.out, page) != 0)
        fail_msg("%s is not what the lessons print; `make techniques` writes it", PAGE);
    vs_free(page);
    program_release(&p);
}

static void the_table_has_a_line_for_each_lesson_of_the_list(void **state)
{
    struct program list = program_run("lesson", NULL);
    struct program all = program_run("lesson", "--all", NULL);
    size_t seen = 0;

    (void)state;
    assert_int_equal(list.status, 0);
    assert_int_equal(all.status, 0);
    for (const char *line = list.out; *line == ' '; line += strcspn(line, "\n") + 1) {
        char title[256];

        snprintf(title, sizeof(title), "%.*s", (int)strcspn(line, "\n"), line);
        if (!strstr(all.out, title))
            fail_msg("the table has no line for `%s`", title);
        seen++;
    }
    assert_true(seen >= 28);
    program_release(&list);
    program_release(&all);
}

/* Fails where a run of `lesson`, as JSON, has other figures than PyTorch in `line`. Returns whether it is there. */
static bool run_compare(const char *lesson, const char *line, const char *name)
{
    static const char *const FIGURES[][2] = {{"allocated", "$.peak.allocated"},
                                             {"requested", "$.peak.requested"},
                                             {"reserved", "$.peak.reserved"},
                                             {"saved", "$.saved"}};

    for (int k = 0;; k++) {
        char path[64];
        char *here;
        bool is_it;

        snprintf(path, sizeof(path), "$.lessons[0].runs[%d].name", k);
        here = json_text(lesson, path);
        if (!here)
            return false;
        is_it = strcmp(here, name) == 0;
        free(here);
        if (!is_it)
            continue;
        for (size_t i = 0; i < sizeof(FIGURES) / sizeof(FIGURES[0]); i++) {
            snprintf(path, sizeof(path), "$.lessons[0].runs[%d].%s", k, FIGURES[i][0]);
            if (json_int(lesson, path) != json_int(line, FIGURES[i][1]))
                fail_msg("run %s: %s is %jd, in PyTorch %jd: %s", name, FIGURES[i][0],
                         (intmax_t)json_int(lesson, path), (intmax_t)json_int(line, FIGURES[i][1]),
                         line);
        }
        return true;
    }
}

/* What real PyTorch needs for the same file with the same lines changed: tests/oracle/make_golden.py lessons. */
static void every_lesson_run_has_the_figures_of_pytorch(void **state)
{
    FILE *golden = fopen("tests/golden/oracle/lessons.jsonl", "r");
    struct program p = {.out = NULL};
    char last[256] = "";
    char line[4096];
    int seen = 0;

    (void)state;
    assert_non_null(golden);
    while (golden && fgets(line, sizeof(line), golden)) {
        char *net = json_text(line, "$.net");
        char *run = json_text(line, "$.run");

        assert_true(net && run);
        if (strcmp(net, last) != 0) {
            char number[8];

            program_release(&p);
            snprintf(number, sizeof(number), "%d", atoi(net + strlen("lessons/")));
            p = program_run("lesson", number, "--json", NULL);
            snprintf(last, sizeof(last), "%s", net);
        }
        if (!run_compare(p.out, line, run))
            fail_msg("%s has no run %s, which PyTorch was asked for", net, run);
        seen++;
        free(net);
        free(run);
    }
    fclose(golden);
    program_release(&p);
    assert_true(seen >= 110);
}

/* The names and types that docs/formats/json.md promises; the figures are those that articles and issues print. */
static void a_lesson_prints_its_figures_as_json(void **state)
{
    struct program p = program_run("lesson", "13", "--json", NULL);
    char *verdict = json_text(p.out, "$.lessons[0].verdict");

    (void)state;
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.lessons[0].number"), 13);
    json_expect(p.out, "$.lessons[0].title", "text");
    json_expect(p.out, "$.lessons[0].claim", "text");
    json_expect(p.out, "$.lessons[0].before.allocated", "integer");
    json_expect(p.out, "$.lessons[0].after.by_category", "object");
    json_expect(p.out, "$.lessons[0].text", "text");
    json_expect(p.out, "$.lessons[0].runs[0].saved", "integer");
    json_expect(p.out, "$.lessons[0].known[0].reached", "bool");
    assert_non_null(verdict);
    assert_int_equal(strncmp(verdict, "true when ", 10), 0);
    assert_non_null(strstr(p.out, "180,702,208 B"));
    assert_non_null(strstr(p.out, "5,508,148,224 B"));
    free(verdict);
    program_release(&p);
}

static void the_code_of_a_lesson_is_its_file(void **state)
{
    struct program p = program_run("lesson", "10", "--code", NULL);
    char *file = file_read("lessons/10_swish.py");

    (void)state;
    assert_int_equal(p.status, 0);
    assert_string_equal(p.out, file);
    vs_free(file);
    program_release(&p);
}

/* Both runs, at the peak; the same figures as in the table. */
static void a_lesson_opens_both_runs_in_the_tui(void **state)
{
    struct program p =
        program_run("lesson", "13", "--tui", "--dump", "--size", "120x40", "--keys", "gp", NULL);
    struct program which = program_run("lesson", "--tui", "--dump", NULL);

    (void)state;
    if (p.status)
        fail_msg("lesson 13 --tui: %s", p.err);
    assert_non_null(strstr(p.out, "-222.2 MiB (-49.2 %)  at the peak of each run"));
    assert_non_null(strstr(p.out, "peak 451.6 MiB"));
    assert_int_equal(which.status, 2);
    program_release(&p);
    program_release(&which);
}

/* A folder with one lesson, whose head ends with `rest`; returns its path. */
static const char *folder_make(const char *name, const char *rest)
{
    const char *folder = program_path(name);
    struct vs_text text = {NULL, 0, 0};
    struct vs_text file = {NULL, 0, 0};

    assert_int_equal(mkdir(folder, 0777), 0);
    vs_text_addf(&file, "%s/1_own.py", name);
    vs_text_addf(&text,
                 "# lesson: 1 Own\n# claim: More is less.\n# run before: steps=1 : four\n"
                 "# run after: WIDTH=8 steps=1 : eight\n%s"
                 "import torch\nimport torch.nn as nn\n\nWIDTH = 4\n\n\ndef model():\n"
                 "    return nn.Linear(1024, WIDTH * 1024)\n\n\ndef batch(n):\n"
                 "    return torch.randn(n, 1024), torch.randint(0, 4, (n,))\n",
                 rest);
    program_file(vs_text_get(&file), vs_text_get(&text));
    vs_text_release(&text);
    vs_text_release(&file);
    return folder;
}

static void a_lesson_without_a_matching_verdict_fails(void **state)
{
    const char *folder = folder_make("none", "# if: peak(after) < peak(before)\n# verdict: true\n"
                                             "# text: It is less.\n");
    struct program p = program_run("lesson", "1", "--from", folder, NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.out, "not reproduced"));
    program_release(&p);
}

static void a_lesson_fails_when_a_known_figure_is_not_reached(void **state)
{
    const char *folder =
        folder_make("known", "# known its bytes: peak(after) == 1\n"
                             "# if: peak(after) > peak(before)\n# verdict: not true\n"
                             "# text: The larger takes {parameters(after) * 4 as B}.\n");
    struct program p = program_run("lesson", "1", "--from", folder, NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.out, "its bytes: NOT REACHED"));
    assert_non_null(strstr(p.out, "not true"));
    /* 1024 * 8192 weights and 8192 biases of four bytes */
    assert_non_null(strstr(p.out, "33,587,200 B"));
    program_release(&p);
}

static void an_expression_that_is_wrong_is_refused_with_its_line(void **state)
{
    const char *folder =
        folder_make("wrong", "# if: peek(after) > 1\n# verdict: true\n# text: x\n");
    struct program p = program_run("lesson", "--all", "--from", folder, NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "lessons/1_own.py:5: there is no figure `peek`"));
    program_release(&p);
}

/* Of two files with one number, and of a file whose first line has another, neither is chosen silently. */
static void two_lessons_with_one_number_are_refused(void **state)
{
    const char *folder = folder_make("twice", "# if: 1 == 1\n# verdict: true\n# text: x\n");
    struct program p;
    char *text;
    char path[512];

    (void)state;
    snprintf(path, sizeof(path), "%s/1_own.py", folder);
    text = file_read(path);
    program_file("twice/01_again.py", text);
    p = program_run("lesson", "--from", folder, NULL);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "are both lesson 1"));
    program_release(&p);
    snprintf(path, sizeof(path), "%s/01_again.py", folder);
    assert_int_equal(remove(path), 0);
    program_file("twice/2_other.py", text);
    p = program_run("lesson", "--from", folder, NULL);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "2_other.py: its first line has the number 1"));
    program_release(&p);
    vs_free(text);
}

static void a_missing_lesson_or_folder_is_reported(void **state)
{
    struct program number = program_run("lesson", "99", NULL);
    struct program folder = program_run("lesson", "--from", "no/such/folder", NULL);

    (void)state;
    assert_int_equal(number.status, 2);
    assert_non_null(strstr(number.err, "there is no lesson `99`"));
    assert_int_equal(folder.status, 1);
    assert_non_null(strstr(folder.err, "no/such/folder"));
    program_release(&number);
    program_release(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_of_techniques_equals_the_output_of_lesson),
        cmocka_unit_test(the_table_has_a_line_for_each_lesson_of_the_list),
        cmocka_unit_test(every_lesson_run_has_the_figures_of_pytorch),
        cmocka_unit_test(a_lesson_prints_its_figures_as_json),
        cmocka_unit_test(the_code_of_a_lesson_is_its_file),
        cmocka_unit_test(a_lesson_opens_both_runs_in_the_tui),
        cmocka_unit_test(a_lesson_without_a_matching_verdict_fails),
        cmocka_unit_test(a_lesson_fails_when_a_known_figure_is_not_reached),
        cmocka_unit_test(an_expression_that_is_wrong_is_refused_with_its_line),
        cmocka_unit_test(two_lessons_with_one_number_are_refused),
        cmocka_unit_test(a_missing_lesson_or_folder_is_reported),
    };

    return cmocka_run_group_tests_name("e2e/lesson", tests, NULL, cleanup);
}
