/*
 * tests/facts/test_lm4.c - two language models' memory as real GPUs recorded it, against ours: allocation by allocation.
 *
 * The lists of tests/golden/alloc were recorded by PyTorch on CUDA: lm4 (2.6) from an empty allocator, model, optimizer state and three
 * steps; lm24 (2.10) the sixth step of a run. Left out are library workspaces and scratch of kernels, which the lists mark as such. What is compared: the kind of each
 * event, the bytes asked for, and which allocation each free gives back. The same from the command line:
 *
 *     vramscope match sample_nets/lm4.py tests/golden/alloc/lm4_train_ctx200.0.txt
 *     vramscope match sample_nets/lm4.py -D LENGTH=100 tests/golden/alloc/lm4_train_ctx100.0.txt
 *     vramscope match sample_nets/lm4_forward.py tests/golden/alloc/lm4_forward_ctx100.0.txt
 *     vramscope match tests/nets/recorded/lm24.py tests/golden/alloc/lm24_train_step_ctx128.0.txt --from 5
 *
 * The net files' own defaults are the recorded programs' (lm4: batch 10, 3 steps; lm24: batch 4, 6 steps; one batch moved once):
 * no toggle is set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "replay/match.h"
#include "store/memlist.h"
#include "tests/engine/alloc_lists.h"
#include "tests/facts/facts.h"

static void read_list(const char *recording, struct vs_memlist *list)
{
    struct vs_error err = VS_ERROR_INIT;
    char path[128];

    snprintf(path, sizeof(path), ALLOC_LISTS_DIR "/%s.0.txt", recording);
    if (sto_memlist_read(path, -1, list, &err))
        fail_msg("%s", err.text);
}

/* The recording begins with our step `step`; -1: with the program. */
static void assert_matches(const char *recording, const char *net_file, uint64_t tokens,
                           int64_t step, uint64_t events)
{
    struct vs_memlist list = {.events = NULL};
    struct facts_net net = facts_net_read(net_file);
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_match match;
    struct facts_run run;
    struct rpl_match_options options = {.scope = RPL_MATCH_TENSORS, .first_seq = 1};

    read_list(recording, &list);
    facts_net_set(&net, "LENGTH", tokens);
    run = facts_run_net(&net, "", false, NULL);
    if (step >= 0 && rpl_match_moment(run.trace, step, VS_PHASE_COUNT, &options.first_seq, &err))
        fail_msg("%s", err.text);
    if (rpl_match_fill(&match, &list, run.trace, &options, &err))
        fail_msg("%s", err.text);
    print_message("%s: matched %" PRIu64 " of %" PRIu64 " events\n", recording, match.same_events,
                  match.events);
    rpl_match_text(&match, &text);
    if (!rpl_match_is_equal(&match))
        print_error("%s", vs_text_get(&text));
    assert_int_equal(match.events, events);
    assert_int_equal(match.same_events, events);
    assert_true(rpl_match_is_equal(&match));
    vs_text_release(&text);
    rpl_match_release(&match);
    facts_run_release(&run);
    facts_net_release(&net);
    vs_memlist_release(&list);
}

static void training_with_200_tokens_is_as_recorded(void **state)
{
    (void)state;
    assert_matches("lm4_train_ctx200", "sample_nets/lm4.py", 200, -1, 7536);
}

static void training_with_100_tokens_is_as_recorded(void **state)
{
    (void)state;
    assert_matches("lm4_train_ctx100", "sample_nets/lm4.py", 100, -1, 7536);
}

static void forward_with_100_tokens_is_as_recorded(void **state)
{
    (void)state;
    assert_matches("lm4_forward_ctx100", "sample_nets/lm4_forward.py", 100, -1, 1528);
}

static void a_step_of_24_layers_is_as_recorded(void **state)
{
    (void)state;
    assert_matches("lm24_train_step_ctx128", "tests/nets/recorded/lm24.py", 128, 5, 12829);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_with_200_tokens_is_as_recorded),
        cmocka_unit_test(training_with_100_tokens_is_as_recorded),
        cmocka_unit_test(forward_with_100_tokens_is_as_recorded),
        cmocka_unit_test(a_step_of_24_layers_is_as_recorded),
    };

    return cmocka_run_group_tests_name("facts/lm4", tests, NULL, NULL);
}
