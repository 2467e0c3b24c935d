/*
 * tests/facts/test_balance.c - allocated minus freed bytes equal the allocator's counter at every event; each step ends
 * with the memory with which the step before it ended, unless the net leaks, which is reported with its line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "replay/report/report.h"
#include "tests/facts/balance.h"
#include "tests/facts/facts.h"
#include "tests/facts/grid.h"
#include "tests/share.h"

/* ---- tests ---- */

static void every_event_of_the_sample_nets_balances(void **state)
{
    (void)state;
    for (size_t i = 0; i < FACTS_SAMPLE_COUNT; i++) {
        struct facts_net net = facts_net_read(FACTS_SAMPLES[i].path);
        struct facts_run run = facts_run_net(&net, "steps=3", false, NULL);

        facts_balances(net.path, &run, "");
        facts_steps_end_alike(net.path, &run);
        facts_run_release(&run);
        facts_net_release(&net);
    }
}

static bool leaks(const char *path, const char *pairs)
{
    return strstr(path, "leak") != NULL || strstr(pairs, "detach-loss=off") != NULL;
}

static void every_event_under_every_toggle_balances(void **state)
{
    const size_t share = tests_share(FACTS_SHARE);
    const char *const conf_word = "alloc-conf=";
    char pairs[FACTS_PAIRS_MAX];
    char what[FACTS_PAIRS_MAX + 128];

    (void)state;
    for (size_t i = 0; i < FACTS_SMALL_COUNT; i++) {
        struct facts_net net = facts_net_read(FACTS_SMALL[i]);

        for (size_t n = i % share; facts_pairs(n, pairs); n += share) {
            const char *conf = strstr(pairs, conf_word);
            struct vs_error err = VS_ERROR_INIT;
            struct facts_run run;

            if (!facts_try_net(&net, pairs, false, NULL, &run, &err))
                continue;
            snprintf(what, sizeof(what), "%s [%s]", net.path, pairs);
            conf = conf ? conf + strlen(conf_word) : "";
            facts_balances(what, &run, strcmp(conf, "default") == 0 ? "" : conf);
            if (!leaks(net.path, pairs))
                facts_steps_end_alike(what, &run);
            facts_run_release(&run);
        }
        facts_net_release(&net);
    }
}

/* The line of the net file that contains `text`. */
static unsigned line_of(const struct facts_net *net, const char *text)
{
    const char *found = strstr(net->text, text);
    unsigned line = 1;

    assert_non_null(found);
    for (const char *at = net->text; at < found; at++)
        line += *at == '\n';
    return line;
}

static void a_leak_is_reported_with_its_line(void **state)
{
    struct facts_net net = facts_net_read("tests/nets/leak_loss.py");
    struct facts_run run = facts_run_net(&net, "steps=5", false, NULL);
    struct rpl_report report = {.trace = NULL};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    unsigned first = line_of(&net, "    extra = ");
    unsigned last = line_of(&net, "    total.loss = ");
    uint64_t ends[8];
    char line[32];

    (void)state;
    assert_int_equal(facts_step_ends(&run, ends, 8), 5);
    for (size_t i = 2; i < 5; i++)
        assert_true(ends[i] > ends[i - 1] && ends[i] - ends[i - 1] == ends[2] - ends[1]);
    if (rpl_report_fill(&report, run.trace, 4, &err))
        fail_msg("%s", err.text);
    assert_true(report.leak.at > 0 && report.leak.bytes > 0 && report.leak.block_count > 0);
    /* steps 1, 2 and 3: the first and the last are not counted */
    assert_int_equal(report.leak.steps, 3);
    for (size_t i = 0; i < report.leak.block_count; i++) {
        uint32_t at = rpl_trace_location(run.trace, report.leak.blocks[i].alloc_location)->line;

        if (at < first || at > last)
            fail_msg("a leaked block comes from line %u, not %u to %u", at, first, last);
    }
    rpl_report_text(&report, net.path, &text);
    snprintf(line, sizeof(line), "line %u", first);
    print_message("leaked %" PRIu64 " bytes in %" PRIu64 " blocks\n", report.leak.bytes,
                  report.leak.count);
    if (!strstr(vs_text_get(&text), line))
        fail_msg("the report does not say \"%s\":\n%s", line, vs_text_get(&text));
    vs_text_release(&text);
    rpl_report_release(&report);
    facts_run_release(&run);
    facts_net_release(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_of_the_sample_nets_balances),
        cmocka_unit_test(every_event_under_every_toggle_balances),
        cmocka_unit_test(a_leak_is_reported_with_its_line),
    };

    return cmocka_run_group_tests_name("facts/balance", tests, NULL, NULL);
}
