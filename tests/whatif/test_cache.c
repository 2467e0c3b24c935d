/*
 * tests/whatif/test_cache.c - cached what-ifs equal fresh ones, stay within their memory limit, and are not run twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/replay/net_trace.h"
#include "whatif/cache.h"
#include "whatif/whatif.h"

#define NET "tests/nets/conv_small.py"
#define CAPACITY (UINT64_C(256) << 20)

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static void set_of(const char *pairs, struct vs_toggles *set)
{
    struct vs_error err = VS_ERROR_INIT;
    char copy[256];
    char *save = NULL;

    memset(set, 0, sizeof(*set));
    assert_true(strlen(pairs) < sizeof(copy));
    strcpy(copy, pairs);
    for (char *pair = strtok_r(copy, " ", &save); pair; pair = strtok_r(NULL, " ", &save))
        ok(vs_toggles_set_pair(set, pair, &err), &err);
}

static const struct wif_result *get(struct wif_cache *cache, const char *pairs)
{
    const struct wif_result *result = NULL;
    struct vs_error err = VS_ERROR_INIT;
    struct vs_toggles set;

    set_of(pairs, &set);
    ok(wif_cache_get(cache, &set, 0, NULL, NULL, &result, &err), &err);
    vs_toggles_release(&set);
    assert_non_null(result->trace);
    return result;
}

static enum vs_status make(struct wif_cache *cache, const char *pairs, rpl_progress_fn *progress,
                           void *user)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_toggles set;
    enum vs_status st;

    set_of(pairs, &set);
    st = wif_cache_make(cache, &set, 0, true, progress, user, &err);
    vs_toggles_release(&set);
    return st;
}

static const struct wif_result *find(struct wif_cache *cache, const char *pairs, uint64_t *bytes)
{
    const struct wif_result *result;
    struct vs_toggles set;

    set_of(pairs, &set);
    result = wif_cache_find(cache, &set, 0, bytes);
    vs_toggles_release(&set);
    return result;
}

/* Texts instead of numbers: two runs number them alike only if they are alike, which this is to find out. */
static void assert_events_equal(struct rpl_trace *a, struct rpl_trace *b)
{
    struct rpl_scan *x = calloc(1, sizeof(*x));
    struct rpl_scan *y = calloc(1, sizeof(*y));
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *ex;

    assert_non_null(x);
    assert_non_null(y);
    assert_int_equal(rpl_trace_event_count(a), rpl_trace_event_count(b));
    rpl_scan_init(x, a, 1, rpl_trace_event_count(a));
    rpl_scan_init(y, b, 1, rpl_trace_event_count(b));
    while ((ex = rpl_scan_next(x, &err)) != NULL) {
        const struct vs_event *ey = rpl_scan_next(y, &err);

        assert_non_null(ey);
        assert_memory_equal(ex, ey, sizeof(*ex));
        assert_memory_equal(rpl_trace_location(a, ex->location),
                            rpl_trace_location(b, ey->location), sizeof(struct vs_location));
    }
    assert_int_equal(rpl_trace_string_count(a), rpl_trace_string_count(b));
    for (uint32_t i = 1; i <= rpl_trace_string_count(a); i++)
        assert_string_equal(rpl_trace_string(a, i), rpl_trace_string(b, i));
    free(x);
    free(y);
}

static void assert_fresh(const struct wif_result *result, struct rpl_trace *base, const char *pairs)
{
    struct rpl_trace *fresh = rpl_trace_new();
    struct rpl_index *index = NULL;
    struct vs_error err = VS_ERROR_INIT;
    struct vs_toggles set;
    struct rpl_run run;

    set_of(pairs, &set);
    ok(wif_run_on(base, &set, 0, fresh, &err), &err);
    ok(rpl_index_open(fresh, NULL, NULL, &index, &err), &err);
    ok(rpl_run_fill(&run, index, &err), &err);
    assert_events_equal(result->trace, fresh);
    assert_memory_equal(&result->run, &run, sizeof(run));
    assert_int_equal(rpl_trace_toggle_count(result->trace), rpl_trace_toggle_count(fresh));
    for (size_t i = 0; i < rpl_trace_toggle_count(fresh); i++)
        assert_string_equal(rpl_trace_toggle(result->trace, i).value,
                            rpl_trace_toggle(fresh, i).value);
    vs_toggles_release(&set);
    rpl_index_free(index);
    rpl_trace_free(fresh);
}

static void a_cached_run_equals_a_fresh_one(void **state)
{
    /* on, off, on, two together, and in the memory of a deleted one */
    static const char *const ASKED[] = {"inplace=on",
                                        "",
                                        "inplace=on",
                                        "amp=bf16",
                                        "inplace=on amp=bf16",
                                        "amp=bf16",
                                        "checkpoint=blocks",
                                        "batch=3",
                                        "zero-grad=zeros optimizer=adam",
                                        "inplace=on",
                                        "batch=3",
                                        ""};
    static const uint64_t CAPACITIES[] = {CAPACITY, 0};
    struct rpl_trace *base = net_trace(NET, NULL);

    (void)state;
    for (size_t r = 0; r < 2; r++) {
        struct wif_cache *cache = wif_cache_new(base, CAPACITIES[r]);

        for (size_t i = 0; i < sizeof(ASKED) / sizeof(ASKED[0]); i++)
            assert_fresh(get(cache, ASKED[i]), base, ASKED[i]);
        /* seven what-ifs; without capacity only the last one is kept */
        assert_int_equal(wif_cache_runs(cache), r ? 12 : 7);
        wif_cache_free(cache);
    }
    rpl_trace_free(base);
}

static void cached_runs_stay_within_the_memory_limit(void **state)
{
    static const char *const ASKED[] = {"batch=2", "batch=3",  "batch=5",
                                        "batch=6", "amp=bf16", "zero-grad=zeros"};
    struct rpl_trace *base = net_trace(NET, NULL);
    struct wif_cache *cache = wif_cache_new(base, CAPACITY);
    const struct wif_result *shown;
    uint64_t bytes = 0;
    uint64_t bytes_max;
    uint64_t whole = 0;

    (void)state;
    (void)get(cache, "batch=4");
    assert_non_null(find(cache, "batch=4", &bytes));
    assert_true(bytes >= rpl_trace_event_count(base) * sizeof(struct vs_event));
    assert_int_equal(bytes, wif_cache_bytes(cache));
    wif_cache_free(cache);

    bytes_max = 3 * bytes + bytes / 2;
    cache = wif_cache_new(base, bytes_max);
    shown = get(cache, "batch=4");
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(make(cache, ASKED[i], NULL, NULL), VS_OK);
        assert_true(wif_cache_bytes(cache) <= bytes_max);
        assert_non_null(find(cache, ASKED[i], NULL)->trace); /* the latest is complete */
    }
    /* so are the one in use and a few others; the figures of all are kept */
    assert_fresh(shown, base, "batch=4");
    for (size_t i = 0; i < 6; i++) {
        const struct wif_result *result = find(cache, ASKED[i], &bytes);

        assert_non_null(result);
        assert_true(result->run.peak > 0);
        whole += result->trace != NULL;
        assert_int_equal(result->trace != NULL, bytes != 0);
    }
    assert_in_range(whole, 1, 3);
    assert_null(find(cache, "batch=7", NULL));
    wif_cache_free(cache);
    rpl_trace_free(base);
}

/* The state after each of some events is that of a fresh run. */
static void assert_seeks(const struct wif_result *result, struct rpl_trace *base, const char *pairs)
{
    struct rpl_trace *fresh = rpl_trace_new();
    struct rpl_index *index = NULL;
    struct rpl_cursor *cursor;
    struct vs_error err = VS_ERROR_INIT;
    struct vs_toggles set;
    uint64_t count;

    set_of(pairs, &set);
    ok(wif_run_on(base, &set, 0, fresh, &err), &err);
    ok(rpl_index_open(fresh, NULL, NULL, &index, &err), &err);
    cursor = rpl_cursor_new(index);
    count = rpl_index_event_count(index);
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t at = 1 + i * 7919 % count;
        size_t held = 0;
        size_t held_fresh = 1;

        ok(rpl_cursor_seek(cursor, at, &err), &err);
        ok(rpl_cursor_seek(result->cursor, at, &err), &err);
        assert_int_equal(rpl_cursor_live(result->cursor)->allocated,
                         rpl_cursor_live(cursor)->allocated);
        assert_int_equal(rpl_cursor_live(result->cursor)->block_count,
                         rpl_cursor_live(cursor)->block_count);
        (void)rpl_cursor_held(result->cursor, &held);
        (void)rpl_cursor_held(cursor, &held_fresh);
        assert_int_equal(held, held_fresh);
    }
    vs_toggles_release(&set);
    rpl_cursor_free(cursor);
    rpl_index_free(index);
    rpl_trace_free(fresh);
}

/* Compression pays in chunks of 16,384 events; those of a stress build have 64, and need only become smaller. */
#ifdef VS_STRESS
#define IS_SMALL(small, large) ((small) < (large))
#else
#define IS_SMALL(small, large) ((small) < (large) / 2)
#endif

static void a_compressed_run_gives_the_same_results(void **state)
{
    static const char *const ASKED[] = {"inplace=on", "batch=3", "amp=bf16", "checkpoint=blocks"};
    struct rpl_trace *base = net_trace(NET, NULL);
    struct wif_cache *cache = wif_cache_new(base, CAPACITY);
    uint64_t large[4];
    uint64_t bytes = 0;

    (void)state;
    assert_false(wif_cache_shrink(cache));
    (void)get(cache, "batch=2"); /* shown, and stays as it is */
    (void)find(cache, "batch=2", &bytes);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(make(cache, ASKED[i], NULL, NULL), VS_OK);
        (void)find(cache, ASKED[i], &large[i]);
    }
    while (wif_cache_shrink(cache))
        ;
    for (size_t i = 0; i < 4; i++) {
        uint64_t small = 0;

        assert_fresh(find(cache, ASKED[i], &small), base, ASKED[i]);
        assert_true(small && IS_SMALL(small, large[i]));
        bytes += small;
    }
    assert_int_equal(wif_cache_bytes(cache), bytes);
    for (size_t i = 0; i < 4; i++) {
        uint64_t small = 0;

        assert_seeks(get(cache, ASKED[i]), base, ASKED[i]);
        assert_fresh(get(cache, ASKED[i]), base, ASKED[i]);
        (void)get(cache, "batch=2");
        /* the decompressed events have been freed; the index and the cursor are kept */
        (void)find(cache, ASKED[i], &small);
        assert_true(IS_SMALL(small, large[i] / 3 * 4));
    }
    assert_int_equal(wif_cache_runs(cache), 5);
    /* the memory of one that was made small is the next one's */
    assert_fresh(get(cache, "batch=5"), base, "batch=5");
    wif_cache_free(cache);
    rpl_trace_free(base);
}

/* Stops at the `n`-th call. */
static bool stop(void *user, uint64_t done, uint64_t total)
{
    int *calls = user;

    (void)done;
    (void)total;
    return --*calls > 0;
}

static void a_stopped_run_is_not_cached_and_a_failed_one_is(void **state)
{
    struct rpl_trace *base = net_trace(NET, NULL);
    struct wif_cache *cache = wif_cache_new(base, CAPACITY);
    const struct wif_result *result;
    int calls = 2;

    (void)state;
    assert_int_equal(make(cache, "inplace=on", stop, &calls), VS_E_STOPPED);
    assert_null(find(cache, "inplace=on", NULL));
    assert_fresh(get(cache, "inplace=on"), base, "inplace=on");
    assert_int_equal(wif_cache_runs(cache), 2);

    assert_int_equal(make(cache, "checkpoint=no.such.module", NULL, NULL),
                     make(cache, "checkpoint=no.such.module", NULL, NULL));
    assert_int_equal(wif_cache_runs(cache), 3);
    result = find(cache, "checkpoint=no.such.module", NULL);
    assert_non_null(result);
    assert_int_not_equal(result->status, VS_OK);
    assert_non_null(strstr(result->failure, "no.such.module"));
    wif_cache_free(cache);
    rpl_trace_free(base);
}

static void a_run_too_large_to_be_cached_is_abandoned(void **state)
{
    struct rpl_trace *base = net_trace(NET, NULL);
    struct wif_cache *cache =
        wif_cache_new(base, rpl_trace_event_count(base) * sizeof(struct vs_event) * 8);

    (void)state;
    assert_int_equal(make(cache, "steps=2000", NULL, NULL), VS_E_OVERFLOW);
    assert_null(find(cache, "steps=2000", NULL));
    assert_int_equal(make(cache, "batch=2", NULL, NULL), VS_OK);
    wif_cache_free(cache);
    rpl_trace_free(base);
}

static void a_result_in_use_survives_clearing_the_cache(void **state)
{
    struct rpl_trace *base = net_trace(NET, NULL);
    struct wif_cache *cache = wif_cache_new(base, CAPACITY);
    const struct wif_result *shown = get(cache, "amp=bf16");
    uint64_t number = shown->number;

    (void)state;
    assert_int_equal(make(cache, "batch=2", NULL, NULL), VS_OK);
    wif_cache_forget(cache);
    assert_null(find(cache, "amp=bf16", NULL));
    assert_null(find(cache, "batch=2", NULL));
    assert_fresh(shown, base, "amp=bf16");
    assert_int_not_equal(get(cache, "amp=bf16")->number, number);
    wif_cache_free(cache);
    rpl_trace_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cached_run_equals_a_fresh_one),
        cmocka_unit_test(cached_runs_stay_within_the_memory_limit),
        cmocka_unit_test(a_compressed_run_gives_the_same_results),
        cmocka_unit_test(a_stopped_run_is_not_cached_and_a_failed_one_is),
        cmocka_unit_test(a_run_too_large_to_be_cached_is_abandoned),
        cmocka_unit_test(a_result_in_use_survives_clearing_the_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
