/*
 * tests/facts/test_whatif.c - a what-if equals recording again with that toggle, event for event.
 *
 * The recording that what-ifs start from is made on `cpu`, written to a file and read again, like a user's; for the
 * small nets, so is the second recording. Without data it cannot be known whether a GradScaler skips a step: where the
 * second recording skips one that the first did not (only amp=fp16 can), the what-if is compared with a run on `meta`
 * that skips none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/facts/facts.h"
#include "tests/facts/grid.h"
#include "tests/facts/record.h"
#include "tests/share.h"

/* Of every small net's recording. */
#define SIZE "batch=4 steps=2"

static bool has_skipped(const struct facts_run *run)
{
    for (size_t i = 0; i < run->result.step_count; i++)
        if (run->result.steps[i].skipped)
            return true;
    return false;
}

struct tally {
    size_t same;
    size_t refused;
    size_t skipped;
};

static void assert_equals_recording_again(const struct facts_net *net, struct rpl_trace *base,
                                          const char *given, const char *pairs, struct tally *tally)
{
    struct vs_error asked_err = VS_ERROR_INIT;
    struct vs_error again_err = VS_ERROR_INIT;
    struct rpl_trace *answer = facts_whatif(base, pairs, &asked_err);
    char toggles[FACTS_PAIRS_MAX + 96];
    char what[FACTS_PAIRS_MAX + 224];
    struct facts_run again;
    bool ran;

    snprintf(toggles, sizeof(toggles), "%s %s", given, pairs);
    snprintf(what, sizeof(what), "%s [%s]", net->path, toggles);
    ran = facts_try_net(net, toggles, true, NULL, &again, &again_err);
    if (ran && has_skipped(&again)) {
        facts_run_release(&again);
        again = facts_run_net(net, toggles, false, NULL);
        tally->skipped++;
    }
    if (strcmp(asked_err.text, again_err.text) != 0)
        fail_msg("%s: asked \"%s\", again \"%s\"", what, asked_err.text, again_err.text);
    if (answer && ran) {
        facts_same(what, answer, "what-if", again.trace, "again");
        tally->same++;
    } else {
        tally->refused++;
    }
    rpl_trace_free(answer);
    if (ran)
        facts_run_release(&again);
}

/* ---- tests ---- */

static void what_ifs_of_every_toggle_equal_recordings_for_small_nets(void **state)
{
    struct tally tally = {0, 0, 0};
    const size_t share = tests_share(FACTS_SHARE);
    char pairs[FACTS_PAIRS_MAX];

    (void)state;
    for (size_t i = 0; i < FACTS_SMALL_COUNT; i++) {
        struct facts_net net = facts_net_read(FACTS_SMALL[i]);
        struct rpl_trace *base = facts_record(&net, SIZE, true);

        for (size_t n = i % share; facts_pairs(n, pairs); n += share)
            assert_equals_recording_again(&net, base, SIZE, pairs, &tally);
        rpl_trace_free(base);
        facts_net_release(&net);
    }
    print_message("%zu answers the same (%zu with a skipped step left out), %zu refused alike\n",
                  tally.same, tally.skipped, tally.refused);
    assert_true(tally.same > 10 * tally.refused && tally.same > 10 * tally.skipped);
}

/* What was set when it was recorded stays, unless the question sets it otherwise. */
static void what_ifs_equal_recordings_when_the_recording_has_toggles(void **state)
{
    static const char *const NETS[] = {"tests/nets/resnet_small.py", "tests/nets/gpt_tiny.py"};
    const char *given = SIZE " amp=bf16 checkpoint=blocks inplace=on optimizer=adam accumulate=2";
    struct tally tally = {0, 0, 0};
    const size_t share = tests_share(FACTS_SHARE);
    char pairs[FACTS_PAIRS_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(NETS) / sizeof(NETS[0]); i++) {
        struct facts_net net = facts_net_read(NETS[i]);
        struct rpl_trace *base = facts_record(&net, given, true);

        for (size_t n = i % share; facts_pairs(n, pairs); n += share)
            assert_equals_recording_again(&net, base, given, pairs, &tally);
        rpl_trace_free(base);
        facts_net_release(&net);
    }
    print_message("%zu answers the same, %zu refused alike\n", tally.same, tally.refused);
    /* DeepSpeed refuses amp; of a ninth of the pairs these may be more */
    assert_true(tally.same > 5 * tally.refused);
}

/* In full size, so without data. */
static void what_ifs_of_some_toggles_equal_recordings_for_sample_nets(void **state)
{
    static const char *const TOGGLES[] = {"batch=2", "checkpoint=blocks", "amp=bf16",
                                          "inplace=on optimizer=adamw", "zero-grad=zeros"};
    size_t same = 0;

    (void)state;
    for (size_t i = 0; i < FACTS_SAMPLE_COUNT; i++) {
        struct facts_net net = facts_net_read(FACTS_SAMPLES[i].path);
        struct rpl_trace *base = facts_record(&net, "steps=2", false);

        for (size_t n = 0; n < sizeof(TOGGLES) / sizeof(TOGGLES[0]); n++) {
            struct vs_error err = VS_ERROR_INIT;
            struct rpl_trace *answer, *again;
            char toggles[96];

            if (!tests_share_has(i, n, sizeof(TOGGLES) / sizeof(TOGGLES[0])))
                continue;
            answer = facts_whatif(base, TOGGLES[n], &err);
            snprintf(toggles, sizeof(toggles), "steps=2 %s", TOGGLES[n]);
            if (!answer)
                fail_msg("%s [%s]: %s", net.path, TOGGLES[n], err.text);
            again = facts_record(&net, toggles, false);
            facts_same(net.path, answer, "what-if", again, "again");
            rpl_trace_free(again);
            rpl_trace_free(answer);
            same++;
        }
        rpl_trace_free(base);
        facts_net_release(&net);
    }
    print_message("%zu answers the same\n", same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ifs_of_every_toggle_equal_recordings_for_small_nets),
        cmocka_unit_test(what_ifs_equal_recordings_when_the_recording_has_toggles),
        cmocka_unit_test(what_ifs_of_some_toggles_equal_recordings_for_sample_nets),
    };

    return cmocka_run_group_tests_name("facts/whatif", tests, NULL, NULL);
}
