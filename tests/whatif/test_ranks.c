/*
 * tests/whatif/test_ranks.c - the ranges of ranks that are alike, beside every rank run by itself.
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

#include "tests/replay/net_trace.h"
#include "whatif/ranks.h"
#include "whatif/whatif.h"

/* Allocations and frees of one rank's run, as text. */
static char *events_text(struct rpl_trace *base, uint64_t rank)
{
    struct rpl_trace *run = rpl_trace_new();
    struct rpl_scan *scan = malloc(sizeof(*scan));
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *event;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    char value[24];

    snprintf(value, sizeof(value), "%" PRIu64, rank);
    assert_int_equal(vs_toggles_set(&set, VS_TOGGLE_RANK, value, &err), VS_OK);
    if (wif_run(base, &set, run, &err))
        fail_msg("rank %s: %s", value, err.text);
    rpl_scan_init(scan, run, 1, rpl_trace_event_count(run));
    while ((event = rpl_scan_next(scan, &err)) != NULL)
        if (event->kind == VS_EV_ALLOC || event->kind == VS_EV_FREE)
            fprintf(out, "%d %" PRIu64 " %" PRIu64 "\n", event->kind, event->alloc.block,
                    event->alloc.requested_bytes);
    fclose(out);
    free(scan);
    vs_toggles_release(&set);
    rpl_trace_free(run);
    return text;
}

/* How many kinds of ranks there are: each range is like the first one of its kind, and only like it. */
static size_t kinds_of(const struct wif_ranks *ranks, struct rpl_trace *base)
{
    size_t kinds = 0;

    for (size_t i = 0; i < ranks->count; i++) {
        char *text = events_text(base, ranks->items[i].first);

        assert_true(ranks->items[i].alike <= i);
        kinds += ranks->items[i].alike == i;
        for (size_t k = 0; k < i; k++) {
            char *other = events_text(base, ranks->items[k].first);

            assert_int_equal(strcmp(text, other) == 0,
                             ranks->items[k].alike == ranks->items[i].alike);
            free(other);
        }
        free(text);
    }
    return kinds;
}

static void check(const char *net, const char *toggles, uint64_t world, size_t ranges)
{
    struct rpl_trace *base = net_trace(net, toggles);
    struct wif_ranks ranks = {.count = 0};
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    char *last = NULL;
    uint64_t next = 0;

    if (wif_ranks_fill(&ranks, base, &set, 0, NULL, NULL, &err))
        fail_msg("%s: %s", toggles, err.text);
    assert_int_equal(ranks.world, world);
    assert_int_equal(ranks.count, ranges);
    assert_true(ranks.runs <= world);
    for (size_t i = 0; i < ranks.count; i++) {
        assert_int_equal(ranks.items[i].first, next);
        for (uint64_t rank = next; rank <= ranks.items[i].last; rank++) {
            char *text = events_text(base, rank);

            if (last && (strcmp(last, text) == 0) != (rank > next))
                fail_msg("%s: rank %" PRIu64 " is in the wrong range", toggles, rank);
            free(last);
            last = text;
        }
        next = ranks.items[i].last + 1;
        assert_true(ranks.items[ranks.highest].peak.allocated >= ranks.items[i].peak.allocated);
    }
    assert_int_equal(next, world);
    free(last);
    wif_ranks_release(&ranks);
    rpl_trace_free(base);
}

/* Layers of 50, 40 and 7 rows. */
static void ranges_are_those_of_running_every_rank(void **state)
{
    (void)state;
    check("tests/nets/mlp.py", "shard=fsdp world=4 optimizer=adam steps=2", 4, 2);
    check("tests/nets/mlp.py", "shard=fsdp world=45 optimizer=adam steps=2", 45, 4);
    check("tests/nets/mlp.py", "shard=fsdp world=100 optimizer=adam steps=1", 100, 4);
    check("tests/nets/mlp.py", "shard=fsdp world=6 optimizer=adam steps=1 reshard=off", 6, 4);
}

static void without_state_all_ranks_are_alike(void **state)
{
    (void)state;
    check("tests/nets/mlp.py", "shard=fsdp world=100 steps=1", 100, 1);
    check("tests/nets/mlp.py", "shard=fsdp world=1 optimizer=adam steps=1", 1, 1);
}

/* DeepSpeed pads the partition of each parameter, and its gradient's, to the same size on all ranks. */
static void ranks_of_deepspeed_zero3_are_alike(void **state)
{
    (void)state;
    check("tests/nets/mlp.py", "shard=deepspeed-zero3 world=6 optimizer=adam steps=2", 6, 1);
}

static void ranks_of_a_layer_split_are_alike(void **state)
{
    (void)state;
    check("tests/nets/tp/linear.py",
          "shard=tp world=4 steps=1 tp-plan=0:colwise,2:rowwise,4:colwise,6:rowwise", 4, 1);
}

/* Stages 1 and 3 of equal blocks are not alike: a stage keeps one microbatch less than the one before it. */
static void stages_of_a_pipeline_are_all_run(void **state)
{
    (void)state;
    check("tests/nets/pp/mlp.py", "shard=pp world=4 steps=1 pp-split=1,2,3", 4, 4);
    check("tests/nets/pp/gpt.py", "shard=pp world=4 steps=1 pp-split=layers.1,layers.2,layers.3", 4,
          4);
}

/* Three equal blocks in the middle, of which no stage runs a backward. */
static void stages_beside_each_other_may_be_alike(void **state)
{
    (void)state;
    check("tests/nets/pp/mlp.py",
          "shard=pp world=5 steps=1 pp-split=1,2,3,4 grad=no_grad pp-schedule=gpipe", 5, 3);
}

/* Each rank has another rank in its group of cp than the one before it. */
static void ranks_of_cp_differ_by_their_rank_in_the_group(void **state)
{
    (void)state;
    check("tests/nets/cp/encoder.py", "shard=fsdp world=6 cp=3 mp-policy=bf16 steps=1", 6, 6);
    check("tests/nets/cp/encoder.py",
          "shard=fsdp world=30 cp=5 mp-policy=bf16 steps=1 optimizer=adam", 30, 30);
    check("tests/nets/cp/gqa.py", "shard=fsdp world=2 cp=2 grad=no_grad steps=1", 2, 2);
}

/* Layers of 50, 40 and 7 rows, split anew in each replica; ranks that differ in their rank in tp alone are alike. */
static void replicas_are_alike_and_so_are_ranks_of_one_shard(void **state)
{
    (void)state;
    check("tests/nets/mlp.py", "shard=fsdp world=8 replicate=2 optimizer=adam steps=2", 8, 4);
    check("tests/nets/mlp.py", "shard=fsdp world=4 replicate=4 optimizer=adam steps=1", 4, 1);
    check("tests/nets/gpt_tiny.py",
          "shard=fsdp world=16 replicate=2 tp=2 steps=1 optimizer=adam "
          "tp-plan=blocks.*.fc:colwise,blocks.*.proj:rowwise",
          16, 4);
}

static void ranks_with_the_same_rank_in_their_groups_are_of_one_kind(void **state)
{
    struct rpl_trace *base = net_trace(
        "tests/nets/cp/encoder.py", "shard=fsdp world=9 cp=3 mp-policy=bf16 steps=1 optimizer=sgd");
    struct wif_ranks ranks = {.count = 0};
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(wif_ranks_fill(&ranks, base, &set, 0, NULL, NULL, &err), VS_OK);
    assert_int_equal(ranks.count, 9);
    assert_int_equal(ranks.cp_size, 3);
    assert_int_equal(ranks.runs, 6); /* the first and the last of each */
    assert_int_equal(kinds_of(&ranks, base), 3);
    wif_ranks_release(&ranks);
    rpl_trace_free(base);
}

static void other_ways_to_shard_are_refused(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/mlp.py", "shard=ddp steps=1");
    struct wif_ranks ranks = {.count = 0};
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(wif_ranks_fill(&ranks, base, &set, 0, NULL, NULL, &err), VS_E_UNSUPPORTED);
    assert_string_equal(
        err.text,
        "shard=ddp is followed for rank 0 alone; ranks are compared with --set shard=fsdp");
    wif_ranks_release(&ranks);
    rpl_trace_free(base);
}

static void ranks_without_an_order_are_refused(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/mlp.py", "shard=deepspeed-zero2 steps=1");
    struct wif_ranks ranks = {.count = 0};
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(wif_ranks_fill(&ranks, base, &set, 0, NULL, NULL, &err), VS_E_UNSUPPORTED);
    assert_string_equal(err.text,
                        "shard=deepspeed-zero2: which ranks are alike does not follow from their "
                        "numbers, so all would run; name one with --set rank=N");
    wif_ranks_release(&ranks);
    rpl_trace_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_those_of_running_every_rank),
        cmocka_unit_test(without_state_all_ranks_are_alike),
        cmocka_unit_test(ranks_of_deepspeed_zero3_are_alike),
        cmocka_unit_test(ranks_of_a_layer_split_are_alike),
        cmocka_unit_test(stages_of_a_pipeline_are_all_run),
        cmocka_unit_test(stages_beside_each_other_may_be_alike),
        cmocka_unit_test(ranks_of_cp_differ_by_their_rank_in_the_group),
        cmocka_unit_test(replicas_are_alike_and_so_are_ranks_of_one_shard),
        cmocka_unit_test(ranks_with_the_same_rank_in_their_groups_are_of_one_kind),
        cmocka_unit_test(other_ways_to_shard_are_refused),
        cmocka_unit_test(ranks_without_an_order_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
