/*
 * replay/index/index.c - see index.h.
 *
 * Must not know:  how an index is computed (index_build.c) or stored (index_save.c, index_store.c).
 * Invariant:      a chunk in the window contains the events that the trace has there.
 */
#include "replay/index/index.h"

#include <string.h>

#include "base/mem.h"
#include "replay/index/cursor.h"
#include "replay/index/event_classes.h"
#include "replay/index/index_internal.h"
#include "replay/trace/trace_internal.h"

size_t rpl_index_chunk_of(uint64_t seq)
{
    return (size_t)((seq - 1) / RPL_CHUNK_EVENTS);
}

uint64_t rpl_index_chunk_first(size_t chunk)
{
    return (uint64_t)chunk * RPL_CHUNK_EVENTS + 1;
}

static size_t events_in(const struct rpl_index *index, size_t chunk, uint64_t count)
{
    uint64_t left = count + 1 - rpl_index_chunk_first(chunk);

    (void)index;
    return left < RPL_CHUNK_EVENTS ? (size_t)left : RPL_CHUNK_EVENTS;
}

size_t rpl_index_chunk_events(const struct rpl_index *index, size_t chunk)
{
    return events_in(index, chunk, index->event_count);
}

/* So many events are read behind the one that is needed: the next one mostly is near. */
#define BEHIND_EVENTS (RPL_CHUNK_EVENTS / 16)

enum vs_status rpl_index_span(struct rpl_index *index, size_t chunk, const struct vs_event **out,
                              struct vs_error *err)
{
    size_t count = events_in(index, chunk, rpl_trace_event_count(index->trace));
    uint64_t last;

    return rpl_index_span_to(index, rpl_index_chunk_first(chunk) + count - 1, out, &last, err);
}

enum vs_status rpl_index_span_to(struct rpl_index *index, uint64_t seq, const struct vs_event **out,
                                 uint64_t *last, struct vs_error *err)
{
    struct rpl_window_slot *slot = &index->window[0];
    const size_t chunk = rpl_index_chunk_of(seq);
    const uint64_t first = rpl_index_chunk_first(chunk);
    size_t count = events_in(index, chunk, rpl_trace_event_count(index->trace));
    enum vs_status st;

    for (size_t i = 0; i < RPL_WINDOW && slot->chunk != chunk + 1; i++)
        if (index->window[i].chunk == chunk + 1 || index->window[i].used < slot->used)
            slot = &index->window[i];
    if (slot->chunk == chunk + 1 && seq - first < slot->count) {
        slot->used = ++index->clock;
        *out = slot->events;
        *last = first + slot->count - 1;
        return VS_OK;
    }
    /* a chunk that was asked for before is read to its end */
    if (index->reader && slot->chunk != chunk + 1 && seq - first + BEHIND_EVENTS < count)
        count = (size_t)(seq - first) + BEHIND_EVENTS;
    if (index->reader && !slot->events)
        slot->events = vs_alloc(RPL_CHUNK_EVENTS * sizeof(*slot->events));
    slot->chunk = 0;
    *last = first + count - 1;
    st = rpl_trace_span(index->trace, first, count, slot->events, out, err);
    if (st || !index->reader)
        return st;
    slot->chunk = chunk + 1;
    slot->count = count;
    slot->used = ++index->clock;
    return VS_OK;
}

/* Whether the file of `index` may have it: a stored index is that of a whole file, not of one of several devices. */
static bool may_be_stored(const struct rpl_index *index)
{
    return index->reader && rpl_trace_event_count(index->trace) >= RPL_STORE_EVENTS &&
           !rpl_trace_device_count(index->trace);
}

bool rpl_index_is_stored(struct rpl_trace *trace)
{
    struct rpl_index *index = vs_calloc(1, sizeof(*index));
    struct vs_error ignored = VS_ERROR_INIT;
    bool is_stored;

    index->trace = trace;
    index->reader = rpl_trace_reader(trace);
    is_stored = may_be_stored(index) && rpl_index_head_load(index, &ignored) == VS_OK;
    rpl_index_free(index);
    return is_stored;
}

/* is_read: the index will be read, so one that was stored is read from the file from then on. */
static enum vs_status index_get(struct rpl_trace *trace, bool is_read, rpl_progress_fn *progress,
                                void *user, struct rpl_index **out, struct vs_error *err)
{
    struct rpl_index *index = vs_calloc(1, sizeof(*index));
    uint64_t count = rpl_trace_event_count(trace);
    struct vs_error ignored = VS_ERROR_INIT;
    bool is_stored;
    enum vs_status st = VS_E_NOT_FOUND;

    *out = NULL;
    index->trace = trace;
    index->reader = rpl_trace_reader(trace);
    is_stored = may_be_stored(index);
    if (is_stored)
        st = rpl_index_load(index, err);
    if (st == VS_E_NOT_FOUND) {
        rpl_index_build_begin(index,
                              is_stored ? rpl_scratch_new(sto_reader_path(index->reader)) : NULL);
        st = rpl_index_build(index, count, progress, user, err);
        if (!st) /* locations decide what is in it */
            st = rpl_trace_check(trace, err);
        if (!st && is_stored && rpl_index_save(index, &ignored) == VS_OK && is_read)
            st = rpl_index_reload(index, err);
        /* If it could not be stored it stays in memory, and is computed again next time. */
    }
    if (!st) {
        *out = index;
        index = NULL; /* handed over */
    }
    rpl_index_free(index);
    return st;
}

enum vs_status rpl_index_open(struct rpl_trace *trace, rpl_progress_fn *progress, void *user,
                              struct rpl_index **out, struct vs_error *err)
{
    return index_get(trace, true, progress, user, out, err);
}

void rpl_index_free(struct rpl_index *index)
{
    if (!index)
        return;
    rpl_cursor_free(index->scan);
    /* Frees everything that was computed or read. */
    rpl_index_build_begin(index, NULL);
    rpl_builder_free(index->builder);
    rpl_event_classes_free(index->event_classes);
    for (size_t i = 0; i < RPL_LEVEL_COUNT; i++) {
        vs_free(index->levels[i].items);
        vs_free(index->levels[i].is_there);
    }
    vs_free(index->rows.items);
    vs_free(index->rows.is_there);
    vs_free(index->nodes.items);
    vs_free(index->nodes.is_there);
    vs_free(index->has_filters);
    vs_free(index->peaks);
    vs_free(index->names);
    vs_free(index->bytes);
    for (size_t i = 0; i < RPL_WINDOW; i++)
        vs_free(index->window[i].events);
    vs_free(index);
}

enum vs_status rpl_index_make(const char *path, uint64_t events, rpl_progress_fn *progress,
                              void *user, struct vs_error *err)
{
    struct rpl_trace *trace = NULL;
    struct rpl_index *index = NULL;
    enum vs_status st;

    if (events < RPL_STORE_EVENTS)
        return VS_OK;
    st = rpl_trace_open(path, &trace, err);
    if (!st)
        st = index_get(trace, false, progress, user, &index, err);
    rpl_index_free(index);
    rpl_trace_free(trace);
    return st;
}

static void pages_trim(struct rpl_pages *pages)
{
    if (!pages->count || pages->count == pages->cap || pages->scratch)
        return;
    pages->items = vs_realloc(pages->items, pages->count, pages->item_bytes);
    pages->cap = pages->count;
}

void rpl_index_trim(struct rpl_index *index)
{
    pages_trim(&index->rows);
    pages_trim(&index->nodes);
    for (size_t i = 0; i < RPL_LEVEL_COUNT; i++)
        pages_trim(&index->levels[i]);
}

static uint64_t blobs_bytes(const struct rpl_blob *blobs, size_t count)
{
    uint64_t bytes = 0;

    for (size_t i = 0; blobs && i < count; i++)
        bytes += sizeof(*blobs) + blobs[i].len;
    return bytes;
}

uint64_t rpl_index_bytes(const struct rpl_index *index)
{
    uint64_t bytes = sizeof(*index) + index->chunks.cap * index->chunks.item_bytes +
                     index->rows.cap * index->rows.item_bytes +
                     index->nodes.cap * index->nodes.item_bytes +
                     index->peak_cap * sizeof(*index->peaks) +
                     index->name_cap * sizeof(*index->names) + index->bytes_cap;

    for (size_t i = 0; i < RPL_LEVEL_COUNT; i++)
        bytes += index->levels[i].cap * index->levels[i].item_bytes;
    bytes += blobs_bytes(index->keyframes, index->chunks.count) +
             blobs_bytes(index->touched, index->chunks.count) +
             blobs_bytes(index->changes, index->chunks.count);
    if (index->builder)
        bytes += rpl_builder_bytes(index->builder);
    if (index->event_classes)
        bytes += index->event_classes->cap * sizeof(*index->event_classes->items);
    return index->scan ? bytes + rpl_cursor_bytes(index->scan) : bytes;
}

struct rpl_trace *rpl_index_trace(const struct rpl_index *index)
{
    return index->trace;
}

enum vs_status rpl_index_refresh(struct rpl_index *index, uint64_t *added, struct vs_error *err)
{
    uint64_t before = index->event_count;
    uint64_t count;
    enum vs_status st;

    *added = 0;
    st = rpl_trace_refresh(index->trace, err);
    if (st)
        return st;
    count = rpl_trace_event_count(index->trace);
    if (count <= before)
        return VS_OK;
    for (size_t i = 0; i < RPL_WINDOW; i++)
        if (index->window[i].chunk && index->window[i].chunk > rpl_index_chunk_of(before + 1))
            /* The trace has grown since. */
            index->window[i].chunk = 0;
    if (index->is_paged)
        /* The index in the file is that of the earlier events. */
        rpl_index_build_begin(index, NULL);
    st = rpl_index_build(index, count, NULL, NULL, err);
    if (!st)
        *added = count - before;
    return st;
}

bool rpl_index_is_paged(const struct rpl_index *index)
{
    return index->is_paged;
}

uint64_t rpl_index_event_count(const struct rpl_index *index)
{
    return index->event_count;
}

enum vs_status rpl_index_event(struct rpl_index *index, uint64_t seq, struct vs_event *out,
                               struct vs_error *err)
{
    const struct vs_event *events;
    uint64_t last;
    enum vs_status st;

    VS_ASSERT(seq >= 1 && seq <= index->event_count);
    st = rpl_index_span_to(index, seq, &events, &last, err);
    if (!st)
        *out = events[seq - rpl_index_chunk_first(rpl_index_chunk_of(seq))];
    return st;
}

bool rpl_index_prefetch(struct rpl_index *index, uint64_t seq)
{
    size_t chunk = rpl_index_chunk_of(seq);
    struct vs_error ignored = VS_ERROR_INIT;
    const struct vs_event *events;
    bool was_there = !index->reader;

    VS_ASSERT(seq >= 1 && seq <= index->event_count);
    for (size_t i = 0; i < RPL_WINDOW; i++)
        was_there |= index->window[i].chunk == chunk + 1 &&
                     index->window[i].count >= rpl_index_chunk_events(index, chunk);
    return rpl_index_span(index, chunk, &events, &ignored) == VS_OK && !was_there;
}

struct rpl_top rpl_index_top(const struct rpl_index *index)
{
    return (struct rpl_top){index->facts.allocated_max, index->facts.max_seq};
}

uint64_t rpl_index_reserved_max(const struct rpl_index *index)
{
    return index->facts.reserved_max;
}

uint64_t rpl_index_oom(const struct rpl_index *index)
{
    return index->facts.oom_seq;
}
