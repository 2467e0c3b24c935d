/*
 * tests/tui/test_ranks.c - the ranks of a run beside each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/e2e/program.h"
#include "tests/tui/session.h"

static void ranks_open(struct tui_app *app, const char *a, const char *b, int w, int h)
{
    struct vs_error err = VS_ERROR_INIT;

    session_open(app, a, w, h);
    app->ranks = vs_calloc(1, sizeof(*app->ranks));
    if (rpl_ranks_add(app->ranks, a, &err) || rpl_ranks_add(app->ranks, b, &err) ||
        rpl_ranks_fill(app->ranks, NULL, NULL, &err))
        fail_msg("%s", err.text);
    session_type(app, "gRM");
}

/* Both have one scale: that of the rank with the highest peak, which is named with the lines that differ. */
static void ranks_are_on_one_axis_with_the_reason_for_the_highest_peak(void **state)
{
    const char *a = session_trace("variables", NULL);
    const char *b = session_trace("variables", "inplace=on");
    struct tui_app app;

    (void)state;
    ranks_open(&app, a, b, 120, 50);
    session_expect(&app, "ranks 2, on the axis of ");
    session_expect(&app, "2 ranks: peak allocated 100.0 MiB");
    session_expect(&app, "differs from ");
    session_expect(&app, "allocated at the two peaks, by line");
    tui_app_release(&app);
}

/* The sentences on the ranks are whole in few columns, those of the table in its last column. */
static void the_text_on_ranks_is_whole_in_80_columns(void **state)
{
    char a[200];
    struct tui_app app;

    (void)state;
    snprintf(a, sizeof(a), "%s", session_trace("variables", NULL));
    ranks_open(&app, a, a, 80, 40);
    session_type(&app, ":1<enter>gRM");
    session_expect(&app, " 2 ranks: peak allocated 100.0 MiB");
    session_expect(&app, "All ranks have the same events");
    session_expect_not(&app, "\xE2\x80\xA6\n");
    tui_app_release(&app);
}

/* A window of the timeline is that of all ranks. */
static void the_window_applies_to_all_ranks(void **state)
{
    const char *a = session_trace("variables", NULL);
    struct tui_app app;
    char *whole;
    char *step;

    (void)state;
    ranks_open(&app, a, session_trace("variables", "inplace=on"), 100, 40);
    whole = session_screen(&app, false);
    session_type(&app, "=");
    step = session_screen(&app, false);
    assert_string_not_equal(whole, step);
    session_type(&app, "0");
    free(step);
    step = session_screen(&app, false);
    assert_string_equal(whole, step);
    free(step);
    free(whole);
    tui_app_release(&app);
}

static void enter_compares_with_the_chosen_rank(void **state)
{
    const char *a = session_trace("variables", NULL);
    const char *b = session_trace("variables", "inplace=on");
    struct tui_app app;

    (void)state;
    ranks_open(&app, a, b, 120, 40);
    session_type(&app, "5j<enter>");
    session_expect(&app, "difference B - A -16.0 MiB");
    /* another one takes its place: the run itself, which does not differ */
    session_type(&app, "gRgg<enter>");
    session_expect(&app, "difference B - A 0 B");
    tui_app_release(&app);
}

static void without_ranks_the_view_says_how_to_open_them(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, "gR");
    session_expect(&app, "vramscope tui TRACE --ranks");
    tui_app_release(&app);
}

static void the_program_opens_ranks(void **state)
{
    const char *a = session_trace("variables", NULL);
    const char *b = session_trace("variables", "inplace=on");
    struct program p = program_run("tui", a, b, a, "--ranks", "--dump", "--size", "120x40", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "3 ranks: peak allocated 100.0 MiB"));
    program_release(&p);
    p = program_run("tui", a, "--ranks", "--dump", NULL);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(p.err, "it does not say which traces were recorded with it"));
    program_release(&p);
    p = program_run("tui", a, b, a, "--dump", NULL);
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(p.err, "more than two traces need --ranks"));
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_on_one_axis_with_the_reason_for_the_highest_peak),
        cmocka_unit_test(the_text_on_ranks_is_whole_in_80_columns),
        cmocka_unit_test(the_window_applies_to_all_ranks),
        cmocka_unit_test(enter_compares_with_the_chosen_rank),
        cmocka_unit_test(without_ranks_the_view_says_how_to_open_them),
        cmocka_unit_test(the_program_opens_ranks),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}
