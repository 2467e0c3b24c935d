/*
 * replay/index/index_build.c - computes an index in one pass over the events.
 *
 * Must not know:  files; where the events are stored.
 * Invariant:      after each call the index is as if the trace ended with the last event added.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "replay/index/event_classes.h"
#include "replay/index/index_build_internal.h"
#include "replay/index/unused.h"
#include "replay/trace/trace_internal.h"

/* Memory of a scratch is given back after so many chunks, and so many nodes of the pyramid: some MiB. */
#define DROP_CHUNKS 16
#define DROP_NODES 8192

/* ---- lines and modules ---- */

bool rpl_module_is_inside(const char *path, const char *module, size_t len)
{
    return len == 0 || (strncmp(path, module, len) == 0 && (path[len] == '\0' || path[len] == '.'));
}

static bool is_other_line(const struct vs_location *before, const struct vs_location *now)
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
        return event->location != before &&
               is_other_line(rpl_trace_location(trace, before),
                             rpl_trace_location(trace, event->location));
    case RPL_VERB_MODULE:
        return event->location != before && rpl_trace_location(trace, before)->module !=
                                                rpl_trace_location(trace, event->location)->module;
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

void rpl_line_bits(const struct vs_location *location, uint32_t bits[3])
{
    uint64_t hash =
        ((uint64_t)location->func << 32 | location->line) * UINT64_C(0x9E3779B97F4A7C15);

    hash ^= hash >> 29;
    for (int i = 0; i < 3; i++)
        bits[i] = (uint32_t)(hash >> (8 + 16 * i)) % RPL_LINE_BITS;
}

/* Merge `later`, which follows it, into `into`. */
static void node_merge(struct rpl_node *into, const struct rpl_node *later)
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

static void pages_reset(struct rpl_pages *pages, size_t item_bytes, size_t group,
                        struct rpl_scratch *scratch)
{
    vs_free(pages->is_there);
    if (!pages->scratch)
        vs_free(pages->items);
    *pages = (struct rpl_pages){.item_bytes = item_bytes, .group = group, .scratch = scratch};
}

void rpl_builder_free(struct rpl_builder *builder)
{
    if (!builder)
        return;
    rpl_detail_free(builder->detail);
    vs_free(builder->is_named);
    vs_free(builder);
}

uint64_t rpl_builder_bytes(const struct rpl_builder *builder)
{
    return sizeof(*builder) + builder->is_named_count * sizeof(*builder->is_named) +
           (builder->detail ? rpl_detail_bytes(builder->detail) : 0);
}

static void blobs_free(const struct rpl_index *index, struct rpl_blob **blobs)
{
    for (size_t i = 0; *blobs && !index->scratch && i < index->chunks.count; i++)
        vs_free((*blobs)[i].bytes);
    vs_free(*blobs);
    *blobs = NULL;
}

void rpl_index_build_begin(struct rpl_index *index, struct rpl_scratch *scratch)
{
    struct rpl_builder *b = vs_calloc(1, sizeof(*b));

    blobs_free(index, &index->keyframes);
    blobs_free(index, &index->touched);
    blobs_free(index, &index->changes);
    rpl_builder_free(index->builder);
    index->builder = b;
    index->is_paged = index->is_stored = false;
    index->event_count = 0;
    index->peak_count = index->name_count = 0;
    index->has_peaks = true;
    pages_reset(&index->chunks, sizeof(struct rpl_chunk), RPL_CHUNK_GROUP, scratch);
    rpl_unused_free(index->unused);
    index->unused = NULL;
    rpl_event_classes_free(index->event_classes);
    index->event_classes = NULL;
    memset(&index->facts, 0, sizeof(index->facts));
    for (size_t i = 0; i < RPL_LEVEL_COUNT; i++)
        pages_reset(&index->levels[i], sizeof(struct rpl_node), RPL_NODE_GROUP, scratch);
    pages_reset(&index->rows, sizeof(struct rpl_row), RPL_ROW_GROUP, scratch);
    pages_reset(&index->nodes, sizeof(uint32_t), RPL_NODE_NAME_GROUP, scratch);
    rpl_scratch_free(index->scratch);
    index->scratch = scratch;
    b->detail = rpl_detail_new(index->reader != NULL, scratch);
    if (index->reader)
        index->event_classes = rpl_event_classes_new();
    b->step = -1;
    b->phase = VS_PHASE_SETUP;
    b->is_rising = true;
}

/* ---- chunks ---- */

static void chunk_begin(struct rpl_index *index)
{
    struct rpl_builder *b = index->builder;
    struct rpl_pages *chunks = &index->chunks;
    const size_t cap_before = chunks->cap;
    const size_t at = chunks->count;
    struct rpl_chunk *chunk = rpl_pages_add(chunks);
    const size_t cap = chunks->cap;

    if (cap != cap_before || !index->keyframes) {
        index->keyframes = vs_realloc(index->keyframes, cap, sizeof(*index->keyframes));
        index->touched = vs_realloc(index->touched, cap, sizeof(*index->touched));
        index->changes = vs_realloc(index->changes, cap, sizeof(*index->changes));
    }
    memset(&index->keyframes[at], 0, sizeof(*index->keyframes));
    memset(&index->touched[at], 0, sizeof(*index->touched));
    memset(&index->changes[at], 0, sizeof(*index->changes));
    memset(chunk, 0, sizeof(*chunk));
    chunk->allocated = b->allocated;
    chunk->requested = b->requested;
    chunk->reserved = b->reserved;
    chunk->step = b->step;
    chunk->phase = b->phase;
    chunk->location = b->location;
    for (size_t v = 0; at && v < RPL_VERB_COUNT; v++)
        chunk->stops[v].before = chunk[-1].stops[v].before + chunk[-1].stops[v].count;
}

static void stop_add(struct rpl_chunk *chunk, enum rpl_verb verb, uint32_t offset)
{
    struct rpl_stops *stops = &chunk->stops[verb];

    if (!stops->count++)
        stops->first = offset;
    stops->last = offset;
}

/* Reduce the chunk's module to the longest path that this module and those before have in common. */
static void module_note(const struct rpl_trace *trace, struct rpl_chunk *chunk, uint32_t module)
{
    const char *now;
    const char *path;
    size_t len = 0;
    size_t common = 0;

    if (!module) {
        chunk->is_outside_modules = true;
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

/* Record a change of location; *here: what is known of the new location. */
static void location_note(struct rpl_index *index, struct rpl_chunk *chunk, uint32_t offset,
                          const struct vs_event *event, const struct vs_location **here)
{
    struct rpl_builder *b = index->builder;
    const struct vs_location *before = *here;
    const struct vs_location *now = rpl_trace_location(index->trace, event->location);
    uint32_t bit = event->location % RPL_LOCATION_BITS;

    chunk->locations[bit / 64] |= UINT64_C(1) << bit % 64;
    if (event->location != b->location && is_other_line(before, now))
        stop_add(chunk, RPL_VERB_LINE, offset);
    if (event->location != b->location && before->module != now->module)
        stop_add(chunk, RPL_VERB_MODULE, offset);
    if (now->module != b->module || offset == 0)
        module_note(index->trace, chunk, now->module);
    b->module = now->module;
    b->location = event->location;
    *here = now;
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

/* The totals have changed: record a new maximum, a finished peak or a finished valley. */
static void peak_note(struct rpl_index *index, uint64_t seq)
{
    struct rpl_builder *b = index->builder;
    uint64_t drop;

    if (b->allocated > index->facts.allocated_max) {
        index->facts.allocated_max = b->allocated;
        index->facts.max_seq = seq;
        index->facts.max_is_recompute = b->recompute_depth > 0;
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

/* ---- events ---- */

/* The totals may have changed. */
static void total_note(struct rpl_index *index, struct rpl_chunk *chunk, uint64_t seq)
{
    const struct rpl_pages *nodes = &index->levels[0];

    stop_add(chunk, RPL_VERB_ALLOC, (uint32_t)((seq - 1) % RPL_CHUNK_EVENTS));
    node_note((struct rpl_node *)nodes->items + (nodes->count - 1), index->builder, seq);
    peak_note(index, seq);
}

/* Add an event that is not of RPL_BLOCK_KINDS. */
static enum vs_status event_take(struct rpl_index *index, struct rpl_chunk *chunk, uint64_t seq,
                                 const struct vs_event *event, struct vs_error *err)
{
    uint32_t offset = (uint32_t)((seq - 1) % RPL_CHUNK_EVENTS);
    enum vs_status st = VS_OK;

    if (event->kind == VS_EV_OP_BEGIN || event->kind == VS_EV_OP_END)
        rpl_builder_op(index, seq, event);
    else
        st = rpl_builder_apply(index, chunk, seq, event, err);
    if (st)
        return st;
    if (offset % RPL_PIECE_EVENTS == 0)
        node_begin(index, seq, event);
    if (event->kind <= VS_EV_OOM)
        total_note(index, chunk, seq);
    else if (event->kind == VS_EV_OP_BEGIN)
        stop_add(chunk, RPL_VERB_OP, offset);
    else if (event->kind == VS_EV_PHASE)
        stop_add(chunk, RPL_VERB_PHASE, offset);
    else if (event->kind == VS_EV_STEP)
        stop_add(chunk, RPL_VERB_STEP, offset);
    return VS_OK;
}

/* True for the kinds of RPL_BLOCK_KINDS. */
static bool is_of_block(const struct vs_event *event)
{
    return event->kind < VS_EVENT_KIND_COUNT && RPL_BLOCK_KINDS >> event->kind & 1;
}

/* Add any event; *here: what is known of the location before it, and then of its own. */
static enum vs_status any_take(struct rpl_index *index, struct rpl_chunk *chunk, uint64_t seq,
                               const struct vs_event *event, const struct vs_location **here,
                               struct vs_error *err)
{
    uint64_t offset = (seq - 1) % RPL_CHUNK_EVENTS;

    if (event->kind >= VS_EVENT_KIND_COUNT)
        return rpl_builder_damaged(seq, "is of no kind that there is:", event->kind, err);
    if (event->location != index->builder->location || offset == 0)
        location_note(index, chunk, (uint32_t)offset, event, here);
    if (!is_of_block(event))
        return event_take(index, chunk, seq, event, err);
    if (event->kind == VS_EV_USE)
        rpl_builder_use(index, seq, event->use.block);
    if (offset % RPL_PIECE_EVENTS == 0)
        node_begin(index, seq, event);
    return VS_OK;
}

/*
 * Add the events of a piece. Most events are of RPL_BLOCK_KINDS and at the same location as the one before: they take
 * a short path, except the first of a piece.
 */
static enum vs_status piece_take(struct rpl_index *index, struct rpl_chunk *chunk, uint64_t seq,
                                 uint64_t end, const struct vs_event *event,
                                 const struct vs_location **here, struct vs_error *err)
{
    const struct rpl_builder *b = index->builder;
    bool is_first = (seq - 1) % RPL_PIECE_EVENTS == 0;
    uint32_t kinds = 0;
    enum vs_status st = VS_OK;

    for (; seq <= end; seq++, event++) {
        if (event->location != b->location || !is_of_block(event) || is_first) {
            st = any_take(index, chunk, seq, event, here, err);
            if (st)
                break;
            is_first = false;
        } else if (event->kind == VS_EV_USE) {
            rpl_builder_use(index, seq, event->use.block);
        }
        kinds |= UINT32_C(1) << event->kind;
    }
    chunk->kinds |= kinds;
    index->event_count = seq - 1;
    return st;
}

/*
 * Add the events from the first that the index lacks up to `last`, all of one chunk; `events` begins with the chunk's
 * first.
 */
static enum vs_status events_take(struct rpl_index *index, const struct vs_event *events,
                                  uint64_t last, struct vs_error *err)
{
    const struct vs_location *here = rpl_trace_location(index->trace, index->builder->location);
    uint64_t seq = index->event_count + 1;
    struct rpl_chunk *chunk;
    enum vs_status st = VS_OK;

    if (seq == rpl_index_chunk_first(rpl_index_chunk_of(seq)))
        chunk_begin(index);
    chunk = &rpl_index_chunks(index)[index->chunks.count - 1];
    for (; !st && seq <= last; seq = index->event_count + 1) {
        uint64_t end = seq + RPL_PIECE_EVENTS - 1 - (seq - 1) % RPL_PIECE_EVENTS;

        st = piece_take(index, chunk, seq, end < last ? end : last,
                        &events[(seq - 1) % RPL_CHUNK_EVENTS], &here, err);
    }
    return st;
}

/* Compute the levels above the lowest, from the node that contains event `first` on. */
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
        rpl_pages_reserve(pages, below->count / RPL_FAN + 1);
        while (pages->count * RPL_FAN < below->count) {
            size_t child = pages->count * RPL_FAN;
            size_t end = child + RPL_FAN < below->count ? child + RPL_FAN : below->count;
            struct rpl_node *node = rpl_pages_add(pages);

            if (pages->count % DROP_NODES == 0)
                rpl_scratch_drop(index->scratch);
            *node = children[child];
            for (size_t i = child + 1; i < end; i++)
                node_merge(node, &children[i]);
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

/* Tensors get their names after their blocks were allocated. */
static void names_fill(struct rpl_index *index)
{
    struct rpl_builder *b = index->builder;
    uint64_t block;
    uint32_t name;

    while (rpl_trace_tensor_named(index->trace, &b->tensors, &name, &block)) {
        struct rpl_row *row = rpl_builder_row(index, block);

        name_note(index, name);
        if (row)
            row->name = name;
    }
}

/*
 * If the trace ends while the total rises, the highest total since the last valley is a peak as well, until events are
 * added.
 */
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
    rpl_unused_free(index->unused);
    index->unused = NULL;
    pending_peak(index, false);
    rpl_pages_reserve(&index->levels[0], (size_t)((last - 1) / RPL_PIECE_EVENTS + 1));
    rpl_pages_reserve(&index->rows, rpl_trace_tensor_count(index->trace));
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
        /* The chunk is decoded now, so its details cost no further reading. */
        if (!st && index->reader)
            st = rpl_detail_take(index, at, events, err);
        if (at % DROP_CHUNKS == 0)
            rpl_scratch_drop(index->scratch);
        seq = last < end ? last : end;
    }
    if (st)
        return st;
    levels_build(index, first);
    names_fill(index);
    pending_peak(index, true);
    return VS_OK;
}
