/*
 * tests/replay/test_diff.c - what differs between two traces adds up, to the byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "replay/diff.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/net_trace.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static void assert_adds_up(const struct rpl_diff_part *part, const char *what)
{
    uint64_t a = 0;
    uint64_t b = 0;
    int64_t delta = 0;

    for (size_t i = 0; i < part->row_count; i++) {
        a += part->rows[i].a;
        b += part->rows[i].b;
        delta += (int64_t)(part->rows[i].b - part->rows[i].a);
    }
    if (a != part->a || b != part->b || delta != (int64_t)(part->b - part->a))
        fail_msg("%s: rows add up to %" PRIu64 " and %" PRIu64 ", not to %" PRIu64 " and %" PRIu64,
                 what, a, b, part->a, part->b);
}

/* Two traces, their indexes, and what differs by `by`. */
struct pair {
    struct rpl_trace *traces[2];
    struct rpl_index *indexes[2];
    struct rpl_diff diff;
};

static void pair_open(struct pair *pair, struct rpl_trace *a, struct rpl_trace *b)
{
    struct vs_error err = VS_ERROR_INIT;

    memset(pair, 0, sizeof(*pair));
    pair->traces[0] = a;
    pair->traces[1] = b;
    for (int i = 0; i < 2; i++)
        ok(rpl_index_open(pair->traces[i], NULL, NULL, &pair->indexes[i], &err), &err);
}

static void pair_compare(struct pair *pair, enum rpl_diff_by by)
{
    struct vs_error err = VS_ERROR_INIT;

    rpl_diff_release(&pair->diff);
    ok(rpl_diff_fill(&pair->diff, pair->indexes[0], pair->indexes[1], by, &err), &err);
}

static void pair_release(struct pair *pair)
{
    rpl_diff_release(&pair->diff);
    for (int i = 0; i < 2; i++) {
        rpl_index_free(pair->indexes[i]);
        rpl_trace_free(pair->traces[i]);
    }
}

static const struct {
    const char *net;
    const char *toggles;
} RUNS[] = {
    {"tests/nets/conv_small.py", "inplace=on"},
    {"tests/nets/gpt_tiny.py", "checkpoint=blocks"},
    {"tests/nets/resnet_small.py", "amp=fp16"},
    {"tests/nets/unet_small.py", "optimizer=adam"},
    {"tests/nets/vit_small.py", "accumulate=2"},
    {"tests/nets/mlp.py", "batch=3"},
    {"tests/nets/leak_loss.py", "zero-grad=zeros"},
    {"sample_nets/lenet.py", "optimizer=sgd amp=bf16 batch=16"},
    {"sample_nets/variables.py", "grad=no_grad"},
};
#define RUN_COUNT (sizeof(RUNS) / sizeof(RUNS[0]))

static void rows_add_up_to_the_difference_of_the_peaks(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUN_COUNT; i++) {
        struct pair pair;

        pair_open(&pair, net_trace(RUNS[i].net, NULL), net_trace(RUNS[i].net, RUNS[i].toggles));
        for (int by = 0; by < RPL_DIFF_BY_COUNT; by++) {
            pair_compare(&pair, (enum rpl_diff_by)by);
            assert_int_equal(pair.diff.moment.a, pair.diff.a.sum.peak.allocated);
            assert_int_equal(pair.diff.moment.b, pair.diff.b.sum.peak.allocated);
            assert_adds_up(&pair.diff.moment, RUNS[i].net);
            assert_false(pair.diff.is_same);
        }
        pair_release(&pair);
    }
}

static void a_run_does_not_differ_from_its_repetition(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUN_COUNT; i++) {
        struct pair pair;

        pair_open(&pair, net_trace(RUNS[i].net, RUNS[i].toggles),
                  net_trace(RUNS[i].net, RUNS[i].toggles));
        for (int by = 0; by < RPL_DIFF_BY_COUNT; by++) {
            pair_compare(&pair, (enum rpl_diff_by)by);
            assert_adds_up(&pair.diff.moment, RUNS[i].net);
            assert_true(pair.diff.is_same);
        }
        pair_release(&pair);
    }
}

/* A parameter of 4 KiB, and `bytes` in an activation of line 3 and as many in a temporary of line 4. */
static struct rpl_trace *example(uint64_t bytes)
{
    struct make m;

    make_init(&m);
    rpl_trace_set_toggle(m.trace, "batch", bytes == 1024 ? "1" : "2", false);
    make_step(&m, -1);
    make_phase(&m, VS_PHASE_SETUP);
    make_alloc(&m, 4096, VS_CAT_PARAMETER);
    make_step(&m, 0);
    make_phase(&m, VS_PHASE_FORWARD);
    m.func = "Net.forward";
    m.module = "conv";
    m.line = 3;
    make_alloc(&m, bytes, VS_CAT_ACTIVATION);
    m.line = 4;
    make_alloc(&m, bytes, VS_CAT_TEMPORARY);
    return m.trace;
}

static void the_largest_change_comes_first_with_its_line_and_category(void **state)
{
    struct pair pair;

    (void)state;
    pair_open(&pair, example(1024), example(3072));
    pair_compare(&pair, RPL_DIFF_LINE);
    assert_int_equal(pair.diff.moment.row_count, 3);
    assert_int_equal(pair.diff.moment.rows[0].line_a, 3);
    assert_int_equal(pair.diff.moment.rows[0].category, VS_CAT_ACTIVATION);
    assert_int_equal(pair.diff.moment.rows[0].a, 1024);
    assert_int_equal(pair.diff.moment.rows[0].b, 3072);
    assert_int_equal(pair.diff.moment.rows[1].line_a, 4);
    assert_int_equal(pair.diff.moment.rows[1].category, VS_CAT_TEMPORARY);
    assert_int_equal(pair.diff.moment.rows[2].a, 4096);
    assert_int_equal(pair.diff.moment.rows[2].b, 4096);
    assert_int_equal(pair.diff.toggle_count, 1);
    assert_string_equal(pair.diff.toggles[0].name, "batch");
    assert_string_equal(pair.diff.toggles[0].a, "1");
    assert_string_equal(pair.diff.toggles[0].b, "2");
    pair_release(&pair);
}

static void the_text_shows_a_rest_so_that_it_adds_up_too(void **state)
{
    struct vs_text text = {NULL, 0, 0};
    struct pair pair;

    (void)state;
    pair_open(&pair, example(1024), example(3072));
    pair_compare(&pair, RPL_DIFF_CATEGORY);
    rpl_diff_text(&pair.diff, "a.db", "b.db", 1, &text);
    if (!strstr(vs_text_get(&text), "toggles  batch: 1 -> 2\n") ||
        !strstr(vs_text_get(&text), "1.0 KiB     3.0 KiB     +2.0 KiB  +200.0 %  activation\n") ||
        !strstr(vs_text_get(&text), "5.0 KiB     7.0 KiB     +2.0 KiB   +40.0 %  … 2 more\n"))
        fail_msg("%s", vs_text_get(&text));
    vs_text_release(&text);
    pair_release(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_add_up_to_the_difference_of_the_peaks),
        cmocka_unit_test(a_run_does_not_differ_from_its_repetition),
        cmocka_unit_test(the_largest_change_comes_first_with_its_line_and_category),
        cmocka_unit_test(the_text_shows_a_rest_so_that_it_adds_up_too),
    };

    return cmocka_run_group_tests_name("replay/diff", tests, NULL, NULL);
}
