/*
 * base/sort.h - radix sort by a 64-bit key.
 *
 * For:            long arrays that are sorted while a user waits: qsort() makes about ten indirect calls for each
 *                 item.
 * Must not know:  what the keys mean.
 * Invariant:      stable: items with equal keys keep their order.
 */
#ifndef VS_BASE_SORT_H
#define VS_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* item: whatever belongs to the key, usually an index */
struct vs_keyed {
    uint64_t key;
    uint64_t item;
};

/*
 * Sorts by key in ascending order. One pass for each group of 11 bits in which keys differ; allocates a temporary
 * array of the same size.
 */
void vs_sort_keyed(struct vs_keyed *items, size_t count);

#endif
