/*
 * replay/state/holders.h - which holders each block has while a trace is read.
 *
 * For:            replay/state/state.c.
 * Must not know:  files, drawing.
 * Invariant:      the holders of a block are in the order in which they acquired their references.
 */
#ifndef RPL_HOLDERS_H
#define RPL_HOLDERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "base/table.h"

/*
 * kind         VS_HOLD_SAVED and VS_HOLD_CHECKPOINT come from `save` events, the others from `hold`
 * since_seq    event at which the reference was acquired
 * tensor       the tensor through which the block is held
 * name, scope  string ids, see base/holder.def; for autograd name is that of the backward node, 0 if it never ran
 * location     where the reference was acquired
 * node         number of autograd's node; otherwise 0
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

/* A holder and the block that it holds; block 0: its tensor is on the host. */
struct rpl_held {
    uint64_t block;
    struct rpl_holder holder;
};

/*
 * items     `count` holders, in no order
 * links     per holder: the next and the previous holder of the same block, each + 1, and the index of the block's
 *           list
 * lists     per held block: its first and last holder, each + 1, and their number
 * by_block  finds a block's list
 * unused    the first list without a block, + 1; their `first` links to the next such list
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

/* Add the holder of a `hold` or `save` event. */
void rpl_holders_take(struct rpl_holders *h, uint64_t seq, const struct vs_event *event);
/*
 * Remove the holder of a `drop` or `unsave` event. If several match, the one that holds the same tensor is removed,
 * and of several such the oldest, as in replay/inspect/why.c. A drop without a matching holder changes nothing.
 */
void rpl_holders_drop(struct rpl_holders *h, const struct vs_event *event);
/* Remove all holders of a block that was freed. */
void rpl_holders_free(struct rpl_holders *h, uint64_t block);
/* Add a holder, as the latest of its block. */
void rpl_holders_add(struct rpl_holders *h, const struct rpl_held *held);

/*
 * Index of the first holder of a block, and of the next one of the same block; SIZE_MAX: there is none.
 */
size_t rpl_holders_first(const struct rpl_holders *h, uint64_t block);
size_t rpl_holders_next(const struct rpl_holders *h, size_t i);
/* The number of holders of the block that holder `i` holds. */
size_t rpl_holders_count(const struct rpl_holders *h, size_t i);

#endif
