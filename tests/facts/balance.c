/*
 * tests/facts/balance.c - see balance.h.
 */
#include "tests/facts/balance.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "engine/alloc/alloc.h"
#include "engine/alloc/driver.h"

/* The engine's default capacity of a device; the addresses of expandable segments depend on it. */
#define DEVICE (UINT64_C(16) << 40)

/* ---- counting ---- */

struct sums {
    uint64_t allocated;
    uint64_t requested;
    uint64_t reserved;
};

/* Memory that a segment event gave to a stream. */
struct given {
    uint64_t address;
    uint64_t bytes;
    uint64_t stream;
};

/*
 * blocks   of the test's allocator by block id, block_cap of them
 * sums     over the events so far; peak: the highest since the phase before ended
 * phase    index into the run's phases: which one is going on; is_open: one has begun
 * given    `given_count` in order: the last one that contains an address says whose it is
 */
struct balance {
    const char *what;
    const struct facts_run *run;
    struct eng_alloc *alloc;
    struct eng_block **blocks;
    size_t block_cap;
    struct sums sums;
    struct sums peak;
    size_t phase;
    bool is_open;
    struct given *given;
    size_t given_count;
    size_t given_cap;
};

static void rise(uint64_t *peak, uint64_t value)
{
    if (*peak < value)
        *peak = value;
}

static void assert_figure(const struct balance *b, uint64_t seq, const char *name, uint64_t events,
                          uint64_t counter)
{
    if (events != counter)
        fail_msg("%s: after event %" PRIu64 ": %s is %" PRIu64 " by the events, %" PRIu64
                 " by the allocator",
                 b->what, seq, name, events, counter);
}

static void assert_counters(const struct balance *b, uint64_t seq)
{
    const struct eng_alloc_stats *stats = eng_alloc_stats_get(b->alloc);

    assert_figure(b, seq, "allocated", b->sums.allocated,
                  stats->allocated_bytes[ENG_STAT_ALL].current);
    assert_figure(b, seq, "requested", b->sums.requested,
                  stats->requested_bytes[ENG_STAT_ALL].current);
    assert_figure(b, seq, "reserved", b->sums.reserved,
                  stats->reserved_bytes[ENG_STAT_ALL].current);
}

static void on_given(struct balance *b, const struct vs_event *event)
{
    b->given = vs_grow(b->given, b->given_count, &b->given_cap, sizeof(*b->given));
    b->given[b->given_count++] =
        (struct given){event->segment.address, event->segment.bytes, event->segment.stream};
    b->sums.reserved += event->segment.bytes;
}

/* Allocations do not say their stream; that of their segment is it. */
static uint64_t stream_of(const struct balance *b, uint64_t address)
{
    for (size_t i = b->given_count; i-- > 0;)
        if (address - b->given[i].address < b->given[i].bytes)
            return b->given[i].stream;
    fail_msg("%s: address %" PRIu64 " is in no segment", b->what, address);
    return 0;
}

static void on_alloc(struct balance *b, const struct vs_event *event, uint64_t seq)
{
    const uint64_t stream = stream_of(b, event->alloc.address);
    struct eng_block *block;

    if (event->alloc.block >= b->block_cap)
        fail_msg("%s: block %" PRIu64 " of event %" PRIu64, b->what, event->alloc.block, seq);
    assert_int_equal(eng_alloc_get(b->alloc, event->alloc.requested_bytes, stream, &block, NULL),
                     VS_OK);
    assert_figure(b, seq, "the address", event->alloc.address, eng_block_address(block));
    assert_figure(b, seq, "the block", event->alloc.block_bytes, eng_block_bytes(block));
    b->blocks[event->alloc.block] = block;
    b->sums.allocated += event->alloc.block_bytes;
    b->sums.requested += event->alloc.requested_bytes;
    assert_counters(b, seq);
}

static void on_free(struct balance *b, const struct vs_event *event, uint64_t seq)
{
    struct eng_block *block =
        event->free.block < b->block_cap ? b->blocks[event->free.block] : NULL;

    if (!block)
        fail_msg("%s: event %" PRIu64 " frees block %" PRIu64 ", which is not alive", b->what, seq,
                 event->free.block);
    assert_figure(b, seq, "the bytes freed", event->free.requested_bytes,
                  eng_block_requested_bytes(block));
    assert_figure(b, seq, "the block freed", event->free.block_bytes, eng_block_bytes(block));
    b->blocks[event->free.block] = NULL;
    eng_alloc_put(b->alloc, block);
    b->sums.allocated -= event->free.block_bytes;
    b->sums.requested -= event->free.requested_bytes;
    assert_counters(b, seq);
}

/* Memory is returned to the driver here only by empty_cache(), called by the net or by a toggle. */
static void on_segment_gone(struct balance *b, const struct vs_event *event)
{
    b->sums.reserved -= event->segment.bytes;
    if (eng_alloc_stats_get(b->alloc)->reserved_bytes[ENG_STAT_ALL].current > b->sums.reserved)
        eng_alloc_empty_cache(b->alloc);
}

static void phase_end(struct balance *b, uint64_t seq)
{
    const struct lang_run_phase *phase;

    if (b->is_open) {
        if (b->phase >= b->run->result.phase_count)
            fail_msg("%s: more phases than the run says", b->what);
        phase = &b->run->result.phases[b->phase++];
        assert_figure(b, seq, "allocated at a phase end", b->sums.allocated, phase->allocated_end);
        assert_figure(b, seq, "requested at a phase end", b->sums.requested, phase->requested_end);
        assert_figure(b, seq, "reserved at a phase end", b->sums.reserved, phase->reserved_end);
        assert_figure(b, seq, "a phase's highest allocated", b->peak.allocated,
                      phase->allocated_peak);
        assert_figure(b, seq, "a phase's highest requested", b->peak.requested,
                      phase->requested_peak);
        assert_figure(b, seq, "a phase's highest reserved", b->peak.reserved, phase->reserved_peak);
    }
    b->peak = b->sums;
}

static void on_event(struct balance *b, const struct vs_event *event, uint64_t seq)
{
    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        on_alloc(b, event, seq);
        break;
    case VS_EV_FREE:
        on_free(b, event, seq);
        break;
    case VS_EV_SEGMENT_ALLOC:
    case VS_EV_SEGMENT_MAP:
        on_given(b, event);
        break;
    case VS_EV_SEGMENT_FREE:
    case VS_EV_SEGMENT_UNMAP:
        on_segment_gone(b, event);
        break;
    case VS_EV_PHASE:
        phase_end(b, seq);
        b->is_open = true;
        break;
    default: /* the others move no memory */
        break;
    }
    rise(&b->peak.allocated, b->sums.allocated);
    rise(&b->peak.requested, b->sums.requested);
    rise(&b->peak.reserved, b->sums.reserved);
}

void facts_balances(const char *what, const struct facts_run *run, const char *conf_text)
{
    struct eng_sim_driver *sim =
        eng_sim_driver_new(&(struct eng_sim_options){.total_bytes = DEVICE});
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *event;
    struct eng_alloc_conf conf;
    struct balance b = {.what = what, .run = run};

    eng_alloc_conf_init(&conf);
    if (eng_alloc_conf_parse(conf_text, &conf, &err))
        fail_msg("%s: %s", what, err.text);
    b.alloc = eng_alloc_new(
        &(struct eng_alloc_options){.driver = eng_sim_driver_get(sim), .conf = &conf});
    b.block_cap = (size_t)rpl_trace_event_count(run->trace) + 2;
    b.blocks = vs_alloc(b.block_cap * sizeof(struct eng_block *));
    memset(b.blocks, 0, b.block_cap * sizeof(struct eng_block *));
    rpl_scan_init(scan, run->trace, 1, rpl_trace_event_count(run->trace));
    while ((event = rpl_scan_next(scan, &err)) != NULL)
        on_event(&b, event, scan->seq);
    assert_int_equal(scan->status, VS_OK);
    phase_end(&b, rpl_trace_event_count(run->trace));
    assert_int_equal(b.phase, run->result.phase_count);
    vs_free(scan);
    vs_free(b.blocks);
    vs_free(b.given);
    eng_alloc_free(b.alloc);
    eng_sim_driver_free(sim);
}

/* ---- ends of steps ---- */

size_t facts_step_ends(const struct facts_run *run, uint64_t *out, size_t max)
{
    size_t count = 0;

    for (size_t i = 0; i < run->result.phase_count; i++) {
        const struct lang_run_phase *phase = &run->result.phases[i];

        if (phase->step < 0)
            continue;
        assert_true((size_t)phase->step < max);
        out[phase->step] = phase->requested_end;
        count = (size_t)phase->step + 1;
    }
    return count;
}

void facts_steps_end_alike(const char *what, const struct facts_run *run)
{
    uint64_t ends[8];
    size_t count = facts_step_ends(run, ends, 8);

    for (size_t i = 1; i < count; i++)
        if (ends[i] != ends[i - 1])
            fail_msg("%s: step %zu ends with %" PRIu64 " bytes, the one before with %" PRIu64, what,
                     i, ends[i], ends[i - 1]);
}
