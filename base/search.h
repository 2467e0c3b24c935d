/*
 * base/search.h - binary search in an array that is sorted by a number.
 *
 * For:            arrays of events, allocations and the like.
 * Must not know:  what the items are.
 * Invariant:      does not write.
 */
#ifndef VS_BASE_SEARCH_H
#define VS_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * How many of `count` items have a number less than `key`: the index of the first item whose number is not less.
 * Items have `size` bytes each, and the number is the uint64_t at byte `offset` of an item. The array is sorted by
 * it; duplicates are allowed. `items` may be NULL if count is 0. O(log count).
 */
size_t vs_search_below(const void *items, size_t count, size_t size, size_t offset, uint64_t key);
/* The same for numbers less than or equal to `key`. */
size_t vs_search_until(const void *items, size_t count, size_t size, size_t offset, uint64_t key);

#endif
