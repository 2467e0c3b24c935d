/*
 * tests/whatif/test_alloc.c - imported traces under other settings of the allocator and on other devices.
 *
 * The recorded runs of tests/golden/alloc, and the snapshots that lie beside them, must come out as they are when
 * nothing is changed. What changes is checked on small runs with the arithmetic in the comments; the rules are those
 * of docs/internals/allocator.md. With a folder of snapshots as its argument the program takes all of them from there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "import/importing.h"
#include "import/writing.h"
#include "recording/memlist.h"
#include "replay/report/summary.h"
#include "tests/engine/alloc_lists.h"
#include "tests/replay/make_trace.h"
#include "tests/store/trace_file.h"
#include "whatif/sweep.h"
#include "whatif/whatif.h"

#define MIB UINT64_C(1048576)
#define MAX_ROWS 64
#define AT UINT64_C(0x700000000000)

static const char *folder = "tests/golden/snapshots";

static void must(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s: %s", vs_status_name(st), err->text);
}

/* ---- recorded runs ---- */

static void list_import(const struct alloc_facts *facts, const char *to)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_memlist list = {.events = NULL};
    struct imp_import import = {.events = NULL};
    struct sto_writer *writer = NULL;
    char path[256];

    snprintf(path, sizeof(path), "%s/%s.gz", folder, facts->file);
    if (access(path, R_OK))
        snprintf(path, sizeof(path), "%s/%.*s.%u.txt", ALLOC_LISTS_DIR,
                 (int)strcspn(facts->file, "."), facts->file, (unsigned)facts->device);
    must(rec_memlist_read_whole(path, (int64_t)facts->device, &list, &err), &err);
    must(imp_make(&list, &import, &err), &err);
    must(sto_writer_open(to, &(struct sto_writer_options){.force = true}, &writer, &err), &err);
    must(imp_write(&import, &list, 1, path, writer, &err), &err);
    must(sto_writer_close(writer, true, &err), &err);
    imp_release(&import);
    vs_memlist_release(&list);
}

static bool is_same_event(const struct vs_event *a, const struct vs_event *b)
{
    return a->kind == b->kind && a->time_ns == b->time_ns && a->raw.a == b->raw.a &&
           a->raw.b == b->raw.b && a->raw.c == b->raw.c && a->raw.d == b->raw.d &&
           a->raw.e == b->raw.e && a->location == b->location && a->raw.aux == b->raw.aux;
}

static void expect_same(struct rpl_trace *a, struct rpl_trace *b, const char *name)
{
    const uint64_t count = rpl_trace_event_count(a);
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_scan x, y;
    const struct vs_event *e;

    assert_int_equal(rpl_trace_event_count(b), count);
    if (!count)
        return;
    rpl_scan_init(&x, a, 1, count);
    rpl_scan_init(&y, b, 1, count);
    while ((e = rpl_scan_next(&x, &err)) != NULL)
        if (!is_same_event(e, rpl_scan_next(&y, &err)))
            fail_msg("%s: event %" PRIu64 " is another one", name, x.seq);
    must(x.status, &err);
}

static void unchanged_settings_give_the_recorded_run_event_for_event(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct alloc_facts facts;
    char path[256];
    size_t rows = 0;

    trace_path(state, "list.db", path, sizeof(path));
    while (alloc_facts_read(rows, &facts, &err) == VS_OK) {
        struct rpl_trace *base = NULL;
        struct rpl_trace *out = rpl_trace_new();

        list_import(&facts, path);
        must(rpl_trace_open(path, &base, &err), &err);
        must(wif_run(base, NULL, out, &err), &err);
        expect_same(base, out, facts.file);
        rpl_trace_free(out);
        rpl_trace_free(base);
        rows++;
    }
    assert_true(rows > 20);
}

/* A trace of two devices has its strings and places once a device, the answer once. */
static void another_devices_events_keep_their_locations(void **state)
{
    const char *from = "tests/golden/derived/lenet.pickle.gz";
    struct vs_memlist lists[2] = {{.events = NULL}};
    struct imp_import imports[2] = {{.events = NULL}};
    struct rpl_trace *out = rpl_trace_new();
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *writer = NULL;
    struct rpl_trace *base = NULL;
    const struct vs_event *e;
    struct rpl_scan x, y;
    char path[256];
    size_t lines = 0;

    trace_path(state, "two.db", path, sizeof(path) - 2);
    for (size_t i = 0; i < 2; i++) {
        must(rec_memlist_read_whole(from, 0, &lists[i], &err), &err);
        lists[i].device = i;
        must(imp_make(&lists[i], &imports[i], &err), &err);
    }
    must(sto_writer_open(path, &(struct sto_writer_options){.force = true}, &writer, &err), &err);
    must(imp_write(imports, lists, 2, from, writer, &err), &err);
    must(sto_writer_close(writer, true, &err), &err);
    strcat(path, "@1");
    must(rpl_trace_open(path, &base, &err), &err);
    must(wif_run(base, NULL, out, &err), &err);
    assert_int_equal(rpl_trace_event_count(out), rpl_trace_event_count(base));
    rpl_scan_init(&x, base, 1, rpl_trace_event_count(base));
    rpl_scan_init(&y, out, 1, rpl_trace_event_count(out));
    while ((e = rpl_scan_next(&x, &err)) != NULL) {
        const struct vs_location *a = rpl_trace_location(base, e->location);
        const struct vs_location *b = rpl_trace_location(out, rpl_scan_next(&y, &err)->location);

        assert_string_equal(rpl_trace_string(base, a->op), rpl_trace_string(out, b->op));
        assert_string_equal(rpl_trace_string(base, a->func), rpl_trace_string(out, b->func));
        assert_string_equal(rpl_trace_string(base, a->module), rpl_trace_string(out, b->module));
        assert_int_equal(a->line, b->line);
        lines += a->line > 0;
    }
    must(x.status, &err);
    assert_true(lines > 0);
    for (size_t i = 0; i < 2; i++) {
        imp_release(&imports[i]);
        vs_memlist_release(&lists[i]);
    }
    rpl_trace_free(out);
    rpl_trace_free(base);
}

/* Each row is what asking for its setting alone gives. */
static void a_sweep_of_an_imported_trace_changes_allocator_settings(void **state)
{
    struct rpl_trace *out = rpl_trace_new();
    struct wif_sweep_options options = {.capacity = UINT64_C(1) << 40,
                                        .batches = WIF_SWEEP_BATCHES_ALL};
    struct wif_sweep sweep = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *base = NULL;
    struct alloc_facts facts;
    size_t changed = 0;
    char path[256];

    trace_path(state, "tries.db", path, sizeof(path));
    must(alloc_facts_read(0, &facts, &err), &err);
    list_import(&facts, path);
    must(rpl_trace_open(path, &base, &err), &err);
    must(wif_sweep_fill(&sweep, base, &options, &err), &err);
    assert_true(sweep.count > 3);
    for (size_t i = 0; i < sweep.count; i++) {
        struct rpl_summary sum;

        memset(&sum, 0, sizeof(sum));
        assert_false(sweep.items[i].failed);
        must(wif_run(base, &sweep.items[i].set, out, &err), &err);
        must(rpl_summary_fill(&sum, out, &err), &err);
        assert_int_equal(sweep.items[i].run.peak, sum.peak.allocated);
        assert_int_equal(sweep.items[i].batch, 0);
        changed += sweep.items[i].run.peak != sweep.items[0].run.peak;
        rpl_summary_release(&sum);
    }
    assert_true(changed > 0);
    wif_sweep_release(&sweep);
    rpl_trace_free(out);
    rpl_trace_free(base);
}

/* ---- small runs ---- */

/* Runs a what-if of an imported trace: `conf` or NULL, capacity or 0. Fills the summary of the result. */
struct small {
    struct make m;
    struct rpl_trace *out;
    struct rpl_summary sum;
};

static void small_begin(struct small *s)
{
    memset(s, 0, sizeof(*s));
    make_init(&s->m);
    rpl_trace_set_meta(s->m.trace, "source_kind", "imported");
    rpl_trace_set_meta(s->m.trace, "start_events", "0");
    s->m.func = "train.py:step";
    s->m.line = 1;
}

static void small_end(struct small *s)
{
    rpl_summary_release(&s->sum);
    rpl_trace_free(s->out);
    rpl_trace_free(s->m.trace);
}

static enum vs_status whatif_run(struct small *s, const char *set, uint64_t capacity,
                                 struct vs_error *err)
{
    struct vs_toggles toggles = {{NULL}};
    enum vs_status st;

    if (!s->out)
        s->out = rpl_trace_new();
    if (set)
        must(vs_toggles_set_pair(&toggles, set, err), err);
    st = wif_run_on(s->m.trace, &toggles, capacity, s->out, err);
    vs_toggles_release(&toggles);
    rpl_summary_release(&s->sum);
    if (!st)
        must(rpl_summary_fill(&s->sum, s->out, err), err);
    return st;
}

static void result(struct small *s, const char *set, uint64_t capacity)
{
    struct vs_error err = VS_ERROR_INIT;

    must(whatif_run(s, set, capacity, &err), &err);
}

static void segment(struct small *s, enum vs_event_kind kind, uint64_t at, uint64_t bytes)
{
    make_event(&s->m,
               (struct vs_event){.kind = (uint8_t)kind,
                                 .segment = {.bytes = bytes,
                                             .address = AT + at,
                                             .size_pool = bytes > 2 * MIB ? VS_SEGMENT_LARGE
                                                                          : VS_SEGMENT_SMALL}});
}

static void alloc(struct small *s, uint64_t block, uint64_t at, uint64_t requested, uint64_t bytes)
{
    make_event(&s->m, (struct vs_event){.kind = VS_EV_ALLOC,
                                        .alloc = {.block = block,
                                                  .requested_bytes = requested,
                                                  .block_bytes = bytes,
                                                  .address = AT + at}});
}

static void free_(struct small *s, uint64_t block, uint64_t at, uint64_t requested, uint64_t bytes)
{
    make_event(&s->m, (struct vs_event){.kind = VS_EV_FREE,
                                        .free = {.block = block,
                                                 .requested_bytes = requested,
                                                 .block_bytes = bytes,
                                                 .address = AT + at}});
}

/* Number of events of a kind (allocations, or one of segments) in the answer, and the bytes of the last one. */
static uint64_t count(const struct small *s, enum vs_event_kind kind, uint64_t *last)
{
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *event;
    struct rpl_scan scan;
    uint64_t n = 0;

    rpl_scan_init(&scan, s->out, 1, rpl_trace_event_count(s->out));
    while ((event = rpl_scan_next(&scan, &err)) != NULL)
        if (event->kind == kind) {
            n++;
            *last = event->kind == VS_EV_ALLOC ? event->alloc.block_bytes : event->segment.bytes;
        }
    return n;
}

/* Three blocks of 30 MiB, the first and third given back, then one of 40 MiB: 130 MiB on a large device. */
static void thirty_thirty_thirty_forty(struct small *s)
{
    small_begin(s);
    for (uint64_t i = 0; i < 3; i++) {
        segment(s, VS_EV_SEGMENT_ALLOC, i * 30 * MIB, 30 * MIB);
        alloc(s, i + 1, i * 30 * MIB, 30 * MIB, 30 * MIB);
    }
    free_(s, 1, 0, 30 * MIB, 30 * MIB);
    free_(s, 3, 60 * MIB, 30 * MIB, 30 * MIB);
    segment(s, VS_EV_SEGMENT_ALLOC, 90 * MIB, 40 * MIB);
    alloc(s, 4, 90 * MIB, 40 * MIB, 40 * MIB);
}

/*
 * On one of 100 MiB the two that are free go back first: 90, then 30, then 70. On one of 64 MiB the third does not fit.
 */
static void a_smaller_device_flushes_its_cache_before_it_runs_out(void **state)
{
    struct small s;
    uint64_t last = 0;

    (void)state;
    thirty_thirty_thirty_forty(&s);
    result(&s, NULL, 0);
    assert_int_equal(s.sum.peak.reserved, 130 * MIB);
    result(&s, NULL, 100 * MIB);
    assert_int_equal(s.sum.peak.reserved, 90 * MIB);
    assert_int_equal(s.sum.end_reserved, 70 * MIB);
    assert_int_equal(count(&s, VS_EV_SEGMENT_FREE, &last), 2);
    assert_int_equal(s.sum.oom.event, 0);
    result(&s, NULL, 64 * MIB);
    assert_int_equal(s.sum.oom.event, 5);
    assert_int_equal(s.sum.oom.requested, 30 * MIB);
    assert_int_equal(s.sum.oom.device_free, 4 * MIB);
    assert_int_equal(rpl_trace_event_count(s.out), 5);
    small_end(&s);
}

/*
 * 200 MiB given back, 50 MiB from its front, 190 MiB from a segment of its own. With max_split_size_mb:128 the 200 MiB
 * are not split: 50 MiB get their own, 190 MiB take them whole.
 */
static void max_split_size_keeps_large_blocks_whole(void **state)
{
    struct small s;
    uint64_t last = 0;

    (void)state;
    small_begin(&s);
    segment(&s, VS_EV_SEGMENT_ALLOC, 0, 200 * MIB);
    alloc(&s, 1, 0, 200 * MIB, 200 * MIB);
    free_(&s, 1, 0, 200 * MIB, 200 * MIB);
    alloc(&s, 2, 0, 50 * MIB, 50 * MIB);
    segment(&s, VS_EV_SEGMENT_ALLOC, 200 * MIB, 190 * MIB);
    alloc(&s, 3, 200 * MIB, 190 * MIB, 190 * MIB);
    result(&s, NULL, 0);
    assert_int_equal(s.sum.peak.reserved, 390 * MIB);
    result(&s, "alloc-conf=max_split_size_mb:128", 0);
    assert_int_equal(s.sum.peak.reserved, 250 * MIB);
    assert_int_equal(s.sum.peak.allocated, 250 * MIB);
    assert_int_equal(count(&s, VS_EV_SEGMENT_ALLOC, &last), 2);
    assert_int_equal(count(&s, VS_EV_ALLOC, &last), 3);
    assert_int_equal(last, 200 * MIB);
    small_end(&s);
}

/* 514 MiB are rounded up to a multiple of an eighth of 512 MiB: 576; with 2 to 768. */
static void roundup_divisions_round_requests_again(void **state)
{
    struct small s;

    (void)state;
    small_begin(&s);
    segment(&s, VS_EV_SEGMENT_ALLOC, 0, 514 * MIB);
    alloc(&s, 1, 0, 514 * MIB, 514 * MIB);
    result(&s, "alloc-conf=roundup_power2_divisions:8", 0);
    assert_int_equal(s.sum.peak.allocated, 576 * MIB);
    result(&s, "alloc-conf=roundup_power2_divisions:2", 0);
    assert_int_equal(s.sum.peak.allocated, 768 * MIB);
    assert_int_equal(s.sum.peak.requested, 514 * MIB);
    small_end(&s);
}

/*
 * 5 MiB in a segment of 20 MiB, 30 MiB in one of its own, the 5 given back, 45 MiB in another: 95 MiB. Expandable:
 * maps of 20 and 20 for 35 MiB; then 40 more at the end, behind the 30: 80 MiB.
 */
static void expandable_segments_extend_existing_segments(void **state)
{
    struct small s;
    uint64_t last = 0;

    (void)state;
    small_begin(&s);
    segment(&s, VS_EV_SEGMENT_ALLOC, 0, 20 * MIB);
    alloc(&s, 1, 0, 5 * MIB, 5 * MIB);
    segment(&s, VS_EV_SEGMENT_ALLOC, 20 * MIB, 30 * MIB);
    alloc(&s, 2, 20 * MIB, 30 * MIB, 30 * MIB);
    free_(&s, 1, 0, 5 * MIB, 5 * MIB);
    segment(&s, VS_EV_SEGMENT_ALLOC, 50 * MIB, 46 * MIB);
    alloc(&s, 3, 50 * MIB, 45 * MIB, 45 * MIB);
    result(&s, "alloc-conf=expandable_segments:True", 0);
    assert_int_equal(s.sum.peak.reserved, 80 * MIB);
    assert_int_equal(count(&s, VS_EV_SEGMENT_ALLOC, &last), 0);
    assert_int_equal(count(&s, VS_EV_SEGMENT_MAP, &last), 3);
    assert_int_equal(last, 40 * MIB);
    small_end(&s);
}

/* Refused at 30 of 40 MiB; it fits 64. Then the run goes on: the block is freed, and 2 MiB are requested. */
static void a_recorded_out_of_memory_can_fit_a_larger_device(void **state)
{
    struct small s;
    uint64_t last = 0;

    (void)state;
    small_begin(&s);
    segment(&s, VS_EV_SEGMENT_ALLOC, 0, 30 * MIB);
    alloc(&s, 1, 0, 30 * MIB, 30 * MIB);
    make_event(&s.m, (struct vs_event){.kind = VS_EV_OOM,
                                       .oom = {.requested_bytes = 30 * MIB,
                                               .segment_bytes = 30 * MIB,
                                               .device_free_bytes = 10 * MIB}});
    free_(&s, 1, 0, 30 * MIB, 30 * MIB);
    alloc(&s, 2, 0, 12 * MIB, 12 * MIB);
    result(&s, NULL, 0);
    expect_same(s.m.trace, s.out, "out of memory");
    assert_string_equal(rpl_trace_meta(s.out, "capacity"), "41943040");
    result(&s, NULL, 64 * MIB);
    assert_int_equal(s.sum.oom.event, 0);
    assert_int_equal(s.sum.peak.allocated, 60 * MIB);
    assert_int_equal(s.sum.end_allocated, 12 * MIB);
    assert_int_equal(count(&s, VS_EV_ALLOC, &last), 3);
    assert_non_null(strstr(rpl_trace_meta(s.out, "refused"), "1 refused requests fit now"));
    small_end(&s);
}

/*
 * Two segments go back and one of 40 MiB comes. Recognized by the address: at the allocation's it was need, so a
 * larger device keeps them (60 MiB and 40); elsewhere it was empty_cache, which a larger device does too.
 */
static void empty_cache_is_replayed_and_a_flush_under_pressure_is_not(void **state)
{
    for (int is_need = 0; is_need < 2; is_need++) {
        struct small s;

        (void)state;
        small_begin(&s);
        for (uint64_t i = 0; i < 2; i++) {
            segment(&s, VS_EV_SEGMENT_ALLOC, i * 30 * MIB, 30 * MIB);
            alloc(&s, i + 1, i * 30 * MIB, 30 * MIB, 30 * MIB);
        }
        free_(&s, 1, 0, 30 * MIB, 30 * MIB);
        free_(&s, 2, 30 * MIB, 30 * MIB, 30 * MIB);
        s.m.line = is_need ? 1 : 2;
        segment(&s, VS_EV_SEGMENT_FREE, 0, 30 * MIB);
        segment(&s, VS_EV_SEGMENT_FREE, 30 * MIB, 30 * MIB);
        s.m.line = 1;
        segment(&s, VS_EV_SEGMENT_ALLOC, 60 * MIB, 40 * MIB);
        alloc(&s, 3, 60 * MIB, 40 * MIB, 40 * MIB);
        result(&s, NULL, 0);
        expect_same(s.m.trace, s.out, "as recorded");
        result(&s, NULL, 1024 * MIB);
        assert_int_equal(s.sum.peak.reserved, is_need ? 100 * MIB : 60 * MIB);
        small_end(&s);
    }
}

/*
 * The block of 12 MiB waits for another stream, so the next 12 MiB need memory of their own; then it is free, and is
 * used again.
 */
static void a_block_waiting_for_a_stream_is_not_reused(void **state)
{
    struct small s;

    (void)state;
    small_begin(&s);
    segment(&s, VS_EV_SEGMENT_ALLOC, 0, 12 * MIB);
    alloc(&s, 1, 0, 12 * MIB, 12 * MIB);
    make_event(&s.m, (struct vs_event){.kind = VS_EV_FREE,
                                       .free = {.block = 1,
                                                .requested_bytes = 12 * MIB,
                                                .block_bytes = 12 * MIB,
                                                .address = AT,
                                                .waits_for_stream = 1}});
    segment(&s, VS_EV_SEGMENT_ALLOC, 12 * MIB, 12 * MIB);
    alloc(&s, 2, 12 * MIB, 12 * MIB, 12 * MIB);
    make_event(&s.m, (struct vs_event){.kind = VS_EV_FREE_COMPLETED,
                                       .free = {.block = 1,
                                                .requested_bytes = 12 * MIB,
                                                .block_bytes = 12 * MIB,
                                                .address = AT}});
    alloc(&s, 3, 0, 12 * MIB, 12 * MIB);
    result(&s, NULL, 0);
    expect_same(s.m.trace, s.out, "waiting");
    result(&s, NULL, 20 * MIB); /* the flush waits for the stream, and gives the block back */
    assert_int_equal(s.sum.oom.event, 8);
    assert_int_equal(s.sum.peak.reserved, 12 * MIB);
    result(&s, "alloc-conf=roundup_power2_divisions:8", 0);
    assert_int_equal(s.sum.peak.reserved, 24 * MIB);
    small_end(&s);
}

/* A flush in need tells how large the device was: 30 + 40 MiB did not fit, 40 did. */
static void a_flush_before_out_of_memory_shows_the_capacity_of_the_device(void **state)
{
    struct small s;

    (void)state;
    small_begin(&s);
    segment(&s, VS_EV_SEGMENT_ALLOC, 0, 30 * MIB);
    alloc(&s, 1, 0, 30 * MIB, 30 * MIB);
    free_(&s, 1, 0, 30 * MIB, 30 * MIB);
    segment(&s, VS_EV_SEGMENT_FREE, 0, 30 * MIB);
    segment(&s, VS_EV_SEGMENT_ALLOC, 30 * MIB, 40 * MIB);
    alloc(&s, 2, 30 * MIB, 40 * MIB, 40 * MIB);
    result(&s, NULL, 0);
    expect_same(s.m.trace, s.out, "as recorded");
    assert_string_equal(rpl_trace_meta(s.out, "capacity"), "71303168"); /* 68 MiB */
    small_end(&s);
}

static void toggles_that_need_the_net_are_refused_with_the_reason(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct small s;

    (void)state;
    thirty_thirty_thirty_forty(&s);
    assert_int_equal(whatif_run(&s, "amp=bf16", 0, &err), VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "has no net (it was imported), so `amp`"));
    assert_int_equal(whatif_run(&s, "alloc-conf=bogus:1", 0, &err), VS_E_VALUE);
    assert_non_null(strstr(err.text, "unknown key 'bogus'"));
    result(&s, "target=t4", 0); /* 130 MiB fit 15 GiB */
    assert_int_equal(s.sum.peak.reserved, 130 * MIB);
    small_end(&s);
}

/* A trace comes from a file, and files come from strangers. */
static void impossible_events_are_refused(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct small s;

    (void)state;
    small_begin(&s);
    alloc(&s, 1, 0, 512, 512);
    assert_int_equal(whatif_run(&s, NULL, 0, &err), VS_E_DAMAGED);
    assert_non_null(strstr(err.text, "is in no segment"));
    small_end(&s);
    small_begin(&s);
    segment(&s, VS_EV_SEGMENT_ALLOC, 0, 2 * MIB);
    free_(&s, 1, 0, 512, 512);
    assert_int_equal(whatif_run(&s, NULL, 0, &err), VS_E_DAMAGED);
    assert_non_null(strstr(err.text, "no allocated block is there"));
    small_end(&s);
    small_begin(&s);
    segment(&s, VS_EV_SEGMENT_ALLOC, 0, 2 * MIB);
    alloc(&s, 1, 0, 512, 512);
    alloc(&s, 2, 0, 512, 512);
    assert_int_equal(whatif_run(&s, NULL, 0, &err), VS_E_DAMAGED);
    assert_non_null(strstr(err.text, "a block is there already"));
    small_end(&s);
    small_begin(&s);
    segment(&s, VS_EV_SEGMENT_ALLOC, UINT64_MAX - AT - MIB, 2 * MIB);
    assert_int_equal(whatif_run(&s, NULL, 0, &err), VS_E_VALUE);
    assert_non_null(strstr(err.text, "leave no address space"));
    small_end(&s);
    small_begin(&s);
    rpl_trace_set_meta(s.m.trace, "start_events", "7");
    segment(&s, VS_EV_SEGMENT_ALLOC, 0, 2 * MIB);
    assert_int_equal(whatif_run(&s, NULL, 0, &err), VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "import the snapshot again"));
    small_end(&s);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unchanged_settings_give_the_recorded_run_event_for_event,
                                        trace_folder_setup, trace_folder_teardown),
        cmocka_unit_test_setup_teardown(a_sweep_of_an_imported_trace_changes_allocator_settings,
                                        trace_folder_setup, trace_folder_teardown),
        cmocka_unit_test_setup_teardown(another_devices_events_keep_their_locations,
                                        trace_folder_setup, trace_folder_teardown),
        cmocka_unit_test(a_smaller_device_flushes_its_cache_before_it_runs_out),
        cmocka_unit_test(max_split_size_keeps_large_blocks_whole),
        cmocka_unit_test(roundup_divisions_round_requests_again),
        cmocka_unit_test(expandable_segments_extend_existing_segments),
        cmocka_unit_test(a_recorded_out_of_memory_can_fit_a_larger_device),
        cmocka_unit_test(empty_cache_is_replayed_and_a_flush_under_pressure_is_not),
        cmocka_unit_test(a_block_waiting_for_a_stream_is_not_reused),
        cmocka_unit_test(a_flush_before_out_of_memory_shows_the_capacity_of_the_device),
        cmocka_unit_test(toggles_that_need_the_net_are_refused_with_the_reason),
        cmocka_unit_test(impossible_events_are_refused),
    };

    if (argc > 1)
        folder = argv[1];
    return cmocka_run_group_tests_name("replay/whatif_alloc", tests, NULL, NULL);
}
