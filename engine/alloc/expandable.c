/*
 * engine/alloc/expandable.c - expandable segments: address space is reserved once, memory is mapped and unmapped in
 * granules.
 *
 * For:            alloc.c, cache.c.
 * Must not know:  how requests are rounded or blocks split.
 * Invariant:      an area consists of mapped and unmapped blocks; unmapped blocks begin and end at multiples of the
 *                 granule from the area's start; two unmapped blocks are never neighbours.
 */
#include "engine/alloc/alloc_internal.h"

#include "base/bytes.h"

struct eng_area *eng_expandable_area_new(struct eng_alloc *alloc, struct eng_pool *pool,
                                         uint64_t stream, uint64_t address, uint64_t bytes,
                                         uint64_t granule)
{
    struct eng_area *area = eng_area_new(alloc, pool, address, bytes);
    struct eng_block *block;

    area->is_expandable = true;
    area->granule = granule;
    block = eng_block_take(alloc, area, address, bytes, stream);
    block->is_mapped = false;
    eng_block_splice(block, NULL, NULL);
    eng_pool_insert_unmapped(block);
    return area;
}

uint64_t eng_expandable_granule(const struct eng_alloc *alloc, const struct eng_pool *pool)
{
    return pool->is_small ? ENG_SMALL_SEGMENT_BYTES : alloc->conf.large_segment_bytes;
}

/* Nine eighths of the device, or as set, in whole granules. */
uint64_t eng_expandable_reserve_bytes(const struct eng_alloc *alloc, uint64_t granule)
{
    const uint64_t total = alloc->total_bytes;
    const uint64_t most = total + total / 8;
    uint64_t bytes = most;

    if (alloc->conf.expandable_reserve_bytes)
        bytes = alloc->conf.expandable_reserve_bytes;
    else if (alloc->conf.expandable_reserve > 0 && alloc->conf.expandable_reserve < 2)
        bytes = (uint64_t)(alloc->conf.expandable_reserve * (double)total);
    return vs_bytes_round_up(bytes < most ? bytes : most, granule);
}

/* Whether `block` and those after it have `bytes`, all of them free or unmapped. */
static bool has_capacity(const struct eng_block *block, uint64_t bytes)
{
    uint64_t capacity = 0;

    while (capacity < bytes && eng_block_is_available(block)) {
        capacity += block->bytes;
        block = block->next;
    }
    return capacity >= bytes;
}

/* The lowest block from which a request can grow: an unmapped one or the free one before it. NULL: no address space. */
static struct eng_block *find_growable(struct eng_alloc *alloc, const struct eng_request *req)
{
    const struct eng_set_key key = {{req->stream, 0, 0}};
    const uint64_t granule = eng_expandable_granule(alloc, req->pool);
    const uint64_t bytes = eng_expandable_reserve_bytes(alloc, granule);
    struct eng_set_node *node = eng_set_ceil(&req->pool->unmapped, &key);
    uint64_t address;

    for (; node && eng_block_of(node)->stream == req->stream; node = eng_set_next(node)) {
        struct eng_block *block = eng_block_of(node);

        if (eng_block_is_available(block->prev))
            block = block->prev;
        if (has_capacity(block, req->rounded))
            return block;
    }
    if (req->rounded > bytes || !alloc->driver.range_reserve(alloc->driver.user, bytes, &address))
        return NULL;
    return eng_expandable_area_new(alloc, req->pool, req->stream, address, bytes, granule)->first;
}

/*
 * Maps the first `bytes` of an unmapped block, rounded up to granules, and merges it with its free neighbours. False:
 * out of memory.
 */
static bool map_front(struct eng_alloc *alloc, struct eng_block *block, uint64_t bytes)
{
    const uint64_t mapped = vs_bytes_round_up(bytes, block->area->granule);
    const uint64_t address = block->address;
    const bool is_small = block->pool->is_small;

    VS_ASSERT(!block->is_mapped && mapped <= block->bytes);
    if (!alloc->driver.range_map(alloc->driver.user, address, mapped))
        return false;
    eng_pool_remove_unmapped(block);
    block->is_mapped = true;
    if (mapped < block->bytes) {
        struct eng_block *rest = eng_block_take(alloc, block->area, address + mapped,
                                                block->bytes - mapped, block->stream);

        rest->is_mapped = false;
        eng_block_splice(rest, block, block->next);
        eng_pool_insert_unmapped(rest);
        block->bytes = mapped;
    }
    eng_block_merge(alloc, block, block->prev);
    eng_block_merge(alloc, block, block->next);
    eng_pool_insert_free(block);
    eng_stat_up(alloc->stats.reserved_bytes, is_small, mapped);
    alloc->stats.num_device_alloc++;
    eng_alloc_publish(alloc, ENG_ALLOC_EV_SEGMENT_MAP, block->pool, address, mapped, block->stream,
                      NULL);
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct eng_block *eng_expandable_grow(struct eng_alloc *alloc, const struct eng_request *req)
{
    struct eng_block *block = find_growable(alloc, req);

    if (!block)
        return NULL;
    if (!block->is_mapped && !map_front(alloc, block, least(block->bytes, req->rounded)))
        return NULL;
    while (block->bytes < req->rounded) {
        struct eng_block *next = block->next; /* unmapped; merges `block` when it is mapped */

        if (!map_front(alloc, next, least(req->rounded - block->bytes, next->bytes)))
            return NULL; /* what is mapped already is kept as a free block */
        block = next;
    }
    eng_pool_remove_free(block);
    return block;
}

/* Splits [block->address, address) off as a separate free block. */
static void leave_free(struct eng_alloc *alloc, struct eng_block *block, uint64_t address,
                       uint64_t bytes, struct eng_block *prev, struct eng_block *next)
{
    struct eng_block *piece = eng_block_take(alloc, block->area, address, bytes, block->stream);

    eng_block_splice(piece, prev, next);
    eng_pool_insert_free(piece);
}

/* Unmaps the whole granules inside the block; the rest stays free. False: it contains none. */
static bool unmap_inner(struct eng_alloc *alloc, struct eng_block *block)
{
    const struct eng_area *area = block->area;
    const uint64_t block_end = block->address + block->bytes;
    const uint64_t begin =
        area->address + vs_bytes_round_up(block->address - area->address, area->granule);
    const uint64_t end = block_end - (block_end - area->address) % area->granule;

    if (begin >= end)
        return false;
    alloc->driver.range_unmap(alloc->driver.user, begin, end - begin);
    eng_pool_remove_free(block);
    if (begin > block->address)
        leave_free(alloc, block, block->address, begin - block->address, block->prev, block);
    if (end < block_end)
        leave_free(alloc, block, end, block_end - end, block, block->next);
    block->address = begin;
    block->bytes = end - begin;
    block->is_mapped = false;
    eng_block_merge(alloc, block, block->prev);
    eng_block_merge(alloc, block, block->next);
    eng_pool_insert_unmapped(block);
    eng_stat_down(alloc->stats.reserved_bytes, block->pool->is_small, end - begin);
    alloc->stats.num_device_free++;
    eng_alloc_publish(alloc, ENG_ALLOC_EV_SEGMENT_UNMAP, block->pool, begin, end - begin,
                      block->stream, NULL);
    return true;
}

void eng_expandable_shrink(struct eng_alloc *alloc, struct eng_block *block)
{
    struct eng_area *area = block->area;

    if (!unmap_inner(alloc, block) || eng_block_is_split(block))
        return;
    eng_pool_remove_unmapped(block);
    eng_block_recycle(alloc, block);
    alloc->driver.range_release(alloc->driver.user, area->address, area->bytes);
    eng_area_free(alloc, area);
}
