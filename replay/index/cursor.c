/*
 * replay/index/cursor.c - see cursor.h.
 *
 * Must not know:  drawing.
 * Invariant:      state.seq is the cursor's event; `here` is that event.
 */
#include "replay/index/cursor.h"

#include <string.h>

#include "base/mem.h"
#include "replay/index/index_internal.h"
#include "replay/state/state.h"
#include "replay/trace/found.h"

/*
 * found: the holders of a program that were found at event found_seq when it was run again, and those of the state;
 * found_seq 0: there are none, the holders are those of the state
 */
struct rpl_cursor {
    struct rpl_index *index;
    struct rpl_state state;
    struct vs_event event;
    struct rpl_holders found;
    uint64_t found_seq;
};

struct rpl_cursor *rpl_cursor_new(struct rpl_index *index)
{
    struct rpl_cursor *cursor = vs_calloc(1, sizeof(*cursor));

    cursor->index = index;
    rpl_state_init(&cursor->state);
    rpl_holders_init(&cursor->found);
    return cursor;
}

void rpl_cursor_free(struct rpl_cursor *cursor)
{
    if (!cursor)
        return;
    rpl_state_release(&cursor->state);
    rpl_holders_release(&cursor->found);
    vs_free(cursor);
}

uint64_t rpl_cursor_bytes(const struct rpl_cursor *cursor)
{
    return sizeof(*cursor) + rpl_state_bytes(&cursor->state);
}

struct rpl_index *rpl_cursor_index(const struct rpl_cursor *cursor)
{
    return cursor->index;
}

uint64_t rpl_cursor_seq(const struct rpl_cursor *cursor)
{
    return cursor->state.seq;
}

/*
 * A keyframe is stored if at least this many events per block and holder in it lie since the one before: packing a
 * block or a holder costs as much as applying some events that need no decoding.
 */
#define MEMORY_KEYFRAME_EVENTS_PER_ITEM 8

/*
 * Keyframes of a trace in memory are stored by the first long seek that passes them: reading all events once for them
 * would cost more than they save.
 */
static void keyframe_offer(struct rpl_cursor *cursor, size_t chunk)
{
    struct rpl_index *index = cursor->index;
    struct rpl_pack pack = {NULL, 0, 0};
    struct rpl_chunk *chunks = index->chunks.items;
    size_t last = chunk;

    if (index->reader || chunk >= index->chunks.count || chunks[chunk].has_keyframe)
        return;
    while (last && !chunks[last].has_keyframe)
        last--;
    if ((chunk - last) * RPL_CHUNK_EVENTS <
        MEMORY_KEYFRAME_EVENTS_PER_ITEM * rpl_state_size(&cursor->state))
        return;
    rpl_state_pack(&cursor->state, &pack);
    rpl_pack_seal(&pack);
    index->keyframes[chunk] = (struct rpl_blob){pack.bytes, pack.len};
    chunks[chunk].has_keyframe = true;
}

/* The nearest chunk up to `chunk` that has a keyframe, or the first. */
static enum vs_status keyframe_find(struct rpl_index *index, size_t chunk, size_t *out,
                                    struct vs_error *err)
{
    const struct rpl_chunk *c;
    enum vs_status st = rpl_index_chunk(index, chunk, &c, err);

    while (!st && chunk && !c->has_keyframe)
        st = rpl_index_chunk(index, --chunk, &c, err);
    *out = chunk;
    return st;
}

/* Move to the start of the nearest chunk up to `chunk` that has a keyframe, or of the trace. */
static enum vs_status keyframe_enter(struct rpl_cursor *cursor, size_t chunk, struct vs_error *err)
{
    struct rpl_index *index = cursor->index;
    const struct rpl_chunk *c;
    struct rpl_blob blob;
    struct rpl_unpack in;
    enum vs_status st = keyframe_find(index, chunk, &chunk, err);

    rpl_state_clear(&cursor->state);
    if (st || !chunk)
        return st;
    st = rpl_index_blob(index, RPL_PART_KEYFRAME, chunk, &blob, err);
    if (!st)
        st = rpl_index_chunk(index, chunk, &c, err);
    if (st)
        return st;
    /* The index has just been computed again, and this chunk has no keyframe now. */
    if (!c->has_keyframe)
        return keyframe_enter(cursor, chunk, err);
    if (!rpl_unpack_init(&in, blob.bytes, blob.len) ||
        !rpl_state_unpack(&cursor->state, rpl_index_chunk_first(chunk) - 1, &in))
        return vs_fail(err, VS_E_DAMAGED,
                       "the stored index of the trace is inconsistent; `delete from derived` in "
                       "the file makes it be built again");
    return VS_OK;
}

/*
 * At least this far before the target the state is not computed for every event in between; it changes so little there
 * that a keyframe saves nothing.
 */
#define LEAP_EVENTS ((uint64_t)16 * RPL_CHUNK_EVENTS)

/* The row of the block that the event refers to, if it refers to nothing else in a state; otherwise NULL. */
static const struct rpl_row *row_of(const struct rpl_pages *rows, const struct vs_event *event)
{
    const uint64_t block = vs_event_block(event);

    return block && block <= rows->count ? (const struct rpl_row *)rows->items + (block - 1) : NULL;
}

/* True if the block is allocated after event `from` and freed at or before `to`. */
static bool is_passing(const struct rpl_row *row, uint64_t from, uint64_t to)
{
    return row->free_seq && row->free_seq <= to && row->alloc_seq > from;
}

/* True if the block is in use right after event `seq`. */
static bool is_alive(const struct rpl_row *row, uint64_t seq)
{
    return row->alloc_seq && row->alloc_seq <= seq && (!row->free_seq || row->free_seq > seq);
}

/*
 * Apply the events of a chunk up to `end`, on the way to `to`, except those of blocks that are both allocated and
 * freed on the way. Most others are holds and drops; what else of the state they would need is in the lifetimes.
 */
static enum vs_status leap(struct rpl_state *state, const struct rpl_pages *rows, uint64_t from,
                           uint64_t to, const struct vs_event *events, uint64_t end,
                           struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (; !st && state->seq < end; events++) {
        const struct rpl_row *row = row_of(rows, events);

        if (row && is_passing(row, from, to)) {
            state->seq++;
        } else if (row && events->kind == VS_EV_HOLD) {
            if (is_alive(row, ++state->seq))
                rpl_holders_take(&state->holders, state->seq, events);
        } else if (events->kind == VS_EV_DROP) {
            state->seq++;
            rpl_holders_drop(&state->holders, events);
        } else if (rpl_live_op(&state->live, state->seq + 1, events)) {
            state->seq++;
        } else {
            st = rpl_state_apply(state, events, err);
        }
    }
    return st;
}

/* Apply the events from the current one up to `seq`. */
static enum vs_status go_on(struct rpl_cursor *cursor, uint64_t seq, struct vs_error *err)
{
    struct rpl_index *index = cursor->index;
    struct rpl_state *state = &cursor->state;
    enum vs_status st = VS_OK;
    /* The event at which skipping began. */
    uint64_t from = UINT64_MAX;

    while (!st && state->seq < seq) {
        size_t chunk = rpl_index_chunk_of(state->seq + 1);
        uint64_t first = rpl_index_chunk_first(chunk);
        uint64_t end = first - 1 + RPL_CHUNK_EVENTS < seq ? first - 1 + RPL_CHUNK_EVENTS : seq;
        const struct vs_event *events;
        uint64_t last;

        if (from == UINT64_MAX && !index->reader && seq - state->seq <= LEAP_EVENTS)
            from = state->seq;
        st = rpl_index_span_to(index, end, &events, &last, err);
        if (!st && from != UINT64_MAX)
            st = leap(state, &index->rows, from, seq, &events[state->seq + 1 - first], end, err);
        while (!st && state->seq < end)
            st = rpl_state_apply(state, &events[state->seq + 1 - first], err);
        if (!st)
            cursor->event = events[end - first];
        if (!st && from == UINT64_MAX && end == first - 1 + RPL_CHUNK_EVENTS)
            keyframe_offer(cursor, chunk + 1);
    }
    return st;
}

/* Whether a save event says this already. */
static bool is_known(const struct rpl_holders *holders, const struct rpl_found_row *row)
{
    for (size_t i = rpl_holders_first(holders, row->block); i != SIZE_MAX;
         i = rpl_holders_next(holders, i))
        if (row->node && holders->items[i].holder.node == row->node)
            return true;
    return false;
}

/* The holders that were found at this event when the program was run again, if it was. */
static enum vs_status found_fill(struct rpl_cursor *cursor, struct vs_error *err)
{
    struct rpl_trace *trace = cursor->index->trace;
    const struct rpl_holders *holders = &cursor->state.holders;
    struct rpl_found_row *rows = NULL;
    size_t count = 0;
    enum vs_status st;

    if (cursor->found_seq && cursor->found_seq == cursor->state.seq)
        return VS_OK;
    cursor->found_seq = 0;
    if (!rpl_found_has(trace, cursor->state.seq))
        return VS_OK;
    st = rpl_found_get(trace, cursor->state.seq, &rows, &count, err);
    rpl_holders_clear(&cursor->found);
    for (size_t i = 0; i < holders->count; i++)
        rpl_holders_add(&cursor->found, &holders->items[i]);
    for (size_t i = 0; i < count; i++) {
        const struct rpl_held held = {.block = rows[i].block,
                                      .holder = {.kind = (enum vs_holder)rows[i].kind,
                                                 .name = rows[i].name,
                                                 .scope = rows[i].scope,
                                                 .location = rows[i].location,
                                                 .node = rows[i].node}};

        if (!is_known(holders, &rows[i]))
            rpl_holders_add(&cursor->found, &held);
    }
    if (!st)
        cursor->found_seq = cursor->state.seq;
    vs_free(rows);
    return st;
}

/* The holders at the cursor. */
static const struct rpl_holders *holders_of(const struct rpl_cursor *cursor)
{
    return cursor->found_seq && cursor->found_seq == cursor->state.seq ? &cursor->found
                                                                       : &cursor->state.holders;
}

enum vs_status rpl_cursor_seek(struct rpl_cursor *cursor, uint64_t seq, struct vs_error *err)
{
    const uint64_t now = cursor->state.seq;
    enum vs_status st = VS_OK;
    size_t chunk;

    VS_ASSERT(seq <= cursor->index->event_count);
    if (seq == now)
        return found_fill(cursor, err);
    if (seq) {
        st = keyframe_find(cursor->index, rpl_index_chunk_of(seq), &chunk, err);
        /* from the current event, unless beginning at the keyframe is less work */
        if (!st && (now > seq || now + 1 < rpl_index_chunk_first(chunk)))
            st = keyframe_enter(cursor, chunk, err);
        if (!st)
            st = go_on(cursor, seq, err);
    }
    if (st || !seq) {
        rpl_state_clear(&cursor->state);
        memset(&cursor->event, 0, sizeof(cursor->event));
    }
    return st ? st : found_fill(cursor, err);
}

const struct rpl_live *rpl_cursor_live(const struct rpl_cursor *cursor)
{
    return &cursor->state.live;
}

struct rpl_here rpl_cursor_here(const struct rpl_cursor *cursor)
{
    const struct rpl_trace *trace = cursor->index->trace;
    const struct vs_location *location = rpl_trace_location(trace, cursor->event.location);

    return (struct rpl_here){
        .event = cursor->event,
        .module = rpl_trace_string(trace, location->module),
        .func = rpl_trace_string(trace, location->func),
        .op = rpl_trace_string(trace, location->op),
        .line = location->line,
        .step = cursor->state.live.step,
        .phase = cursor->state.live.phase,
        .is_recompute = cursor->state.live.recompute_depth > 0,
    };
}

const struct rpl_held *rpl_cursor_held(const struct rpl_cursor *cursor, size_t *count)
{
    *count = holders_of(cursor)->count;
    return holders_of(cursor)->items;
}

size_t rpl_cursor_held_first(const struct rpl_cursor *cursor, uint64_t block)
{
    return rpl_holders_first(holders_of(cursor), block);
}

size_t rpl_cursor_held_next(const struct rpl_cursor *cursor, size_t i)
{
    return rpl_holders_next(holders_of(cursor), i);
}

size_t rpl_cursor_held_count(const struct rpl_cursor *cursor, size_t i)
{
    return rpl_holders_count(holders_of(cursor), i);
}

const struct rpl_segment *rpl_cursor_segments(const struct rpl_cursor *cursor, size_t *count)
{
    *count = cursor->state.segment_count;
    return cursor->state.segments;
}
