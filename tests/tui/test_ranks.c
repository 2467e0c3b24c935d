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
#include <sqlite3.h>

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
    session_type(&app, "gRgg<enter>");
    session_expect(&app, "this rank is A, the run that is open");
    tui_app_release(&app);
}

/* A recording of a rank that ran on GPU 0 of this machine, from `began_us` of the system clock on: its path. */
static const char *rank_on_gpu(const char *net, const char *name, const char *rank,
                               const char *began_us)
{
    const char *path = program_record(net, name, NULL, NULL);
    sqlite3 *db = NULL;
    char sql[300];

    snprintf(sql, sizeof(sql),
             "INSERT OR REPLACE INTO meta (key, value) VALUES ('rank', '%s'), "
             "('device_number', '0'), ('began_us', '%s')",
             rank, began_us);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    return path;
}

/* What processes on one GPU have together is there in all sizes; A and B are named before the first row with them. */
static void processes_on_one_gpu_are_added_up(void **state)
{
    static const int SIZES[][2] = {{80, 60}, {120, 60}, {200, 60}};
    char a[200];
    char b[200];

    (void)state;
    snprintf(a, sizeof(a), "%s",
             rank_on_gpu("sample_nets/variables.py", "rank0.db", "0", "5000000"));
    snprintf(b, sizeof(b), "%s", rank_on_gpu("sample_nets/lenet.py", "rank1.db", "1", "5002000"));
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        struct tui_app app;

        ranks_open(&app, a, b, SIZES[i][0], SIZES[i][1]);
        session_expect(&app, "GPU 0 is shared by 2 processes: together they have at most ");
        session_expect(&app, "rank 0: ");
        session_expect(&app, "rank 1: ");
        session_expect(&app, "in PyTorch's segments\n");
        /* a chart of its own, in which both have their letters */
        session_expect(&app, "\n GPU 0 ");
        session_expect(&app, "\n  a0  b1 ");
        session_expect(&app, "\n over time ");
        if (i == 2) /* in fewer columns it is folded */
            session_expect(&app, "by line (A is rank 0, B is rank 1)\n");
        tui_app_release(&app);
    }
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
        cmocka_unit_test(processes_on_one_gpu_are_added_up),
        cmocka_unit_test(without_ranks_the_view_says_how_to_open_them),
        cmocka_unit_test(the_program_opens_ranks),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}
