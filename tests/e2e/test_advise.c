/*
 * tests/e2e/test_advise.c - `vramscope advise`, and checkpoint=auto in record and whatif.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/e2e/program.h"

#define NET "tests/nets/resnet_small.py"
#define POINTS 5

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static int64_t point_int(const char *json, size_t point, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "$.curve[%zu].%s", point, name);
    return json_int(json, path);
}

static char *point_value(const char *json, size_t point)
{
    char path[64];

    snprintf(path, sizeof(path), "$.curve[%zu].set.checkpoint", point);
    return json_text(json, path);
}

/* The peak of a recording with this value of the toggle, and of a what-if of `trace` with it. */
static void check_value(const char *trace, const char *value, int64_t peak)
{
    const char *again = program_record(NET, "again.db", "--checkpoint", value);
    struct program report = program_run("report", again, "--json", NULL);
    char set[128];
    struct program whatif;

    snprintf(set, sizeof(set), "checkpoint=%s", value);
    whatif = program_run("whatif", trace, "--set", set, "--json", NULL);
    assert_int_equal(json_int(report.out, "$.peak.allocated"), peak);
    assert_int_equal(json_int(whatif.out, "$.result.allocated"), peak);
    program_release(&whatif);
    program_release(&report);
    remove(again);
}

static void recording_a_point_of_the_curve_gives_its_peak(void **state)
{
    const char *trace = program_record(NET, "curve.db", NULL, NULL);
    struct program p = program_run("advise", trace, "--curve", "--points", "5", "--json", NULL);
    size_t count = 0;

    (void)state;
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.format"), 1);
    for (; count < POINTS; count++) {
        char *value = point_value(p.out, count);

        if (!value)
            break;
        assert_true(point_int(p.out, count, "peak") <= point_int(p.out, count, "budget"));
        check_value(trace, value, point_int(p.out, count, "peak"));
        vs_free(value);
    }
    assert_true(count >= 3);
    program_release(&p);
}

static void the_cheapest_placement_within_a_capacity_is_found(void **state)
{
    const char *trace = program_record(NET, "curve.db", NULL, NULL);
    struct program p =
        program_run("advise", trace, "--curve", "--capacity", "350K", "--json", NULL);
    struct program none = program_run("advise", trace, "--curve", "--capacity", "1K", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_true(json_int(p.out, "$.within_capacity.peak") <= 350 * 1024);
    assert_true(json_int(p.out, "$.within_capacity.recompute_flops") > 0);
    assert_int_equal(none.status, 0);
    assert_non_null(strstr(none.out, "within 1.0 KiB: no placement of checkpoints"));
    program_release(&none);
    program_release(&p);
}

static void the_curve_has_rows_for_off_and_auto(void **state)
{
    const char *trace = program_record(NET, "curve.db", NULL, NULL);
    struct program p = program_run("advise", trace, "--curve", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(p.out, "\n  off "));
    assert_non_null(strstr(p.out, "\n  auto "));
    assert_non_null(strstr(p.out, "--set checkpoint=auto"));
    program_release(&p);
}

static void wrong_use_is_explained(void **state)
{
    const char *trace = program_record(NET, "curve.db", NULL, NULL);
    struct program few = program_run("advise", trace, "--points", "5", NULL);
    struct program size = program_run("advise", trace, "--curve", "--capacity", "much", NULL);
    struct program points = program_run("advise", trace, "--curve", "--points", "1", NULL);
    struct program budget = program_run("whatif", trace, "--set", "checkpoint=auto:1K", NULL);

    (void)state;
    assert_int_equal(few.status, 2);
    assert_non_null(strstr(few.err, "--points is for --curve"));
    assert_int_equal(size.status, 2);
    assert_non_null(strstr(size.err, "--capacity cannot be `much`"));
    assert_int_equal(points.status, 2);
    assert_int_equal(budget.status, 1);
    assert_non_null(strstr(budget.err, "checkpoint=auto:1K: no placement of checkpoints"));
    program_release(&budget);
    program_release(&points);
    program_release(&size);
    program_release(&few);
}

/* ---- without --curve ---- */

static void recording_each_advised_change_gives_its_peak(void **state)
{
    const char *trace = program_record("sample_nets/variables.py", "advise.db", NULL, NULL);
    struct program p = program_run("advise", trace, "--json", NULL);
    struct program text = program_run("advise", trace, NULL);
    const char *again;
    struct program report;

    (void)state;
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.format"), 1);
    assert_int_equal(json_int(p.out, "$.baseline.delta"), 0);
    assert_non_null(strstr(text.out, "\n  `del x1` after line 20 "));
    assert_non_null(strstr(text.out, "\n         20 | x2 = self.relu(x1)\n            + del x1\n"));
    assert_null(strstr(text.out, "grad="));
    again = program_record("sample_nets/variables.py", "again.db", "--inplace", "on");
    report = program_run("report", again, "--json", NULL);
    for (int i = 0;; i++) {
        char path[64];
        char *label;

        snprintf(path, sizeof(path), "$.advice[%d].label", i);
        label = json_text(p.out, path);
        assert_non_null(label);
        snprintf(path, sizeof(path), "$.advice[%d].peak", i);
        if (strcmp(label, "inplace=on") == 0) {
            assert_int_equal(json_int(p.out, path), json_int(report.out, "$.peak.allocated"));
            vs_free(label);
            break;
        }
        vs_free(label);
    }
    program_release(&report);
    program_release(&text);
    program_release(&p);
    remove(again);
}

static void advice_for_a_capacity_has_a_headline(void **state)
{
    const char *trace = program_record("sample_nets/variables.py", "fit.db", NULL, NULL);
    struct program p = program_run("advise", trace, "--capacity", "104M", "--json", NULL);
    struct program text = program_run("advise", trace, "--capacity", "104M", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    assert_int_equal(json_int(p.out, "$.capacity"), 104 << 20);
    assert_non_null(strstr(text.out, "it does not fit 104.0 MiB"));
    assert_int_equal(json_int(p.out, "$.advice[0].headline"), 1);
    assert_int_equal(json_int(p.out, "$.advice[0].fits"), 1);
    assert_true(json_int(p.out, "$.advice[0].reserved") <= 104 << 20);
    assert_true(json_int(p.out, "$.advice[0].max_batch") >= 16);
    assert_non_null(strstr(text.out, "\nThe cheapest that fits 104.0 MiB:\n"));
    program_release(&text);
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(recording_a_point_of_the_curve_gives_its_peak, cleanup),
        cmocka_unit_test_teardown(the_cheapest_placement_within_a_capacity_is_found, cleanup),
        cmocka_unit_test_teardown(the_curve_has_rows_for_off_and_auto, cleanup),
        cmocka_unit_test_teardown(wrong_use_is_explained, cleanup),
        cmocka_unit_test_teardown(recording_each_advised_change_gives_its_peak, cleanup),
        cmocka_unit_test_teardown(advice_for_a_capacity_has_a_headline, cleanup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
