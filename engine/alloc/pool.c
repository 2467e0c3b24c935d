/*
 * engine/alloc/pool.c - the pool for a request, and private pools (CUDA graphs, torch.cuda.MemPool).
 *
 * For:            alloc.c, cache.c.
 * Must not know:  how blocks are found.
 * Invariant:      a private pool exists as long as it has a user or owns an area.
 */
#include "engine/alloc/alloc_internal.h"

#include "base/mem.h"

static bool is_same_id(struct eng_pool_id a, struct eng_pool_id b)
{
    return a.graph == b.graph && a.user == b.user;
}

struct eng_private_pool *eng_private_pool_get(struct eng_alloc *alloc, struct eng_pool_id id)
{
    struct eng_private_pool **link = &alloc->private_pools;
    struct eng_private_pool *pool;

    VS_ASSERT(id.graph != 0 || id.user != 0);
    for (; *link; link = &(*link)->next) {
        if (is_same_id((*link)->id, id))
            return *link;
    }
    pool = vs_calloc(1, sizeof(*pool));
    pool->id = id;
    pool->small.is_small = true;
    pool->small.owner = pool;
    pool->large.owner = pool;
    *link = pool;
    return pool;
}

struct eng_pool *eng_pool_for(struct eng_alloc *alloc, uint64_t rounded, uint64_t stream)
{
    const bool is_small = rounded <= ENG_SMALL_BYTES;

    for (size_t i = 0; i < alloc->region_count; i++) {
        const struct eng_pool_region *region = &alloc->regions[i];

        if (region->stream == stream || region->stream == ENG_ANY_STREAM)
            return is_small ? &region->pool->small : &region->pool->large;
    }
    return is_small ? &alloc->small : &alloc->large;
}

void eng_alloc_pool_begin(struct eng_alloc *alloc, struct eng_pool_id id, uint64_t stream)
{
    struct eng_private_pool *pool = eng_private_pool_get(alloc, id);

    pool->use_count++;
    alloc->regions =
        vs_grow(alloc->regions, alloc->region_count, &alloc->region_cap, sizeof(*alloc->regions));
    alloc->regions[alloc->region_count++] =
        (struct eng_pool_region){.pool = pool, .stream = stream};
}

void eng_alloc_pool_end(struct eng_alloc *alloc, struct eng_pool_id id)
{
    size_t i = 0;

    while (i < alloc->region_count && !is_same_id(alloc->regions[i].pool->id, id))
        i++;
    VS_ASSERT(i < alloc->region_count);
    for (alloc->region_count--; i < alloc->region_count; i++)
        alloc->regions[i] = alloc->regions[i + 1];
}

void eng_alloc_pool_release(struct eng_alloc *alloc, struct eng_pool_id id)
{
    struct eng_private_pool *pool = eng_private_pool_get(alloc, id);

    VS_ASSERT(pool->use_count > 0);
    pool->use_count--;
}

void eng_private_pools_prune(struct eng_alloc *alloc)
{
    struct eng_private_pool **link = &alloc->private_pools;

    while (*link) {
        struct eng_private_pool *pool = *link;

        if (pool->use_count == 0 && pool->area_count == 0) {
            *link = pool->next;
            vs_free(pool);
        } else {
            link = &pool->next;
        }
    }
}

void eng_private_pools_release(struct eng_alloc *alloc)
{
    while (alloc->private_pools) {
        struct eng_private_pool *pool = alloc->private_pools;

        alloc->private_pools = pool->next;
        vs_free(pool);
    }
    vs_free(alloc->regions);
}

static uint64_t free_bytes(const struct eng_pool *pool)
{
    uint64_t bytes = 0;

    for (struct eng_set_node *node = eng_set_first(&pool->free); node; node = eng_set_next(node))
        bytes += eng_block_of(node)->bytes;
    return bytes;
}

uint64_t eng_private_pools_free_bytes(const struct eng_alloc *alloc)
{
    uint64_t bytes = 0;

    for (const struct eng_private_pool *pool = alloc->private_pools; pool; pool = pool->next)
        bytes += free_bytes(&pool->small) + free_bytes(&pool->large);
    return bytes;
}
