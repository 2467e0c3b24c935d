/*
 * replay/inspect/calltree.h - the live blocks as a tree of the calls that allocated them.
 *
 * For:            the TUI's view of calls.
 * Must not know:  drawing.
 * Invariant:      every live block is below exactly one child of the root, so these add up to all allocated bytes.
 *
 * A recording of a program has a call stack for each allocation: its frames are the levels, the outermost first,
 * except those in torch/nn/modules/module.py, which only call the forward of a module. A trace of a net has the module
 * and the line: its levels are the parts of the module's path, and then function and line. Blocks of which neither is
 * known are below a node without a name.
 */
#ifndef RPL_CALLTREE_H
#define RPL_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/cursor.h"

/*
 * A node: a call. Its number stays the same as long as the tree exists.
 *
 * name      "train.py:step", or a part of a module's path ("layer1"), or a function of a net; "" if not known
 * line      line in it; 0: not known, or a module
 * parent    number of the caller; the root, 0, is its own
 * depth     0: the root
 * bytes, blocks   of the live blocks allocated in this call or below it
 * largest   id of the largest of them, the first of equal ones; 0: there are none
 * is_here   the event at the cursor belongs to this call
 */
struct rpl_call {
    const char *name;
    uint32_t line;
    uint32_t parent;
    uint32_t depth;
    uint64_t bytes;
    uint64_t blocks;
    uint64_t largest;
    uint64_t largest_bytes;
    bool is_here;
};

struct rpl_calltree;

/* An empty tree of a trace. The trace is borrowed; the caller frees the tree first. */
struct rpl_calltree *rpl_calltree_new(const struct rpl_trace *trace);
void rpl_calltree_free(struct rpl_calltree *tree);

/*
 * Sum up the live blocks at the cursor, which is one of the tree's trace. O(live blocks); a block that was not seen
 * before costs a search in the file. Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_calltree_fill(struct rpl_calltree *tree,
                                             const struct rpl_cursor *cursor, struct vs_error *err);

/* Node number `i`; `count` nodes, some of which have no bytes now. Borrowed until the next fill. */
const struct rpl_call *rpl_calltree_all(const struct rpl_calltree *tree, size_t *count);
/*
 * The numbers of the nodes with bytes: each before those below it, and of one caller the one with most bytes first.
 * Borrowed until the next fill.
 */
const uint32_t *rpl_calltree_order(const struct rpl_calltree *tree, size_t *count);

#endif
