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

/* The next row whose text has the word, found by comparing them all. */
static size_t row_naive(struct tui_app *app, const char *word, size_t row, bool is_back)
{
    const struct tui_view *view = tui_app_focused(app);
    const struct tui_list *list = app->view_state[app->panes[app->focus]];

    for (size_t i = 0; i < list->count; i++) {
        struct vs_text text = {NULL, 0, 0};
        bool has;

        row = (row + (is_back ? list->count - 1 : 1)) % list->count;
        view->text(list, app, row, &text);
        has = strcasestr(vs_text_get(&text), word) != NULL;
        vs_text_release(&text);
        if (has)
            return row;
    }
    return SIZE_MAX;
}

static void the_ops_found_are_those_of_comparing_all_rows(void **state)
{
    static const char *const WORDS[] = {
        "relu",    "7", "0",       "00",     "100",      "1 conv",  "9 _", " conv2", "k c",
        "0 RELU ", "2", "back fc", "12 rel", "log_soft", "199999 ", "k  ", "3 3",    "conv1"};
    struct tui_app app;
    const struct tui_list *list;

    (void)state;
    session_open(&app, session_trace("lenet", "steps=120"), 100, 30);
    session_type(&app, "go");
    list = app.view_state[app.panes[app.focus]];
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        for (int n = 0; n < 8; n++) {
            const bool is_back = n >= 4;
            const size_t at = list->at;
            const size_t wanted = row_naive(&app, WORDS[i], at, is_back);
            char keys[64];

            snprintf(keys, sizeof(keys), n ? (is_back ? "N" : "n") : "/%s<enter>", WORDS[i]);
            session_type(&app, keys);
            if (list->at != (wanted == SIZE_MAX ? at : wanted))
                fail_msg("`%s` from row %zu %s: row %zu, not %zu", WORDS[i], at,
                         is_back ? "back" : "on", list->at, wanted);
        }
    }
    tui_app_release(&app);
}

static bool stop_at_once(void)
{
    return true;
}

static void a_search_of_all_ops_can_be_stopped(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", "steps=120"), 100, 30);
    session_type(&app, "go");
    app.wants_stop = stop_at_once;
    session_type(&app, "/conv1  <enter>");
    session_expect(&app, "stopped while reading the ops");
    app.wants_stop = NULL;
    session_type(&app, "n");
    session_expect(&app, "no row with `conv1  ` here");
    tui_app_release(&app);
}

/* A message goes on in the row of the keys, and what an empty view says is wrapped. */
static void sentences_are_shown_to_their_end(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, "gdn");
    session_expect(&app,
                   "\n only one run is open: gw switches a toggle, `vramscope tui A B` opens two\n"
                   " traces\n");
    session_type(&app, "gt");
    session_expect(&app, "\n ? help  h/l move");
    tui_app_release(&app);
    session_open(&app, session_trace("variables", NULL), 60, 24);
    session_type(&app, "gCM");
    session_expect(&app, "\n space finds where checkpoints save the most for the least\n"
                         " recomputation;\n enter then shows the run of a row\n");
    tui_app_release(&app);
}

/* Also where the view has a key that the general ones begin with, it stands there once. */
static void no_key_stands_twice_in_the_footer(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 300, 30);
    for (size_t v = 0; tui_view_at(v); v++) {
        char *screen;
        const char *footer;
        const char *first;

        tui_app_view_at(&app, (int)v);
        screen = session_screen(&app, false);
        footer = strstr(screen, "\n ? help");
        assert_non_null(footer);
        first = strstr(footer, " gw ");
        if (first && strstr(first + 1, " gw "))
            fail_msg("%s: gw is there twice: %s", tui_view_at(v)->name, footer);
        free(screen);
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

/* An op outside of all modules has no module beside it, so its name is whole. */
static void names_of_ops_without_a_module_are_whole(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    session_type(&app, "goM/LogSoftmaxB<enter>");
    session_expect(&app, " LogSoftmaxBackward0 ");
    tui_app_release(&app);
}

/* Where enter has nothing to open it says so; the focus stays. The header has a word for what comes before step 0. */
static void enter_without_a_row_says_that_there_is_none(void **state)
{
    static const char *const CASES[][2] = {
        {"", "nothing is alive here"},
        {"gb", "there is no block in this list"},
        {"gk", "the cursor is at this event"},
        {"?", "there is nothing to open in the view help"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct tui_app app;
        int focus;

        session_open(&app, session_trace("lenet", NULL), 120, 40);
        session_type(&app, i < 2 ? "gtgg" : "gp");
        session_expect(&app, i < 2 ? "lenet.db  setup" : "lenet.db  step 0 backward");
        session_type(&app, CASES[i][0]);
        focus = app.focus;
        session_type(&app, "<enter>");
        session_expect(&app, CASES[i][1]);
        assert_int_equal(app.focus, focus);
        tui_app_release(&app);
    }
}

/* The names of a large net do not fit into a row; <tab> shows the rest, and the legal values stay where none fits. */
static void tab_shows_all_completions_one_row_after_the_other(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("resnet18", NULL), 80, 24);
    session_type(&app, ":set checkpoint=<tab>");
    session_expect(&app, "\n off  blocks  selective ");
    session_expect_not(&app, "layer1.0.bn1");
    session_type(&app, "<tab>");
    session_expect_not(&app, "selective");
    session_expect(&app, "\n \xE2\x80\xA6 ");
    for (int i = 0; i < 40 && !strstr(vs_text_get(&app.message), "maxpool"); i++)
        session_type(&app, "<tab>");
    session_expect(&app, "maxpool");
    for (int i = 0; i < 40 && !strstr(vs_text_get(&app.message), "selective"); i++)
        session_type(&app, "<tab>");
    session_expect(&app, "\n off  blocks  selective ");
    /* a key begins anew */
    session_type(&app, "<tab>l<tab>");
    session_expect(&app, "\n layer1  layer1.0 ");
    session_type(&app, "<esc>:set batch=<tab>");
    session_expect(&app, "now 16; a count from 1");
    tui_app_release(&app);
}

/* In a small terminal, too: no help ends in the middle of its sentence. */
static void every_help_is_shown_in_full(void **state)
{
    struct tui_app app;
    char *screen;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 260);
    for (size_t i = 0; tui_view_at(i); i++) {
        const char *line;

        tui_app_view(&app, tui_view_at(i)->name);
        session_type(&app, "?M");
        screen = session_screen(&app, false);
        /* the last two rows are the event and the hints, the first two the header */
        line = strstr(screen, " keys ");
        assert_non_null(line);
        for (int y = 3; y < 255 && *line; y++, line += strcspn(line, "\n") + 1)
            if (strcspn(line, "\n") > 2 &&
                strncmp(line + strcspn(line, "\n") - 3, "\xE2\x80\xA6", 3) == 0)
                fail_msg("view %s: %.*s", tui_view_at(i)->name, (int)strcspn(line, "\n"), line);
        free(screen);
        session_type(&app, "Mq");
    }
    tui_app_release(&app);
}

/* The status line ends with the number of the line where its code would be cut after a few letters. */
static void a_line_of_code_is_whole_or_absent_in_few_columns(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("resnet18", NULL), 80, 24);
    session_type(&app, "iI");
    session_expect(&app, "ConvolutionBackward0 in layer4.0.conv1  line 25\n");
    tui_app_resize(&app, 120, 24);
    session_expect(&app, "ConvolutionBackward0 in layer4.0.conv1  line 25: out = self.conv1(x)\n");
    tui_app_release(&app);
}

/* A message that needs more than two rows begins above them, and ends in the last one. */
static void a_long_message_is_shown_to_its_end(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, ":set alloc-conf=no_such_key:3<enter>");
    session_expect(&app,
                   "\n alloc-conf=no_such_key:3: alloc-conf: unknown key 'no_such_key'; known");
    session_expect(&app, "\n pinned_reserve_segment_size_mb\n");
    /* on few rows the header stays */
    tui_app_resize(&app, 42, 10);
    session_expect(&app, " variables.db ");
    tui_app_release(&app);
}

static void a_second_colon_is_no_part_of_a_command(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, ":: goto 300<enter>");
    assert_int_equal(app.at, 300);
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_help_is_shown_in_full),
        cmocka_unit_test(sentences_are_shown_to_their_end),
        cmocka_unit_test(names_of_ops_without_a_module_are_whole),
        cmocka_unit_test(enter_without_a_row_says_that_there_is_none),
        cmocka_unit_test(tab_shows_all_completions_one_row_after_the_other),
        cmocka_unit_test(a_run_and_a_pane_can_be_written_to_files),
        cmocka_unit_test(filters_combine_and_can_be_cleared),
        cmocka_unit_test(a_search_wraps_around_and_runs_backwards),
        cmocka_unit_test(the_ops_are_searched_by_number_name_and_module),
        cmocka_unit_test(the_ops_found_are_those_of_comparing_all_rows),
        cmocka_unit_test(a_search_of_all_ops_can_be_stopped),
        cmocka_unit_test(no_key_stands_twice_in_the_footer),
        cmocka_unit_test(a_command_is_completed_and_an_unknown_one_refused),
        cmocka_unit_test(a_line_of_code_is_whole_or_absent_in_few_columns),
        cmocka_unit_test(a_long_message_is_shown_to_its_end),
        cmocka_unit_test(a_second_colon_is_no_part_of_a_command),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}
