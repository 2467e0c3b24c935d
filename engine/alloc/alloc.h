/*
 * engine/alloc/alloc.h - PyTorch's native CUDA caching allocator as a pure module: one object is one device.
 *
 * For:            the engine (every storage on every device goes through one), the replay of recorded traces, tests.
 * Must not know:  tensors, streams other than as numbers, files, the real driver (it stands behind struct eng_alloc_driver).
 * Invariant:      the same calls with the same driver give the same addresses, events and statistics, bit by bit.
 *
 * The rules are those of PyTorch 2.6 (docs/internals/allocator.md names the exceptions). In short: a request is rounded up to 512 bytes;
 * up to 1 MiB it is served from segments of 2 MiB, up to 10 MiB from segments of 20 MiB, above from a segment of its own; the
 * best fitting free block of the same stream and pool is used and split; freed neighbours merge; segments go back to the driver
 * only when it is out of memory or on request.
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
 * The driver: where segments come from. Addresses are labels to the allocator; it never follows them.
 *
 * segment_alloc   cudaMalloc: `bytes` (a multiple of 2 MiB unless large_segment_size_mb is odd). False: out of memory
 * segment_free    cudaFree of a whole segment
 * range_reserve   address space without memory behind it, `bytes` long. NULL, with the next three: expandable segments must not
 *                 be asked for
 * range_release   gives address space back; nothing in it is mapped
 * range_map       memory for [address, address + bytes), whole granules. False: out of memory, and nothing stays mapped
 * range_unmap     takes that memory back
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
 * What just happened, with the figures PyTorch's memory history would hold.
 *
 * address      of the block or the segment's range; for oom the driver's free bytes
 * bytes        alloc and free_*: bytes asked for; segment_*: bytes of the segment or range; oom: the rounded request
 * stream       the block's or the request's stream
 * block        alloc and free_*: the block; else NULL. At free_completed it is not merged yet. Only valid during the call
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

/* Whoever listens. `event` must not call the allocator. A NULL `event` is the same as no listener. */
struct eng_alloc_listener {
    void *user;
    void (*event)(void *user, const struct eng_alloc_event *event);
};

/*
 * When a block that other streams used becomes reusable after its free (see eng_alloc_record_stream).
 *
 * ENG_EVENTS_AT_NEXT_ALLOC  the device has always caught up by the next allocation (outside a pool region)
 * ENG_EVENTS_WHEN_TOLD      when eng_alloc_stream_reached or eng_alloc_put_complete says so, or at a synchronisation
 */
enum eng_alloc_events {
    ENG_EVENTS_AT_NEXT_ALLOC,
    ENG_EVENTS_WHEN_TOLD,
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

/* The caller owns the result. eng_alloc_free returns nothing to the driver and sends no events: the device goes with it. */
VS_MUST_USE struct eng_alloc *eng_alloc_new(const struct eng_alloc_options *opts);
void eng_alloc_free(struct eng_alloc *alloc);

/*
 * Why an allocation failed: everything the message of an OutOfMemoryError says.
 *
 * requested_bytes   what the caller asked for
 * rounded_bytes     the block it would have been
 * segment_bytes     what the driver was asked for ("Tried to allocate")
 * total_bytes       device total; device_free_bytes: free right now, both by the driver
 * limit_bytes       ENG_NO_LIMIT, or what the memory fraction allows
 * allocated_bytes   in blocks handed out; reserved_bytes: in segments
 * private_bytes     free bytes cached in private pools (useless for this request)
 * largest_free_bytes  largest free block of the request's pool and stream (not enough, or it would have been used)
 * is_rejected       refused by throw_on_cudamalloc_oom, without a retry
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

/* The message, in words for the user, into `err` (status VS_E_OOM, which is returned). */
enum vs_status eng_oom_describe(const struct eng_oom *oom, struct vs_error *err);

/*
 * A block of at least `bytes` (> 0; a request for nothing is the caller's business) on `stream` (0: the default stream).
 *
 * out  the block, borrowed until eng_alloc_put; NULL on failure
 * oom  may be NULL; filled on VS_E_OOM and else untouched
 *
 * VS_E_OOM: the driver refused, also after everything that could be returned was returned. The allocator stays usable.
 * O(log free blocks).
 */
VS_MUST_USE enum vs_status eng_alloc_get(struct eng_alloc *alloc, uint64_t bytes, uint64_t stream,
                                         struct eng_block **out, struct eng_oom *oom);

/* Give a block back; the handle is dead afterwards. O(log free blocks). */
void eng_alloc_put(struct eng_alloc *alloc, struct eng_block *block);

/*
 * `stream` uses the block too: after its put the block stays active until the device has done what was queued there at the put.
 * No effect where `stream` is the block's own.
 */
void eng_alloc_record_stream(struct eng_alloc *alloc, struct eng_block *block, uint64_t stream);

/*
 * With ENG_EVENTS_WHEN_TOLD. stream_reached: the device has done everything queued on `stream` up to now; the blocks that waited
 * for it become free at the next allocation. put_complete: this block, which was put and waits, is free at once, whatever it
 * waited for (recorded traces say so).
 */
void eng_alloc_stream_reached(struct eng_alloc *alloc, uint64_t stream);
void eng_alloc_put_complete(struct eng_alloc *alloc, struct eng_block *block);

/* torch.cuda.empty_cache(): wait for the device, then return to the driver what can be returned. No pool region is open. */
void eng_alloc_empty_cache(struct eng_alloc *alloc);

/* torch.cuda.set_per_process_memory_fraction. 0 <= fraction <= 1 of the device's total; 1.0 lifts the limit. */
void eng_alloc_set_memory_fraction(struct eng_alloc *alloc, double fraction);

/* Replace the settings while running, as torch.cuda.memory._set_allocator_settings does. Existing blocks stay as they are. */
void eng_alloc_set_conf(struct eng_alloc *alloc, const struct eng_alloc_conf *conf);
const struct eng_alloc_conf *eng_alloc_conf_get(const struct eng_alloc *alloc);

/* ---- blocks ---- */

enum eng_block_state {
    ENG_BLOCK_INACTIVE,     /* free */
    ENG_BLOCK_ALLOCATED,    /* handed out */
    ENG_BLOCK_PENDING_FREE, /* put, but another stream may still use it */
};

uint64_t eng_block_address(const struct eng_block *block);
/* With rounding and what was not split off. */
uint64_t eng_block_bytes(const struct eng_block *block);
/* What was asked for; of a free block what its last owner asked for. */
uint64_t eng_block_requested_bytes(const struct eng_block *block);
uint64_t eng_block_stream(const struct eng_block *block);
/* Start of its segment or contiguous mapped range. O(blocks of the segment before it). */
uint64_t eng_block_segment_address(const struct eng_block *block);
enum eng_block_state eng_block_state(const struct eng_block *block);
/* A pointer for the owner; NULL after each eng_alloc_get. */
void *eng_block_user(const struct eng_block *block);
void eng_block_set_user(struct eng_block *block, void *user);

/* ---- statistics ---- */

enum eng_stat_pool { ENG_STAT_ALL, ENG_STAT_SMALL, ENG_STAT_LARGE, ENG_STAT_POOLS };

/* allocated and freed are lifetime sums of increases and decreases (until reset). */
struct eng_alloc_stat {
    uint64_t current;
    uint64_t peak;
    uint64_t allocated;
    uint64_t freed;
};

/*
 * torch.cuda.memory_stats(), field by field with its names.
 *
 * allocation, allocated_bytes   blocks handed out and not put
 * active, active_bytes          the same plus put blocks that still wait for a stream
 * requested_bytes               what was asked for, of the active blocks
 * segment                       segments from cudaMalloc; expandable ones are not counted
 * reserved_bytes                segments plus mapped granules
 * inactive_split(_bytes)        free blocks that share a segment with another block; expandable segments are not counted
 * num_alloc_retries             times the whole cache was returned to get one more segment
 * num_device_alloc / free       calls of the driver: cudaMalloc and map, cudaFree and unmap
 * oversize_*                    live blocks and segments of at least max_split_size
 * max_split_size                at the start; ENG_NO_LIMIT where PyTorch prints -1
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

/* Borrowed, valid as long as the allocator, always up to date. */
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
 * From now on allocations on `stream` (or ENG_ANY_STREAM) come from the private pool `id`, made if it is new. Regions may nest;
 * the one that began first wins (PyTorch 2.6). While any region is open no freed block is waited for and a failing allocation
 * does not flush the cache. Each begin adds a user to the pool: pair it with one end and, when its memory may go, one release.
 */
void eng_alloc_pool_begin(struct eng_alloc *alloc, struct eng_pool_id id, uint64_t stream);
void eng_alloc_pool_end(struct eng_alloc *alloc, struct eng_pool_id id);
/* One user less; with none left, flushes may return the pool's segments, and it vanishes with the last of them. */
void eng_alloc_pool_release(struct eng_alloc *alloc, struct eng_pool_id id);

/* ---- what is where ---- */

/*
 * One segment as a memory snapshot shows it; of an expandable segment one contiguous mapped range.
 * `first` is its first block; eng_block_next gives the others in address order. `area_address` is where the address space it lies in
 * begins: of an expandable segment the reservation, else `address`.
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
 * Walk the segments in address order: start with a zeroed `*it`; false at the end. O(log segments + blocks of the segment).
 * The allocator must not be used between calls.
 */
bool eng_alloc_segment_next(const struct eng_alloc *alloc, struct eng_segment *it);
/* The next block of the same segment (mapped range), or NULL. */
const struct eng_block *eng_block_next(const struct eng_block *block);

/* Would a request be served from the cache, without the driver? Changes nothing. */
bool eng_alloc_is_cached(struct eng_alloc *alloc, uint64_t bytes, uint64_t stream);

/* The block size a request of `bytes` (> 0) is rounded to, and the segment the driver would be asked for (PyTorch's rules 3, 4). */
uint64_t eng_alloc_round_bytes(const struct eng_alloc_conf *conf, uint64_t bytes);
uint64_t eng_alloc_segment_bytes(const struct eng_alloc_conf *conf, uint64_t rounded_bytes);

#endif
