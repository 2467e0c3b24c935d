/*
 * tests/tui/test_change.c - toggles in a session: a change that cannot be run is undone, and three runs may be open.
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
#include "tui/change.h"
#include "tui/parts/format.h"

static void a_refused_toggle_leaves_the_last_run_in_force(void **state)
{
    struct tui_app app;
    uint64_t at;
    uint64_t number;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 30);
    session_type(&app, ":set checkpoint=conv1<enter>ss");
    session_expect(&app, "what if checkpoint=conv1");
    at = app.at;
    number = app.change.run.number;
    session_type(&app, ":set inplace=fc1<enter>");
    session_expect(&app, "inplace=fc1: Linear has no in-place form");

    session_expect_not(&app, "lenet.py: Val");
    /* the run of before is shown, at the same event, and its toggles are those that are listed */
    session_expect(&app, "what if checkpoint=conv1");
    assert_true(app.change.is_run && app.change.is_shown);
    assert_int_equal(app.at, at);
    assert_int_equal(app.change.run.number, number);
    assert_int_equal(tui_change_count(&app), 1);
    /* the next toggle is added to it, and is not refused for the reason of the one before */
    session_type(&app, ":set batch=2<enter>");
    session_expect(&app, "what if batch=2 checkpoint=conv1");
    tui_app_release(&app);
}

static void a_refused_first_toggle_leaves_the_recorded_run(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 30);
    session_type(&app, "gw:set inplace=fc1<enter>");
    session_expect(&app, "Linear has no in-place form");
    assert_false(app.change.is_run);
    assert_int_equal(tui_change_count(&app), 0);
    session_type(&app, ":set batch=2<enter>");
    session_expect(&app, "what if batch=2");
    session_expect_not(&app, "in-place form");
    tui_app_release(&app);
}

static void the_recorded_toggles_can_be_restored_from_every_view(void **state)
{
    static const char *const VIEWS[] = {"gt", "gc", "gb", "gy", "gk", "gw", "gW",
                                        "gC", "go", "gm", "gs", "gB", "?"};
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 40);
    for (size_t i = 0; i < sizeof(VIEWS) / sizeof(VIEWS[0]); i++) {
        session_type(&app, ":set batch=2<enter>");
        assert_true(app.change.is_run);
        session_type(&app, VIEWS[i]);
        session_type(&app, "<C-r>");
        if (tui_change_count(&app) || app.change.is_run)
            fail_msg("<C-r> in the view of `%s` leaves the toggles set", VIEWS[i]);
        session_type(&app, "gt");
    }
    tui_app_release(&app);
}

static void a_toggle_keeps_the_second_trace(void **state)
{
    struct tui_app app;
    uint64_t peak_b;

    (void)state;
    session_open_pair(&app, session_trace("lenet", NULL), session_trace("lenet", "batch=16"), 120,
                      40);
    peak_b = app.change.run.top.allocated;
    session_type(&app, "gw:set optimizer=adam<enter>");
    session_expect(&app, "what if optimizer=adam");
    session_expect(&app, "toggles of lenet.db: optimizer=adam");
    assert_int_not_equal(app.change.run.top.allocated, peak_b);
    /* what-if, second trace, recorded run, what-if */
    session_type(&app, "D");
    assert_string_equal(app.change.name, "lenet-batch=16.db");
    assert_true(app.change.is_shown);
    assert_int_equal(tui_app_run(&app)->top.allocated, peak_b);
    session_type(&app, "D");
    assert_false(app.change.is_shown);
    session_type(&app, "D");
    session_expect(&app, "what if optimizer=adam");
    assert_true(app.change.is_shown);
    /* without toggles the two traces are compared again */
    session_type(&app, "<C-r>gd");
    assert_string_equal(app.change.name, "lenet-batch=16.db");
    assert_int_equal(app.change.run.top.allocated, peak_b);
    assert_int_equal(app.change.compare.after.peak, peak_b);
    session_expect_not(&app, "only one run");
    tui_app_release(&app);
}

static void breakpoints_and_watches_are_kept_for_the_next_session(void **state)
{
    const char *path = session_trace("lenet", NULL);
    struct tui_app app;

    (void)state;
    session_open(&app, path, 100, 30);
    session_type(&app, ":break total > 1M<enter>:watch fc1.weight<enter>:tbreak free<enter>"
                       ":break phase = backward<enter>gB<home><space>");
    assert_int_equal(rpl_breakpoints_count(app.base.breaks), 4);
    tui_app_release(&app);
    session_reopen(&app, path, 100, 30);
    assert_int_equal(rpl_breakpoints_count(app.base.breaks), 3);
    assert_false(rpl_breakpoints_at(app.base.breaks, 0)->is_on);
    assert_true(rpl_breakpoints_at(app.base.breaks, 1)->is_watch);
    assert_true(rpl_breakpoints_at(app.base.breaks, 2)->is_on);
    session_type(&app, "gB");
    session_expect(&app, "breakpoint total > 1M");
    session_expect(&app, "watch fc1.weight");
    session_expect(&app, "breakpoint phase = backward");
    session_type(&app, "<home>xxx");
    tui_app_release(&app);
    session_reopen(&app, path, 100, 30);
    assert_int_equal(rpl_breakpoints_count(app.base.breaks), 0);
    tui_app_release(&app);
}

static void escape_never_quits(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    session_type(&app, "gbgy<esc><esc><esc><esc><esc>");
    assert_int_not_equal(app.wish, TUI_WISH_QUIT);
    session_expect(&app, "q quits");
    session_type(&app, "q");
    assert_int_equal(app.wish, TUI_WISH_QUIT);
    tui_app_release(&app);
}

static void pasted_text_is_not_keys(void **state)
{
    static const char TEXT[] = "Qq\nset batch=2\003";
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    for (const char *c = TEXT; *c; c++) {
        struct tui_input input = {.key = (unsigned char)*c, .is_pasted = true};

        tui_app_input(&app, &input);
        assert_int_equal(app.wish, TUI_WISH_NOTHING);
    }
    session_expect(&app, "pasted text is not read as keys");
    session_type(&app, ":");
    for (const char *c = TEXT; *c; c++) {
        struct tui_input input = {.key = (unsigned char)*c, .is_pasted = true};

        tui_app_input(&app, &input);
    }
    session_expect(&app, ":Qq set batch=2");
    assert_false(app.change.is_run);
    tui_app_release(&app);
}

/* Adam reads and writes two more tensors a parameter: the same arithmetic in the net's ops, and more bytes. */
static void the_cost_of_a_what_if_has_the_bytes_that_ops_move(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 40);
    session_type(&app, "gwM:set optimizer=adam<enter>");
    session_expect(&app, "bytes moved per sample x");
    assert_true(app.change.moved_ratio > 1 && app.change.moved_ratio < 20);
    tui_app_release(&app);
}

/* Three times the samples need three times the arithmetic of the forward and backward: per sample nothing changes. */
static void the_cost_is_per_sample(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("gpt2_small", NULL), 140, 50);
    session_type(&app, "gwM:set batch=12 amp=bf16 checkpoint=blocks<enter>");
    session_expect(&app, "arithmetic per sample x1.23, 18.9 % recomputed");
    session_expect(&app, "most reserved 3.37 GiB");
    tui_app_release(&app);
}

static void reserved_now_and_its_most_are_two_figures(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("gpt2_small", NULL), 140, 50);
    session_type(&app, ":goto step 0<enter>");
    session_expect(&app, "now, most 3.37G");
    session_expect_not(&app, "reserved 3.37G now");
    tui_app_release(&app);
}

static void a_refusal_names_its_toggle_once(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("resnet18", NULL), 80, 24);
    session_type(&app, ":set checkpoint=segments=99<enter>");
    session_expect(&app, "\n checkpoint=segments=99: 'layer1' has only 2 children\n");
    tui_app_release(&app);
}

static void enter_opens_the_value_of_a_toggle(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("resnet18", NULL), 120, 40);
    session_type(&app, "gwjj<enter>");
    session_expect(&app, ":set checkpoint=");
    /* layer1 has two blocks */
    session_expect(&app, "segments=1\xE2\x80\xA6"
                         "2, sqrt");
    session_type(&app, "bl");
    session_expect(&app, "segments=1");
    session_type(&app, "<tab><enter>");
    session_expect(&app, "what if checkpoint=blocks");
    /* in few columns the legal values are whole */
    tui_app_resize(&app, 80, 24);
    session_type(&app, "<enter>");
    session_expect(&app, "sqrt, auto, auto:SIZE, or module paths\n");
    session_type(&app, "<esc>");
    tui_app_release(&app);
    /* a net without parts to count has no such value */
    session_open(&app, session_trace("lenet", NULL), 120, 40);
    session_type(&app, "gwjj<enter>");
    session_expect(&app, "now off; off, blocks, ");
    session_expect_not(&app, "segments=");
    session_type(&app, "seg<tab>");
    session_expect_not(&app, "segments=");
    tui_app_release(&app);
}

static void what_matters_comes_first_in_a_small_panel(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    session_type(&app, "gw");
    session_expect(&app, "] batch ");
    session_expect(&app, "] amp ");
    session_expect(&app, "] checkpoint ");
    session_expect(&app, "] drop-outputs ");
    tui_app_release(&app);
}

/* What `:set` refuses takes the place of what it refused before, and leaves no toggle of its line behind. */
static void a_refused_set_leaves_nothing_behind(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("resnet18", NULL), 100, 60);
    session_type(&app, "gwM:set inplace=layer2<enter>");
    session_expect(&app, "\n inplace=layer2: Sequential has no in-place form\n");
    session_type(&app, ":set batch=x<enter>j");
    session_expect(&app, "\n toggle `batch` cannot be `x`; legal: a count from 1\n");
    session_expect_not(&app, "Sequential has no");
    session_type(&app, ":set amp=bf16 bogus=1<enter>");
    session_expect(&app, "\n there is no toggle `bogus`; `:set <tab>` lists them\n");
    assert_int_equal(tui_change_count(&app), 0);
    session_type(&app, ":set checkpoint=blocks<enter>");
    session_expect(&app, " what if checkpoint=blocks  peak 322.6 MiB ");
    session_expect_not(&app, "bogus");
    session_type(&app, ":set amp=bf16 batch=x<enter>");
    session_expect(&app, " what if checkpoint=blocks  peak 322.6 MiB ");
    tui_app_release(&app);
}

/* They are the session's, whichever run is shown; a block has another number in each. */
static void breakpoints_set_in_a_what_if_are_kept(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 100, 40);
    session_type(
        &app,
        ":break total > 1M<enter>:set amp=bf16<enter>:watch fc1.weight<enter>W:delete 1<enter>"
        "D:break alloc size > 1M<enter>D");
    tui_app_release(&app);
    session_reopen(&app, session_trace("lenet", NULL), 100, 40);
    session_type(&app, "BM");
    session_expect(&app, "  2  breakpoint alloc size > 1M");
    session_expect(&app, "  1  watch fc1.weight");
    session_expect_not(&app, "breakpoint total");
    session_expect_not(&app, "breakpoint block");
    session_type(&app, ":delete 1<enter>:delete 2<enter>");
    tui_app_release(&app);
}

/* No toggle's name is cut in the panel. */
static void the_names_of_toggles_are_whole(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 70);
    session_type(&app, "gwM");
    for (int i = 0; i < VS_TOGGLE_COUNT; i++)
        if (!(vs_toggle_info((enum vs_toggle)i)->flags & VS_TOGGLE_PROGRAM))
            session_expect(&app, vs_toggle_info((enum vs_toggle)i)->name);
    tui_app_release(&app);
}

/* What stands beside a toggle is what its run shows once it is switched. */
static void the_effect_of_a_toggle_stands_beside_it(void **state)
{
    struct tui_app app;
    uint64_t before;
    char wanted[64];
    char buf[TUI_SHORT_MAX];

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 140, 50);
    before = app.base.top.allocated;
    session_type(&app, "gw");
    session_background(&app, 0, 0);
    tui_app_sync(&app);
    session_type(&app, "j");
    session_expect(&app, "amp                off");
    session_background(&app, 0, 0);
    session_type(&app, "<space>");
    assert_true(app.change.is_run);
    (void)tui_short_delta((int64_t)(app.change.run.top.allocated - before), buf);
    session_type(&app, "<C-r>");
    session_background(&app, 0, 0);
    snprintf(wanted, sizeof(wanted), "amp                off           %8s", buf);
    session_expect(&app, wanted);
    tui_app_release(&app);
}

static void what_helps_runs_at_once_and_shows_no_exceptions(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 140, 60);
    session_type(&app, "gWM");
    session_expect(&app, "keeps every result bit by bit");
    session_expect_not(&app, "ValueError");
    session_expect_not(&app, "lenet.py: ");
    session_expect_not(&app, "grad=no_grad");
    tui_app_release(&app);
}

/* The keys of alloc-conf, and what may stand behind each, also behind the first one. */
static void settings_of_the_allocator_are_completed(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    session_type(&app, ":set alloc-conf=<tab>");
    session_expect(&app, " default  max_split_size_mb:  ");
    session_type(&app, "expandable_segments:<tab>");
    session_expect(&app, "\n expandable_segments:True  expandable_segments:False\n");
    session_type(&app, "T<tab>,max_s<tab>");
    session_expect(&app, "\n:set alloc-conf=expandable_segments:True,max_split_size_mb:\n");
    session_type(&app, "2");
    session_expect(&app, "\n a whole number of MiB, at least 20\n");
    session_type(&app, "0<enter>");
    assert_string_equal(vs_toggles_get(&app.change.set, VS_TOGGLE_ALLOC_CONF),
                        "expandable_segments:True,max_split_size_mb:20");
    session_type(&app, ":set alloc-conf=");
    session_expect(&app, "<tab> lists the keys");
    session_type(&app, "<esc>");
    tui_app_release(&app);
}

/* At 80 columns the names of single changes are whole, and of those of several toggles no word is cut. */
static void changes_that_help_have_their_names(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("resnet18", NULL), 80, 24);
    session_type(&app, "gW");
    session_expect(&app, " = alloc-conf=expandable_segments:True ");
    session_expect(&app, " = offload=activations \xE2\x80\xA6 ");
    session_type(&app, "4j");
    session_expect(&app, "\n offload=activations alloc-conf=expandable_segments:True  ");
    tui_app_resize(&app, 120, 24);
    session_type(&app, "M");
    session_expect(&app, " = offload=activations alloc-conf=expandable_segments:True ");
    tui_app_release(&app);
}

/* A figure that does not fit into the header behind the name of the what-if is left out. */
static void no_figure_of_the_header_is_cut(void **state)
{
    struct tui_app app;
    char *screen;

    (void)state;
    session_open(&app, session_trace("resnet18", NULL), 80, 24);
    session_type(&app, ":set batch=12 amp=bf16 checkpoint=blocks<enter>");
    screen = session_screen(&app, false);
    *strstr(strchr(screen, '\n') + 1, "\n") = 0;
    if (strstr(screen, "\xE2\x80\xA6") || !strstr(screen, "  peak 192.8 MiB @7816"))
        fail_msg("%s", screen);
    free(screen);
    tui_app_resize(&app, 120, 24);
    session_expect(&app, "  peak 192.8 MiB @7816  here 192.8 MiB (100 %)");
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_toggle_leaves_the_last_run_in_force),
        cmocka_unit_test(a_refused_first_toggle_leaves_the_recorded_run),
        cmocka_unit_test(the_recorded_toggles_can_be_restored_from_every_view),
        cmocka_unit_test(a_toggle_keeps_the_second_trace),
        cmocka_unit_test(breakpoints_and_watches_are_kept_for_the_next_session),
        cmocka_unit_test(escape_never_quits),
        cmocka_unit_test(pasted_text_is_not_keys),
        cmocka_unit_test(the_cost_is_per_sample),
        cmocka_unit_test(reserved_now_and_its_most_are_two_figures),
        cmocka_unit_test(a_refusal_names_its_toggle_once),
        cmocka_unit_test(enter_opens_the_value_of_a_toggle),
        cmocka_unit_test(what_matters_comes_first_in_a_small_panel),
        cmocka_unit_test(a_refused_set_leaves_nothing_behind),
        cmocka_unit_test(breakpoints_set_in_a_what_if_are_kept),
        cmocka_unit_test(the_names_of_toggles_are_whole),
        cmocka_unit_test(the_effect_of_a_toggle_stands_beside_it),
        cmocka_unit_test(what_helps_runs_at_once_and_shows_no_exceptions),
        cmocka_unit_test(the_cost_of_a_what_if_has_the_bytes_that_ops_move),
        cmocka_unit_test(settings_of_the_allocator_are_completed),
        cmocka_unit_test(changes_that_help_have_their_names),
        cmocka_unit_test(no_figure_of_the_header_is_cut),
    };

    return cmocka_run_group_tests_name("change", tests, NULL, NULL);
}
