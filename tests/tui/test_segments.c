/*
 * tests/tui/test_segments.c - the view of the segments: blocks can be chosen, rows sorted, and fragmentation judged.
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
#include "replay/inspect/space.h"
#include "tests/e2e/program.h"
#include "tests/tui/session.h"
#include "tui/change.h"

static const char *view_name(const struct tui_app *app)
{
    return tui_app_focused(app)->name;
}

static uint64_t bytes_of(const struct tui_app *app, uint64_t id)
{
    const struct rpl_live *live = rpl_cursor_live(tui_app_run(app)->cursor);

    for (size_t i = 0; i < live->block_count; i++)
        if (live->blocks[i].id == id)
            return live->blocks[i].bytes;
    return 0;
}

static void a_block_can_be_chosen_and_its_holders_shown(void **state)
{
    struct tui_app app;
    uint64_t first;
    uint64_t next;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 100, 30);
    /* each key goes to another part of the segment, and the block of a part is the chosen one */
    session_type(&app, "gsM99h");
    first = app.block;
    assert_true(bytes_of(&app, first) > 0);
    session_type(&app, "l");
    next = app.block;
    assert_int_not_equal(first, next);
    session_type(&app, "h");
    assert_int_equal(app.block, first);
    session_type(&app, "l<enter>");
    assert_string_equal(view_name(&app), "why");
    assert_int_equal(app.block, next);
    tui_app_release(&app);
}

/* The address in row `row`. */
static uint64_t address_of(struct tui_app *app, size_t row)
{
    const struct tui_view *view = tui_app_focused(app);
    struct vs_text text = {NULL, 0, 0};
    uint64_t address;

    view->text(app->view_state[app->panes[app->focus]], app, row, &text);
    address = strtoull(vs_text_get(&text), NULL, 16);
    vs_text_release(&text);
    return address;
}

/* Bytes of segment `address`, or of its holes. */
static uint64_t figure_of(const struct rpl_space *space, uint64_t address, bool is_free)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < space->part_count; i++)
        if (space->segments[space->parts[i].segment].address == address &&
            (!is_free || space->parts[i].block == SIZE_MAX))
            bytes += space->parts[i].bytes;
    return bytes;
}

static void rows_are_sorted_by_address_size_and_free_bytes(void **state)
{
    struct rpl_space space = {.segments = NULL};
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("vit_tiny", NULL), 100, 30);
    rpl_space_fill(&space, app.base.cursor);
    assert_true(space.segment_count > 3);
    session_type(&app, "gsM");
    for (size_t i = 1; i < space.segment_count; i++)
        assert_true(address_of(&app, i - 1) < address_of(&app, i));
    session_type(&app, "o");
    session_expect(&app, ", by size;");
    for (size_t i = 1; i < space.segment_count; i++)
        assert_true(figure_of(&space, address_of(&app, i - 1), false) >=
                    figure_of(&space, address_of(&app, i), false));
    session_type(&app, "o");
    session_expect(&app, ", by free bytes;");
    for (size_t i = 1; i < space.segment_count; i++)
        assert_true(figure_of(&space, address_of(&app, i - 1), true) >=
                    figure_of(&space, address_of(&app, i), true));
    session_type(&app, "O");
    for (size_t i = 1; i < space.segment_count; i++)
        assert_true(figure_of(&space, address_of(&app, i - 1), true) <=
                    figure_of(&space, address_of(&app, i), true));
    rpl_space_release(&space);
    tui_app_release(&app);
}

/* The setting that is named was run: its figure is that of the command whatif. */
static void the_setting_that_helps_was_run(void **state)
{
    const char *path = program_path("tried.db");
    struct program p = program_run("import", "tests/golden/snapshots/lm4_forward_ctx100.pickle.gz",
                                   "-o", path, NULL);
    struct tui_app app;
    char bytes[VS_BYTES_TEXT_MAX];
    char text[200];

    (void)state;
    program_release(&p);
    p = program_run("whatif", path, "--set", "alloc-conf=expandable_segments:True", "--json", NULL);
    snprintf(text, sizeof(text), "\n reserved %s (",
             vs_bytes_text((uint64_t)json_int(p.out, "$.result.reserved"), bytes));
    program_release(&p);
    for (int w = 80; w <= 120; w += 40) { /* whole in 80 columns */
        session_open(&app, path, w, w / 3);
        session_type(&app, "gsM");
        session_expect(&app, " fragmentation: ");
        session_expect(&app, text);
        session_expect(&app, "): `:set alloc-conf=expandable_segments:True`\n");
        tui_app_release(&app);
    }
}

static void the_ends_of_a_segment_are_said(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    session_type(&app, "gpgsMl99h");
    session_expect_not(&app, "the segment begins here");
    session_type(&app, "h");
    session_expect(&app, "the segment begins here; k goes to the one above");
    session_type(&app, "99ll");
    session_expect(&app, "the segment ends here; j goes to the one below");
    tui_app_release(&app);
}

static void the_verdict_on_fragmentation_has_the_figures_of_the_segments(void **state)
{
    struct rpl_space space = {.segments = NULL};
    struct tui_app app;
    double percent;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 120, 30);
    rpl_space_fill(&space, app.base.cursor);
    percent = 100.0 * (double)space.free_bytes / (double)space.reserved;
    session_type(&app, "gsM");
    session_expect(&app, percent < 10.0 ? " not fragmentation: " : " fragmentation: ");
    session_type(&app, ":fit 1G<enter>");
    session_expect(&app, "\n only from the driver: 1.00 GiB; device memory unknown (largest hole ");
    rpl_space_release(&space);
    tui_app_release(&app);
}

static void fit_compares_a_request_with_the_capacity(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", "capacity=64M"), 120, 30);
    session_type(&app, "gsM:fit 40M<enter>");
    session_expect(&app, "\n yes: 40.0 MiB from the driver, which has 40.0 MiB (largest hole ");
    session_type(&app, ":fit 100M<enter>");
    session_expect(&app, "\n no: 100.0 MiB from the driver, which has 40.0 MiB (largest hole ");
    tui_app_release(&app);
}

/* The trace of a program over a simulated GPU has its name and size as text. */
static void fit_knows_the_memory_of_a_simulated_gpu(void **state)
{
    const char *path = session_trace("lenet", "steps=2");
    struct tui_app app;

    (void)state;
    sql_run(path, "insert or replace into meta (key, value) values "
                  "('gpu_played', 'H100 SXM, 79.19 GiB, compute capability 9.0')");
    session_open(&app, path, 80, 24);
    session_type(&app, ":fit 1G<enter>");
    session_expect(&app, "\n yes: 1.00 GiB from the driver, which has 79.1");
    tui_app_release(&app);
}

/* Where memory ran out, the sentence has what was requested, and is whole in 80 columns. */
static void what_was_refused_stands_beside_what_is_free(void **state)
{
    const char *path = program_path("refused.db");
    struct program p = program_run("record", "sample_nets/resnet18.py", "--device", "meta",
                                   "--capacity", "350M", "-o", path, NULL);
    struct tui_app app;

    (void)state;
    program_release(&p);
    session_open(&app, path, 80, 24);
    session_type(&app, "gs");
    session_expect(&app,
                   "\n fragmentation: 6.1 MiB requested, 19.6 MiB of 346.0 MiB (5.7 %) are free\n");
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_can_be_chosen_and_its_holders_shown),
        cmocka_unit_test(rows_are_sorted_by_address_size_and_free_bytes),
        cmocka_unit_test(the_setting_that_helps_was_run),
        cmocka_unit_test(the_ends_of_a_segment_are_said),
        cmocka_unit_test(the_verdict_on_fragmentation_has_the_figures_of_the_segments),
        cmocka_unit_test(fit_compares_a_request_with_the_capacity),
        cmocka_unit_test(fit_knows_the_memory_of_a_simulated_gpu),
        cmocka_unit_test(what_was_refused_stands_beside_what_is_free),
    };
    int failed = cmocka_run_group_tests_name("segments", tests, NULL, NULL);

    program_cleanup();
    return failed;
}
