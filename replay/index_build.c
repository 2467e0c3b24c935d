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
#include "base/sort.h"
#include "replay/idle.h"
#include "replay/index_build_internal.h"
#include "replay/sorts.h"
#include "replay/trace_internal.h"

/* A frame is kept where at least this many events per block and holder in it went by since the one before. */
#define FRAME_EVENTS_PER_ITEM 2

/* ---- words ---- */

bool rpl_module_is_inside(const char *path, const char *module, size_t len)
{
    return len == 0 || (strncmp(path, module, len) == 0 && (path[len] == '\0' || path[len] == '.'));
}

static bool is_other_line(const struct vs_place *before, const struct vs_place *now)
{
    return now->line && (before->line != now->line || before->func != now->func);
}

bool rpl_verb_stops(const struct rpl_trace *trace, enum rpl_verb verb, uint32_t before,
                    const struct vs_event *event)
{
    switch (verb) {
    case RPL_VERB_ALLOC:
        return event->kind <= VS_EV_OOM;
    case RPL_VERB_OP:
        return event->kind == VS_EV_OP_BEGIN;
    case RPL_VERB_LINE:
        return event->place != before &&
               is_other_line(rpl_trace_place(trace, before), rpl_trace_place(trace, event->place));
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
    rpl_idle_free(index->idle);
    index->idle = NULL;
    rpl_sorts_free(index->sorts);
    index->sorts = NULL;
    memset(&index->facts, 0, sizeof(index->facts));
    for (size_t i = 0; i < RPL_LEVEL_COUNT; i++)
        pages_reset(&index->levels[i], sizeof(struct rpl_node), RPL_NODE_GROUP);
    pages_reset(&index->rows, sizeof(struct rpl_row), RPL_ROW_GROUP);
    pages_reset(&index->nodes, sizeof(uint32_t), RPL_NODE_NAME_GROUP);
    b->has_state = index->reader != NULL;
    if (b->has_state) {
        rpl_state_init(&b->state);
        index->sorts = rpl_sorts_new();
    }
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

    vs_sort_keyed(b->touched, b->touched_count);
    for (size_t i = 0; i < b->touched_count; i++) {
        rpl_pack_uint(&pack, b->touched[i].key - before);
        before = b->touched[i].key;
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
    const char *now;
    const char *path;
    size_t len = 0;
    size_t common = 0;

    if (!module) {
        chunk->is_outside = true;
        return;
    }
    now = rpl_trace_string(trace, module);
    path = rpl_trace_string(trace, chunk->module);
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
    const struct vs_place *before = rpl_trace_place(index->trace, b->place);
    const struct vs_place *now = rpl_trace_place(index->trace, event->place);
    uint32_t bit = event->place % RPL_PLACE_BITS;

    chunk->places[bit / 64] |= UINT64_C(1) << bit % 64;
    if (event->place != b->place && is_other_line(before, now))
        stop_add(chunk, RPL_VERB_LINE, offset);
    if (event->place != b->place && before->module != now->module)
        stop_add(chunk, RPL_VERB_MODULE, offset);
    if (now->module != b->module || offset == 0)
        module_note(index->trace, chunk, now->module);
    b->module = now->module;
    b->place = event->place;
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
    struct rpl_node *node = rpl_pages_add(&index->levels[0]);

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

/* An event that is more than something said of a block. */
static enum vs_status event_take(struct rpl_index *index, struct rpl_chunk *chunk, uint64_t seq,
                                 const struct vs_event *event, struct vs_error *err)
{
    struct rpl_builder *b = index->builder;
    uint32_t offset = (uint32_t)((seq - 1) % RPL_CHUNK_EVENTS);
    uint64_t before = b->allocated;
    enum vs_status st = rpl_builder_apply(index, chunk, seq, event, err);

    if (st)
        return st;
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
    return VS_OK;
}

/* The events from the first that the index lacks up to `last`, all of one chunk; `events` begins with the chunk's. */
static enum vs_status events_take(struct rpl_index *index, const struct vs_event *events,
                                  uint64_t last, struct vs_error *err)
{
    struct rpl_builder *b = index->builder;
    uint64_t seq = index->event_count + 1;
    const struct vs_event *event = &events[(seq - 1) % RPL_CHUNK_EVENTS];
    struct rpl_chunk *chunk;
    enum vs_status st = VS_OK;

    if (seq == rpl_index_chunk_first(rpl_index_chunk_of(seq)))
        chunk_begin(index);
    chunk = &index->chunks[index->chunk_count - 1];
    for (; !st && seq <= last; seq++, event++) {
        if (event->kind >= VS_EVENT_KIND_COUNT)
            return rpl_builder_damaged(seq, "is of no kind that there is:", event->kind, err);
        if (UINT32_C(1) << event->kind & RPL_BLOCK_KINDS) {
            rpl_builder_block(index, seq, event);
            if ((seq - 1) % RPL_PIECE_EVENTS == 0)
                node_begin(index, seq, event);
        } else {
            st = event_take(index, chunk, seq, event, err);
        }
        if (!st && b->has_state)
            st = rpl_state_apply(&b->state, event, err);
        chunk->kinds |= UINT32_C(1) << event->kind;
        if (event->place != b->place || (seq - 1) % RPL_CHUNK_EVENTS == 0)
            place_note(index, chunk, (uint32_t)((seq - 1) % RPL_CHUNK_EVENTS), event);
        if (index->sorts && !st)
            rpl_sorts_note(index->sorts, seq, event, b->phase, b->allocated, b->reserved);
        if (!st)
            index->event_count = seq;
    }
    return st;
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
            struct rpl_node *node = rpl_pages_add(pages);

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
        struct rpl_row *row;
        uint64_t block;
        uint32_t name;

        if (!rpl_trace_tensor_name(index->trace, ++b->tensors, &name, &block))
            continue;
        name_note(index, name);
        row = rpl_builder_row(index, block);
        if (row)
            row->name = name;
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
    rpl_idle_free(index->idle);
    index->idle = NULL;
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
        if (!st)
            st = events_take(index, events, last < end ? last : end, err);
        seq = last < end ? last : end;
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
