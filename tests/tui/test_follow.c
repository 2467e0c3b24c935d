/*
 * tests/tui/test_follow.c - a recording that is watched while it is written: the screen stays at its end until the user
 * goes elsewhere, and what was read of it is kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/writer.h"
#include "tests/e2e/program.h"
#include "tests/tui/session.h"

#define STEP_EVENTS 200

/* A recording in progress: `steps` of them so far, next_block the next block to be allocated. */
struct growing {
    struct sto_writer *w;
    uint64_t steps;
    uint64_t next_block;
};

static void emit(struct growing *g, const struct vs_event *event)
{
    struct vs_error err = VS_ERROR_INIT;

    if (sto_writer_events(g->w, event, 1, &err))
        fail_msg("%s", err.text);
}

/* A step of STEP_EVENTS events, each second one the free of the block before; the last block stays. */
static void step_add(struct growing *g)
{
    struct vs_event event = {.kind = VS_EV_STEP, .step = {.number_plus_one = g->steps + 1}};

    emit(g, &event);
    for (int i = 1; i < STEP_EVENTS; i++) {
        uint64_t block = i % 2 ? g->next_block++ : g->next_block - 1;

        event = (struct vs_event){.kind = i % 2 ? VS_EV_ALLOC : VS_EV_FREE,
                                  .alloc = {.block = block,
                                            .requested_bytes = 1024,
                                            .block_bytes = 1024,
                                            .address = block << 20,
                                            .category = VS_CAT_ACTIVATION}};
        emit(g, &event);
    }
    g->steps++;
}

static void grow(struct growing *g, uint64_t steps)
{
    struct vs_error err = VS_ERROR_INIT;

    while (g->steps < steps)
        step_add(g);
    if (sto_writer_commit(g->w, &err))
        fail_msg("%s", err.text);
}

static void begin(struct growing *g, struct tui_app *app, const char *path, uint64_t steps)
{
    struct vs_error err = VS_ERROR_INIT;

    *g = (struct growing){.next_block = 1};
    unlink(path);
    if (sto_writer_open(path, NULL, &g->w, &err))
        fail_msg("%s", err.text);
    grow(g, steps);
    session_open(app, path, 80, 24);
    app->is_following = true;
    session_type(app, "G");
}

static void end(struct growing *g, struct tui_app *app)
{
    struct vs_error err = VS_ERROR_INIT;

    tui_app_release(app);
    assert_int_equal(sto_writer_close(g->w, true, &err), VS_OK);
}

static void the_end_is_shown_until_the_user_goes_elsewhere(void **state)
{
    char *path = strdup(program_path("follow.db"));
    struct growing g;
    struct tui_app app;

    (void)state;
    begin(&g, &app, path, 10);
    for (uint64_t steps = 20; steps <= 60; steps += 20) {
        grow(&g, steps);
        assert_true(tui_app_refresh(&app));
        assert_int_equal(app.at, steps * STEP_EVENTS);
        assert_int_equal(app.window.last, steps * STEP_EVENTS);
        session_expect(&app, "  rec");
    }
    /* one event back is elsewhere */
    session_type(&app, "I");
    grow(&g, 80);
    assert_true(tui_app_refresh(&app));
    assert_int_equal(app.at, 60 * STEP_EVENTS - 1);
    /* and the end is where it was */
    session_type(&app, "G");
    grow(&g, 100);
    assert_true(tui_app_refresh(&app));
    assert_int_equal(app.at, 100 * STEP_EVENTS);
    end(&g, &app);
    free(path);
}

/* A window that is smaller than the run moves along, and stays as wide as it was. */
static void a_small_window_moves_along_with_the_end(void **state)
{
    char *path = strdup(program_path("window.db"));
    struct growing g;
    struct tui_app app;
    uint64_t width;

    (void)state;
    begin(&g, &app, path, 50);
    session_type(&app, "++++");
    width = app.window.last - app.window.first;
    assert_true(width < 2 * 50 * STEP_EVENTS / 16);
    grow(&g, 90);
    assert_true(tui_app_refresh(&app));
    assert_int_equal(app.window.last, 90 * STEP_EVENTS);
    assert_int_equal(app.window.last - app.window.first, width);
    end(&g, &app);
    free(path);
}

static void four_hundred_steps_can_be_read_while_they_are_recorded(void **state)
{
    char *path = strdup(program_path("steps.db"));
    struct growing g;
    struct tui_app app;
    size_t pieces = 0;

    (void)state;
    begin(&g, &app, path, 396);
    session_expect(&app, "396 steps; = shows one and its phases");
    session_type(&app, "gSM");
    session_expect(&app, "each keeps 1.0 KiB");
    grow(&g, 400);
    assert_true(tui_app_refresh(&app));
    tui_app_sync(&app);
    /* the steps that were complete are not read again: a piece each for what is new, and the curves */
    while (tui_app_read_on(&app))
        pieces++;
    assert_in_range(pieces, 1, 410);
    session_expect(&app, "   399 ");
    session_type(&app, "gtM");
    session_expect(&app, "400 steps; = shows one and its phases");
    session_expect(&app, "80000/80000");
    end(&g, &app);
    free(path);
}

/* With a last event, or without one. */
static void the_end_of_the_recording_is_seen(void **state)
{
    (void)state;
    for (uint64_t more = 0; more < 2; more++) {
        char *path = strdup(program_path("ends.db"));
        struct vs_error err = VS_ERROR_INIT;
        struct growing g;
        struct tui_app app;

        begin(&g, &app, path, 5);
        session_expect(&app, "  rec");
        assert_false(tui_app_refresh(&app));
        if (more)
            step_add(&g);
        assert_int_equal(sto_writer_close(g.w, true, &err), VS_OK);
        assert_true(tui_app_refresh(&app));
        assert_false(app.is_following);
        session_expect_not(&app, "  rec");
        session_expect_not(&app, "cut off");
        session_expect(&app, more ? "1200/1200" : "1000/1000");
        tui_app_release(&app);
        free(path);
    }
}

/* Where there is not space for all of it, what the run is becomes shorter, and the phase stays whole. */
static void the_phase_is_whole_beside_a_recording(void **state)
{
    char *path = strdup(program_path("phase_of_a_recording.db"));
    struct program p =
        program_run("record", "sample_nets/lenet.py", "--device", "meta", "-o", path, NULL);
    struct tui_app app;
    sqlite3 *db = NULL;

    (void)state;
    assert_int_equal(p.status, 0);
    program_release(&p);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "UPDATE meta SET value = '0' WHERE key = 'complete'", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    session_open(&app, path, 80, 24);
    session_expect(&app, "  cut off  step 0 backward ");
    app.is_following = true;
    session_expect(&app, "  recording  step 0 backward ");
    tui_app_resize(&app, 120, 24);
    session_expect(&app, "  recording  step 0 backward ");
    tui_app_release(&app);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_is_shown_until_the_user_goes_elsewhere),
        cmocka_unit_test(a_small_window_moves_along_with_the_end),
        cmocka_unit_test(four_hundred_steps_can_be_read_while_they_are_recorded),
        cmocka_unit_test(the_end_of_the_recording_is_seen),
        cmocka_unit_test(the_phase_is_whole_beside_a_recording),
    };
    int failed = cmocka_run_group_tests_name("follow", tests, NULL, NULL);

    program_cleanup();
    return failed;
}
