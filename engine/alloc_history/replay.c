/*
 * engine/alloc_history/replay.c - runs the allocator by a recorded event list, which also stands in for the driver.
 *
 * For:            engine/alloc_history/replay.h.
 * Must not know:  file formats.
 * Invariant:      `at` is the first event that the allocator has not reproduced; each allocator event moves it by one.
 */
#include "engine/alloc_history/replay.h"

#include <inttypes.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "engine/alloc/alloc_internal.h"

/* The active blocks and those pending free, in no order, found by address. Zeroed: none. */
struct active_blocks {
    struct vs_table by_address; /* its items are indices of `blocks` */
    struct eng_block **blocks;
    size_t count, cap;
};

struct eng_replay {
    const struct eng_record_event *events;
    size_t event_count;
    size_t at;
    struct eng_alloc *alloc;
    struct eng_alloc_listener listener;
    uint64_t total_bytes;
    struct active_blocks active;
    /* with these settings an allocation may return only part of the cache to the driver */
    bool returns_some;
    bool has_failed;
    struct vs_error *err;
};

static const struct eng_record_event *expected(const struct eng_replay *rp)
{
    return rp->at < rp->event_count && !rp->has_failed ? &rp->events[rp->at] : NULL;
}

/* ---- the driver: answers with the next event of the trace ---- */

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
    (void)user; /* the allocator emits an event for this, and on_event compares that one */
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

/* Moves `probe` to the block at `address`; false: there is none. */
static bool active_find(const struct active_blocks *active, uint64_t address,
                        struct vs_probe *probe)
{
    *probe = vs_probe(vs_hash_mix(0, address));
    while (vs_table_next(&active->by_address, probe))
        if (active->blocks[probe->item]->address == address)
            return true;
    return false;
}

static void active_add(struct eng_replay *rp, struct eng_block *block)
{
    struct active_blocks *active = &rp->active;
    struct vs_probe probe;

    if (active_find(active, block->address, &probe)) {
        active->blocks[probe.item] = block;
        return;
    }
    active->blocks =
        vs_grow(active->blocks, active->count, &active->cap, sizeof(struct eng_block *));
    vs_table_add(&active->by_address, vs_hash_mix(0, block->address), active->count);
    active->blocks[active->count++] = block;
}

/* The block that begins at `address`, or NULL. */
static struct eng_block *active_get(const struct eng_replay *rp, uint64_t address)
{
    struct vs_probe probe;

    return active_find(&rp->active, address, &probe) ? rp->active.blocks[probe.item] : NULL;
}

/* Removes `block`, which must be present, and returns it. The last block takes over its index. */
static struct eng_block *active_remove(struct eng_replay *rp, struct eng_block *block)
{
    struct active_blocks *active = &rp->active;
    struct vs_probe probe;
    size_t index;
    bool is_found = active_find(active, block->address, &probe);

    VS_ASSERT(is_found);
    index = probe.item;
    vs_table_remove(&active->by_address, &probe);
    active->count--;
    if (index < active->count) {
        struct eng_block *last = active->blocks[active->count];

        is_found = active_find(active, last->address, &probe);
        VS_ASSERT(is_found);
        vs_table_renumber(&active->by_address, &probe, index);
        active->blocks[index] = last;
    }
    return block;
}

/* ---- one step: the allocator call that causes the next event ---- */

static enum vs_status step_get(struct eng_replay *rp, uint64_t bytes, uint64_t stream)
{
    struct eng_block *block;

    if (bytes == 0 || stream == ENG_ANY_STREAM)
        return fail_replay(rp, "nothing", 0, 0);
    if (eng_alloc_get(rp->alloc, bytes, stream, &block, NULL) == VS_OK && !rp->has_failed)
        active_add(rp, block);
    return rp->has_failed ? VS_E_VALUE : VS_OK;
}

static enum vs_status step_free_requested(struct eng_replay *rp)
{
    const struct eng_record_event *next = expected(rp);
    struct eng_block *block = active_get(rp, next->address);
    const bool is_over = rp->at + 1 < rp->event_count &&
                         next[1].kind == ENG_ALLOC_EV_FREE_COMPLETED &&
                         next[1].address == next->address;

    if (!block || eng_block_state(block) != ENG_BLOCK_ALLOCATED)
        return fail_replay(rp, "no allocated block", 0, next->address);
    if (is_over) {
        eng_alloc_put(rp->alloc, active_remove(rp, block));
    } else {
        eng_alloc_record_stream(rp->alloc, block, ~next->stream);
        eng_alloc_put(rp->alloc, block);
    }
    return rp->has_failed ? VS_E_VALUE : VS_OK;
}

static enum vs_status step_free_completed(struct eng_replay *rp)
{
    struct eng_block *block = active_get(rp, expected(rp)->address);

    if (!block || eng_block_state(block) != ENG_BLOCK_PENDING_FREE)
        return fail_replay(rp, "no pending block", 0, expected(rp)->address);
    eng_alloc_put_complete(rp->alloc, active_remove(rp, block));
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
 * Whether the segments freed from `first` on are certainly those of an empty_cache. An allocation in need first frees
 * segments too large to be split (of max_split_size or more), so a smaller first one cannot be its work. With garbage
 * collection on, the two cannot be distinguished, and the result is false.
 */
static bool begins_all(const struct eng_replay *rp, const struct eng_record_event *first)
{
    return first->kind == ENG_ALLOC_EV_SEGMENT_FREE && !eng_alloc_collects_garbage(rp->alloc) &&
           first->bytes < rp->alloc->conf.max_split_bytes;
}

/* Consecutive segment events: they belong to the allocation (or oom) after them, or to an empty_cache. */
static enum vs_status step_segments(struct eng_replay *rp)
{
    const struct eng_record_event *first = expected(rp);
    const struct eng_record_event *end = &rp->events[rp->event_count];
    const struct eng_record_event *last =
        &rp->events[eng_record_run_end(rp->events, rp->event_count, rp->at)];
    bool grows = false;

    for (const struct eng_record_event *event = first; event < last; event++)
        grows = grows || is_growth(event->kind);
    /* an allocation frees segments only in order to request more from the driver afterwards */
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
 * The allocation that caused the free_completed event at `at`: an allocation in need waits for the streams of pending
 * blocks before it returns cached memory to the driver. NULL: no allocation did. An allocation that the cache could
 * have served was not in need; segments freed before such a one are those of an empty_cache.
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
    const struct eng_record_event *cause = flush_of(rp);

    return cause ? step_get(rp, cause->bytes, cause->stream) : step_free_completed(rp);
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

/* ---- creating and freeing ---- */

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
                active_add(rp, block);
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
                                                  .events = ENG_EVENTS_EXPLICIT});
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
    vs_table_release(&replay->active.by_address);
    vs_free(replay->active.blocks);
    eng_alloc_free(replay->alloc);
    vs_free(replay);
}
