/*
 * tests/engine/alloc_naive.h - a second implementation of the caching allocator, as slow and simple as possible.
 *
 * For:            comparing the real one with it on random sequences.
 * Must not know:  engine/alloc/alloc.c: one sorted array of blocks, every search a scan, every statistic a sum over the
 *                 array.
 * Invariant:      blocks[] ascends by address and covers every segment without gaps.
 */
#ifndef TESTS_ENGINE_ALLOC_NAIVE_H
#define TESTS_ENGINE_ALLOC_NAIVE_H

#include "engine/alloc/alloc.h"

enum naive_state { NAIVE_FREE, NAIVE_USED, NAIVE_PENDING, NAIVE_UNMAPPED };

struct naive_segment {
    uint64_t address;
    uint64_t bytes;
    uint64_t granule; /* 0 unless expandable */
    uint64_t stream;
    uint64_t pool; /* 0: the default pool, otherwise the number of a private one */
    bool is_small;
};

struct naive_block {
    uint64_t address;
    uint64_t bytes;
    uint64_t requested;
    uint64_t age_base;
    struct naive_segment *segment;
    enum naive_state state;
    bool is_shared; /* another stream used it */
};

struct naive {
    struct eng_alloc_conf conf;
    struct eng_alloc_driver driver;
    uint64_t limit;
    uint64_t total;
    struct naive_block *blocks;
    size_t count;
    size_t cap;
    /* in the default pools, small and large, while garbage collection is on */
    uint64_t searches[2];
    uint64_t region_pool;   /* 0: no region is open */
    unsigned pool_users[4]; /* of private pools 1..3; without users their memory may be returned */
    uint64_t retries;
    uint64_t ooms;
    uint64_t device_allocs;
    uint64_t device_frees;
    uint64_t peak_allocated;
    uint64_t peak_requested;
};

/* A statistic of the small and of the large pools; that of all pools is their sum. */
struct naive_sums {
    uint64_t allocation[2];
    uint64_t active[2];
    uint64_t segment[2];
    uint64_t inactive_split[2];
    uint64_t allocated_bytes[2];
    uint64_t active_bytes[2];
    uint64_t requested_bytes[2];
    uint64_t reserved_bytes[2];
    uint64_t inactive_split_bytes[2];
};

void naive_init(struct naive *nv, const struct eng_alloc_conf *conf,
                struct eng_alloc_driver driver);
void naive_release(struct naive *nv);
bool naive_get(struct naive *nv, uint64_t bytes, uint64_t stream, uint64_t *out_address);
void naive_put(struct naive *nv, uint64_t address);
void naive_share(struct naive *nv, uint64_t address); /* another stream uses the block */
void naive_empty_cache(struct naive *nv);
struct naive_sums naive_sum(const struct naive *nv);

#endif
