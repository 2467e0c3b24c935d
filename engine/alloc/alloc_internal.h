/*
 * engine/alloc/alloc_internal.h - the allocator's structures.
 *
 * For:            alloc.c (allocating and freeing blocks), cache.c (returning memory to the driver), expandable.c,
 *                 events.c (blocks that other streams used), pool.c (private pools), view.c (walking); and adopt.c and
 *                 replay.c of engine/alloc_history/.
 * Must not know:  anything outside the allocator.
 * Invariant:      a free block is either in its pool's free set (if mapped) or in its pool's unmapped set; an allocated
 *                 or pending one is in neither. The blocks of an area cover it without gaps, in address order. Two
 *                 neighbouring free blocks with the same mapped state exist only during a call.
 */
#ifndef ENG_ALLOC_INTERNAL_H
#define ENG_ALLOC_INTERNAL_H

#include "engine/alloc/alloc.h"
#include "engine/alloc/set.h"

#define ENG_MIN_BLOCK_BYTES UINT64_C(512)
/* a rounded request up to this size comes from the small pool */
#define ENG_SMALL_BYTES UINT64_C(1048576)
/* segment, or granule, of the small pool */
#define ENG_SMALL_SEGMENT_BYTES UINT64_C(2097152)
/* a request of this size or more gets a segment of its own */
#define ENG_MIN_LARGE_BYTES UINT64_C(10485760)
/* such a segment is a multiple of this */
#define ENG_LARGE_QUANTUM_BYTES UINT64_C(2097152)
/* segment, or granule, of the large pool unless configured */
#define ENG_LARGE_SEGMENT_BYTES UINT64_C(20971520)
#define ENG_SLAB_BLOCKS 256                   /* block structures allocated at a time */
#define ENG_REFUSED_BYTES (UINT64_C(1) << 60) /* a request of this size or more is always refused */

/* One half of a pool: the free blocks of one size class, of all streams (the stream is the first part of the key). */
struct eng_pool {
    struct eng_set free;            /* key: stream, bytes, address */
    struct eng_set unmapped;        /* key: stream, 0, address */
    struct eng_private_pool *owner; /* NULL: the default pool */
    /* searches so far while garbage collection is on; the ages of blocks are measured in searches */
    uint64_t search_count;
    bool is_small;
};

struct eng_private_pool {
    struct eng_pool_id id;
    struct eng_pool small;
    struct eng_pool large;
    uint64_t use_count;
    uint64_t area_count; /* areas that contain its blocks */
    struct eng_private_pool *next;
};

/* One driver allocation: a segment, or the reserved address space of an expandable one. */
struct eng_area {
    struct eng_set_node node; /* by address; first member */
    uint64_t address;
    uint64_t bytes;
    uint64_t granule; /* expandable: mapped and unmapped in multiples of this; else 0 */
    struct eng_block *first;
    struct eng_pool *pool;
    bool is_expandable;
};

/* A use of a block by a stream other than its own. */
struct eng_stream_use {
    uint64_t stream;
    struct eng_stream_use *next;
};

struct eng_block {
    struct eng_set_node node; /* in pool->free or pool->unmapped; first member */
    uint64_t address;
    uint64_t bytes;
    uint64_t requested_bytes;
    uint64_t stream;
    struct eng_pool *pool;
    struct eng_area *area;
    /* neighbours in the area; of a recycled block, prev is the next recycled one */
    struct eng_block *prev;
    struct eng_block *next;
    struct eng_stream_use *uses;
    void *user;
    uint64_t age_base; /* pool->search_count when it was last put into the free set */
    uint32_t event_count;
    bool is_allocated;
    bool is_mapped;
};

/* The events recorded on one stream, oldest first. */
struct eng_event_queue {
    uint64_t stream;
    struct eng_block **blocks;
    size_t first;
    size_t count;         /* blocks[first .. count) are pending */
    size_t reached_count; /* the next allocation completes blocks[first .. reached_count) */
    size_t cap;
};

/* While it is open, requests on `stream` are served from `pool`. */
struct eng_pool_region {
    struct eng_private_pool *pool;
    uint64_t stream;
};

struct eng_alloc {
    struct eng_alloc_driver driver;
    struct eng_alloc_listener listener;
    struct eng_alloc_conf conf;
    enum eng_alloc_events events;
    uint64_t limit_bytes; /* reservable bytes; ENG_NO_LIMIT: no limit */
    uint64_t total_bytes; /* of the device, as the driver reports them */

    struct eng_pool small;
    struct eng_pool large;
    struct eng_private_pool *private_pools; /* oldest first */
    struct eng_pool_region *regions;        /* open ones, oldest first */
    size_t region_count;
    size_t region_cap;

    struct eng_set areas;
    struct eng_event_queue *queues; /* in order of first use */
    size_t queue_count;
    size_t queue_cap;
    /* freed during a region: their events are recorded when no region is open any more */
    struct eng_block **deferred;
    size_t deferred_count;
    size_t deferred_cap;

    struct eng_alloc_stats stats;

    struct eng_block *recycled; /* linked by prev */
    struct eng_block **slabs;   /* each ENG_SLAB_BLOCKS long */
    size_t slab_count;
    size_t slab_cap;
};

/* An allocation request. */
struct eng_request {
    uint64_t bytes;   /* requested */
    uint64_t rounded; /* size of the block */
    uint64_t segment; /* size of the segment to be requested from the driver */
    uint64_t stream;
    struct eng_pool *pool;
};

/* ---- block.c: blocks, areas, free sets ---- */

/*
 * A block structure, mapped and in no set, with these bytes of `area`, whose pool it belongs to. The caller splices it
 * into the area and gives it back with eng_block_recycle.
 */
struct eng_block *eng_block_take(struct eng_alloc *alloc, struct eng_area *area, uint64_t address,
                                 uint64_t bytes, uint64_t stream);
/* Gives the structure back for reuse; the block must be in no set. */
void eng_block_recycle(struct eng_alloc *alloc, struct eng_block *block);
/* An area at an address that no other area contains, added to alloc->areas; it has no blocks yet. */
struct eng_area *eng_area_new(struct eng_alloc *alloc, struct eng_pool *pool, uint64_t address,
                              uint64_t bytes);
/* Removes an area; the caller has recycled its blocks. */
void eng_area_free(struct eng_alloc *alloc, struct eng_area *area);
/* Links a block between `prev` and `next`, either of which may be NULL (an end of the area). */
void eng_block_splice(struct eng_block *block, struct eng_block *prev, struct eng_block *next);
/* Merges `src`, a neighbour of `dst` or NULL, into `dst` if both are available and alike; returns the bytes gained. */
uint64_t eng_block_merge(struct eng_alloc *alloc, struct eng_block *dst, struct eng_block *src);
/* Put a block into a set of its pool, or take it out. Insert it after its bytes and address have their final values. */
void eng_pool_insert_free(struct eng_block *block);
void eng_pool_remove_free(struct eng_block *block);
void eng_pool_insert_unmapped(struct eng_block *block);
void eng_pool_remove_unmapped(struct eng_block *block);

/* Whether it is a part of its area and not the whole. */
static inline bool eng_block_is_split(const struct eng_block *block)
{
    return block->prev || block->next;
}

/* Free or unmapped, and not pending. */
static inline bool eng_block_is_available(const struct eng_block *block)
{
    return block && !block->is_allocated && block->event_count == 0 && !block->uses;
}

static inline struct eng_block *eng_block_of(struct eng_set_node *node)
{
    return (struct eng_block *)(void *)node; /* the node is the first member */
}

/* ---- stats.c ---- */

/* Add n to a statistic of its pool and to that of all pools, or subtract it: at most what is there. */
void eng_stat_up(struct eng_alloc_stat stat[ENG_STAT_POOLS], bool is_small, uint64_t n);
void eng_stat_down(struct eng_alloc_stat stat[ENG_STAT_POOLS], bool is_small, uint64_t n);
/* The same by one, for a statistic that is not kept by pool. */
void eng_stat_one_up(struct eng_alloc_stat *stat);
void eng_stat_one_down(struct eng_alloc_stat *stat);
/* Recomputes the oversize statistics after max_split_size has changed. O(blocks). */
void eng_stats_recount_oversize(struct eng_alloc *alloc);

/* ---- alloc.c ---- */

/* Reports an event to the listener, if there is one. block: the one concerned; NULL: a segment's event. */
void eng_alloc_publish(const struct eng_alloc *alloc, enum eng_alloc_event_kind kind,
                       const struct eng_pool *pool, uint64_t address, uint64_t bytes,
                       uint64_t stream, const struct eng_block *block);
/* The final part of a put: the block becomes free and is merged. No stream uses it any more. */
void eng_alloc_complete_put(struct eng_alloc *alloc, struct eng_block *block);
/* Whether garbage collection is on: it needs a threshold and a limit. */
static inline bool eng_alloc_collects_garbage(const struct eng_alloc *alloc)
{
    return alloc->limit_bytes != ENG_NO_LIMIT && alloc->conf.gc_threshold > 0;
}

/* ---- events.c ---- */

/* Turns block->uses into events, or, while a region is open, defers that. */
void eng_events_record(struct eng_alloc *alloc, struct eng_block *block);
/* Completes what the device has reached; called at the start of an allocation. */
void eng_events_process(struct eng_alloc *alloc);
/* Completes all events. */
void eng_events_synchronize(struct eng_alloc *alloc);
/* Removes the block's events, as if all were completed. */
void eng_events_forget(struct eng_alloc *alloc, struct eng_block *block);
/* Adds an event on `stream` for `block`. */
void eng_events_expect(struct eng_alloc *alloc, struct eng_block *block, uint64_t stream);
/*
 * Pending block `i` in the order in which a synchronisation completes them; NULL past the last. A block that waits for
 * several streams appears once per stream.
 */
const struct eng_block *eng_events_waiting(const struct eng_alloc *alloc, size_t i);
/* Frees the queues and the uses of all blocks, when the allocator is freed. */
void eng_events_release(struct eng_alloc *alloc);

/* ---- cache.c ---- */

/*
 * Returns unsplit free segments of the large pool to the driver, those of at least average age first, until the
 * reserved bytes are at most gc_threshold times the limit. Does nothing where they are already.
 */
void eng_cache_collect_garbage(struct eng_alloc *alloc);
/*
 * Returns enough oversize segments of the request's pool and stream to the driver to serve it: the smallest that
 * is large enough, otherwise the largest ones until their sum is. Only with max_split_size set. False: there are not
 * that many bytes; some may have been returned all the same.
 */
bool eng_cache_release_available(struct eng_alloc *alloc, const struct eng_request *req);
/*
 * Completes all events, then returns every free segment and every free granule to the driver, except those of private
 * pools in use.
 */
void eng_cache_release_all(struct eng_alloc *alloc);

/* ---- expandable.c ---- */

/* A free block of at least req->rounded bytes, removed from the free set; NULL: out of memory. */
struct eng_block *eng_expandable_grow(struct eng_alloc *alloc, const struct eng_request *req);
/* Unmaps the whole granules inside a free block, and releases the area if nothing of it is left. */
void eng_expandable_shrink(struct eng_alloc *alloc, struct eng_block *block);
/* The granule of a pool's new areas, and the address space reserved for an area, both in bytes. */
uint64_t eng_expandable_granule(const struct eng_alloc *alloc, const struct eng_pool *pool);
uint64_t eng_expandable_reserve_bytes(const struct eng_alloc *alloc, uint64_t granule);
/* Creates the area of a reservation for `pool` and `stream`, as one unmapped block. */
struct eng_area *eng_expandable_area_new(struct eng_alloc *alloc, struct eng_pool *pool,
                                         uint64_t stream, uint64_t address, uint64_t bytes,
                                         uint64_t granule);

/* ---- pool.c ---- */

/* The pool that serves a request of `rounded` bytes on `stream`. */
struct eng_pool *eng_pool_for(struct eng_alloc *alloc, uint64_t rounded, uint64_t stream);
/* The private pool with this id, created if it does not exist. */
struct eng_private_pool *eng_private_pool_get(struct eng_alloc *alloc, struct eng_pool_id id);
/* Frees the structures of all private pools, when the allocator is freed. */
void eng_private_pools_release(struct eng_alloc *alloc);
/* Deletes the private pools that have no users and own no area. */
void eng_private_pools_prune(struct eng_alloc *alloc);
/* Bytes of the free, mapped blocks of all private pools: reserved, and of no use to requests outside of them. */
uint64_t eng_private_pools_free_bytes(const struct eng_alloc *alloc);

#endif
