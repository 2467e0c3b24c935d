/*
 * tests/whatif/test_edit.c - lines inserted into a net and replaced in it; the resulting net runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "replay/report/summary.h"
#include "tests/replay/net_trace.h"
#include "whatif/edit.h"
#include "whatif/whatif.h"

static const char TEXT[] = "one\ntwo\nthree";

static void check(const struct wif_edits *edits, const char *expected)
{
    char *text = wif_edits_apply(edits, TEXT);

    assert_string_equal(text, expected);
    vs_free(text);
}

static void lines_of_a_net_can_be_added_and_replaced(void **state)
{
    struct wif_edits edits = {NULL, 0, 0};

    (void)state;
    check(&edits, "one\ntwo\nthree\n");
    wif_edits_add(&edits, 3, false, "after three");
    wif_edits_add(&edits, 1, false, "after one");
    wif_edits_add(&edits, 2, true, "second");
    wif_edits_add(&edits, 1, false, "and this");
    check(&edits, "one\nafter one\nand this\nsecond\nthree\nafter three\n");
    wif_edits_release(&edits);
}

static void a_line_is_found_in_the_recorded_net(void **state)
{
    struct wif_edits edits = {NULL, 0, 0};
    static const uint32_t EXPECTED[] = {1, 1, 1, 2, 3, 3, 4};

    (void)state;
    wif_edits_add(&edits, 1, false, "after one");
    wif_edits_add(&edits, 1, false, "and this");
    wif_edits_add(&edits, 2, true, "second");
    wif_edits_add(&edits, 3, false, "after three");
    for (uint32_t line = 1; line <= 7; line++)
        assert_int_equal(wif_edits_recorded_line(&edits, line), EXPECTED[line - 1]);
    wif_edits_release(&edits);
}

static void equal_edits_are_merged_into_one(void **state)
{
    struct wif_edits a = {NULL, 0, 0};
    struct wif_edits b = {NULL, 0, 0};

    (void)state;
    wif_edits_add(&a, 1, false, "x");
    wif_edits_add(&b, 1, false, "x");
    wif_edits_add(&b, 1, true, "x");
    wif_edits_merge(&a, &b);
    assert_int_equal(a.count, 2);
    assert_true(wif_edits_has(&a, &b.items[1]));
    wif_edits_release(&a);
    assert_int_equal(a.count, 0);
    wif_edits_release(&b);
}

static void a_changed_net_runs_with_the_recorded_toggles(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/mlp.py", "batch=3 steps=4 optimizer=adam");
    struct rpl_trace *run = rpl_trace_new();
    struct rpl_trace *edited = NULL;
    struct wif_edits edits = {NULL, 0, 0};
    struct rpl_summary a = {.events = 0};
    struct rpl_summary b = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    wif_edits_add(&edits, 1, false, "# a comment changes nothing");
    assert_int_equal(wif_edited_new(base, &edits, &edited, &err), VS_OK);
    assert_int_equal(wif_run(edited, NULL, run, &err), VS_OK);
    assert_int_equal(rpl_summary_fill(&a, base, &err), VS_OK);
    assert_int_equal(rpl_summary_fill(&b, run, &err), VS_OK);
    assert_int_equal(a.peak.allocated, b.peak.allocated);
    assert_int_equal(a.events, b.events);
    rpl_summary_release(&a);
    rpl_summary_release(&b);
    wif_edits_release(&edits);
    rpl_trace_free(edited);
    rpl_trace_free(run);
    rpl_trace_free(base);
}

/* Which steps a GradScaler skipped is in the recording alone. */
static void skipped_steps_equal_those_of_the_recording(void **state)
{
    struct rpl_trace *base = rpl_trace_new();
    struct rpl_trace *edited = NULL;
    struct wif_edits none = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    size_t skips = 0;

    (void)state;
    rpl_trace_set_source(base, "net.py", "x = 1\n");
    rpl_trace_set_toggle(base, "amp", "fp16", false);
    rpl_trace_add_event(base, &(struct vs_event){.kind = VS_EV_STEP, .step = {0}});
    rpl_trace_add_event(base, &(struct vs_event){.kind = VS_EV_SKIP_STEP});
    assert_int_equal(wif_edited_new(base, &none, &edited, &err), VS_OK);
    rpl_scan_init(scan, edited, 1, rpl_trace_event_count(edited));
    while ((event = rpl_scan_next(scan, &err)) != NULL)
        skips += event->kind == VS_EV_SKIP_STEP;
    assert_int_equal(skips, 1);
    vs_free(scan);
    rpl_trace_free(edited);
    rpl_trace_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_a_net_can_be_added_and_replaced),
        cmocka_unit_test(a_line_is_found_in_the_recorded_net),
        cmocka_unit_test(equal_edits_are_merged_into_one),
        cmocka_unit_test(a_changed_net_runs_with_the_recorded_toggles),
        cmocka_unit_test(skipped_steps_equal_those_of_the_recording),
    };

    return cmocka_run_group_tests_name("whatif/edit", tests, NULL, NULL);
}
