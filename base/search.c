/*
 * base/search.c - see search.h.
 *
 * Must not know:  what the items are.
 * Invariant:      items before `low` are below the key, items from `high` on are not.
 */
#include "base/search.h"

#include <string.h>

size_t vs_search_below(const void *items, size_t count, size_t size, size_t offset, uint64_t key)
{
    const char *first = items;
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        uint64_t number;

        memcpy(&number, first + mid * size + offset, sizeof(number));
        if (number < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

size_t vs_search_until(const void *items, size_t count, size_t size, size_t offset, uint64_t key)
{
    return key == UINT64_MAX ? count : vs_search_below(items, count, size, offset, key + 1);
}
