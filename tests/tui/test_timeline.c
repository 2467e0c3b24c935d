/*
 * tests/tui/test_timeline.c - many steps are readable, the set-up has no more width than its share, a followed
 * recording is shown at its end, and the mark of the peak stands above it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/program.h"
#include "tests/tui/session.h"
#include "tui/screen.h"
#include "tui/term/surface.h"

static void many_steps_are_an_envelope_with_round_numbers(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", "steps=120"), 120, 30);
    session_type(&app, "M");
    session_expect(&app, "120 steps; = shows one and its phases");
    session_expect(&app, "\xE2\x94\x82"
                         "0 ");
    session_expect(&app, "\xE2\x94\x82"
                         "20 ");
    session_expect(&app, "\xE2\x94\x82"
                         "100");
    /* the lowest bytes between the steps */
    session_expect(&app, "\xE2\x94\x84\xE2\x94\x84\xE2\x94\x84\xE2\x94\x84");
    session_type(&app, "=");
    session_expect(&app, "forward");
    session_expect(&app, "step 0");
    session_expect_not(&app, "120 steps");
    tui_app_release(&app);
}

static void the_set_up_has_at_most_its_share_of_the_columns(void **state)
{
    struct tui_app app;
    struct tui_split split;
    uint64_t setup;
    uint64_t at;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 30);
    session_type(&app, "M");
    setup = app.base.setup_last;
    assert_in_range(setup, 10, app.base.events / 3);
    /* the three steps have most of the events: nothing is changed */
    assert_int_equal(tui_app_split(&app).columns, 0);
    /* a run that ended early, with as many events of training as of set-up */
    tui_app_go(&app, setup + 1, false);
    tui_app_window(&app, (struct tui_window){1, 2 * setup});
    tui_app_sync(&app);
    split = tui_app_split(&app);
    assert_int_equal(split.columns, app.columns / 8);
    assert_int_equal(split.last, setup);
    session_expect(&app, "setup");
    /* a key moves by a column of the part in which the cursor is */
    at = app.at;
    session_type(&app, "10l");
    assert_int_equal(app.at - at, 10 * (setup / (uint64_t)(app.columns - split.columns) > 0
                                            ? setup / (uint64_t)(app.columns - split.columns)
                                            : 1));
    tui_app_release(&app);
}

static void a_followed_recording_is_shown_at_its_end(void **state)
{
    struct program p = program_run("tui", session_trace("lenet", NULL), "--follow", "--dump",
                                   "--size", "80x24", NULL);
    const char *at;

    (void)state;
    assert_int_equal(p.status, 0);
    /* N/N: the current event is the last one */
    at = strstr(p.out, "\n 3358/3358 ");
    if (!at)
        fail_msg("not at the end:\n%s", p.out);
    program_release(&p);
}

/* By time, the ends of the axis are times; a what-if has none. */
static void a_timeline_by_time_has_times(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 30);
    session_type(&app, "Mt");
    session_expect(&app, " memory by time, here ");
    session_expect(&app, "ms");
    session_type(&app, ":set inplace=on<enter>");
    session_expect(&app, " memory the events of this run have no times");
    session_expect(&app, "3.3k");
    tui_app_release(&app);
}

static void the_mark_of_the_peak_stands_above_its_column(void **state)
{
    static const int SIZES[][2] = {{80, 24}, {120, 40}, {300, 90}};
    struct tui_surface surface;
    struct tui_app app;

    (void)state;
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        int found = 0;
        int w = SIZES[i][0];
        int h = SIZES[i][1];

        session_open(&app, session_trace("lenet", NULL), w, h);
        tui_surface_init(&surface, w, h, false);
        tui_screen_draw(&app, &surface);
        for (int y = 2; y + 1 < h && !found; y++)
            for (int x = 0; x < w && !found; x++)
                if (tui_surface_cell(&surface, x, y)->style.role == TUI_PEAK &&
                    tui_surface_cell(&surface, x, y)->ch == 0x25BC) {
                    enum tui_role below =
                        (enum tui_role)tui_surface_cell(&surface, x, y + 1)->style.role;

                    assert_in_range(below, TUI_CAT_PARAMETER, TUI_CAT_OTHER);
                    found = 1;
                }
        assert_true(found);
        tui_surface_release(&surface);
        tui_app_release(&app);
    }
}

/* The number of the last event is whole where the cursor, or a mark, stands on the last column. */
static void the_cursor_covers_no_figure_of_the_axis(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    session_type(&app, "G");
    session_expect(&app, "3.4k\xE2\x96\xB2\n");
    session_type(&app, "2h");
    session_expect(&app, "3.4k\xE2\x96\xB2\xE2\x94\x80\xE2\x94\x80\n");
    session_type(&app, "gg");
    session_expect(&app, "\xE2\x94\x80"
                         "3.4k\n");
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_steps_are_an_envelope_with_round_numbers),
        cmocka_unit_test(the_set_up_has_at_most_its_share_of_the_columns),
        cmocka_unit_test(a_followed_recording_is_shown_at_its_end),
        cmocka_unit_test(a_timeline_by_time_has_times),
        cmocka_unit_test(the_mark_of_the_peak_stands_above_its_column),
        cmocka_unit_test(the_cursor_covers_no_figure_of_the_axis),
    };

    return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
