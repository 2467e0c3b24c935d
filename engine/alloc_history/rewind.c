/*
 * engine/alloc_history/rewind.c - undoes recorded events, newest first.
 *
 * For:            engine/alloc_history/rewind.h.
 * Must not know:  file formats, the allocator's search rules (only how sizes are rounded and when a rest is split off).
 * Invariant:      spans do not overlap; every block in use is inside one span; the parts of a span that are not in
 *                 such a block are free.
 */
#include "engine/alloc_history/rewind.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "engine/alloc/alloc_internal.h"

/* Memory from the driver: a segment, or a mapped range. Keyed by address. */
struct span {
    struct eng_set_node node;
    uint64_t bytes;
    uint64_t stream;
    struct eng_pool_id pool;
    bool is_small;
    bool is_expandable;
};

/* A block in use. Keyed by address. */
struct live {
    struct eng_set_node node;
    uint64_t bytes; /* 0: not known yet; at least the rounded request */
    uint64_t requested_bytes;
    bool is_pending;
};

/* The lowest address seen of the expandable segments of a stream and size class. */
struct lowest {
    uint64_t stream;
    uint64_t address;
    struct eng_pool_id pool;
    bool is_small;
};

struct rewind {
    const struct eng_alloc_conf *conf;
    struct eng_set spans;
    struct eng_set lives;
    struct lowest *lowest;
    size_t lowest_count;
    size_t lowest_cap;
    struct live *last_freed;      /* in `lives`; NULL: none */
    const struct span *last_span; /* the span of the last address that was searched; may be NULL */
    struct vs_arena *arena;       /* for spans and lives */
    struct vs_error *err;
    size_t at; /* event being undone */
    const struct eng_record_event *event;
};

static struct eng_set_key key_of(uint64_t address)
{
    return (struct eng_set_key){{address, 0, 0}};
}

static uint64_t address_of(const struct eng_set_node *node)
{
    return node->key.word[0];
}

static struct span *span_of(struct eng_set_node *node)
{
    return (struct span *)(void *)node; /* the node is the first member */
}

static struct live *live_of(struct eng_set_node *node)
{
    return (struct live *)(void *)node; /* the node is the first member */
}

static enum vs_status fail_event(const struct rewind *rw, const char *why)
{
    return vs_fail(rw->err, VS_E_DAMAGED,
                   "event %zu (%s of %" PRIu64 " bytes at 0x%" PRIx64 ") cannot be undone: %s",
                   rw->at, eng_record_event_name(rw->event->kind), rw->event->bytes,
                   rw->event->address, why);
}

static struct eng_set_node *exact(const struct eng_set *set, uint64_t address)
{
    const struct eng_set_key key = key_of(address);
    struct eng_set_node *node = eng_set_floor(set, &key);

    return node && address_of(node) == address ? node : NULL;
}

static bool is_in(const struct span *span, uint64_t address)
{
    return address - address_of(&span->node) < span->bytes;
}

/* The span that contains `address`, or NULL. */
static struct span *span_at(const struct rewind *rw, uint64_t address)
{
    const struct eng_set_key key = key_of(address);
    struct eng_set_node *node = eng_set_floor(&rw->spans, &key);

    return node && is_in(span_of(node), address) ? span_of(node) : NULL;
}

/* Whether a span contains `address`. Successive events are often in the same span, so the last one is tried first. */
static bool is_in_span(struct rewind *rw, uint64_t address)
{
    if (!rw->last_span || !is_in(rw->last_span, address))
        rw->last_span = span_at(rw, address);
    return rw->last_span;
}

static void remove_span(struct rewind *rw, struct span *span)
{
    rw->last_span = NULL;
    eng_set_remove(&rw->spans, &span->node);
}

/* The block in use at `address`, or NULL. Usually this is the block whose free was undone last. */
static struct live *live_at(const struct rewind *rw, uint64_t address)
{
    struct eng_set_node *node;

    if (rw->last_freed && address_of(&rw->last_freed->node) == address)
        return rw->last_freed;
    node = exact(&rw->lives, address);
    return node ? live_of(node) : NULL;
}

/* Whether [address, address + bytes) overlaps a span. */
static bool is_taken(const struct rewind *rw, uint64_t address, uint64_t bytes)
{
    const struct eng_set_key key = key_of(address);
    struct eng_set_node *next = eng_set_ceil(&rw->spans, &key);

    return span_at(rw, address) || (next && address_of(next) - address < bytes);
}

/* Whether the event's range is not empty and within the address space. */
static bool is_range(const struct eng_record_event *event)
{
    uint64_t end;

    return event->bytes > 0 && vs_bytes_add(event->address, event->bytes, &end);
}

/* Whether a block in use is in [address, address + bytes). Blocks of unknown size count by their address. */
static bool is_used(const struct rewind *rw, uint64_t address, uint64_t bytes)
{
    const struct eng_set_key key = key_of(address);
    struct eng_set_node *next = eng_set_ceil(&rw->lives, &key);

    return next && address_of(next) - address < bytes;
}

static struct span *add_span(struct rewind *rw, uint64_t address, const struct span *like)
{
    struct span *span = vs_arena_calloc(rw->arena, 1, sizeof(*span));

    *span = *like;
    eng_set_insert(&rw->spans, &span->node, key_of(address));
    return span;
}

static void note_lowest(struct rewind *rw, uint64_t address, const struct span *span)
{
    for (size_t i = 0; i < rw->lowest_count; i++) {
        struct lowest *low = &rw->lowest[i];

        if (low->stream == span->stream && low->is_small == span->is_small &&
            low->pool.graph == span->pool.graph && low->pool.user == span->pool.user) {
            low->address = address < low->address ? address : low->address;
            return;
        }
    }
    rw->lowest = vs_grow(rw->lowest, rw->lowest_count, &rw->lowest_cap, sizeof(*rw->lowest));
    rw->lowest[rw->lowest_count++] = (struct lowest){
        .stream = span->stream, .address = address, .pool = span->pool, .is_small = span->is_small};
}

/* ---- undoing one event ---- */

/*
 * An allocation takes the front of a free block. So if it begins at most 1 MiB after a block whose size is not known,
 * that block ended there. before: the block in use before `address`, or NULL.
 */
static void settle_size_before(struct rewind *rw, struct eng_set_node *before, uint64_t address)
{
    const struct span *span;
    uint64_t rest;

    if (!before || live_of(before)->bytes)
        return;
    span = span_at(rw, address);
    if (!span || span->is_small || span->is_expandable ||
        address_of(before) < address_of(&span->node))
        return;
    rest = address - address_of(before) -
           eng_alloc_round_bytes(rw->conf, live_of(before)->requested_bytes);
    if (rest <= ENG_SMALL_BYTES)
        live_of(before)->bytes = address - address_of(before);
}

static enum vs_status undo_alloc(struct rewind *rw)
{
    struct live *live = live_at(rw, rw->event->address);
    struct eng_set_node *before;

    if (!live || live->is_pending)
        return fail_event(rw, "no allocated block is there");
    if (live->requested_bytes != rw->event->bytes)
        return fail_event(rw, "the block there was requested with another size");
    before = eng_set_prev(&live->node);
    if (rw->last_freed == live)
        rw->last_freed = NULL;
    eng_set_remove(&rw->lives, &live->node);
    settle_size_before(rw, before, rw->event->address);
    return VS_OK;
}

static enum vs_status undo_free_requested(struct rewind *rw)
{
    struct live *live = live_at(rw, rw->event->address);

    if (!live || !live->is_pending)
        return fail_event(rw, "no block waits there to become free");
    live->is_pending = false;
    return VS_OK;
}

static enum vs_status undo_free_completed(struct rewind *rw)
{
    const uint64_t address = rw->event->address;
    struct live *live;

    if (!is_in_span(rw, address))
        return fail_event(rw, "it lies in no segment");
    live = vs_arena_calloc(rw->arena, 1, sizeof(*live));
    if (eng_set_put(&rw->lives, &live->node, key_of(address)))
        return fail_event(rw, "the block is in use afterwards");
    live->requested_bytes = rw->event->bytes;
    live->is_pending = true;
    rw->last_freed = live;
    return VS_OK;
}

static enum vs_status undo_segment_alloc(struct rewind *rw)
{
    struct eng_set_node *node = exact(&rw->spans, rw->event->address);

    if (!node || span_of(node)->bytes != rw->event->bytes || span_of(node)->is_expandable)
        return fail_event(rw, "there is no such segment afterwards");
    if (is_used(rw, rw->event->address, rw->event->bytes))
        return fail_event(rw, "a block in it was there before");
    remove_span(rw, span_of(node));
    return VS_OK;
}

static enum vs_status undo_segment_free(struct rewind *rw)
{
    if (!is_range(rw->event) || is_taken(rw, rw->event->address, rw->event->bytes))
        return fail_event(rw, "a segment is there afterwards");
    add_span(rw, rw->event->address,
             &(struct span){.bytes = rw->event->bytes,
                            .stream = rw->event->stream,
                            .is_small = rw->event->bytes == ENG_SMALL_SEGMENT_BYTES});
    return VS_OK;
}

/* Removes the mapped range from its span, which may leave a part on either side. */
static enum vs_status undo_map(struct rewind *rw)
{
    const uint64_t address = rw->event->address;
    const uint64_t end = address + rw->event->bytes;
    struct span *span = span_at(rw, address);
    struct span rest;
    uint64_t span_end;

    if (!span || !span->is_expandable || !is_range(rw->event))
        return fail_event(rw, "the range is not mapped afterwards");
    rest = *span;
    span_end = address_of(&span->node) + span->bytes;
    if (end > span_end || is_used(rw, address, rw->event->bytes))
        return fail_event(rw, "the range is in use or not mapped as a whole afterwards");
    note_lowest(rw, address, span);
    span->bytes = address - address_of(&span->node);
    if (span->bytes == 0)
        remove_span(rw, span);
    if (end < span_end) {
        rest.bytes = span_end - end;
        add_span(rw, end, &rest);
    }
    return VS_OK;
}

/*
 * The size class of a range that is not in the final state: that of the nearest range of its stream, or by the granule.
 */
static void guess_class(const struct rewind *rw, struct span *span)
{
    uint64_t best = UINT64_MAX;

    span->is_small = span->bytes % rw->conf->large_segment_bytes != 0;
    for (size_t i = 0; i < rw->lowest_count; i++) {
        const struct lowest *low = &rw->lowest[i];

        if (low->stream == span->stream && low->address <= rw->event->address &&
            rw->event->address - low->address < best) {
            best = rw->event->address - low->address;
            span->is_small = low->is_small;
            span->pool = low->pool;
        }
    }
}

/* Adds the range to an adjacent span, if there is one. */
static enum vs_status undo_unmap(struct rewind *rw)
{
    struct span span = {
        .bytes = rw->event->bytes, .stream = rw->event->stream, .is_expandable = true};

    if (!is_range(rw->event) || is_taken(rw, rw->event->address, rw->event->bytes))
        return fail_event(rw, "the range is mapped afterwards");
    guess_class(rw, &span);
    note_lowest(rw, rw->event->address, &span);
    add_span(rw, rw->event->address, &span);
    return VS_OK;
}

/* Merges adjacent ranges of the same segment. */
static void join_ranges(struct rewind *rw)
{
    struct eng_set_node *node = eng_set_first(&rw->spans);

    while (node) {
        struct eng_set_node *next = eng_set_next(node);
        struct span *a = span_of(node);
        struct span *b = next ? span_of(next) : NULL;

        if (b && a->is_expandable && b->is_expandable && a->stream == b->stream &&
            a->is_small == b->is_small && a->pool.graph == b->pool.graph &&
            a->pool.user == b->pool.user && address_of(node) + a->bytes == address_of(next)) {
            a->bytes += b->bytes;
            remove_span(rw, b);
        } else {
            node = next;
        }
    }
}

static enum vs_status undo(struct rewind *rw)
{
    switch (rw->event->kind) {
    case ENG_ALLOC_EV_ALLOC:
        return undo_alloc(rw);
    case ENG_ALLOC_EV_FREE_REQUESTED:
        return undo_free_requested(rw);
    case ENG_ALLOC_EV_FREE_COMPLETED:
        return undo_free_completed(rw);
    case ENG_ALLOC_EV_SEGMENT_ALLOC:
        return undo_segment_alloc(rw);
    case ENG_ALLOC_EV_SEGMENT_FREE:
        return undo_segment_free(rw);
    case ENG_ALLOC_EV_SEGMENT_MAP:
        join_ranges(rw);
        return undo_map(rw);
    case ENG_ALLOC_EV_SEGMENT_UNMAP:
        return undo_unmap(rw);
    case ENG_ALLOC_EV_OOM:
    case ENG_RECORD_SNAPSHOT:
        return VS_OK;
    default: /* the number comes from a file */
        return vs_fail(rw->err, VS_E_DAMAGED, "event %zu has kind %u", rw->at, rw->event->kind);
    }
}

/* ---- reading the final state and making the start state ---- */

static void load(struct rewind *rw, const struct eng_record_state *final)
{
    for (size_t i = 0; i < final->segment_count; i++) {
        const struct eng_record_segment *seg = &final->segments[i];
        uint64_t address = seg->address;
        const struct span *span = add_span(rw, address,
                                           &(struct span){.bytes = seg->bytes,
                                                          .stream = seg->stream,
                                                          .pool = seg->pool,
                                                          .is_small = seg->is_small,
                                                          .is_expandable = seg->is_expandable});

        if (seg->is_expandable)
            note_lowest(rw, address, span);
        for (size_t j = seg->first_block; j < seg->first_block + seg->block_count; j++) {
            const struct eng_record_block *block = &final->blocks[j];

            if (block->state != ENG_BLOCK_INACTIVE) {
                struct live *live = vs_arena_calloc(rw->arena, 1, sizeof(*live));

                live->bytes = block->bytes;
                live->requested_bytes = block->requested_bytes;
                live->is_pending = block->state == ENG_BLOCK_PENDING_FREE;
                eng_set_insert(&rw->lives, &live->node, key_of(address));
            }
            address += block->bytes;
        }
    }
}

/* The size of a block after which `reach` bytes, including its own, are not in use. */
static uint64_t block_bytes(const struct rewind *rw, const struct span *span,
                            const struct live *live, uint64_t reach)
{
    const uint64_t rounded = eng_alloc_round_bytes(rw->conf, live->requested_bytes);

    if (live->bytes)
        return live->bytes;
    if (span->is_small || span->is_expandable || reach < rounded)
        return rounded;
    if (rounded >= rw->conf->max_split_bytes || reach - rounded <= ENG_SMALL_BYTES)
        return reach;
    return rounded;
}

static void add_gap(struct eng_record_state *start, uint64_t bytes)
{
    if (bytes)
        eng_record_state_add_block(
            start, (struct eng_record_block){.bytes = bytes, .state = ENG_BLOCK_INACTIVE});
}

static enum vs_status store_span(struct rewind *rw, struct eng_set_node *node,
                                 struct eng_record_state *start)
{
    const struct span *span = span_of(node);
    const uint64_t end = address_of(node) + span->bytes;
    const struct eng_set_key key = node->key;
    struct eng_record_segment *seg = eng_record_state_add_segment(start);
    uint64_t at = address_of(node);

    seg->address = at;
    seg->bytes = span->bytes;
    seg->stream = span->stream;
    seg->pool = span->pool;
    seg->is_small = span->is_small;
    seg->is_expandable = span->is_expandable;
    for (size_t i = 0; span->is_expandable && i < rw->lowest_count; i++) {
        const struct lowest *low = &rw->lowest[i];

        if (low->stream == span->stream && low->is_small == span->is_small &&
            low->pool.graph == span->pool.graph && low->pool.user == span->pool.user)
            seg->area_address = low->address;
    }
    for (struct eng_set_node *it = eng_set_ceil(&rw->lives, &key); it && address_of(it) < end;
         it = eng_set_next(it)) {
        const struct live *live = live_of(it);
        struct eng_set_node *next = eng_set_next(it);
        uint64_t limit = next && address_of(next) < end ? address_of(next) : end;
        uint64_t bytes = block_bytes(rw, span, live, limit - address_of(it));

        if (bytes > limit - address_of(it))
            return vs_fail(rw->err, VS_E_DAMAGED,
                           "the block of %" PRIu64 " bytes at 0x%" PRIx64
                           " overlaps its neighbour at the start of the trace",
                           live->requested_bytes, address_of(it));
        add_gap(start, address_of(it) - at);
        eng_record_state_add_block(
            start, (struct eng_record_block){.bytes = bytes,
                                             .requested_bytes = live->requested_bytes,
                                             .state = live->is_pending ? ENG_BLOCK_PENDING_FREE
                                                                       : ENG_BLOCK_ALLOCATED});
        at = address_of(it) + bytes;
    }
    add_gap(start, end - at);
    return VS_OK;
}

enum vs_status eng_record_rewind(const struct eng_record_state *final,
                                 const struct eng_record_event *events, size_t event_count,
                                 const struct eng_alloc_conf *conf, struct eng_record_state *start,
                                 struct vs_error *err)
{
    struct rewind rw = {.conf = conf, .err = err};
    enum vs_status st = eng_record_state_check(final, err);

    if (st)
        return st;
    rw.arena = vs_arena_new();
    load(&rw, final);
    for (rw.at = event_count; rw.at > 0 && !st;) {
        rw.event = &events[--rw.at];
        st = undo(&rw);
    }
    if (!st)
        join_ranges(&rw);
    for (struct eng_set_node *node = eng_set_first(&rw.spans); node && !st;
         node = eng_set_next(node))
        st = store_span(&rw, node, start);
    if (st)
        eng_record_state_release(start);
    vs_free(rw.lowest);
    vs_arena_free(rw.arena);
    return st;
}
