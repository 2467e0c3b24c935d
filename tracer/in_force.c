/*
 * tracer/in_force.c - see in_force.h.
 *
 * Must not know:  files, threads.
 * Invariant:      an item is in the list of its block, and its block is alive, or is number 0: host memory.
 */
#include "tracer/in_force.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"

/*
 * Holders that one drop or unsave could end are in a ring, the oldest first: those with the same tensor, and those of
 * all tensors. A table has the oldest of each ring.
 */
enum ring { RING_SAME_TENSOR, RING_ANY_TENSOR, RING_COUNT };

/* The neighbours in a ring: indices of items. */
struct ring_link {
    uint32_t next;
    uint32_t prev;
};

/*
 * An event about a block. order: its number among all events, from 1; 0: the item is unused. next, prev: of the same
 * block, + 1; of an unused item next is the next unused one, + 1. rings: of a hold or save.
 */
struct item {
    struct vs_event event;
    uint64_t order;
    uint32_t next;
    uint32_t prev;
    struct ring_link rings[RING_COUNT];
};

/* first, last: its items, + 1; of an unused block first is the next unused one, + 1. use: its last use, + 1. */
struct block {
    uint64_t id;
    uint32_t first;
    uint32_t last;
    uint32_t use;
};

/* An event about no block: a segment, or the begin of an op. */
struct plain {
    struct vs_event event;
    uint64_t order;
};

/*
 * segments  the ranges that are allocated or mapped; `address` and `bytes` are those of the range
 * running   ops and recomputations that have begun and not ended, the outermost first
 * oldest    the oldest holder of each ring
 * allocated bytes of the blocks that are alive; peak: when they were most
 */
struct trc_in_force {
    uint64_t order;
    uint64_t allocated;
    int64_t step;
    struct trc_peak peak;
    struct vs_table oldest[RING_COUNT];
    struct item *items;
    size_t item_count;
    size_t item_cap;
    uint32_t unused_item;
    size_t used_items;
    struct block *blocks;
    size_t block_count;
    size_t block_cap;
    uint32_t unused_block;
    struct vs_table by_id;
    struct plain *segments;
    size_t segment_count;
    size_t segment_cap;
    struct plain *running;
    size_t running_count;
    size_t running_cap;
};

struct trc_in_force *trc_in_force_new(void)
{
    struct trc_in_force *f = vs_calloc(1, sizeof(*f));

    f->step = f->peak.step = -1; /* the set-up */
    return f;
}

void trc_in_force_free(struct trc_in_force *f)
{
    if (!f)
        return;
    vs_free(f->items);
    vs_free(f->blocks);
    vs_table_release(&f->by_id);
    for (int ring = 0; ring < RING_COUNT; ring++)
        vs_table_release(&f->oldest[ring]);
    vs_free(f->segments);
    vs_free(f->running);
    vs_free(f);
}

/* ---- blocks ---- */

/* Move the probe to the block; false: it is not alive. */
static bool block_probe(const struct trc_in_force *f, uint64_t id, struct vs_probe *probe)
{
    *probe = vs_probe(vs_hash_number(id));
    while (vs_table_next(&f->by_id, probe))
        if (f->blocks[probe->item].id == id)
            return true;
    return false;
}

/* The block if it is alive, or is that of host memory; otherwise NULL. */
static struct block *block_find(struct trc_in_force *f, uint64_t id)
{
    struct vs_probe probe;

    return block_probe(f, id, &probe) ? &f->blocks[probe.item] : NULL;
}

static struct block *block_add(struct trc_in_force *f, uint64_t id)
{
    uint32_t at = f->unused_block;

    if (at) {
        f->unused_block = f->blocks[--at].first;
    } else {
        f->blocks = vs_grow(f->blocks, f->block_count, &f->block_cap, sizeof(*f->blocks));
        at = (uint32_t)f->block_count++;
    }
    f->blocks[at] = (struct block){.id = id};
    vs_table_add(&f->by_id, vs_hash_number(id), at);
    return &f->blocks[at];
}

/* Append an item to the list of the block; returns its index. */
static uint32_t item_add(struct trc_in_force *f, struct block *block, const struct vs_event *event)
{
    uint32_t at = f->unused_item;

    if (at) {
        f->unused_item = f->items[--at].next;
    } else {
        f->items = vs_grow(f->items, f->item_count, &f->item_cap, sizeof(*f->items));
        at = (uint32_t)f->item_count++;
    }
    f->items[at] = (struct item){.event = *event, .order = f->order, .prev = block->last};
    if (block->last)
        f->items[block->last - 1].next = at + 1;
    else
        block->first = at + 1;
    block->last = at + 1;
    f->used_items++;
    return at;
}

/* ---- rings of holders ---- */

static uint64_t ring_hash(const struct vs_event *event, enum ring ring)
{
    const bool is_save = event->kind == VS_EV_SAVE || event->kind == VS_EV_UNSAVE;
    uint64_t hash = vs_hash_mix(is_save, vs_event_block(event));

    if (is_save) {
        hash = vs_hash_mix(hash, event->save.node << 1 | event->save.is_checkpoint_input);
    } else {
        hash = vs_hash_mix(hash, event->hold.name);
        hash = vs_hash_mix(hash, event->hold.scope << 8 | event->hold.holder);
    }
    return ring == RING_SAME_TENSOR ? vs_hash_mix(hash, event->raw.b) : hash;
}

/* Whether `end`, a drop or unsave, may end what `event` began, or is itself a hold or save of that ring. */
static bool is_of_ring(const struct vs_event *event, const struct vs_event *end, enum ring ring)
{
    const bool is_save = end->kind == VS_EV_SAVE || end->kind == VS_EV_UNSAVE;

    if ((event->kind == VS_EV_SAVE) != is_save || vs_event_block(event) != vs_event_block(end) ||
        (ring == RING_SAME_TENSOR && event->raw.b != end->raw.b)) /* of both kinds, the tensor */
        return false;
    if (is_save)
        return event->save.node == end->save.node &&
               event->save.is_checkpoint_input == end->save.is_checkpoint_input;
    return event->hold.name == end->hold.name && event->hold.scope == end->hold.scope &&
           event->hold.holder == end->hold.holder;
}

/* Move the probe to the oldest holder that `end` may end; false: there is none. */
static bool ring_probe(const struct trc_in_force *f, const struct vs_event *end, enum ring ring,
                       struct vs_probe *probe)
{
    *probe = vs_probe(ring_hash(end, ring));
    while (vs_table_next(&f->oldest[ring], probe))
        if (is_of_ring(&f->items[probe->item].event, end, ring))
            return true;
    return false;
}

static void ring_append(struct trc_in_force *f, uint32_t at, enum ring ring)
{
    struct ring_link *link = &f->items[at].rings[ring];
    struct ring_link *oldest;
    struct vs_probe probe;

    *link = (struct ring_link){at, at};
    if (!ring_probe(f, &f->items[at].event, ring, &probe)) {
        vs_table_add(&f->oldest[ring], ring_hash(&f->items[at].event, ring), at);
        return;
    }
    oldest = &f->items[probe.item].rings[ring];
    *link = (struct ring_link){.next = probe.item, .prev = oldest->prev};
    f->items[oldest->prev].rings[ring].next = at;
    oldest->prev = at;
}

static void ring_remove(struct trc_in_force *f, uint32_t at, enum ring ring)
{
    const struct ring_link link = f->items[at].rings[ring];
    struct vs_probe probe;

    f->items[link.prev].rings[ring].next = link.next;
    f->items[link.next].rings[ring].prev = link.prev;
    if (!ring_probe(f, &f->items[at].event, ring, &probe) || probe.item != at)
        return;
    if (link.next == at)
        vs_table_remove(&f->oldest[ring], &probe);
    else
        vs_table_renumber(&f->oldest[ring], &probe, link.next);
}

static bool is_holder(const struct vs_event *event)
{
    return event->kind == VS_EV_SAVE || event->kind == VS_EV_HOLD;
}

/* ---- removing ---- */

static void item_remove(struct trc_in_force *f, struct block *block, uint32_t number)
{
    struct item *item = &f->items[number - 1];

    if (is_holder(&item->event))
        for (int ring = 0; ring < RING_COUNT; ring++)
            ring_remove(f, number - 1, (enum ring)ring);
    if (item->prev)
        f->items[item->prev - 1].next = item->next;
    else
        block->first = item->next;
    if (item->next)
        f->items[item->next - 1].prev = item->prev;
    else
        block->last = item->prev;
    item->next = f->unused_item;
    item->order = 0;
    f->unused_item = number;
    f->used_items--;
}

static void block_free(struct trc_in_force *f, uint64_t id)
{
    struct vs_probe probe;
    struct block *block;

    if (!block_probe(f, id, &probe))
        return;
    block = &f->blocks[probe.item];
    if (block->first && f->items[block->first - 1].event.kind == VS_EV_ALLOC)
        f->allocated -= f->items[block->first - 1].event.alloc.block_bytes;
    while (block->first)
        item_remove(f, block, block->first);
    block->first = f->unused_block;
    f->unused_block = probe.item + 1;
    vs_table_remove(&f->by_id, &probe);
}

static void category_set(struct trc_in_force *f, const struct vs_event *event)
{
    const struct block *block = block_find(f, event->category.block);

    if (block && block->first && f->items[block->first - 1].event.kind == VS_EV_ALLOC)
        f->items[block->first - 1].event.alloc.category = event->category.category;
}

static void use_note(struct trc_in_force *f, const struct vs_event *event)
{
    struct block *block = event->use.block ? block_find(f, event->use.block) : NULL;

    if (!block)
        return;
    if (block->use)
        item_remove(f, block, block->use);
    (void)item_add(f, block, event);
    block->use = block->last;
}

/* ---- holders ---- */

static void holder_add(struct trc_in_force *f, const struct vs_event *event)
{
    const uint64_t id = vs_event_block(event);
    struct block *block = block_find(f, id);

    uint32_t at;

    if (!block && !id)
        block = block_add(f, 0);
    if (!block)
        return;
    at = item_add(f, block, event);
    for (int ring = 0; ring < RING_COUNT; ring++)
        ring_append(f, at, (enum ring)ring);
}

/* If several match, the oldest of those with the same tensor, or else of all: as replay/state/holders.h. */
static void holder_end(struct trc_in_force *f, const struct vs_event *end)
{
    struct block *block = block_find(f, vs_event_block(end));
    struct vs_probe probe;

    if (block && (ring_probe(f, end, RING_SAME_TENSOR, &probe) ||
                  ring_probe(f, end, RING_ANY_TENSOR, &probe)))
        item_remove(f, block, probe.item + 1);
}

/* ---- segments ---- */

static void segment_add(struct trc_in_force *f, const struct plain *segment)
{
    f->segments = vs_grow(f->segments, f->segment_count, &f->segment_cap, sizeof(*f->segments));
    f->segments[f->segment_count++] = *segment;
}

/* Take a range out of the segments: all of one, its beginning, its end, or its middle. */
static void range_remove(struct trc_in_force *f, uint64_t first, uint64_t end)
{
    const size_t count = f->segment_count;
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct plain segment = f->segments[i];
        const uint64_t from = segment.event.segment.address;
        const uint64_t to = from + segment.event.segment.bytes;

        if (from < first && to > end) {
            struct plain rest = segment;

            rest.event.segment.address = end;
            rest.event.segment.bytes = to - end;
            segment_add(f, &rest);
        }
        if (from < first && to > first)
            segment.event.segment.bytes = first - from;
        else if (from >= first && from < end && to > end) {
            segment.event.segment.address = end;
            segment.event.segment.bytes = to - end;
        }
        if (from < first || to > end)
            f->segments[kept++] = segment;
    }
    for (size_t i = count; i < f->segment_count; i++)
        f->segments[kept++] = f->segments[i];
    f->segment_count = kept;
}

/* ---- events ---- */

static void block_alloc(struct trc_in_force *f, const struct vs_event *event)
{
    block_free(f, event->alloc.block);
    (void)item_add(f, block_add(f, event->alloc.block), event);
    f->allocated += event->alloc.block_bytes;
    if (f->allocated > f->peak.bytes)
        f->peak = (struct trc_peak){.bytes = f->allocated, .event = f->order, .step = f->step};
}

static void running_begin(struct trc_in_force *f, const struct vs_event *event)
{
    f->running = vs_grow(f->running, f->running_count, &f->running_cap, sizeof(*f->running));
    f->running[f->running_count++] = (struct plain){*event, f->order};
}

void trc_in_force_event(struct trc_in_force *f, const struct vs_event *event)
{
    f->order++;
    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        block_alloc(f, event);
        break;
    case VS_EV_FREE:
        block_free(f, event->free.block);
        break;
    case VS_EV_CATEGORY:
        category_set(f, event);
        break;
    case VS_EV_USE:
        use_note(f, event);
        break;
    case VS_EV_SAVE:
    case VS_EV_HOLD:
        holder_add(f, event);
        break;
    case VS_EV_UNSAVE:
    case VS_EV_DROP:
        holder_end(f, event);
        break;
    case VS_EV_SEGMENT_ALLOC:
    case VS_EV_SEGMENT_MAP:
        segment_add(f, &(struct plain){*event, f->order});
        break;
    case VS_EV_SEGMENT_FREE:
    case VS_EV_SEGMENT_UNMAP:
        range_remove(f, event->segment.address, event->segment.address + event->segment.bytes);
        break;
    case VS_EV_OP_BEGIN:
    case VS_EV_RECOMPUTE_BEGIN:
        running_begin(f, event);
        break;
    case VS_EV_OP_END:
    case VS_EV_RECOMPUTE_END:
        f->running_count -= f->running_count > 0;
        break;
    case VS_EV_STEP:
        f->step = vs_event_step(event);
        break;
    case VS_EV_FREE_COMPLETED:
    case VS_EV_OOM:
    case VS_EV_PHASE:
    case VS_EV_ANY_AMP:
    case VS_EVENT_KIND_COUNT:
        break;
    }
}

struct trc_peak trc_in_force_peak(const struct trc_in_force *f)
{
    return f->peak;
}

/* ---- the events in force ---- */

static int by_order(const void *a, const void *b)
{
    const struct plain *x = a;
    const struct plain *y = b;

    return x->order < y->order ? -1 : x->order > y->order;
}

struct vs_event *trc_in_force_events(const struct trc_in_force *f, size_t *count)
{
    const size_t all = f->used_items + f->segment_count + f->running_count;
    struct plain *list = vs_alloc((all + 1) * sizeof(*list));
    struct vs_event *events = vs_alloc((all + 1) * sizeof(*events));
    size_t n = 0;

    for (size_t i = 0; i < f->item_count; i++)
        if (f->items[i].order)
            list[n++] = (struct plain){f->items[i].event, f->items[i].order};
    for (size_t i = 0; i < f->segment_count; i++)
        list[n++] = f->segments[i];
    for (size_t i = 0; i < f->running_count; i++)
        list[n++] = f->running[i];
    VS_ASSERT(n == all);
    qsort(list, all, sizeof(*list), by_order);
    for (size_t i = 0; i < all; i++)
        events[i] = list[i].event;
    vs_free(list);
    *count = all;
    return events;
}
