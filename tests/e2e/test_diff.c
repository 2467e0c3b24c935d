/*
 * tests/e2e/test_diff.c - the commands that compare traces: exit status and JSON, on which scripts rely.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/e2e/program.h"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* The run's status is `status`, and its output or its message has `part`. */
static void check(struct program p, int status, const char *part)
{
    if (p.status != status || (!strstr(p.out, part) && !strstr(p.err, part)))
        fail_msg("status %d, not %d, or \"%s\" is not in:\n%s%s", p.status, status, part, p.out,
                 p.err);
    program_release(&p);
}

static void the_json_of_diff_has_its_documented_fields_and_adds_up(void **state)
{
    static const char *const BY[] = {"category", "module", "line", "tensor"};
    const char *a = program_record("sample_nets/lenet.py", "a.db", NULL, NULL);
    const char *b = program_record("sample_nets/lenet.py", "b.db", "--optimizer", "adam");

    (void)state;
    for (size_t i = 0; i < sizeof(BY) / sizeof(BY[0]); i++) {
        struct program p = program_run("diff", a, b, "--by", BY[i], "--json", NULL);
        char path[64];
        int64_t sum = 0;
        char *row;

        assert_int_equal(p.status, 1);
        json_expect(p.out, "$.same", "bool");
        json_expect(p.out, "$.rows[0].key", "text");
        json_expect(p.out, "$.rows[0].category", "text");
        json_expect(p.out, "$.a.by_category", "object");
        json_expect(p.out, "$.b.by_category", "object");
        for (int k = 0;; k++) {
            snprintf(path, sizeof(path), "$.rows[%d].delta", k);
            row = json_text(p.out, path);
            if (!row)
                break;
            sum += strtoll(row, NULL, 10);
            free(row);
        }
        json_expect(p.out, "$.causes.only_b.delta", "integer");
        json_expect(p.out, "$.step.rows[0].delta", "integer");
        json_expect(p.out, "$.saved.rows[0].delta", "integer");
        json_expect(p.out, "$.lines", "array");
        json_expect(p.out, "$.allocations.paired", "integer");
        assert_true(sum > 0);
        assert_int_equal(sum, json_int(p.out, "$.delta_allocated"));
        assert_int_equal(sum, json_int(p.out, "$.b.allocated") - json_int(p.out, "$.a.allocated"));
        row = json_text(p.out, "$.toggles[0].name");
        assert_string_equal(row, "optimizer");
        free(row);
        program_release(&p);
    }
}

static void the_exit_status_distinguishes_same_different_and_failure(void **state)
{
    const char *a = program_record("sample_nets/lenet.py", "one.db", NULL, NULL);
    const char *b = program_record("sample_nets/lenet.py", "two.db", NULL, NULL);
    const char *c = program_record("sample_nets/lenet.py", "more.db", "--batch", "65");

    (void)state;
    check(program_run("diff", a, b, NULL), 0, "nothing differs");
    check(program_run("diff", a, c, NULL), 1, "batch: 64 -> 65");
    check(program_run("diff", a, "nowhere.db", NULL), 2, "nowhere.db: no such file");
    check(program_run("diff", a, NULL), 2, "usage");
    check(program_run("diff", a, b, "--by", "colour", NULL), 2, "--by cannot be `colour`");
    check(program_run("diff", a, b, "--at", "noon", NULL), 2, "--at cannot be `noon`");
    check(program_run("diff", a, b, "--at", "event=9,", NULL), 2, "--at cannot be `event=9,`");
    check(program_run("diff", a, b, "--at", "step=9", NULL), 2, "step 9 is not in both traces");
    check(program_run("diff", a, c, "--at", "event=300", NULL), 1, "event 300");
    check(program_run("diff", a, c, "--at", "step=1", NULL), 1, "step 1 allocates in all");
    check(program_run("diff", a, b, "--max-growth", "much", NULL), 2, "cannot be `much`");
    check(program_run("diff", a, b, "--top", "-1", NULL), 2, "--top cannot be `-1`");
}

static void diff_fails_when_the_peak_grows_beyond_the_limit(void **state)
{
    const char *a = program_record("sample_nets/lenet.py", "less.db", NULL, NULL);
    const char *b = program_record("sample_nets/lenet.py", "gate.db", "--batch", "128");

    (void)state;
    check(program_run("diff", a, b, "--max-growth", "1%", NULL), 1, "allocated");
    check(program_run("diff", a, b, "--max-growth", "100%", NULL), 0, "allocated");
    check(program_run("diff", b, a, "--max-growth", "0", NULL), 0, "allocated");
    check(program_run("diff", a, a, "--max-growth", "0%", NULL), 0, "allocated");
}

static void check_compares_a_trace_with_limits(void **state)
{
    const char *clean = program_record("sample_nets/lenet.py", "clean.db", "--steps", "4");
    const char *leak = program_record("tests/nets/leak_loss.py", "leak.db", "--steps", "4");
    const char *brief = program_record("sample_nets/lenet.py", "brief.db", "--steps", "2");
    struct program report = program_run("report", clean, "--json", NULL);
    int64_t peak = json_int(report.out, "$.peak.allocated");
    struct program p;
    char exact[32];
    char less[32];

    (void)state;
    program_release(&report);
    snprintf(exact, sizeof(exact), "%lld", (long long)peak);
    snprintf(less, sizeof(less), "%lld", (long long)peak - 1);
    check(program_run("check", clean, "--max-peak", exact, "--max-growth-per-step", "0", NULL), 0,
          "within the limits");
    check(program_run("check", clean, "--max-peak", less, NULL), 1, "FAILED  highest allocated");
    check(program_run("check", clean, "--max-reserved", "1K", NULL), 1, "FAILED  highest reserved");
    check(program_run("check", leak, "--max-growth-per-step", "0", NULL), 1,
          "allocated by a step and alive a step later");
    check(program_run("check", brief, "--max-growth-per-step", "0", NULL), 2,
          "needs 3 whole training steps, and the trace has 2");
    check(program_run("check", clean, NULL), 2, "no limit is given");
    check(program_run("check", clean, "--max-peak", "lots", NULL), 2, "cannot be `lots`");
    check(program_run("check", "nowhere.db", "--max-peak", "1G", NULL), 2, "no such file");
    p = program_run("check", leak, "--max-growth-per-step", "0", "--json", NULL);
    assert_int_equal(p.status, 1);
    assert_int_equal(json_int(p.out, "$.passed"), 0);
    assert_true(json_int(p.out, "$.growth_per_step.actual") > 0);
    assert_true(json_int(p.out, "$.growth_per_step.step") >= 2);
    assert_int_equal(json_int(p.out, "$.growth_per_step.max"), 0);
    program_release(&p);
}

static void check_fails_for_a_trace_that_ran_out_of_memory(void **state)
{
    const char *full = program_path("full.db");
    struct program p = program_run("record", "tests/nets/conv_small.py", "-o", full, "--device",
                                   "meta", "--batch", "512", "--capacity", "4M", NULL);

    (void)state;
    program_release(&p);
    check(program_run("check", full, "--max-peak", "1G", NULL), 1, "FAILED  out of memory");
    check(program_run("check", full, "--max-growth-per-step", "0", NULL), 1, "out of memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_json_of_diff_has_its_documented_fields_and_adds_up),
        cmocka_unit_test(the_exit_status_distinguishes_same_different_and_failure),
        cmocka_unit_test(diff_fails_when_the_peak_grows_beyond_the_limit),
        cmocka_unit_test(check_compares_a_trace_with_limits),
        cmocka_unit_test(check_fails_for_a_trace_that_ran_out_of_memory),
    };

    return cmocka_run_group_tests_name("e2e/diff", tests, NULL, cleanup);
}
