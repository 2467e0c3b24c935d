/*
 * tests/replay/diff/test_diff.c - the rows of a difference of two traces add up to the byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "replay/diff/diff.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/net_trace.h"
#include "tests/replay/random_trace.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static void assert_adds_up(const struct rpl_diff_part *part, const char *what)
{
    uint64_t a = 0;
    uint64_t b = 0;
    uint64_t causes_a = 0;
    uint64_t causes_b = 0;
    int64_t delta = 0;

    for (size_t i = 0; i < part->row_count; i++) {
        a += part->rows[i].a;
        b += part->rows[i].b;
        delta += (int64_t)(part->rows[i].b - part->rows[i].a);
    }
    for (int i = 0; i < RPL_DIFF_CAUSE_COUNT; i++) {
        causes_a += part->causes[i].a;
        causes_b += part->causes[i].b;
    }
    if (causes_a != part->a || causes_b != part->b)
        fail_msg("%s: causes add up to %" PRIu64 " and %" PRIu64 ", not to %" PRIu64
                 " and %" PRIu64,
                 what, causes_a, causes_b, part->a, part->b);
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

static void pair_compare(struct pair *pair, const struct rpl_diff_options *options)
{
    struct vs_error err = VS_ERROR_INIT;

    rpl_diff_release(&pair->diff);
    ok(rpl_diff_fill(&pair->diff, pair->indexes[0], pair->indexes[1], options, &err), &err);
}

static void pair_compare_by(struct pair *pair, enum rpl_diff_by by)
{
    struct rpl_diff_options options = {.by = by, .step = RPL_DIFF_STEP_LAST};

    pair_compare(pair, &options);
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

static uint64_t bytes_allocated(const struct rpl_align_side *side, int64_t step)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < side->alloc_count; i++)
        sum += side->allocs[i].step == step ? side->allocs[i].bytes : 0;
    return sum;
}

/* Every part, in the requested grouping, is explained to the byte. */
static void assert_explained(const struct rpl_diff *diff, const char *net)
{
    assert_int_equal(diff->live.a, diff->a.at.allocated);
    assert_int_equal(diff->live.b, diff->b.at.allocated);
    assert_int_equal(diff->saved.a, diff->a.sum.saved.bytes);
    assert_int_equal(diff->saved.b, diff->b.sum.saved.bytes);
    assert_int_equal(diff->step.a, bytes_allocated(&diff->align.a, diff->options.step));
    assert_int_equal(diff->step.b, bytes_allocated(&diff->align.b, diff->options.step));
    assert_adds_up(&diff->live, net);
    assert_adds_up(&diff->step, net);
    assert_adds_up(&diff->saved, net);
}

static void rows_add_up_to_the_difference_at_every_pair_of_events(void **state)
{
    static const struct rpl_diff_options OPTIONS[] = {
        {.at = RPL_DIFF_AT_PEAK, .step = RPL_DIFF_STEP_LAST},
        {.at = RPL_DIFF_AT_STEP, .step = RPL_DIFF_STEP_LAST},
        {.at = RPL_DIFF_AT_STEP, .step = 0},
        {.at = RPL_DIFF_AT_EVENT, .step = RPL_DIFF_STEP_LAST, .event_a = 300},
        {.at = RPL_DIFF_AT_EVENT, .step = 1, .event_a = 250, .event_b = 400},
    };

    (void)state;
    for (size_t i = 0; i < RUN_COUNT; i++) {
        struct pair pair;

        pair_open(&pair, net_trace(RUNS[i].net, NULL), net_trace(RUNS[i].net, RUNS[i].toggles));
        for (size_t k = 0; k < sizeof(OPTIONS) / sizeof(OPTIONS[0]); k++)
            for (int by = 0; by < RPL_DIFF_BY_COUNT; by++) {
                struct rpl_diff_options options = OPTIONS[k];

                options.by = (enum rpl_diff_by)by;
                pair_compare(&pair, &options);
                assert_explained(&pair.diff, RUNS[i].net);
                assert_false(pair.diff.is_same);
                if (options.at == RPL_DIFF_AT_PEAK) {
                    assert_int_equal(pair.diff.live.a, pair.diff.a.sum.peak.allocated);
                    assert_int_equal(pair.diff.live.b, pair.diff.b.sum.peak.allocated);
                }
            }
        pair_release(&pair);
    }
}

/* Traces without a net, at their peaks and at any event. */
static void rows_add_up_for_random_traces(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 24; seed++) {
        struct rpl_diff_options options = {
            .by = (enum rpl_diff_by)(seed % RPL_DIFF_BY_COUNT),
            .at = seed % 3 ? RPL_DIFF_AT_EVENT : RPL_DIFF_AT_PEAK,
            .step = RPL_DIFF_STEP_LAST,
            .event_a = seed * 100,
            .event_b = seed % 5 ? 0 : seed * 80,
        };
        struct pair pair;

        pair_open(&pair, random_trace(3000, seed), random_trace(3500, seed + seed % 2));
        pair_compare(&pair, &options);
        assert_int_equal(pair.diff.live.a, pair.diff.a.at.allocated);
        assert_int_equal(pair.diff.live.b, pair.diff.b.at.allocated);
        assert_adds_up(&pair.diff.live, "random");
        assert_adds_up(&pair.diff.step, "random");
        assert_adds_up(&pair.diff.saved, "random");
        assert_int_equal(pair.diff.paired + pair.diff.only_a, pair.diff.align.a.alloc_count);
        assert_int_equal(pair.diff.paired + pair.diff.only_b, pair.diff.align.b.alloc_count);
        pair_release(&pair);
    }
}

/* An allocation and its counterpart name each other and are of the same place. */
static void counterparts_are_mutual_and_share_their_location(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUN_COUNT; i++) {
        struct rpl_align align = {.a.index = NULL};
        struct vs_error err = VS_ERROR_INIT;
        struct pair pair;
        size_t paired = 0;

        pair_open(&pair, net_trace(RUNS[i].net, NULL), net_trace(RUNS[i].net, RUNS[i].toggles));
        ok(rpl_align_fill(&align, pair.indexes[0], pair.indexes[1], NULL, NULL, &err), &err);
        for (size_t k = 0; k < align.a.alloc_count; k++) {
            const struct rpl_alloc *a = &align.a.allocs[k];
            const struct rpl_alloc *b = a->mate ? &align.b.allocs[a->mate - 1] : NULL;
            const struct vs_location *at;
            const struct vs_location *bt;

            if (!b)
                continue;
            at = rpl_trace_location(pair.traces[0], a->location);
            bt = rpl_trace_location(pair.traces[1], b->location);
            assert_int_equal(b->mate, k + 1);
            assert_int_equal(a->step, b->step);
            assert_int_equal(at->phase, bt->phase);
            assert_int_equal(at->line, bt->line);
            assert_string_equal(rpl_trace_string(pair.traces[0], at->module),
                                rpl_trace_string(pair.traces[1], bt->module));
            assert_string_equal(rpl_trace_string(pair.traces[0], at->op),
                                rpl_trace_string(pair.traces[1], bt->op));
            paired++;
        }
        /* the parameters at least */
        assert_true(paired > 0);
        rpl_align_release(&align);
        pair_release(&pair);
    }
}

static void two_recordings_of_the_same_run_are_equal(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUN_COUNT; i++) {
        struct pair pair;

        pair_open(&pair, net_trace(RUNS[i].net, RUNS[i].toggles),
                  net_trace(RUNS[i].net, RUNS[i].toggles));
        for (int by = 0; by < RPL_DIFF_BY_COUNT; by++) {
            pair_compare_by(&pair, (enum rpl_diff_by)by);
            assert_explained(&pair.diff, RUNS[i].net);
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
    pair_compare_by(&pair, RPL_DIFF_LINE);
    assert_int_equal(pair.diff.live.row_count, 3);
    assert_int_equal(pair.diff.live.rows[0].line_a, 3);
    assert_int_equal(pair.diff.live.rows[0].category, VS_CAT_ACTIVATION);
    assert_int_equal(pair.diff.live.rows[0].a, 1024);
    assert_int_equal(pair.diff.live.rows[0].b, 3072);
    assert_int_equal(pair.diff.live.rows[1].line_a, 4);
    assert_int_equal(pair.diff.live.rows[1].category, VS_CAT_TEMPORARY);
    assert_int_equal(pair.diff.live.rows[2].a, 4096);
    assert_int_equal(pair.diff.live.rows[2].b, 4096);
    assert_int_equal(pair.diff.toggle_count, 1);
    assert_string_equal(pair.diff.toggles[0].name, "batch");
    assert_string_equal(pair.diff.toggles[0].a, "1");
    assert_string_equal(pair.diff.toggles[0].b, "2");
    pair_release(&pair);
}

static void the_rows_of_a_shortened_text_add_up(void **state)
{
    struct vs_text text = {NULL, 0, 0};
    struct pair pair;

    (void)state;
    pair_open(&pair, example(1024), example(3072));
    pair_compare_by(&pair, RPL_DIFF_CATEGORY);
    rpl_diff_text(&pair.diff, "a.db", "b.db", 1, &text);
    if (!strstr(vs_text_get(&text), "toggles  batch: 1 -> 2\n") ||
        !strstr(vs_text_get(&text), "1.0 KiB     3.0 KiB     +2.0 KiB  +200.0 %  activation\n") ||
        !strstr(vs_text_get(&text), "5.0 KiB     7.0 KiB     +2.0 KiB   +40.0 %  … 2 more\n"))
        fail_msg("%s", vs_text_get(&text));
    vs_text_release(&text);
    pair_release(&pair);
}

#define NET_A "import torch\n\ny = conv(x)\nz = y + 1\n"
#define NET_B "import torch\n# new\n\ny = conv(x)\nw = y * 2\n    z = y + 1\n"

/* One step: y on the line of `conv`; then w on line 5 where it is B; then z. y is given back at once where it is B. */
static struct rpl_trace *edited(bool is_b)
{
    struct make m;
    uint64_t y;

    make_init(&m);
    rpl_trace_set_source(m.trace, "net.py", is_b ? NET_B : NET_A);
    make_step(&m, 0);
    make_phase(&m, VS_PHASE_FORWARD);
    m.func = "Net.forward";
    m.line = is_b ? 4 : 3;
    make_alloc(&m, 1024, VS_CAT_ACTIVATION);
    y = m.blocks;
    if (is_b) {
        make_free(&m, y, 1024);
        m.line = 5;
        make_alloc(&m, 8192, VS_CAT_ACTIVATION);
    }
    m.line = is_b ? 6 : 4;
    make_alloc(&m, 2048, VS_CAT_ACTIVATION);
    return m.trace;
}

static void inserted_lines_do_not_move_unchanged_ones(void **state)
{
    struct pair pair;

    (void)state;
    pair_open(&pair, edited(false), edited(true));
    pair_compare_by(&pair, RPL_DIFF_LINE);
    assert_int_equal(pair.diff.live.row_count, 3);
    /* w is B's alone */
    assert_int_equal(pair.diff.live.rows[0].line_a, 0);
    assert_int_equal(pair.diff.live.rows[0].line_b, 5);
    assert_int_equal(pair.diff.live.rows[0].b, 8192);
    assert_string_equal(pair.diff.live.rows[0].key, "w = y * 2");
    assert_int_equal(pair.diff.live.rows[1].line_a, 3);
    assert_int_equal(pair.diff.live.rows[1].line_b, 4);
    assert_int_equal(pair.diff.live.rows[2].line_a, 4);
    assert_int_equal(pair.diff.live.rows[2].line_b, 6);
    assert_int_equal(pair.diff.live.rows[2].a, 2048);
    assert_int_equal(pair.diff.live.rows[2].b, 2048);
    /* the comment, w, and z, which is indented otherwise */
    assert_int_equal(pair.diff.line_count, 3);
    assert_int_equal(pair.diff.lines[0].b, 2);
    assert_int_equal(pair.diff.lines[1].b, 5);
    assert_int_equal(pair.diff.lines[1].a, 0);
    assert_int_equal(pair.diff.lines[2].a, 4);
    assert_int_equal(pair.diff.lines[2].b, 6);
    pair_release(&pair);
}

static void a_tensor_of_one_side_has_the_reason(void **state)
{
    const struct rpl_diff_row *rows;
    struct vs_text text = {NULL, 0, 0};
    struct pair pair;

    (void)state;
    pair_open(&pair, edited(false), edited(true));
    pair_compare_by(&pair, RPL_DIFF_TENSOR);
    rows = pair.diff.live.rows;
    assert_int_equal(pair.diff.live.row_count, 3);
    assert_int_equal(rows[0].cause, RPL_DIFF_ONLY_B);
    assert_int_equal(rows[1].cause, RPL_DIFF_NOT_IN_B);
    assert_int_equal(rows[1].alloc_b->free_seq, 4);
    assert_int_equal(rows[2].cause, RPL_DIFF_BOTH);
    assert_int_equal(pair.diff.live.causes[RPL_DIFF_ONLY_B].b, 8192);
    assert_int_equal(pair.diff.live.causes[RPL_DIFF_NOT_IN_B].a, 1024);
    assert_int_equal(pair.diff.paired, 2);
    assert_int_equal(pair.diff.only_a, 0);
    assert_int_equal(pair.diff.only_b, 1);
    rpl_diff_text(&pair.diff, "a.db", "b.db", 10, &text);
    if (!strstr(vs_text_get(&text), "; only B allocates it\n") ||
        !strstr(vs_text_get(&text), "; freed in B @4 of line 4\n") ||
        !strstr(vs_text_get(&text), "net      +   2 | # new\n         +   5 | w = y * 2\n"
                                    "         =   6 |     z = y + 1\n"))
        fail_msg("%s", vs_text_get(&text));
    vs_text_release(&text);
    pair_release(&pair);
}

/* Every line of the forward is another one, and yet every tensor is found: what differs is how long it is held. */
static void an_edited_line_is_matched_with_its_original(void **state)
{
    const struct rpl_diff_part *live;
    struct pair pair;
    bool has_conv = false;

    (void)state;
    pair_open(&pair, net_trace("sample_nets/variables.py", NULL),
              net_trace("sample_nets/variables_rebind.py", NULL));
    pair_compare_by(&pair, RPL_DIFF_LINE);
    live = &pair.diff.live;
    assert_adds_up(live, "variables.py");
    assert_int_equal(pair.diff.only_a, 0);
    assert_int_equal(pair.diff.only_b, 0);
    assert_true(pair.diff.step.is_same);
    assert_true(pair.diff.saved.is_same);
    for (size_t i = 0; i < live->row_count; i++) {
        const struct rpl_diff_row *row = &live->rows[i];

        assert_true((row->line_a != 0) == (row->line_b != 0));
        /* x1 = self.conv1(x0), x = self.conv1(x): 17 MiB that only the first one keeps */
        if (row->line_a == 19 && row->a == 17 << 20 && row->b == 0)
            has_conv = row->line_b == 17;
    }
    assert_true(has_conv);
    pair_release(&pair);
}

/* Two allocations of one line, in one module and then in another, or the other way round. */
static struct rpl_trace *ordered(const char *first, const char *second)
{
    struct make m;

    make_init(&m);
    make_step(&m, 0);
    make_phase(&m, VS_PHASE_FORWARD);
    m.module = first;
    make_alloc(&m, 1024, VS_CAT_ACTIVATION);
    m.module = second;
    make_alloc(&m, 1024, VS_CAT_ACTIVATION);
    return m.trace;
}

static void reordered_allocations_are_reported_as_moved(void **state)
{
    struct pair pair;

    (void)state;
    pair_open(&pair, ordered("left", "right"), ordered("right", "left"));
    pair_compare_by(&pair, RPL_DIFF_TENSOR);
    assert_int_equal(pair.diff.paired, 2);
    assert_int_equal(pair.diff.moved, 1);
    assert_true(pair.diff.live.is_same);
    assert_false(pair.diff.is_same);
    pair_release(&pair);
}

/* A step with one tensor of `bytes` and one of 512, both given back, for each of `steps`. */
static struct rpl_trace *stepped(const uint64_t *bytes, size_t steps)
{
    struct make m;

    make_init(&m);
    rpl_trace_set_source(m.trace, "net.py", NET_A);
    for (size_t i = 0; i < steps; i++) {
        make_step(&m, (int64_t)i);
        make_phase(&m, VS_PHASE_FORWARD);
        m.line = 3;
        make_alloc(&m, bytes[i], VS_CAT_ACTIVATION);
        m.line = 4;
        make_alloc(&m, 512, VS_CAT_ACTIVATION);
        make_free(&m, m.blocks, 512);
        make_free(&m, m.blocks - 1, bytes[i]);
    }
    return m.trace;
}

static void peaks_in_different_steps_are_compared(void **state)
{
    static const uint64_t A[] = {1024, 4096, 1024};
    static const uint64_t B[] = {2048, 1024, 1024};
    struct rpl_diff_options second = {.at = RPL_DIFF_AT_STEP, .step = 1, .by = RPL_DIFF_TENSOR};
    struct pair pair;

    (void)state;
    pair_open(&pair, stepped(A, 3), stepped(B, 3));
    pair_compare_by(&pair, RPL_DIFF_TENSOR);
    assert_int_equal(pair.diff.a.at.step, 1);
    assert_int_equal(pair.diff.b.at.step, 0);
    assert_int_equal(pair.diff.live.row_count, 2);
    assert_int_equal(pair.diff.live.rows[0].cause, RPL_DIFF_BOTH);
    assert_int_equal(pair.diff.live.rows[0].a, 4096);
    assert_int_equal(pair.diff.live.rows[0].b, 2048);
    /* the last step is compared with itself, and is the same */
    assert_int_equal(pair.diff.options.step, 2);
    assert_true(pair.diff.step.is_same);
    pair_compare(&pair, &second);
    assert_int_equal(pair.diff.live.a, 4608);
    assert_int_equal(pair.diff.live.b, 1536);
    assert_int_equal(pair.diff.step.a, 4608);
    assert_int_equal(pair.diff.step.b, 1536);
    pair_release(&pair);
}

static void an_event_of_the_first_trace_is_found_in_the_second(void **state)
{
    struct rpl_diff_options options = {
        .at = RPL_DIFF_AT_EVENT, .step = RPL_DIFF_STEP_LAST, .event_a = 4};
    struct pair pair;

    (void)state;
    pair_open(&pair, edited(false), edited(true));
    pair_compare(&pair, &options); /* z, the last of both */
    assert_int_equal(pair.diff.b.at.event, 6);
    options.event_a = 3; /* y, in B before it is given back */
    pair_compare(&pair, &options);
    assert_int_equal(pair.diff.b.at.event, 3);
    assert_int_equal(pair.diff.live.a, pair.diff.live.b);
    pair_release(&pair);
}

static void an_event_beyond_the_trace_is_reported(void **state)
{
    struct rpl_diff_options step = {.at = RPL_DIFF_AT_STEP, .step = 7};
    struct rpl_diff_options event = {
        .at = RPL_DIFF_AT_EVENT, .step = RPL_DIFF_STEP_LAST, .event_a = 5};
    struct vs_error err = VS_ERROR_INIT;
    struct pair pair;

    (void)state;
    pair_open(&pair, edited(false), edited(true));
    assert_int_equal(rpl_diff_fill(&pair.diff, pair.indexes[0], pair.indexes[1], &step, &err),
                     VS_E_NOT_FOUND);
    assert_string_equal(err.text, "step 7 is not in both traces");
    rpl_diff_release(&pair.diff);
    assert_int_equal(rpl_diff_fill(&pair.diff, pair.indexes[0], pair.indexes[1], &event, &err),
                     VS_E_NOT_FOUND);
    assert_string_equal(err.text, "A has 4 events, so there is no event 5");
    pair_release(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_add_up_to_the_difference_at_every_pair_of_events),
        cmocka_unit_test(rows_add_up_for_random_traces),
        cmocka_unit_test(counterparts_are_mutual_and_share_their_location),
        cmocka_unit_test(two_recordings_of_the_same_run_are_equal),
        cmocka_unit_test(the_largest_change_comes_first_with_its_line_and_category),
        cmocka_unit_test(the_rows_of_a_shortened_text_add_up),
        cmocka_unit_test(inserted_lines_do_not_move_unchanged_ones),
        cmocka_unit_test(an_edited_line_is_matched_with_its_original),
        cmocka_unit_test(a_tensor_of_one_side_has_the_reason),
        cmocka_unit_test(reordered_allocations_are_reported_as_moved),
        cmocka_unit_test(peaks_in_different_steps_are_compared),
        cmocka_unit_test(an_event_of_the_first_trace_is_found_in_the_second),
        cmocka_unit_test(an_event_beyond_the_trace_is_reported),
    };

    return cmocka_run_group_tests_name("replay/diff", tests, NULL, NULL);
}
