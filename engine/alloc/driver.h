/*
 * engine/alloc/driver.h - a driver for the caching allocator without a device: it counts bytes and assigns addresses.
 *
 * For:            every run on `cpu` and `meta`, replays, tests.
 * Must not know:  the allocator's rules.
 * Invariant:      the same calls give the same addresses.
 *
 * Addresses: the lowest freed range that is large enough (first fit), otherwise the end of the used address space,
 * which begins at `base`. Neighbouring freed ranges are merged; a range at the end is returned to the unused space.
 * Address space for expandable segments comes from a second region far above, which only grows, so the two never
 * overlap.
 */
#ifndef ENG_ALLOC_DRIVER_H
#define ENG_ALLOC_DRIVER_H

#include <stdint.h>

#include "base/attr.h"
#include "engine/alloc/alloc.h"

struct eng_sim_driver;

/*
 * total_bytes  total memory that the device reports
 * used_bytes   used by others from the start (CUDA context, other processes); the rest can be reserved
 * base         first address of segments; 0: ENG_SIM_BASE
 */
struct eng_sim_options {
    uint64_t total_bytes;
    uint64_t used_bytes;
    uint64_t base;
};

#define ENG_SIM_GRANULE UINT64_C(0x200000)    /* sizes are multiples of 2 MiB */
#define ENG_SIM_BASE UINT64_C(0x700000000000) /* similar to the addresses CUDA returns */

/* Creates a driver; the caller owns it, and it must outlive the allocators that use it. */
VS_MUST_USE struct eng_sim_driver *eng_sim_driver_new(const struct eng_sim_options *opts);
void eng_sim_driver_free(struct eng_sim_driver *sim);

/* The callbacks, for struct eng_alloc_options. Borrow sim. */
struct eng_alloc_driver eng_sim_driver_get(struct eng_sim_driver *sim);

/*
 * Sets the address of the next segment (or address range); further calls set those of the following ones. After them
 * addresses are chosen as above. For replaying recorded segments. The caller makes sure that they do not overlap.
 */
void eng_sim_driver_push_address(struct eng_sim_driver *sim, uint64_t address);

/* Bytes allocated and not freed. */
uint64_t eng_sim_driver_used(const struct eng_sim_driver *sim);
/* Changes the total memory that the device reports. */
void eng_sim_driver_set_total(struct eng_sim_driver *sim, uint64_t bytes);
/* Changes how much others use. With more than is free, every further allocation fails. */
void eng_sim_driver_set_used_by_others(struct eng_sim_driver *sim, uint64_t bytes);

#endif
