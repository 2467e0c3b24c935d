/*
 * tests/facts/test_recorded.c - programs' memory as real GPUs recorded it, against ours: allocation by allocation.
 *
 * The lists of tests/golden/alloc were recorded by PyTorch on CUDA: lm4 (2.6) and the attention (2.6) from an empty
 * allocator, lm24 (2.10) one step or one forward after others, lm27b (2.6) a first step, the trained image (2.2) ten
 * iterations. Left out are library workspaces and scratch of kernels, which the lists mark as such. What is compared:
 * the kind of each event, the bytes requested, and which allocation each free gives back. The same from the command
 * line (docs/internals/fidelity.md has all):
 *
 *     vramscope match sample_nets/lm4.py -D LENGTH=100 tests/golden/alloc/lm4_train_ctx100.0.txt
 *     vramscope match tests/nets/recorded/lm24.py tests/golden/alloc/lm24_train_step_ctx128.0.txt --from 5
 *
 * The net files' own defaults are the recorded programs' (lm4: batch 10, 3 steps; lm24: batch 4, 6 steps; one batch
 * moved once): no toggle is set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "recording/memlist.h"
#include "replay/match/match.h"
#include "tests/engine/alloc_lists.h"
#include "tests/facts/facts.h"
#include "tests/page_count.h"

static void read_list(const char *recording, struct vs_memlist *list)
{
    struct vs_error err = VS_ERROR_INIT;
    char path[128];

    snprintf(path, sizeof(path), ALLOC_LISTS_DIR "/%s.0.txt", recording);
    if (rec_memlist_read(path, -1, list, &err))
        fail_msg("%s", err.text);
}

/*
 * tokens: the net's LENGTH, 0 leaves it. step: the recording begins with that step of ours; -1: with the program.
 * toggles: as "steps=2".
 */
struct recorded {
    const char *list;
    const char *net;
    uint64_t tokens;
    int64_t step;
    const char *toggles;
    bool is_forward_only; /* the net's TRAIN is off */
    enum rpl_match_scope scope;
    uint64_t events;
};

static void assert_matches(const struct recorded *r)
{
    struct vs_memlist list = {.events = NULL};
    struct facts_net net = facts_net_read(r->net);
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_match match;
    struct facts_run run;
    struct rpl_match_options options = {.scope = r->scope, .first_seq = 1};

    read_list(r->list, &list);
    if (r->tokens)
        facts_net_set(&net, "LENGTH", r->tokens);
    if (r->is_forward_only)
        facts_net_set(&net, "TRAIN", 0);
    run = facts_run_net(&net, r->toggles, false, NULL);
    if (r->step >= 0 &&
        rpl_match_first_event(run.trace, r->step, VS_PHASE_COUNT, &options.first_seq, &err))
        fail_msg("%s", err.text);
    if (rpl_match_fill(&match, &list, run.trace, &options, &err))
        fail_msg("%s", err.text);
    print_message("%s: matched %" PRIu64 " of %" PRIu64 " events\n", r->list, match.same_events,
                  match.events);
    rpl_match_text(&match, &text);
    if (!rpl_match_is_equal(&match))
        print_error("%s", vs_text_get(&text));
    assert_int_equal(match.events, r->events);
    assert_int_equal(match.same_events, r->events);
    assert_true(rpl_match_is_equal(&match));
    vs_text_clear(&text);
    vs_text_addf(&text, "%s%s%s", r->list, *r->toggles ? ", " : "", r->toggles);
    page_count_check(vs_text_get(&text), match.same_events, match.events);
    vs_text_release(&text);
    rpl_match_release(&match);
    facts_run_release(&run);
    facts_net_release(&net);
    vs_memlist_release(&list);
}

static void training_with_200_tokens_is_as_recorded(void **state)
{
    const struct recorded r = {.list = "lm4_train_ctx200",
                               .net = "sample_nets/lm4.py",
                               .tokens = 200,
                               .step = -1,
                               .toggles = "",
                               .events = 7536};

    (void)state;
    assert_matches(&r);
}

static void training_with_100_tokens_is_as_recorded(void **state)
{
    const struct recorded r = {.list = "lm4_train_ctx100",
                               .net = "sample_nets/lm4.py",
                               .tokens = 100,
                               .step = -1,
                               .toggles = "",
                               .events = 7536};

    (void)state;
    assert_matches(&r);
}

static void forward_with_100_tokens_is_as_recorded(void **state)
{
    const struct recorded r = {.list = "lm4_forward_ctx100",
                               .net = "sample_nets/lm4_forward.py",
                               .tokens = 100,
                               .step = -1,
                               .toggles = "",
                               .events = 1528};

    (void)state;
    assert_matches(&r);
}

/*
 * The second step, including the scratch memory of sorting. The recording starts in the middle of the run, so addresses
 * of segments are not compared.
 */
static void a_step_of_24_layers_is_as_recorded(void **state)
{
    struct recorded r = {.list = "lm24_train_step_ctx128",
                         .net = "tests/nets/recorded/lm24.py",
                         .step = 5,
                         .toggles = "",
                         .events = 12829};

    (void)state;
    assert_matches(&r);
    r.toggles = "target=a100-80 workspace=2.9";
    r.scope = RPL_MATCH_ALLOCATIONS;
    r.events = 12831;
    assert_matches(&r);
}

static void a_forward_of_24_layers_is_as_recorded(void **state)
{
    const struct recorded r = {.list = "lm24_infer_ctx1024",
                               .net = "tests/nets/recorded/lm24.py",
                               .tokens = 1024,
                               .step = 1,
                               .toggles = "steps=2",
                               .is_forward_only = true,
                               .events = 2560};

    (void)state;
    assert_matches(&r);
}

/*
 * 3.4 billion parameters, 55 GB. Its reductions were split as on 132 multiprocessors: the second run has all their
 * buffers, up to 553,648,128 bytes for the maxima of the logits.
 */
static void a_step_of_32_wide_layers_is_as_recorded(void **state)
{
    struct recorded r = {.list = "lm27b_train_ctx512",
                         .net = "tests/nets/recorded/lm27b.py",
                         .step = 1,
                         .toggles = "torch=2.6",
                         .events = 12391};

    (void)state;
    assert_matches(&r);
    r.toggles = "torch=2.6 target=h100 workspace=2.6";
    r.scope = RPL_MATCH_ALLOCATIONS;
    r.events = 12663;
    assert_matches(&r);
}

static void an_image_that_is_trained_is_as_recorded(void **state)
{
    const struct recorded r = {.list = "cnn_input_optim",
                               .net = "tests/nets/recorded/cnn_input_optim.py",
                               .toggles = "",
                               .events = 3000};

    (void)state;
    assert_matches(&r);
}

static void attention_by_hand_is_as_recorded(void **state)
{
    const struct recorded r = {.list = "attention_3g",
                               .net = "tests/nets/recorded/attention.py",
                               .step = -1,
                               .toggles = "",
                               .events = 56};

    (void)state;
    assert_matches(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_with_200_tokens_is_as_recorded),
        cmocka_unit_test(training_with_100_tokens_is_as_recorded),
        cmocka_unit_test(forward_with_100_tokens_is_as_recorded),
        cmocka_unit_test(a_step_of_24_layers_is_as_recorded),
        cmocka_unit_test(a_forward_of_24_layers_is_as_recorded),
        cmocka_unit_test(a_step_of_32_wide_layers_is_as_recorded),
        cmocka_unit_test(an_image_that_is_trained_is_as_recorded),
        cmocka_unit_test(attention_by_hand_is_as_recorded),
    };

    return cmocka_run_group_tests_name("facts/recorded", tests, NULL, NULL);
}
