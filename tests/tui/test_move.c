/*
 * tests/tui/test_move.c - moving in a run: steps, callers, jumps, breakpoints, ends of blocks, marks.
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
#include "tests/store/small_trace.h"
#include "tests/tui/session.h"

/* From the middle of the run, and from its ends. */
static void stepping_forwards_and_back_shows_the_same_screen(void **state)
{
    static const char *const VERBS[][2] = {{"i", "I"}, {"s", "S"}, {"r", "R"}, {"]", "["},
                                           {")", "("}, {"}", "{"}, {"p", "P"}};
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 100, 30);
    for (size_t i = 0; i < sizeof(VERBS) / sizeof(VERBS[0]); i++) {
        char keys[64];
        char *before;
        char *after;
        uint64_t at;

        /* to a stop of the verb first: from between two of them the way back ends at the one before */
        snprintf(keys, sizeof(keys), ":goto 1<enter>%s", VERBS[i][0]);
        session_type(&app, keys);
        at = app.at;
        before = session_screen(&app, true);
        snprintf(keys, sizeof(keys), "2%s", VERBS[i][0]);
        session_type(&app, keys);
        if (app.at == at)
            fail_msg("`%s` goes nowhere", VERBS[i][0]);
        snprintf(keys, sizeof(keys), "2%s", VERBS[i][1]);
        session_type(&app, keys);
        after = session_screen(&app, true);
        if (strcmp(before, after) != 0)
            fail_msg("%s and %s:\n%s\n%s", VERBS[i][0], VERBS[i][1], before, after);
        free(before);
        free(after);
    }
    tui_app_release(&app);
}

/* u shows the function that called, at the line of the call, and d leads back to the same screen. */
static void keys_u_and_d_walk_the_call_stack(void **state)
{
    static const char NET[] = "import torch\nimport torch.nn as nn\n\n\n"
                              "class Block(nn.Module):\n"
                              "    def __init__(self):\n"
                              "        super().__init__()\n"
                              "        self.a = nn.Linear(8, 8)\n\n"
                              "    def forward(self, inside):\n"
                              "        y = torch.relu(inside)\n"
                              "        return self.a(y)\n\n\n"
                              "class Net(nn.Module):\n"
                              "    def __init__(self):\n"
                              "        super().__init__()\n"
                              "        self.one = Block()\n"
                              "        self.two = Block()\n\n"
                              "    def forward(self, outside):\n"
                              "        h = self.one(outside)\n"
                              "        k = self.two(h)\n"
                              "        return k\n\n\n"
                              "def model():\n    return Net()\n\n\n"
                              "def batch(n):\n"
                              "    return torch.randn(n, 8), torch.randint(0, 8, (n,))\n";
    const char *path = program_path("calls.db");
    struct program p = program_run("record", program_file("calls.py", NET), "-o", path, "--device",
                                   "meta", "--steps", "1", NULL);
    struct tui_app app;
    char *before;
    char *after;

    (void)state;
    assert_int_equal(p.status, 0);
    program_release(&p);
    session_open(&app, path, 120, 40);
    session_type(&app, "gcM:goto 1<enter>");
    while (rpl_cursor_here(app.base.cursor).line != 12 && app.at < app.base.events)
        session_type(&app, "s");
    before = session_screen(&app, false);
    session_type(&app, "u");
    session_expect(&app, "Net.forward, line 22, 1 above the running function");
    session_type(&app, "u");
    session_expect(&app, "no function of the net called this one");
    session_type(&app, "d");
    after = session_screen(&app, false);
    assert_string_equal(before, after);
    free(before);
    free(after);
    tui_app_release(&app);
}

static void the_jump_list_leads_back_and_forward(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, ":goto 100<enter>:goto 200<enter>:goto 300<enter>");
    session_type(&app, "<lt>");
    assert_int_equal(app.at, 200);
    session_type(&app, "<lt>");
    assert_int_equal(app.at, 100);
    session_type(&app, ">");
    assert_int_equal(app.at, 200);
    session_type(&app, ">");
    assert_int_equal(app.at, 300);
    session_type(&app, "gp''");
    assert_int_equal(app.at, 300);
    tui_app_release(&app);
}

static void a_breakpoint_on_a_line_is_reached_in_both_directions(void **state)
{
    struct tui_app app;
    uint64_t hits[3];

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, ":break line = 21<enter>:goto 1<enter>");
    for (size_t i = 0; i < 3; i++) {
        session_type(&app, "c");
        hits[i] = app.at;
        assert_int_equal(rpl_cursor_here(app.base.cursor).line, 21);
        assert_true(i == 0 || hits[i] > hits[i - 1]);
    }
    session_type(&app, "C");
    assert_int_equal(app.at, hits[1]);
    session_type(&app, "C");
    assert_int_equal(app.at, hits[0]);
    /* switched off it is passed by */
    session_type(&app, "B<space>c");
    assert_int_equal(app.at, hits[0]);
    session_expect(&app, "no breakpoint is hit");
    tui_app_release(&app);
}

static void breakpoints_report_their_location_and_support_ignore_and_once(void **state)
{
    struct tui_app app;
    uint64_t third;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 120, 24);
    session_type(&app, ":break line = 21<enter>:goto 1<enter>3c");
    third = app.at;
    session_expect(&app, "breakpoint 1: line = 21");
    session_expect(&app, "line 21: x3 = self.conv2(x2)");
    session_type(&app, ":goto 1<enter>:ignore 1 2<enter>c");
    assert_int_equal(app.at, third);
    session_type(&app, ":delete 1<enter>:goto 1<enter>:tbreak line = 21<enter>cc");
    session_expect(&app, "no breakpoint is set");
    session_type(&app, ":watch nosuch<enter>");
    session_expect(&app, "no event of this run matches");
    tui_app_release(&app);
}

static void the_percent_key_jumps_between_alloc_and_free(void **state)
{
    struct tui_app app;
    uint64_t made;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, "gb%");
    made = app.at;
    assert_int_equal(rpl_cursor_here(app.base.cursor).event.kind, VS_EV_ALLOC);
    session_type(&app, "%");
    assert_int_equal(rpl_cursor_here(app.base.cursor).event.kind, VS_EV_FREE);
    session_type(&app, "%");
    assert_int_equal(app.at, made);
    tui_app_release(&app);
}

static void marks_stay_in_the_trace(void **state)
{
    char *copy = strdup(program_path("marked.db"));
    struct tui_app app;

    (void)state;
    small_trace_write(copy);
    session_open(&app, copy, 80, 24);
    session_type(&app, ":goto 5<enter>mx:note x look here<enter>");
    tui_app_release(&app);
    session_open(&app, copy, 80, 24);
    session_type(&app, "'x");
    assert_int_equal(app.at, 5);
    session_expect(&app, "look here");
    /* in the list one can go to it and delete it */
    session_type(&app, "gpB<space>");
    assert_int_equal(app.at, 5);
    session_expect(&app, "@5  look here  phase");
    session_type(&app, "x");
    session_expect_not(&app, "look here");
    tui_app_release(&app);
    free(copy);
}

/* Wherever the cursor is in the window, - comes to the whole run and + to few events. */
static void zoom_reaches_the_whole_run_and_single_events(void **state)
{
    static const char *const TO[] = {"gg", "G", ":goto 400<enter>"};
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 100, 30);
    for (size_t i = 0; i < sizeof(TO) / sizeof(TO[0]); i++) {
        session_type(&app, TO[i]);
        session_type(&app, "=0=20-");
        assert_int_equal(app.window.first, 1);
        assert_int_equal(app.window.last, app.base.events);
        session_type(&app, "-");
        session_expect(&app, "already");
        session_type(&app, "40+");
        assert_in_range(app.window.last - app.window.first + 1, 4, 8);
        session_type(&app, "+");
        assert_in_range(app.window.last - app.window.first + 1, 4, 8);
    }
    session_type(&app, "0vz");
    assert_int_equal(app.window.last, app.base.events);
    session_expect(&app, "the range begins here; move to its other end");
    tui_app_release(&app);
}

/* A window whose change is too small to be seen is named: by the eye nothing has happened. */
static void a_window_whose_change_is_not_seen_is_named(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 100, 30);
    tui_app_window(&app, (struct tui_window){1, app.base.events - 4});
    session_type(&app, "0");
    session_expect(&app, "the timeline (gt) shows events 1 to ");
    session_expect_not(&app, "already");
    session_type(&app, "=");
    session_expect_not(&app, "shows events");
    tui_app_release(&app);
}

/* The last row of the screen offers other views, not the one that is shown. */
static void a_view_does_not_offer_itself(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 200, 40);
    session_type(&app, "gw");
    session_expect(&app, " gW what helps");
    session_expect_not(&app, " gw what-if");
    session_type(&app, "gW");
    session_expect_not(&app, " gW what helps");
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stepping_forwards_and_back_shows_the_same_screen),
        cmocka_unit_test(keys_u_and_d_walk_the_call_stack),
        cmocka_unit_test(the_jump_list_leads_back_and_forward),
        cmocka_unit_test(a_breakpoint_on_a_line_is_reached_in_both_directions),
        cmocka_unit_test(breakpoints_report_their_location_and_support_ignore_and_once),
        cmocka_unit_test(the_percent_key_jumps_between_alloc_and_free),
        cmocka_unit_test(marks_stay_in_the_trace),
        cmocka_unit_test(a_window_whose_change_is_not_seen_is_named),
        cmocka_unit_test(a_view_does_not_offer_itself),
        cmocka_unit_test(zoom_reaches_the_whole_run_and_single_events),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}
