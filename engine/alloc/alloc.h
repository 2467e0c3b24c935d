/*
 * engine/alloc/alloc.h - PyTorch's native CUDA caching allocator as a pure module: one object is one device.
 *
 * For:            the engine (the storages of a device come from one allocator), replaying recorded traces, tests.
 * Must not know:  tensors, streams other than as numbers, files, the real driver (it is behind struct
 *                 eng_alloc_driver).
 * Invariant:      the same calls with the same driver give exactly the same addresses, events and statistics.
 *
 * The rules are those of PyTorch 2.6 (docs/internals/allocator.md names the exceptions). In short: a request is
 * rounded up to 512 bytes; up to 1 MiB it is served from segments of 2 MiB, up to 10 MiB from segments of 20 MiB,
 * larger ones from a segment of their own; the best fitting free block of the same stream and pool is used and split;
 * neighbouring free blocks are merged; segments are returned to the driver only on request, or when it is out of
 * memory.
 *
 *     struct eng_sim_driver *sim = eng_sim_driver_new(&(struct eng_sim_options){.total_bytes = 80 GiB});
 *     struct eng_alloc_driver driver = eng_sim_driver_get(sim);            (engine/alloc/driver.h)
 *     struct eng_alloc *alloc = eng_alloc_new(&(struct eng_alloc_options){.driver = driver});
 *     st = eng_alloc_get(alloc, bytes, 0, &block, &oom);                    VS_OK or VS_E_OOM
 *     …
 *     eng_alloc_put(alloc, block);
 *
 * Not thread-safe: one caller at a time.
 */
#ifndef ENG_ALLOC_H
#define ENG_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "engine/alloc/conf.h"

struct eng_alloc;
struct eng_block;

/*
 * The driver, which provides segments. The allocator never dereferences addresses.
 *
 * segment_alloc   cudaMalloc of `bytes` (a multiple of 2 MiB unless large_segment_size_mb is odd). False: out of memory
 * segment_free    cudaFree of a whole segment
 * range_reserve   reserves `bytes` of address space without memory. NULL, together with the next three: expandable
 *                 segments must not be enabled
 * range_release   releases reserved address space, in which nothing is mapped
 * range_map       maps memory at [address, address + bytes), whole granules. False: out of memory, and nothing is
 *                 mapped
 * range_unmap     unmaps that memory
 * mem_info        free and total bytes of the device as the driver reports them
 */
struct eng_alloc_driver {
    void *user;
    bool (*segment_alloc)(void *user, uint64_t bytes, uint64_t *out_address);
    void (*segment_free)(void *user, uint64_t address, uint64_t bytes);
    bool (*range_reserve)(void *user, uint64_t bytes, uint64_t *out_address);
    void (*range_release)(void *user, uint64_t address, uint64_t bytes);
    bool (*range_map)(void *user, uint64_t address, uint64_t bytes);
    void (*range_unmap)(void *user, uint64_t address, uint64_t bytes);
    void (*mem_info)(void *user, uint64_t *out_free_bytes, uint64_t *out_total_bytes);
};

enum eng_alloc_event_kind {
    ENG_ALLOC_EV_ALLOC,
    ENG_ALLOC_EV_FREE_REQUESTED,
    ENG_ALLOC_EV_FREE_COMPLETED,
    ENG_ALLOC_EV_SEGMENT_ALLOC,
    ENG_ALLOC_EV_SEGMENT_FREE,
    ENG_ALLOC_EV_SEGMENT_MAP,
    ENG_ALLOC_EV_SEGMENT_UNMAP,
    ENG_ALLOC_EV_OOM,
    ENG_ALLOC_EV_COUNT
};

/* PyTorch's name of the kind in a memory snapshot: "alloc", "free_requested", … */
const char *eng_alloc_event_name(enum eng_alloc_event_kind kind);

/*
 * One allocator event, with the figures that PyTorch's memory history has.
 *
 * address      of the block or the segment's range; for oom the driver's free bytes
 * bytes        alloc and free_*: requested bytes; segment_*: bytes of the segment or range; oom: the rounded request
 * stream       the block's or the request's stream
 * block        alloc and free_*: the block, otherwise NULL; only valid during the call. At free_completed it is not yet
 *              merged with its neighbours
 * is_small     the small pool (requests up to 1 MiB) or the large one
 */
struct eng_alloc_event {
    enum eng_alloc_event_kind kind;
    bool is_small;
    uint64_t address;
    uint64_t bytes;
    uint64_t stream;
    const struct eng_block *block;
};

/* Receives the events. `event` must not call the allocator. NULL: no listener. */
struct eng_alloc_listener {
    void *user;
    void (*event)(void *user, const struct eng_alloc_event *event);
};

/*
 * When a freed block that other streams used becomes reusable (see eng_alloc_record_stream).
 *
 * ENG_EVENTS_AT_NEXT_ALLOC  at the next allocation (outside a pool region): the device is assumed to have finished
 * ENG_EVENTS_EXPLICIT       at eng_alloc_stream_reached, eng_alloc_put_complete or a synchronisation
 */
enum eng_alloc_events {
    ENG_EVENTS_AT_NEXT_ALLOC,
    ENG_EVENTS_EXPLICIT,
};

/*
 * driver    required; copied
 * conf      NULL: PyTorch's defaults; copied
 * listener  may be all zero; copied
 */
struct eng_alloc_options {
    struct eng_alloc_driver driver;
    const struct eng_alloc_conf *conf;
    struct eng_alloc_listener listener;
    enum eng_alloc_events events;
};

/*
 * Creates an allocator; the caller owns it. eng_alloc_free returns nothing to the driver and emits no events: the whole
 * device is discarded.
 */
VS_MUST_USE struct eng_alloc *eng_alloc_new(const struct eng_alloc_options *opts);
void eng_alloc_free(struct eng_alloc *alloc);

/*
 * Why an allocation failed: the figures in the message of PyTorch's OutOfMemoryError.
 *
 * requested_bytes   bytes the caller requested
 * rounded_bytes     the same, rounded up to a block size
 * segment_bytes     requested from the driver ("Tried to allocate")
 * total_bytes       of the device, and device_free_bytes: free bytes, both as the driver reports them
 * limit_bytes       reservable bytes by the memory fraction; ENG_NO_LIMIT: no limit
 * allocated_bytes   in blocks in use; reserved_bytes: in segments
 * private_bytes     free bytes cached in private pools, which this request cannot use
 * largest_free_bytes  largest free block of the request's pool and stream, which is too small
 * is_rejected       refused because of throw_on_cudamalloc_oom, without a retry
 */
struct eng_oom {
    uint64_t requested_bytes;
    uint64_t rounded_bytes;
    uint64_t segment_bytes;
    uint64_t total_bytes;
    uint64_t device_free_bytes;
    uint64_t limit_bytes;
    uint64_t allocated_bytes;
    uint64_t reserved_bytes;
    uint64_t private_bytes;
    uint64_t largest_free_bytes;
    bool is_rejected;
};

/* Writes the message for the user into `err`. Returns its status, VS_E_OOM. */
enum vs_status eng_oom_describe(const struct eng_oom *oom, struct vs_error *err);

/*
 * Allocates a block of at least `bytes` (> 0) on `stream` (0: the default stream).
 *
 * out  the block, borrowed until eng_alloc_put; NULL on failure
 * oom  may be NULL; filled in on VS_E_OOM, otherwise unchanged
 *
 * VS_E_OOM: the driver refused, also after everything that can be returned to it was returned. The allocator stays
 * usable. O(log free blocks).
 */
VS_MUST_USE enum vs_status eng_alloc_get(struct eng_alloc *alloc, uint64_t bytes, uint64_t stream,
                                         struct eng_block **out, struct eng_oom *oom);

/* Frees a block; the handle must not be used afterwards. O(log free blocks). */
void eng_alloc_put(struct eng_alloc *alloc, struct eng_block *block);

/*
 * Notes that `stream` uses the block, too: after its put the block stays active until the device has finished the work
 * that was queued on the stream at the time of the put. No effect if `stream` is the block's own.
 */
void eng_alloc_record_stream(struct eng_alloc *alloc, struct eng_block *block, uint64_t stream);

/*
 * With ENG_EVENTS_EXPLICIT. stream_reached: the device has finished everything queued on `stream` so far; blocks
 * pending on it become free at the next allocation. put_complete: this pending block becomes free at once, whatever it
 * waits for; recorded traces contain this as an event.
 */
void eng_alloc_stream_reached(struct eng_alloc *alloc, uint64_t stream);
void eng_alloc_put_complete(struct eng_alloc *alloc, struct eng_block *block);

/*
 * torch.cuda.empty_cache(): waits for the device, then returns to the driver what can be. No pool region may be open.
 */
void eng_alloc_empty_cache(struct eng_alloc *alloc);

/* torch.cuda.set_per_process_memory_fraction. 0 <= fraction <= 1 of the device's total; 1.0 removes the limit. */
void eng_alloc_set_memory_fraction(struct eng_alloc *alloc, double fraction);

/* Replaces the settings, as torch.cuda.memory._set_allocator_settings does. Existing blocks are not changed. */
void eng_alloc_set_conf(struct eng_alloc *alloc, const struct eng_alloc_conf *conf);
const struct eng_alloc_conf *eng_alloc_conf_get(const struct eng_alloc *alloc);

/* ---- blocks ---- */

enum eng_block_state {
    ENG_BLOCK_INACTIVE,     /* free */
    ENG_BLOCK_ALLOCATED,    /* in use */
    ENG_BLOCK_PENDING_FREE, /* freed, but another stream may still use it */
};

uint64_t eng_block_address(const struct eng_block *block);
/* Including rounding, and a rest that was too small to be split off. */
uint64_t eng_block_bytes(const struct eng_block *block);
/* Requested bytes; for a free block those of its last use. */
uint64_t eng_block_requested_bytes(const struct eng_block *block);
uint64_t eng_block_stream(const struct eng_block *block);
/* Start of its segment or contiguous mapped range. O(blocks of the segment before it). */
uint64_t eng_block_segment_address(const struct eng_block *block);
enum eng_block_state eng_block_state(const struct eng_block *block);
/* A pointer for the caller's use; NULL after each eng_alloc_get. */
void *eng_block_user(const struct eng_block *block);
void eng_block_set_user(struct eng_block *block, void *user);

/* ---- statistics ---- */

enum eng_stat_pool { ENG_STAT_ALL, ENG_STAT_SMALL, ENG_STAT_LARGE, ENG_STAT_POOLS };

/* allocated and freed: the sums of all increases and decreases since the start or the last reset. */
struct eng_alloc_stat {
    uint64_t current;
    uint64_t peak;
    uint64_t allocated;
    uint64_t freed;
};

/*
 * torch.cuda.memory_stats(), field by field with its names.
 *
 * allocation, allocated_bytes   blocks in use
 * active, active_bytes          blocks in use and blocks pending free
 * requested_bytes               requested bytes of the active blocks
 * segment                       segments from cudaMalloc; expandable ones are not counted
 * reserved_bytes                segments plus mapped granules
 * inactive_split(_bytes)        free blocks that share a segment with another block; those of expandable segments are
 *                               not counted
 * num_alloc_retries             times the whole cache was returned to the driver in order to get one more segment
 * num_device_alloc / free       calls of the driver: cudaMalloc and map, cudaFree and unmap
 * oversize_*                    existing blocks and segments of at least max_split_size
 * max_split_size                as set at creation; ENG_NO_LIMIT where PyTorch prints -1
 */
struct eng_alloc_stats {
    struct eng_alloc_stat allocation[ENG_STAT_POOLS];
    struct eng_alloc_stat segment[ENG_STAT_POOLS];
    struct eng_alloc_stat active[ENG_STAT_POOLS];
    struct eng_alloc_stat inactive_split[ENG_STAT_POOLS];
    struct eng_alloc_stat allocated_bytes[ENG_STAT_POOLS];
    struct eng_alloc_stat reserved_bytes[ENG_STAT_POOLS];
    struct eng_alloc_stat active_bytes[ENG_STAT_POOLS];
    struct eng_alloc_stat inactive_split_bytes[ENG_STAT_POOLS];
    struct eng_alloc_stat requested_bytes[ENG_STAT_POOLS];
    struct eng_alloc_stat oversize_allocations;
    struct eng_alloc_stat oversize_segments;
    uint64_t num_alloc_retries;
    uint64_t num_ooms;
    uint64_t num_oom_rejections;
    uint64_t num_sync_all_streams;
    uint64_t num_device_alloc;
    uint64_t num_device_free;
    uint64_t max_split_size;
};

/* Borrowed; valid as long as the allocator, and always current. */
const struct eng_alloc_stats *eng_alloc_stats_get(const struct eng_alloc *alloc);
/* torch.cuda.reset_peak_memory_stats: peak = current. */
void eng_alloc_reset_peak(struct eng_alloc *alloc);
/* torch.cuda.reset_accumulated_memory_stats: sums, retries and OOMs to 0. */
void eng_alloc_reset_accumulated(struct eng_alloc *alloc);

/* ---- private pools (CUDA graphs, torch.cuda.MemPool) ---- */

/* {0, 0} is the default pool; graph captures have {n, 0}, user-created pools {0, n}. */
struct eng_pool_id {
    uint64_t graph;
    uint64_t user;
};

#define ENG_ANY_STREAM UINT64_MAX

/*
 * From now on allocations on `stream` (or ENG_ANY_STREAM) come from the private pool `id`, which is created if it does
 * not exist. Regions may nest; the one that began first has priority (PyTorch 2.6). While a region is open no pending
 * block is completed, and a failing allocation does not flush the cache. Each begin adds a user to the pool: it must be
 * paired with one end and, when the pool's memory may be freed, one release.
 */
void eng_alloc_pool_begin(struct eng_alloc *alloc, struct eng_pool_id id, uint64_t stream);
void eng_alloc_pool_end(struct eng_alloc *alloc, struct eng_pool_id id);
/* Removes a user. Without users the pool's segments may be returned by a flush; it is deleted with the last of them. */
void eng_alloc_pool_release(struct eng_alloc *alloc, struct eng_pool_id id);

/* ---- walking segments and blocks ---- */

/*
 * One segment as a memory snapshot shows it; for an expandable segment, one contiguous mapped range.
 * `first` is its first block; eng_block_next gives the others in address order. `area_address` is the start of the
 * address space that contains it: for an expandable segment the reservation, otherwise `address`.
 */
struct eng_segment {
    uint64_t address;
    uint64_t bytes;
    uint64_t area_address;
    uint64_t allocated_bytes;
    uint64_t active_bytes;
    uint64_t requested_bytes; /* of active blocks */
    uint64_t stream;
    uint64_t block_count;
    struct eng_pool_id pool;
    bool is_small;
    bool is_expandable;
    const struct eng_block *first;
};

/*
 * Visits the segments in address order: pass a zeroed `*it` first; false after the last. O(log segments + blocks of the
 * segment). The allocator must not be used between calls.
 */
bool eng_alloc_segment_next(const struct eng_alloc *alloc, struct eng_segment *it);
/* The next block of the same segment (mapped range), or NULL. */
const struct eng_block *eng_block_next(const struct eng_block *block);

/* Whether a request would be served from the cache, without the driver. Changes nothing. */
bool eng_alloc_is_cached(struct eng_alloc *alloc, uint64_t bytes, uint64_t stream);

/*
 * The block size that a request of `bytes` (> 0) is rounded up to, and the size of the segment that would be requested
 * from the driver for it (PyTorch's rules 3 and 4, docs/internals/allocator.md).
 */
uint64_t eng_alloc_round_bytes(const struct eng_alloc_conf *conf, uint64_t bytes);
uint64_t eng_alloc_segment_bytes(const struct eng_alloc_conf *conf, uint64_t rounded_bytes);

#endif
