/*
 * tests/tui/test_app.c - what a session shows of a run, of its what-ifs, and of a second run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "replay/inspect/block_text.h"
#include "replay/report/report.h"
#include "tests/e2e/program.h"
#include "tests/tui/session.h"
#include "whatif/whatif.h"

static void report_of(const char *path, struct rpl_trace **trace, struct rpl_report *report)
{
    struct vs_error err = VS_ERROR_INIT;

    memset(report, 0, sizeof(*report));
    if (rpl_trace_open(path, trace, &err) || rpl_report_fill(report, *trace, 10, &err))
        fail_msg("%s", err.text);
}

static void figures_on_the_screen_are_those_of_the_report(void **state)
{
    const char *path = session_trace("lenet", NULL);
    struct rpl_trace *trace;
    struct rpl_report report;
    struct tui_app app;
    char buf[VS_BYTES_TEXT_MAX];
    char text[128];

    (void)state;
    report_of(path, &trace, &report);
    session_open(&app, path, 120, 60);
    session_type(&app, "gkM");
    session_expect(&app, vs_bytes_exact_text(report.sum.peak.allocated, buf));
    snprintf(text, sizeof(text), "peak %s @%llu", vs_bytes_text(report.sum.peak.allocated, buf),
             (unsigned long long)report.sum.peak.event);
    session_expect(&app, text);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
        if (!report.by_category[i])
            continue;
        snprintf(text, sizeof(text), "%-11s%11s", vs_category_name((enum vs_category)i),
                 vs_bytes_text(report.by_category[i], buf));
        session_expect(&app, text);
    }
    for (size_t i = 0; i < report.largest_count; i++) {
        struct vs_text name = {NULL, 0, 0};

        rpl_block_text(trace, &report.largest[i].block, report.largest[i].name, &name);
        session_expect(&app, vs_text_get(&name));
        vs_text_release(&name);
    }
    tui_app_release(&app);
    rpl_report_release(&report);
    rpl_trace_free(trace);
}

/* The net keeps the losses themselves: what each step leaves behind is on the page, as the report has it. */
static void a_leak_is_on_the_peak_page(void **state)
{
    const char *path = program_record("tests/nets/leak_loss.py", "leak.db", NULL, NULL);
    struct rpl_trace *trace;
    struct rpl_report report;
    struct tui_app app;
    char buf[VS_BYTES_TEXT_MAX];
    char text[64];

    (void)state;
    report_of(path, &trace, &report);
    assert_true(report.leak.count > 0);
    session_open(&app, path, 120, 60);
    session_type(&app, "gkM");
    snprintf(text, sizeof(text), "Leak: %s per step",
             vs_bytes_text(report.leak.bytes / report.leak.steps, buf));
    session_expect(&app, text);
    tui_app_release(&app);
    rpl_report_release(&report);
    rpl_trace_free(trace);
    session_open(&app, session_trace("lenet", NULL), 120, 60);
    session_type(&app, "gkM");
    session_expect_not(&app, "Leak:");
    tui_app_release(&app);
}

/* Where PyTorch depends on values the page says so in the report's words; without, it does not. */
static void the_peak_page_reports_dependence_on_values(void **state)
{
    const char *path = program_record("tests/nets/ops/prod.py", "prod.db", NULL, NULL);
    struct tui_app app;

    (void)state;
    session_open(&app, path, 120, 60);
    session_type(&app, "gkM");
    session_expect(&app, "depends on values: ProdBackward1: where a factor is zero");
    tui_app_release(&app);
    session_open(&app, session_trace("lenet", NULL), 120, 60);
    session_type(&app, "gkM");
    session_expect_not(&app, "goes by values");
    tui_app_release(&app);
}

static void a_what_if_shows_the_peak_that_recording_again_has(void **state)
{
    static const char *const TOGGLES[] = {"checkpoint=blocks", "inplace=on", "amp=bf16",
                                          "optimizer=adam"};

    (void)state;
    for (size_t i = 0; i < sizeof(TOGGLES) / sizeof(TOGGLES[0]); i++) {
        const char *path = session_trace("variables", TOGGLES[i]);
        struct rpl_trace *trace;
        struct rpl_report report;
        struct tui_app app;
        char buf[VS_BYTES_TEXT_MAX];
        char text[128];

        report_of(path, &trace, &report);
        session_open(&app, session_trace("variables", NULL), 120, 40);
        snprintf(text, sizeof(text), ":set %s<enter>", TOGGLES[i]);
        session_type(&app, text);
        assert_true(app.change.is_shown);
        assert_int_equal(tui_app_run(&app)->top.allocated, report.sum.peak.allocated);
        assert_int_equal(tui_app_run(&app)->top.event, report.sum.peak.event);
        snprintf(text, sizeof(text), "peak %s @%llu", vs_bytes_text(report.sum.peak.allocated, buf),
                 (unsigned long long)report.sum.peak.event);
        session_expect(&app, text);
        /* and back again, as it was */
        session_type(&app, "gw<C-r>");
        assert_false(app.change.is_shown);
        tui_app_release(&app);
        rpl_report_release(&report);
        rpl_trace_free(trace);
    }
}

static void a_second_trace_is_the_other_run_until_a_toggle_is_switched(void **state)
{
    const char *a = session_trace("variables", NULL);
    const char *b = session_trace("variables", "inplace=on");
    struct tui_app app;
    uint64_t peaks[2];

    (void)state;
    session_open_pair(&app, a, b, 120, 40);
    session_type(&app, "gtM");
    session_expect(&app, "line: variables-inplace=on.db");
    peaks[0] = tui_app_run(&app)->top.allocated;
    session_type(&app, "D");
    session_expect(&app, "line: variables.db");
    peaks[1] = tui_app_run(&app)->top.allocated;
    assert_true(peaks[0] != peaks[1]);
    session_type(&app, "D");
    assert_int_equal(tui_app_run(&app)->top.allocated, peaks[0]);
    /* the what-if takes its place, and is the same run */
    session_type(&app, ":set inplace=on<enter>");
    session_expect(&app, "what if inplace=on");
    assert_int_equal(tui_app_run(&app)->top.allocated, peaks[1]);
    tui_app_release(&app);
}

static void a_new_user_finds_the_line_that_holds_most_within_ten_keys(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 80, 24);
    /* it opens at the peak, with the source below it, in a pane of seven rows: the bytes of each line precede it */
    session_expect(&app, "bytes by line, most in line 19");
    session_expect(&app, " 17.0M   19          x1 = self.conv1(x0)");
    session_expect(&app, "2.0K   25");
    session_type(&app, "gcM");
    session_expect(&app, " 17.0M   19 ");
    tui_app_release(&app);
}

struct heard {
    uint64_t calls;
    uint64_t done;
    uint64_t total;
    uint64_t most; /* stop after so many; 0: never */
};

static bool hear(void *user, uint64_t done, uint64_t total)
{
    struct heard *heard = user;

    assert_true(done >= heard->done && done <= total);
    heard->calls++;
    heard->done = done;
    heard->total = total;
    return heard->calls != heard->most;
}

/* A long what-if and the reading of a trace without an index tell how far they are, and can be stopped. */
static void long_operations_show_their_progress(void **state)
{
    const char *path = session_trace("lenet", NULL);
    struct rpl_trace *out = rpl_trace_new();
    struct tui_app *app = calloc(1, sizeof(*app));
    struct vs_error err = VS_ERROR_INIT;
    struct heard heard = {0};

    (void)state;
    assert_non_null(app);
    sql_run(path, "delete from derived");
    app->opening = hear;
    app->opening_user = &heard;
    assert_int_equal(tui_app_open(app, path, &err), VS_OK);
    assert_true(heard.calls > 0);
    assert_int_equal(heard.total, app->base.events);
    heard = (struct heard){0};
    assert_int_equal(
        wif_run_observed(app->base.trace, &app->change.set, 0, hear, &heard, out, &err), VS_OK);
    assert_true(heard.calls > 6);
    assert_int_equal(heard.done, heard.total);
    heard = (struct heard){.most = 3};
    assert_int_equal(
        wif_run_observed(app->base.trace, &app->change.set, 0, hear, &heard, out, &err),
        VS_E_STOPPED);
    assert_int_equal(heard.calls, 3);
    rpl_trace_free(out);
    tui_app_release(app);
    free(app);
}

static void every_action_is_handled_by_a_view_or_the_session(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 160, 48);
    for (int i = 0; i < TUI_ACTION_COUNT; i++) {
        const struct tui_action_info *info = tui_action_info((enum tui_action)i);
        bool is_done = false;

        for (size_t v = 0; tui_view_at(v); v++) {
            struct tui_command command = {(enum tui_action)i, 1, false, 'a'};

            if (!(info->scope & tui_view_at(v)->scope))
                continue;
            tui_app_view_at(&app, (int)v);
            tui_app_sync(&app);
            vs_text_clear(&app.message);
            app.prompt.kind = 0;
            tui_app_act(&app, &command);
            tui_app_sync(&app);
            is_done |= !strstr(vs_text_get(&app.message), "has no meaning");
        }
        if (!is_done)
            fail_msg("nobody does `%s` (%s)", info->name, info->keys);
    }
    tui_app_release(&app);
}

/* A user who opens a run that ran out of memory asks why, and then whether a change makes it fit. */
static void the_screen_begins_with_an_out_of_memory_error(void **state)
{
    const char *path = program_path("oom2.db");
    struct program p = program_run("record", "sample_nets/resnet18.py", "--device", "meta",
                                   "--batch", "64", "--capacity", "1G", "-o", path, NULL);
    struct tui_app app;

    (void)state;
    program_release(&p);
    session_open(&app, path, 80, 24);
    assert_int_equal(app.at, sql_int(path, "select seq from event where kind = 'oom'"));
    session_expect(&app, "OUT OF MEMORY @");
    session_expect(&app, "49.0 MiB refused");
    session_expect(&app, "gk shows what fills the device");
    session_type(&app, "gk");
    session_expect(&app, "too little");
    session_type(&app, ":set batch=16<enter>gwM");
    session_expect(&app, "it fits: memory no longer runs out");
    session_expect_not(&app, "OUT OF MEMORY");
    assert_int_equal(app.at, tui_app_run(&app)->top.event);
    session_type(&app, ":set batch=128<enter>");
    session_expect(&app, "memory still runs out");
    session_expect(&app, "OUT OF MEMORY");
    tui_app_release(&app);
}

/* Where an op takes what only the device knows, the panel says so with the report's words; without, it does not. */
static void a_what_if_says_that_its_peak_is_a_lower_bound(void **state)
{
    const char *path = session_trace("lenet", NULL);
    struct tui_app app;

    (void)state;
    session_open(&app, path, 80, 70);
    session_type(&app, "gwM:set target=h100<enter>");
    session_expect(&app, "lower bound 35.5 MiB");
    session_expect(&app, "lower bound: cuDNN's workspace in ConvolutionBackward0 of line 24");
    session_type(&app, ":set target=none<enter>:set batch=4<enter>");
    session_expect(&app, "peak ");
    session_expect_not(&app, "lower bound");
    tui_app_release(&app);
}

/* A figure that does not fit beside the cost is shown completely on the next line. */
static void a_narrow_pane_shows_the_whole_cost(void **state)
{
    const char *path = session_trace("lenet", NULL);
    struct tui_app app;

    (void)state;
    session_open(&app, path, 60, 70);
    session_type(&app, "gwM:set checkpoint=blocks<enter>");
    session_expect(&app, "% recomputed");
    session_expect(&app, "\n         most reserved 24.0 MiB");
    session_type(&app, ":set checkpoint=off<enter>");
    tui_app_release(&app);
    session_open(&app, path, 100, 70);
    session_type(&app, "gwM:set checkpoint=blocks<enter>");
    session_expect(&app, "% recomputed   most reserved 24.0 MiB");
    tui_app_release(&app);
}

/* Cells from the beginning of `name` to that of `figure` behind it, in the first row that has both. */
static int cells_between(const char *screen, const char *name, const char *figure)
{
    for (const char *at = strstr(screen, name); at; at = strstr(at + 1, name)) {
        const char *end = at + strcspn(at, "\n");
        const char *found = strstr(at, figure);

        if (found && found < end) {
            char *text = vs_strndup(at, (size_t)(found - at));
            int cells = tui_text_width(text);

            vs_free(text);
            return cells;
        }
    }
    return -1;
}

/* On a wide screen a figure stands where the eye finds the name that it belongs to. */
static void figures_stand_near_their_names_on_a_wide_screen(void **state)
{
    static const struct {
        const char *keys;
        const char *name;
        const char *figure;
    } TABLES[] = {{"gmM", "layer2", "57.1M"},
                  {"goM", "ReluBackward0", "-1.5M"},
                  {"gbM", "maxpool _max_pool2d_with_indices", "f32[16, 64, 56, 56]"},
                  {"grM", "318M", "autograd"}};
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("resnet18", NULL), 200, 50);
    for (size_t i = 0; i < sizeof(TABLES) / sizeof(TABLES[0]); i++) {
        char *screen;
        int cells;

        session_type(&app, TABLES[i].keys);
        screen = session_screen(&app, false);
        cells = cells_between(screen, TABLES[i].name, TABLES[i].figure);
        if (cells < 0 || cells > 75)
            fail_msg("%s: %s stands %d cells from %s in\n%s", TABLES[i].keys, TABLES[i].figure,
                     cells, TABLES[i].name, screen);
        vs_free(screen);
        session_type(&app, "M");
    }
    tui_app_release(&app);
}

/* A figure that is cut reads as another one: what does not fit into the header and the answer is left out. */
static void no_figure_of_a_whatif_is_cut(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("resnet18", NULL), 80, 24);
    session_type(&app, "gwM:set checkpoint=blocks amp=bf16<enter>");
    session_expect(&app,
                   "  what if amp=bf16 checkpoint=blocks  peak 226.7 MiB @7817  here 226.7 MiB\n");
    session_expect(&app, "\n of that S saved -220M  G gradient +15.7M  A activation +12.2M\n");
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_on_the_screen_are_those_of_the_report),
        cmocka_unit_test(a_leak_is_on_the_peak_page),
        cmocka_unit_test(the_peak_page_reports_dependence_on_values),
        cmocka_unit_test(a_what_if_shows_the_peak_that_recording_again_has),
        cmocka_unit_test(a_second_trace_is_the_other_run_until_a_toggle_is_switched),
        cmocka_unit_test(a_new_user_finds_the_line_that_holds_most_within_ten_keys),
        cmocka_unit_test(long_operations_show_their_progress),
        cmocka_unit_test(every_action_is_handled_by_a_view_or_the_session),
        cmocka_unit_test(the_screen_begins_with_an_out_of_memory_error),
        cmocka_unit_test(a_what_if_says_that_its_peak_is_a_lower_bound),
        cmocka_unit_test(a_narrow_pane_shows_the_whole_cost),
        cmocka_unit_test(figures_stand_near_their_names_on_a_wide_screen),
        cmocka_unit_test(no_figure_of_a_whatif_is_cut),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}
