/*
 * replay/state/holders.c - see holders.h.
 *
 * Must not know:  files, drawing.
 * Invariant:      a block has a list exactly while it has holders.
 */
#include "replay/state/holders.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

void rpl_holders_init(struct rpl_holders *h)
{
    memset(h, 0, sizeof(*h));
}

void rpl_holders_release(struct rpl_holders *h)
{
    vs_free(h->items);
    vs_free(h->links);
    vs_free(h->lists);
    vs_table_release(&h->by_block);
    memset(h, 0, sizeof(*h));
}

void rpl_holders_clear(struct rpl_holders *h)
{
    h->count = h->list_count = 0;
    h->unused = 0;
    vs_table_clear(&h->by_block);
}

/* Move the probe to the block's list; false: the block has no holders. */
static bool probe_find(const struct rpl_holders *h, uint64_t block, struct vs_probe *probe)
{
    *probe = vs_probe(vs_hash_number(block));
    while (vs_table_next(&h->by_block, probe))
        if (h->lists[probe->item].block == block)
            return true;
    return false;
}

/* The index of the block's list, added if the block has no holders. */
static uint32_t list_get(struct rpl_holders *h, uint64_t block)
{
    struct vs_probe probe;
    uint32_t list;

    if (probe_find(h, block, &probe))
        return probe.item;
    if (h->unused) {
        list = h->unused - 1;
        h->unused = h->lists[list].first;
    } else {
        h->lists = vs_grow(h->lists, h->list_count, &h->list_cap, sizeof(*h->lists));
        list = (uint32_t)h->list_count++;
    }
    h->lists[list] = (struct rpl_holder_list){.block = block};
    vs_table_add(&h->by_block, vs_hash_number(block), list);
    return list;
}

/* Remove the list of a block that has no holders left. */
static void list_remove(struct rpl_holders *h, uint32_t list)
{
    struct vs_probe probe;

    if (probe_find(h, h->lists[list].block, &probe))
        vs_table_remove(&h->by_block, &probe);
    h->lists[list].first = h->unused;
    h->unused = list + 1;
}

static void arrays_grow(struct rpl_holders *h)
{
    if (h->count < h->cap)
        return;
    h->cap = h->cap ? h->cap * 2 : 1024;
    h->items = vs_realloc(h->items, h->cap, sizeof(*h->items));
    h->links = vs_realloc(h->links, h->cap, sizeof(*h->links));
}

/* Append a holder to the block's list; the caller fills the returned item. */
static struct rpl_held *item_add(struct rpl_holders *h, uint64_t block)
{
    struct rpl_holder_list *list;
    uint32_t number, id;

    arrays_grow(h);
    number = list_get(h, block);
    list = &h->lists[number];
    list->count++;
    h->links[h->count] = (struct rpl_holder_link){.prev = list->last, .list = number};
    id = (uint32_t)++h->count;
    if (list->last)
        h->links[list->last - 1].next = id;
    else
        list->first = id;
    list->last = id;
    return &h->items[id - 1];
}

void rpl_holders_add(struct rpl_holders *h, const struct rpl_held *held)
{
    *item_add(h, held->block) = *held;
}

/* Move holder `from` to index `to`, which is unused. */
static void holder_move(struct rpl_holders *h, size_t from, size_t to)
{
    struct rpl_holder_link link = h->links[from];

    if (link.prev)
        h->links[link.prev - 1].next = (uint32_t)to + 1;
    else
        h->lists[link.list].first = (uint32_t)to + 1;
    if (link.next)
        h->links[link.next - 1].prev = (uint32_t)to + 1;
    else
        h->lists[link.list].last = (uint32_t)to + 1;
    h->items[to] = h->items[from];
    h->links[to] = link;
}

/* Remove holder `i`; the last of the array takes its index. */
static void holder_remove(struct rpl_holders *h, size_t i)
{
    struct rpl_holder_link link = h->links[i];
    struct rpl_holder_list *list = &h->lists[link.list];

    if (link.prev)
        h->links[link.prev - 1].next = link.next;
    else
        list->first = link.next;
    if (link.next)
        h->links[link.next - 1].prev = link.prev;
    else
        list->last = link.prev;
    if (!--list->count)
        list_remove(h, link.list);
    if (i != --h->count)
        holder_move(h, h->count, i);
}

void rpl_holders_take(struct rpl_holders *h, uint64_t seq, const struct vs_event *event)
{
    const bool is_save = event->kind == VS_EV_SAVE;
    const uint64_t block = vs_event_block(event);
    struct rpl_held *held = item_add(h, block);
    struct rpl_holder *holder = &held->holder;

    held->block = block;
    *holder = (struct rpl_holder){
        .since_seq = seq,
        .tensor = (uint32_t)(is_save ? event->save.tensor : event->hold.tensor),
        .location = event->location,
    };
    if (is_save) {
        holder->kind = event->save.is_checkpoint_input ? VS_HOLD_CHECKPOINT : VS_HOLD_SAVED;
        holder->node = event->save.node;
    } else {
        holder->kind = event->hold.holder < VS_HOLDER_COUNT ? (enum vs_holder)event->hold.holder
                                                            : VS_HOLD_LOCAL;
        holder->name = (uint32_t)event->hold.name;
        holder->scope = (uint32_t)event->hold.scope;
    }
}

/* True if the holder is the one of autograd that the event is about, identified by its node. */
static bool is_saved(const struct rpl_holder *holder, const struct vs_event *event)
{
    return holder->node == event->save.node &&
           holder->kind == (event->save.is_checkpoint_input ? VS_HOLD_CHECKPOINT : VS_HOLD_SAVED);
}

static bool is_named(const struct rpl_holder *holder, const struct vs_event *event)
{
    return holder->name == (uint32_t)event->hold.name &&
           holder->scope == (uint32_t)event->hold.scope &&
           holder->kind == (enum vs_holder)event->hold.holder;
}

void rpl_holders_drop(struct rpl_holders *h, const struct vs_event *event)
{
    bool is_node = event->kind == VS_EV_UNSAVE;
    const uint32_t tensor = (uint32_t)(is_node ? event->save.tensor : event->hold.tensor);
    struct vs_probe probe;
    uint32_t found = 0;

    if (!probe_find(h, vs_event_block(event), &probe))
        return;
    for (uint32_t at = h->lists[probe.item].first; at; at = h->links[at - 1].next) {
        const struct rpl_holder *holder = &h->items[at - 1].holder;

        if (is_node ? !is_saved(holder, event) : !is_named(holder, event))
            continue;
        if (holder->tensor == tensor) {
            found = at;
            break;
        }
        if (!found)
            found = at;
    }
    if (found)
        holder_remove(h, found - 1);
}

void rpl_holders_free(struct rpl_holders *h, uint64_t block)
{
    struct vs_probe probe;

    if (!probe_find(h, block, &probe))
        return;
    for (uint32_t left = h->lists[probe.item].count; left; left--)
        holder_remove(h, h->lists[probe.item].first - 1);
}

size_t rpl_holders_first(const struct rpl_holders *h, uint64_t block)
{
    struct vs_probe probe;

    return probe_find(h, block, &probe) ? h->lists[probe.item].first - 1 : SIZE_MAX;
}

size_t rpl_holders_next(const struct rpl_holders *h, size_t i)
{
    return h->links[i].next ? h->links[i].next - 1 : SIZE_MAX;
}

size_t rpl_holders_count(const struct rpl_holders *h, size_t i)
{
    return h->lists[h->links[i].list].count;
}
