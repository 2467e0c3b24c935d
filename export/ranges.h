/*
 * export/ranges.h - which stream and private pool a range of addresses belongs to, while segments come and go.
 *
 * For:            export/snapshot.c: PyTorch tells the stream of every event, a trace that of its segments.
 * Must not know:  events.
 * Invariant:      ranges are in order of address and do not overlap.
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
/* From now on it is this one's; what was there before is cut away. */
void exp_ranges_add(struct exp_ranges *ranges, const struct exp_range *range);
/* It is nobody's any more. O(ranges), as above. */
void exp_ranges_remove(struct exp_ranges *ranges, uint64_t address, uint64_t bytes);
/* Whose the address is; nobody's: all zero. O(log ranges). */
struct exp_range exp_ranges_find(const struct exp_ranges *ranges, uint64_t address);

#endif
