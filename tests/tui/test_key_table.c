/*
 * tests/tui/test_key_table.c - every key of the table, pressed in every view, of traces of every kind: it does
 * something, or says in a sentence why not.
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

#include "store/writer.h"
#include "tests/e2e/program.h"
#include "tests/skip.h"
#include "tests/tui/session.h"
#include "tui/gains.h"
#include "tui/screen.h"

#define SNAPSHOT "tests/golden/snapshots/attention_3g.pickle.gz"

/* A message is one line of complete words, and names nothing that is for programmers. */
static void message_check(const struct tui_app *app, const char *view, const char *keys)
{
    static const char *const NOT_FOR_USERS[] = {"(null)", "Error:", " nan", "\n", "assert"};
    const char *text = vs_text_get(&app->message);

    for (size_t i = 0; i < sizeof(NOT_FOR_USERS) / sizeof(NOT_FOR_USERS[0]); i++)
        if (strstr(text, NOT_FOR_USERS[i]))
            fail_msg("%s, %s: `%s` is in the message: %s", view, keys, NOT_FOR_USERS[i], text);
    if (app->is_bad && app->message.len && !strchr(text, ' '))
        fail_msg("%s, %s: no sentence: %s", view, keys, text);
}

/* Show view `v`, with nothing begun: a program is not run again, its command is shown. */
static void view_show(struct tui_app *app, size_t v)
{
    app->prompt.kind = 0;
    app->pending = (struct tui_pending){.count = 0};
    tui_app_view_at(app, (int)v);
    tui_app_sync(app);
    vs_text_clear(&app->message);
    app->is_bad = false;
    app->rerun_said = false;
}

/*
 * A key that moves among rows or columns does nothing at their end, one that sorts nothing to a single row, and one
 * that shows a view nothing in this view. Any other key that changes nothing says why.
 */
static bool may_be_silent(const struct tui_app *app, enum tui_action action, size_t v)
{
    const struct tui_list *list = app->view_state[v];
    static const enum tui_action MOVES[] = {
        TUI_LEFT,      TUI_RIGHT,   TUI_DOWN,      TUI_UP,      TUI_FAR_LEFT, TUI_FAR_RIGHT,
        TUI_HALF_DOWN, TUI_HALF_UP, TUI_PAGE_DOWN, TUI_PAGE_UP, TUI_TOP,      TUI_BOTTOM};

    for (size_t i = 0; i < sizeof(MOVES) / sizeof(MOVES[0]); i++)
        if (action == MOVES[i])
            return true;
    if (tui_view_at(v)->is_list && list->count < 2 &&
        (action == TUI_SORT || action == TUI_SORT_TURN))
        return true;
    return tui_view_at(v)->go == action;
}

/* Whether the footer of view `v` has this sequence: "h/l" and "enter" stand there. */
static bool is_offered(size_t v, const char *keys, bool has_net)
{
    const struct tui_hint *lists[] = {tui_view_at(v)->hints,
                                      has_net ? tui_view_at(v)->net_hints : NULL};
    size_t len = strlen(keys);

    for (size_t i = 0; i < 2; i++) {
        for (const struct tui_hint *hint = lists[i]; hint && hint->keys; hint++) {
            const char *slash = *hint->keys ? strchr(hint->keys + 1, '/') : NULL;

            if (strcmp(hint->keys, keys) == 0 || (slash && strcmp(slash + 1, keys) == 0) ||
                (slash && (size_t)(slash - hint->keys) == len &&
                 strncmp(hint->keys, keys, len) == 0) ||
                (*keys == '<' && strncmp(hint->keys, keys + 1, strlen(hint->keys)) == 0 &&
                 keys[1 + strlen(hint->keys)] == '>'))
                return true;
        }
    }
    return false;
}

/* Draw the screen as it looks to a user who has stopped typing; no text is made of it. */
static void screen_draw(struct tui_app *app, struct tui_surface *surface)
{
    tui_surface_init(surface, app->w, app->h, app->is_ascii);
    (void)tui_gains_update(app);
    tui_app_sync(app);
    while (tui_app_read_on(app))
        continue;
    tui_app_sync(app);
    tui_screen_draw(app, surface);
}

static bool is_same(const struct tui_surface *a, const struct tui_surface *b)
{
    if (a->w != b->w || a->h != b->h)
        return false;
    for (int i = 0; i < a->w * a->h; i++)
        if (a->cells[i].ch != b->cells[i].ch || a->cells[i].style.role != b->cells[i].style.role ||
            a->cells[i].style.behind != b->cells[i].style.behind ||
            a->cells[i].style.marks != b->cells[i].style.marks)
            return false;
    return true;
}

/* Press `keys`, a sequence of `action`, in view `v`. */
static void press(struct tui_app *app, size_t v, enum tui_action action, const char *keys)
{
    const char *view = tui_view_at(v)->name;
    const char *said;
    struct tui_surface before;
    struct tui_surface after;

    view_show(app, v);
    screen_draw(app, &before);
    session_type(app, keys);
    screen_draw(app, &after);
    said = vs_text_get(&app->message);
    message_check(app, view, keys);
    if (!app->message.len && !app->wish && is_same(&before, &after) &&
        !may_be_silent(app, action, v))
        fail_msg("%s in the view %s does nothing and does not say why:\n%s", keys, view,
                 session_screen(app, false));
    if ((strstr(said, "has no meaning") || strstr(said, "no such key")) &&
        is_offered(v, keys, rpl_trace_source_text(app->base.trace) != NULL))
        fail_msg("the footer of the view %s offers %s, which answers: %s", view, keys, said);
    assert_in_range(app->at, tui_app_run(app)->events ? 1 : 0, tui_app_run(app)->events);
    assert_int_equal(rpl_cursor_seq(tui_app_run(app)->cursor), app->at);
    tui_surface_release(&before);
    tui_surface_release(&after);
}

static void keys_press(struct tui_app *app, size_t v, enum tui_action action)
{
    struct vs_text keys = {NULL, 0, 0};

    for (size_t n = 0; tui_action_keys(NULL, action, n, &keys); n++) {
        press(app, v, action, vs_text_get(&keys));
        vs_text_clear(&keys);
    }
    vs_text_release(&keys);
}

/* All keys of all views, and the session is released. */
static void table_press(struct tui_app *app)
{
    for (size_t v = 0; tui_view_at(v); v++)
        for (int i = 0; i < TUI_ACTION_COUNT; i++)
            if (tui_action_info((enum tui_action)i)->scope & tui_view_at(v)->scope)
                keys_press(app, v, (enum tui_action)i);
    tui_app_release(app);
}

static void every_key_answers_of_a_net(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 40);
    table_press(&app);
}

static void every_key_answers_of_a_what_if(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 40);
    session_type(&app, ":set batch=4<enter>");
    assert_true(app.change.is_shown);
    table_press(&app);
}

static void every_key_answers_of_two_traces(void **state)
{
    struct tui_app app;

    (void)state;
    session_open_pair(&app, session_trace("lenet", NULL), session_trace("lenet", "batch=4"), 100,
                      30);
    table_press(&app);
}

static void every_key_answers_of_a_snapshot(void **state)
{
    const char *path = program_path("imported.db");
    struct program p = program_run("import", SNAPSHOT, "-o", path, NULL);
    struct tui_app app;

    (void)state;
    program_release(&p);
    session_open(&app, path, 120, 40);
    table_press(&app);
}

/* PyTorch is the one of tests/tracer/python, which gives a snapshot. */
static void every_key_answers_of_a_program(void **state)
{
    char path[1024];
    char here[400];
    const char *script = program_file("train.py", "import torch\ntorch.cuda.init()\n");
    struct program p;
    struct tui_app app;

    (void)state;
    if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null") != 0)
        tests_skip("there is no python3 from 3.8 on");
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(path, sizeof(path), "%s/tests/tracer/python", here);
    setenv("PYTHONPATH", path, 1);
    snprintf(path, sizeof(path), "%s/" SNAPSHOT, here);
    setenv("FAKE_TORCH_SNAPSHOT", path, 1);
    setenv("FAKE_TORCH_SAY", program_path("said"), 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    /* python3 was not linked with the address sanitizer, and keeps memory to its end */
    setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0", 1);
    unsetenv("RANK");
    p = program_run("record", "-o", program_path("program.db"), "--", "python3", script, NULL);
    if (p.status != 0)
        fail_msg("status %d: %s", p.status, p.err);
    program_release(&p);
    session_open(&app, program_path("program.db"), 120, 40);
    session_type(&app, "gH");
    session_expect_not(&app, "no program");
    table_press(&app);
}

/* Nothing was allocated, or one event was recorded. */
static void every_key_answers_of_a_trace_without_memory(void **state)
{
    (void)state;
    for (uint64_t events = 0; events < 2; events++) {
        struct vs_event event = {
            .alloc = {.block = 1, .requested_bytes = 1000, .block_bytes = 1024},
            .kind = VS_EV_ALLOC};
        struct vs_error err = VS_ERROR_INIT;
        const char *path = program_path("nothing.db");
        struct sto_writer *w;
        struct tui_app app;

        unlink(path);
        assert_int_equal(sto_writer_open(path, NULL, &w, &err), VS_OK);
        assert_int_equal(sto_writer_events(w, &event, events, &err), VS_OK);
        assert_int_equal(sto_writer_close(w, true, &err), VS_OK);
        session_open(&app, path, 120, 40);
        table_press(&app);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_answers_of_a_net),
        cmocka_unit_test(every_key_answers_of_a_what_if),
        cmocka_unit_test(every_key_answers_of_two_traces),
        cmocka_unit_test(every_key_answers_of_a_snapshot),
        cmocka_unit_test(every_key_answers_of_a_program),
        cmocka_unit_test(every_key_answers_of_a_trace_without_memory),
    };
    int failed = cmocka_run_group_tests_name("key_table", tests, NULL, NULL);

    program_cleanup();
    return failed;
}
