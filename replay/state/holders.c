/*
 * replay/state/holders.c - see holders.h.
 *
 * Must not know:  files, drawing.
 * Invariant:      a slot whose block has no holders has first 0 and stays, until the table grows, so that chains of slots are never broken.
 */
#include "replay/state/holders.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_SLOTS 1024

void rpl_holders_init(struct rpl_holders *h)
{
    memset(h, 0, sizeof(*h));
    h->slot_count = FIRST_SLOTS;
    h->slots = vs_calloc(FIRST_SLOTS, sizeof(*h->slots));
}

void rpl_holders_release(struct rpl_holders *h)
{
    vs_free(h->items);
    vs_free(h->links);
    vs_free(h->slots);
    memset(h, 0, sizeof(*h));
}

void rpl_holders_clear(struct rpl_holders *h)
{
    h->count = h->slot_used = 0;
    memset(h->slots, 0, h->slot_count * sizeof(*h->slots));
}

/* The slot of a block, or the free one where it would go: one that was never used. Its block number is stored + 1. */
static struct rpl_holder_slot *slot_find(const struct rpl_holders *h, uint64_t block)
{
    size_t mask = h->slot_count - 1;
    size_t at = (size_t)((block * UINT64_C(0x9E3779B97F4A7C15)) >> 24) & mask;

    while (h->slots[at].block && h->slots[at].block != block + 1)
        at = (at + 1) & mask;
    return &h->slots[at];
}

/* A table with room: of twice the blocks that have holders, at most. */
static void slots_grow(struct rpl_holders *h)
{
    struct rpl_holder_slot *old = h->slots;
    size_t old_count = h->slot_count;
    size_t live = 0;

    for (size_t i = 0; i < old_count; i++)
        live += old[i].first != 0;
    for (h->slot_count = FIRST_SLOTS; h->slot_count < 4 * live; h->slot_count *= 2)
        continue;
    h->slots = vs_calloc(h->slot_count, sizeof(*h->slots));
    for (size_t i = 0; i < old_count; i++)
        if (old[i].first)
            *slot_find(h, old[i].block - 1) = old[i];
    for (size_t i = 0; i < h->count; i++)
        h->links[i].slot = (uint32_t)(slot_find(h, h->items[i].block) - h->slots);
    h->slot_used = live;
    vs_free(old);
}

static void arrays_grow(struct rpl_holders *h)
{
    if (h->count < h->cap)
        return;
    h->cap = h->cap ? h->cap * 2 : 1024;
    h->items = vs_realloc(h->items, h->cap, sizeof(*h->items));
    h->links = vs_realloc(h->links, h->cap, sizeof(*h->links));
}

/* One more of this block, the latest; its item is the caller's to fill. */
static struct rpl_held *item_add(struct rpl_holders *h, uint64_t block)
{
    struct rpl_holder_slot *slot;
    uint32_t id;

    arrays_grow(h);
    if ((h->slot_used + 1) * 2 > h->slot_count)
        slots_grow(h);
    slot = slot_find(h, block);
    h->slot_used += slot->block == 0;
    slot->block = block + 1;
    slot->count++;
    h->links[h->count] =
        (struct rpl_holder_link){.prev = slot->last, .slot = (uint32_t)(slot - h->slots)};
    id = (uint32_t)++h->count;
    if (slot->last)
        h->links[slot->last - 1].next = id;
    else
        slot->first = id;
    slot->last = id;
    return &h->items[id - 1];
}

void rpl_holders_add(struct rpl_holders *h, const struct rpl_held *held)
{
    *item_add(h, held->block) = *held;
}

/* Holder `from` becomes number `to`, whose place is free. */
static void holder_move(struct rpl_holders *h, size_t from, size_t to)
{
    struct rpl_holder_link link = h->links[from];

    if (link.prev)
        h->links[link.prev - 1].next = (uint32_t)to + 1;
    else
        h->slots[link.slot].first = (uint32_t)to + 1;
    if (link.next)
        h->links[link.next - 1].prev = (uint32_t)to + 1;
    else
        h->slots[link.slot].last = (uint32_t)to + 1;
    h->items[to] = h->items[from];
    h->links[to] = link;
}

/* Take holder `i` off its block, whose slot it is; the last of the array moves to its place. */
static void holder_remove(struct rpl_holders *h, struct rpl_holder_slot *slot, size_t i)
{
    struct rpl_holder_link link = h->links[i];

    if (link.prev)
        h->links[link.prev - 1].next = link.next;
    else
        slot->first = link.next;
    if (link.next)
        h->links[link.next - 1].prev = link.prev;
    else
        slot->last = link.prev;
    slot->count--;
    if (i != --h->count)
        holder_move(h, h->count, i);
}

void rpl_holders_take(struct rpl_holders *h, uint64_t seq, const struct vs_event *event)
{
    struct rpl_held *held;
    struct rpl_holder *holder;

    if (event->a == UINT64_MAX) /* no block: a slot stores the number + 1 */
        return;
    held = item_add(h, event->a);
    holder = &held->holder;
    held->block = event->a;
    *holder =
        (struct rpl_holder){.since_seq = seq, .tensor = (uint32_t)event->b, .place = event->place};
    if (event->kind == VS_EV_SAVE) {
        holder->kind = event->aux ? VS_HOLD_CHECKPOINT : VS_HOLD_SAVED;
        holder->node = event->c;
    } else {
        holder->kind = event->aux < VS_HOLDER_COUNT ? (enum vs_holder)event->aux : VS_HOLD_LOCAL;
        holder->name = (uint32_t)event->c;
        holder->scope = (uint32_t)event->d;
    }
}

/* Autograd's: told by its node. */
static bool is_saved(const struct rpl_holder *holder, const struct vs_event *event)
{
    return holder->node == event->c &&
           holder->kind == (event->aux ? VS_HOLD_CHECKPOINT : VS_HOLD_SAVED);
}

static bool is_named(const struct rpl_holder *holder, const struct vs_event *event)
{
    return holder->name == (uint32_t)event->c && holder->scope == (uint32_t)event->d &&
           holder->kind == (enum vs_holder)event->aux;
}

void rpl_holders_drop(struct rpl_holders *h, const struct vs_event *event)
{
    struct rpl_holder_slot *slot = slot_find(h, event->a);
    bool is_node = event->kind == VS_EV_UNSAVE;
    uint32_t found = 0;

    if (event->a == UINT64_MAX)
        return;
    for (uint32_t at = slot->first; at; at = h->links[at - 1].next) {
        const struct rpl_holder *holder = &h->items[at - 1].holder;

        if (is_node ? !is_saved(holder, event) : !is_named(holder, event))
            continue;
        if (holder->tensor == (uint32_t)event->b) {
            found = at;
            break;
        }
        if (!found)
            found = at;
    }
    if (found)
        holder_remove(h, slot, found - 1);
}

void rpl_holders_free(struct rpl_holders *h, uint64_t block)
{
    struct rpl_holder_slot *slot = slot_find(h, block);

    while (block != UINT64_MAX && slot->first)
        holder_remove(h, slot, slot->first - 1);
}

size_t rpl_holders_first(const struct rpl_holders *h, uint64_t block)
{
    const struct rpl_holder_slot *slot = slot_find(h, block);

    return slot->block && slot->first ? slot->first - 1 : SIZE_MAX;
}

size_t rpl_holders_next(const struct rpl_holders *h, size_t i)
{
    return h->links[i].next ? h->links[i].next - 1 : SIZE_MAX;
}

size_t rpl_holders_beside(const struct rpl_holders *h, size_t i)
{
    return h->slots[h->links[i].slot].count;
}
