/*
 * tests/replay/inspect/test_steps.c - the steps of a run beside a naive reading of its events; the sizes of its blocks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "replay/index/lifetimes.h"
#include "replay/inspect/sizes.h"
#include "replay/inspect/steps.h"
#include "tests/replay/net_trace.h"

static struct rpl_index *indexed(struct rpl_trace *trace)
{
    struct rpl_index *index = NULL;
    struct vs_error err = VS_ERROR_INIT;

    if (rpl_index_open(trace, NULL, NULL, &index, &err))
        fail_msg("%s", err.text);
    return index;
}

static void read_all(struct rpl_steps *steps, struct rpl_index *index)
{
    struct vs_error err = VS_ERROR_INIT;

    while (!rpl_steps_is_done(steps))
        if (rpl_steps_next(steps, index, &err))
            fail_msg("%s", err.text);
}

static void fill(struct rpl_steps *steps, struct rpl_index *index)
{
    rpl_steps_begin(steps, index, false);
    read_all(steps, index);
}

/* A block of `id`; kind is alloc or free. */
static void block_add(struct rpl_trace *trace, enum vs_event_kind kind, uint64_t id, uint64_t bytes)
{
    struct vs_event event = {
        .kind = (uint8_t)kind,
        .alloc = {
            .block = id, .requested_bytes = bytes, .block_bytes = bytes, .address = id << 30}};

    rpl_trace_add_event(trace, &event);
}

/* Steps of 1000 KiB each, but for step 5 with 1200 KiB; from step 1 on each leaves two blocks behind. */
static void steps_add(struct rpl_trace *trace, uint64_t first, uint64_t last)
{
    for (uint64_t step = first; step <= last; step++) {
        struct vs_event event = {.kind = VS_EV_STEP, .step = {.number_plus_one = step + 1}};
        uint64_t id = step ? 3 * step - 1 : 1;
        uint64_t bytes = (step == 5 ? 1200 : 1000) * UINT64_C(1024);

        rpl_trace_add_event(trace, &event);
        block_add(trace, VS_EV_ALLOC, id, bytes);
        block_add(trace, VS_EV_FREE, id, bytes);
        if (step) {
            block_add(trace, VS_EV_ALLOC, id + 1, 512);
            block_add(trace, VS_EV_ALLOC, id + 2, 1024);
        }
    }
}

static struct rpl_trace *leaky(void)
{
    struct rpl_trace *trace = rpl_trace_new();

    steps_add(trace, 0, 7);
    return trace;
}

static void a_step_has_its_peak_its_end_and_what_it_keeps(void **state)
{
    struct rpl_trace *trace = leaky();
    struct rpl_index *index = indexed(trace);
    struct rpl_steps steps = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    fill(&steps, index);
    assert_int_equal(steps.count, 8);
    for (size_t i = 0; i < 8; i++) {
        const struct rpl_step_row *row = &steps.rows[i];
        uint64_t before = i ? (i - 1) * 1536 : 0;

        assert_int_equal(row->step, i);
        assert_int_equal(row->peak, (i == 5 ? 1200U : 1000U) * 1024 + before);
        assert_int_equal(row->end, i * 1536);
        assert_int_equal(row->is_outlier, i == 5);
        /* the last step is followed by none */
        assert_int_equal(row->kept, i && i < 7 ? 1536 : 0);
        assert_int_equal(row->kept_count, i && i < 7 ? 2 : 0);
        if (row->kept) {
            struct rpl_lifetime life;

            assert_int_equal(rpl_lifetime_get(index, row->kept_block, &life, &err), VS_OK);
            assert_int_equal(life.bytes, 1024);
            assert_true(row->first <= life.alloc_seq && life.alloc_seq <= row->last);
        }
    }
    assert_int_equal(steps.growth, 1536);
    rpl_steps_release(&steps);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

/* The highest of each curve is the peak of its step, and a net that leaks nothing keeps nothing. */
static void curves_reach_the_peak_of_their_step(void **state)
{
    struct rpl_trace *trace = net_trace("sample_nets/lenet.py", "steps=5");
    struct rpl_index *index = indexed(trace);
    struct rpl_steps steps = {.count = 0};
    uint64_t highest = 0;

    (void)state;
    fill(&steps, index);
    assert_int_equal(steps.curve_count, 5);
    for (size_t i = 0; i < steps.curve_count; i++) {
        const struct rpl_step_row *row = &steps.rows[steps.curve_rows[i]];
        uint64_t most = 0;

        for (size_t p = 0; p < RPL_STEP_POINTS; p++) {
            uint64_t value = steps.curves[i * RPL_STEP_POINTS + p];

            most = value > most ? value : most;
        }
        assert_int_equal(most, row->peak);
        highest = most > highest ? most : highest;
        assert_true(row->step == 0 || row->kept == 0);
    }
    assert_int_equal(highest, rpl_index_top(index).allocated);
    assert_int_equal(steps.growth, 0);
    rpl_steps_release(&steps);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

static void rows_assert_equal(const struct rpl_steps *a, const struct rpl_steps *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->median, b->median);
    assert_int_equal(a->growth, b->growth);
    assert_int_equal(a->curve_count, b->curve_count);
    for (size_t i = 0; i < a->count; i++) {
        struct rpl_step_row x = a->rows[i];
        struct rpl_step_row y = b->rows[i];

        assert_int_equal(x.step, y.step);
        assert_int_equal(x.last, y.last);
        assert_int_equal(x.peak, y.peak);
        assert_int_equal(x.end, y.end);
        assert_int_equal(x.kept, y.kept);
        assert_int_equal(x.kept_count, y.kept_count);
        assert_int_equal(x.kept_block, y.kept_block);
        assert_int_equal(x.is_outlier, y.is_outlier);
    }
}

/* Read to the end, or only so far, before the run grows. */
static void a_run_that_grows_has_the_figures_of_one_that_was_read_at_once(void **state)
{
    (void)state;
    for (size_t pieces = 0; pieces < 24; pieces++) {
        struct rpl_trace *trace = rpl_trace_new();
        struct rpl_steps steps = {.count = 0};
        struct rpl_steps whole = {.count = 0};
        struct vs_error err = VS_ERROR_INIT;
        struct rpl_index *index;
        uint64_t added;

        steps_add(trace, 0, 4);
        index = indexed(trace);
        rpl_steps_begin(&steps, index, false);
        for (size_t i = 0; i < pieces; i++)
            assert_int_equal(rpl_steps_next(&steps, index, &err), VS_OK);
        /* step 4 goes on, and others follow */
        block_add(trace, VS_EV_ALLOC, 14, 1 << 22);
        block_add(trace, VS_EV_FREE, 14, 1 << 22);
        block_add(trace, VS_EV_FREE, 12, 512);
        block_add(trace, VS_EV_FREE, 9, 512);
        for (uint64_t step = 0; step < 3; step++) {
            struct vs_event event = {.kind = VS_EV_STEP, .step = {.number_plus_one = step + 6}};

            rpl_trace_add_event(trace, &event);
            block_add(trace, VS_EV_ALLOC, 15 + step, 4096);
        }
        assert_int_equal(rpl_index_refresh(index, &added, &err), VS_OK);
        assert_true(added > 0);
        rpl_steps_begin(&steps, index, true);
        assert_true(steps.done >= (pieces > 4 ? 3 : 0));
        read_all(&steps, index);
        fill(&whole, index);
        rows_assert_equal(&steps, &whole);
        rpl_steps_release(&steps);
        rpl_steps_release(&whole);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
}

static void size_classes_have_every_live_block_once(void **state)
{
    struct rpl_trace *trace = net_trace("sample_nets/lenet.py", NULL);
    struct rpl_index *index = indexed(trace);
    struct rpl_live live;
    struct rpl_sizes *sizes = vs_alloc(sizeof(*sizes));
    struct vs_error err = VS_ERROR_INIT;
    uint64_t bytes = 0;
    uint64_t blocks = 0;

    (void)state;
    rpl_live_init(&live);
    assert_int_equal(rpl_live_read(&live, trace, rpl_index_top(index).event, &err), VS_OK);
    rpl_sizes_fill(sizes, &live);
    for (size_t i = 0; i < sizes->count; i++) {
        const struct rpl_size_class *class = &sizes->classes[i];
        uint64_t in_class = 0;
        uint64_t largest = 0;

        for (size_t j = 0; j < live.block_count; j++)
            if (live.blocks[j].bytes >= class->from && live.blocks[j].bytes / 2 < class->from) {
                in_class += live.blocks[j].bytes;
                largest = live.blocks[j].bytes > largest ? live.blocks[j].bytes : largest;
            }
        assert_int_equal(class->bytes, in_class);
        assert_int_equal(class->largest_bytes, largest);
        assert_int_equal(rpl_live_block(&live, class->largest)->bytes, largest);
        assert_true(!i || class->from < sizes->classes[i - 1].from);
        bytes += class->bytes;
        blocks += class->blocks;
    }
    assert_int_equal(bytes, live.allocated);
    assert_int_equal(blocks, live.block_count);
    vs_free(sizes);
    rpl_live_release(&live);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_has_its_peak_its_end_and_what_it_keeps),
        cmocka_unit_test(curves_reach_the_peak_of_their_step),
        cmocka_unit_test(a_run_that_grows_has_the_figures_of_one_that_was_read_at_once),
        cmocka_unit_test(size_classes_have_every_live_block_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
