/*
 * tests/e2e/test_record_keep.c - `vramscope record --keep` as a user runs it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/program.h"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static struct program report_of(const char *trace)
{
    struct program p = program_run("report", trace, "--json", NULL);

    if (p.status)
        fail_msg("status %d: %s", p.status, p.err);
    return p;
}

/* What is said of the peak is of what was kept, and the peak of the whole run stands beside it. */
static void the_peak_of_the_whole_run_is_said_and_compared_with(void **state)
{
    struct program p = program_run("report", program_path("all.db"), "--json", NULL);
    const int64_t whole = json_int(p.out, "$.peak.allocated");
    const int64_t event = json_int(p.out, "$.peak.event");

    (void)state;
    program_release(&p);
    p = report_of(program_path("keep.db"));
    assert_int_equal(json_int(p.out, "$.dropped.run_peak.allocated"), whole);
    assert_int_equal(json_int(p.out, "$.dropped.run_peak.event"), event);
    program_release(&p);
    p = program_run("report", program_path("keep.db"), NULL);
    assert_non_null(strstr(p.out, "\nPeak of what was kept: "));
    assert_non_null(strstr(p.out, "the peak of the whole run: "));
    assert_non_null(strstr(p.out, "     -  at start "));
    assert_null(strstr(p.out, "setup     "));
    program_release(&p);
    p = program_run("whatif", program_path("keep.db"), "--set", "batch=2", "--json", NULL);
    assert_int_equal(json_int(p.out, "$.baseline.allocated"), whole);
    program_release(&p);
    p = program_run("whatif", program_path("keep.db"), "--set", "batch=2", NULL);
    assert_non_null(strstr(p.out, "the whole run"));
    program_release(&p);
}

/* The last steps of a run have the figures that they have in a recording of all of it. */
static void a_bounded_recording_says_what_it_dropped(void **state)
{
    struct program p =
        program_run("record", "sample_nets/mlp_swish.py", "--device", "meta", "--steps", "100",
                    "--keep", "2k", "-o", program_path("keep.db"), NULL);
    char *all;
    char *last;

    (void)state;
    if (p.status)
        fail_msg("status %d: %s", p.status, p.err);
    assert_non_null(strstr(p.out, " events kept, peak of the whole run "));
    assert_non_null(strstr(p.out, ", peak of what was kept "));
    program_release(&p);
    p = program_run("record", "sample_nets/mlp_swish.py", "--device", "meta", "--steps", "100",
                    "-o", program_path("all.db"), NULL);
    assert_null(strstr(p.out, "kept"));
    assert_int_equal(p.status, 0);
    program_release(&p);
    p = report_of(program_path("all.db"));
    all = json_text(p.out, "$.steps[#-1]");
    assert_int_equal(json_int(p.out, "$.steps[#-1].step"), 99);
    assert_null(json_text(p.out, "$.dropped"));
    program_release(&p);
    p = report_of(program_path("keep.db"));
    assert_true(json_int(p.out, "$.dropped.events") > 0);
    assert_true(json_int(p.out, "$.events") - json_int(p.out, "$.dropped.start_events") >= 2000);
    last = json_text(p.out, "$.steps[#-1]");
    assert_string_equal(last, all);
    program_release(&p);
    p = program_run("report", program_path("keep.db"), NULL);
    assert_non_null(strstr(p.out, "only the last events were kept"));
    program_release(&p);
    free(all);
    free(last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bounded_recording_says_what_it_dropped),
        cmocka_unit_test(the_peak_of_the_whole_run_is_said_and_compared_with),
    };

    return cmocka_run_group_tests_name("e2e/record_keep", tests, NULL, cleanup);
}
