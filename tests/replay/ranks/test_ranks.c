/*
 * tests/replay/ranks/test_ranks.c - the traces of several ranks: which are alike, which peaks, what differs and where.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/ranks/ranks.h"
#include "tests/replay/make_trace.h"

/* How the second half of a step differs. */
enum variant { PLAIN, OTHER_ORDER_OF_FREES, MORE_AT_LINE_7, NO_GRADIENT };

static void line(struct make *m, uint32_t number)
{
    m->line = number;
    m->func = "train.py:main";
}

/*
 * Two parameters, then two activations of 1,024 and 2,048 bytes, which are freed one after the other, and a gradient of
 * 4,096. The peak of PLAIN is at the gradient: 4,096 + 4,096 bytes, or with the activations 3,072 + 4,096 + 4,096.
 */
static struct rpl_trace *trace_make(const char *rank, enum variant variant)
{
    struct make m;

    make_init(&m);
    line(&m, 3);
    (void)make_segment(&m, VS_EV_SEGMENT_ALLOC, 2097152);
    (void)make_alloc(&m, 4096, VS_CAT_PARAMETER);
    (void)make_step(&m, 0);
    (void)make_phase(&m, VS_PHASE_FORWARD);
    line(&m, 6);
    (void)make_alloc(&m, 1024, VS_CAT_ACTIVATION);
    line(&m, 7);
    (void)make_alloc(&m, variant == MORE_AT_LINE_7 ? 8192 : 2048, VS_CAT_ACTIVATION);
    (void)make_phase(&m, VS_PHASE_BACKWARD);
    line(&m, 8);
    if (variant != NO_GRADIENT)
        (void)make_alloc(&m, 4096, VS_CAT_GRADIENT);
    if (variant == OTHER_ORDER_OF_FREES) {
        (void)make_free(&m, 3, 2048);
        (void)make_free(&m, 2, 1024);
    } else {
        (void)make_free(&m, 2, 1024);
        (void)make_free(&m, 3, variant == MORE_AT_LINE_7 ? 8192 : 2048);
    }
    if (rank)
        rpl_trace_set_meta(m.trace, "rank", rank);
    return m.trace;
}

static void filled(struct rpl_ranks *ranks)
{
    struct vs_error err = VS_ERROR_INIT;

    if (rpl_ranks_fill(ranks, NULL, NULL, &err))
        fail_msg("%s", err.text);
}

static void text_has(const struct rpl_ranks *ranks, const char *words)
{
    struct vs_text text = {NULL, 0, 0};

    rpl_ranks_text(ranks, 10, &text);
    if (!strstr(vs_text_get(&text), words))
        fail_msg("`%s` is not in:\n%s", words, vs_text_get(&text));
    vs_text_release(&text);
}

static void ranks_with_the_same_events_are_alike(void **state)
{
    struct rpl_ranks ranks = {.count = 0};

    (void)state;
    rpl_ranks_take(&ranks, "b", trace_make("1", OTHER_ORDER_OF_FREES));
    rpl_ranks_take(&ranks, "a", trace_make("0", PLAIN));
    filled(&ranks);
    assert_int_equal(ranks.items[0].number, 0);
    assert_int_equal(ranks.items[1].like, 0);
    assert_int_equal(ranks.highest, 0);
    assert_int_equal(ranks.diff_count, 0);
    text_has(&ranks, "2 ranks: peak allocated 11.0 KiB (11,264 bytes) in each; reserved at most "
                     "2.0 MiB (rank 0)");
    text_has(&ranks, "All ranks have the same events of the allocator.");
    text_has(&ranks, "events as in rank 0");
    rpl_ranks_release(&ranks);
}

static void the_line_that_makes_a_rank_peak_higher_is_named(void **state)
{
    struct rpl_ranks ranks = {.count = 0};
    const struct rpl_rank_diff *diff;

    (void)state;
    for (int i = 0; i < 4; i++) {
        const char number[] = {(char)('0' + i), '\0'};

        rpl_ranks_take(&ranks, number, trace_make(number, i == 2 ? MORE_AT_LINE_7 : PLAIN));
    }
    filled(&ranks);
    assert_int_equal(ranks.highest, 2);
    assert_int_equal(ranks.lowest, 0);
    assert_int_equal(ranks.diff_count, 1); /* 0, 1 and 3 are alike */
    diff = &ranks.diffs[0];
    assert_int_equal(diff->a, 2);
    assert_int_equal(diff->b, 0);
    assert_int_equal(diff->first, 4); /* segment, parameter, line 6, line 7 */
    assert_int_equal(diff->seq_a, diff->seq_b);
    assert_int_equal(diff->change_count, 1);
    assert_int_equal(diff->changes[0].a, 8192);
    assert_int_equal(diff->changes[0].b, 2048);
    assert_int_equal(diff->changes[0].category, VS_CAT_ACTIVATION);
    assert_non_null(strstr(diff->changes[0].text, "line 7"));
    text_has(&ranks, "rank 0 differs from rank 2 from event 4 of the allocator on");
    text_has(&ranks, "rank 2: alloc of 8,192 bytes, train.py:main line 7");
    text_has(&ranks, "rank 0: alloc of 2,048 bytes, train.py:main line 7");
    rpl_ranks_release(&ranks);
}

/* Of two ranks one may end, or allocate, where the other frees. */
static void the_first_event_that_differs_is_found_among_frees(void **state)
{
    struct rpl_ranks ranks = {.count = 0};

    (void)state;
    rpl_ranks_take(&ranks, "a", trace_make("0", PLAIN));
    rpl_ranks_take(&ranks, "b", trace_make("1", NO_GRADIENT));
    filled(&ranks);
    assert_int_equal(ranks.diff_count, 1);
    assert_int_equal(ranks.diffs[0].first, 5);
    text_has(&ranks, "rank 0: alloc of 4,096 bytes, train.py:main line 8");
    text_has(&ranks, "rank 1: free of 1,024 bytes");
    text_has(&ranks, "-4.0 KiB  gradient");
    rpl_ranks_release(&ranks);
}

static void a_rank_that_ends_earlier_has_no_further_events(void **state)
{
    struct rpl_ranks ranks = {.count = 0};
    struct make m;

    (void)state;
    make_init(&m);
    line(&m, 3);
    (void)make_segment(&m, VS_EV_SEGMENT_ALLOC, 2097152);
    (void)make_alloc(&m, 4096, VS_CAT_PARAMETER);
    rpl_trace_set_meta(m.trace, "rank", "1");
    rpl_ranks_take(&ranks, "a", trace_make("0", PLAIN));
    rpl_ranks_take(&ranks, "b", m.trace);
    filled(&ranks);
    assert_int_equal(ranks.diffs[0].first, 3);
    assert_int_equal(ranks.diffs[0].seq_b, 0);
    text_has(&ranks, "rank 1: no further events");
    rpl_ranks_release(&ranks);
}

static void traces_without_a_rank_come_last_and_are_named_by_their_files(void **state)
{
    struct rpl_ranks ranks = {.count = 0};

    (void)state;
    rpl_ranks_take(&ranks, "x/first.db", trace_make(NULL, MORE_AT_LINE_7));
    rpl_ranks_take(&ranks, "x/second.db", trace_make(NULL, PLAIN));
    rpl_ranks_take(&ranks, "x/third.db", trace_make("12", PLAIN));
    filled(&ranks);
    assert_int_equal(ranks.items[0].number, 12);
    assert_string_equal(ranks.items[1].path, "x/first.db");
    assert_string_equal(ranks.items[2].path, "x/second.db");
    assert_int_equal(ranks.items[2].like, 0);
    text_has(&ranks, "in first.db, 11.0 KiB in rank 12");
    rpl_ranks_release(&ranks);
}

static void collectives_of_which_a_rank_has_more_are_listed(void **state)
{
    struct rpl_ranks ranks = {.count = 0};
    struct rpl_trace *a = trace_make("0", MORE_AT_LINE_7);
    struct rpl_trace *b = trace_make("1", PLAIN);
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    rpl_trace_set_meta(a, "collectives",
                       "3 4096 ncclAllGather | 2 16 ncclAllReduce | 1 8 ncclRecv");
    rpl_trace_set_meta(b, "collectives", "2 16 ncclAllReduce | 1 1024 ncclRecv | 5 80 ncclSend");
    rpl_ranks_take(&ranks, "a", a);
    rpl_ranks_take(&ranks, "b", b);
    filled(&ranks);
    text_has(&ranks, "ncclAllGather: 3 of 4.0 KiB, and 0 of 0 B\n");
    text_has(&ranks, "ncclRecv: 1 of 8 B, and 1 of 1.0 KiB\n");
    text_has(&ranks, "ncclSend: 0 of 0 B, and 5 of 80 B\n");
    rpl_ranks_text(&ranks, 10, &text);
    assert_null(strstr(vs_text_get(&text), "ncclAllReduce"));
    vs_text_release(&text);
    rpl_ranks_release(&ranks);
}

static void a_list_of_collectives_that_is_damaged_is_read_to_its_end(void **state)
{
    static const char *const LISTS[] = {"", "x", "1", "1 2", "1 2 ", " | ", "1 2 a | ", "9 9 a|b"};
    struct rpl_collective collective;

    (void)state;
    for (size_t i = 0; i < sizeof(LISTS) / sizeof(LISTS[0]); i++) {
        const char *list = LISTS[i];
        int count = 0;

        while (rpl_collective_next(&list, &collective))
            assert_true(++count < 4);
    }
}

static void json_has_ranks_and_differences(void **state)
{
    struct rpl_ranks ranks = {.count = 0};
    struct vs_text text = {NULL, 0, 0};
    struct vs_json json;

    (void)state;
    rpl_ranks_take(&ranks, "a.db", trace_make("0", PLAIN));
    rpl_ranks_take(&ranks, "b.db", trace_make("1", MORE_AT_LINE_7));
    filled(&ranks);
    vs_json_init(&json, &text);
    rpl_ranks_json(&ranks, &json);
    assert_non_null(strstr(vs_text_get(&text), "\"highest\": \"b.db\""));
    assert_non_null(strstr(vs_text_get(&text), "\"allocated_delta\": -6144"));
    assert_non_null(strstr(vs_text_get(&text), "\"first\": 4"));
    vs_text_release(&text);
    rpl_ranks_release(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_with_the_same_events_are_alike),
        cmocka_unit_test(the_line_that_makes_a_rank_peak_higher_is_named),
        cmocka_unit_test(the_first_event_that_differs_is_found_among_frees),
        cmocka_unit_test(a_rank_that_ends_earlier_has_no_further_events),
        cmocka_unit_test(traces_without_a_rank_come_last_and_are_named_by_their_files),
        cmocka_unit_test(collectives_of_which_a_rank_has_more_are_listed),
        cmocka_unit_test(a_list_of_collectives_that_is_damaged_is_read_to_its_end),
        cmocka_unit_test(json_has_ranks_and_differences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
