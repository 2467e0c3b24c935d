/*
 * replay/index/walk.c - see walk.h.
 *
 * Must not know:  blocks, holders.
 * Invariant:      events is NULL if no chunk has been read.
 */
#include "replay/index/walk.h"

#include <string.h>

void rpl_walk_init(struct rpl_walk *walk, struct rpl_index *index)
{
    memset(walk, 0, sizeof(*walk));
    walk->index = index;
    walk->step = -1;
    walk->phase = VS_PHASE_SETUP;
}

/* Move to before the first event of a chunk, without reading it. */
static enum vs_status location_before(struct rpl_walk *walk, size_t chunk, struct vs_error *err)
{
    const struct rpl_chunk *c;
    enum vs_status st = rpl_index_chunk(walk->index, chunk, &c, err);

    walk->events = NULL;
    if (st)
        return st;
    walk->chunk = chunk;
    walk->seq = rpl_index_chunk_first(chunk) - 1;
    walk->allocated = c->allocated;
    walk->requested = c->requested;
    walk->reserved = c->reserved;
    walk->step = c->step;
    walk->phase = c->phase;
    walk->location = c->location;
    return VS_OK;
}

/* Read the chunk of the walk up to event `seq`. */
static enum vs_status read_to(struct rpl_walk *walk, uint64_t seq, struct vs_error *err)
{
    const struct vs_event *events;
    enum vs_status st = rpl_index_span_to(walk->index, seq, &events, &walk->last, err);

    walk->events = st ? NULL : events;
    return st;
}

enum vs_status rpl_walk_enter(struct rpl_walk *walk, size_t chunk, struct vs_error *err)
{
    enum vs_status st = location_before(walk, chunk, err);

    return st ? st : read_to(walk, walk->seq + 1, err);
}

/* Sums cannot wrap: building the index would have refused such events. */
static void event_count(struct rpl_walk *walk, const struct vs_event *event)
{
    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        walk->allocated += event->alloc.block_bytes;
        walk->requested += event->alloc.requested_bytes;
        break;
    case VS_EV_FREE:
        walk->allocated -= event->free.block_bytes;
        walk->requested -= event->free.requested_bytes;
        break;
    case VS_EV_SEGMENT_ALLOC:
    case VS_EV_SEGMENT_MAP:
        walk->reserved += event->segment.bytes;
        break;
    case VS_EV_SEGMENT_FREE:
    case VS_EV_SEGMENT_UNMAP:
        walk->reserved -= event->segment.bytes;
        break;
    case VS_EV_PHASE:
        walk->phase = (uint8_t)event->phase.phase;
        break;
    case VS_EV_STEP:
        walk->step = vs_event_step(event);
        break;
    case VS_EV_OOM:
    case VS_EV_ANY_HOLDER:
    case VS_EV_CATEGORY:
    case VS_EV_ANY_OP:
    case VS_EV_ANY_AMP:
    case VS_EV_USE:
    case VS_EV_FREE_COMPLETED:
    case VS_EVENT_KIND_COUNT:
        break;
    }
}

const struct vs_event *rpl_walk_next(struct rpl_walk *walk, struct vs_error *err)
{
    const struct vs_event *event;

    VS_ASSERT(walk->seq < walk->index->event_count);
    if (!walk->events || walk->chunk != rpl_index_chunk_of(walk->seq + 1)) {
        if (rpl_walk_enter(walk, rpl_index_chunk_of(walk->seq + 1), err))
            return NULL;
    } else if (walk->seq >= walk->last && read_to(walk, walk->seq + 1, err)) {
        return NULL;
    }
    event = &walk->events[walk->seq + 1 - rpl_index_chunk_first(walk->chunk)];
    walk->seq++;
    event_count(walk, event);
    walk->location = event->location;
    return event;
}

/* Kinds that change the fields of a walk other than the location. */
#define COUNTED_KINDS                                                                              \
    (UINT32_C(1) << VS_EV_ALLOC | UINT32_C(1) << VS_EV_FREE | UINT32_C(1) << VS_EV_SEGMENT_ALLOC | \
     UINT32_C(1) << VS_EV_SEGMENT_FREE | UINT32_C(1) << VS_EV_SEGMENT_MAP |                        \
     UINT32_C(1) << VS_EV_SEGMENT_UNMAP | UINT32_C(1) << VS_EV_PHASE | UINT32_C(1) << VS_EV_STEP)

enum vs_status rpl_walk_until(struct rpl_walk *walk, uint32_t kinds, uint64_t end,
                              const struct vs_event **out, struct vs_error *err)
{
    *out = NULL;
    while (walk->seq < end) {
        /* Reads its chunk. */
        const struct vs_event *event = rpl_walk_next(walk, err);

        if (!event)
            return err->status;
        while (!(kinds >> event->kind & 1) && walk->seq < end && walk->seq < walk->last) {
            event++;
            walk->seq++;
            if (COUNTED_KINDS >> event->kind & 1)
                event_count(walk, event);
        }
        walk->location = event->location;
        if (kinds >> event->kind & 1) {
            *out = event;
            return VS_OK;
        }
    }
    return VS_OK;
}

enum vs_status rpl_walk_to(struct rpl_walk *walk, uint64_t seq, struct vs_error *err)
{
    VS_ASSERT(seq <= walk->index->event_count);
    if (!seq) {
        rpl_walk_init(walk, walk->index);
        return VS_OK;
    }
    if (seq % RPL_CHUNK_EVENTS == 0 && seq < walk->index->event_count)
        return location_before(walk, rpl_index_chunk_of(seq + 1), err);
    if (!walk->events || walk->chunk != rpl_index_chunk_of(seq) || walk->seq > seq) {
        enum vs_status st = location_before(walk, rpl_index_chunk_of(seq), err);

        if (!st)
            st = read_to(walk, seq, err);
        if (st)
            return st;
    }
    while (walk->seq < seq)
        if (!rpl_walk_next(walk, err))
            return err->status;
    return VS_OK;
}
