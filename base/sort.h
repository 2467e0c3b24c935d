/*
 * base/sort.h - sorting by a number, without a comparison.
 *
 * For:            long lists that are sorted while somebody waits: qsort() calls back some ten times an item.
 * Must not know:  what the numbers mean.
 * Invariant:      items of equal keys keep their order.
 */
#ifndef VS_BASE_SORT_H
#define VS_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* item: whatever the key belongs to, an index most often */
struct vs_keyed {
    uint64_t key;
    uint64_t item;
};

/* By key, the lowest first. As many passes as the keys differ in groups of 11 bits; needs as much memory again for as long as it takes. */
void vs_sort_keyed(struct vs_keyed *items, size_t count);

#endif
