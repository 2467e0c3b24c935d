/*
 * tests/engine/alloc_history/test_rerun.c - recorded requests run again: random programs on devices that become full,
 * with many settings.
 *
 * A program is run through the allocator on a simulated device and recorded as PyTorch would. Run again with its own
 * settings it must give every event; with others, the totals that follow from the requests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/alloc/driver.h"
#include "engine/alloc_history/replay.h"
#include "engine/alloc_history/rerun.h"

#define MIB UINT64_C(1048576)
#define LIVES_MAX 400
#define CALLS 500

static const char *const CONFS[] = {
    "",
    "expandable_segments:True",
    "max_split_size_mb:32",
    "roundup_power2_divisions:8",
    "max_split_size_mb:64,max_non_split_rounding_mb:24",
    "expandable_segments:True,roundup_power2_divisions:4",
    "per_process_memory_fraction:0.9",
    "large_segment_size_mb:32",
};
#define CONF_COUNT (sizeof(CONFS) / sizeof(CONFS[0]))

/* location: of the running call; each call has its own. has_waits: blocks are used by other streams, too. */
struct program {
    struct eng_record_event *events;
    size_t count, cap;
    uint32_t location;
    uint64_t seed;
    uint64_t requested; /* bytes */
    bool has_waits;
};

static void conf_of(const char *text, struct eng_alloc_conf *conf)
{
    struct vs_error err = VS_ERROR_INIT;

    eng_alloc_conf_init(conf);
    if (eng_alloc_conf_parse(text, conf, &err))
        fail_msg("%s", err.text);
}

static uint64_t below(struct program *p, uint64_t n)
{
    p->seed = p->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (p->seed >> 33) % n;
}

static void on_event(void *user, const struct eng_alloc_event *event)
{
    struct program *p = user;

    p->events = vs_grow(p->events, p->count, &p->cap, sizeof(*p->events));
    p->events[p->count++] = (struct eng_record_event){event->address, event->bytes, event->stream,
                                                      event->kind, p->location};
}

/* Mostly small sizes, some of a few MiB, rarely a large one. */
static uint64_t size_of(struct program *p)
{
    switch (below(p, 4)) {
    case 0:
        return 1 + below(p, 4096);
    case 1:
        return 1 + below(p, MIB);
    case 2:
        return MIB + below(p, 8 * MIB);
    default:
        return 10 * MIB + below(p, 40 * MIB);
    }
}

/* Runs `CALLS` random calls on a device of `capacity` bytes and records them. */
static void program_run(struct program *p, const struct eng_alloc_conf *conf, uint64_t capacity,
                        unsigned streams)
{
    struct eng_sim_driver *sim =
        eng_sim_driver_new(&(struct eng_sim_options){.total_bytes = capacity});
    struct eng_alloc *alloc =
        eng_alloc_new(&(struct eng_alloc_options){.driver = eng_sim_driver_get(sim),
                                                  .conf = conf,
                                                  .listener = {p, on_event},
                                                  .events = ENG_EVENTS_EXPLICIT});
    struct eng_block *lives[LIVES_MAX];
    struct eng_block *waiting[LIVES_MAX];
    size_t live = 0, waits = 0;

    for (int i = 0; i < CALLS; i++) {
        const uint64_t what = below(p, 100);

        p->location++;
        if (what < 55 && live < LIVES_MAX) {
            struct eng_block *block;

            if (!eng_alloc_get(alloc, size_of(p), below(p, streams), &block, NULL)) {
                lives[live++] = block;
                p->requested += eng_block_requested_bytes(block);
            } else {
                waits = 0; /* the flush waited for all of them */
            }
        } else if (what < 92 && live) {
            size_t k = below(p, live);
            struct eng_block *block = lives[k];

            lives[k] = lives[--live];
            eng_alloc_put(alloc, block);
        } else if (what < 95 && p->has_waits && live && waits < LIVES_MAX) {
            size_t k = below(p, live);

            eng_alloc_record_stream(alloc, lives[k], ~eng_block_stream(lives[k]));
            waiting[waits++] = lives[k];
            eng_alloc_put(alloc, lives[k]);
            lives[k] = lives[--live];
        } else if (what < 98) {
            /* all pending blocks are completed, in their order */
            for (size_t k = 0; k < waits; k++)
                if (eng_block_state(waiting[k]) == ENG_BLOCK_PENDING_FREE)
                    eng_alloc_put_complete(alloc, waiting[k]);
            waits = 0;
        } else if (!waits) {
            eng_alloc_empty_cache(alloc);
        }
    }
    eng_alloc_free(alloc);
    eng_sim_driver_free(sim);
}

/* Runs the record again; returns how many of its events are unchanged. */
static size_t rerun(const struct program *p, const struct eng_alloc_conf *recorded,
                    const struct eng_alloc_conf *conf, uint64_t capacity,
                    struct eng_alloc_stats *out)
{
    static const struct eng_record_state EMPTY;
    struct eng_rerun_options options = {.start = &EMPTY,
                                        .events = p->events,
                                        .event_count = p->count,
                                        .recorded = recorded,
                                        .conf = conf,
                                        .capacity = capacity};
    struct vs_error err = VS_ERROR_INIT;
    struct eng_rerun *r = NULL;
    bool more = p->count > 0;
    size_t equal;

    if (eng_rerun_new(&options, &r, &err))
        fail_msg("%s", err.text);
    while (more)
        if (eng_rerun_step(r, &more, &err))
            fail_msg("%s", err.text);
    equal = eng_rerun_equal(r);
    *out = *eng_alloc_stats_get(eng_rerun_alloc(r));
    eng_rerun_free(r);
    return equal;
}

static void rerunning_with_the_recorded_settings_gives_the_recorded_events(void **state)
{
    size_t ooms = 0, flushes = 0, events = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 320; seed++) {
        struct eng_alloc_conf conf;
        struct eng_alloc_stats stats;
        const char *settings = CONFS[seed / 2 % CONF_COUNT];
        struct program p = {.seed = seed, .has_waits = seed % 2};
        /*
         * A recording does not always show whether a flush waited for a stream or the stream had finished just before;
         * nor where, on a small device, an expandable segment reached its end. These rows have enough memory.
         */
        const bool is_large = p.has_waits || !strncmp(settings, "expandable", 10);
        const uint64_t capacity = is_large ? UINT64_C(1) << 40 : (200 + seed % 7 * 150) * MIB;
        const bool is_share = !strncmp(settings, "per_process", 11);
        size_t equal;

        conf_of(settings, &conf);
        program_run(&p, &conf, capacity, 1 + (unsigned)(seed % 3));
        equal = rerun(&p, &conf, &conf, is_share ? capacity : 0, &stats);
        if (equal != p.count)
            fail_msg("seed %" PRIu64 ", %s: event %zu of %zu (%s) is another one", seed, settings,
                     equal, p.count, eng_record_event_name(p.events[equal].kind));
        events += p.count;
        ooms += stats.num_ooms;
        flushes += stats.num_alloc_retries;
        vs_free(p.events);
    }
    print_message("%zu events, %zu flushes, %zu out of memory\n", events, flushes, ooms);
    assert_true(ooms > 100 && flushes > 200);
}

/* On a device that refuses nothing all requests are served: the requested bytes do not depend on the settings. */
static void other_settings_serve_the_same_requests(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 96; seed++) {
        struct eng_alloc_conf from, to;
        struct eng_alloc_stats before, after;
        struct program p = {.seed = seed};

        conf_of(CONFS[seed % CONF_COUNT], &from);
        from.memory_fraction = 1.0;
        conf_of(CONFS[seed / CONF_COUNT % CONF_COUNT], &to);
        to.memory_fraction = 1.0;
        program_run(&p, &from, UINT64_C(1) << 40, 1 + (unsigned)(seed % 3));
        (void)rerun(&p, &from, &from, 0, &before);
        (void)rerun(&p, &from, &to, 0, &after);
        assert_int_equal(after.num_ooms, 0);
        assert_int_equal(before.requested_bytes[ENG_STAT_ALL].allocated, p.requested);
        assert_int_equal(after.requested_bytes[ENG_STAT_ALL].allocated, p.requested);
        assert_int_equal(after.allocation[ENG_STAT_ALL].current,
                         before.allocation[ENG_STAT_ALL].current);
        assert_int_equal(after.requested_bytes[ENG_STAT_ALL].peak,
                         before.requested_bytes[ENG_STAT_ALL].peak);
        vs_free(p.events);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rerunning_with_the_recorded_settings_gives_the_recorded_events),
        cmocka_unit_test(other_settings_serve_the_same_requests),
    };

    return cmocka_run_group_tests_name("engine/alloc_rerun", tests, NULL, NULL);
}
