/*
 * whatif/record.c - see record.h.
 *
 * Must not know:  files, settings.
 * Invariant:      a block's stream is that of its segment.
 */
#include "whatif/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/alloc/set.h"

/* The lowest address of the expandable segments of a stream, size class and private pool. */
struct area {
    uint64_t stream;
    uint64_t pool;
    uint64_t address;
    uint8_t size_pool;
};

/* The address range of a segment, current or former. */
struct span {
    struct eng_set_node node;
    uint64_t bytes;
    uint64_t stream;
};

/* A pre-existing block. waits: it has been freed, but another stream still uses it. */
struct start_block {
    uint64_t address;
    uint64_t bytes;
    uint64_t requested;
    bool waits;
};

struct reading {
    struct wif_record *out;
    struct area *areas;
    size_t area_count, area_cap;
    struct eng_set spans;
    /* Finds a span by its address. */
    struct vs_arena *arena;
    struct vs_error *err;
};

static bool is_growth(const struct vs_event *event)
{
    return event->kind == VS_EV_SEGMENT_ALLOC || event->kind == VS_EV_SEGMENT_MAP;
}

/* ---- the initial state ---- */

static struct area *area_of(struct reading *r, const struct vs_event *event)
{
    for (size_t i = 0; i < r->area_count; i++)
        if (r->areas[i].stream == event->segment.stream &&
            r->areas[i].pool == event->segment.private_pool &&
            r->areas[i].size_pool == event->segment.size_pool)
            return &r->areas[i];
    r->areas = vs_grow(r->areas, r->area_count, &r->area_cap, sizeof(*r->areas));
    r->areas[r->area_count] = (struct area){event->segment.stream, event->segment.private_pool,
                                            event->segment.address, event->segment.size_pool};
    return &r->areas[r->area_count++];
}

static void areas_fill(struct reading *r)
{
    for (size_t i = 0; i < r->out->event_count; i++) {
        const struct vs_event *event = &r->out->events[i];
        struct area *area;

        if (event->kind != VS_EV_SEGMENT_MAP)
            continue;
        area = area_of(r, event);
        if (event->segment.address < area->address)
            area->address = event->segment.address;
    }
}

static int segments_by_address(const void *x, const void *y)
{
    const struct vs_event *a = x;
    const struct vs_event *b = y;

    return a->segment.address < b->segment.address ? -1 : a->segment.address > b->segment.address;
}

static int blocks_by_address(const void *x, const void *y)
{
    const struct start_block *a = x;
    const struct start_block *b = y;

    return a->address < b->address ? -1 : a->address > b->address;
}

static void block_add(struct reading *r, uint64_t bytes, uint64_t requested,
                      enum eng_block_state state)
{
    if (bytes)
        eng_record_state_add_block(&r->out->state,
                                   (struct eng_record_block){bytes, requested, state});
}

/* Add the blocks from *at on that are in the segment, and the free ranges between them. */
static enum vs_status segment_fill(struct reading *r, const struct vs_event *segment,
                                   const struct start_block *blocks, size_t count, size_t *at)
{
    struct eng_record_segment *seg = eng_record_state_add_segment(&r->out->state);
    uint64_t done = 0;

    seg->address = segment->segment.address;
    seg->bytes = segment->segment.bytes;
    seg->stream = segment->segment.stream;
    seg->pool = (struct eng_pool_id){VS_POOL_GRAPH(segment->segment.private_pool),
                                     VS_POOL_USER(segment->segment.private_pool)};
    seg->is_small = segment->segment.size_pool == VS_SEGMENT_SMALL;
    seg->is_expandable = segment->kind == VS_EV_SEGMENT_MAP;
    if (seg->is_expandable)
        seg->area_address = area_of(r, segment)->address;
    for (; *at < count && blocks[*at].address - seg->address < seg->bytes; ++*at) {
        const struct start_block *block = &blocks[*at];
        const uint64_t offset = block->address - seg->address;

        if (offset < done || block->bytes > seg->bytes - offset)
            return vs_fail(r->err, VS_E_DAMAGED, "blocks overlap at 0x%" PRIx64, block->address);
        block_add(r, offset - done, 0, ENG_BLOCK_INACTIVE);
        block_add(r, block->bytes, block->requested,
                  block->waits ? ENG_BLOCK_PENDING_FREE : ENG_BLOCK_ALLOCATED);
        done = offset + block->bytes;
    }
    block_add(r, seg->bytes - done, 0, ENG_BLOCK_INACTIVE);
    return VS_OK;
}

/* Read the initial state: its events are segments and blocks, each once, and frees of blocks that wait. */
static enum vs_status state_fill(struct reading *r)
{
    const size_t cap = (size_t)r->out->start_count + 1;
    struct vs_event *segments = vs_alloc(cap * sizeof(*segments));
    struct start_block *blocks = vs_alloc(cap * sizeof(*blocks));
    size_t segment_count = 0;
    size_t block_count = 0;
    size_t at = 0;
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < r->out->start_count; i++) {
        const struct vs_event *event = &r->out->events[i];

        if (is_growth(event)) {
            segments[segment_count++] = *event;
        } else if (event->kind == VS_EV_ALLOC) {
            blocks[block_count++] =
                (struct start_block){event->alloc.address, event->alloc.block_bytes,
                                     event->alloc.requested_bytes, false};
        } else if (event->kind == VS_EV_FREE && block_count) {
            /* The free follows its allocation. */
            blocks[block_count - 1].waits = true;
        }
    }
    qsort(segments, segment_count, sizeof(*segments), segments_by_address);
    qsort(blocks, block_count, sizeof(*blocks), blocks_by_address);
    for (size_t i = 0; i < segment_count && !st; i++)
        st = segment_fill(r, &segments[i], blocks, block_count, &at);
    if (!st && at < block_count)
        st = vs_fail(r->err, VS_E_DAMAGED, "a block at 0x%" PRIx64 " is in no segment",
                     blocks[at].address);
    vs_free(blocks);
    vs_free(segments);
    return st;
}

/* ---- the events ---- */

static const struct span *span_at(const struct reading *r, uint64_t address)
{
    const struct eng_set_key key = {{address, 0, 0}};
    struct eng_set_node *node = eng_set_floor(&r->spans, &key);
    /* The node is the first member. */
    struct span *span = (struct span *)(void *)node;

    return node && address - node->key.word[0] < span->bytes ? span : NULL;
}

/*
 * A freed range stays known until other memory is at its address: an unmapped range may be any part of what was
 * mapped.
 */
static void span_add(struct reading *r, const struct vs_event *event)
{
    const struct eng_set_key key = {{event->segment.address, 0, 0}};
    struct span *span = vs_arena_calloc(r->arena, 1, sizeof(*span));
    struct eng_set_node *node;

    while ((node = eng_set_ceil(&r->spans, &key)) &&
           (node->key.word[0] == event->segment.address ||
            node->key.word[0] - event->segment.address < event->segment.bytes))
        eng_set_remove(&r->spans, node);
    span->bytes = event->segment.bytes;
    span->stream = event->segment.stream;
    eng_set_insert(&r->spans, &span->node, key);
}

/* Add an allocator event, from the trace's event `from`. address: for an oom the device's free bytes. */
static void record_add(struct reading *r, size_t from, enum eng_alloc_event_kind kind,
                       uint64_t address, uint64_t bytes, uint64_t stream)
{
    struct wif_record *out = r->out;

    out->record = vs_grow(out->record, out->record_count, &out->record_cap, sizeof(*out->record));
    out->from = vs_grow(out->from, out->record_count, &out->from_cap, sizeof(*out->from));
    out->from[out->record_count] = from;
    out->record[out->record_count++] =
        (struct eng_record_event){address, bytes, stream, kind, out->events[from].location};
}

static enum vs_status block_event(struct reading *r, size_t i)
{
    const struct vs_event *event = &r->out->events[i];
    const bool is_alloc = event->kind == VS_EV_ALLOC;
    const uint64_t address = is_alloc ? event->alloc.address : event->free.address;
    const uint64_t bytes = is_alloc ? event->alloc.requested_bytes : event->free.requested_bytes;
    const struct span *span = span_at(r, address);

    if (!span)
        return vs_fail(r->err, VS_E_DAMAGED,
                       "event %zu: the block at 0x%" PRIx64 " is in no segment", i + 1, address);
    if (is_alloc) {
        if (event->alloc.block > r->out->last)
            r->out->last = event->alloc.block;
        record_add(r, i, ENG_ALLOC_EV_ALLOC, address, bytes, span->stream);
        return VS_OK;
    }
    if (event->kind == VS_EV_FREE)
        record_add(r, i, ENG_ALLOC_EV_FREE_REQUESTED, address, bytes, span->stream);
    if (event->kind == VS_EV_FREE_COMPLETED || !event->free.waits_for_stream)
        record_add(r, i, ENG_ALLOC_EV_FREE_COMPLETED, address, bytes, span->stream);
    return VS_OK;
}

static void segment_event(struct reading *r, size_t i)
{
    static const enum eng_alloc_event_kind SEGMENTS[] = {
        [VS_EV_SEGMENT_ALLOC] = ENG_ALLOC_EV_SEGMENT_ALLOC,
        [VS_EV_SEGMENT_FREE] = ENG_ALLOC_EV_SEGMENT_FREE,
        [VS_EV_SEGMENT_MAP] = ENG_ALLOC_EV_SEGMENT_MAP,
        [VS_EV_SEGMENT_UNMAP] = ENG_ALLOC_EV_SEGMENT_UNMAP,
    };
    const struct vs_event *event = &r->out->events[i];

    if (is_growth(event))
        span_add(r, event);
    record_add(r, i, SEGMENTS[event->kind], event->segment.address, event->segment.bytes,
               event->segment.stream);
}

static enum vs_status event_take(struct reading *r, size_t i)
{
    const struct vs_event *event = &r->out->events[i];

    switch (event->kind) {
    case VS_EV_ALLOC:
    case VS_EV_FREE:
    case VS_EV_FREE_COMPLETED:
        return block_event(r, i);
    case VS_EV_OOM:
        record_add(r, i, ENG_ALLOC_EV_OOM, event->oom.device_free_bytes, event->oom.requested_bytes,
                   event->oom.stream);
        break;
    case VS_EV_ANY_SEGMENT:
        segment_event(r, i);
        break;
    /* Not an allocator event; the kind is a byte of a file, so it may have any value. */
    default:
        break;
    }
    return VS_OK;
}

static enum vs_status record_fill(struct reading *r)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < r->out->start_count; i++) {
        const struct vs_event *event = &r->out->events[i];

        if (is_growth(event))
            span_add(r, event);
        if (event->kind == VS_EV_ALLOC && event->alloc.block > r->out->last)
            r->out->last = event->alloc.block;
    }
    for (size_t i = (size_t)r->out->start_count; i < r->out->event_count && !st; i++)
        st = event_take(r, i);
    return st;
}

/* ---- the whole ---- */

static enum vs_status events_read(struct reading *r, struct rpl_trace *trace)
{
    const uint64_t count = rpl_trace_event_count(trace);
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st;

    r->out->events = vs_alloc((size_t)(count + 1) * sizeof(*r->out->events));
    rpl_scan_init(scan, trace, 1, count);
    while ((event = rpl_scan_next(scan, r->err)) != NULL)
        r->out->events[r->out->event_count++] = *event;
    st = scan->status;
    vs_free(scan);
    if (!st && (!rpl_trace_meta_uint(trace, "start_events", &r->out->start_count) ||
                r->out->start_count > count))
        return vs_fail(r->err, VS_E_UNSUPPORTED,
                       "this trace does not say where the recording began; import the snapshot "
                       "again to ask what if");
    return st;
}

enum vs_status wif_record_fill(struct wif_record *out, struct rpl_trace *trace,
                               struct vs_error *err)
{
    struct reading r = {.out = out, .arena = vs_arena_new(), .err = err};
    enum vs_status st = VS_OK;

    if (rpl_trace_event_count(trace))
        st = events_read(&r, trace);
    if (!st) {
        areas_fill(&r);
        st = state_fill(&r);
    }
    if (!st)
        st = record_fill(&r);
    vs_free(r.areas);
    vs_arena_free(r.arena);
    return st;
}

void wif_record_release(struct wif_record *record)
{
    eng_record_state_release(&record->state);
    vs_free(record->events);
    vs_free(record->record);
    vs_free(record->from);
    memset(record, 0, sizeof(*record));
}
