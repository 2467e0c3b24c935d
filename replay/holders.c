/*
 * replay/holders.c - see holders.h.
 *
 * Must not know:  files, drawing.
 * Invariant:      a slot whose block has no holders has first 0 and stays, until the table grows, so that chains of slots are never broken.
 */
#include "replay/holders.h"

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
    vs_free(h->next);
    vs_free(h->prev);
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
    h->slot_used = live;
    vs_free(old);
}

static void arrays_grow(struct rpl_holders *h)
{
    if (h->count < h->cap)
        return;
    h->cap = h->cap ? h->cap * 2 : 256;
    h->items = vs_realloc(h->items, h->cap, sizeof(*h->items));
    h->next = vs_realloc(h->next, h->cap, sizeof(*h->next));
    h->prev = vs_realloc(h->prev, h->cap, sizeof(*h->prev));
}

void rpl_holders_add(struct rpl_holders *h, const struct rpl_held *held)
{
    struct rpl_holder_slot *slot;
    uint32_t id;

    arrays_grow(h);
    if ((h->slot_used + 1) * 2 > h->slot_count)
        slots_grow(h);
    slot = slot_find(h, held->block);
    h->slot_used += slot->block == 0;
    slot->block = held->block + 1;
    h->items[h->count] = *held;
    h->next[h->count] = 0;
    h->prev[h->count] = slot->last;
    id = (uint32_t)++h->count;
    if (slot->last)
        h->next[slot->last - 1] = id;
    else
        slot->first = id;
    slot->last = id;
}

/* Who points to holder `i` points to `to` from now on (+ 1; 0: to nobody). */
static void links_set(struct rpl_holders *h, struct rpl_holder_slot *slot, size_t i,
                      uint32_t to_next, uint32_t to_prev)
{
    if (h->prev[i])
        h->next[h->prev[i] - 1] = to_next;
    else
        slot->first = to_next;
    if (h->next[i])
        h->prev[h->next[i] - 1] = to_prev;
    else
        slot->last = to_prev;
}

/* Take holder `i` off its block; the last of the array moves to its place. */
static void holder_remove(struct rpl_holders *h, size_t i)
{
    size_t last = h->count - 1;

    links_set(h, slot_find(h, h->items[i].block), i, h->next[i], h->prev[i]);
    h->count--;
    if (i == last)
        return;
    links_set(h, slot_find(h, h->items[last].block), last, (uint32_t)i + 1, (uint32_t)i + 1);
    h->items[i] = h->items[last];
    h->next[i] = h->next[last];
    h->prev[i] = h->prev[last];
}

static struct rpl_held held_of(uint64_t seq, const struct vs_event *event)
{
    struct rpl_held held = {.block = event->a};
    struct rpl_holder *holder = &held.holder;

    holder->since_seq = seq;
    holder->tensor = (uint32_t)event->b;
    holder->place = event->place;
    if (event->kind == VS_EV_SAVE) {
        holder->kind = event->aux ? VS_HOLD_CHECKPOINT : VS_HOLD_SAVED;
        holder->node = event->c;
    } else {
        holder->kind = event->aux < VS_HOLDER_COUNT ? (enum vs_holder)event->aux : VS_HOLD_LOCAL;
        holder->name = (uint32_t)event->c;
        holder->scope = (uint32_t)event->d;
    }
    return held;
}

static bool is_let_go(const struct rpl_holder *holder, const struct vs_event *event)
{
    if (event->kind == VS_EV_UNSAVE)
        return holder->node == event->c &&
               holder->kind == (event->aux ? VS_HOLD_CHECKPOINT : VS_HOLD_SAVED);
    return holder->kind == (enum vs_holder)event->aux && holder->name == (uint32_t)event->c &&
           holder->scope == (uint32_t)event->d;
}

/* As replay/why.c: of several that fit, the one that holds the same tensor goes, and of those the oldest. */
static void let_go(struct rpl_holders *h, const struct vs_event *event)
{
    size_t found = SIZE_MAX;

    for (size_t i = rpl_holders_first(h, event->a); i != SIZE_MAX; i = rpl_holders_next(h, i)) {
        if (!is_let_go(&h->items[i].holder, event))
            continue;
        if (h->items[i].holder.tensor == (uint32_t)event->b) {
            found = i;
            break;
        }
        if (found == SIZE_MAX)
            found = i;
    }
    if (found != SIZE_MAX)
        holder_remove(h, found);
}

void rpl_holders_apply(struct rpl_holders *h, uint64_t seq, const struct vs_event *event)
{
    size_t i;

    if (event->a == UINT64_MAX) /* no block: a slot stores the number + 1 */
        return;
    if (event->kind == VS_EV_HOLD || event->kind == VS_EV_SAVE) {
        struct rpl_held held = held_of(seq, event);

        rpl_holders_add(h, &held);
    } else if (event->kind == VS_EV_DROP || event->kind == VS_EV_UNSAVE) {
        let_go(h, event);
    } else if (event->kind == VS_EV_FREE) {
        while ((i = rpl_holders_first(h, event->a)) != SIZE_MAX)
            holder_remove(h, i);
    }
}

size_t rpl_holders_first(const struct rpl_holders *h, uint64_t block)
{
    const struct rpl_holder_slot *slot = slot_find(h, block);

    return slot->block && slot->first ? slot->first - 1 : SIZE_MAX;
}

size_t rpl_holders_next(const struct rpl_holders *h, size_t i)
{
    return h->next[i] ? h->next[i] - 1 : SIZE_MAX;
}
