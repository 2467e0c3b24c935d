/*
 * tests/replay/report/test_dropped.c - what the trace of a bounded recording says of the whole run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/report/dropped.h"

static void metas_set(struct rpl_trace *trace, const char *event)
{
    rpl_trace_set_meta(trace, "dropped_events", "1000");
    rpl_trace_set_meta(trace, "start_events", "30");
    rpl_trace_set_meta(trace, "run_peak", "4096");
    rpl_trace_set_meta(trace, "run_peak_event", event);
    rpl_trace_set_meta(trace, "run_peak_step", "-1");
}

static void text_is(const struct rpl_trace *trace, const char *expected)
{
    struct vs_text text = {NULL, 0, 0};

    rpl_run_peak_text(trace, &text);
    assert_string_equal(vs_text_get(&text), expected);
    vs_text_release(&text);
}

static void nothing_is_said_of_a_whole_recording(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct rpl_run_peak peak;

    (void)state;
    assert_false(rpl_has_dropped(trace));
    assert_false(rpl_run_peak(trace, &peak));
    text_is(trace, "");
    rpl_trace_free(trace);
}

static void a_peak_that_was_dropped_is_named_with_its_event_of_the_run(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct rpl_run_peak peak;

    (void)state;
    metas_set(trace, "1000");
    assert_true(rpl_run_peak(trace, &peak));
    assert_int_equal(peak.bytes, 4096);
    assert_int_equal(peak.kept, 0);
    assert_int_equal(peak.step, -1);
    text_is(trace, "the peak of the whole run: 4.0 KiB (4,096 bytes) at event 1,000 of the run, "
                   "setup, which was not kept");
    rpl_trace_set_meta(trace, "run_peak_step", "7");
    text_is(trace, "the peak of the whole run: 4.0 KiB (4,096 bytes) at event 1,000 of the run, "
                   "step 7, which was not kept");
    rpl_trace_free(trace);
}

static void a_peak_that_was_kept_has_its_number_in_the_trace(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct rpl_run_peak peak;

    (void)state;
    metas_set(trace, "1001");
    assert_true(rpl_run_peak(trace, &peak));
    assert_int_equal(peak.kept, 31); /* the first event behind the 30 of the start */
    text_is(trace, "it is the peak of the whole run");
    rpl_trace_free(trace);
}

static void a_trace_of_an_earlier_version_does_not_know_it(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct rpl_run_peak peak;

    (void)state;
    rpl_trace_set_meta(trace, "dropped_events", "1000");
    assert_false(rpl_run_peak(trace, &peak));
    text_is(trace, "the peak of the whole run is not known");
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_of_a_whole_recording),
        cmocka_unit_test(a_peak_that_was_dropped_is_named_with_its_event_of_the_run),
        cmocka_unit_test(a_peak_that_was_kept_has_its_number_in_the_trace),
        cmocka_unit_test(a_trace_of_an_earlier_version_does_not_know_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
