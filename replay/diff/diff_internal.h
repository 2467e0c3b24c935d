/*
 * replay/diff/diff_internal.h - from blocks to rows.
 *
 * For:            replay/diff/diff.c.
 * Must not know:  which moments are compared, how anything is shown.
 * Invariant:      what has been added is in the part that is taken, once.
 */
#ifndef RPL_DIFF_INTERNAL_H
#define RPL_DIFF_INTERNAL_H

#include "replay/diff/diff.h"

/*
 * A block that is counted. pair: the same number for an allocation and its counterpart; group: with key and category,
 * the row
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
 * Count `bytes` of allocation number `alloc` of a side of `diff`. `module`: the path it belongs to, which lives as
 * long as the diff.
 */
void rpl_items_add(struct rpl_items *items, struct rpl_diff *diff, const struct rpl_diff_side *side,
                   size_t alloc, enum vs_category category, const char *module, uint64_t bytes);

/*
 * Make a part of them, as diff->options says, which is zero before; there are none then. Also on failure. Errors:
 * those of reading the traces.
 */
VS_MUST_USE enum vs_status rpl_items_take(struct rpl_items *items, struct rpl_diff *diff,
                                          struct rpl_diff_part *part, struct vs_error *err);

#endif
