/*
 * tests/tui/test_background.c - what is done while no key is typed: marks are written, and views read on what takes too
 * long for a key.
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
#include "replay/trace/trace.h"
#include "tests/e2e/program.h"
#include "tests/tui/session.h"
#include "tui/loop.h"
#include "tui/screen.h"
#include "tui/term/surface_text.h"

/* The screen right after the key, before anything else is done. Heap memory. */
static char *screen_now(struct tui_app *app)
{
    struct tui_surface surface;
    struct vs_text text = {NULL, 0, 0};

    tui_surface_init(&surface, app->w, app->h, false);
    tui_app_sync(app);
    tui_screen_draw(app, &surface);
    tui_surface_text(&surface, (struct tui_rect){0, 0, app->w, app->h}, &text);
    tui_surface_release(&surface);
    return vs_text_take(&text);
}

static void expect_now(struct tui_app *app, const char *wanted, bool is_there)
{
    char *screen = screen_now(app);

    if ((strstr(screen, wanted) != NULL) != is_there)
        fail_msg("`%s` should%s be on the screen:\n%s", wanted, is_there ? "" : " not", screen);
    vs_free(screen);
}

static void steps_are_read_one_by_one(void **state)
{
    struct tui_app app;
    uint64_t news;
    size_t pieces = 0;

    (void)state;
    session_open(&app, session_trace("lenet", "steps=120"), 120, 30);
    session_type(&app, "gSM");
    expect_now(&app, "reading them: 0 %", true);
    expect_now(&app, "median peak", false);
    news = app.news;
    while (tui_app_read_on(&app))
        pieces++;
    /* 121 rows, 120 curves, the comparison between, and the curve of the chosen row, perhaps more than once */
    assert_in_range(pieces, 240, 246);
    /* the screen is drawn again for each percent, not for each piece */
    assert_in_range(app.news - news, 90, 106);
    expect_now(&app, "reading them", false);
    expect_now(&app, "median peak", true);
    assert_false(tui_app_read_on(&app));
    tui_app_release(&app);
}

/* Where the block is read next stands in another chunk of the file than the cursor. */
static void why_reads_other_events_while_no_key_is_typed(void **state)
{
    struct tui_app app;
    uint64_t news;

    (void)state;
    session_open(&app, session_trace("lenet", "steps=120"), 120, 30);
    session_type(&app, "gyM:goto step 60<enter>10s");
    expect_now(&app, "next use", true);
    expect_now(&app, "next use  @", false);
    news = app.news;
    assert_true(tui_app_read_on(&app));
    assert_int_equal(app.news, news + 1);
    expect_now(&app, "next use  @", true);
    assert_false(tui_app_read_on(&app));
    tui_app_release(&app);
}

static void steps_that_are_not_read_yet_say_so(void **state)
{
    struct tui_app app;
    uint64_t at;

    (void)state;
    session_open(&app, session_trace("lenet", "steps=120"), 120, 30);
    session_type(&app, "gS");
    at = app.at;
    session_type(&app, "G<enter>");
    expect_now(&app, "this step is still being read", true);
    assert_int_equal(app.at, at);
    while (tui_app_read_on(&app))
        continue;
    session_type(&app, "<enter>");
    expect_now(&app, "still being read", false);
    assert_int_not_equal(app.at, at);
    tui_app_release(&app);
}

/* With --dump nobody waits between the keys: each finds what is read bit by bit. */
static void keys_of_a_dump_find_what_is_read_bit_by_bit(void **state)
{
    struct tui_app app;
    uint64_t at;

    (void)state;
    session_open(&app, session_trace("lenet", "steps=120"), 120, 30);
    at = app.at;
    assert_true(tui_type_patiently(&app, "gSG<enter>"));
    expect_now(&app, "still being read", false);
    assert_int_not_equal(app.at, at);
    tui_app_release(&app);
}

/* The table of steps has what each step of a leaking net keeps; space chooses the largest, gy shows its holder. */
static void the_table_of_steps_leads_to_the_holder_of_a_leak(void **state)
{
    const char *path = program_record("tests/nets/leak_loss.py", "leak.db", NULL, NULL);
    struct tui_app app;

    (void)state;
    session_open(&app, path, 110, 30);
    assert_true(tui_type_patiently(&app, "gSM"));
    expect_now(&app, "each keeps 4.5 KiB", true);
    expect_now(&app, "2    44.5K        0      2.0M    33.5K     4.5K       3", true);
    assert_true(tui_type_patiently(&app, "Gk<space>gy"));
    expect_now(&app, "why alive the chosen block", true);
    expect_now(&app, "held by   saved for the backward of `relu` of line 27", true);
    tui_app_release(&app);
}

/* Marks and breakpoints are on the screen at once, and in the file when no key is typed, or at the end. */
static void marks_are_written_while_no_key_is_typed(void **state)
{
    const char *path = session_trace("lenet", "steps=2");
    struct tui_app app;

    (void)state;
    session_open(&app, path, 120, 30);
    session_type(&app, "ma:break total > 1M<enter>");
    assert_non_null(rpl_marks_get(app.marks, "a"));
    assert_int_equal(sql_int(path, "select count(*) from mark"), 0);
    session_background(&app, 0, 0);
    assert_int_equal(sql_int(path, "select count(*) from mark"), 1);
    assert_int_equal(sql_int(path, "select count(*) from breakpoint"), 1);
    session_type(&app, "mb");
    tui_app_release(&app);
    assert_int_equal(sql_int(path, "select count(*) from mark"), 2);
    session_reopen(&app, path, 120, 30);
    assert_int_equal(rpl_marks_count(app.marks), 2);
    assert_int_equal(rpl_breakpoints_count(app.base.breaks), 1);
    tui_app_release(&app);
}

static void marks_that_cannot_be_written_last_for_the_session(void **state)
{
    char *path = strdup(program_path("no_marks.db"));
    const char *from = session_trace("lenet", "steps=2");
    struct vs_text copy = {NULL, 0, 0};
    struct tui_app app;

    (void)state;
    vs_text_addf(&copy, "cp '%s' '%s'", from, path);
    assert_int_equal(system(vs_text_get(&copy)), 0);
    vs_text_release(&copy);
    /* a recorder of another version may have made a table that does not take this */
    sql_run(path, "drop table mark");
    sql_run(path, "create table mark(key text primary key, seq check(seq < 0), note)");
    session_open(&app, path, 120, 30);
    session_type(&app, "mq");
    expect_now(&app, "mark q is at event", true);
    session_background(&app, 0, 0);
    expect_now(&app, "marks and breakpoints are for this session only", true);
    assert_non_null(rpl_marks_get(app.marks, "q"));
    tui_app_release(&app);
    free(path);
}

static bool read_count(void *user)
{
    ++*(size_t *)user;
    return true;
}

/* Chunks of a far column are decoded before its key is typed, also those of the ops and the line before its event. */
static void keys_that_move_by_columns_find_their_events_read(void **state)
{
    static const char *const KEYS[] = {"l", "h", "L", "H"};
    const uint64_t places = 12;
    struct tui_app app;
    size_t reads = 0;

    (void)state;
#ifdef VS_STRESS
    skip(); /* an op has many chunks there */
#endif
    session_open(&app, session_trace("lenet", "steps=900"), 160, 48);
    for (uint64_t i = 1; i < places; i++) {
        for (size_t k = 0; k < sizeof(KEYS) / sizeof(KEYS[0]); k++) {
            const uint64_t at = app.base.events / places * i;

            tui_app_go(&app, at, false);
            tui_app_sync(&app);
            while (tui_app_background(&app))
                continue;
            reads = 0;
            rpl_trace_watch(app.base.trace, read_count, &reads);
            session_type(&app, KEYS[k]);
            rpl_trace_watch(app.base.trace, NULL, NULL);
            if (reads)
                fail_msg("%s at event %zu of %zu: %zu reads", KEYS[k], (size_t)at,
                         (size_t)app.base.events, reads);
        }
    }
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_read_one_by_one),
        cmocka_unit_test(why_reads_other_events_while_no_key_is_typed),
        cmocka_unit_test(steps_that_are_not_read_yet_say_so),
        cmocka_unit_test(keys_of_a_dump_find_what_is_read_bit_by_bit),
        cmocka_unit_test(the_table_of_steps_leads_to_the_holder_of_a_leak),
        cmocka_unit_test(marks_are_written_while_no_key_is_typed),
        cmocka_unit_test(marks_that_cannot_be_written_last_for_the_session),
        cmocka_unit_test(keys_that_move_by_columns_find_their_events_read),
    };
    int failed = cmocka_run_group_tests_name("background", tests, NULL, NULL);

    program_cleanup();
    return failed;
}
