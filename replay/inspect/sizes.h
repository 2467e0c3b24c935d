/*
 * replay/inspect/sizes.h - the live blocks by size: a histogram over powers of two.
 *
 * For:            the TUI's view of sizes.
 * Must not know:  drawing.
 * Invariant:      every live block is in exactly one class, so the classes add up to all allocated bytes.
 */
#ifndef RPL_SIZES_H
#define RPL_SIZES_H

#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "replay/state/live.h"

#define RPL_SIZE_CLASSES 64

/*
 * A class: blocks of `from` to 2 * from - 1 bytes.
 *
 * blocks, bytes   number of blocks and their bytes, rounded up by the allocator; requested: what was requested of that
 * by_category     the same bytes by category
 * largest         the largest block; of equal ones the first allocated
 * largest_bytes   its bytes
 */
struct rpl_size_class {
    uint64_t from;
    uint64_t blocks;
    uint64_t bytes;
    uint64_t requested;
    uint64_t by_category[VS_CATEGORY_COUNT];
    uint64_t largest;
    uint64_t largest_bytes;
};

/* classes: `count` of them that have blocks, the largest sizes first. */
struct rpl_sizes {
    struct rpl_size_class classes[RPL_SIZE_CLASSES];
    size_t count;
};

/* Fill `out` with all blocks in `live`. O(blocks). */
void rpl_sizes_fill(struct rpl_sizes *out, const struct rpl_live *live);

#endif
