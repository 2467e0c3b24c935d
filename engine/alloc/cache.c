/*
 * engine/alloc/cache.c - returns cached memory to the driver: on request, when memory is short, and by age.
 *
 * For:            alloc.c.
 * Must not know:  why it is called.
 * Invariant:      only blocks that are a whole segment, or whole granules of an expandable one, are returned.
 */
#include "engine/alloc/alloc_internal.h"

#include "base/mem.h"

/* `block` is free and covers a whole segment from segment_alloc. */
static void release_segment(struct eng_alloc *alloc, struct eng_block *block)
{
    const bool is_small = block->pool->is_small;
    struct eng_area *area = block->area;

    eng_alloc_publish(alloc, ENG_ALLOC_EV_SEGMENT_FREE, block->pool, block->address, block->bytes,
                      block->stream, NULL);
    alloc->driver.segment_free(alloc->driver.user, block->address, block->bytes);
    eng_stat_down(alloc->stats.segment, is_small, 1);
    eng_stat_down(alloc->stats.reserved_bytes, is_small, block->bytes);
    if (block->bytes >= alloc->conf.max_split_bytes)
        eng_stat_one_down(&alloc->stats.oversize_segments);
    alloc->stats.num_device_free++;
    eng_pool_remove_free(block);
    eng_block_recycle(alloc, block);
    eng_area_free(alloc, area);
}

static bool is_whole_segment(const struct eng_block *block)
{
    return !block->area->is_expandable && !eng_block_is_split(block);
}

bool eng_cache_release_available(struct eng_alloc *alloc, const struct eng_request *req)
{
    struct eng_set *free = &req->pool->free;
    struct eng_set_node *node;
    struct eng_set_key key = {{req->stream, req->rounded, 0}};
    uint64_t wanted;
    uint64_t released = 0;

    if (alloc->conf.max_split_bytes == ENG_NO_LIMIT)
        return false;
    wanted =
        req->rounded < alloc->conf.max_split_bytes ? alloc->conf.max_split_bytes : req->rounded;
    key.word[1] = wanted;
    node = eng_set_ceil(free, &key);
    if (node && eng_block_of(node)->stream == req->stream && is_whole_segment(eng_block_of(node))) {
        release_segment(alloc, eng_block_of(node));
        return true;
    }
    node = node ? eng_set_prev(node) : eng_set_last(free);
    while (node && released < wanted && eng_block_of(node)->bytes >= alloc->conf.max_split_bytes &&
           eng_block_of(node)->stream == req->stream) {
        struct eng_block *block = eng_block_of(node);

        node = eng_set_prev(node);
        if (!is_whole_segment(block))
            continue;
        released += block->bytes;
        release_segment(alloc, block);
    }
    return released >= wanted;
}

/*
 * One half of a pool, in the order of its free set; expandable blocks afterwards, because returning them changes the
 * set.
 */
static void release_pool(struct eng_alloc *alloc, struct eng_pool *pool)
{
    struct eng_block **shrink = NULL;
    size_t count = 0;
    size_t cap = 0;
    struct eng_set_node *next;

    for (struct eng_set_node *node = eng_set_first(&pool->free); node; node = next) {
        struct eng_block *block = eng_block_of(node);

        next = eng_set_next(node);
        if (block->area->is_expandable) {
            shrink = vs_grow(shrink, count, &cap, sizeof(struct eng_block *));
            shrink[count++] = block;
        } else if (is_whole_segment(block)) {
            release_segment(alloc, block);
        }
    }
    for (size_t i = 0; i < count; i++)
        eng_expandable_shrink(alloc, shrink[i]);
    vs_free(shrink);
}

void eng_cache_release_all(struct eng_alloc *alloc)
{
    eng_events_synchronize(alloc);
    release_pool(alloc, &alloc->large);
    release_pool(alloc, &alloc->small);
    for (struct eng_private_pool *pool = alloc->private_pools; pool; pool = pool->next) {
        if (pool->use_count)
            continue;
        release_pool(alloc, &pool->small);
        release_pool(alloc, &pool->large);
    }
    eng_private_pools_prune(alloc);
}

void eng_alloc_empty_cache(struct eng_alloc *alloc)
{
    VS_ASSERT(alloc->region_count == 0);
    eng_cache_release_all(alloc);
}

static uint64_t age_of(const struct eng_block *block)
{
    return block->pool->search_count - block->age_base;
}

/*
 * One round: returns every candidate of at least the average age to the driver; the result is the sum of their bytes.
 */
static uint64_t collect_round(struct eng_alloc *alloc, uint64_t *age_sum, uint64_t *count)
{
    const double threshold = (double)*age_sum / (double)*count;
    uint64_t reclaimed = 0;
    struct eng_set_node *next;

    for (struct eng_set_node *node = eng_set_first(&alloc->large.free); node; node = next) {
        struct eng_block *block = eng_block_of(node);

        next = eng_set_next(node);
        if (!is_whole_segment(block) || (double)age_of(block) < threshold)
            continue;
        reclaimed += block->bytes;
        *age_sum -= age_of(block);
        (*count)--;
        release_segment(alloc, block);
    }
    return reclaimed;
}

void eng_cache_collect_garbage(struct eng_alloc *alloc)
{
    const uint64_t reserved = alloc->stats.reserved_bytes[ENG_STAT_ALL].current;
    const uint64_t trigger = (uint64_t)(alloc->conf.gc_threshold * (double)alloc->limit_bytes);
    uint64_t reclaimed = 0;
    uint64_t last = 1;
    uint64_t age_sum = 0;
    uint64_t count = 0;

    if (reserved <= trigger)
        return;
    for (struct eng_set_node *node = eng_set_first(&alloc->large.free); node;
         node = eng_set_next(node)) {
        if (is_whole_segment(eng_block_of(node))) {
            age_sum += age_of(eng_block_of(node));
            count++;
        }
    }
    while (reclaimed < reserved - trigger && last > 0 && count > 0) {
        last = collect_round(alloc, &age_sum, &count);
        reclaimed += last;
    }
}
