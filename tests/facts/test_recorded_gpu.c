/*
 * tests/facts/test_recorded_gpu.c - whole recordings of a real GPU against ours: with the library's workspaces and the
 * kernels' scratch, with every segment and every address, and with the device's own peaks.
 *
 * test_recorded.c has the same recordings without what is not a tensor's. The GPU is not known; any whose cuBLAS
 * workspace has 8,519,680 bytes gives the same list. The same from the command line:
 *
 *     vramscope match sample_nets/lm4.py tests/golden/alloc/lm4_train_ctx200.0.txt --target a100-40 --workspace 2.6
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/alloc_history/memlist.h"
#include "recording/memlist.h"
#include "replay/match/match.h"
#include "replay/report/summary.h"
#include "tests/engine/alloc_lists.h"
#include "tests/facts/facts.h"
#include "tests/page_count.h"
#include "whatif/whatif.h"

static void read_list(const char *recording, struct vs_memlist *list)
{
    struct vs_error err = VS_ERROR_INIT;
    char path[128];

    snprintf(path, sizeof(path), ALLOC_LISTS_DIR "/%s.0.txt", recording);
    if (rec_memlist_read(path, -1, list, &err))
        fail_msg("%s", err.text);
}

static struct rpl_trace *run_net(const char *net_file, uint64_t tokens, const char *toggles,
                                 const struct vs_memlist *list)
{
    struct facts_net net = facts_net_read(net_file);
    struct rpl_trace *base = rpl_trace_new(), *trace = rpl_trace_new();
    struct vs_error err = VS_ERROR_INIT;
    struct vs_toggles set = {{NULL}};
    uint64_t *addresses;
    size_t count = vs_memlist_segment_addresses(list, &addresses);

    facts_net_set(&net, "LENGTH", tokens);
    facts_toggles(toggles, &set);
    rpl_trace_set_source(base, net.path, net.text);
    if (wif_run_placed(base, &set, addresses, count, trace, &err))
        fail_msg("%s", err.text);
    vs_free(addresses);
    vs_toggles_release(&set);
    rpl_trace_free(base);
    facts_net_release(&net);
    return trace;
}

static void assert_peaks(struct rpl_trace *trace, const struct vs_memlist *list)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_record_peaks peaks;
    struct rpl_summary sum;

    memset(&sum, 0, sizeof(sum));
    if (eng_record_peaks_of(list, &peaks, &err) || rpl_summary_fill(&sum, trace, &err))
        fail_msg("%s", err.text);
    assert_int_equal(sum.peak.allocated, peaks.allocated);
    assert_int_equal(sum.peak.requested, peaks.requested);
    assert_int_equal(sum.peak.reserved, peaks.reserved);
    rpl_summary_release(&sum);
}

static void assert_matches(const char *recording, const char *net_file, uint64_t tokens,
                           const char *toggles, uint64_t events)
{
    const struct rpl_match_options options = {.scope = RPL_MATCH_ALL, .first_seq = 1};
    struct vs_memlist list = {.events = NULL};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_match match;
    struct rpl_trace *trace;

    read_list(recording, &list);
    trace = run_net(net_file, tokens, toggles, &list);
    if (rpl_match_fill(&match, &list, trace, &options, &err))
        fail_msg("%s", err.text);
    print_message("%s: matched %" PRIu64 " of %" PRIu64 " events\n", recording, match.same_events,
                  match.events);
    rpl_match_text(&match, &text);
    if (!rpl_match_is_equal(&match))
        print_error("%s", vs_text_get(&text));
    assert_int_equal(match.events, events);
    assert_int_equal(match.same_events, events);
    assert_true(rpl_match_is_equal(&match));
    assert_peaks(trace, &list);
    vs_text_clear(&text);
    vs_text_addf(&text, "%s, %s", recording, toggles);
    page_count_check(vs_text_get(&text), match.same_events, match.events);
    vs_text_release(&text);
    rpl_match_release(&match);
    rpl_trace_free(trace);
    vs_memlist_release(&list);
}

#define GPU "target=a100-40 workspace=2.6"

static void training_with_200_tokens_is_as_recorded(void **state)
{
    (void)state;
    assert_matches("lm4_train_ctx200", "sample_nets/lm4.py", 200, GPU, 11480);
}

static void training_with_100_tokens_is_as_recorded(void **state)
{
    (void)state;
    assert_matches("lm4_train_ctx100", "sample_nets/lm4.py", 100, GPU, 11300);
}

static void forward_with_100_tokens_is_as_recorded(void **state)
{
    (void)state;
    assert_matches("lm4_forward_ctx100", "sample_nets/lm4_forward.py", 100, GPU, 2304);
}

static void only_workspaces_depend_on_the_gpu(void **state)
{
    (void)state;
    assert_matches("lm4_train_ctx200", "sample_nets/lm4.py", 200, "target=t4 workspace=2.6", 11480);
    assert_matches("lm4_train_ctx200", "sample_nets/lm4.py", 200, "target=l40s workspace=2.9",
                   11480);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_with_200_tokens_is_as_recorded),
        cmocka_unit_test(training_with_100_tokens_is_as_recorded),
        cmocka_unit_test(forward_with_100_tokens_is_as_recorded),
        cmocka_unit_test(only_workspaces_depend_on_the_gpu),
    };

    return cmocka_run_group_tests_name("facts/recorded_gpu", tests, NULL, NULL);
}
