/*
 * base/sort.c - see sort.h.
 *
 * Must not know:  what is sorted.
 * Invariant:      after a pass the items are in order of all bits up to those of the pass.
 */
#include "base/sort.h"

#include <string.h>

#include "base/mem.h"

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
/* Up to this number items are sorted in place by insertion: counting digits would cost more. */
#define FEW 48

static void insert_each(struct vs_keyed *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct vs_keyed item = items[i];
        size_t at = i;

        for (; at && items[at - 1].key > item.key; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* One pass: copies the items from `from` to `to` in order of the digit at bit `shift`. */
static void pass(const struct vs_keyed *from, struct vs_keyed *to, size_t count, unsigned shift)
{
    size_t starts[DIGITS] = {0};
    size_t sum = 0;

    for (size_t i = 0; i < count; i++)
        starts[from[i].key >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t here = starts[d];

        starts[d] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        to[starts[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

void vs_sort_keyed(struct vs_keyed *items, size_t count)
{
    struct vs_keyed *other;
    struct vs_keyed *from = items;
    uint64_t differing = 0;

    if (count < FEW) {
        insert_each(items, count);
        return;
    }
    other = vs_alloc(count * sizeof(*other));
    for (size_t i = 1; i < count; i++)
        differing |= items[i].key ^ items[0].key;
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        struct vs_keyed *to = from == items ? other : items;

        if (!(differing >> shift & (DIGITS - 1)))
            continue;
        pass(from, to, count, shift);
        from = to;
    }
    if (from != items)
        memcpy(items, from, count * sizeof(*items));
    vs_free(other);
}
