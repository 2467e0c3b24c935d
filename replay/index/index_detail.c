/*
 * replay/index/index_detail.c - the parts of an index that are computed beside the rest, or later: which blocks a
 * chunk touches, from when on a block is unused, the changes of the total, and, for a file, keyframes and event
 * classes.
 *
 * Must not know:  files; how the rest is computed.
 * Invariant:      it has seen no more events than the index, whose rows may already contain what later events say.
 */
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "replay/index/event_classes.h"
#include "replay/index/index_build_internal.h"
#include "replay/state/state.h"
#include "replay/trace/pack.h"

/* A keyframe is stored if at least this many events per block and holder in it lie since the one before. */
#define KEYFRAME_EVENTS_PER_ITEM 2

/*
 * Per block, by its number - 1.
 *
 * needed      the last event so far that allocated or read it
 * touched     the last chunk that referred to it, + 1
 * is_waiting  it is among the blocks that wait for an op to end
 */
struct seen {
    uint64_t needed;
    uint32_t touched;
    bool is_waiting;
};

/*
 * seq            the last event added
 * scratch        where `seen` is; NULL: in ordinary memory
 * is_file        with keyframes, event classes, and the state that they need; keyframe_seq: the event right after which
 *                the last keyframe was stored
 * allocated, reserved, phase   right after the last event
 * ops            the running ops and recomputations; nothing else of this state is used
 * waiting        blocks that were needed by what runs, perhaps for the last time
 * settled_since  the first event of the work that was running when `waiting` was examined last
 * changes        of the allocated bytes, in the chunk; change_offset: offset of the last one
 * touched        the numbers of the older blocks that the chunk refers to, in the order of their first reference
 */
struct rpl_detail {
    uint64_t seq;
    bool is_file;
    struct rpl_state state;
    uint64_t keyframe_seq;
    uint64_t allocated;
    uint64_t reserved;
    uint8_t phase;
    struct rpl_live ops;
    struct seen *seen;
    size_t seen_count;
    size_t seen_cap;
    struct rpl_scratch *scratch;
    uint64_t *waiting;
    size_t waiting_count;
    size_t waiting_cap;
    uint64_t settled_since;
    struct rpl_pack changes;
    uint32_t change_offset;
    struct vs_keyed *touched;
    size_t touched_count;
    size_t touched_cap;
};

struct rpl_detail *rpl_detail_new(bool is_file, struct rpl_scratch *scratch)
{
    struct rpl_detail *d = vs_calloc(1, sizeof(*d));

    d->is_file = is_file;
    d->scratch = scratch;
    if (is_file)
        rpl_state_init(&d->state);
    rpl_live_init(&d->ops);
    d->phase = VS_PHASE_SETUP;
    return d;
}

uint64_t rpl_detail_bytes(const struct rpl_detail *d)
{
    return sizeof(*d) + rpl_state_bytes(&d->state) + d->seen_count * sizeof(*d->seen) +
           d->waiting_cap * sizeof(*d->waiting) + d->touched_cap * sizeof(*d->touched);
}

void rpl_detail_free(struct rpl_detail *d)
{
    if (!d)
        return;
    if (d->is_file)
        rpl_state_release(&d->state);
    rpl_live_release(&d->ops);
    if (!d->scratch)
        vs_free(d->seen);
    vs_free(d->waiting);
    rpl_pack_release(&d->changes);
    vs_free(d->touched);
    vs_free(d);
}

/* ---- chunks ---- */

/* Keep what was packed, instead of what was there before. */
static void blob_set(struct rpl_index *index, struct rpl_blob *blob, const struct rpl_pack *pack)
{
    if (!index->scratch)
        vs_free(blob->bytes);
    *blob = (struct rpl_blob){rpl_scratch_keep(index->scratch, pack->bytes, pack->len), pack->len};
}

/* Store the state before the chunk if a keyframe is due. */
static void keyframe_store(struct rpl_index *index, struct rpl_detail *d, size_t chunk)
{
    struct rpl_pack pack = {NULL, 0, 0};

    if (!d->is_file || !d->seq ||
        d->seq - d->keyframe_seq < KEYFRAME_EVENTS_PER_ITEM * (uint64_t)rpl_state_size(&d->state))
        return;
    rpl_state_pack(&d->state, &pack);
    rpl_pack_seal(&pack);
    blob_set(index, &index->keyframes[chunk], &pack);
    rpl_index_chunks(index)[chunk].has_keyframe = true;
    d->keyframe_seq = d->seq;
}

static void chunk_begin(struct rpl_index *index, struct rpl_detail *d, size_t chunk)
{
    d->touched_count = 0;
    rpl_pack_clear(&d->changes);
    d->change_offset = 0;
    keyframe_store(index, d, chunk);
}

/* The changes in the chunk so far. */
static void changes_keep(struct rpl_index *index, const struct rpl_detail *d, struct rpl_blob *blob)
{
    struct rpl_pack pack = {vs_alloc(d->changes.len + 64), d->changes.len, d->changes.len + 64};

    if (pack.len)
        memcpy(pack.bytes, d->changes.bytes, pack.len);
    rpl_pack_seal(&pack);
    blob_set(index, blob, &pack);
}

/* The older blocks that the chunk referred to so far. */
static void touched_keep(struct rpl_index *index, struct rpl_detail *d, struct rpl_blob *blob)
{
    struct rpl_pack pack = {NULL, 0, 0};
    uint64_t before = 0;

    vs_sort_keyed(d->touched, d->touched_count);
    for (size_t i = 0; i < d->touched_count; i++) {
        rpl_pack_uint(&pack, d->touched[i].key - before);
        before = d->touched[i].key;
    }
    rpl_pack_seal(&pack);
    blob_set(index, blob, &pack);
}

/* ---- blocks ---- */

/* The row of a block that was allocated before or at event `seq`; NULL: there is none. */
static struct rpl_row *row_at(struct rpl_index *index, uint64_t seq, uint64_t block)
{
    struct rpl_row *row = rpl_builder_row(index, block);

    return row && row->alloc_seq && row->alloc_seq <= seq ? row : NULL;
}

/* Event `seq` of the chunk refers to the block. */
static const struct rpl_row *touch(struct rpl_index *index, size_t chunk, uint64_t seq,
                                   uint64_t block)
{
    struct rpl_detail *d = index->builder->detail;
    const struct rpl_row *row = row_at(index, seq, block);

    if (!row || row->alloc_seq > rpl_index_chunk_first(chunk) ||
        d->seen[block - 1].touched == chunk + 1)
        return row;
    d->seen[block - 1].touched = (uint32_t)(chunk + 1);
    d->touched = vs_grow(d->touched, d->touched_count, &d->touched_cap, sizeof(*d->touched));
    d->touched[d->touched_count++].key = block;
    return row;
}

/* The block is needed at `seq`: by what runs, or because it is allocated there. */
static void need(struct rpl_index *index, uint64_t seq, uint64_t block)
{
    struct rpl_detail *d = index->builder->detail;
    struct seen *seen = &d->seen[block - 1];

    rpl_builder_row(index, block)->unused_seq = 0;
    seen->needed = seq;
    if (seen->is_waiting)
        return;
    seen->is_waiting = true;
    d->waiting = vs_grow(d->waiting, d->waiting_count, &d->waiting_cap, sizeof(*d->waiting));
    d->waiting[d->waiting_count++] = block;
}

/* At an alloc or free: blocks that wait for an op that has ended are unused from here on, as far as is known yet. */
static void settle(struct rpl_index *index, uint64_t seq)
{
    struct rpl_detail *d = index->builder->detail;
    uint64_t since = rpl_live_working_since(&d->ops);
    size_t kept = 0;

    /*
     * The same ops are running: blocks that were added since they began are still needed, and freed ones can be
     * removed later.
     */
    if (since == d->settled_since && since != UINT64_MAX)
        return;
    d->settled_since = since;
    for (size_t i = 0; i < d->waiting_count; i++) {
        uint64_t block = d->waiting[i];
        struct rpl_row *row = rpl_builder_row(index, block);
        bool is_freed = row->free_seq && row->free_seq < seq;

        d->seen[block - 1].is_waiting = !is_freed && d->seen[block - 1].needed >= since;
        if (d->seen[block - 1].is_waiting)
            d->waiting[kept++] = block;
        else if (!is_freed)
            row->unused_seq = seq;
    }
    d->waiting_count = kept;
}

/* ---- events ---- */

static void total_note(struct rpl_detail *d, uint64_t seq, const struct vs_event *event)
{
    uint32_t offset = (uint32_t)((seq - 1) % RPL_CHUNK_EVENTS);
    uint64_t before = d->allocated;

    d->allocated = event->kind == VS_EV_ALLOC ? before + event->alloc.block_bytes
                                              : before - event->free.block_bytes;
    rpl_pack_uint(&d->changes, offset - d->change_offset);
    rpl_pack_bytes(&d->changes, before, d->allocated);
    d->change_offset = offset;
}

/* The index has checked the event already. */
static enum vs_status event_take(struct rpl_index *index, size_t chunk, uint64_t seq,
                                 const struct vs_event *event, struct vs_error *err)
{
    struct rpl_detail *d = index->builder->detail;
    const struct rpl_row *row;

    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        settle(index, seq);
        d->seen[event->alloc.block - 1].touched = (uint32_t)(chunk + 1);
        need(index, seq, event->alloc.block);
        total_note(d, seq, event);
        break;
    case VS_EV_FREE:
        settle(index, seq);
        touch(index, chunk, seq, event->free.block);
        total_note(d, seq, event);
        break;
    case VS_EV_USE:
        row = touch(index, chunk, seq, event->use.block);
        if (row && (!row->free_seq || row->free_seq > seq))
            need(index, seq, event->use.block);
        break;
    /* A copy in another dtype refers to both blocks. */
    case VS_EV_CAST:
        touch(index, chunk, seq, event->cast.from_block);
        touch(index, chunk, seq, event->cast.block);
        break;
    case VS_EV_CATEGORY:
    case VS_EV_ANY_HOLDER:
        touch(index, chunk, seq, vs_event_block(event));
        break;
    case VS_EV_ANY_OP:
        return rpl_live_apply(&d->ops, seq, event, err);
    case VS_EV_SEGMENT_ALLOC:
    case VS_EV_SEGMENT_MAP:
        d->reserved += event->segment.bytes;
        break;
    case VS_EV_SEGMENT_FREE:
    case VS_EV_SEGMENT_UNMAP:
        d->reserved -= event->segment.bytes;
        break;
    case VS_EV_PHASE:
        d->phase = (uint8_t)event->phase.phase;
        break;
    case VS_EV_OOM:
    case VS_EV_STEP:
    case VS_EV_SCALE:
    case VS_EV_SKIP_STEP:
    case VS_EV_FREE_COMPLETED:
    case VS_EVENT_KIND_COUNT:
        break;
    }
    return VS_OK;
}

static void seen_grow(struct rpl_detail *d, size_t count)
{
    if (count <= d->seen_count)
        return;
    d->seen = rpl_scratch_reserve(d->scratch, d->seen, count, &d->seen_cap, sizeof(*d->seen));
    memset(d->seen + d->seen_count, 0, (count - d->seen_count) * sizeof(*d->seen));
    d->seen_count = count;
}

enum vs_status rpl_detail_take(struct rpl_index *index, size_t chunk, const struct vs_event *events,
                               struct vs_error *err)
{
    struct rpl_detail *d = index->builder->detail;
    uint64_t first = rpl_index_chunk_first(chunk);
    uint64_t last = first - 1 + rpl_index_chunk_events(index, chunk);
    enum vs_status st = VS_OK;

    seen_grow(d, index->rows.count);
    if (d->seq + 1 == first)
        chunk_begin(index, d, chunk);
    while (!st && d->seq < last) {
        uint64_t seq = d->seq + 1;
        const struct vs_event *event = &events[seq - first];

        st = event_take(index, chunk, seq, event, err);
        if (!st && d->is_file)
            st = rpl_state_apply(&d->state, event, err);
        if (st)
            return st;
        if (d->is_file)
            rpl_event_classes_note(index->event_classes, seq, event, d->phase, d->allocated,
                                   d->reserved);
        d->seq = seq;
    }
    changes_keep(index, d, &index->changes[chunk]);
    touched_keep(index, d, &index->touched[chunk]);
    return VS_OK;
}

bool rpl_index_has_detail(const struct rpl_index *index)
{
    return !index->builder || index->builder->detail->seq == index->event_count;
}

enum vs_status rpl_index_detail(struct rpl_index *index, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    while (!st && !rpl_index_has_detail(index)) {
        size_t chunk = rpl_index_chunk_of(index->builder->detail->seq + 1);
        const struct vs_event *events;

        st = rpl_index_span(index, chunk, &events, err);
        if (!st)
            st = rpl_detail_take(index, chunk, events, err);
    }
    return st;
}
