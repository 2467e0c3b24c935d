/*
 * engine/device/cuda/cuda_segments.h - the ranges of addresses that are device memory now.
 *
 * For:            cuda_device.c.
 * Must not know:  CUDA, what the memory is used for.
 * Invariant:      ranges do not overlap. Adding and removing cost time proportional to the number of ranges (some
 *                 hundreds), finding its logarithm.
 */
#ifndef ENG_DEVICE_CUDA_SEGMENTS_H
#define ENG_DEVICE_CUDA_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cuda_segment;

/* Zero it to begin with. */
struct cuda_segments {
    struct cuda_segment *sorted; /* by address, ascending */
    size_t count;
    size_t cap;
};

void cuda_segments_add(struct cuda_segments *set, uint64_t address, uint64_t bytes);
/* `address` must be the first address of a range that was added. */
void cuda_segments_remove(struct cuda_segments *set, uint64_t address);
bool cuda_segments_has(const struct cuda_segments *set, uint64_t address);
void cuda_segments_free(struct cuda_segments *set);

#endif
