/*
 * engine/alloc_history/rerun.c - runs recorded requests with other settings.
 *
 * For:            engine/alloc_history/rerun.h.
 * Must not know:  file formats.
 * Invariant:      while is_same is set, events[0 … equal - 1] have occurred again and no others.
 */
#include "engine/alloc_history/rerun.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "engine/alloc/alloc_internal.h"
#include "engine/alloc/driver.h"

/*
 * New addresses begin at a multiple of this above the recorded ones, and address space for expandable segments begins
 * this far above them.
 */
#define FRESH_STEP (UINT64_C(1) << 30)
#define RANGES_ABOVE (UINT64_C(1) << 50)
#define ADDRESS_MAX (UINT64_C(1) << 62)
/* Assumed total of a device of unknown size: it limits the address space of an expandable segment. */
#define TOTAL_UNKNOWN (UINT64_C(1) << 40)

/* A block in use, by its recorded address. */
struct used_block {
    struct eng_set_node node;
    struct eng_block *block;
};

/*
 * at          next recorded event to be run; now: the one that is being run
 * waited_*    recorded free_completed events of an allocation in need, which the next request completes
 * fresh       addresses from here on are new ones, `sim`'s; ranges: the next one for an expandable segment
 * is_given    the capacity was given by the caller: the device refuses for that reason only
 */
struct eng_rerun {
    const struct eng_record_event *events;
    size_t event_count;
    size_t at;
    size_t now;
    size_t equal;
    size_t waited_first, waited_end;
    bool is_same;
    bool has_failed;
    bool is_given;
    uint64_t capacity;
    uint64_t used;
    uint64_t fresh;
    uint64_t ranges;
    struct eng_sim_driver *sim;
    struct eng_alloc *alloc;
    struct eng_alloc_listener listener;
    struct eng_set used_blocks;
};

static bool is_give_back(unsigned kind)
{
    return kind == ENG_ALLOC_EV_SEGMENT_FREE || kind == ENG_ALLOC_EV_SEGMENT_UNMAP;
}

static bool is_growth(unsigned kind)
{
    return kind == ENG_ALLOC_EV_SEGMENT_ALLOC || kind == ENG_ALLOC_EV_SEGMENT_MAP;
}

/* ---- the driver ---- */

/* The next recorded event, as long as rerun and recording are the same. */
static const struct eng_record_event *expected(const struct eng_rerun *r)
{
    return r->is_same && r->equal < r->event_count ? &r->events[r->equal] : NULL;
}

static bool is_refused(const struct eng_rerun *r, uint64_t bytes)
{
    const struct eng_record_event *next = expected(r);

    /* completed by the flush of an allocation in need, which waited for it */
    if (!r->is_given && next &&
        (is_give_back(next->kind) || next->kind == ENG_ALLOC_EV_FREE_COMPLETED ||
         next->kind == ENG_ALLOC_EV_OOM))
        return true;
    return bytes > r->capacity || r->used > r->capacity - bytes;
}

static bool on_segment_alloc(void *user, uint64_t bytes, uint64_t *out_address)
{
    struct eng_rerun *r = user;
    const struct eng_record_event *next = expected(r);
    struct eng_alloc_driver sim = eng_sim_driver_get(r->sim);

    if (is_refused(r, bytes))
        return false;
    if (next && next->kind == ENG_ALLOC_EV_SEGMENT_ALLOC && next->bytes == bytes)
        *out_address = next->address;
    else if (!sim.segment_alloc(sim.user, bytes, out_address))
        return false;
    r->used += bytes;
    return true;
}

static void on_segment_free(void *user, uint64_t address, uint64_t bytes)
{
    struct eng_rerun *r = user;
    struct eng_alloc_driver sim = eng_sim_driver_get(r->sim);

    r->used -= bytes;
    if (address >= r->fresh)
        sim.segment_free(sim.user, address, bytes);
}

/*
 * Where the recorded run reserved the address space that is being requested: at the first map that follows, possibly
 * after a flush.
 */
static bool recorded_reserve(const struct eng_rerun *r, uint64_t *out_address)
{
    const size_t end =
        expected(r) ? eng_record_run_end(r->events, r->event_count, r->equal) : r->equal;

    for (size_t i = r->equal; i < end; i++)
        if (r->events[i].kind == ENG_ALLOC_EV_SEGMENT_MAP) {
            const struct eng_set_key key = {{r->events[i].address, 0, 0}};
            const struct eng_set_node *area = eng_set_floor(&r->alloc->areas, &key);

            *out_address = r->events[i].address;
            return !area ||
                   area->key.word[0] != *out_address; /* otherwise an existing area grew there */
        }
    return false;
}

static bool on_reserve(void *user, uint64_t bytes, uint64_t *out_address)
{
    struct eng_rerun *r = user;

    if (recorded_reserve(r, out_address))
        return true;
    *out_address = r->ranges;
    return vs_bytes_add(r->ranges, vs_bytes_round_up(bytes, ENG_SIM_GRANULE), &r->ranges);
}

static void on_release(void *user, uint64_t address, uint64_t bytes)
{
    (void)user; /* address space is not reused */
    (void)address;
    (void)bytes;
}

static bool on_map(void *user, uint64_t address, uint64_t bytes)
{
    struct eng_rerun *r = user;

    (void)address;
    if (is_refused(r, bytes))
        return false;
    r->used += bytes;
    return true;
}

static void on_unmap(void *user, uint64_t address, uint64_t bytes)
{
    struct eng_rerun *r = user;

    (void)address;
    r->used -= bytes;
}

static void on_mem_info(void *user, uint64_t *out_free_bytes, uint64_t *out_total_bytes)
{
    const struct eng_rerun *r = user;
    const struct eng_record_event *next = expected(r);
    const bool is_known = r->capacity != ENG_NO_LIMIT;

    *out_total_bytes = is_known ? r->capacity : TOTAL_UNKNOWN;
    if (!r->is_given && next && next->kind == ENG_ALLOC_EV_OOM)
        *out_free_bytes = next->address;
    else
        *out_free_bytes = *out_total_bytes > r->used ? *out_total_bytes - r->used : 0;
}

/* ---- blocks in use ---- */

static void used_block_add(struct eng_rerun *r, uint64_t address, struct eng_block *block)
{
    struct used_block *held = vs_calloc(1, sizeof(*held));

    held->block = block;
    eng_block_set_user(block, held);
    eng_set_insert(&r->used_blocks, &held->node, (struct eng_set_key){{address, 0, 0}});
}

static struct used_block *used_block_at(const struct eng_rerun *r, uint64_t address)
{
    const struct eng_set_key key = {{address, 0, 0}};
    struct eng_set_node *node = eng_set_ceil(&r->used_blocks, &key);

    return node && node->key.word[0] == address ? (struct used_block *)(void *)node : NULL;
}

static void used_block_remove(struct eng_rerun *r, struct used_block *held)
{
    eng_set_remove(&r->used_blocks, &held->node);
    vs_free(held);
}

static void on_event(void *user, const struct eng_alloc_event *event)
{
    struct eng_rerun *r = user;
    const struct eng_record_event *next = expected(r);

    if (next && next->kind == event->kind && next->address == event->address &&
        next->bytes == event->bytes && next->stream == event->stream)
        r->equal++;
    else
        r->is_same = false;
    if (r->listener.event)
        r->listener.event(r->listener.user, event);
    /* a flush that waits for all pending blocks may complete this one earlier than the recording did */
    if (event->kind == ENG_ALLOC_EV_FREE_COMPLETED && eng_block_user(event->block))
        used_block_remove(r, eng_block_user(event->block));
}

/* ---- requests ---- */

static enum vs_status impossible(const struct eng_rerun *r, const char *why, struct vs_error *err)
{
    const struct eng_record_event *event = &r->events[r->now];

    return vs_fail(err, VS_E_DAMAGED,
                   "recorded event %zu (%s of %" PRIu64 " bytes at 0x%" PRIx64 "): %s", r->now,
                   eng_record_event_name(event->kind), event->bytes, event->address, why);
}

static void put_complete(struct eng_rerun *r, uint64_t address)
{
    struct used_block *held = used_block_at(r, address);

    /* otherwise a flush has completed it already */
    if (held && eng_block_state(held->block) == ENG_BLOCK_PENDING_FREE)
        eng_alloc_put_complete(r->alloc, held->block);
}

/* Completes what the recorded request waited for, whether or not the request waited in this run. */
static void waited_complete(struct eng_rerun *r)
{
    for (; r->waited_first < r->waited_end; r->waited_first++)
        if (r->events[r->waited_first].kind == ENG_ALLOC_EV_FREE_COMPLETED)
            put_complete(r, r->events[r->waited_first].address);
}

static enum vs_status run_get(struct eng_rerun *r, struct vs_error *err)
{
    const struct eng_record_event *event = &r->events[r->now];
    const bool was_refused = event->kind == ENG_ALLOC_EV_OOM;
    struct eng_block *block;

    if (!event->bytes || event->stream == ENG_ANY_STREAM)
        return impossible(r, "a request of 0 bytes", err);
    if (eng_alloc_get(r->alloc, event->bytes, event->stream, &block, NULL)) {
        r->has_failed = !was_refused;
        waited_complete(r);
        return VS_OK;
    }
    waited_complete(r);
    if (!was_refused && used_block_at(r, event->address))
        return impossible(r, "a block is there already", err);
    if (was_refused) /* what the program would have done with the block is not known */
        eng_alloc_put(r->alloc, block);
    else
        used_block_add(r, event->address, block);
    return VS_OK;
}

static enum vs_status run_put(struct eng_rerun *r, struct vs_error *err)
{
    const struct eng_record_event *event = &r->events[r->now];
    struct used_block *held = used_block_at(r, event->address);
    const bool is_over = r->at < r->event_count &&
                         r->events[r->at].kind == ENG_ALLOC_EV_FREE_COMPLETED &&
                         r->events[r->at].address == event->address;

    if (!held || eng_block_state(held->block) != ENG_BLOCK_ALLOCATED)
        return impossible(r, "no allocated block is there", err);
    if (is_over)
        r->at++;
    else
        eng_alloc_record_stream(r->alloc, held->block, ~eng_block_stream(held->block));
    eng_alloc_put(r->alloc, held->block);
    return VS_OK;
}

static size_t segments_end(const struct eng_rerun *r, size_t at)
{
    return eng_record_run_end(r->events, r->event_count, at);
}

/* Whether the segments freed from `first` on were freed by the request at `end`. has_grown: it then got new memory. */
static bool was_in_need(const struct eng_rerun *r, size_t first, size_t end)
{
    const struct eng_record_event *event = end < r->event_count ? &r->events[end] : NULL;
    bool has_grown = is_growth(r->events[end - 1].kind);

    if (!event || (event->kind != ENG_ALLOC_EV_ALLOC && event->kind != ENG_ALLOC_EV_OOM))
        return false;
    if (r->events[first].location && event->location)
        return r->events[first].location == event->location &&
               (has_grown || event->kind == ENG_ALLOC_EV_OOM);
    if (event->kind == ENG_ALLOC_EV_OOM)
        return true;
    /* a request that the cache could have served was not in need */
    return has_grown && !(r->is_same && eng_alloc_is_cached(r->alloc, event->bytes, event->stream));
}

/* Skips segment events, which depend on the recorded settings and device; only an empty_cache is run again. */
static void run_segments(struct eng_rerun *r)
{
    const size_t end = segments_end(r, r->now);

    if (is_growth(r->events[r->now].kind) || was_in_need(r, r->now, end)) {
        r->waited_first = r->now;
        r->waited_end = r->at = end;
        return;
    }
    while (r->at < end && is_give_back(r->events[r->at].kind))
        r->at++;
    eng_alloc_empty_cache(r->alloc);
}

/* A free_completed event: by itself, or by the flush of an allocation in need, which waits for all streams first. */
static void run_completed(struct eng_rerun *r)
{
    size_t first = r->at;
    size_t end;

    while (first < r->event_count && r->events[first].kind == ENG_ALLOC_EV_FREE_COMPLETED)
        first++;
    end = segments_end(r, first);
    if (!r->is_same || !eng_record_is_wait(r->alloc, &r->events[r->now], first - r->now)) {
        put_complete(r, r->events[r->now].address);
        return;
    }
    if (end > first ? is_give_back(r->events[first].kind) && was_in_need(r, first, end)
                    : end < r->event_count && r->events[end].kind == ENG_ALLOC_EV_OOM) {
        r->waited_first = r->now;
        r->waited_end = r->at = end;
        return;
    }
    put_complete(r, r->events[r->now].address);
}

enum vs_status eng_rerun_step(struct eng_rerun *r, bool *more, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    *more = false;
    if (r->has_failed || r->at >= r->event_count)
        return VS_OK;
    r->now = r->at++;
    switch (r->events[r->now].kind) {
    case ENG_ALLOC_EV_ALLOC:
    case ENG_ALLOC_EV_OOM:
        st = run_get(r, err);
        break;
    case ENG_ALLOC_EV_FREE_REQUESTED:
        st = run_put(r, err);
        break;
    case ENG_ALLOC_EV_FREE_COMPLETED:
        run_completed(r);
        break;
    case ENG_ALLOC_EV_SEGMENT_ALLOC:
    case ENG_ALLOC_EV_SEGMENT_FREE:
    case ENG_ALLOC_EV_SEGMENT_MAP:
    case ENG_ALLOC_EV_SEGMENT_UNMAP:
        run_segments(r);
        break;
    default: /* ENG_RECORD_SNAPSHOT: no request */
        r->equal += r->is_same && r->equal == r->now;
        break;
    }
    *more = !st && !r->has_failed && r->at < r->event_count;
    return st;
}

size_t eng_rerun_next(const struct eng_rerun *r)
{
    return r->at;
}

size_t eng_rerun_at(const struct eng_rerun *r)
{
    return r->now;
}

size_t eng_rerun_equal(const struct eng_rerun *r)
{
    return r->equal;
}

bool eng_rerun_is_same(const struct eng_rerun *r)
{
    return r->is_same;
}

uint64_t eng_rerun_capacity(const struct eng_rerun *r)
{
    return r->capacity;
}

bool eng_rerun_has_failed(const struct eng_rerun *r)
{
    return r->has_failed;
}

const struct eng_alloc *eng_rerun_alloc(const struct eng_rerun *r)
{
    return r->alloc;
}

/* ---- creating and freeing ---- */

/* The end of the highest recorded range; false if it is above ADDRESS_MAX. */
static bool highest(const struct eng_rerun_options *opts, uint64_t *out)
{
    uint64_t end = 0;

    *out = 0;
    for (size_t i = 0; i < opts->start->segment_count; i++) {
        if (!vs_bytes_add(opts->start->segments[i].address, opts->start->segments[i].bytes, &end))
            return false;
        *out = end > *out ? end : *out;
    }
    for (size_t i = 0; i < opts->event_count; i++) {
        if (!is_growth(opts->events[i].kind))
            continue;
        if (!vs_bytes_add(opts->events[i].address, opts->events[i].bytes, &end))
            return false;
        *out = end > *out ? end : *out;
    }
    return *out < ADDRESS_MAX;
}

/*
 * Bytes that could be reserved on the recorded device. An out-of-memory event contains the free bytes. A flush of an
 * allocation in need that succeeded shows that the request did not fit before.
 */
static uint64_t recorded_capacity(struct eng_rerun *r, uint64_t reserved)
{
    uint64_t capacity = 0;
    uint64_t below = ENG_NO_LIMIT;
    uint64_t most = reserved;

    for (size_t i = 0; i < r->event_count; i++) {
        const struct eng_record_event *event = &r->events[i];

        if (is_give_back(event->kind) && (!i || !is_give_back(event[-1].kind))) {
            const size_t end = segments_end(r, i);
            uint64_t asked = 0;

            for (size_t j = i; j < end; j++)
                asked += is_growth(r->events[j].kind) ? r->events[j].bytes : 0;
            if (asked && was_in_need(r, i, end) && reserved + asked < below)
                below = reserved + asked;
        }
        if (event->kind == ENG_ALLOC_EV_OOM && !capacity)
            capacity = reserved + event->address;
        if (is_growth(event->kind))
            reserved += event->bytes;
        else if (is_give_back(event->kind))
            reserved -= event->bytes < reserved ? event->bytes : reserved;
        most = reserved > most ? reserved : most;
    }
    if (!capacity && below != ENG_NO_LIMIT)
        capacity = (below - 1) / ENG_SIM_GRANULE * ENG_SIM_GRANULE;
    if (!capacity)
        return ENG_NO_LIMIT;
    return capacity > most ? capacity : most;
}

static void used_blocks_fill(struct eng_rerun *r)
{
    for (struct eng_set_node *node = eng_set_first(&r->alloc->areas); node;
         node = eng_set_next(node)) {
        struct eng_area *area = (struct eng_area *)(void *)node; /* the node is the first member */

        for (struct eng_block *block = area->first; block; block = block->next)
            if (eng_block_state(block) != ENG_BLOCK_INACTIVE)
                used_block_add(r, block->address, block);
    }
}

/* Fills the allocator with the start state under the recorded settings; setting the new ones does not change it. */
static enum vs_status begin(struct eng_rerun *r, const struct eng_rerun_options *opts,
                            struct vs_error *err)
{
    const struct eng_alloc_driver driver = {.user = r,
                                            .segment_alloc = on_segment_alloc,
                                            .segment_free = on_segment_free,
                                            .range_reserve = on_reserve,
                                            .range_release = on_release,
                                            .range_map = on_map,
                                            .range_unmap = on_unmap,
                                            .mem_info = on_mem_info};
    enum vs_status st;

    r->capacity =
        ENG_NO_LIMIT; /* the recorded reach of an expandable segment is not the new device's matter */
    r->alloc = eng_alloc_new(&(struct eng_alloc_options){.driver = driver,
                                                         .conf = opts->recorded,
                                                         .listener = {.user = r, .event = on_event},
                                                         .events = ENG_EVENTS_EXPLICIT});
    st = eng_alloc_adopt(r->alloc, opts->start, err);
    if (st)
        return st;
    r->used = eng_alloc_stats_get(r->alloc)->reserved_bytes[ENG_STAT_ALL].current;
    r->capacity = opts->capacity ? opts->capacity : recorded_capacity(r, r->used);
    used_blocks_fill(r);
    eng_alloc_set_conf(r->alloc, opts->conf);
    eng_alloc_reset_peak(r->alloc);
    eng_alloc_reset_accumulated(r->alloc);
    return VS_OK;
}

enum vs_status eng_rerun_new(const struct eng_rerun_options *opts, struct eng_rerun **out,
                             struct vs_error *err)
{
    struct eng_rerun *r = vs_calloc(1, sizeof(*r));
    uint64_t end;
    enum vs_status st = VS_OK;

    *out = NULL;
    r->events = opts->events;
    r->event_count = opts->event_count;
    r->listener = opts->listener;
    r->is_same = true;
    r->is_given = opts->capacity != 0;
    if (!highest(opts, &end))
        st = vs_fail(err, VS_E_VALUE, "the recorded addresses leave no address space above them");
    if (!st) {
        r->fresh = vs_bytes_round_up(end + FRESH_STEP, FRESH_STEP);
        r->ranges = r->fresh + RANGES_ABOVE;
        r->sim = eng_sim_driver_new(
            &(struct eng_sim_options){.total_bytes = RANGES_ABOVE, .base = r->fresh});
        st = begin(r, opts, err);
    }
    if (!st) {
        *out = r;
        r = NULL; /* handed over */
    }
    eng_rerun_free(r);
    return st;
}

void eng_rerun_free(struct eng_rerun *r)
{
    if (!r)
        return;
    while (r->used_blocks.root)
        used_block_remove(r, (struct used_block *)(void *)r->used_blocks.root);
    eng_alloc_free(r->alloc);
    eng_sim_driver_free(r->sim);
    vs_free(r);
}
