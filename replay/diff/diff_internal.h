/*
 * replay/diff/diff_internal.h - groups blocks into rows.
 *
 * For:            replay/diff/diff.c.
 * Must not know:  which events are compared, how anything is shown.
 * Invariant:      each block that was added is counted in the part once.
 */
#ifndef RPL_DIFF_INTERNAL_H
#define RPL_DIFF_INTERNAL_H

#include "replay/diff/diff.h"

/*
 * A block that is counted.
 *
 * pair   the same number for an allocation and its counterpart
 * group  together with key and category: identifies the row
 */
struct rpl_item {
    uint64_t pair;
    uint64_t group;
    struct rpl_diff_row row;
};

/* Zero-initialise. */
struct rpl_items {
    struct rpl_item *all;
    size_t count;
    size_t cap;
};

/*
 * Count `bytes` of allocation number `alloc` of a side of `diff`. `module`: the path of its module, which must live as
 * long as the diff.
 */
void rpl_items_add(struct rpl_items *items, struct rpl_diff *diff, const struct rpl_diff_side *side,
                   size_t alloc, enum vs_category category, const char *module, uint64_t bytes);

/*
 * Group the items into `part`, which is zeroed, as diff->options says. The items are released, also on failure.
 * Errors: those of reading the traces.
 */
VS_MUST_USE enum vs_status rpl_items_take(struct rpl_items *items, struct rpl_diff *diff,
                                          struct rpl_diff_part *part, struct vs_error *err);

#endif
