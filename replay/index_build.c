/*
 * replay/index_build.c - makes an index from the events, once, in order.
 *
 * Must not know:  files; where the events lie.
 * Invariant:      after each call everything in the index is as if the trace ended with the last event taken in.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/index_internal.h"
#include "replay/state.h"

/* A frame is kept where at least this many events per block and holder in it went by since the one before. */
#define FRAME_EVENTS_PER_ITEM 2

/*
 * What the events so far lead to.
 *
 * state        blocks and holders, for the frames; has_state: of a file only, as reading that again is what frames save
 * allocated, by_category, requested, reserved, step, phase, place   right after the last event
 * frame_seq    event right after which the last frame was kept
 * is_rising    looking for the next peak: extreme is the highest since the last valley, at extreme_seq; else the lowest since the last peak
 * ops          the ops and re-runs that run; nothing else of it is used
 * waiting      blocks that were needed by what runs, perhaps for the last time
 * changes      of what is allocated, in the chunk; change_offset: of the last one
 * touched      the chunk's older blocks, packed as they come; touched_last: the last of them
 * tensors      tensors whose names were looked at; is_named, by string id: it is among the index's names
 */
struct rpl_builder {
    struct rpl_state state;
    bool has_state;
    uint64_t allocated;
    uint64_t requested;
    uint64_t reserved;
    uint64_t by_category[VS_CATEGORY_COUNT];
    int64_t step;
    uint8_t phase;
    uint32_t place;
    uint64_t frame_seq;
    bool is_rising;
    uint64_t extreme;
    uint64_t extreme_seq;
    bool has_pending_peak;
    struct rpl_live ops;
    uint64_t *waiting;
    size_t waiting_count;
    size_t waiting_cap;
    struct rpl_pack changes;
    uint32_t change_offset;
    uint64_t *touched;
    size_t touched_count;
    size_t touched_cap;
    uint32_t tensors;
    bool *is_named;
    size_t is_named_count;
};

/* ---- words ---- */

bool rpl_module_is_inside(const char *path, const char *module, size_t len)
{
    return len == 0 || (strncmp(path, module, len) == 0 && (path[len] == '\0' || path[len] == '.'));
}

bool rpl_verb_stops(const struct rpl_trace *trace, enum rpl_verb verb, uint32_t before,
                    const struct vs_event *event)
{
    const struct vs_place *a;
    const struct vs_place *b;

    switch (verb) {
    case RPL_VERB_ALLOC:
        return event->kind <= VS_EV_OOM;
    case RPL_VERB_OP:
        return event->kind == VS_EV_OP_BEGIN;
    case RPL_VERB_LINE:
        if (event->place == before)
            return false;
        a = rpl_trace_place(trace, before);
        b = rpl_trace_place(trace, event->place);
        return b->line && (a->line != b->line || a->func != b->func);
    case RPL_VERB_MODULE:
        return event->place != before && rpl_trace_place(trace, before)->module !=
                                             rpl_trace_place(trace, event->place)->module;
    case RPL_VERB_PHASE:
        return event->kind == VS_EV_PHASE;
    case RPL_VERB_STEP:
        return event->kind == VS_EV_STEP;
    case RPL_VERB_EVENT:
    case RPL_VERB_PEAK:
    case RPL_VERB_COUNT:
        break;
    }
    return false;
}

void rpl_line_bits(const struct vs_place *place, uint32_t bits[3])
{
    uint64_t hash = ((uint64_t)place->func << 32 | place->line) * UINT64_C(0x9E3779B97F4A7C15);

    hash ^= hash >> 29;
    for (int i = 0; i < 3; i++)
        bits[i] = (uint32_t)(hash >> (8 + 16 * i)) % RPL_LINE_BITS;
}

void rpl_node_merge(struct rpl_node *into, const struct rpl_node *later)
{
    if (later->allocated_max > into->allocated_max) {
        into->allocated_max = later->allocated_max;
        into->max_seq = later->max_seq;
        memcpy(into->by_category, later->by_category, sizeof(into->by_category));
    }
    if (later->allocated_min < into->allocated_min)
        into->allocated_min = later->allocated_min;
    if (later->reserved_max > into->reserved_max)
        into->reserved_max = later->reserved_max;
    if (later->reserved_min < into->reserved_min)
        into->reserved_min = later->reserved_min;
}

/* ---- arrays ---- */

/* One more item, zeroed. */
static void *pages_add(struct rpl_pages *pages)
{
    char *item;

    pages->items = vs_grow(pages->items, pages->count, &pages->cap, pages->item_bytes);
    item = (char *)pages->items + pages->count++ * pages->item_bytes;
    memset(item, 0, pages->item_bytes);
    return item;
}

/* Item number `i` of what event `seq` speaks of, with empty ones before it; NULL where that would be too many. */
static void *pages_at(struct rpl_pages *pages, uint64_t i, uint64_t seq)
{
    if (i > seq + RPL_NUMBER_GAP_MAX)
        return NULL;
    while (pages->count <= i)
        pages_add(pages);
    return (char *)pages->items + i * pages->item_bytes;
}

static void pages_reset(struct rpl_pages *pages, size_t item_bytes, size_t group)
{
    vs_free(pages->is_there);
    vs_free(pages->items);
    *pages = (struct rpl_pages){.item_bytes = item_bytes, .group = group};
}

void rpl_builder_free(struct rpl_builder *builder)
{
    if (!builder)
        return;
    if (builder->has_state)
        rpl_state_release(&builder->state);
    rpl_live_release(&builder->ops);
    vs_free(builder->waiting);
    rpl_pack_release(&builder->changes);
    vs_free(builder->touched);
    vs_free(builder->is_named);
    vs_free(builder);
}

static void blobs_free(struct rpl_blob **blobs, size_t count)
{
    for (size_t i = 0; *blobs && i < count; i++)
        vs_free((*blobs)[i].bytes);
    vs_free(*blobs);
    *blobs = NULL;
}

void rpl_index_build_begin(struct rpl_index *index)
{
    struct rpl_builder *b = vs_calloc(1, sizeof(*b));

    blobs_free(&index->frames, index->chunk_count);
    blobs_free(&index->touched, index->chunk_count);
    blobs_free(&index->changes, index->chunk_count);
    rpl_builder_free(index->builder);
    index->builder = b;
    index->is_paged = index->is_stored = false;
    index->event_count = 0;
    index->chunk_count = index->peak_count = index->name_count = 0;
    index->has_peaks = true;
    index->row_place_count = 0;
    memset(&index->facts, 0, sizeof(index->facts));
    for (size_t i = 0; i < RPL_LEVEL_COUNT; i++)
        pages_reset(&index->levels[i], sizeof(struct rpl_node), RPL_NODE_GROUP);
    pages_reset(&index->rows, sizeof(struct rpl_row), RPL_ROW_GROUP);
    pages_reset(&index->nodes, sizeof(uint32_t), RPL_NODE_NAME_GROUP);
    b->has_state = index->reader != NULL;
    if (b->has_state)
        rpl_state_init(&b->state);
    rpl_live_init(&b->ops);
    b->step = -1;
    b->phase = VS_PHASE_SETUP;
    b->is_rising = true;
}

/* ---- chunks ---- */

/* The state before the chunk, if it is time for a frame. */
static void frame_keep(struct rpl_index *index, struct rpl_chunk *chunk, struct rpl_blob *frame)
{
    struct rpl_builder *b = index->builder;
    struct rpl_pack pack = {NULL, 0, 0};

    if (!b->has_state || !index->event_count ||
        index->event_count - b->frame_seq <
            FRAME_EVENTS_PER_ITEM * (uint64_t)rpl_state_size(&b->state))
        return;
    rpl_state_pack(&b->state, &pack);
    rpl_pack_seal(&pack);
    *frame = (struct rpl_blob){vs_realloc(pack.bytes, pack.len, 1), pack.len};
    chunk->has_frame = true;
    b->frame_seq = index->event_count;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* The changes in the last chunk so far. */
static void changes_keep(struct rpl_index *index)
{
    const struct rpl_pack *changes = &index->builder->changes;
    struct rpl_blob *blob = &index->changes[index->chunk_count - 1];
    struct rpl_pack pack = {vs_alloc(changes->len + 64), changes->len, changes->len + 64};

    if (changes->len)
        memcpy(pack.bytes, changes->bytes, changes->len);
    rpl_pack_seal(&pack);
    vs_free(blob->bytes);
    *blob = (struct rpl_blob){pack.bytes, pack.len};
}

static void change_note(struct rpl_index *index, uint32_t offset, uint64_t before)
{
    struct rpl_builder *b = index->builder;

    rpl_pack_uint(&b->changes, offset - b->change_offset);
    rpl_pack_bytes(&b->changes, before, b->allocated);
    b->change_offset = offset;
}

/* What the last chunk touched so far. */
static void touched_keep(struct rpl_index *index)
{
    struct rpl_builder *b = index->builder;
    struct rpl_blob *blob = &index->touched[index->chunk_count - 1];
    struct rpl_pack pack = {NULL, 0, 0};
    uint64_t before = 0;

    if (b->touched_count)
        qsort(b->touched, b->touched_count, sizeof(*b->touched), by_number);
    for (size_t i = 0; i < b->touched_count; i++) {
        rpl_pack_uint(&pack, b->touched[i] - before);
        before = b->touched[i];
    }
    rpl_pack_seal(&pack);
    vs_free(blob->bytes);
    *blob = (struct rpl_blob){vs_realloc(pack.bytes, pack.len, 1), pack.len};
}

static void chunk_begin(struct rpl_index *index)
{
    struct rpl_builder *b = index->builder;
    size_t cap = index->chunk_cap;
    struct rpl_chunk *chunk;

    if (index->chunk_count) {
        touched_keep(index);
        changes_keep(index);
    }
    b->touched_count = 0;
    rpl_pack_clear(&b->changes);
    b->change_offset = 0;
    index->chunks = vs_grow(index->chunks, index->chunk_count, &cap, sizeof(*index->chunks));
    if (cap != index->chunk_cap || !index->frames) {
        index->frames = vs_realloc(index->frames, cap, sizeof(*index->frames));
        index->touched = vs_realloc(index->touched, cap, sizeof(*index->touched));
        index->changes = vs_realloc(index->changes, cap, sizeof(*index->changes));
        index->chunk_cap = cap;
    }
    memset(&index->frames[index->chunk_count], 0, sizeof(*index->frames));
    memset(&index->touched[index->chunk_count], 0, sizeof(*index->touched));
    memset(&index->changes[index->chunk_count], 0, sizeof(*index->changes));
    chunk = &index->chunks[index->chunk_count];
    memset(chunk, 0, sizeof(*chunk));
    chunk->allocated = b->allocated;
    chunk->requested = b->requested;
    chunk->reserved = b->reserved;
    chunk->step = b->step;
    chunk->phase = b->phase;
    chunk->place = b->place;
    for (size_t v = 0; index->chunk_count && v < RPL_VERB_COUNT; v++)
        chunk->stops[v].before = chunk[-1].stops[v].before + chunk[-1].stops[v].count;
    frame_keep(index, chunk, &index->frames[index->chunk_count]);
    index->chunk_count++;
}

static void stop_add(struct rpl_chunk *chunk, enum rpl_verb verb, uint32_t offset)
{
    struct rpl_stops *stops = &chunk->stops[verb];

    if (!stops->count++)
        stops->first = offset;
    stops->last = offset;
}

/* The chunk's events are all inside one module: the longest path that this one and those before it have in common. */
static void module_note(const struct rpl_trace *trace, struct rpl_chunk *chunk, uint32_t module)
{
    const char *now = rpl_trace_string(trace, module);
    const char *path = rpl_trace_string(trace, chunk->module);
    size_t len = 0;
    size_t common = 0;

    if (!module) {
        chunk->is_outside = true;
        return;
    }
    if (!chunk->is_inside) {
        chunk->is_inside = true;
        chunk->module = module;
        chunk->module_len = (uint32_t)strlen(now);
        return;
    }
    while (len < chunk->module_len && now[len] && now[len] == path[len]) {
        if (path[len] == '.')
            common = len;
        len++;
    }
    if (len == chunk->module_len && (now[len] == '.' || now[len] == '\0'))
        common = len;
    else if (now[len] == '\0' && path[len] == '.')
        common = len;
    chunk->module_len = (uint32_t)common;
}

/* Where the program is now, if it is somewhere else than before. */
static void place_note(struct rpl_index *index, struct rpl_chunk *chunk, uint32_t offset,
                       const struct vs_event *event)
{
    struct rpl_builder *b = index->builder;
    uint32_t bit = event->place % RPL_PLACE_BITS;

    chunk->places[bit / 64] |= UINT64_C(1) << bit % 64;
    if (rpl_verb_stops(index->trace, RPL_VERB_LINE, b->place, event))
        stop_add(chunk, RPL_VERB_LINE, offset);
    if (rpl_verb_stops(index->trace, RPL_VERB_MODULE, b->place, event))
        stop_add(chunk, RPL_VERB_MODULE, offset);
    module_note(index->trace, chunk, rpl_trace_place(index->trace, event->place)->module);
    b->place = event->place;
}

/* ---- blocks and totals ---- */

static enum vs_status damaged(uint64_t seq, const char *what, uint64_t number, struct vs_error *err)
{
    return vs_fail(err, VS_E_DAMAGED, "event %" PRIu64 " %s %" PRIu64 "; the trace is damaged", seq,
                   what, number);
}

/* The row of a block that the event speaks of; NULL: it has none. */
static struct rpl_row *row_get(struct rpl_index *index, uint64_t block)
{
    if (block < 1 || block > index->rows.count)
        return NULL;
    return (struct rpl_row *)index->rows.items + (block - 1);
}

static void touch(struct rpl_index *index, struct rpl_row *row, uint64_t block)
{
    struct rpl_builder *b = index->builder;

    if (row->touched == index->chunk_count ||
        row->alloc_seq > rpl_index_chunk_first(index->chunk_count - 1))
        return;
    row->touched = (uint32_t)index->chunk_count;
    b->touched = vs_grow(b->touched, b->touched_count, &b->touched_cap, sizeof(*b->touched));
    b->touched[b->touched_count++] = block;
}

/* The block is needed now: by what runs, or by whoever has it made. */
static void need(struct rpl_builder *b, struct rpl_row *row, uint64_t block)
{
    row->idle_seq = 0;
    if (row->is_waiting)
        return;
    row->is_waiting = true;
    b->waiting = vs_grow(b->waiting, b->waiting_count, &b->waiting_cap, sizeof(*b->waiting));
    b->waiting[b->waiting_count++] = block;
}

/* An alloc or free: those that wait for an op that is over by now are not needed any more, for all that is known. */
static void settle(struct rpl_index *index, uint64_t seq)
{
    struct rpl_builder *b = index->builder;
    uint64_t since = rpl_live_working_since(&b->ops);
    size_t kept = 0;

    for (size_t i = 0; i < b->waiting_count; i++) {
        struct rpl_row *row = row_get(index, b->waiting[i]);
        uint64_t needed = row->last_use_seq ? row->last_use_seq : row->alloc_seq;

        row->is_waiting = !row->free_seq && needed >= since;
        if (row->is_waiting)
            b->waiting[kept++] = b->waiting[i];
        else if (!row->free_seq)
            row->idle_seq = seq;
    }
    b->waiting_count = kept;
}

static enum vs_status on_alloc(struct rpl_index *index, struct rpl_chunk *chunk, uint64_t seq,
                               const struct vs_event *event, struct vs_error *err)
{
    struct rpl_builder *b = index->builder;
    struct rpl_row *row = event->a ? pages_at(&index->rows, event->a - 1, seq) : NULL;
    uint32_t bits[3];

    if (!row)
        return damaged(seq, "allocates a block of no possible number:", event->a, err);
    if (row->alloc_seq)
        return damaged(seq, "allocates a block again:", event->a, err);
    if (event->aux >= VS_CATEGORY_COUNT)
        return damaged(seq, "has no such category:", event->aux, err);
    if (event->c > UINT64_MAX - b->allocated || event->b > UINT64_MAX - b->requested)
        return damaged(seq, "allocates more than can be counted, block", event->a, err);
    settle(index, seq);
    *row = (struct rpl_row){
        .alloc_seq = seq,
        .requested = event->b,
        .bytes = event->c,
        .tensor = event->e,
        .place = event->place,
        .category = event->aux,
        .touched = (uint32_t)index->chunk_count,
    };
    need(b, row, event->a);
    b->allocated += event->c;
    b->requested += event->b;
    b->by_category[event->aux] += event->c;
    rpl_line_bits(rpl_trace_place(index->trace, event->place), bits);
    for (int i = 0; i < 3; i++)
        chunk->lines[bits[i] / 64] |= UINT64_C(1) << bits[i] % 64;
    /* 0: none; sizes from 0 on are kept + 1 */
    if (event->b >= chunk->alloc_max[event->aux])
        chunk->alloc_max[event->aux] = event->b == UINT64_MAX ? event->b : event->b + 1;
    return VS_OK;
}

static enum vs_status on_free(struct rpl_index *index, uint64_t seq, const struct vs_event *event,
                              struct vs_error *err)
{
    struct rpl_builder *b = index->builder;
    struct rpl_row *row = row_get(index, event->a);

    if (!row || !row->alloc_seq || row->free_seq)
        return damaged(seq, "frees a block that is not alive:", event->a, err);
    if (row->bytes != event->c || row->requested != event->b)
        return damaged(seq, "gives back another number of bytes than were handed out, block",
                       event->a, err);
    settle(index, seq);
    row->free_seq = seq;
    b->allocated -= row->bytes;
    b->requested -= row->requested;
    b->by_category[row->category] -= row->bytes;
    touch(index, row, event->a);
    return VS_OK;
}

static enum vs_status on_category(struct rpl_index *index, uint64_t seq,
                                  const struct vs_event *event, struct vs_error *err)
{
    struct rpl_builder *b = index->builder;
    struct rpl_row *row = row_get(index, event->a);

    if (!row || !row->alloc_seq || row->free_seq)
        return damaged(seq, "speaks of a block that is not alive:", event->a, err);
    if (event->aux >= VS_CATEGORY_COUNT)
        return damaged(seq, "has no such category:", event->aux, err);
    b->by_category[row->category] -= row->bytes;
    row->category = event->aux;
    b->by_category[row->category] += row->bytes;
    touch(index, row, event->a);
    return VS_OK;
}

static enum vs_status on_segment(struct rpl_index *index, uint64_t seq,
                                 const struct vs_event *event, struct vs_error *err)
{
    struct rpl_builder *b = index->builder;
    bool grows = event->kind == VS_EV_SEGMENT_ALLOC || event->kind == VS_EV_SEGMENT_MAP;

    if (grows ? event->b > UINT64_MAX - b->reserved : event->b > b->reserved)
        return damaged(seq, "leaves no possible number of reserved bytes, with", event->b, err);
    b->reserved = grows ? b->reserved + event->b : b->reserved - event->b;
    if (b->reserved > index->facts.reserved_max)
        index->facts.reserved_max = b->reserved;
    return VS_OK;
}

/* Save, unsave, hold, drop, cast, use: something about a block. */
static void on_block(struct rpl_index *index, uint64_t seq, const struct vs_event *event)
{
    struct rpl_row *row = row_get(index, event->a);
    struct rpl_row *from = event->kind == VS_EV_CAST ? row_get(index, event->b) : NULL;

    if (from && from->alloc_seq)
        touch(index, from, event->b);
    if (!row || !row->alloc_seq)
        return;
    touch(index, row, event->a);
    if (event->kind == VS_EV_USE && !row->free_seq) {
        row->last_use_seq = seq;
        need(index->builder, row, event->a);
    }
}

static void on_op(struct rpl_index *index, uint64_t seq, const struct vs_event *event)
{
    uint32_t *name;

    if (event->kind == VS_EV_OP_END) {
        index->facts.flops += event->c;
        if (event->aux == 2)
            index->facts.recompute_flops += event->c;
    } else if (event->aux == 1 && event->b) {
        name = pages_at(&index->nodes, event->b - 1, seq);
        if (name)
            *name = (uint32_t)event->a;
    }
}

/* What the event does, as far as totals, blocks and ops go. */
static enum vs_status event_apply(struct rpl_index *index, struct rpl_chunk *chunk, uint64_t seq,
                                  const struct vs_event *event, struct vs_error *err)
{
    struct rpl_builder *b = index->builder;

    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        return on_alloc(index, chunk, seq, event, err);
    case VS_EV_FREE:
        return on_free(index, seq, event, err);
    case VS_EV_SEGMENT_ALLOC:
    case VS_EV_SEGMENT_FREE:
    case VS_EV_SEGMENT_MAP:
    case VS_EV_SEGMENT_UNMAP:
        return on_segment(index, seq, event, err);
    case VS_EV_CATEGORY:
        return on_category(index, seq, event, err);
    case VS_EV_OOM:
        if (!index->facts.oom_seq)
            index->facts.oom_seq = seq;
        break;
    case VS_EV_SAVE:
    case VS_EV_UNSAVE:
    case VS_EV_HOLD:
    case VS_EV_DROP:
    case VS_EV_CAST:
    case VS_EV_USE:
        on_block(index, seq, event);
        break;
    case VS_EV_OP_BEGIN:
    case VS_EV_OP_END:
        on_op(index, seq, event);
        return rpl_live_apply(&b->ops, seq, event, err);
    case VS_EV_RECOMPUTE_BEGIN:
    case VS_EV_RECOMPUTE_END:
        return rpl_live_apply(&b->ops, seq, event, err);
    case VS_EV_PHASE:
        if (event->a >= VS_PHASE_COUNT)
            return damaged(seq, "has no such phase:", event->a, err);
        b->phase = (uint8_t)event->a;
        break;
    case VS_EV_STEP:
        b->step = (int64_t)event->a - 1;
        index->facts.steps += event->a > 0;
        break;
    case VS_EV_SCALE:
    case VS_EV_SKIP_STEP:
    case VS_EVENT_KIND_COUNT:
        break;
    }
    return VS_OK;
}

/* ---- the pyramid's lowest level, and peaks ---- */

static void node_note(struct rpl_node *node, const struct rpl_builder *b, uint64_t seq)
{
    if (b->allocated > node->allocated_max) {
        node->allocated_max = b->allocated;
        node->max_seq = seq;
        memcpy(node->by_category, b->by_category, sizeof(node->by_category));
    }
    if (b->allocated < node->allocated_min)
        node->allocated_min = b->allocated;
    if (b->reserved > node->reserved_max)
        node->reserved_max = b->reserved;
    if (b->reserved < node->reserved_min)
        node->reserved_min = b->reserved;
}

static void node_begin(struct rpl_index *index, uint64_t seq, const struct vs_event *event)
{
    const struct rpl_builder *b = index->builder;
    struct rpl_node *node = pages_add(&index->levels[0]);

    node->time_ns = event->time_ns;
    node->max_seq = seq;
    node->allocated_max = node->allocated_min = b->allocated;
    node->reserved_max = node->reserved_min = b->reserved;
    memcpy(node->by_category, b->by_category, sizeof(node->by_category));
    node->step = b->step;
    node->phase = b->phase;
}

static void peak_add(struct rpl_index *index, uint64_t seq)
{
    index->peaks =
        vs_grow(index->peaks, index->peak_count, &index->peak_cap, sizeof(*index->peaks));
    index->peaks[index->peak_count++] = seq;
}

/* The totals have changed: a new top, a peak that is over, a valley that is over? */
static void peak_note(struct rpl_index *index, uint64_t seq)
{
    struct rpl_builder *b = index->builder;
    uint64_t drop;

    if (b->allocated > index->facts.allocated_max) {
        index->facts.allocated_max = b->allocated;
        index->facts.max_seq = seq;
        index->facts.max_is_recompute = b->ops.recompute_depth > 0;
    }
    drop = index->facts.allocated_max / RPL_PEAK_SHARE + 1;
    if (b->is_rising ? b->allocated > b->extreme : b->allocated < b->extreme) {
        b->extreme = b->allocated;
        b->extreme_seq = seq;
    } else if (b->is_rising && b->extreme - b->allocated >= drop) {
        peak_add(index, b->extreme_seq);
        b->is_rising = false;
        b->extreme = b->allocated;
    } else if (!b->is_rising && b->allocated - b->extreme >= drop) {
        b->is_rising = true;
        b->extreme = b->allocated;
        b->extreme_seq = seq;
    }
}

/* ---- all of it ---- */

static enum vs_status event_take(struct rpl_index *index, uint64_t seq,
                                 const struct vs_event *event, struct vs_error *err)
{
    struct rpl_builder *b = index->builder;
    uint32_t offset = (uint32_t)((seq - 1) % RPL_CHUNK_EVENTS);
    uint64_t before = b->allocated;
    struct rpl_chunk *chunk;
    enum vs_status st;

    if (event->kind >= VS_EVENT_KIND_COUNT)
        return damaged(seq, "is of no kind that there is:", event->kind, err);
    if (offset == 0)
        chunk_begin(index);
    chunk = &index->chunks[index->chunk_count - 1];
    st = event_apply(index, chunk, seq, event, err);
    if (!st && b->has_state)
        st = rpl_state_apply(&b->state, event, err);
    if (st)
        return st;
    chunk->kinds |= UINT32_C(1) << event->kind;
    if ((seq - 1) % RPL_PIECE_EVENTS == 0)
        node_begin(index, seq, event);
    if (event->kind <= VS_EV_OOM) {
        stop_add(chunk, RPL_VERB_ALLOC, offset);
        node_note((struct rpl_node *)index->levels[0].items + (index->levels[0].count - 1), b, seq);
        peak_note(index, seq);
        if (event->kind <= VS_EV_FREE)
            change_note(index, offset, before);
    } else if (event->kind == VS_EV_OP_BEGIN) {
        stop_add(chunk, RPL_VERB_OP, offset);
    } else if (event->kind == VS_EV_PHASE) {
        stop_add(chunk, RPL_VERB_PHASE, offset);
    } else if (event->kind == VS_EV_STEP) {
        stop_add(chunk, RPL_VERB_STEP, offset);
    }
    if (event->place != b->place || offset == 0)
        place_note(index, chunk, offset, event);
    index->event_count = seq;
    return VS_OK;
}

/* The levels above the lowest, from the node on that event `first` is in. */
static void levels_build(struct rpl_index *index, uint64_t first)
{
    uint64_t from = (first - 1) / RPL_PIECE_EVENTS;

    for (size_t level = 1; level < RPL_LEVEL_COUNT; level++) {
        const struct rpl_pages *below = &index->levels[level - 1];
        struct rpl_pages *pages = &index->levels[level];
        const struct rpl_node *children = below->items;

        if (below->count <= 1) {
            pages->count = 0;
            continue;
        }
        from /= RPL_FAN;
        if (pages->count > from)
            pages->count = (size_t)from;
        from = pages->count;
        while (pages->count * RPL_FAN < below->count) {
            size_t child = pages->count * RPL_FAN;
            size_t end = child + RPL_FAN < below->count ? child + RPL_FAN : below->count;
            struct rpl_node *node = pages_add(pages);

            *node = children[child];
            for (size_t i = child + 1; i < end; i++)
                rpl_node_merge(node, &children[i]);
        }
    }
}

static void name_note(struct rpl_index *index, uint32_t name)
{
    struct rpl_builder *b = index->builder;

    if (name >= b->is_named_count) {
        size_t count = (size_t)rpl_trace_string_count(index->trace) + 1;

        if (name >= count)
            return;
        b->is_named = vs_realloc(b->is_named, count, sizeof(*b->is_named));
        memset(b->is_named + b->is_named_count, 0, count - b->is_named_count);
        b->is_named_count = count;
    }
    if (b->is_named[name])
        return;
    b->is_named[name] = true;
    index->names =
        vs_grow(index->names, index->name_count, &index->name_cap, sizeof(*index->names));
    index->names[index->name_count++] = name;
}

/* Names are given to tensors after their blocks were made. */
static void names_fill(struct rpl_index *index)
{
    struct rpl_builder *b = index->builder;
    uint32_t count = rpl_trace_tensor_count(index->trace);

    while (b->tensors < count) {
        struct vs_tensor_desc desc;
        struct rpl_row *row;

        if (!rpl_trace_tensor(index->trace, ++b->tensors, &desc) || !desc.name)
            continue;
        name_note(index, desc.name);
        row = row_get(index, desc.block);
        if (row)
            row->name = desc.name;
    }
}

/* Where the trace ends on the way up, the highest point since the last valley is a peak, too, until it goes on. */
static void pending_peak(struct rpl_index *index, bool add)
{
    struct rpl_builder *b = index->builder;

    if (b->has_pending_peak)
        index->peak_count--;
    b->has_pending_peak = add && b->is_rising && b->extreme_seq;
    if (b->has_pending_peak)
        peak_add(index, b->extreme_seq);
}

enum vs_status rpl_index_build(struct rpl_index *index, uint64_t last, rpl_progress_fn *progress,
                               void *user, struct vs_error *err)
{
    uint64_t seq = index->event_count;
    uint64_t first = seq + 1;
    enum vs_status st = VS_OK;

    if (seq >= last)
        return VS_OK;
    pending_peak(index, false);
    while (!st && seq < last) {
        size_t at = rpl_index_chunk_of(seq + 1);
        uint64_t end = rpl_index_chunk_first(at) - 1 + RPL_CHUNK_EVENTS;
        const struct vs_event *events;

        if (progress && !progress(user, seq, last)) {
            st = vs_fail(err, VS_E_STOPPED, "stopped while reading the events");
            break;
        }
        st = rpl_index_span(index, at, &events, err);
        while (!st && seq < last && seq < end) {
            seq++;
            st = event_take(index, seq, &events[seq - rpl_index_chunk_first(at)], err);
        }
    }
    if (st)
        return st;
    touched_keep(index);
    changes_keep(index);
    levels_build(index, first);
    names_fill(index);
    pending_peak(index, true);
    return VS_OK;
}
