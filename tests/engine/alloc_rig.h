/*
 * tests/engine/alloc_rig.h - an allocator on a simulated device that counts its events, for tests of the allocator.
 *
 * For:            tests/engine/alloc/.
 * Must not know:  what any test is about.
 * Invariant:      every block that is returned has the requested bytes, or the test fails.
 */
#ifndef TESTS_ENGINE_ALLOC_RIG_H
#define TESTS_ENGINE_ALLOC_RIG_H

#include <stdint.h>

#include "engine/alloc/alloc.h"
#include "engine/alloc/driver.h"

#define MIB UINT64_C(1048576)
#define GIB (UINT64_C(1024) * MIB)

#define assert_u64(a, b) assert_int_equal((uintmax_t)(a), (uintmax_t)(b))

/* counts: events of each kind; last: the last event of each kind. */
struct alloc_rig {
    struct eng_sim_driver *sim;
    struct eng_alloc *alloc;
    const struct eng_alloc_stats *stats;
    unsigned counts[ENG_ALLOC_EV_COUNT];
    struct eng_alloc_event last[ENG_ALLOC_EV_COUNT];
};

/* A device of `total_bytes`, settings in PyTorch's syntax. Fails the test if they are not valid. */
void alloc_rig_init(struct alloc_rig *rig, uint64_t total_bytes, const char *conf_text);
void alloc_rig_release(struct alloc_rig *rig);

/* Allocates a block on the default stream, or on `stream`; fails the test if that is refused. */
struct eng_block *alloc_rig_get(struct alloc_rig *rig, uint64_t bytes);
struct eng_block *alloc_rig_get_on(struct alloc_rig *rig, uint64_t bytes, uint64_t stream);
void alloc_rig_put(struct alloc_rig *rig, struct eng_block *block);

/* The current value of a statistic over all pools, which must be the sum of the small and the large ones. */
uint64_t alloc_rig_now(const struct eng_alloc_stat stat[ENG_STAT_POOLS]);
/* Bytes from the start of the block's segment. */
uint64_t alloc_rig_offset(const struct eng_block *block);

#endif
