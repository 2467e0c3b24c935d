/*
 * tests/replay/diff/test_pairs.c - the aligned events of two traces: each event is in exactly one row, in the order of
 * its trace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/diff/diff.h"
#include "replay/index/cursor.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/net_trace.h"
#include "tests/replay/random_trace.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

struct pair {
    struct rpl_trace *traces[2];
    struct rpl_index *indexes[2];
    struct rpl_diff diff;
    const struct rpl_pairs *pairs;
};

static void pair_open(struct pair *pair, struct rpl_trace *a, struct rpl_trace *b)
{
    struct vs_error err = VS_ERROR_INIT;

    memset(pair, 0, sizeof(*pair));
    pair->traces[0] = a;
    pair->traces[1] = b;
    for (int i = 0; i < 2; i++)
        ok(rpl_index_open(pair->traces[i], NULL, NULL, &pair->indexes[i], &err), &err);
    ok(rpl_diff_open(&pair->diff, pair->indexes[0], pair->indexes[1], NULL, NULL, &err), &err);
    pair->pairs = rpl_diff_pairs(&pair->diff);
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
    {"tests/nets/conv_small.py", "inplace=on"},     {"tests/nets/gpt_tiny.py", "checkpoint=blocks"},
    {"tests/nets/resnet_small.py", "amp=fp16"},     {"tests/nets/unet_small.py", "optimizer=adam"},
    {"tests/nets/vit_small.py", "accumulate=2"},    {"tests/nets/mlp.py", "batch=3"},
    {"tests/nets/leak_loss.py", "zero-grad=zeros"},
};
#define RUN_COUNT (sizeof(RUNS) / sizeof(RUNS[0]))
#define SEEDS 12

/* Number `i` of the pairs of traces that the properties are tried on. */
static void pair_nth(struct pair *pair, size_t i)
{
    uint32_t seed = (uint32_t)(i - RUN_COUNT) + 1;

    if (i < RUN_COUNT)
        pair_open(pair, net_trace(RUNS[i].net, NULL), net_trace(RUNS[i].net, RUNS[i].toggles));
    else
        pair_open(pair, random_trace(3000, seed), random_trace(3300, seed + seed % 2));
}

static const struct rpl_align_side *side_of(const struct pair *pair, int is_b)
{
    return is_b ? &pair->diff.align.b : &pair->diff.align.a;
}

/* The rows have the allocations and frees of each trace, all of them, in its order, with its totals. */
static void each_allocator_event_is_in_exactly_one_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUN_COUNT + SEEDS; i++) {
        struct pair pair;

        pair_nth(&pair, i);
        for (int is_b = 0; is_b < 2; is_b++) {
            const struct rpl_align_side *side = side_of(&pair, is_b);
            struct rpl_scan *scan = vs_alloc(sizeof(*scan));
            struct vs_error err = VS_ERROR_INIT;
            uint64_t total = 0;
            size_t row = 0;
            const struct vs_event *event;

            rpl_scan_init(scan, side->trace, 1, rpl_trace_event_count(side->trace));
            while ((event = rpl_scan_next(scan, &err)) != NULL) {
                const struct rpl_pair_row *r;
                uint32_t alloc;

                if (event->kind != VS_EV_ALLOC && event->kind != VS_EV_FREE)
                    continue;
                total += event->kind == VS_EV_ALLOC ? event->alloc.block_bytes
                                                    : -event->free.block_bytes;
                /* rows of the other trace alone change nothing here */
                while (row < pair.pairs->row_count &&
                       !(is_b ? pair.pairs->rows[row].alloc_b : pair.pairs->rows[row].alloc_a))
                    row++;
                assert_true(row < pair.pairs->row_count);
                r = &pair.pairs->rows[row++];
                alloc = is_b ? r->alloc_b : r->alloc_a;
                assert_int_equal(is_b ? r->seq_b : r->seq_a, scan->seq);
                assert_int_equal(is_b ? r->total_b : r->total_a, total);
                assert_int_equal(r->is_free, event->kind == VS_EV_FREE);
                assert_int_equal(side->allocs[alloc - 1].block, vs_event_block(event));
            }
            for (; row < pair.pairs->row_count; row++)
                assert_int_equal(
                    is_b ? pair.pairs->rows[row].alloc_b : pair.pairs->rows[row].alloc_a, 0);
            vs_free(scan);
        }
        pair_release(&pair);
    }
}

static void rows_pair_counterparts_or_give_the_reason_for_one_side(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUN_COUNT + SEEDS; i++) {
        struct pair pair;
        size_t both = 0;

        pair_nth(&pair, i);
        for (size_t k = 0; k < pair.pairs->row_count; k++) {
            const struct rpl_pair_row *row = &pair.pairs->rows[k];
            const struct rpl_alloc *a =
                row->alloc_a ? &pair.diff.align.a.allocs[row->alloc_a - 1] : NULL;
            const struct rpl_alloc *b =
                row->alloc_b ? &pair.diff.align.b.allocs[row->alloc_b - 1] : NULL;

            if (a && b) {
                assert_int_equal(a->mate, row->alloc_b);
                assert_int_equal(row->kind, a->bytes == b->bytes ? RPL_PAIR_SAME : RPL_PAIR_SIZE);
                both++;
            } else {
                assert_int_equal(row->kind, (a ? a : b)->mate ? RPL_PAIR_MOVED : RPL_PAIR_ONLY);
            }
        }
        assert_true(both > 0 || i >= RUN_COUNT);
        pair_release(&pair);
    }
}

static void a_trace_does_not_differ_from_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUN_COUNT; i++) {
        struct pair pair;

        pair_open(&pair, net_trace(RUNS[i].net, RUNS[i].toggles),
                  net_trace(RUNS[i].net, RUNS[i].toggles));
        assert_int_equal(pair.pairs->stretch_count, 0);
        assert_int_equal(pair.pairs->row_count,
                         pair.diff.align.a.alloc_count + pair.diff.align.a.free_count);
        for (uint64_t seq = 0; seq <= rpl_index_event_count(pair.indexes[0]); seq++)
            assert_int_equal(rpl_pairs_event(pair.pairs, false, seq), seq);
        pair_release(&pair);
    }
}

/* The stretches are the rows that differ, each once; their changes add up to what the two differ by in the end. */
static void stretches_cover_exactly_the_rows_that_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUN_COUNT + SEEDS; i++) {
        struct pair pair;
        size_t stretch = 0;
        int64_t excess = 0;
        const struct rpl_pair_row *last;

        pair_nth(&pair, i);
        for (size_t k = 0; k < pair.pairs->row_count; k++) {
            const struct rpl_pair_stretch *s;

            assert_int_equal(rpl_pairs_stretch(pair.pairs, k), stretch);
            if (stretch == pair.pairs->stretch_count) {
                assert_int_equal(pair.pairs->rows[k].kind, RPL_PAIR_SAME);
                continue;
            }
            s = &pair.pairs->stretches[stretch];
            assert_int_equal(pair.pairs->rows[k].kind != RPL_PAIR_SAME, k >= s->first);
            if (k == s->last) {
                excess += s->delta;
                stretch++;
            }
        }
        assert_int_equal(stretch, pair.pairs->stretch_count);
        last = &pair.pairs->rows[pair.pairs->row_count - 1];
        assert_int_equal(excess, (int64_t)(last->total_b - last->total_a));
        pair_release(&pair);
    }
}

/* An event of both leads to its counterpart and back; every event leads between its neighbours. */
static void mapping_an_event_to_the_other_trace_and_back_is_the_identity(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUN_COUNT + SEEDS; i++) {
        struct pair pair;

        pair_nth(&pair, i);
        for (size_t k = 0; k < pair.pairs->row_count; k++) {
            const struct rpl_pair_row *row = &pair.pairs->rows[k];

            if (row->alloc_a)
                assert_int_equal(rpl_pairs_at(pair.pairs, false, row->seq_a), k);
            if (!row->alloc_a || !row->alloc_b)
                continue;
            assert_int_equal(rpl_pairs_event(pair.pairs, false, row->seq_a), row->seq_b);
            assert_int_equal(rpl_pairs_event(pair.pairs, true, row->seq_b), row->seq_a);
        }
        for (int of_b = 0; of_b < 2; of_b++) {
            uint64_t before = 0;

            for (uint64_t seq = 0; seq <= rpl_index_event_count(pair.indexes[of_b]); seq++) {
                uint64_t to = rpl_pairs_event(pair.pairs, of_b != 0, seq);

                assert_true(to <= rpl_index_event_count(pair.indexes[!of_b]));
                assert_true(to >= before);
                before = to;
            }
        }
        pair_release(&pair);
    }
}

/* The rows up to an event are all those that say nothing later of its trace. */
static void rows_up_to_an_event_exclude_later_events(void **state)
{
    (void)state;
    for (size_t i = 0; i < RUN_COUNT + SEEDS; i++) {
        struct pair pair;

        pair_nth(&pair, i);
        for (int is_b = 0; is_b < 2; is_b++) {
            uint64_t count = rpl_index_event_count(pair.indexes[is_b]);
            size_t rows = 0;

            for (uint64_t seq = 0; seq <= count; seq++) {
                while (rows < pair.pairs->row_count &&
                       (is_b ? pair.pairs->rows[rows].seq_b : pair.pairs->rows[rows].seq_a) <= seq)
                    rows++;
                assert_int_equal(rpl_pairs_until(pair.pairs, is_b, seq), rows);
            }
            assert_int_equal(rows, pair.pairs->row_count);
        }
        pair_release(&pair);
    }
}

static void the_highest_total_of_any_range_of_rows_is_found(void **state)
{
    struct pair pair;

    (void)state;
    pair_nth(&pair, 1);
    assert_true(pair.pairs->row_count > 2 * RPL_PAIRS_BLOCK);
    for (size_t first = 0; first < pair.pairs->row_count; first += 97) {
        struct rpl_pair_top top = {first, first};

        for (size_t last = first; last < pair.pairs->row_count; last++) {
            struct rpl_pair_top found;

            if (pair.pairs->rows[last].total_a > pair.pairs->rows[top.a].total_a)
                top.a = last;
            if (pair.pairs->rows[last].total_b > pair.pairs->rows[top.b].total_b)
                top.b = last;
            if (last % 31)
                continue;
            found = rpl_pairs_top(pair.pairs, first, last);
            assert_int_equal(found.a, top.a);
            assert_int_equal(found.b, top.b);
        }
    }
    pair_release(&pair);
}

/* What is in a row, by a finer grouping, adds up to the row. */
static void a_finer_grouping_of_a_row_adds_up_to_the_row(void **state)
{
    static const enum rpl_diff_what WHATS[] = {RPL_DIFF_LIVE, RPL_DIFF_STEP, RPL_DIFF_SAVED};

    (void)state;
    for (size_t i = 0; i < RUN_COUNT + SEEDS; i++) {
        struct pair pair;

        pair_nth(&pair, i);
        for (size_t k = 0; k < sizeof(WHATS) / sizeof(WHATS[0]) * (RPL_DIFF_BY_COUNT - 1); k++) {
            struct rpl_diff_options options = {
                .by = (enum rpl_diff_by)(k % (RPL_DIFF_BY_COUNT - 1)), .step = RPL_DIFF_STEP_LAST};
            enum rpl_diff_what what = WHATS[k / (RPL_DIFF_BY_COUNT - 1)];
            struct rpl_diff_part part = {.rows = NULL};
            struct vs_error err = VS_ERROR_INIT;

            ok(rpl_diff_take(&pair.diff, what, &options, &part, &err), &err);
            for (size_t r = 0; r < part.row_count; r++) {
                const struct rpl_diff_row *row = &part.rows[r];
                struct rpl_diff_inside inside = {options.by, row->key, row->category, row->line_a,
                                                 row->line_b};
                struct rpl_diff_options finer = {.by = options.by + 1,
                                                 .step = RPL_DIFF_STEP_LAST,
                                                 .inside = &inside,
                                                 .inside_count = 1};
                struct rpl_diff_part in = {.rows = NULL};
                uint64_t a = 0;
                uint64_t b = 0;

                ok(rpl_diff_take(&pair.diff, what, &finer, &in, &err), &err);
                for (size_t n = 0; n < in.row_count; n++) {
                    a += in.rows[n].a;
                    b += in.rows[n].b;
                }
                assert_int_equal(a, row->a);
                assert_int_equal(b, row->b);
                assert_int_equal(in.a, row->a);
                assert_int_equal(in.b, row->b);
                rpl_diff_part_release(&in);
                /* a few of each are enough where there are hundreds */
                r += part.row_count / 8;
            }
            rpl_diff_part_release(&part);
        }
        pair_release(&pair);
    }
}

/*
 * Two steps: the first makes a state of 4 KiB that stays, each an activation, the larger in the first (A) or in the
 * second.
 */
static struct rpl_trace *with_state(uint64_t first, uint64_t second)
{
    struct make m;

    make_init(&m);
    /* with a net, so that size is no part of what an allocation is known by */
    rpl_trace_set_source(m.trace, "net.py", "x = 1\n");
    for (int i = 0; i < 2; i++) {
        uint64_t bytes = i ? second : first;

        make_step(&m, i);
        make_phase(&m, VS_PHASE_OPTIMIZER);
        if (i == 0)
            make_alloc(&m, 4096, VS_CAT_OPTIMIZER);
        make_phase(&m, VS_PHASE_FORWARD);
        make_alloc(&m, bytes, VS_CAT_ACTIVATION);
        make_free(&m, m.blocks, bytes);
    }
    return m.trace;
}

/* Also where the peaks are in different steps, what stays from an earlier step is the same one in both. */
static void allocations_of_one_step_are_paired_when_peaks_are_in_different_steps(void **state)
{
    struct rpl_diff_options options = {.by = RPL_DIFF_TENSOR, .step = RPL_DIFF_STEP_LAST};
    struct rpl_diff_part part = {.rows = NULL};
    struct vs_error err = VS_ERROR_INIT;
    struct pair pair;
    size_t rows;

    (void)state;
    pair_open(&pair, with_state(2048, 1024), with_state(1024, 2048));
    rows = pair.pairs->row_count;
    for (int round = 0; round < 2; round++) {
        ok(rpl_diff_take(&pair.diff, RPL_DIFF_LIVE, &options, &part, &err), &err);
        assert_int_equal(pair.diff.a.at.step, 0);
        assert_int_equal(pair.diff.b.at.step, 1);
        assert_int_equal(part.row_count, 2);
        assert_int_equal(part.rows[0].cause, RPL_DIFF_BOTH);
        assert_int_equal(part.rows[1].cause, RPL_DIFF_BOTH);
        rpl_diff_part_release(&part);
    }
    /* by its number the step is what it was before */
    ok(rpl_diff_take(&pair.diff, RPL_DIFF_STEP, &options, &part, &err), &err);
    assert_int_equal(part.a, 1024);
    assert_int_equal(part.b, 2048);
    assert_int_equal(part.rows[0].cause, RPL_DIFF_BOTH);
    rpl_diff_part_release(&part);
    assert_int_equal(pair.pairs->row_count, rows);
    pair_release(&pair);
}

/* A step of two places in turn, in sizes of `bytes` and twice that, without a net: an imported trace. */
static struct rpl_trace *sized(uint64_t bytes)
{
    struct make m;

    make_init(&m);
    make_step(&m, 0);
    make_phase(&m, VS_PHASE_FORWARD);
    for (uint32_t i = 0; i < 6; i++) {
        m.line = 3 + i % 2;
        make_alloc(&m, i % 2 ? bytes * 2 : bytes, VS_CAT_ACTIVATION);
    }
    m.line = 9;
    make_alloc(&m, 512, VS_CAT_ACTIVATION);
    return m.trace;
}

/*
 * The same program with another batch: what an import knows of an allocation is its place, and its size is what one
 * asks about.
 */
static void imported_traces_are_paired_although_the_sizes_differ(void **state)
{
    struct pair pair;
    size_t sizes = 0;

    (void)state;
    pair_open(&pair, sized(1024), sized(4096));
    assert_int_equal(pair.diff.paired, 7);
    assert_int_equal(pair.diff.moved, 0);
    assert_int_equal(pair.pairs->row_count, 7);
    for (size_t i = 0; i < pair.pairs->row_count; i++)
        sizes += pair.pairs->rows[i].kind == RPL_PAIR_SIZE;
    assert_int_equal(sizes, 6);
    pair_release(&pair);
}

/* A step of two layers of the same shapes, in a file to which `inserted` lines were added above. */
static struct rpl_trace *shifted(uint32_t inserted)
{
    struct make m;
    char modules[3][32];

    make_init(&m);
    make_step(&m, 0);
    make_phase(&m, VS_PHASE_FORWARD);
    for (uint32_t i = 0; i < 3; i++)
        snprintf(modules[i], sizeof(modules[i]), "model:%u.block:%u.%u", 40 + inserted,
                 47 + inserted, i);
    for (uint32_t i = 0; i < 6; i++) {
        m.module = modules[i / 2];
        m.line = 50 + inserted + i % 2;
        make_alloc(&m, 1024, VS_CAT_ACTIVATION);
    }
    return m.trace;
}

/* Without the files it is not known that line 43 of one is line 40 of the other. Layers have numbers. */
static void imported_traces_are_paired_although_the_lines_differ(void **state)
{
    struct pair pair;

    (void)state;
    pair_open(&pair, shifted(0), shifted(3));
    assert_int_equal(pair.diff.paired, 6);
    assert_int_equal(pair.diff.moved, 0);
    assert_int_equal(pair.pairs->row_count, 6);
    for (size_t i = 0; i < pair.pairs->row_count; i++) {
        assert_int_equal(pair.pairs->rows[i].kind, RPL_PAIR_SAME);
        assert_int_equal(pair.pairs->rows[i].alloc_a, i + 1);
        assert_int_equal(pair.pairs->rows[i].alloc_b, i + 1);
    }
    pair_release(&pair);
}

static bool stop_at_once(void *user, uint64_t done, uint64_t total)
{
    uint64_t *calls = user;

    assert_true(done <= total);
    (*calls)++;
    return false;
}

static void a_long_alignment_can_be_stopped(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *traces[2] = {random_trace(150000, 1), random_trace(150000, 2)};
    struct rpl_index *indexes[2];
    struct rpl_diff diff = {.arena = NULL};
    uint64_t calls = 0;

    (void)state;
    for (int i = 0; i < 2; i++)
        ok(rpl_index_open(traces[i], NULL, NULL, &indexes[i], &err), &err);
    assert_int_equal(rpl_diff_open(&diff, indexes[0], indexes[1], stop_at_once, &calls, &err),
                     VS_E_STOPPED);
    assert_int_equal(calls, 1);
    rpl_diff_release(&diff);
    for (int i = 0; i < 2; i++) {
        rpl_index_free(indexes[i]);
        rpl_trace_free(traces[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocator_event_is_in_exactly_one_row),
        cmocka_unit_test(rows_pair_counterparts_or_give_the_reason_for_one_side),
        cmocka_unit_test(a_trace_does_not_differ_from_itself),
        cmocka_unit_test(stretches_cover_exactly_the_rows_that_differ),
        cmocka_unit_test(mapping_an_event_to_the_other_trace_and_back_is_the_identity),
        cmocka_unit_test(rows_up_to_an_event_exclude_later_events),
        cmocka_unit_test(the_highest_total_of_any_range_of_rows_is_found),
        cmocka_unit_test(a_finer_grouping_of_a_row_adds_up_to_the_row),
        cmocka_unit_test(allocations_of_one_step_are_paired_when_peaks_are_in_different_steps),
        cmocka_unit_test(imported_traces_are_paired_although_the_sizes_differ),
        cmocka_unit_test(imported_traces_are_paired_although_the_lines_differ),
        cmocka_unit_test(a_long_alignment_can_be_stopped),
    };

    return cmocka_run_group_tests_name("replay/pairs", tests, NULL, NULL);
}
