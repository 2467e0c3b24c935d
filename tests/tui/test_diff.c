/*
 * tests/tui/test_diff.c - the comparison of the two runs of a session: the figures of `vramscope diff`, and the same
 * position in both runs.
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
#include "tests/e2e/program.h"
#include "tests/tui/session.h"
#include "tui/diff.h"

static const struct {
    const char *net;
    const char *toggle;
} RUNS[] = {
    {"variables", "inplace=on"},
    {"lenet", "optimizer=adam"},
    {"vit_tiny", "checkpoint=blocks"},
    {"lenet", "batch=16"},
};
#define RUN_COUNT (sizeof(RUNS) / sizeof(RUNS[0]))

static const char *path_a(size_t i)
{
    return session_trace(RUNS[i].net, NULL);
}

static const char *path_b(size_t i)
{
    return session_trace(RUNS[i].net, RUNS[i].toggle);
}

static void open_nth(struct tui_app *app, size_t i, int w, int h)
{
    session_open_pair(app, path_a(i), path_b(i), w, h);
}

/* Text of row `row` of the focused view of rows. */
static char *row_text(struct tui_app *app, size_t row)
{
    const struct tui_view *view = tui_app_focused(app);
    struct vs_text text = {NULL, 0, 0};

    view->text(app->view_state[app->panes[app->focus]], app, row, &text);
    return vs_text_take(&text);
}

static size_t row_count(const struct tui_app *app)
{
    const struct tui_list *list = app->view_state[app->panes[app->focus]];

    return list->count;
}

/* ---- figures ---- */

/* The next row of the JSON of a diff at *at, which is moved past it; false where `end` comes before. */
static bool row_read(const char **at, const char *end, int64_t *a, int64_t *b)
{
    const char *row = strstr(*at, "{\"key\": ");

    if (!row || row >= end)
        return false;
    *a = strtoll(strstr(row, "\"a\": ") + 5, NULL, 10);
    *b = strtoll(strstr(row, "\"b\": ") + 5, NULL, 10);
    *at = row + 1;
    return true;
}

/* The parts of the JSON, in its order. */
enum part { PART_PEAK, PART_STEP, PART_SAVED };

/* The rows are those of `vramscope diff` with these options: row by row, and their sum. */
static void assert_rows(struct tui_app *app, size_t run, const char *by, const char *at,
                        enum part part)
{
    static const char *const ENDS[] = {"\"step\": {", "\"saved\": {", "\"toggles\": ["};
    static const char *const SUMS[][2] = {
        {"$.a.allocated", "$.b.allocated"}, {"$.step.a", "$.step.b"}, {"$.saved.a", "$.saved.b"}};
    struct program p =
        program_run("diff", path_a(run), path_b(run), "--by", by, "--at", at, "--json", NULL);
    const char *json =
        part == PART_PEAK ? strstr(p.out, "\"rows\": [") : strstr(p.out, ENDS[part - 1]);
    const char *end = strstr(p.out, ENDS[part]);
    char want[200];
    char x[VS_BYTES_TEXT_MAX];
    char y[VS_BYTES_TEXT_MAX];
    char d[VS_BYTES_TEXT_MAX];
    int64_t all[2] = {json_int(p.out, SUMS[part][0]), json_int(p.out, SUMS[part][1])};
    int64_t sums[2] = {0, 0};
    size_t count = 0;
    int64_t a;
    int64_t b;

    for (; row_read(&json, end, &a, &b); count++) {
        char *text = row_text(app, count);

        snprintf(want, sizeof(want), "  %s  %s  %s", vs_bytes_text((uint64_t)a, x),
                 vs_bytes_text((uint64_t)b, y), vs_bytes_delta_text(b - a, d));
        if (!strstr(text, want))
            fail_msg("by %s: row %zu is `%s`, not `%s`", by, count, text, want);
        sums[0] += a;
        sums[1] += b;
        free(text);
    }
    assert_int_equal(count, row_count(app));
    assert_int_equal(sums[0], all[0]);
    assert_int_equal(sums[1], all[1]);
    snprintf(want, sizeof(want), "B - A %s", vs_bytes_delta_text(all[1] - all[0], d));
    session_expect(app, want);
    program_release(&p);
}

static void rows_equal_those_of_the_command_and_add_up(void **state)
{
    static const char *const BY[] = {"category", "module", "line", "tensor"};

    (void)state;
    for (size_t run = 0; run < RUN_COUNT; run++) {
        struct tui_app app;

        open_nth(&app, run, 100, 40);
        session_type(&app, "gd");
        for (size_t i = 0; i < sizeof(BY) / sizeof(BY[0]); i++) {
            char at[64];

            assert_rows(&app, run, BY[i], "peak", PART_PEAK);
            session_type(&app, "<space>:goto 200<enter>");
            snprintf(at, sizeof(at), "event=200,%llu", (unsigned long long)tui_diff_other(&app));
            assert_rows(&app, run, BY[i], at, PART_PEAK);
            session_type(&app, "<space>");
            assert_rows(&app, run, BY[i], "peak", PART_STEP);
            session_type(&app, "<space>");
            assert_rows(&app, run, BY[i], "peak", PART_SAVED);
            session_type(&app, "<space>t");
        }
        tui_app_release(&app);
    }
}

/* What is inside a row adds up to the row, down to its tensors, and q leads out again. */
static void the_contents_of_a_row_add_up_to_it(void **state)
{
    (void)state;
    for (size_t run = 0; run < RUN_COUNT; run++) {
        struct tui_app app;
        char *before;
        char *after;

        open_nth(&app, run, 100, 40);
        session_type(&app, "gd");
        before = session_screen(&app, true);
        for (int depth = 0; depth < 2; depth++) {
            const struct rpl_diff *diff = &app.change.diff->diff;
            struct rpl_diff_part part = {.rows = NULL};
            struct vs_error err = VS_ERROR_INIT;
            struct rpl_diff_options options = diff->options;
            char want[100];
            char buf[VS_BYTES_TEXT_MAX];

            /* the options are those of what is shown, but for what they borrow */
            options.inside_count = 0;
            if (depth == 0) {
                assert_int_equal(
                    rpl_diff_take(&app.change.diff->diff, RPL_DIFF_LIVE, &options, &part, &err),
                    VS_OK);
                snprintf(want, sizeof(want), "B - A %s",
                         vs_bytes_delta_text((int64_t)(part.rows[0].b - part.rows[0].a), buf));
            }
            session_type(&app, "<enter>");
            if (depth == 0)
                session_expect(&app, want);
            rpl_diff_part_release(&part);
        }
        session_expect(&app, "by tensor: all");
        session_type(&app, "qq");
        after = session_screen(&app, true);
        assert_string_equal(before, after);
        free(before);
        free(after);
        tui_app_release(&app);
    }
}

/* What has been allocated by an event and not given back, as SQL says. */
static int64_t sql_allocated(const char *path, uint64_t seq)
{
    char sql[200];

    snprintf(sql, sizeof(sql),
             "select coalesce(sum(case kind when 'alloc' then block_size else -block_size end), 0) "
             "from event "
             "where kind in ('alloc', 'free') and seq <= %llu",
             (unsigned long long)seq);
    return sql_int(path, sql);
}

static void totals_of_the_rows_equal_sql(void **state)
{
    (void)state;
    for (size_t run = 0; run < RUN_COUNT; run++) {
        const struct rpl_pairs *pairs;
        struct tui_app app;

        open_nth(&app, run, 100, 40);
        pairs = tui_diff_pairs(&app);
        for (size_t i = 0; i < pairs->row_count; i += pairs->row_count / 7) {
            const struct rpl_pair_row *row = &pairs->rows[i];

            assert_int_equal(row->total_a, sql_allocated(path_a(run), row->seq_a));
            assert_int_equal(row->total_b, sql_allocated(path_b(run), row->seq_b));
        }
        tui_app_release(&app);
    }
}

/* ---- one place in both ---- */

static void next_and_previous_difference_return_to_the_same_row(void **state)
{
    (void)state;
    for (size_t run = 0; run < RUN_COUNT; run++) {
        const struct rpl_pairs *pairs;
        struct tui_app app;

        open_nth(&app, run, 80, 24);
        pairs = tui_diff_pairs(&app);
        session_type(&app, "gDggn");
        for (size_t i = 0; i + 1 < pairs->stretch_count && i < 30; i++) {
            char *before = session_screen(&app, false);
            char *after;

            assert_int_equal(tui_diff_row(&app), pairs->stretches[i].first);
            session_type(&app, "n");
            assert_int_equal(tui_diff_row(&app), pairs->stretches[i + 1].first);
            session_type(&app, "N");
            after = session_screen(&app, false);
            assert_string_equal(before, after);
            session_type(&app, "n");
            free(before);
            free(after);
        }
        session_type(&app, "Gn");
        session_expect(&app, "no event differs after this");
        session_type(&app, "ggN");
        session_expect(&app, "no event differs before this");
        tui_app_release(&app);
    }
}

/* However one moves, the row that is marked is the one both runs are at. */
static void both_runs_are_at_the_chosen_row(void **state)
{
    static const char *const KEYS[] = {
        "gDgg", "j",  "20j", "k",  "s", "3]",           "D", "j",  "n",   "N",  "D", "G",
        "k",    "gp", "i",   "I",  "t", "5j",           "D", "oj", "t",   "gd", "n", "gD",
        "S",    "D",  "D",   "gg", "D", "/relu<enter>", "L", "H",  "50k", "t"};

    (void)state;
    for (size_t run = 0; run < RUN_COUNT; run++) {
        const struct rpl_pairs *pairs;
        struct tui_app app;

        open_nth(&app, run, 80, 24);
        pairs = tui_diff_pairs(&app);
        for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
            const struct rpl_pair_row *row;
            bool is_b;
            uint64_t own;
            uint64_t other;
            size_t at;

            session_type(&app, KEYS[i]);
            at = tui_diff_row(&app);
            is_b = app.change.is_shown;
            if (at == SIZE_MAX)
                continue;
            row = &pairs->rows[at];
            own = is_b ? row->seq_b : row->seq_a;
            other = is_b ? row->seq_a : row->seq_b;
            assert_true(own <= app.at || app.at == 1);
            /* the next event of the allocator is still to come, here and there */
            if (at + 1 < pairs->row_count && app.at > 1) {
                const struct rpl_pair_row *next = &pairs->rows[at + 1];

                if ((is_b ? next->seq_b : next->seq_a) != own)
                    assert_true((is_b ? next->seq_b : next->seq_a) > app.at);
            }
            if (own == app.at && other)
                assert_true(tui_diff_other(&app) >= other);
        }
        tui_app_release(&app);
    }
}

static void switching_to_the_other_run_and_back_returns_to_the_same_event(void **state)
{
    (void)state;
    for (size_t run = 0; run < RUN_COUNT; run++) {
        struct tui_app app;

        open_nth(&app, run, 80, 24);
        session_type(&app, "gDgg");
        for (int i = 0; i < 12; i++) {
            size_t row;
            uint64_t at;

            session_type(&app, "n");
            row = tui_diff_row(&app);
            at = app.at;
            session_type(&app, "D");
            assert_int_equal(tui_diff_row(&app), row);
            session_type(&app, "D");
            assert_int_equal(tui_diff_row(&app), row);
            assert_int_equal(app.at, at);
        }
        tui_app_release(&app);
    }
}

static void the_largest_difference_comes_first(void **state)
{
    struct tui_app app;
    uint64_t before = UINT64_MAX;
    const struct rpl_pairs *pairs;

    (void)state;
    open_nth(&app, 2, 80, 24);
    pairs = tui_diff_pairs(&app);
    session_type(&app, "gDogg");
    assert_true(row_count(&app) > 0);
    for (size_t i = 0; i < row_count(&app); i++) {
        const struct rpl_pair_row *row;
        uint64_t a;
        uint64_t b;
        uint64_t size;

        row = &pairs->rows[tui_diff_row(&app)];
        a = row->alloc_a ? pairs->align->a.allocs[row->alloc_a - 1].bytes : 0;
        b = row->alloc_b ? pairs->align->b.allocs[row->alloc_b - 1].bytes : 0;
        size = a > b ? a - b : b - a;
        assert_true(size <= before && !row->is_free);
        before = size;
        session_type(&app, "n");
    }
    tui_app_release(&app);
}

/* ---- which runs ---- */

static void a_what_if_differs_as_two_recordings_do(void **state)
{
    (void)state;
    for (size_t run = 0; run < RUN_COUNT; run++) {
        struct tui_app app;
        char text[100];

        session_open(&app, path_a(run), 100, 40);
        session_type(&app, "gd");
        session_expect(&app, "only one run is open");
        snprintf(text, sizeof(text), ":set %s<enter>gd", RUNS[run].toggle);
        session_type(&app, text);
        assert_rows(&app, run, "category", "peak", PART_PEAK);
        session_type(&app, "t");
        assert_rows(&app, run, "module", "peak", PART_PEAK);
        /* and with another toggle it is another one */
        session_type(&app, "gw<C-r>:set batch=2<enter>gd");
        session_expect(&app, "batch ");
        tui_app_release(&app);
    }
}

static void comparing_a_trace_with_itself_shows_no_difference(void **state)
{
    struct tui_app app;

    (void)state;
    session_open_pair(&app, path_a(0), path_a(0), 80, 24);
    session_type(&app, "M");
    session_expect(&app, "B - A 0 B");
    session_expect(&app, "100.0 % match");
    session_type(&app, "tttt");
    session_expect(&app, "same toggles, same net");
    session_type(&app, "gDn");
    session_expect(&app, "no event differs");
    session_type(&app, "t");
    session_expect(&app, "no event differs");
    tui_app_release(&app);
}

static bool stop(void)
{
    return true;
}

static void a_long_comparison_can_be_stopped_and_restarted(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("gpt2_small", "steps=2"), 80, 24);
    session_type(&app, ":set checkpoint=blocks<enter>");
    assert_true(app.change.is_run);
    app.wants_stop = stop;
    session_type(&app, "gd");
    session_expect(&app, "stopped; <C-r> tries again");
    session_type(&app, "jjn");
    app.wants_stop = NULL;
    session_type(&app, "gd<C-r>");
    session_expect(&app, "by category: all");
    tui_app_release(&app);
}

/* variables.py keeps each value in a name of its own; variables_rebind.py binds one name again and again. */
static void a_difference_names_who_holds_the_tensor_in_each_run(void **state)
{
    struct tui_app app;

    (void)state;
    session_open_pair(&app, session_trace("variables", NULL),
                      session_trace("variables_rebind", NULL), 80, 30);
    /* by tensor, the rows with the largest change first */
    session_type(&app, "Mttt/_convolution in conv1<enter>");
    session_expect(&app, "A: local `x1` keeps it to line 25; "
                         "B: `x` is bound again on line 18");
    /* beside another pane, too: a list of one row leaves its space to the sentence */
    tui_app_resize(&app, 80, 24);
    session_type(&app, "M");
    session_expect(&app,
                   "\n A: local `x1` keeps it to line 25; B: `x` is bound again on line 18\n");
    tui_app_release(&app);
}

/* A module's row is explained by its tensor: how it ended is not cut, and the sentence stands below it, too. */
static void a_module_of_a_difference_names_who_holds_its_tensor(void **state)
{
    struct tui_app app;

    (void)state;
    session_open_pair(&app, session_trace("variables", NULL),
                      session_trace("variables_rebind", NULL), 80, 24);
    session_type(&app, "gd<enter>");
    session_expect(&app, "-17.0M  freed in B @381 of line 18:");
    session_expect(&app,
                   "\n A: local `x1` keeps it to line 25; B: `x` is bound again on line 18\n");
    tui_app_release(&app);
}

/* In 80 columns each run's sentence has a row of its own. */
static void both_sentences_on_a_tensor_fit_into_a_small_terminal(void **state)
{
    struct tui_app app;

    (void)state;
    session_open_pair(&app, session_trace("resnet18", NULL),
                      session_trace("resnet18", "checkpoint=blocks"), 80, 24);
    session_type(&app, "gdMtttj");
    session_expect(&app,
                   "\n A: saved by `CudnnBatchNormBackward0` of line 26 keeps it to line 26\n");
    session_expect(&app, "\n B: `out` is bound again on line 26\n");
    tui_app_release(&app);
}

/* Also where the events of both runs are shown below, the chosen row stands under the list in full. */
static void what_caused_a_row_is_not_cut_in_a_small_terminal(void **state)
{
    struct tui_app app;

    (void)state;
    session_open_pair(&app, session_trace("variables", NULL),
                      session_trace("variables_rebind", NULL), 80, 24);
    session_type(&app, "gdt");
    session_expect(&app,
                   "\n temporary  (the model itself)  blocks 0 -> 2  +17.0M later in A, @623:\n");
    session_expect(&app, "\n allocated by MeanBackward1, line 23\n");
    session_type(&app, "j");
    session_expect(&app,
                   "\n activation  conv1  blocks 1 -> 0  freed in B @381 of line 18: allocated"
                   " by\n _convolution in conv1, line 19\n");
    session_expect(&app, "reserved 102M now\n");
    tui_app_release(&app);
}

/* However much is configured differently, it is said first how well the runs match. */
static void how_well_two_runs_match_is_whole_in_80_columns(void **state)
{
    struct tui_app app;
    char a[200];

    (void)state;
    snprintf(a, sizeof(a), "%s", path_a(0));
    session_open_pair(&app, a, path_b(1), 80, 24);
    session_type(&app, "gdM");
    session_expect(&app, " % match, only in A ");
    session_expect(&app, ", in B ");
    tui_app_release(&app);
}

/* What views computed of one is not taken for the other's, wherever it lies in memory. */
static void a_second_trace_opened_after_another_is_another_run(void **state)
{
    struct tui_app app;
    struct vs_error err = VS_ERROR_INIT;
    uint64_t first;

    (void)state;
    open_nth(&app, 0, 80, 24);
    first = app.change.run.number;
    assert_int_equal(tui_app_open_other(&app, path_a(0), &err), VS_OK);
    assert_int_not_equal(app.change.run.number, first);
    assert_int_not_equal(app.change.run.number, app.base.number);
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(how_well_two_runs_match_is_whole_in_80_columns),
        cmocka_unit_test(a_second_trace_opened_after_another_is_another_run),
        cmocka_unit_test(what_caused_a_row_is_not_cut_in_a_small_terminal),
        cmocka_unit_test(both_sentences_on_a_tensor_fit_into_a_small_terminal),
        cmocka_unit_test(rows_equal_those_of_the_command_and_add_up),
        cmocka_unit_test(the_contents_of_a_row_add_up_to_it),
        cmocka_unit_test(totals_of_the_rows_equal_sql),
        cmocka_unit_test(next_and_previous_difference_return_to_the_same_row),
        cmocka_unit_test(both_runs_are_at_the_chosen_row),
        cmocka_unit_test(switching_to_the_other_run_and_back_returns_to_the_same_event),
        cmocka_unit_test(the_largest_difference_comes_first),
        cmocka_unit_test(a_what_if_differs_as_two_recordings_do),
        cmocka_unit_test(comparing_a_trace_with_itself_shows_no_difference),
        cmocka_unit_test(a_long_comparison_can_be_stopped_and_restarted),
        cmocka_unit_test(a_difference_names_who_holds_the_tensor_in_each_run),
        cmocka_unit_test(a_module_of_a_difference_names_who_holds_its_tensor),
    };
    int failed = cmocka_run_group_tests_name("tui/diff", tests, NULL, NULL);

    program_cleanup();
    return failed;
}
