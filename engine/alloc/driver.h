/*
 * engine/alloc/driver.h - a driver for the caching allocator that has no device: it counts bytes and hands out addresses.
 *
 * For:            every run on `cpu` and `meta`, replays, tests.
 * Must not know:  the allocator's rules.
 * Invariant:      the same calls give the same addresses.
 *
 * Address policy: the first free range that is long enough (first fit by address) among those freed before, else the end of what
 * was ever used (bump), starting at `base`. Neighbouring freed ranges join; a range at the end moves the end back. Address space
 * for expandable segments comes from a second region, far above, bump only, so that the two never mix.
 */
#ifndef ENG_ALLOC_DRIVER_H
#define ENG_ALLOC_DRIVER_H

#include <stdint.h>

#include "base/attr.h"
#include "engine/alloc/alloc.h"

struct eng_sim_driver;

/*
 * total_bytes  what the device reports as its total
 * used_bytes   taken by others from the start (CUDA context, other processes); the rest is what can be reserved
 * base         first address of segments; 0: ENG_SIM_BASE
 */
struct eng_sim_options {
    uint64_t total_bytes;
    uint64_t used_bytes;
    uint64_t base;
};

#define ENG_SIM_GRANULE UINT64_C(0x200000)    /* grants are multiples of 2 MiB */
#define ENG_SIM_BASE UINT64_C(0x700000000000) /* looks like a CUDA address */

/* The caller owns it; it must outlive the allocators that use it. */
VS_MUST_USE struct eng_sim_driver *eng_sim_driver_new(const struct eng_sim_options *opts);
void eng_sim_driver_free(struct eng_sim_driver *sim);

/* The callbacks, for struct eng_alloc_options. Borrow sim. */
struct eng_alloc_driver eng_sim_driver_get(struct eng_sim_driver *sim);

/*
 * The next segment (or address range) is put at `address`, the one after at the address given next, and so on, before the policy
 * above takes over again. For replays of recorded segments. The caller sees to it that they do not overlap.
 */
void eng_sim_driver_push_address(struct eng_sim_driver *sim, uint64_t address);

/* Bytes granted and not returned. */
uint64_t eng_sim_driver_used(const struct eng_sim_driver *sim);
/* Change what the device reports as its total. */
void eng_sim_driver_set_total(struct eng_sim_driver *sim, uint64_t bytes);
/* Change how much others take; below what is granted the device is simply full. */
void eng_sim_driver_set_used_by_others(struct eng_sim_driver *sim, uint64_t bytes);

#endif
