/*
 * whatif/whatif_record.c - see whatif_record.h.
 *
 * Must not know:  files, settings.
 * Invariant:      a block's stream is that of the segment it lies in.
 */
#include "whatif/whatif_record.h"

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
    uint8_t aux;
};

/* Memory that a segment was at, by its address. */
struct span {
    struct eng_set_node node;
    uint64_t bytes;
    uint64_t stream;
};

struct reading {
    struct rpl_record *out;
    struct area *areas;
    size_t area_count, area_cap;
    struct eng_set spans;
    struct vs_arena *arena; /* the spans */
    struct vs_error *err;
};

static bool is_growth(const struct vs_event *event)
{
    return event->kind == VS_EV_SEGMENT_ALLOC || event->kind == VS_EV_SEGMENT_MAP;
}

/* ---- the start ---- */

static struct area *area_of(struct reading *r, const struct vs_event *event)
{
    for (size_t i = 0; i < r->area_count; i++)
        if (r->areas[i].stream == event->a && r->areas[i].pool == event->c &&
            r->areas[i].aux == event->aux)
            return &r->areas[i];
    r->areas = vs_grow(r->areas, r->area_count, &r->area_cap, sizeof(*r->areas));
    r->areas[r->area_count] = (struct area){event->a, event->c, event->d, event->aux};
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
        if (event->d < area->address)
            area->address = event->d;
    }
}

static int by_address(const void *x, const void *y)
{
    const struct vs_event *a = x;
    const struct vs_event *b = y;

    return a->d < b->d ? -1 : a->d > b->d;
}

static void block_add(struct reading *r, uint64_t bytes, uint64_t requested,
                      enum eng_block_state state)
{
    if (bytes)
        eng_record_state_add_block(&r->out->state,
                                   (struct eng_record_block){bytes, requested, state});
}

/* The blocks from *at on that lie in the segment, and what is free between them. */
static enum vs_status segment_fill(struct reading *r, const struct vs_event *segment,
                                   const struct vs_event *blocks, size_t count, size_t *at)
{
    struct eng_record_segment *seg = eng_record_state_add_segment(&r->out->state);
    uint64_t done = 0;

    seg->address = segment->d;
    seg->bytes = segment->b;
    seg->stream = segment->a;
    seg->pool = (struct eng_pool_id){VS_POOL_GRAPH(segment->c), VS_POOL_USER(segment->c)};
    seg->is_small = segment->aux == 1;
    seg->is_expandable = segment->kind == VS_EV_SEGMENT_MAP;
    if (seg->is_expandable)
        seg->area_address = area_of(r, segment)->address;
    for (; *at < count && blocks[*at].d - segment->d < segment->b; ++*at) {
        const struct vs_event *block = &blocks[*at];
        const uint64_t offset = block->d - segment->d;

        if (offset < done || block->c > segment->b - offset)
            return vs_fail(r->err, VS_E_DAMAGED, "blocks overlap at 0x%" PRIx64, block->d);
        block_add(r, offset - done, 0, ENG_BLOCK_INACTIVE);
        block_add(r, block->c, block->b, block->e ? ENG_BLOCK_PENDING_FREE : ENG_BLOCK_ALLOCATED);
        done = offset + block->c;
    }
    block_add(r, segment->b - done, 0, ENG_BLOCK_INACTIVE);
    return VS_OK;
}

/* Its events are segments and blocks, each of them once, and frees of blocks that only wait. */
static enum vs_status state_fill(struct reading *r)
{
    const size_t room = (size_t)r->out->start_count + 1;
    struct vs_event *segments = vs_alloc(room * 2 * sizeof(*segments));
    struct vs_event *blocks = segments + room;
    size_t segment_count = 0;
    size_t block_count = 0;
    size_t at = 0;
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < r->out->start_count; i++) {
        const struct vs_event *event = &r->out->events[i];

        if (is_growth(event)) {
            segments[segment_count++] = *event;
        } else if (event->kind == VS_EV_ALLOC) {
            blocks[block_count] = *event;
            blocks[block_count++].e = 0;
        } else if (event->kind == VS_EV_FREE && block_count) {
            blocks[block_count - 1].e = 1; /* it follows its allocation */
        }
    }
    qsort(segments, segment_count, sizeof(*segments), by_address);
    qsort(blocks, block_count, sizeof(*blocks), by_address);
    for (size_t i = 0; i < segment_count && !st; i++)
        st = segment_fill(r, &segments[i], blocks, block_count, &at);
    if (!st && at < block_count)
        st = vs_fail(r->err, VS_E_DAMAGED, "a block at 0x%" PRIx64 " is in no segment",
                     blocks[at].d);
    vs_free(segments);
    return st;
}

/* ---- the events ---- */

static const struct span *span_at(const struct reading *r, uint64_t address)
{
    const struct eng_set_key key = {{address, 0, 0}};
    struct eng_set_node *node = eng_set_floor(&r->spans, &key);
    struct span *span = (struct span *)(void *)node; /* the node is the first member */

    return node && address - node->key.word[0] < span->bytes ? span : NULL;
}

/* What was given back stays known until other memory is there: an unmapped range may be any part of what was mapped. */
static void span_add(struct reading *r, const struct vs_event *event)
{
    const struct eng_set_key key = {{event->d, 0, 0}};
    struct span *span = vs_arena_calloc(r->arena, 1, sizeof(*span));
    struct eng_set_node *node;

    while ((node = eng_set_ceil(&r->spans, &key)) &&
           (node->key.word[0] == event->d || node->key.word[0] - event->d < event->b))
        eng_set_remove(&r->spans, node);
    span->bytes = event->b;
    span->stream = event->a;
    eng_set_insert(&r->spans, &span->node, key);
}

static void record_add(struct reading *r, size_t from, enum eng_alloc_event_kind kind,
                       uint64_t stream)
{
    struct rpl_record *out = r->out;
    const struct vs_event *event = &out->events[from];

    out->record = vs_grow(out->record, out->record_count, &out->record_cap, sizeof(*out->record));
    out->from = vs_grow(out->from, out->record_count, &out->from_cap, sizeof(*out->from));
    out->from[out->record_count] = from;
    out->record[out->record_count++] =
        (struct eng_record_event){event->d, event->b, stream, kind, event->place};
}

static enum vs_status block_event(struct reading *r, size_t i)
{
    const struct vs_event *event = &r->out->events[i];
    const struct span *span = span_at(r, event->d);

    if (!span)
        return vs_fail(r->err, VS_E_DAMAGED,
                       "event %zu: the block at 0x%" PRIx64 " is in no segment", i + 1, event->d);
    if (event->kind == VS_EV_ALLOC) {
        r->out->last = event->a > r->out->last ? event->a : r->out->last;
        record_add(r, i, ENG_ALLOC_EV_ALLOC, span->stream);
    } else if (event->kind == VS_EV_FREE) {
        record_add(r, i, ENG_ALLOC_EV_FREE_REQUESTED, span->stream);
        if (!event->e)
            record_add(r, i, ENG_ALLOC_EV_FREE_COMPLETED, span->stream);
    } else {
        record_add(r, i, ENG_ALLOC_EV_FREE_COMPLETED, span->stream);
    }
    return VS_OK;
}

static enum vs_status event_take(struct reading *r, size_t i)
{
    static const enum eng_alloc_event_kind SEGMENTS[] = {
        [VS_EV_SEGMENT_ALLOC] = ENG_ALLOC_EV_SEGMENT_ALLOC,
        [VS_EV_SEGMENT_FREE] = ENG_ALLOC_EV_SEGMENT_FREE,
        [VS_EV_SEGMENT_MAP] = ENG_ALLOC_EV_SEGMENT_MAP,
        [VS_EV_SEGMENT_UNMAP] = ENG_ALLOC_EV_SEGMENT_UNMAP,
    };
    const struct vs_event *event = &r->out->events[i];

    switch (event->kind) {
    case VS_EV_ALLOC:
    case VS_EV_FREE:
    case VS_EV_FREE_COMPLETED:
        return block_event(r, i);
    case VS_EV_OOM:
        record_add(r, i, ENG_ALLOC_EV_OOM, event->a);
        break;
    case VS_EV_SEGMENT_ALLOC:
    case VS_EV_SEGMENT_MAP:
        span_add(r, event);
        record_add(r, i, SEGMENTS[event->kind], event->a);
        break;
    case VS_EV_SEGMENT_FREE:
    case VS_EV_SEGMENT_UNMAP:
        record_add(r, i, SEGMENTS[event->kind], event->a);
        break;
    default: /* no deed of the allocator; the kind is a byte of a file */
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
        if (event->kind == VS_EV_ALLOC && event->a > r->out->last)
            r->out->last = event->a;
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

enum vs_status rpl_record_fill(struct rpl_record *out, struct rpl_trace *trace,
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

void rpl_record_release(struct rpl_record *record)
{
    eng_record_state_release(&record->state);
    vs_free(record->events);
    vs_free(record->record);
    vs_free(record->from);
    memset(record, 0, sizeof(*record));
}
