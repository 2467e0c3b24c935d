/*
 * export/ranges.c - see ranges.h.
 *
 * Must not know:  events.
 * Invariant:      no range is empty.
 */
#include "export/ranges.h"

#include <string.h>

#include "base/mem.h"

void exp_ranges_release(struct exp_ranges *ranges)
{
    vs_free(ranges->items);
    memset(ranges, 0, sizeof(*ranges));
}

/* The first range that ends after `address`. */
static size_t first_after(const struct exp_ranges *ranges, uint64_t address)
{
    size_t low = 0;
    size_t high = ranges->count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct exp_range *r = &ranges->items[mid];

        /* an end may be 2^64 */
        if (address >= r->address && address - r->address >= r->bytes)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void insert(struct exp_ranges *ranges, size_t at, struct exp_range range)
{
    ranges->items = vs_grow(ranges->items, ranges->count, &ranges->cap, sizeof(*ranges->items));
    memmove(&ranges->items[at + 1], &ranges->items[at],
            (ranges->count - at) * sizeof(*ranges->items));
    ranges->items[at] = range;
    ranges->count++;
}

void exp_ranges_remove(struct exp_ranges *ranges, uint64_t address, uint64_t bytes)
{
    uint64_t end = bytes > UINT64_MAX - address ? UINT64_MAX : address + bytes;
    size_t i = first_after(ranges, address);

    while (i < ranges->count && ranges->items[i].address < end) {
        struct exp_range *r = &ranges->items[i];
        struct exp_range rest = *r;
        uint64_t r_end = r->bytes > UINT64_MAX - r->address ? UINT64_MAX : r->address + r->bytes;

        if (r->address < address) {
            r->bytes = address - r->address;
            i++;
        } else {
            memmove(r, r + 1, (ranges->count - i - 1) * sizeof(*r));
            ranges->count--;
        }
        if (r_end > end) {
            rest.address = end;
            rest.bytes = r_end - end;
            insert(ranges, i, rest);
            return;
        }
    }
}

void exp_ranges_add(struct exp_ranges *ranges, const struct exp_range *range)
{
    if (!range->bytes)
        return;
    exp_ranges_remove(ranges, range->address, range->bytes);
    insert(ranges, first_after(ranges, range->address), *range);
}

struct exp_range exp_ranges_find(const struct exp_ranges *ranges, uint64_t address)
{
    size_t i = first_after(ranges, address);

    if (i < ranges->count && ranges->items[i].address <= address)
        return ranges->items[i];
    return (struct exp_range){0, 0, 0, 0};
}
