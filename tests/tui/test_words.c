/*
 * tests/tui/test_words.c - typed text: searches, filters, commands, and the files they write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/program.h"
#include "tests/tui/session.h"

static char *file_text(const char *path)
{
    struct vs_text text = {NULL, 0, 0};
    FILE *file = fopen(path, "rb");
    char part[4096];
    size_t n;

    if (!file)
        return NULL;
    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        vs_text_add_n(&text, part, n);
    fclose(file);
    return vs_text_take(&text);
}

static void a_run_and_a_pane_can_be_written_to_files(void **state)
{
    const char *trace = session_trace("variables", NULL);
    char *csv = strdup(program_path("events.csv"));
    char *folded = strdup(program_path("cursor.folded"));
    char *pane = strdup(program_path("pane.txt"));
    struct program p = program_run("export", trace, "--format", "csv", NULL);
    struct program at =
        program_run("export", trace, "--format", "collapsed", "--at", "event=300", NULL);
    struct tui_app app;
    char line[400];
    char *text;
    char *screen;

    (void)state;
    session_open(&app, trace, 80, 24);
    session_type(&app, "E");
    session_expect(&app, ":export");
    session_expect(&app, "collapsed");
    snprintf(line, sizeof(line), "cs<tab><esc>:export cs<tab> %s<enter>", csv);
    session_type(&app, line);
    session_expect(&app, "wrote ");
    text = file_text(csv);
    assert_string_equal(text, p.out);
    free(text);
    /* of one moment: that of the cursor */
    snprintf(line, sizeof(line), ":goto 300<enter>:export collapsed %s<enter>", folded);
    session_type(&app, line);
    text = file_text(folded);
    assert_string_equal(text, at.out);
    free(text);
    snprintf(line, sizeof(line), "gbM:export txt %s<enter>j", pane);
    session_type(&app, line);
    text = file_text(pane);
    session_type(&app, "k");
    screen = session_screen(&app, false);
    assert_non_null(strstr(screen, text));
    free(text);
    free(screen);
    /* of two runs both */
    free(folded);
    folded = strdup(program_path("both.svg"));
    snprintf(line, sizeof(line), ":set inplace=on<enter>:export svg %s<enter>", folded);
    session_type(&app, line);
    text = file_text(folded);
    assert_non_null(strstr(text, "inplace=on: peak 84.0 MiB"));
    assert_non_null(strstr(text, "variables.db: peak 100.0 MiB"));
    free(text);
    session_type(&app, ":export csv x.csv.gz<enter>");
    session_expect(&app, "name it without .gz");
    /* what is there stays, and what is no format is offered one */
    snprintf(line, sizeof(line), ":export csv %s<enter>", pane);
    session_type(&app, line);
    session_expect(&app, "it exists already");
    session_type(&app, ":export cvs x<enter>");
    session_expect(&app, "there is no format `cvs`");
    session_type(&app, ":export csv /nowhere/at/all.csv<enter>");
    session_expect(&app, "cannot be written");
    tui_app_release(&app);
    program_release(&p);
    program_release(&at);
    free(csv);
    free(folded);
    free(pane);
}

static void filters_combine_and_can_be_cleared(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, "gbM\\conv<enter>");
    session_expect(&app, "conv2.weight");
    session_expect_not(&app, "relu relu");
    session_type(&app, "\\weight<enter>");
    session_expect_not(&app, "_convolution");
    session_expect(&app, "shown 3");
    session_type(&app, "g\\");
    session_expect(&app, "relu relu");
    tui_app_release(&app);
}

static void a_search_wraps_around_and_runs_backwards(void **state)
{
    struct tui_app app;
    const struct tui_list *list;
    size_t first;
    size_t second;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, "gbM/relu<enter>");
    list = app.view_state[app.panes[app.focus]];
    first = list->at;
    session_type(&app, "n");
    second = list->at;
    assert_true(second > first);
    session_type(&app, "N");
    assert_int_equal(list->at, first);
    session_type(&app, "5n5N");
    assert_int_equal(list->at, first);
    session_type(&app, "/nothing has this<enter>");
    session_expect(&app, "no row with");
    tui_app_release(&app);
}

/* The ops are not read for a word that no name has; names, numbers and both together are found. */
static void the_ops_are_searched_by_number_name_and_module(void **state)
{
    static const char *const WORDS[] = {"RELUBACK", "conv2", "120",   "relu relu1",
                                        "maxpool9", "zz",    "99999", "conv1  "};
    static const bool IS_FOUND[] = {true, true, true, true, false, false, false, false};
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 100, 30);
    session_type(&app, "go");
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        char keys[64];

        snprintf(keys, sizeof(keys), "/%s<enter>", WORDS[i]);
        session_type(&app, keys);
        if (IS_FOUND[i] == (strstr(vs_text_get(&app.message), "no row with") != NULL))
            fail_msg("%s: %s", WORDS[i], vs_text_get(&app.message));
    }
    tui_app_release(&app);
}

static void a_command_is_completed_and_an_unknown_one_refused(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, ":set chec<tab>");
    assert_string_equal(vs_text_get(&app.prompt.text), "set checkpoint");
    session_type(&app, "=bl<tab>");
    assert_string_equal(vs_text_get(&app.prompt.text), "set checkpoint=blocks");
    session_type(&app, "<esc>:break category = te<tab>");
    assert_string_equal(vs_text_get(&app.prompt.text), "break category = temporary");
    session_type(&app, " and module conv<tab>2");
    assert_string_equal(vs_text_get(&app.prompt.text),
                        "break category = temporary and module conv2");
    session_type(&app, "<esc>:set checkpoint=conv1,re<tab>");
    assert_string_equal(vs_text_get(&app.prompt.text), "set checkpoint=conv1,relu");
    session_type(&app, "<esc>:watch fc.ad<tab>");
    assert_string_equal(vs_text_get(&app.prompt.text), "watch fc.addmm");
    session_type(&app, "<esc>:watch x y<tab>");
    assert_string_equal(vs_text_get(&app.prompt.text), "watch x y");
    session_type(&app, "<esc>:brek total > 1M<enter>");
    session_expect(&app, "did you mean `break`");
    session_type(&app, ":set amp=fp8<enter>");
    session_expect(&app, "fp8");
    assert_false(app.change.is_shown);
    session_type(&app, ":<up>");
    assert_string_equal(vs_text_get(&app.prompt.text), "set amp=fp8");
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_and_a_pane_can_be_written_to_files),
        cmocka_unit_test(filters_combine_and_can_be_cleared),
        cmocka_unit_test(a_search_wraps_around_and_runs_backwards),
        cmocka_unit_test(the_ops_are_searched_by_number_name_and_module),
        cmocka_unit_test(a_command_is_completed_and_an_unknown_one_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}
