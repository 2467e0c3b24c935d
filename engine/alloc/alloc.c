/*
 * engine/alloc/alloc.c - the caching allocator: finding, splitting, allocating and freeing blocks.
 *
 * For:            engine/alloc/alloc.h.
 * Must not know:  tensors, files, the real driver.
 * Invariant:      between any two calls, and for each half of a pool, reserved bytes = active + free bytes.
 *
 * The order of steps in eng_alloc_get is that of PyTorch 2.6 (DeviceCachingAllocator::malloc in
 * c10/cuda/CUDACachingAllocator.cpp). In particular the free blocks are not searched again after memory was returned to
 * the driver: what was freed is only available through the driver.
 */
#include "engine/alloc/alloc.h"

#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "engine/alloc/alloc_internal.h"

const char *eng_alloc_event_name(enum eng_alloc_event_kind kind)
{
    static const char *const names[ENG_ALLOC_EV_COUNT] = {
        [ENG_ALLOC_EV_ALLOC] = "alloc",
        [ENG_ALLOC_EV_FREE_REQUESTED] = "free_requested",
        [ENG_ALLOC_EV_FREE_COMPLETED] = "free_completed",
        [ENG_ALLOC_EV_SEGMENT_ALLOC] = "segment_alloc",
        [ENG_ALLOC_EV_SEGMENT_FREE] = "segment_free",
        [ENG_ALLOC_EV_SEGMENT_MAP] = "segment_map",
        [ENG_ALLOC_EV_SEGMENT_UNMAP] = "segment_unmap",
        [ENG_ALLOC_EV_OOM] = "oom",
    };

    VS_ASSERT(kind < ENG_ALLOC_EV_COUNT);
    return names[kind];
}

struct eng_alloc *eng_alloc_new(const struct eng_alloc_options *opts)
{
    struct eng_alloc *alloc = vs_calloc(1, sizeof(*alloc));
    struct eng_alloc_conf defaults;

    alloc->driver = opts->driver;
    alloc->listener = opts->listener;
    alloc->events = opts->events;
    alloc->small.is_small = true;
    eng_alloc_conf_init(&defaults);
    eng_alloc_set_conf(alloc, opts->conf ? opts->conf : &defaults);
    alloc->stats.max_split_size = alloc->conf.max_split_bytes;
    return alloc;
}

/* Releases reserved addresses in which nothing could be mapped: they belong to no segment that would release them. */
static void area_end(struct eng_alloc *alloc, const struct eng_area *area)
{
    if (area->is_expandable && !area->first->is_mapped && area->first->bytes == area->bytes)
        alloc->driver.range_release(alloc->driver.user, area->address, area->bytes);
}

void eng_alloc_free(struct eng_alloc *alloc)
{
    struct eng_set_node *node;

    if (!alloc)
        return;
    eng_events_release(alloc);
    while ((node = alloc->areas.root)) {
        eng_set_remove(&alloc->areas, node);
        area_end(alloc, (const struct eng_area *)(void *)node);
        vs_free(node); /* the first member of struct eng_area */
    }
    eng_private_pools_release(alloc);
    for (size_t i = 0; i < alloc->slab_count; i++)
        vs_free(alloc->slabs[i]);
    vs_free(alloc->slabs);
    vs_free(alloc);
}

void eng_alloc_set_conf(struct eng_alloc *alloc, const struct eng_alloc_conf *conf)
{
    const bool is_oversize_same = conf->max_split_bytes == alloc->conf.max_split_bytes;
    uint64_t unused;

    VS_ASSERT(!conf->expandable_segments || alloc->driver.range_map);
    alloc->driver.mem_info(alloc->driver.user, &unused, &alloc->total_bytes);
    alloc->conf = *conf;
    if (alloc->conf.max_non_split_rounding == 0)
        alloc->conf.max_non_split_rounding = alloc->conf.large_segment_bytes;
    eng_alloc_set_memory_fraction(alloc, conf->memory_fraction);
    if (!is_oversize_same)
        eng_stats_recount_oversize(alloc);
}

const struct eng_alloc_conf *eng_alloc_conf_get(const struct eng_alloc *alloc)
{
    return &alloc->conf;
}

void eng_alloc_set_memory_fraction(struct eng_alloc *alloc, double fraction)
{
    VS_ASSERT(fraction >= 0.0 && fraction <= 1.0);
    alloc->conf.memory_fraction = fraction;
    alloc->limit_bytes =
        fraction < 1.0 ? (uint64_t)(fraction * (double)alloc->total_bytes) : ENG_NO_LIMIT;
}

void eng_alloc_publish(const struct eng_alloc *alloc, enum eng_alloc_event_kind kind,
                       const struct eng_pool *pool, uint64_t address, uint64_t bytes,
                       uint64_t stream, const struct eng_block *block)
{
    struct eng_alloc_event event;

    if (!alloc->listener.event)
        return;
    event = (struct eng_alloc_event){.kind = kind,
                                     .is_small = pool->is_small,
                                     .address = address,
                                     .bytes = bytes,
                                     .stream = stream,
                                     .block = block};
    alloc->listener.event(alloc->listener.user, &event);
}

/* ---- sizes ---- */

static unsigned log2_floor(uint64_t n)
{
    return 63U - (unsigned)__builtin_clzll(n);
}

uint64_t eng_alloc_round_bytes(const struct eng_alloc_conf *conf, uint64_t bytes)
{
    unsigned magnitude;
    unsigned interval;
    uint64_t divisions;

    if (bytes < ENG_MIN_BLOCK_BYTES)
        return ENG_MIN_BLOCK_BYTES;
    magnitude = log2_floor(bytes);
    interval = magnitude < 20 ? 0 : magnitude - 20;
    if (interval >= ENG_ROUNDUP_INTERVALS)
        interval = ENG_ROUNDUP_INTERVALS - 1;
    divisions = conf->roundup_divisions[interval];
    if (divisions > 1 && bytes > ENG_MIN_BLOCK_BYTES * divisions) {
        uint64_t quantum = (UINT64_C(1) << magnitude) >> log2_floor(divisions);

        /* a power of two is a multiple of the quantum and is not changed by it */
        return vs_bytes_round_up(bytes, quantum);
    }
    return vs_bytes_round_up(bytes, ENG_MIN_BLOCK_BYTES);
}

uint64_t eng_alloc_segment_bytes(const struct eng_alloc_conf *conf, uint64_t rounded_bytes)
{
    if (rounded_bytes <= ENG_SMALL_BYTES)
        return ENG_SMALL_SEGMENT_BYTES;
    if (rounded_bytes < ENG_MIN_LARGE_BYTES)
        return conf->large_segment_bytes;
    return vs_bytes_round_up(rounded_bytes, ENG_LARGE_QUANTUM_BYTES);
}

/* ---- searching ---- */

/* Bytes to which a free block of an expandable segment could grow. */
static uint64_t growable_bytes(const struct eng_block *block)
{
    return block->bytes + (block->next && !block->next->is_mapped ? block->next->bytes : 0);
}

/* Among expandable blocks the one at the growing end counts as very large, so it is used last. */
static struct eng_set_node *prefer_inner(struct eng_set_node *node, uint64_t stream)
{
    struct eng_set_node *next = eng_set_next(node);

    while (eng_block_of(node)->area->is_expandable && next &&
           eng_block_of(next)->stream == stream &&
           growable_bytes(eng_block_of(next)) < growable_bytes(eng_block_of(node))) {
        node = next;
        next = eng_set_next(node);
    }
    return node;
}

/* With expandable segments turned off, remaining blocks of such segments are not used. */
static struct eng_set_node *skip_expandable(struct eng_set_node *node, uint64_t stream)
{
    while (node && eng_block_of(node)->area->is_expandable && eng_block_of(node)->stream == stream)
        node = eng_set_next(node);
    return node && eng_block_of(node)->stream == stream ? node : NULL;
}

/* The free block that serves a request; NULL: there is none, the driver has to be called. */
static struct eng_block *find_free(const struct eng_alloc *alloc, const struct eng_request *req)
{
    const struct eng_set_key key = {{req->stream, req->rounded, 0}};
    struct eng_set_node *node = eng_set_ceil(&req->pool->free, &key);
    struct eng_block *block;

    if (!node || eng_block_of(node)->stream != req->stream)
        return NULL;
    if (eng_block_of(node)->area->is_expandable) {
        node = alloc->conf.expandable_segments ? prefer_inner(node, req->stream)
                                               : skip_expandable(node, req->stream);
        if (!node)
            return NULL;
    }
    block = eng_block_of(node);
    if (req->rounded < alloc->conf.max_split_bytes && block->bytes >= alloc->conf.max_split_bytes)
        return NULL;
    if (req->rounded >= alloc->conf.max_split_bytes &&
        block->bytes >= req->rounded + alloc->conf.max_non_split_rounding)
        return NULL;
    return block;
}

static struct eng_request request_of(struct eng_alloc *alloc, uint64_t bytes, uint64_t stream)
{
    struct eng_request req = {.bytes = bytes, .stream = stream};

    req.rounded = eng_alloc_round_bytes(&alloc->conf, bytes);
    req.segment = eng_alloc_segment_bytes(&alloc->conf, req.rounded);
    req.pool = eng_pool_for(alloc, req.rounded, stream);
    return req;
}

bool eng_alloc_is_cached(struct eng_alloc *alloc, uint64_t bytes, uint64_t stream)
{
    struct eng_request req;

    if (bytes >= ENG_REFUSED_BYTES)
        return false;
    req = request_of(alloc, bytes, stream);
    return find_free(alloc, &req) != NULL;
}

/* ---- the driver ---- */

/* Whether the memory fraction is exceeded: then the driver is not called. */
static bool is_over_limit(const struct eng_alloc *alloc, const struct eng_request *req)
{
    return alloc->limit_bytes != ENG_NO_LIMIT &&
           alloc->stats.reserved_bytes[ENG_STAT_ALL].current + req->segment > alloc->limit_bytes;
}

/* A new block from the driver, in no set; NULL: out of memory. */
static struct eng_block *request_from_driver(struct eng_alloc *alloc, const struct eng_request *req)
{
    struct eng_area *area;
    struct eng_block *block;
    uint64_t address;

    if (is_over_limit(alloc, req))
        return NULL;
    if (alloc->conf.expandable_segments)
        return eng_expandable_grow(alloc, req);
    if (!alloc->driver.segment_alloc(alloc->driver.user, req->segment, &address))
        return NULL;
    area = eng_area_new(alloc, req->pool, address, req->segment);
    block = eng_block_take(alloc, area, address, req->segment, req->stream);
    eng_block_splice(block, NULL, NULL);
    eng_stat_up(alloc->stats.segment, req->pool->is_small, 1);
    eng_stat_up(alloc->stats.reserved_bytes, req->pool->is_small, req->segment);
    if (req->segment >= alloc->conf.max_split_bytes)
        eng_stat_one_up(&alloc->stats.oversize_segments);
    alloc->stats.num_device_alloc++;
    eng_alloc_publish(alloc, ENG_ALLOC_EV_SEGMENT_ALLOC, req->pool, address, req->segment,
                      req->stream, NULL);
    return block;
}

/* Calls the driver; if it fails, again after returning a part of the cache, and again after returning all of it. */
static struct eng_block *obtain(struct eng_alloc *alloc, const struct eng_request *req,
                                bool *out_is_rejected)
{
    struct eng_block *block;

    if (eng_alloc_collects_garbage(alloc))
        eng_cache_collect_garbage(alloc);
    if (alloc->conf.throw_on_cudamalloc_oom && is_over_limit(alloc, req)) {
        alloc->stats.num_oom_rejections++;
        *out_is_rejected = true;
        return NULL;
    }
    block = request_from_driver(alloc, req);
    if (!block && eng_cache_release_available(alloc, req))
        block = request_from_driver(alloc, req);
    if (!block && alloc->region_count == 0) {
        eng_cache_release_all(alloc);
        alloc->stats.num_alloc_retries++;
        block = request_from_driver(alloc, req);
    }
    return block;
}

/* ---- allocating ---- */

static bool should_split(const struct eng_alloc *alloc, const struct eng_block *block,
                         const struct eng_request *req)
{
    uint64_t remaining = block->bytes - req->rounded;

    if (block->pool->is_small || alloc->conf.expandable_segments)
        return remaining >= ENG_MIN_BLOCK_BYTES;
    return req->rounded < alloc->conf.max_split_bytes && remaining > ENG_SMALL_BYTES;
}

/* Splits the front off `rest`, which is the same block with a higher address and becomes free. */
static struct eng_block *split_front(struct eng_alloc *alloc, struct eng_block *rest,
                                     uint64_t bytes)
{
    struct eng_block *front = eng_block_take(alloc, rest->area, rest->address, bytes, rest->stream);

    eng_block_splice(front, rest->prev, rest);
    rest->address += bytes;
    rest->bytes -= bytes;
    eng_pool_insert_free(rest);
    return front;
}

/* `found` is in no set. The result, all of it or its front, is marked as allocated. */
static struct eng_block *hand_out(struct eng_alloc *alloc, struct eng_block *found,
                                  const struct eng_request *req)
{
    struct eng_alloc_stats *stats = &alloc->stats;
    const bool is_small = found->pool->is_small;
    const bool was_split = eng_block_is_split(found);
    const bool counts_splits = !found->area->is_expandable;
    struct eng_block *block = found;

    if (should_split(alloc, found, req)) {
        block = split_front(alloc, found, req->rounded);
        if (counts_splits && was_split) {
            eng_stat_down(stats->inactive_split_bytes, is_small, block->bytes);
        } else if (counts_splits) {
            eng_stat_up(stats->inactive_split_bytes, is_small, found->bytes);
            eng_stat_up(stats->inactive_split, is_small, 1);
        }
    } else if (counts_splits && was_split) {
        eng_stat_down(stats->inactive_split_bytes, is_small, block->bytes);
        eng_stat_down(stats->inactive_split, is_small, 1);
    }
    block->is_allocated = true;
    block->requested_bytes = req->bytes;
    block->user = NULL;
    eng_stat_up(stats->allocation, is_small, 1);
    eng_stat_up(stats->allocated_bytes, is_small, block->bytes);
    eng_stat_up(stats->active, is_small, 1);
    eng_stat_up(stats->active_bytes, is_small, block->bytes);
    eng_stat_up(stats->requested_bytes, is_small, block->requested_bytes);
    if (block->bytes >= alloc->conf.max_split_bytes)
        eng_stat_one_up(&stats->oversize_allocations);
    eng_alloc_publish(alloc, ENG_ALLOC_EV_ALLOC, block->pool, block->address,
                      block->requested_bytes, block->stream, block);
    return block;
}

/* ---- out of memory ---- */

static struct eng_oom oom_of(const struct eng_alloc *alloc, const struct eng_request *req)
{
    struct eng_oom oom = {
        .requested_bytes = req->bytes,
        .rounded_bytes = req->rounded,
        .segment_bytes = req->segment,
        .limit_bytes = alloc->limit_bytes,
        .allocated_bytes = alloc->stats.allocated_bytes[ENG_STAT_ALL].current,
        .reserved_bytes = alloc->stats.reserved_bytes[ENG_STAT_ALL].current,
        .private_bytes = eng_private_pools_free_bytes(alloc),
    };
    const struct eng_set_key past = {{req->stream, UINT64_MAX, UINT64_MAX}};
    struct eng_set_node *largest = req->pool ? eng_set_floor(&req->pool->free, &past) : NULL;

    alloc->driver.mem_info(alloc->driver.user, &oom.device_free_bytes, &oom.total_bytes);
    if (largest && eng_block_of(largest)->stream == req->stream)
        oom.largest_free_bytes = eng_block_of(largest)->bytes;
    return oom;
}

static enum vs_status run_out(struct eng_alloc *alloc, const struct eng_request *req,
                              bool is_rejected, struct eng_oom *out)
{
    struct eng_oom oom = oom_of(alloc, req);

    oom.is_rejected = is_rejected;
    eng_alloc_publish(alloc, ENG_ALLOC_EV_OOM, req->pool, oom.device_free_bytes, req->rounded,
                      req->stream, NULL);
    alloc->stats.num_ooms++;
    if (out)
        *out = oom;
    return VS_E_OOM;
}

enum vs_status eng_oom_describe(const struct eng_oom *oom, struct vs_error *err)
{
    char tried[VS_BYTES_TEXT_MAX], total[VS_BYTES_TEXT_MAX], avail[VS_BYTES_TEXT_MAX];
    char limit[VS_BYTES_TEXT_MAX], allocated[VS_BYTES_TEXT_MAX], cached[VS_BYTES_TEXT_MAX];
    char private[VS_BYTES_TEXT_MAX];
    uint64_t in_use = oom->allocated_bytes + oom->private_bytes;

    vs_bytes_text(oom->segment_bytes, tried);
    vs_bytes_text(oom->total_bytes, total);
    vs_bytes_text(oom->device_free_bytes, avail);
    vs_bytes_text(oom->limit_bytes, limit);
    vs_bytes_text(in_use, allocated);
    vs_bytes_text(oom->private_bytes, private);
    vs_bytes_text(oom->reserved_bytes - in_use, cached);
    return vs_fail(err, VS_E_OOM,
                   "device out of memory: tried to allocate %s; the device has %s, %s of it free; "
                   "%s%s%sallocated %s%s%s%s, reserved but unallocated %s%s",
                   tried, total, avail, oom->limit_bytes == ENG_NO_LIMIT ? "" : "the limit is ",
                   oom->limit_bytes == ENG_NO_LIMIT ? "" : limit,
                   oom->limit_bytes == ENG_NO_LIMIT ? "" : "; ", allocated,
                   oom->private_bytes ? " (" : "", oom->private_bytes ? private : "",
                   oom->private_bytes ? " of it cached in private pools)" : "", cached,
                   oom->is_rejected ? "; refused before any retry (throw_on_cudamalloc_oom)" : "");
}

/* ---- the two calls ---- */

enum vs_status eng_alloc_get(struct eng_alloc *alloc, uint64_t bytes, uint64_t stream,
                             struct eng_block **out, struct eng_oom *oom)
{
    struct eng_request req;
    struct eng_block *block;
    bool is_rejected = false;

    VS_ASSERT(bytes > 0 && stream != ENG_ANY_STREAM);
    *out = NULL;
    if (VS_UNLIKELY(bytes >=
                    ENG_REFUSED_BYTES)) { /* PyTorch checks this first: no event, no count */
        req = (struct eng_request){
            .bytes = bytes, .rounded = bytes, .segment = bytes, .stream = stream};
        if (oom)
            *oom = oom_of(alloc, &req);
        return VS_E_OOM;
    }
    if (alloc->region_count == 0)
        eng_events_process(alloc);
    req = request_of(alloc, bytes, stream);
    if (eng_alloc_collects_garbage(alloc))
        req.pool->search_count++;
    block = find_free(alloc, &req);
    if (block)
        eng_pool_remove_free(block);
    else
        block = obtain(alloc, &req, &is_rejected);
    if (VS_UNLIKELY(!block))
        return run_out(alloc, &req, is_rejected, oom);
    *out = hand_out(alloc, block, &req);
    return VS_OK;
}

void eng_alloc_put(struct eng_alloc *alloc, struct eng_block *block)
{
    const bool is_small = block->pool->is_small;

    VS_ASSERT(block->is_allocated);
    block->is_allocated = false;
    eng_stat_down(alloc->stats.allocation, is_small, 1);
    eng_stat_down(alloc->stats.allocated_bytes, is_small, block->bytes);
    eng_alloc_publish(alloc, ENG_ALLOC_EV_FREE_REQUESTED, block->pool, block->address,
                      block->requested_bytes, block->stream, block);
    if (block->bytes >= alloc->conf.max_split_bytes)
        eng_stat_one_down(&alloc->stats.oversize_allocations);
    if (VS_UNLIKELY(block->uses))
        eng_events_record(alloc, block);
    else
        eng_alloc_complete_put(alloc, block);
}

/*
 * Inactive splits change with the state of the neighbours and of the merged block; PyTorch applies the net change once.
 */
static void book_splits(struct eng_alloc *alloc, const struct eng_block *block, uint64_t gained,
                        uint64_t gained_count)
{
    const bool is_small = block->pool->is_small;
    const uint64_t count = eng_block_is_split(block) ? 1 : 0;
    const uint64_t bytes = count ? block->bytes : 0;

    if (count >= gained_count)
        eng_stat_up(alloc->stats.inactive_split, is_small, count - gained_count);
    else
        eng_stat_down(alloc->stats.inactive_split, is_small, gained_count - count);
    if (bytes >= gained)
        eng_stat_up(alloc->stats.inactive_split_bytes, is_small, bytes - gained);
    else
        eng_stat_down(alloc->stats.inactive_split_bytes, is_small, gained - bytes);
}

void eng_alloc_complete_put(struct eng_alloc *alloc, struct eng_block *block)
{
    const bool is_small = block->pool->is_small;
    const uint64_t bytes = block->bytes;
    uint64_t before;
    uint64_t after;

    eng_alloc_publish(alloc, ENG_ALLOC_EV_FREE_COMPLETED, block->pool, block->address,
                      block->requested_bytes, block->stream, block);
    before = eng_block_merge(alloc, block, block->prev);
    after = eng_block_merge(alloc, block, block->next);
    eng_pool_insert_free(block);
    if (!block->area->is_expandable)
        book_splits(alloc, block, before + after, (before ? 1U : 0U) + (after ? 1U : 0U));
    eng_stat_down(alloc->stats.active, is_small, 1);
    eng_stat_down(alloc->stats.active_bytes, is_small, bytes);
    eng_stat_down(alloc->stats.requested_bytes, is_small, block->requested_bytes);
}
