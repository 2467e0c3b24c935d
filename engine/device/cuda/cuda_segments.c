/*
 * engine/device/cuda/cuda_segments.c - see cuda_segments.h.
 *
 * Must not know:  CUDA, what the memory is used for.
 * Invariant:      the ranges are kept sorted by address.
 */
#include "engine/device/cuda/cuda_segments.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

struct cuda_segment {
    uint64_t address;
    uint64_t bytes;
};

/* The first range above `address`. */
static size_t above(const struct cuda_segments *set, uint64_t address)
{
    size_t lo = 0;
    size_t hi = set->count;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (set->sorted[mid].address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void cuda_segments_add(struct cuda_segments *set, uint64_t address, uint64_t bytes)
{
    size_t at = above(set, address);

    if (set->count == set->cap) {
        set->cap = set->cap ? 2 * set->cap : 64;
        set->sorted = vs_realloc(set->sorted, set->cap, sizeof(*set->sorted));
    }
    memmove(set->sorted + at + 1, set->sorted + at, (set->count - at) * sizeof(*set->sorted));
    set->sorted[at] = (struct cuda_segment){address, bytes};
    set->count++;
}

void cuda_segments_remove(struct cuda_segments *set, uint64_t address)
{
    size_t at = above(set, address);

    VS_ASSERT(at > 0 && set->sorted[at - 1].address == address);
    memmove(set->sorted + at - 1, set->sorted + at, (set->count - at) * sizeof(*set->sorted));
    set->count--;
}

bool cuda_segments_has(const struct cuda_segments *set, uint64_t address)
{
    size_t at = above(set, address);

    return at > 0 && address < set->sorted[at - 1].address + set->sorted[at - 1].bytes;
}

void cuda_segments_free(struct cuda_segments *set)
{
    vs_free(set->sorted);
    *set = (struct cuda_segments){0};
}
