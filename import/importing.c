/*
 * import/importing.c - see importing.h.
 *
 * Must not know:  the format of the recording, command-line arguments.
 * Invariant:      in a callback of the allocator, the current event of the list is number `eng_replay_done() - 1`.
 */
#include "import/importing.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "engine/alloc_history/memlist.h"
#include "engine/alloc_history/replay.h"
#include "engine/alloc_history/rewind.h"
#include "import/derive.h"
#include "tracer/intern.h"

/* The block at an address; 0: none. */
struct address_block {
    uint64_t address;
    uint64_t block;
};

/* last_ns: time of the previous event. */
struct building {
    struct imp_import *out;
    const struct vs_memlist *list;
    const struct eng_alloc_conf *conf;
    const struct eng_replay *replay;
    struct address_block *addressed;
    size_t addressed_count, addressed_cap;
    struct vs_table by_address; /* indices of `addressed` */
    uint64_t blocks;
    uint64_t last_ns;
};

/* ---- blocks by address ---- */

/* Valid until the next call. */
static uint64_t *block_at(struct building *b, uint64_t address)
{
    const uint64_t hash = vs_hash_number(address);
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&b->by_address, &probe))
        if (b->addressed[probe.item].address == address)
            return &b->addressed[probe.item].block;
    vs_table_add(&b->by_address, hash, b->addressed_count);
    b->addressed =
        vs_grow(b->addressed, b->addressed_count, &b->addressed_cap, sizeof(*b->addressed));
    b->addressed[b->addressed_count] = (struct address_block){.address = address};
    return &b->addressed[b->addressed_count++].block;
}

/* ---- events ---- */

static struct vs_event *event_add(struct imp_import *out, enum vs_event_kind kind)
{
    struct vs_event *event;

    out->events = vs_grow(out->events, out->event_count, &out->event_cap, sizeof(*out->events));
    event = &out->events[out->event_count++];
    memset(event, 0, sizeof(*event));
    event->kind = (uint8_t)kind;
    out->from = vs_grow(out->from, out->from_count, &out->from_cap, sizeof(*out->from));
    out->from[out->from_count++] = 0;
    return event;
}

static struct vs_event *alloc_add(struct building *b, uint64_t address, uint64_t requested,
                                  uint64_t bytes, enum vs_category category)
{
    struct vs_event *event = event_add(b->out, VS_EV_ALLOC);

    event->alloc.block = *block_at(b, address) = ++b->blocks;
    event->alloc.requested_bytes = requested;
    event->alloc.block_bytes = bytes;
    event->alloc.address = address;
    event->alloc.category = (uint8_t)category;
    return event;
}

static struct vs_event *segment_add(struct building *b, enum vs_event_kind kind, uint64_t address,
                                    uint64_t bytes, uint64_t stream, bool is_small)
{
    struct vs_event *event = event_add(b->out, kind);

    event->segment.stream = stream;
    event->segment.bytes = bytes;
    event->segment.address = address;
    event->segment.size_pool = is_small ? VS_SEGMENT_SMALL : VS_SEGMENT_LARGE;
    return event;
}

/* The address remains in use until the free is completed. */
static struct vs_event *freed_add(struct building *b, enum vs_event_kind kind, uint64_t address,
                                  uint64_t requested, uint64_t bytes)
{
    struct vs_event *event = event_add(b->out, kind);

    event->free.block = *block_at(b, address);
    event->free.requested_bytes = requested;
    event->free.block_bytes = bytes;
    event->free.address = address;
    return event;
}

/*
 * Add the blocks of the initial state that have `state`. A block that waits for a stream is freed at once, because it
 * does not count as allocated.
 */
static void start_blocks_add(struct building *b, const struct eng_record_state *start,
                             enum eng_block_state state)
{
    for (size_t i = 0; i < start->segment_count; i++) {
        const struct eng_record_segment *seg = &start->segments[i];
        uint64_t address = seg->address;

        for (size_t j = seg->first_block; j < seg->first_block + seg->block_count; j++) {
            const struct eng_record_block *block = &start->blocks[j];

            if (block->state == state) {
                alloc_add(b, address, block->requested_bytes, block->bytes, VS_CAT_OTHER);
                if (state == ENG_BLOCK_PENDING_FREE)
                    freed_add(b, VS_EV_FREE, address, block->requested_bytes, block->bytes)
                        ->free.waits_for_stream = 1;
            }
            address += block->bytes;
        }
    }
}

/*
 * Add the initial state as events of the set-up. Waiting blocks come first, so that no byte count exceeds that of the
 * initial state.
 */
static void start_add(struct building *b, const struct eng_record_state *start)
{
    const size_t most = start->segment_count + 2 * start->block_count + b->list->event_count;

    b->out->events = vs_reserve(b->out->events, most, &b->out->event_cap, sizeof(*b->out->events));
    b->out->from = vs_reserve(b->out->from, most, &b->out->from_cap, sizeof(*b->out->from));
    for (size_t i = 0; i < start->segment_count; i++) {
        const struct eng_record_segment *seg = &start->segments[i];

        segment_add(b, seg->is_expandable ? VS_EV_SEGMENT_MAP : VS_EV_SEGMENT_ALLOC, seg->address,
                    seg->bytes, seg->stream, seg->is_small)
            ->segment.private_pool = VS_POOL(seg->pool.graph, seg->pool.user);
    }
    start_blocks_add(b, start, ENG_BLOCK_PENDING_FREE);
    b->out->blocks_before = b->blocks;
    start_blocks_add(b, start, ENG_BLOCK_ALLOCATED);
    b->out->blocks_before = b->blocks - b->out->blocks_before;
    b->out->start_events = b->out->event_count;
}

static enum vs_category category_of(const struct vs_mem_event *event)
{
    return event->cls == VS_MEM_TENSOR ? VS_CAT_OTHER : VS_CAT_WORKSPACE;
}

/* Whether event `at` of the list and the next one are a free that does not wait for a stream. */
static bool is_plain_free(const struct vs_memlist *list, size_t at)
{
    const struct vs_mem_event *event = &list->events[at];

    return at + 1 < list->event_count && event->kind == VS_MEM_FREE_REQUESTED &&
           event[1].kind == VS_MEM_FREE_COMPLETED && event[1].address == event->address;
}

static struct vs_event *free_add(struct building *b, const struct eng_alloc_event *ev)
{
    struct vs_event *event =
        freed_add(b, VS_EV_FREE, ev->address, ev->bytes, eng_block_bytes(ev->block));

    event->free.waits_for_stream = !is_plain_free(b->list, eng_replay_done(b->replay) - 1);
    return event;
}

/* The completion of a free is only emitted if it was delayed. */
static struct vs_event *completed_add(struct building *b, const struct eng_alloc_event *ev)
{
    const size_t done = eng_replay_done(b->replay);

    if (done > 1 && is_plain_free(b->list, done - 2))
        return NULL;
    return freed_add(b, VS_EV_FREE_COMPLETED, ev->address, ev->bytes, eng_block_bytes(ev->block));
}

static struct vs_event *oom_add(struct building *b, const struct eng_alloc_event *ev)
{
    struct vs_event *event = event_add(b->out, VS_EV_OOM);
    const struct eng_alloc_stats *stats = eng_alloc_stats_get(eng_replay_alloc(b->replay));

    if (!b->out->capacity) /* free memory plus what PyTorch holds, without other processes */
        b->out->capacity = stats->reserved_bytes[ENG_STAT_ALL].current + ev->address;
    event->oom.stream = ev->stream;
    event->oom.requested_bytes = ev->bytes;
    event->oom.segment_bytes = eng_alloc_segment_bytes(b->conf, ev->bytes);
    event->oom.device_free_bytes = ev->address;
    return event;
}

static struct vs_event *replayed_add(struct building *b, const struct vs_mem_event *from,
                                     const struct eng_alloc_event *ev)
{
    static const enum vs_event_kind SEGMENTS[ENG_ALLOC_EV_COUNT] = {
        [ENG_ALLOC_EV_SEGMENT_ALLOC] = VS_EV_SEGMENT_ALLOC,
        [ENG_ALLOC_EV_SEGMENT_FREE] = VS_EV_SEGMENT_FREE,
        [ENG_ALLOC_EV_SEGMENT_MAP] = VS_EV_SEGMENT_MAP,
        [ENG_ALLOC_EV_SEGMENT_UNMAP] = VS_EV_SEGMENT_UNMAP,
    };

    switch (ev->kind) {
    case ENG_ALLOC_EV_ALLOC:
        return alloc_add(b, ev->address, ev->bytes, eng_block_bytes(ev->block), category_of(from));
    case ENG_ALLOC_EV_FREE_REQUESTED:
        return free_add(b, ev);
    case ENG_ALLOC_EV_SEGMENT_ALLOC:
    case ENG_ALLOC_EV_SEGMENT_FREE:
    case ENG_ALLOC_EV_SEGMENT_MAP:
    case ENG_ALLOC_EV_SEGMENT_UNMAP:
        return segment_add(b, SEGMENTS[ev->kind], ev->address, ev->bytes, ev->stream, ev->is_small);
    case ENG_ALLOC_EV_OOM:
        return oom_add(b, ev);
    case ENG_ALLOC_EV_FREE_COMPLETED:
        return completed_add(b, ev);
    case ENG_ALLOC_EV_COUNT:
        break;
    }
    return NULL;
}

/* The system clock of a recording may go backwards; the time of a trace does not. */
static uint64_t time_of(struct building *b, const struct vs_mem_event *event)
{
    uint64_t first = b->list->events[0].time_us;
    uint64_t us = event->time_us > first ? event->time_us - first : 0;

    if (us <= UINT64_MAX / 1000 && us * 1000 > b->last_ns)
        b->last_ns = us * 1000;
    return b->last_ns;
}

static void on_replayed(void *user, const struct eng_alloc_event *ev)
{
    struct building *b = user;
    const struct vs_mem_event *from = &b->list->events[eng_replay_done(b->replay) - 1];
    struct vs_event *event = replayed_add(b, from, ev);

    if (!event)
        return;
    b->out->from[b->out->from_count - 1] = (uint32_t)eng_replay_done(b->replay);
    event->time_ns = time_of(b, from);
}

/* ---- locations of pre-existing blocks ---- */

/* The allocation events of the initial state, by block number. */
static struct vs_event **start_allocs(const struct building *b)
{
    struct vs_event **allocs = vs_calloc((size_t)b->blocks + 1, sizeof(*allocs));

    for (size_t i = 0; i < b->out->start_events; i++)
        if (b->out->events[i].kind == VS_EV_ALLOC)
            allocs[b->out->events[i].alloc.block] = &b->out->events[i];
    return allocs;
}

/* A pre-existing block that is not freed has its stack in the state at the end. */
static void start_locations_set(struct building *b)
{
    struct vs_event **allocs = start_allocs(b);

    b->out->start_stacks =
        vs_calloc((size_t)b->out->start_events + 1, sizeof(*b->out->start_stacks));
    for (size_t i = 0; i < b->list->segment_count; i++) {
        const struct vs_mem_segment *segment = &b->list->segments[i];
        uint64_t address = segment->address;

        for (size_t j = 0; j < segment->block_count; j++) {
            const struct vs_mem_block *block = &b->list->blocks[segment->first_block + j];
            struct vs_event *alloc =
                block->state == VS_MEM_ALLOCATED ? allocs[*block_at(b, address)] : NULL;

            if (alloc) {
                alloc->location = imp_block_location(b->out, b->list, block);
                b->out->start_stacks[alloc - b->out->events] = block->stack;
                if (block->cls != VS_MEM_TENSOR)
                    alloc->alloc.category = VS_CAT_WORKSPACE;
            }
            address += block->bytes;
        }
    }
    vs_free(allocs);
}

/* ---- the whole ---- */

static enum vs_status run(struct building *b, const struct eng_record *record,
                          const struct eng_record_state *start, struct vs_error *err)
{
    struct eng_replay_options options = {.start = start,
                                         .events = record->events,
                                         .event_count = record->event_count,
                                         .conf = &record->conf,
                                         .listener = {.user = b, .event = on_replayed}};
    struct eng_record_state found = {.segments = NULL};
    struct eng_replay *replay = NULL;
    enum vs_status st = eng_replay_new(&options, &replay, err);

    if (st)
        return st;
    b->replay = replay;
    start_add(b, start);
    st = eng_replay_run(replay, err);
    if (!st) {
        eng_record_state_of(eng_replay_alloc(replay), &found);
        st = eng_record_state_compare(&record->final, "the snapshot", &found,
                                      "the allocator after its events", err);
    }
    if (!st)
        start_locations_set(b);
    b->out->blocks = b->blocks;
    b->out->end_segments = found.segment_count;
    b->out->end_blocks = found.block_count;
    eng_record_state_release(&found);
    eng_replay_free(replay);
    return st;
}

enum vs_status imp_make(const struct vs_memlist *list, struct imp_import *out, struct vs_error *err)
{
    struct building b = {.out = out, .list = list};
    struct eng_record_state start = {.segments = NULL};
    struct eng_record record;
    enum vs_status st;

    VS_ASSERT(list->has_addresses && list->has_state);
    out->intern = trc_intern_new();
    st = eng_record_of_list(list, &record, err);
    /* the callbacks rely on equal numbers of events */
    VS_ASSERT(st || record.event_count == list->event_count);
    b.conf = &record.conf;
    if (!st)
        st = eng_record_rewind(&record.final, record.events, record.event_count, &record.conf,
                               &start, err);
    if (!st)
        st = run(&b, &record, &start, err);
    if (!st)
        imp_derive(out, list);
    vs_free(b.addressed);
    vs_table_release(&b.by_address);
    eng_record_state_release(&start);
    eng_record_release(&record);
    return st;
}
