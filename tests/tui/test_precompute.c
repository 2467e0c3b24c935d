/*
 * tests/tui/test_precompute.c - precomputed what-ifs do not change the screen, come to an end, stop for a key, and are
 * not run twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/program.h"
#include "tests/tui/session.h"
#include "tui/change.h"
#include "whatif/cache.h"
#include "whatif/whatif.h"

static uint64_t runs(struct tui_app *app)
{
    return wif_cache_runs(tui_change_cache(app));
}

/*
 * The column of effects shows what has been run so far, and is the only part of the screen that may differ: it is
 * blanked in the rows of toggles, " [ ] name            value           EFFECT". A long name moves what follows it, and
 * behind the effect may be nothing: blanks at the end of a line do not count.
 */
static void effects_blank(char *screen)
{
    enum { NAME = 5, NAME_W = 18, FROM = 37, TO = 46 };
    char *to = screen;

    for (char *line = screen; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char *row = strstr(line, " [");
        size_t len = strcspn(line, "\n");
        int moved;

        if (!row || row >= line + len || !strchr(" x*", row[2]) || row[3] != ']')
            continue;
        moved = (int)strcspn(row + NAME, " \n") - NAME_W;
        if (moved < 0)
            moved = 0;
        /* one byte a cell but for a cut name's sign, whose first byte counts */
        for (int cell = 0; row < line + len; row++) {
            bool is_first = (*row & 0xC0) != 0x80;

            if (is_first && cell >= FROM + moved && cell < TO + moved)
                *row = ' ';
            cell += is_first;
        }
    }
    for (const char *from = screen; *from; from++) {
        while (*from == '\n' && to > screen && to[-1] == ' ')
            to--;
        *to++ = *from;
    }
    *to = '\0';
}

static void assert_same_screen(struct tui_app *a, struct tui_app *b, const char *after)
{
    char *x = session_screen(a, false);
    char *y = session_screen(b, false);

    effects_blank(x);
    effects_blank(y);
    for (size_t i = 0; x[i] || y[i]; i++) {
        if (x[i] == y[i])
            continue;
        while (i && x[i - 1] != '\n')
            i--;
        fail_msg("after `%s` the screen is\n%.160s\nand without what was made ahead\n%.160s", after,
                 x + i, y + i);
    }
    free(x);
    free(y);
}

/*
 * Type the keys of `keys` one by one, with nothing precomputed in one session and a part of it, or all, in the other.
 */
static void assert_no_difference(const char *path, int w, int h, const char *keys)
{
    struct tui_app with;
    struct tui_app without;
    const char *at = keys;
    uint64_t n = 0;

    session_open(&with, path, w, h);
    session_open(&without, path, w, h);
    while (*at) {
        struct tui_input input = {.key = tui_key_parse(&at)};

        /* stopped early, late, or not at all */
        session_background(&with, ++n * 37 % 200, input.key);
        tui_app_input(&with, &input);
        tui_app_sync(&with);
        tui_app_input(&without, &input);
        tui_app_sync(&without);
        assert_same_screen(&with, &without, keys);
    }
    assert_true(runs(&with) > runs(&without));
    tui_app_release(&with);
    tui_app_release(&without);
}

static void precomputed_runs_do_not_change_the_screen(void **state)
{
    static const char KEYS[] = "gw <space>j<space>jl<space>hGk<space><space>D<space>D5klhl<C-r>"
                               "gtsss]gw jjl jl gkgwk gd<space>gDq:set batch=13<enter>gw<C-r>";

    (void)state;
    assert_no_difference(session_trace("lenet", NULL), 80, 24, KEYS);
    assert_no_difference(session_trace("lenet", NULL), 160, 48, KEYS);
    assert_no_difference(session_trace("variables", "checkpoint=blocks"), 120, 40, KEYS);
}

static void precomputation_ends_and_later_what_ifs_need_no_run(void **state)
{
    struct tui_app app;
    uint64_t made;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    session_background(&app, 0, 0);
    made = runs(&app);
    session_type(&app, "gw"); /* the panel finds them there */
    session_background(&app, 0, 0);
    assert_int_equal(runs(&app), made);
    assert_true(made > VS_TOGGLE_COUNT);
    assert_false(tui_app_background(&app));
    assert_int_equal(runs(&app), made);
    /* there, back and on to the next row: all of it is known */
    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        session_type(&app, "l");
        assert_int_equal(runs(&app), made);
        session_type(&app, "<C-r>h");
        assert_int_equal(runs(&app), made);
        session_type(&app, "<C-r>j");
    }
    assert_false(tui_app_background(&app)); /* the last row again, from which everything is known */
    assert_int_equal(runs(&app), made);
    assert_true(wif_cache_bytes(tui_change_cache(&app)) <= TUI_WHATIF_CACHE_BYTES);
    tui_app_release(&app);
}

/* Where the cache is full, the figures of each what-if are kept all the same. */
static void a_full_cache_still_has_the_figures_of_all(void **state)
{
    struct tui_app app;
    uint64_t made;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    session_background(&app, 0, 0);
    made = runs(&app);
    tui_app_release(&app);
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    while (runs(&app) < 4)
        assert_true(tui_app_background(&app));
    app.precompute.bytes = TUI_WHATIF_CACHE_BYTES;
    session_background(&app, 0, 0);
    assert_int_equal(runs(&app), made);
    session_type(&app, "gwG");
    /* a complete run is made only when it is asked for */
    session_type(&app, "h<C-r>");
    assert_int_equal(runs(&app), made + 1);
    tui_app_release(&app);
}

/* Precomputation can be disabled; with two traces it needs the open panel. */
static void nothing_is_precomputed_when_it_is_disabled(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    app.is_lazy = true;
    session_background(&app, 0, 0);
    session_type(&app, "gw");
    session_background(&app, 0, 0);
    assert_int_equal(runs(&app), 0);
    session_type(&app, "l");
    session_background(&app, 0, 0);
    assert_int_equal(runs(&app), 1);
    tui_app_release(&app);
    session_open_pair(&app, session_trace("lenet", NULL), session_trace("lenet", "inplace=on"), 80,
                      24);
    session_background(&app, 0, 0);
    assert_int_equal(runs(&app), 0);
    session_type(&app, "gw");
    session_background(&app, 0, 0);
    assert_true(runs(&app) > VS_TOGGLE_COUNT);
    tui_app_release(&app);
}

static void a_precomputed_what_if_equals_a_fresh_run(void **state)
{
    struct tui_app app;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    session_type(&app, "gw");
    session_background(&app, 0, 0);
    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        struct rpl_trace *fresh = rpl_trace_new();
        struct rpl_index *index = NULL;

        session_type(&app, "l");
        if (app.change.is_run) {
            assert_int_equal(wif_run(app.base.trace, &app.change.set, fresh, &err), VS_OK);
            assert_int_equal(rpl_index_open(fresh, NULL, NULL, &index, &err), VS_OK);
            assert_int_equal(app.change.run.events, rpl_trace_event_count(fresh));
            assert_int_equal(app.change.run.top.allocated, rpl_index_top(index).allocated);
            assert_int_equal(app.at, rpl_index_top(index).event);
            assert_int_equal(rpl_cursor_live(app.change.run.cursor)->allocated,
                             app.change.run.top.allocated);
        }
        rpl_index_free(index);
        rpl_trace_free(fresh);
        session_type(&app, "<C-r>j");
    }
    tui_app_release(&app);
}

/*
 * Makes the first flip from the top row again and again, with `key` typed in its midst at every look, and says how
 * many runs the flip then takes.
 */
static void flip_in_its_midst(uint32_t key, const char *keys, uint64_t more)
{
    uint64_t found_at = 1;
    bool is_midst = true;

    while (is_midst) {
        struct tui_app app;
        uint64_t before;

        session_open(&app, session_trace("lenet", NULL), 80, 24);
        session_type(&app, "gw5j"); /* the row of a toggle that both keys change */
        session_background(&app, ++found_at, key);
        before = runs(&app);
        is_midst = before < 2;
        session_type(&app, keys);
        assert_true(app.change.is_shown);
        if (before == 1)
            assert_in_range(runs(&app), before, before + more);
        tui_app_release(&app);
        found_at += found_at / 8;
    }
    assert_true(found_at > 8);
}

static void a_key_that_needs_the_running_what_if_waits_for_it(void **state)
{
    (void)state;
    flip_in_its_midst(' ', " ", 0);
    flip_in_its_midst('l', "l", 0);
    /* another key stops it; its own flip is then run */
    flip_in_its_midst('j', "jl", 1);
}

static void nothing_is_precomputed_for_a_recording_in_progress(void **state)
{
    const char *path = session_trace("variables", "steps=2");
    struct tui_app app;

    (void)state;
    session_open(&app, path, 80, 24);
    app.is_following = true;
    session_type(&app, "gw");
    session_background(&app, 0, 0);
    assert_true(runs(&app) > 0); /* it is complete */
    tui_app_release(&app);
    sql_run(path, "delete from meta where key = 'complete'");
    session_open(&app, path, 80, 24);
    assert_false(rpl_trace_is_complete(app.base.trace));
    app.is_following = true;
    session_type(&app, "gw");
    session_background(&app, 0, 0);
    assert_int_equal(runs(&app), 0);
    tui_app_release(&app);
}

static void the_sweep_view_and_the_toggle_panel_share_their_runs(void **state)
{
    struct tui_app app;
    uint64_t made;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 160, 48);
    session_type(&app, "gW");
    made = runs(&app);
    assert_true(made > 10);
    session_type(&app, "<enter>");
    assert_int_equal(runs(&app), made);
    session_type(&app, "gW<space>");
    assert_int_equal(runs(&app), made);
    session_type(&app, ":set inplace=on<enter>:set amp=bf16<enter>:set amp=off<enter>");
    assert_in_range(runs(&app), made, made + 2);
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precomputed_runs_do_not_change_the_screen),
        cmocka_unit_test(precomputation_ends_and_later_what_ifs_need_no_run),
        cmocka_unit_test(a_full_cache_still_has_the_figures_of_all),
        cmocka_unit_test(nothing_is_precomputed_when_it_is_disabled),
        cmocka_unit_test(a_precomputed_what_if_equals_a_fresh_run),
        cmocka_unit_test(a_key_that_needs_the_running_what_if_waits_for_it),
        cmocka_unit_test(the_sweep_view_and_the_toggle_panel_share_their_runs),
        cmocka_unit_test(nothing_is_precomputed_for_a_recording_in_progress),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}
