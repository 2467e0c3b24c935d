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
enum variant { PLAIN, OTHER_ORDER_OF_FREES, MORE_AT_LINE_7, NO_GRADIENT, OTHER_LINES };

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
    line(&m, variant == OTHER_LINES ? 16 : 6);
    (void)make_alloc(&m, 1024, VS_CAT_ACTIVATION);
    line(&m, variant == OTHER_LINES ? 17 : 7);
    (void)make_alloc(&m,
                     variant == MORE_AT_LINE_7 ? 8192
                     : variant == OTHER_LINES  ? 1536
                                               : 2048,
                     VS_CAT_ACTIVATION);
    (void)make_phase(&m, VS_PHASE_BACKWARD);
    line(&m, 8);
    if (variant != NO_GRADIENT)
        (void)make_alloc(&m, 4096, VS_CAT_GRADIENT);
    if (variant == OTHER_ORDER_OF_FREES) {
        (void)make_free(&m, 3, 2048);
        (void)make_free(&m, 2, 1024);
    } else {
        (void)make_free(&m, 2, 1024);
        (void)make_free(&m, 3,
                        variant == MORE_AT_LINE_7 ? 8192
                        : variant == OTHER_LINES  ? 1536
                                                  : 2048);
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
    text_has(&ranks, "rank 0 differs from rank 2 after 3 events of the allocator that are alike");
    text_has(&ranks, "both until rank 2: alloc of 1,024 bytes, train.py:main line 6 (event ");
    assert_int_equal(diff->common_a, diff->common_b);
    assert_true(diff->common_a < diff->seq_a);
    assert_int_equal(diff->block_count, 1); /* its counterpart is found by its place */
    assert_int_equal(diff->blocks[0].a, 8192);
    assert_int_equal(diff->blocks[0].b, 2048);
    assert_non_null(strstr(diff->blocks[0].text, "activation, train.py:main:7"));
    text_has(&ranks, "rank 2: alloc of 8,192 bytes, train.py:main line 7");
    text_has(&ranks, "rank 0: alloc of 2,048 bytes, train.py:main line 7");
    rpl_ranks_release(&ranks);
}

/* The axis is the step of the highest peak, phase by phase; ranks that are alike have one column. */
/* `if rank == 0: … else: …`: lines 6 and 7 of rank 0 are 16 and 17 of rank 1, and 512 bytes differ. */
static void lines_of_one_function_that_only_one_rank_runs_are_laid_beside_each_other(void **state)
{
    struct rpl_ranks ranks = {.count = 0};
    const struct rpl_rank_diff *diff;

    (void)state;
    rpl_ranks_take(&ranks, "0", trace_make("0", PLAIN));
    rpl_ranks_take(&ranks, "1", trace_make("1", OTHER_LINES));
    filled(&ranks);
    assert_int_equal(ranks.highest, 0);
    assert_int_equal(ranks.diff_count, 1);
    diff = &ranks.diffs[0];
    assert_int_equal(diff->change_count, 1); /* 1,024 bytes are the same in both */
    assert_int_equal(diff->changes[0].a, 2048);
    assert_int_equal(diff->changes[0].b, 1536);
    assert_string_equal(diff->changes[0].text, "line 7, of rank 1 line 17 | train.py:main");
    rpl_ranks_release(&ranks);
}

static void ranks_stand_beside_each_other_by_phase(void **state)
{
    struct rpl_ranks ranks = {.count = 0};

    (void)state;
    rpl_ranks_take(&ranks, "a", trace_make("0", NO_GRADIENT));
    rpl_ranks_take(&ranks, "b", trace_make("1", MORE_AT_LINE_7));
    rpl_ranks_take(&ranks, "c", trace_make("2", NO_GRADIENT));
    filled(&ranks);
    assert_int_equal(rpl_ranks_phase(&ranks, 0, VS_PHASE_FORWARD)->allocated_peak,
                     4096 + 1024 + 2048);
    assert_int_equal(rpl_ranks_phase(&ranks, 1, VS_PHASE_BACKWARD)->allocated_peak,
                     4096 + 1024 + 8192 + 4096);
    assert_null(rpl_ranks_phase(&ranks, 1, VS_PHASE_OPTIMIZER));
    text_has(&ranks, "  step 0              rank 1        rank 0  highest in each phase\n"
                     "  forward           13.0 KiB       7.0 KiB\n"
                     "  backward          17.0 KiB       7.0 KiB\n\n");
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
    text_has(&ranks, "allocated at the two peaks, by line (A is rank 0, B is rank 1)\n");
    assert_int_equal(ranks.diffs[0].block_count, 1);
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

/* A segment of `bytes` at each of the times, in ns. */
static struct rpl_trace *segments_at(const char *rank, const char *began_us, const char *visible,
                                     uint64_t bytes, const uint64_t *times, size_t count)
{
    struct make m;

    make_init(&m);
    for (size_t i = 0; i < count; i++) {
        (void)make_event(&m, (struct vs_event){.kind = VS_EV_SEGMENT_ALLOC,
                                               .time_ns = times[i],
                                               .segment = {.bytes = bytes,
                                                           .address = (i + 1) << 32,
                                                           .size_pool = VS_SEGMENT_LARGE}});
    }
    rpl_trace_set_meta(m.trace, "rank", rank);
    rpl_trace_set_meta(m.trace, "device_number", "0");
    if (began_us)
        rpl_trace_set_meta(m.trace, "began_us", began_us);
    if (visible)
        rpl_trace_set_meta(m.trace, "cuda_visible_devices", visible);
    return m.trace;
}

/*
 * Rank 0 takes 1 MiB at 0, 1 and 4 ms of the system clock, rank 1, which began 2 ms later, 4 MiB at 2 and 3 ms.
 * Together they have most at 3 ms, 2 + 8 MiB: rank 1 ends there.
 */
static void processes_that_share_a_gpu_are_added_up_over_time(void **state)
{
    static const uint64_t A[] = {0, 1000000, 4000000};
    static const uint64_t B[] = {0, 1000000};
    struct rpl_ranks ranks = {.count = 0};
    struct rpl_shared *gpu;

    (void)state;
    rpl_ranks_take(&ranks, "a.db", segments_at("0", "5000000", NULL, 1 << 20, A, 3));
    rpl_ranks_take(&ranks, "b.db", segments_at("1", "5002000", NULL, 4 << 20, B, 2));
    rpl_ranks_take(&ranks, "c.db",
                   segments_at("2", "5000000", "1", 64 << 20, A, 3));             /* on another */
    rpl_ranks_take(&ranks, "d.db", segments_at("3", NULL, NULL, 64 << 20, A, 3)); /* no time */
    filled(&ranks);
    assert_int_equal(ranks.shared_count, 1);
    gpu = &ranks.shared[0];
    assert_string_equal(gpu->name, "0");
    assert_int_equal(gpu->part_count, 2);
    assert_int_equal(gpu->together, 10 << 20);
    assert_int_equal(gpu->alone, 11 << 20);
    assert_int_equal(gpu->at_ns, 3000000);
    assert_int_equal(gpu->parts[0].bytes, 2 << 20);
    assert_int_equal(gpu->parts[0].highest, 3 << 20);
    assert_int_equal(gpu->parts[1].bytes, 8 << 20);
    /* 4 ms in points of a power of two nanoseconds; the second ends at 3 ms */
    assert_int_equal(gpu->point_ns, 8192);
    assert_int_equal(gpu->point_count, 4000000 / 8192 + 1);
    for (size_t i = 0; i < gpu->point_count; i++) {
        const uint64_t from = i * 8192;

        assert_int_equal(gpu->curve[2 * i], (from + 8191 < 1000000   ? 1
                                             : from + 8191 < 4000000 ? 2
                                                                     : 3)
                                                << 20);
        assert_int_equal(gpu->curve[2 * i + 1], (from + 8191 < 2000000   ? 0
                                                 : from + 8191 < 3000000 ? 4
                                                 : from <= 3000000       ? 8
                                                                         : 0)
                                                    << 20);
    }
    text_has(&ranks, "GPU 0 is shared by 2 processes: together they have at most 10.0 MiB, 0.003 s "
                     "after the first "
                     "event; 11.0 MiB if all had most at once\n"
                     "  rank 0: 2.0 MiB of them, at most 3.0 MiB, in PyTorch's segments\n");
    rpl_ranks_release(&ranks);
}

/* Each machine has a GPU 0. A trace that does not say where it was recorded is taken for one of the first machine. */
static void gpus_of_several_machines_are_not_one(void **state)
{
    static const uint64_t A[] = {0};
    static const char *const MACHINES[] = {"0 a 1", "0 b 2", NULL, "0 b 2"};
    static const char *const RANKS[] = {"0", "1", "2", "3"};
    struct rpl_ranks ranks = {.count = 0};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct rpl_trace *trace = segments_at(RANKS[i], "5000000", NULL, 1 << 20, A, 1);

        if (MACHINES[i])
            rpl_trace_set_meta(trace, "rerun_recorded_by", MACHINES[i]);
        rpl_ranks_take(&ranks, RANKS[i], trace);
    }
    filled(&ranks);
    assert_int_equal(ranks.shared_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(ranks.shared[i].name, "0");
        assert_int_equal(ranks.shared[i].part_count, 2);
        assert_int_equal(ranks.shared[i].parts[0].rank, i);
        assert_int_equal(ranks.shared[i].parts[1].rank, i + 2);
    }
    rpl_ranks_release(&ranks);
}

/* What the driver gave is more than PyTorch's segments, and is what counts. */
static void the_driver_says_what_a_process_has_of_a_shared_gpu(void **state)
{
    static const uint64_t A[] = {0};
    struct rpl_ranks ranks = {.count = 0};
    struct vs_text text = {NULL, 0, 0};
    struct vs_json json;
    struct make m;

    (void)state;
    make_init(&m);
    (void)make_alloc(&m, 3 << 20, VS_CAT_OTHER);
    rpl_trace_set_meta(m.trace, "began_us", "5000000");
    rpl_ranks_take(&ranks, "a.db", segments_at("0", "5000000", "GPU-7", 1 << 20, A, 1));
    rpl_ranks_take(&ranks, "b.db", segments_at("1", "5000000", "GPU-7", 1 << 20, A, 1));
    ranks.items[0].driver = m.trace;
    filled(&ranks);
    assert_int_equal(ranks.shared[0].parts[0].highest, 3 << 20);
    assert_true(ranks.shared[0].parts[0].is_driver);
    text_has(&ranks, "GPU GPU-7 is shared by 2 processes");
    text_has(&ranks, "at most 3.0 MiB, as the driver gave it");
    vs_json_init(&json, &text);
    rpl_ranks_json(&ranks, &json);
    assert_non_null(strstr(vs_text_get(&text), "\"gpu\": \"GPU-7\""));
    assert_non_null(strstr(vs_text_get(&text), "\"of\": \"driver\""));
    vs_text_release(&text);
    rpl_ranks_release(&ranks);
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
    assert_non_null(strstr(vs_text_get(&text), "\"blocks\": ["));
    assert_non_null(strstr(vs_text_get(&text), "{\"phase\": \"backward\", \"allocated\": 17408,"));
    vs_text_release(&text);
    rpl_ranks_release(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_with_the_same_events_are_alike),
        cmocka_unit_test(the_line_that_makes_a_rank_peak_higher_is_named),
        cmocka_unit_test(lines_of_one_function_that_only_one_rank_runs_are_laid_beside_each_other),
        cmocka_unit_test(ranks_stand_beside_each_other_by_phase),
        cmocka_unit_test(the_first_event_that_differs_is_found_among_frees),
        cmocka_unit_test(a_rank_that_ends_earlier_has_no_further_events),
        cmocka_unit_test(traces_without_a_rank_come_last_and_are_named_by_their_files),
        cmocka_unit_test(collectives_of_which_a_rank_has_more_are_listed),
        cmocka_unit_test(a_list_of_collectives_that_is_damaged_is_read_to_its_end),
        cmocka_unit_test(processes_that_share_a_gpu_are_added_up_over_time),
        cmocka_unit_test(gpus_of_several_machines_are_not_one),
        cmocka_unit_test(the_driver_says_what_a_process_has_of_a_shared_gpu),
        cmocka_unit_test(json_has_ranks_and_differences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
