/*
 * tests/replay/index/test_timeline.c - every column of a timeline compared with a linear scan over its events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "replay/index/index_internal.h"
#include "replay/index/timeline.h"
#include "replay/state/live.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/random_trace.h"
#include "tests/store/trace_file.h"

#define EVENTS (RPL_STORE_EVENTS + RPL_CHUNK_EVENTS / 2)

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

/* What is true right after each event; at[0] is before the first. */
struct totals {
    uint64_t time_ns;
    uint64_t allocated;
    uint64_t reserved;
    uint64_t by_category[VS_CATEGORY_COUNT];
    int64_t step;
    enum vs_phase phase;
};
struct model {
    struct totals *at;
    uint64_t count;
};

static struct model model_make(struct rpl_trace *trace)
{
    struct model model = {NULL, rpl_trace_event_count(trace)};
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *event;
    struct rpl_live live;

    model.at = vs_calloc((size_t)model.count + 1, sizeof(*model.at));
    model.at[0].step = -1;
    rpl_live_init(&live);
    rpl_scan_init(scan, trace, 1, model.count);
    while ((event = rpl_scan_next(scan, &err)) != NULL) {
        struct totals *m = &model.at[scan->seq];

        ok(rpl_live_apply(&live, scan->seq, event, &err), &err);
        *m = (struct totals){.time_ns = event->time_ns,
                             .allocated = live.allocated,
                             .reserved = live.reserved,
                             .step = live.step,
                             .phase = live.phase};
        memcpy(m->by_category, live.by_category, sizeof(m->by_category));
    }
    rpl_live_release(&live);
    vs_free(scan);
    return model;
}

static void assert_column(const struct model *model, const struct rpl_column *c)
{
    uint64_t first = c->last_seq < c->first_seq ? c->last_seq : c->first_seq;
    const struct totals *best = &model->at[first];
    uint64_t best_seq = first;
    uint64_t min = best->allocated;
    uint64_t reserved_max = best->reserved;
    uint64_t reserved_min = best->reserved;

    for (uint64_t seq = first + 1; seq <= c->last_seq; seq++) {
        const struct totals *m = &model->at[seq];

        if (m->allocated > best->allocated) {
            best = m;
            best_seq = seq;
        }
        min = m->allocated < min ? m->allocated : min;
        reserved_max = m->reserved > reserved_max ? m->reserved : reserved_max;
        reserved_min = m->reserved < reserved_min ? m->reserved : reserved_min;
    }
    if (c->allocated_max != best->allocated || c->max_seq != best_seq)
        fail_msg("events %llu to %llu: highest %llu after %llu, should be %llu after %llu",
                 (unsigned long long)c->first_seq, (unsigned long long)c->last_seq,
                 (unsigned long long)c->allocated_max, (unsigned long long)c->max_seq,
                 (unsigned long long)best->allocated, (unsigned long long)best_seq);
    assert_int_equal(c->allocated_min, min);
    assert_int_equal(c->reserved_max, reserved_max);
    assert_int_equal(c->reserved_min, reserved_min);
    assert_memory_equal(c->by_category, best->by_category, sizeof(c->by_category));
    assert_int_equal(c->step, model->at[first].step);
    assert_int_equal(c->phase, model->at[first].phase);
    if (c->first_seq <= c->last_seq)
        assert_int_equal(c->time_ns, model->at[first].time_ns);
}

/* The columns are contiguous, cover the range, and are correct; and none is far from its share. */
static void assert_columns(struct rpl_index *index, const struct model *model, uint64_t first,
                           uint64_t last, size_t count)
{
    struct rpl_column *columns = vs_calloc(count, sizeof(*columns));
    struct vs_error err = VS_ERROR_INIT;
    uint64_t share = (last - first + 1) / count;

    ok(rpl_timeline_columns(index, first, last, columns, count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        uint64_t events = columns[i].last_seq + 1 - columns[i].first_seq;

        assert_int_equal(columns[i].first_seq, i ? columns[i - 1].last_seq + 1 : first);
        if (events > share + share / 4 + 1 || events + share / 4 + 1 < share)
            fail_msg("column %zu of %zu has %llu events, its share is %llu", i, count,
                     (unsigned long long)events, (unsigned long long)share);
        assert_column(model, &columns[i]);
    }
    assert_int_equal(columns[count - 1].last_seq, last);
    vs_free(columns);
}

static void assert_times(struct rpl_index *index, const struct model *model, uint64_t from,
                         uint64_t to, size_t count)
{
    struct rpl_column *columns = vs_calloc(count, sizeof(*columns));
    struct vs_error err = VS_ERROR_INIT;
    uint64_t first = 1;
    uint64_t end = 1;

    while (first <= model->count && model->at[first].time_ns < from)
        first++;
    while (end <= model->count && model->at[end].time_ns < to)
        end++;
    ok(rpl_timeline_columns_by_time(index, from, to, columns, count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(columns[i].first_seq, i ? columns[i - 1].last_seq + 1 : first);
        assert_column(model, &columns[i]);
    }
    assert_int_equal(columns[count - 1].last_seq + 1, end);
    vs_free(columns);
}

static void assert_all(struct rpl_index *index, const struct model *model)
{
    static const size_t widths[] = {1, 2, 7, 80, 160, 333};
    struct vs_error err = VS_ERROR_INIT;
    uint64_t count = model->count;
    uint32_t random = 99;

    for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++)
        assert_columns(index, model, 1, count, widths[w]);
    for (int i = 0; i < 40; i++) {
        struct rpl_column column;
        uint64_t first;
        uint64_t last;

        random = random * 1664525 + 1013904223;
        first = 1 + (random >> 3) % count;
        random = random * 1664525 + 1013904223;
        last = first + (random >> 3) % (i % 2 ? count : 5 * RPL_PIECE_EVENTS);
        last = last > count ? count : last;
        ok(rpl_timeline_range(index, first, last, &column, &err), &err);
        assert_int_equal(column.first_seq, first);
        assert_int_equal(column.last_seq, last);
        assert_column(model, &column);
        assert_columns(index, model, first, last, widths[i % 6]);
        assert_times(index, model, model->at[first].time_ns, model->at[last].time_ns + 1,
                     widths[i % 6]);
    }
    assert_times(index, model, 0, model->at[count].time_ns * 3, 50);
}

static void every_column_has_the_true_extremes_of_its_events(void **state)
{
    static const uint64_t counts[] = {1, 2, RPL_PIECE_EVENTS, 5000, EVENTS};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct rpl_trace *trace = random_trace(counts[i], (uint32_t)i + 20);
        struct model model = model_make(trace);
        struct rpl_index *index;

        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        assert_all(index, &model);
        rpl_index_free(index);
        vs_free(model.at);
        rpl_trace_free(trace);
    }
}

static void columns_of_a_stored_index_have_the_true_extremes(void **state)
{
    struct rpl_trace *memory = random_trace(EVENTS, 31);
    struct model model = model_make(memory);
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];

    trace_path(state, "timeline.db", path, sizeof(path));
    random_trace_write(memory, model.count, path);
    for (int i = 0; i < 2; i++) {
        struct rpl_trace *trace;
        struct rpl_index *index;

        ok(rpl_trace_open(path, &trace, &err), &err);
        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        assert_true(index->is_stored);
        assert_all(index, &model);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
    vs_free(model.at);
    rpl_trace_free(memory);
}

static void time_in_which_nothing_happens_has_columns_without_events(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_column columns[10];
    struct rpl_index *index;
    struct make m;

    (void)state;
    make_init(&m);
    make_event(&m, (struct vs_event){.kind = VS_EV_ALLOC,
                                     .alloc = {.block = 1,
                                               .requested_bytes = 100,
                                               .block_bytes = 512,
                                               .category = VS_CAT_INPUT}});
    make_event(&m, (struct vs_event){.kind = VS_EV_ALLOC,
                                     .alloc = {.block = 2,
                                               .requested_bytes = 100,
                                               .block_bytes = 512,
                                               .category = VS_CAT_SAVED},
                                     .time_ns = 5});
    make_event(&m,
               (struct vs_event){.kind = VS_EV_FREE,
                                 .free = {.block = 1, .requested_bytes = 100, .block_bytes = 512},
                                 .time_ns = 999});
    ok(rpl_index_open(m.trace, NULL, NULL, &index, &err), &err);
    ok(rpl_timeline_columns_by_time(index, 0, 1000, columns, 10, &err), &err);
    assert_int_equal(columns[0].last_seq, 2);
    for (int i = 1; i < 9; i++) {
        assert_true(columns[i].last_seq < columns[i].first_seq);
        assert_int_equal(columns[i].allocated_max, 1024);
        assert_int_equal(columns[i].by_category[VS_CAT_INPUT], 512);
        assert_int_equal(columns[i].by_category[VS_CAT_SAVED], 512);
    }
    assert_int_equal(columns[9].first_seq, 3);
    assert_int_equal(columns[9].allocated_max, 512);
    assert_int_equal(rpl_index_top(index).allocated, 1024);
    assert_int_equal(rpl_index_top(index).event, 2);
    rpl_index_free(index);
    rpl_trace_free(m.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_has_the_true_extremes_of_its_events),
        cmocka_unit_test(columns_of_a_stored_index_have_the_true_extremes),
        cmocka_unit_test(time_in_which_nothing_happens_has_columns_without_events),
    };

    return cmocka_run_group_tests_name("replay/timeline", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
