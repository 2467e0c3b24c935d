/*
 * tests/whatif/test_sweep.c - before and after of a what-if compared with the summaries of both runs; the table of
 * toggles; batches that fit.
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
#include "replay/diff/compare.h"
#include "replay/report/summary.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/net_trace.h"
#include "whatif/sweep.h"
#include "whatif/whatif.h"

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static void assert_run(const struct rpl_run *run, struct rpl_trace *trace)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;

    ok(rpl_summary_fill(&sum, trace, &err), &err);
    assert_int_equal(run->peak, sum.peak.allocated);
    assert_int_equal(run->event, sum.peak.event);
    assert_int_equal(run->reserved, sum.peak.reserved);
    assert_int_equal(run->step, sum.peak.step);
    assert_int_equal(run->phase, sum.peak.phase);
    assert_int_equal(run->location, sum.peak.location);
    assert_int_equal(run->is_recompute, sum.peak.is_recompute);
    assert_memory_equal(run->by_category, sum.peak.by_category, sizeof(run->by_category));
    assert_int_equal(run->flops, sum.flops);
    assert_int_equal(run->recompute_flops, sum.recompute_flops);
    assert_int_equal(run->oom, sum.oom.event);
    rpl_summary_release(&sum);
}

static void before_and_after_equal_the_figures_of_the_two_runs(void **state)
{
    static const char *const toggles[] = {"checkpoint=blocks", "inplace=on", "batch=3"};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct rpl_trace *a = net_trace("tests/nets/resnet_small.py", NULL);
        struct rpl_trace *b = net_trace("tests/nets/resnet_small.py", toggles[i]);
        struct rpl_index *ia;
        struct rpl_index *ib;
        struct rpl_run before;
        struct rpl_run after;
        struct rpl_compare compare;
        int64_t delta = 0;

        ok(rpl_index_open(a, NULL, NULL, &ia, &err), &err);
        ok(rpl_index_open(b, NULL, NULL, &ib, &err), &err);
        ok(rpl_run_fill(&before, ia, &err), &err);
        ok(rpl_run_fill(&after, ib, &err), &err);
        rpl_compare_fill(&compare, &before, &after);
        assert_run(&compare.before, a);
        assert_run(&compare.after, b);
        for (size_t c = 0; c < VS_CATEGORY_COUNT; c++)
            delta += compare.by_category[c];
        assert_int_equal(delta, compare.delta);
        assert_int_equal(compare.delta, (int64_t)compare.after.peak - (int64_t)compare.before.peak);
        if (i == 0) {
            assert_true(compare.recompute > 0 && compare.recompute < 0.5);
            assert_true(compare.flops_ratio > 1);
        }
        if (i == 1)
            assert_true(compare.recompute == 0 && compare.flops_ratio == 1);
        rpl_index_free(ia);
        rpl_index_free(ib);
        rpl_trace_free(a);
        rpl_trace_free(b);
    }
}

/* Does a run of the net with these toggles and this batch fit? Found by a run, without the search. */
static bool runs_in(struct rpl_trace *base, const struct vs_toggles *set, uint64_t capacity,
                    uint64_t batch)
{
    struct rpl_trace *out = rpl_trace_new();
    struct rpl_summary sum = {.events = 0};
    struct vs_toggles with = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    char text[32];
    bool fits;

    vs_toggles_copy(&with, set);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)batch);
    ok(vs_toggles_set(&with, VS_TOGGLE_BATCH, text, &err), &err);
    ok(wif_run_on(base, &with, capacity, out, &err), &err);
    ok(rpl_summary_fill(&sum, out, &err), &err);
    fits = !sum.oom.event;
    rpl_summary_release(&sum);
    vs_toggles_release(&with);
    rpl_trace_free(out);
    return fits;
}

static uint64_t net_batch(const struct rpl_trace *base)
{
    for (size_t i = 0; i < rpl_trace_toggle_count(base); i++)
        if (strcmp(rpl_trace_toggle(base, i).name, "batch") == 0)
            return strtoull(rpl_trace_toggle(base, i).value, NULL, 10);
    fail_msg("the trace says no batch");
    return 0;
}

/* Of each row of the table. */
static void the_largest_batch_fits_and_the_next_does_not(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/conv_small.py", NULL);
    size_t found = 0;

    (void)state;
    for (uint64_t capacity = UINT64_C(1) << 20; capacity <= UINT64_C(1) << 26; capacity *= 8) {
        struct wif_sweep_options options = {.capacity = capacity, .batches = WIF_SWEEP_BATCHES_ALL};
        struct wif_sweep sweep = {NULL, 0, 0};
        struct vs_error err = VS_ERROR_INIT;

        ok(wif_sweep_fill(&sweep, base, &options, &err), &err);
        for (size_t i = 0; i < sweep.count; i++) {
            const struct wif_sweep_row *row = &sweep.items[i];
            uint64_t unit = vs_toggles_count(&row->set, VS_TOGGLE_ACCUMULATE);
            uint64_t now = vs_toggles_is_set(&row->set, VS_TOGGLE_BATCH)
                               ? vs_toggles_count(&row->set, VS_TOGGLE_BATCH)
                               : net_batch(base);

            if (row->failed)
                continue;
            assert_false(row->is_batch_max);
            assert_int_equal(row->batch % unit, 0);
            if (row->batch)
                assert_true(runs_in(base, &row->set, capacity, row->batch));
            assert_false(runs_in(base, &row->set, capacity, row->batch + unit));
            assert_int_equal(row->fits, runs_in(base, &row->set, capacity, now));
            found += row->batch > 0;
        }
        wif_sweep_release(&sweep);
    }
    assert_true(found > 20);
    rpl_trace_free(base);
}

/* What does not fit the device says what it needs: the peak without a limit. */
static void a_toggle_that_does_not_fit_has_the_memory_it_needs(void **state)
{
    struct rpl_trace *base = net_trace("sample_nets/variables.py", NULL);
    struct wif_sweep wide = {NULL, 0, 0};
    struct wif_sweep tight = {NULL, 0, 0};
    struct wif_sweep_options options = {.capacity = 0};
    struct vs_error err = VS_ERROR_INIT;
    size_t too_large = 0;

    (void)state;
    ok(wif_sweep_fill(&wide, base, &options, &err), &err);
    options.capacity = wide.items[0].run.peak - 1;
    ok(wif_sweep_fill(&tight, base, &options, &err), &err);
    assert_int_equal(wide.count, tight.count);
    for (size_t i = 0; i < wide.count; i++) {
        assert_string_equal(wide.items[i].label, tight.items[i].label);
        if (wide.items[i].failed)
            continue;
        assert_true(wide.items[i].fits);
        if (tight.items[i].fits)
            assert_true(tight.items[i].run.reserved <= options.capacity);
        else
            assert_memory_equal(&tight.items[i].run, &wide.items[i].run, sizeof(struct rpl_run));
        too_large += !tight.items[i].fits;
    }
    assert_true(too_large > 3 && too_large < wide.count);
    wif_sweep_release(&wide);
    wif_sweep_release(&tight);
    rpl_trace_free(base);
}

/* Counts calls, and stops after the tenth where *user is negative. */
static bool next(void *user, const struct wif_sweep *known, const char *label)
{
    int *calls = user;

    (void)known;
    assert_non_null(label);
    if (*calls < 0)
        return --*calls > -10;
    ++*calls;
    return true;
}

static void the_sweep_has_each_toggle_and_the_best_combination(void **state)
{
    struct rpl_trace *base = net_trace("tests/nets/resnet_small.py", NULL);
    struct wif_sweep sweep = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    uint64_t best = UINT64_MAX;
    size_t singles = 0;
    size_t combined = 0;
    int calls = 0;
    const struct wif_sweep_options options = {.next = next, .user = &calls};

    (void)state;
    ok(wif_sweep_fill(&sweep, base, &options, &err), &err);
    assert_true(calls >= (int)sweep.count);
    assert_string_equal(sweep.items[0].label, "");
    assert_run(&sweep.items[0].run, base);
    for (size_t i = 0; i < sweep.count; i++) {
        const struct wif_sweep_row *row = &sweep.items[i];
        struct rpl_trace *again;

        assert_int_equal(row->batch, 0);
        if (row->failed) {
            assert_non_null(row->reason);
            continue;
        }
        again = net_trace("tests/nets/resnet_small.py", row->label);
        assert_run(&row->run, again);
        rpl_trace_free(again);
        singles += !strchr(row->label, ' ') && *row->label;
        combined += strchr(row->label, ' ') != NULL;
        if (row->is_same && !strchr(row->label, ' ') && row->run.peak < best)
            best = row->run.peak;
    }
    assert_true(singles > 15);
    /* the combinations come last, and each is better than any toggle that changes no results is alone */
    assert_true(combined > 0);
    assert_non_null(strchr(sweep.items[sweep.count - 1].label, ' '));
    for (size_t i = sweep.count - combined; i < sweep.count; i++)
        assert_true(sweep.items[i].run.peak < best);
    wif_sweep_release(&sweep);

    calls = -1;
    assert_int_equal(wif_sweep_fill(&sweep, base, &options, &err), VS_E_STOPPED);
    assert_int_equal(sweep.count, 8);
    wif_sweep_release(&sweep);
    rpl_trace_free(base);
}

static void assert_same_tables(const struct wif_sweep *a, const struct wif_sweep *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const struct wif_sweep_row *x = &a->items[i];
        const struct wif_sweep_row *y = &b->items[i];

        assert_string_equal(x->label, y->label);
        assert_int_equal(x->failed, y->failed);
        assert_int_equal(x->fits, y->fits);
        assert_int_equal(x->batch, y->batch);
        assert_string_equal(x->no_effect ? x->no_effect : "", y->no_effect ? y->no_effect : "");
        if (x->failed)
            assert_string_equal(x->reason, y->reason);
        else
            assert_memory_equal(&x->run, &y->run, sizeof(x->run));
        assert_string_equal(x->refused, y->refused);
    }
}

/* With memory for all runs, and for hardly one. */
static void cached_what_ifs_give_the_same_sweep(void **state)
{
    static const uint64_t CAPACITIES[] = {UINT64_C(256) << 20, UINT64_C(1) << 20};
    struct rpl_trace *base = net_trace("tests/nets/conv_small.py", NULL);
    struct wif_sweep_options options = {.capacity = UINT64_C(6) << 20,
                                        .batches = WIF_SWEEP_BATCHES_ALL};
    struct wif_sweep plain = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    ok(wif_sweep_fill(&plain, base, &options, &err), &err);
    for (size_t i = 0; i < 2; i++) {
        struct wif_cache *cache = wif_cache_new(base, CAPACITIES[i]);
        uint64_t runs = 0;

        options.cache = cache;
        for (int again = 0; again < 2; again++) {
            struct wif_sweep kept = {NULL, 0, 0};

            ok(wif_sweep_fill(&kept, base, &options, &err), &err);
            assert_same_tables(&plain, &kept);
            wif_sweep_release(&kept);
            if (again && i == 0)
                assert_int_equal(wif_cache_runs(cache), runs);
            runs = wif_cache_runs(cache);
        }
        assert_true(runs >= plain.count);
        wif_cache_free(cache);
    }
    wif_sweep_release(&plain);
    rpl_trace_free(base);
}

static void a_trace_without_a_net_has_no_sweep(void **state)
{
    struct wif_sweep sweep = {NULL, 0, 0};
    const struct wif_sweep_options options = {.capacity = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct make m;

    (void)state;
    make_init(&m);
    make_alloc(&m, 100, VS_CAT_OTHER);
    assert_int_equal(wif_sweep_fill(&sweep, m.trace, &options, &err), VS_E_UNSUPPORTED);
    wif_sweep_release(&sweep);
    rpl_trace_free(m.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_and_after_equal_the_figures_of_the_two_runs),
        cmocka_unit_test(the_largest_batch_fits_and_the_next_does_not),
        cmocka_unit_test(a_toggle_that_does_not_fit_has_the_memory_it_needs),
        cmocka_unit_test(the_sweep_has_each_toggle_and_the_best_combination),
        cmocka_unit_test(cached_what_ifs_give_the_same_sweep),
        cmocka_unit_test(a_trace_without_a_net_has_no_sweep),
    };

    return cmocka_run_group_tests_name("whatif/sweep", tests, NULL, NULL);
}
