/*
 * replay/inspect/sizes.c - see sizes.h.
 *
 * Must not know:  drawing.
 * Invariant:      a class is found from the highest bit of a size.
 */
#include "replay/inspect/sizes.h"

#include <string.h>

static size_t class_of(uint64_t bytes)
{
    size_t bit = 0;

    while (bytes >>= 1)
        bit++;
    return bit;
}

void rpl_sizes_fill(struct rpl_sizes *out, const struct rpl_live *live)
{
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *block = &live->blocks[i];
        struct rpl_size_class *class = &out->classes[class_of(block->bytes)];

        class->blocks++;
        class->bytes += block->bytes;
        class->requested += block->requested;
        class->by_category[block->category] += block->bytes;
        if (!class->largest || block->bytes > class->largest_bytes ||
            (block->bytes == class->largest_bytes && block->id < class->largest)) {
            class->largest = block->id;
            class->largest_bytes = block->bytes;
        }
    }
    for (size_t i = RPL_SIZE_CLASSES; i-- > 0;)
        out->classes[i].from = UINT64_C(1) << i;
    /* those with blocks, from the end on, to the front: first reversed, then packed */
    for (size_t i = 0; i < RPL_SIZE_CLASSES / 2; i++) {
        struct rpl_size_class held = out->classes[i];

        out->classes[i] = out->classes[RPL_SIZE_CLASSES - 1 - i];
        out->classes[RPL_SIZE_CLASSES - 1 - i] = held;
    }
    for (size_t i = 0; i < RPL_SIZE_CLASSES; i++)
        if (out->classes[i].blocks)
            out->classes[out->count++] = out->classes[i];
}
