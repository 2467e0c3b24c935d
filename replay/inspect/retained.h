/*
 * replay/inspect/retained.h - what would be freed if a name were gone: the live blocks as a tree of what holds them.
 *
 * For:            the TUI's view of what is retained.
 * Must not know:  drawing.
 * Invariant:      every live block is below exactly one group, so the groups add up to all allocated bytes.
 *
 * A block stands below the deepest node that all its holders have in common (its immediate dominator): below a name
 * that alone holds it; below a group (the variables of a function, the attributes of a module, autograd, …) of which
 * several names hold it; below "several" where holders of different groups do. So the bytes of a node are what would be
 * freed without it, and without anything else changing.
 */
#ifndef RPL_RETAINED_H
#define RPL_RETAINED_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "replay/index/cursor.h"

enum rpl_retained_level { RPL_RETAINED_GROUP, RPL_RETAINED_NAME, RPL_RETAINED_BLOCK };

/* kind of a group that is not one of holders: blocks of several groups, and those that nothing known holds. */
#define RPL_RETAINED_SEVERAL VS_HOLDER_COUNT
#define RPL_RETAINED_NONE (VS_HOLDER_COUNT + 1)

/*
 * A node; those below it follow it.
 *
 * kind       enum vs_holder of the group, or one of the above; name, scope, line: what a name or group is called by, as
 *            in struct rpl_holder. Of autograd: name is that of the module, line where the op ran. Of several groups:
 *            name has a bit for each kind of holder. Where no holder is known: scope is the category plus one
 * is_shared  of a name: the blocks below it are held by several names of the group
 * bytes, blocks   of the blocks below it; of a block its own and 1
 * block      id of a block; otherwise 0
 */
struct rpl_retained_node {
    enum rpl_retained_level level;
    unsigned kind;
    uint32_t name;
    uint32_t scope;
    uint32_t line;
    bool is_shared;
    uint64_t bytes;
    uint64_t blocks;
    uint64_t block;
};

/* nodes: `count` of them, the largest first at each level; bytes, blocks: of all. Zero-initialise. */
struct rpl_retained {
    struct rpl_retained_node *nodes;
    size_t count;
    size_t cap;
    struct rpl_retained_entry *entries;
    size_t entry_cap;
};

/* Fill `out` at the cursor; its memory is used again. O(n log n) for n live blocks and their holders. */
void rpl_retained_fill(struct rpl_retained *out, const struct rpl_cursor *cursor);
void rpl_retained_release(struct rpl_retained *retained);

/* Append what a group or name is, in words: "variables of Net.forward", "x1". Not for blocks. */
void rpl_retained_text(const struct rpl_trace *trace, const struct rpl_retained_node *node,
                       struct vs_text *out);

#endif
