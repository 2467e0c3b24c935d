/*
 * tests/tui/test_goto.c - going to an event by its number, its time or its step; abbreviated commands; small terminals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/tui/session.h"
#include "tui/app.h"

static uint64_t time_of(struct tui_app *app, uint64_t seq)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_event event;

    if (rpl_index_event(app->base.index, seq, &event, &err))
        fail_msg("%s", err.text);
    return event.time_ns;
}

static void an_event_is_found_by_its_number(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 30);
    session_type(&app, "gt123G");
    assert_int_equal(app.at, 123);
    session_type(&app, "7gg");
    assert_int_equal(app.at, 7);
    session_type(&app, ":goto 99<enter>");
    assert_int_equal(app.at, 99);
    session_type(&app, ":45<enter>");
    assert_int_equal(app.at, 45);
    session_type(&app, "99999999999G");
    assert_int_equal(app.at, app.base.events);
    tui_app_release(&app);
}

static void a_count_goes_to_a_row_of_a_list(void **state)
{
    const struct tui_list *list;
    struct tui_app app;
    uint64_t at;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 30);
    at = app.at;
    session_type(&app, "gbM3G");
    list = app.view_state[app.panes[app.focus]];
    assert_int_equal(list->at, 2);
    session_type(&app, "5gg");
    assert_int_equal(list->at, 4);
    session_type(&app, "999999G");
    assert_int_equal(list->at, list->count - 1);
    assert_int_equal(app.at, at);
    tui_app_release(&app);
}

static void an_event_is_found_by_its_step_and_its_time(void **state)
{
    struct tui_app app;
    char keys[64];

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 30);
    session_type(&app, ":goto step 2<enter>");
    session_expect(&app, "  step 2 ");
    session_type(&app, "I");
    session_expect(&app, "  step 1 ");
    session_type(&app, ":goto step 9<enter>");
    session_expect(&app, "the last step is step 2");
    /* the last event that is not later */
    for (uint64_t seq = 1; seq <= app.base.events; seq += 211) {
        snprintf(keys, sizeof(keys), ":goto %lluns<enter>", (unsigned long long)time_of(&app, seq));
        session_type(&app, keys);
        assert_int_equal(time_of(&app, app.at), time_of(&app, seq));
        assert_true(app.at == app.base.events || time_of(&app, app.at + 1) > time_of(&app, seq));
    }
    session_type(&app, ":goto 0.000001ms<enter>");
    assert_int_equal(app.at, 1);
    session_expect(&app, "this is the first event; the events are from ");
    session_type(&app, ":goto 9999s<enter>");
    assert_int_equal(app.at, app.base.events);
    session_expect(&app, "this is the last event; the events are from ");
    session_type(&app, ":goto there<enter>");
    session_expect(&app, "takes an event number, a time (12.5ms) or `step N`");
    tui_app_release(&app);
}

/* A what-if says what happens, not when. */
static void a_run_without_times_says_so(void **state)
{
    struct tui_app app;
    uint64_t at;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 30);
    session_type(&app, ":set inplace=on<enter>");
    assert_true(app.change.is_shown);
    at = app.at;
    session_type(&app, ":goto 12.5ms<enter>");
    session_expect(&app, "the events of this run have no times; D shows the recorded run");
    assert_int_equal(app.at, at);
    tui_app_release(&app);
}

static void without_a_condition_breakpoints_are_listed(void **state)
{
    static const struct {
        const char *keys;
        const char *says;
    } COMMANDS[] = {
        {":b<enter>", "`:break total > 1G` sets one"},
        {":tb<enter>", "`:break total > 1G` sets one"},
        {":w<enter>", "`:watch fc1.weight` stops"},
        {":d<enter>", "needs the number of a breakpoint"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(COMMANDS) / sizeof(COMMANDS[0]); i++) {
        struct tui_app app;

        session_open(&app, session_trace("lenet", NULL), 80, 24);
        session_type(&app, COMMANDS[i].keys);
        session_expect(&app, "breakpoints, watches, marks");
        session_expect(&app, COMMANDS[i].says);
        assert_false(app.is_bad);
        tui_app_release(&app);
    }
}

static void commands_may_be_abbreviated(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 30);
    session_type(&app, ":brea total > 1M<enter>:w fc1.weight<enter>:got 12<enter>");
    assert_int_equal(rpl_breakpoints_count(app.base.breaks), 2);
    assert_int_equal(app.at, 12);
    session_type(&app, ":zo<enter>");
    session_expect(&app, "`zo` may be zoom-in, zoom-out");
    session_type(&app, ":xyzzyx<enter>");
    session_expect(&app, "there is no command `xyzzyx`");
    session_type(&app, ":q<enter>");
    assert_int_equal(app.wish, TUI_WISH_QUIT);
    tui_app_release(&app);
}

static void a_small_terminal_shows_which_size_is_needed(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 20, 5);
    session_expect(&app, "too small: 20x5\n");
    session_expect(&app, "needed: ");
    tui_app_release(&app);
    session_open(&app, session_trace("lenet", NULL), 10, 2);
    session_expect(&app, "too small\n40x");
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_found_by_its_number),
        cmocka_unit_test(a_count_goes_to_a_row_of_a_list),
        cmocka_unit_test(an_event_is_found_by_its_step_and_its_time),
        cmocka_unit_test(a_run_without_times_says_so),
        cmocka_unit_test(without_a_condition_breakpoints_are_listed),
        cmocka_unit_test(commands_may_be_abbreviated),
        cmocka_unit_test(a_small_terminal_shows_which_size_is_needed),
    };

    return cmocka_run_group_tests_name("goto", tests, NULL, NULL);
}
