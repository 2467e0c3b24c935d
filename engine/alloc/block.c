/*
 * engine/alloc/block.c - blocks and the areas they belong to: creating, merging, keeping the free ones in order.
 *
 * For:            every other file of the allocator.
 * Must not know:  requests, statistics, the driver.
 * Invariant:      area->first is the block at the area's lowest address, as long as the area has blocks.
 */
#include "engine/alloc/alloc_internal.h"

#include <string.h>

#include "base/mem.h"

struct eng_block *eng_block_take(struct eng_alloc *alloc, struct eng_area *area, uint64_t address,
                                 uint64_t bytes, uint64_t stream)
{
    struct eng_block *block;

    if (!alloc->recycled) {
        struct eng_block *slab = vs_calloc(ENG_SLAB_BLOCKS, sizeof(*slab));

        alloc->slabs =
            vs_grow(alloc->slabs, alloc->slab_count, &alloc->slab_cap, sizeof(struct eng_block *));
        alloc->slabs[alloc->slab_count++] = slab;
        for (size_t i = 0; i < ENG_SLAB_BLOCKS; i++)
            eng_block_recycle(alloc, &slab[i]);
    }
    block = alloc->recycled;
    alloc->recycled = block->prev;
    memset(block, 0, sizeof(*block));
    block->address = address;
    block->bytes = bytes;
    block->stream = stream;
    block->area = area;
    block->pool = area->pool;
    block->is_mapped = true;
    return block;
}

void eng_block_recycle(struct eng_alloc *alloc, struct eng_block *block)
{
    block->prev = alloc->recycled;
    alloc->recycled = block;
}

struct eng_area *eng_area_new(struct eng_alloc *alloc, struct eng_pool *pool, uint64_t address,
                              uint64_t bytes)
{
    struct eng_area *area = vs_calloc(1, sizeof(*area));

    area->address = address;
    area->bytes = bytes;
    area->pool = pool;
    eng_set_insert(&alloc->areas, &area->node, (struct eng_set_key){{address, 0, 0}});
    if (pool->owner)
        pool->owner->area_count++;
    return area;
}

void eng_area_free(struct eng_alloc *alloc, struct eng_area *area)
{
    if (area->pool->owner)
        area->pool->owner->area_count--;
    eng_set_remove(&alloc->areas, &area->node);
    vs_free(area);
}

void eng_block_splice(struct eng_block *block, struct eng_block *prev, struct eng_block *next)
{
    block->prev = prev;
    block->next = next;
    if (prev)
        prev->next = block;
    else
        block->area->first = block;
    if (next)
        next->prev = block;
}

uint64_t eng_block_merge(struct eng_alloc *alloc, struct eng_block *dst, struct eng_block *src)
{
    uint64_t gained;

    if (!eng_block_is_available(src) || dst->is_mapped != src->is_mapped)
        return 0;
    if (src->is_mapped)
        eng_pool_remove_free(src);
    else
        eng_pool_remove_unmapped(src);
    if (dst->prev == src) {
        dst->address = src->address;
        eng_block_splice(dst, src->prev, dst->next);
    } else {
        eng_block_splice(dst, dst->prev, src->next);
    }
    gained = src->bytes;
    dst->bytes += gained;
    eng_block_recycle(alloc, src);
    return gained;
}

void eng_pool_insert_free(struct eng_block *block)
{
    block->age_base = block->pool->search_count;
    eng_set_insert(&block->pool->free, &block->node,
                   (struct eng_set_key){{block->stream, block->bytes, block->address}});
}

void eng_pool_remove_free(struct eng_block *block)
{
    eng_set_remove(&block->pool->free, &block->node);
}

void eng_pool_insert_unmapped(struct eng_block *block)
{
    eng_set_insert(&block->pool->unmapped, &block->node,
                   (struct eng_set_key){{block->stream, 0, block->address}});
}

void eng_pool_remove_unmapped(struct eng_block *block)
{
    eng_set_remove(&block->pool->unmapped, &block->node);
}
