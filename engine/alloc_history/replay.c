/*
 * engine/alloc_history/replay.c - driving the allocator by a trace, with the trace as its driver.
 *
 * For:            engine/alloc_history/replay.h.
 * Must not know:  file formats.
 * Invariant:      `at` is the first event that has not happened yet; the allocator's events move it, one by one.
 */
#include "engine/alloc_history/replay.h"

#include <inttypes.h>

#include "base/hash.h"
#include "base/mem.h"
#include "engine/alloc/alloc_internal.h"

/* An active block, by its address: open addressing, at most half full; NULL is free. */
struct locations {
    struct eng_block **at;
    size_t slots; /* a power of two */
    size_t count;
};
#define SLOTS_AT_START 1024

struct eng_replay {
    const struct eng_record_event *events;
    size_t event_count;
    size_t at;
    struct eng_alloc *alloc;
    struct eng_alloc_listener listener;
    uint64_t total_bytes;
    struct locations locations;
    bool returns_some; /* settings by which an allocation may return only part of the cache */
    bool has_failed;
    struct vs_error *err;
};

static const struct eng_record_event *expected(const struct eng_replay *rp)
{
    return rp->at < rp->event_count && !rp->has_failed ? &rp->events[rp->at] : NULL;
}

/* ---- the driver: what comes next in the trace ---- */

static bool trace_segment_alloc(void *user, uint64_t bytes, uint64_t *out_address)
{
    const struct eng_record_event *next = expected(user);

    if (!next || next->kind != ENG_ALLOC_EV_SEGMENT_ALLOC || next->bytes != bytes)
        return false;
    *out_address = next->address;
    return true;
}

static bool trace_reserve(void *user, uint64_t bytes, uint64_t *out_address)
{
    const struct eng_record_event *next = expected(user);

    (void)bytes;
    if (!next || next->kind != ENG_ALLOC_EV_SEGMENT_MAP)
        return false;
    *out_address = next->address;
    return true;
}

static bool trace_map(void *user, uint64_t address, uint64_t bytes)
{
    const struct eng_record_event *next = expected(user);

    return next && next->kind == ENG_ALLOC_EV_SEGMENT_MAP && next->address == address &&
           next->bytes == bytes;
}

static void trace_give_back(void *user, uint64_t address, uint64_t bytes)
{
    (void)user; /* the event that goes with it is compared */
    (void)address;
    (void)bytes;
}

static void trace_mem_info(void *user, uint64_t *out_free_bytes, uint64_t *out_total_bytes)
{
    const struct eng_replay *rp = user;
    const struct eng_record_event *next = expected(rp);

    *out_free_bytes = next && next->kind == ENG_ALLOC_EV_OOM ? next->address : 0;
    *out_total_bytes = rp->total_bytes;
}

/* ---- comparing ---- */

static enum vs_status fail_replay(struct eng_replay *rp, const char *what, uint64_t bytes,
                                  uint64_t address)
{
    const struct eng_record_event *next = expected(rp);

    if (rp->has_failed)
        return VS_E_VALUE;
    rp->has_failed = true;
    if (!next)
        return vs_fail(rp->err, VS_E_VALUE,
                       "after the last event: %s of %" PRIu64 " bytes at 0x%" PRIx64, what, bytes,
                       address);
    return vs_fail(rp->err, VS_E_VALUE,
                   "event %zu: the trace has %s of %" PRIu64 " bytes at 0x%" PRIx64
                   ", the allocator %s of %" PRIu64 " bytes at 0x%" PRIx64,
                   rp->at, eng_record_event_name(next->kind), next->bytes, next->address, what,
                   bytes, address);
}

static void on_event(void *user, const struct eng_alloc_event *event)
{
    struct eng_replay *rp = user;
    const struct eng_record_event *next = expected(rp);

    if (!next || next->kind != event->kind || next->address != event->address ||
        next->bytes != event->bytes || next->stream != event->stream) {
        fail_replay(rp, eng_alloc_event_name(event->kind), event->bytes, event->address);
        return;
    }
    rp->at++;
    if (rp->listener.event)
        rp->listener.event(rp->listener.user, event);
}

/* ---- active blocks by address ---- */

static size_t location_slot(const struct locations *locations, uint64_t address)
{
    return (size_t)vs_hash_mix(0, address) & (locations->slots - 1);
}

/* Where the block is, or where it would be put. */
static size_t location_find(const struct locations *locations, uint64_t address)
{
    size_t slot = location_slot(locations, address);

    while (locations->at[slot] && locations->at[slot]->address != address)
        slot = (slot + 1) & (locations->slots - 1);
    return slot;
}

static void locations_grow(struct locations *locations)
{
    struct locations grown = {.slots = locations->slots ? locations->slots * 2 : SLOTS_AT_START,
                              .count = locations->count};

    grown.at = vs_calloc(grown.slots, sizeof(*grown.at));
    for (size_t i = 0; i < locations->slots; i++)
        if (locations->at[i])
            grown.at[location_find(&grown, locations->at[i]->address)] = locations->at[i];
    vs_free(locations->at);
    *locations = grown;
}

static void location_add(struct eng_replay *rp, struct eng_block *block)
{
    struct locations *locations = &rp->locations;

    if (locations->count * 2 >= locations->slots)
        locations_grow(locations);
    locations->at[location_find(locations, block->address)] = block;
    locations->count++;
}

static struct eng_block *location_at(const struct eng_replay *rp, uint64_t address)
{
    return rp->locations.slots ? rp->locations.at[location_find(&rp->locations, address)] : NULL;
}

/* The block, which is there; those behind it that its slot kept from theirs move up. */
static struct eng_block *location_take(struct eng_replay *rp, struct eng_block *block)
{
    struct locations *locations = &rp->locations;
    size_t hole = location_find(locations, block->address);

    for (size_t i = (hole + 1) & (locations->slots - 1); locations->at[i];
         i = (i + 1) & (locations->slots - 1)) {
        size_t home = location_slot(locations, locations->at[i]->address);

        if (((i - home) & (locations->slots - 1)) >= ((i - hole) & (locations->slots - 1))) {
            locations->at[hole] = locations->at[i];
            hole = i;
        }
    }
    locations->at[hole] = NULL;
    locations->count--;
    return block;
}

/* ---- one step: the calls that lead to the next event ---- */

static enum vs_status step_get(struct eng_replay *rp, uint64_t bytes, uint64_t stream)
{
    struct eng_block *block;

    if (bytes == 0 || stream == ENG_ANY_STREAM)
        return fail_replay(rp, "nothing", 0, 0);
    if (eng_alloc_get(rp->alloc, bytes, stream, &block, NULL) == VS_OK && !rp->has_failed)
        location_add(rp, block);
    return rp->has_failed ? VS_E_VALUE : VS_OK;
}

static enum vs_status step_free_requested(struct eng_replay *rp)
{
    const struct eng_record_event *next = expected(rp);
    struct eng_block *block = location_at(rp, next->address);
    const bool is_over = rp->at + 1 < rp->event_count &&
                         next[1].kind == ENG_ALLOC_EV_FREE_COMPLETED &&
                         next[1].address == next->address;

    if (!block || eng_block_state(block) != ENG_BLOCK_ALLOCATED)
        return fail_replay(rp, "no allocated block", 0, next->address);
    if (is_over) {
        eng_alloc_put(rp->alloc, location_take(rp, block));
    } else {
        eng_alloc_record_stream(rp->alloc, block, ~next->stream);
        eng_alloc_put(rp->alloc, block);
    }
    return rp->has_failed ? VS_E_VALUE : VS_OK;
}

static enum vs_status step_free_completed(struct eng_replay *rp)
{
    struct eng_block *block = location_at(rp, expected(rp)->address);

    if (!block || eng_block_state(block) != ENG_BLOCK_PENDING_FREE)
        return fail_replay(rp, "no pending block", 0, expected(rp)->address);
    eng_alloc_put_complete(rp->alloc, location_take(rp, block));
    return rp->has_failed ? VS_E_VALUE : VS_OK;
}

static bool is_give_back(unsigned kind)
{
    return kind == ENG_ALLOC_EV_SEGMENT_FREE || kind == ENG_ALLOC_EV_SEGMENT_UNMAP;
}

static bool is_growth(unsigned kind)
{
    return kind == ENG_ALLOC_EV_SEGMENT_ALLOC || kind == ENG_ALLOC_EV_SEGMENT_MAP;
}

/*
 * Does this give-back begin one of everything? An allocation that gives back what may not be split begins with a segment of at least that
 * size; where garbage is collected nobody can tell.
 */
static bool begins_all(const struct eng_replay *rp, const struct eng_record_event *first)
{
    return first->kind == ENG_ALLOC_EV_SEGMENT_FREE && !eng_alloc_collects_garbage(rp->alloc) &&
           first->bytes < rp->alloc->conf.max_split_bytes;
}

/* A run of segment events: part of the allocation (or oom) behind it, or an empty_cache. */
static enum vs_status step_segments(struct eng_replay *rp)
{
    const struct eng_record_event *first = expected(rp);
    const struct eng_record_event *end = &rp->events[rp->event_count];
    const struct eng_record_event *last =
        &rp->events[eng_record_run_end(rp->events, rp->event_count, rp->at)];
    bool grows = false;

    for (const struct eng_record_event *event = first; event < last; event++)
        grows = grows || is_growth(event->kind);
    /* an allocation gives back only where it then asks for more */
    if (is_give_back(first->kind) &&
        (last == end || (last->kind != ENG_ALLOC_EV_OOM &&
                         (!rp->returns_some || !grows || begins_all(rp, first))))) {
        const size_t before = rp->at;

        eng_alloc_empty_cache(rp->alloc);
        if (!rp->has_failed && rp->at == before)
            return fail_replay(rp, "nothing to return", 0, 0);
        return rp->has_failed ? VS_E_VALUE : VS_OK;
    }
    if (last == end || (last->kind != ENG_ALLOC_EV_ALLOC && last->kind != ENG_ALLOC_EV_OOM))
        return fail_replay(rp, "no allocation behind the segment events", 0, 0);
    return step_get(rp, last->bytes, last->stream);
}

/*
 * Of a free that is completed: the allocation whose flush did that, waiting for the streams before it gave back; NULL: none did. What the
 * cache could have served was no allocation in need, so the give-back behind is an empty_cache.
 */
static const struct eng_record_event *flush_of(const struct eng_replay *rp)
{
    size_t first = rp->at;
    size_t end;

    while (first < rp->event_count && rp->events[first].kind == ENG_ALLOC_EV_FREE_COMPLETED)
        first++;
    end = eng_record_run_end(rp->events, rp->event_count, first);
    if (end == rp->event_count || rp->events[end].bytes == 0 ||
        (end > first && !is_give_back(rp->events[first].kind)))
        return NULL;
    if (rp->events[end].kind != ENG_ALLOC_EV_OOM &&
        (end == first || rp->events[end].kind != ENG_ALLOC_EV_ALLOC ||
         !is_growth(rp->events[end - 1].kind)))
        return NULL;
    return eng_record_is_wait(rp->alloc, &rp->events[rp->at], first - rp->at) &&
                   !eng_alloc_is_cached(rp->alloc, rp->events[end].bytes, rp->events[end].stream)
               ? &rp->events[end]
               : NULL;
}

static enum vs_status step_completed(struct eng_replay *rp)
{
    const struct eng_record_event *by = flush_of(rp);

    return by ? step_get(rp, by->bytes, by->stream) : step_free_completed(rp);
}

static enum vs_status step_snapshot(struct eng_replay *rp)
{
    const uint64_t active = rp->alloc->stats.active_bytes[ENG_STAT_ALL].current;

    if (expected(rp)->bytes != active)
        return fail_replay(rp, "active bytes", active, 0);
    rp->at++;
    return VS_OK;
}

static enum vs_status step(struct eng_replay *rp)
{
    const struct eng_record_event *next = expected(rp);
    const size_t before = rp->at;
    enum vs_status st;

    if (is_give_back(next->kind) || is_growth(next->kind))
        st = step_segments(rp);
    else if (next->kind == ENG_ALLOC_EV_FREE_REQUESTED)
        st = step_free_requested(rp);
    else if (next->kind == ENG_ALLOC_EV_FREE_COMPLETED)
        st = step_completed(rp);
    else if (next->kind == ENG_RECORD_SNAPSHOT)
        st = step_snapshot(rp);
    else
        st = step_get(rp, next->bytes, next->stream);
    return st || rp->at > before ? st : fail_replay(rp, "nothing", 0, 0);
}

enum vs_status eng_replay_run(struct eng_replay *replay, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    VS_ASSERT(!replay->has_failed);
    replay->err = err;
    while (!st && expected(replay))
        st = step(replay);
    return st;
}

size_t eng_replay_done(const struct eng_replay *replay)
{
    return replay->at;
}

const struct eng_alloc *eng_replay_alloc(const struct eng_replay *replay)
{
    return replay->alloc;
}

/* ---- beginning and end ---- */

static enum vs_status adopt_start(struct eng_replay *rp, const struct eng_record_state *start,
                                  struct vs_error *err)
{
    enum vs_status st = eng_alloc_adopt(rp->alloc, start, err);

    if (st)
        return st;
    for (struct eng_set_node *node = eng_set_first(&rp->alloc->areas); node;
         node = eng_set_next(node)) {
        struct eng_area *area = (struct eng_area *)(void *)node; /* the node is the first member */

        for (struct eng_block *block = area->first; block; block = block->next) {
            if (eng_block_state(block) != ENG_BLOCK_INACTIVE)
                location_add(rp, block);
        }
    }
    eng_alloc_reset_peak(rp->alloc);
    eng_alloc_reset_accumulated(rp->alloc);
    return VS_OK;
}

enum vs_status eng_replay_new(const struct eng_replay_options *opts, struct eng_replay **out,
                              struct vs_error *err)
{
    struct eng_replay *rp = vs_calloc(1, sizeof(*rp));
    enum vs_status st = VS_OK;

    *out = NULL;
    rp->events = opts->events;
    rp->event_count = opts->event_count;
    rp->listener = opts->listener;
    rp->total_bytes = opts->total_bytes ? opts->total_bytes : UINT64_C(1) << 40;
    rp->alloc =
        eng_alloc_new(&(struct eng_alloc_options){.driver = {.user = rp,
                                                             .segment_alloc = trace_segment_alloc,
                                                             .segment_free = trace_give_back,
                                                             .range_reserve = trace_reserve,
                                                             .range_release = trace_give_back,
                                                             .range_map = trace_map,
                                                             .range_unmap = trace_give_back,
                                                             .mem_info = trace_mem_info},
                                                  .conf = opts->conf,
                                                  .listener = {.user = rp, .event = on_event},
                                                  .events = ENG_EVENTS_WHEN_TOLD});
    rp->returns_some =
        rp->alloc->conf.max_split_bytes != ENG_NO_LIMIT || eng_alloc_collects_garbage(rp->alloc);
    if (opts->start)
        st = adopt_start(rp, opts->start, err);
    if (!st) {
        *out = rp;
        rp = NULL; /* handed over */
    }
    eng_replay_free(rp);
    return st;
}

void eng_replay_free(struct eng_replay *replay)
{
    if (!replay)
        return;
    vs_free(replay->locations.at);
    eng_alloc_free(replay->alloc);
    vs_free(replay);
}
