/*
 * base/search.h - where a number stands in a list that is sorted by it.
 *
 * For:            lists of events, allocations and the like, looked up by number.
 * Must not know:  what the items are.
 * Invariant:      none.
 */
#ifndef VS_BASE_SEARCH_H
#define VS_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * How many of `count` items, each of `size` bytes, have a number below `key`: so, where the first is that has not. The number is the
 * uint64_t at byte `offset` of an item; the items are sorted by it, equal ones may follow each other. O(log count). items may be NULL where
 * count is 0.
 */
size_t vs_search_below(const void *items, size_t count, size_t size, size_t offset, uint64_t key);
/* The same of those at `key`, too. */
size_t vs_search_until(const void *items, size_t count, size_t size, size_t offset, uint64_t key);

#endif
