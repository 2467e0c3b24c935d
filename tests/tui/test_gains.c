/*
 * tests/tui/test_gains.c - only what would lower the peak is marked, the remedy stands beside it, and enter tries it;
 * likely mistakes of a program are read once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/bytes.h"
#include "tests/tui/session.h"
#include "tui/change.h"
#include "tui/gains.h"
#include "tui/names.h"

/* Blocks that are marked at the shown event. */
static size_t marked_count(struct tui_app *app)
{
    const struct tui_run *run = tui_app_run(app);
    const struct rpl_live *live = rpl_cursor_live(run->cursor);
    size_t count = 0;

    for (size_t i = 0; i < live->block_count; i++) {
        struct rpl_lifetime life = tui_block_life(run, live->blocks[i].id);

        count += tui_block_is_done(run, &live->blocks[i], &life, app->at) &&
                 tui_gain_of(run, &live->blocks[i]);
    }
    return count;
}

/*
 * GPT-2's peak is in the backward of log_softmax: the saved result and the gradient that the op reads die within it,
 * so freeing them does not help; the logits, which only the loop's variable holds, can go.
 */
static void what_dies_within_the_running_op_is_not_marked(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("gpt2_small", NULL), 110, 30);
    session_type(&app, "gbM");
    session_expect(&app, "output  `del output` before backward: -196.3 MiB");
    assert_int_equal(marked_count(&app), 1);
    tui_app_release(&app);
}

static void by_how_much_the_peak_falls_is_not_cut(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("gpt2_small", NULL), 80, 24);
    session_type(&app, "gb");
    session_expect(&app, " A   196M output  `del output` before backward: -196.3 MiB ");
    /* the small pane below has it, too, and enter tries it */
    session_type(&app, "<space>");
    session_expect(&app, " remedy    `del output` before backward: -196.3 MiB; enter tries it\n");
    session_type(&app, "gb<enter>");
    session_expect(&app, " what if drop-outputs=early  peak 2.94 GiB ");
    tui_app_release(&app);
}

static void enter_on_the_remedy_of_the_peak_page_runs_it(void **state)
{
    struct tui_app app;
    uint64_t before;

    (void)state;
    session_open(&app, session_trace("gpt2_small", NULL), 110, 50);
    before = app.base.top.allocated;
    session_type(&app, "gkM");
    session_expect(&app, "`del output` before backward: -196.3 MiB; enter tries it");
    session_type(&app, "/before backward<enter><enter>");
    assert_true(app.change.is_run && app.change.is_shown);
    session_expect(&app, "what if drop-outputs=early");
    /* what was predicted is what the run shows */
    assert_int_equal(before - app.change.run.top.allocated, UINT64_C(1024) * 50257 * 4);
    tui_app_release(&app);
}

static void a_line_of_the_net_is_tried_and_undone_like_a_toggle(void **state)
{
    struct tui_app app;
    const struct tui_gains *gains;
    uint64_t before;
    uint64_t gain;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 110, 30);
    before = app.base.top.allocated;
    gains = tui_gains_get(&app);
    assert_string_equal(gains->items[0].remedy.text, "`del x1` after line 20");
    gain = gains->items[0].kept.gain;
    session_type(&app, "gbgy/remedy<enter><enter>");
    session_expect(&app, "what if `del x1` after line 20");
    /* the peak is then elsewhere, so it falls by less than without all that x1 stands for */
    assert_in_range(tui_app_run(&app)->top.allocated, before - gain, before - 1);
    assert_non_null(strstr(rpl_trace_source_text(tui_app_run(&app)->trace), "del x1"));
    /* a toggle is added to it, and a refused one leaves it in force */
    session_type(&app, ":set optimizer=adam<enter>");
    session_expect(&app, "what if optimizer=adam `del x1` after line 20");
    session_type(&app, ":set checkpoint=nothing<enter>");
    assert_true(app.is_bad);
    assert_int_equal(app.change.edits.count, 1);
    assert_true(app.change.is_run && app.change.is_shown);
    session_type(&app, "<C-r>");
    assert_int_equal(tui_change_count(&app), 0);
    assert_false(app.change.is_run);
    assert_int_equal(tui_app_run(&app)->top.allocated, before);
    tui_app_release(&app);
}

static void a_second_line_is_added_to_the_first(void **state)
{
    struct vs_toggles none = {{NULL}};
    struct wif_edits second = {NULL, 0, 0};
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 110, 30);
    tui_gain_try(&app, &tui_gains_get(&app)->items[0]);
    wif_edits_add(&second, 22, false, "        del x3");
    tui_change_remedy(&app, &none, &second);
    session_expect(&app, "what if `del x1` after line 20, `del x3` after line 22");
    assert_int_equal(app.change.edits.count, 2);
    /* a line that cannot run leaves both */
    wif_edits_add(&second, 24, false, "        del x9");
    tui_change_remedy(&app, &none, &second);
    assert_true(app.is_bad);
    assert_int_equal(app.change.edits.count, 2);
    assert_true(app.change.is_run && app.change.is_shown);
    wif_edits_release(&second);
    tui_app_release(&app);
}

/* ---- likely mistakes ---- */

static unsigned polls;
static bool is_stopped;

static bool poll(void)
{
    polls++;
    return is_stopped;
}

/* A recording that says of itself that it is of a program that was observed. */
static const char *program_trace(void)
{
    const char *path = session_trace("variables", "optimizer=adam");
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "INSERT OR REPLACE INTO meta VALUES ('source_kind', 'imported'), "
                                  "('observed', '9'), ('observed_of', '9'), ('observed_between', "
                                  "'1')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return path;
}

/* The watch of a trace polls the keyboard for each RPL_SCAN_EVENTS events that are read. */
static void the_events_of_a_program_are_read_once(void **state)
{
    struct tui_app app;
    uint64_t reads;

    (void)state;
    session_open(&app, program_trace(), 110, 40);
    reads = (app.base.events + RPL_SCAN_EVENTS - 1) / RPL_SCAN_EVENTS;
    is_stopped = false;
    polls = 0;
    app.wants_stop = poll;
    session_type(&app, "gkM");
    assert_int_equal(polls, reads);
    tui_app_resize(&app, 80, 40);
    session_expect(&app, "What fills the peak");
    assert_int_equal(polls, reads);
    tui_app_release(&app);
}

static void reading_what_a_program_did_can_be_stopped_and_tried_again(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, program_trace(), 110, 40);
    is_stopped = true;
    app.wants_stop = poll;
    session_type(&app, "gkM");
    session_expect(&app, "Likely mistakes: stopped; <C-r> tries again");
    session_expect(&app, "What fills the peak");
    is_stopped = false;
    session_type(&app, "<C-r>");
    session_expect_not(&app, "stopped; <C-r> tries again");
    session_expect(&app, "What fills the peak");
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_dies_within_the_running_op_is_not_marked),
        cmocka_unit_test(by_how_much_the_peak_falls_is_not_cut),
        cmocka_unit_test(enter_on_the_remedy_of_the_peak_page_runs_it),
        cmocka_unit_test(a_line_of_the_net_is_tried_and_undone_like_a_toggle),
        cmocka_unit_test(a_second_line_is_added_to_the_first),
        cmocka_unit_test(the_events_of_a_program_are_read_once),
        cmocka_unit_test(reading_what_a_program_did_can_be_stopped_and_tried_again),
    };

    return cmocka_run_group_tests_name("gains", tests, NULL, NULL);
}
