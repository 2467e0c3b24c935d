/*
 * replay/state/holders.h - who holds which block while a trace is read.
 *
 * For:            replay/state/state.c.
 * Must not know:  files, drawing.
 * Invariant:      of one block the holders are in the order in which they took hold.
 */
#ifndef RPL_HOLDERS_H
#define RPL_HOLDERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "base/table.h"

/*
 * kind          VS_HOLD_SAVED and VS_HOLD_CHECKPOINT come from `save` events, the others from `hold`
 * since_seq     event that took hold
 * tensor        through which tensor
 * name, scope   string ids as in base/holder.def; for autograd name is the backward node's, 0 where it never ran
 * place         where it took hold
 * node          of autograd; else 0
 */
struct rpl_holder {
    enum vs_holder kind;
    uint64_t since_seq;
    uint32_t tensor;
    uint32_t name;
    uint32_t scope;
    uint32_t location;
    uint64_t node;
};

/* One holder and the block that it holds: 0 where its tensor is on the host. */
struct rpl_held {
    uint64_t block;
    struct rpl_holder holder;
};

/*
 * items     count of them, in no order
 * links     of each: the next one of the same block + 1, the one before + 1, and the number of its block's list
 * lists     of each block that is held: the first and the last of its holders + 1, and how many there are; by_block:
 *           of the lists
 * unused    a list that no block has + 1, of which `first` leads to the next such one
 */
struct rpl_holder_link {
    uint32_t next;
    uint32_t prev;
    uint32_t list;
};
struct rpl_holder_list {
    uint64_t block;
    uint32_t first;
    uint32_t last;
    uint32_t count;
};
struct rpl_holders {
    struct rpl_held *items;
    struct rpl_holder_link *links;
    size_t count;
    size_t cap;
    struct rpl_holder_list *lists;
    size_t list_count;
    size_t list_cap;
    struct vs_table by_block;
    uint32_t unused;
};

void rpl_holders_init(struct rpl_holders *h);
void rpl_holders_release(struct rpl_holders *h);
void rpl_holders_clear(struct rpl_holders *h);

/* Take in a hold or save. */
void rpl_holders_take(struct rpl_holders *h, uint64_t seq, const struct vs_event *event);
/*
 * Take in a drop or unsave: as replay/inspect/why.c, of several that fit, the one that holds the same tensor goes, and
 * of those the oldest. What lets go without having held changes nothing.
 */
void rpl_holders_drop(struct rpl_holders *h, const struct vs_event *event);
/* The block is gone, and whoever held it. */
void rpl_holders_free(struct rpl_holders *h, uint64_t block);
/* One more, the latest of its block. */
void rpl_holders_add(struct rpl_holders *h, const struct rpl_held *held);

/* Number of the first holder of a block, and of the next one of the same block; SIZE_MAX: there is none. */
size_t rpl_holders_first(const struct rpl_holders *h, uint64_t block);
size_t rpl_holders_next(const struct rpl_holders *h, size_t i);
/* How many hold the block that holder `i` holds. */
size_t rpl_holders_count(const struct rpl_holders *h, size_t i);

#endif
