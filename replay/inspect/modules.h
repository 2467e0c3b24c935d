/*
 * replay/inspect/modules.h - the model as a tree of modules, with the allocated bytes of each.
 *
 * For:            the modules view and per-module toggles.
 * Must not know:  drawing.
 * Invariant:      every live block belongs to exactly one module, so the root's total is all allocated bytes.
 *
 * A parameter or buffer belongs to its module, a gradient to the module of its parameter, and any other block to the
 * module that was running when it was allocated. Blocks allocated outside all modules (loss, batch, optimizer state)
 * belong to the root.
 */
#ifndef RPL_MODULES_H
#define RPL_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/cursor.h"

/*
 * A module.
 *
 * path         "layer1.0.conv1"; "" for the model itself. Owned by the tree, as is `name`, the last part of the path
 * parent       index of the parent; SIZE_MAX for the root
 * depth        0 for the root
 * child_count  number of direct children; all descendants follow the module in the array
 * below        number of descendants: the first later module that is none has the module's own index + 1 + below
 * own, total   bytes of its own blocks, and of these and all descendants' blocks. by_category adds up to total
 * own_top, total_top   the same at the trace's peak
 * blocks       number of blocks in total
 */
struct rpl_module {
    const char *path;
    const char *name;
    size_t parent;
    size_t depth;
    size_t child_count;
    size_t below;
    uint64_t own;
    uint64_t total;
    uint64_t own_top;
    uint64_t total_top;
    uint64_t blocks;
    uint64_t by_category[VS_CATEGORY_COUNT];
};

struct rpl_modules;

/*
 * Build the tree of the trace; children stand in the order in which the trace first names them. The bytes are 0 except
 * those at the peak. The index is borrowed; the caller frees the tree first. *out is NULL on failure. Errors: those of
 * reading the trace. Costs one seek to the peak, and O(modules + live blocks).
 */
VS_MUST_USE enum vs_status rpl_modules_new(struct rpl_index *index, struct rpl_modules **out,
                                           struct vs_error *err);
void rpl_modules_free(struct rpl_modules *modules);

/* Fill in own, total, blocks and by_category at the cursor, which is one of the same index. O(live blocks). */
VS_MUST_USE enum vs_status rpl_modules_fill(struct rpl_modules *modules,
                                            const struct rpl_cursor *cursor, struct vs_error *err);

/* The modules, the root first, each before its descendants. Borrowed from the tree. */
const struct rpl_module *rpl_modules_all(const struct rpl_modules *modules, size_t *count);

/*
 * *out: index of the module that `block`, which is alive at the cursor, belongs to. Errors: those of reading the trace.
 */
VS_MUST_USE enum vs_status rpl_modules_of(struct rpl_modules *modules,
                                          const struct rpl_cursor *cursor,
                                          const struct rpl_block *block, size_t *out,
                                          struct vs_error *err);

#endif
