/*
 * tests/tui/test_results.c - the results of a sweep in the TUI: their order, and the run of a row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/sweep/results.h"
#include "tests/replay/net_trace.h"
#include "tests/store/trace_file.h"
#include "tests/tui/session.h"
#include "tui/app.h"
#include "tui/results.h"
#include "whatif/grid/run.h"

#define NET "tests/nets/gpt_tiny.py"

/* Run the configurations into a file of results, one after the other. */
static void sweep_make(const char *path, const char *text, const char *const *pairs, size_t count)
{
    const struct wif_grid_net net = {.file_name = NET, .text = text, .len = strlen(text)};
    const struct sto_results_head head = {.net = NET, .text = text, .version = "1"};
    struct wif_grid_runner *runner = NULL;
    struct sto_results *results = NULL;
    struct vs_error err = VS_ERROR_INIT;

    if (wif_grid_runner_new(&net, &runner, &err) || sto_results_open(path, &head, &results, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < count; i++) {
        struct vs_toggles toggles = {{NULL}};
        char *name = vs_strndup(pairs[i], strcspn(pairs[i], "="));
        const struct sto_setting setting = {name, strchr(pairs[i], '=') + 1};
        struct sto_result result;

        assert_int_equal(vs_toggles_set_pair(&toggles, pairs[i], &err), VS_OK);
        wif_grid_run(runner, &toggles, &result);
        if (sto_results_add(results, pairs[i], &setting, 1, &result, &err))
            fail_msg("%s", err.text);
        vs_toggles_release(&toggles);
        vs_free(name);
    }
    if (sto_results_commit(results, &err))
        fail_msg("%s", err.text);
    sto_results_close(results);
    wif_grid_runner_free(runner);
}

static void a_row_of_the_results_is_run_with_its_toggles(void **state)
{
    static const char *const PAIRS[] = {"batch=4", "accumulate=3", "batch=1", "batch=2"};
    struct rpl_trace *base = net_trace(NET, NULL);
    struct tui_app *app = vs_calloc(1, sizeof(*app));
    struct vs_error err = VS_ERROR_INIT;
    uint64_t wanted;
    char path[4096];

    sweep_make(trace_path(state, "r.db", path, sizeof(path)), rpl_trace_source_text(base), PAIRS,
               4);
    assert_true(tui_results_is_file(path));
    if (tui_results_begin(app, path, &err))
        fail_msg("%s", err.text);
    assert_int_equal(app->results->table.count, 4);
    for (size_t i = 1; i < 4; i++) { /* of the same class: by peak */
        const struct wif_grid_row *a = &app->results->table.rows[app->results->order[i - 1]];
        const struct wif_grid_row *b = &app->results->table.rows[app->results->order[i]];

        assert_true(a->is_on > b->is_on || a->result.allocated <= b->result.allocated);
    }
    wanted = app->results->table.rows[app->results->order[0]].result.allocated;
    tui_results_show(app, 0);
    assert_true(app->change.is_run && app->change.is_shown);
    assert_int_equal(app->change.run.top.allocated, wanted);
    tui_app_release(app);
    vs_free(app);
    rpl_trace_free(base);
}

/* As a user sees it: the front first, what was refused last. */
static void the_view_shows_the_rows_and_runs_them(void **state)
{
    static const char *const PAIRS[] = {"batch=4", "inplace=nowhere", "batch=1", "accumulate=3"};
    struct rpl_trace *base = net_trace(NET, NULL);
    struct tui_app *app = vs_calloc(1, sizeof(*app));
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];

    sweep_make(trace_path(state, "r.db", path, sizeof(path)), rpl_trace_source_text(base), PAIRS,
               4);
    if (tui_results_begin(app, path, &err))
        fail_msg("%s", err.text);
    tui_app_resize(app, 80, 24);
    tui_app_sync(app);
    session_expect(app, "results 4; * ");
    session_expect(app, "batch");
    session_expect(app, "accumulate");
    session_expect(app, "GFLOP/sample");
    session_type(app, "<enter>");
    session_expect(app, "what if accumulate=3 ");
    session_type(app, "G<enter>");
    session_expect(app, "inplace=nowhere: ");
    session_expect(app, "what if accumulate=3 ");
    /* from another view and back; a file that is none is refused and the rows stay */
    session_type(app, "gtgx:results " NET "<enter>");
    session_expect(app, "has no results of a sweep");
    session_expect(app, "results 4; * ");
    tui_app_release(app);
    vs_free(app);
    rpl_trace_free(base);
}

static void results_of_another_net_are_shown_and_not_run(void **state)
{
    static const char *const PAIRS[] = {"batch=1"};
    struct rpl_trace *base = net_trace("tests/nets/mlp.py", NULL);
    struct rpl_trace *other = net_trace(NET, NULL);
    struct tui_app *app = vs_calloc(1, sizeof(*app));
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];

    sweep_make(trace_path(state, "r.db", path, sizeof(path)), rpl_trace_source_text(other), PAIRS,
               1);
    if (tui_app_take(app, "mlp.py", base, &err))
        fail_msg("%s", err.text);
    tui_results_open(app, "");
    assert_true(app->is_bad);
    tui_results_open(app, path);
    assert_int_equal(app->results->table.count, 1);
    tui_results_show(app, 0);
    assert_true(app->is_bad);
    assert_non_null(strstr(vs_text_get(&app->message), "the results are of another net: " NET));
    tui_results_open(app, "tests/nets/mlp.py");
    assert_non_null(strstr(vs_text_get(&app->message), "has no results of a sweep"));
    assert_int_equal(app->results->table.count, 1);
    tui_app_release(app);
    vs_free(app);
    rpl_trace_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_row_of_the_results_is_run_with_its_toggles,
                                        trace_folder_setup, trace_folder_teardown),
        cmocka_unit_test_setup_teardown(the_view_shows_the_rows_and_runs_them, trace_folder_setup,
                                        trace_folder_teardown),
        cmocka_unit_test_setup_teardown(results_of_another_net_are_shown_and_not_run,
                                        trace_folder_setup, trace_folder_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
