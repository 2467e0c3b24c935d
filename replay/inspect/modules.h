/*
 * replay/inspect/modules.h - the model as a tree of modules, with the bytes of each.
 *
 * For:            the modules view, per-module toggles.
 * Must not know:  drawing.
 * Invariant:      the root's total is all that is allocated: every block belongs to exactly one module.
 *
 * A block belongs to the module of the parameter or buffer it is; the gradient of a parameter to that parameter's module; what else there is
 * to the module that ran when it was made; what was made outside of all modules (loss, batch, the optimizer's state) to the root.
 */
#ifndef RPL_MODULES_H
#define RPL_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/cursor.h"

/*
 * path        "layer1.0.conv1"; "" the model itself. name: its last part. Owned by the tree
 * parent      number of the parent; the root's is SIZE_MAX
 * depth       0 the root
 * child_count direct children; they and all below follow the module in the array
 * below       how many modules are below it: the next one that is not has number own + 1 + below
 * own, total  bytes of its own blocks; of those below, too. by_category adds up to total
 * own_top, total_top   the same at the trace's highest moment
 * blocks      how many its total has
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
 * The tree of a trace; children in the order in which the trace first mentions them. Bytes are 0, but for those at the highest moment,
 * for which it goes there with a cursor of its own. The caller frees it before the index; NULL on failure.
 */
VS_MUST_USE enum vs_status rpl_modules_new(struct rpl_index *index, struct rpl_modules **out,
                                           struct vs_error *err);
void rpl_modules_free(struct rpl_modules *modules);

/* The bytes as they are at the cursor. O(blocks alive). */
VS_MUST_USE enum vs_status rpl_modules_fill(struct rpl_modules *modules,
                                            const struct rpl_cursor *cursor, struct vs_error *err);

/* The modules, the root first, each before those below it. Borrowed until the tree goes. */
const struct rpl_module *rpl_modules_all(const struct rpl_modules *modules, size_t *count);

/* Number of the module that `block`, alive at `cursor`, belongs to. */
VS_MUST_USE enum vs_status rpl_modules_of(struct rpl_modules *modules,
                                          const struct rpl_cursor *cursor,
                                          const struct rpl_block *block, size_t *out,
                                          struct vs_error *err);

#endif
