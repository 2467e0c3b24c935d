/*
 * export/ranges.h - the stream and private pool of each address range, updated as segments are created and freed.
 *
 * For:            export/snapshot.c: PyTorch stores the stream with every event, a trace only with its segments.
 * Must not know:  events.
 * Invariant:      the ranges are sorted by address and do not overlap.
 */
#ifndef EXP_RANGES_H
#define EXP_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct exp_range {
    uint64_t address;
    uint64_t bytes;
    uint64_t stream;
    uint64_t pool;
};

/* Zero-initialise. */
struct exp_ranges {
    struct exp_range *items;
    size_t count;
    size_t cap;
};

void exp_ranges_release(struct exp_ranges *ranges);
/* Assign `range`; parts of earlier ranges that it overlaps are removed. */
void exp_ranges_add(struct exp_ranges *ranges, const struct exp_range *range);
/* Remove `bytes` bytes from `address` on. Both functions cost O(ranges). */
void exp_ranges_remove(struct exp_ranges *ranges, uint64_t address, uint64_t bytes);
/* The range that contains `address`; all zero if there is none. O(log ranges). */
struct exp_range exp_ranges_find(const struct exp_ranges *ranges, uint64_t address);

#endif
