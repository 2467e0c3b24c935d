/*
 * tests/tui/test_curve.c - the view of peak against recomputation: its points, and choosing one of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/e2e/program.h"
#include "tests/tui/session.h"
#include "tui/change.h"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* To the last row with checkpoints: those with copies to the host come after it, the last one of all activations. */
static void go_to_least_peak(struct tui_app *app)
{
    session_type(app, "G");
    for (int i = 0; i < 8; i++) {
        char *screen = session_screen(app, false);
        bool is_there = strstr(screen, "checkpoint=auto  ") != NULL;

        vs_free(screen);
        if (is_there)
            break;
        session_type(app, "k");
    }
}

static void points_are_listed_from_no_checkpoint_to_the_least_peak(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("linear100", NULL), 100, 30);
    session_type(&app, "gCM");
    session_expect(&app, "space finds where checkpoints");
    session_type(&app, "<space>");
    session_expect(&app, "off ");
    session_expect(&app, "auto:");
    session_expect(&app, "recomputed");
    go_to_least_peak(&app);
    session_expect(&app, "checkpoint=auto  ");
    tui_app_release(&app);
}

static void choosing_a_point_runs_the_what_if_with_its_value(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("linear100", NULL), 100, 30);
    session_type(&app, "gCM<space>");
    go_to_least_peak(&app);
    session_type(&app, "<enter>");
    assert_string_equal(tui_change_value(&app, VS_TOGGLE_CHECKPOINT), "auto");
    assert_true(app.change.is_shown);
    assert_true(app.change.run.top.allocated < app.base.top.allocated);
    session_type(&app, "gC");
    session_type(&app, "gg<enter>");
    assert_string_equal(tui_change_value(&app, VS_TOGGLE_CHECKPOINT), "off");
    tui_app_release(&app);
}

static void copies_to_the_host_are_listed_with_their_bytes_and_can_be_taken(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("linear100", NULL), 120, 40);
    session_type(&app, "gCM<space>G");
    session_expect(&app, "PCIe/step");
    session_expect(&app, "offload ..12 ");
    session_expect(&app, "offload=0,1,2,3,");
    session_type(&app, "<enter>");
    assert_memory_equal(tui_change_value(&app, VS_TOGGLE_OFFLOAD), "0,1,2,3,", 8);
    assert_string_equal(tui_change_value(&app, VS_TOGGLE_CHECKPOINT), "off");
    assert_true(app.change.run.top.allocated < app.base.top.allocated);
    tui_app_release(&app);
}

static void a_net_without_a_plan_gets_an_explanation(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("linear100", NULL), 100, 30);
    session_type(&app, ":set preserve-rng=off<enter>gC<space>");
    session_expect(&app, "preserve-rng");
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_listed_from_no_checkpoint_to_the_least_peak),
        cmocka_unit_test(choosing_a_point_runs_the_what_if_with_its_value),
        cmocka_unit_test(copies_to_the_host_are_listed_with_their_bytes_and_can_be_taken),
        cmocka_unit_test(a_net_without_a_plan_gets_an_explanation),
    };

    return cmocka_run_group_tests(tests, NULL, cleanup);
}
