/*
 * tests/tui/test_random.c - random keys and sizes keep a session consistent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/e2e/program.h"
#include "tests/tui/session.h"

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static struct tui_input random_input(uint32_t *seed, const struct tui_app *app)
{
    static const uint32_t SPECIALS[] = {
        TUI_KEY_LEFT,  TUI_KEY_RIGHT, TUI_KEY_UP,        TUI_KEY_DOWN,  TUI_KEY_HOME,
        TUI_KEY_END,   TUI_KEY_PGUP,  TUI_KEY_PGDN,      TUI_KEY_TAB,   TUI_KEY_ENTER,
        TUI_KEY_ENTER, TUI_KEY_ESC,   TUI_KEY_BACKSPACE, TUI_CTRL('r'), 0x4E2D};
    struct tui_input input = {.key = 0x20 + next(seed) % 0x5F};
    uint32_t kind = next(seed) % 10;

    if (kind < 2)
        input.key = SPECIALS[next(seed) % (sizeof(SPECIALS) / sizeof(SPECIALS[0]))];
    if (kind == 2) {
        input.key = TUI_KEY_MOUSE;
        input.x = (int)(next(seed) % (unsigned)(app->w + 4)) - 2;
        input.y = (int)(next(seed) % (unsigned)(app->h + 4)) - 2;
        input.mouse = (enum tui_mouse)(next(seed) % 4);
    }
    return input;
}

static void random_keys_type(struct tui_app *app, uint32_t seed, int count)
{
    app->has_mouse = true;
    for (int i = 0; i < count; i++) {
        struct tui_input input = random_input(&seed, app);
        char *screen;

        tui_app_input(app, &input);
        if (next(&seed) % 20 == 0)
            tui_app_resize(app, (int)(next(&seed) % 200) + 1, (int)(next(&seed) % 60) + 1);
        tui_app_sync(app);
        /* runs precomputed meanwhile, with the next key in between */
        if (next(&seed) % 8 == 0)
            session_background(app, 1 + next(&seed) % 100, next(&seed) % 2 ? ' ' : 'j');
        assert_in_range(app->at, 1, tui_app_run(app)->events);
        assert_int_equal(rpl_cursor_seq(tui_app_run(app)->cursor), app->at);
        assert_true(app->window.first <= app->at && app->at <= app->window.last);
        if (i % 7)
            continue;
        screen = session_screen(app, false);
        assert_true(*screen);
        free(screen);
    }
}

/* Drawing outside of a surface is an assertion or found by a sanitizer; a cursor that is lost is found here. */
static void random_keys_and_sizes_keep_a_session_consistent(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    random_keys_type(&app, 20260, 4000);
    tui_app_release(&app);
    session_open_pair(&app, session_trace("lenet", NULL), session_trace("lenet", "batch=16"), 80,
                      24);
    random_keys_type(&app, 20261, 3000);
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_keys_and_sizes_keep_a_session_consistent),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}
