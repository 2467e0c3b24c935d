/*
 * base/table.h - a hash table that maps hashes to item numbers.
 *
 * For:            finding an item of an array by its contents, in constant time.
 * Must not know:  the items. The caller keeps them (in an array, where an item's number is its index), hashes their
 *                 keys and compares them.
 * Invariant:      at most half of the slots are occupied, and no free slot lies between an item's slot and the one
 *                 where its search begins.
 *
 * To find the item with a key, or to add it:
 *
 *     struct vs_probe probe = vs_probe(hash);
 *
 *     while (vs_table_next(&table, &probe))
 *         if (is_same(&items[probe.item], key))
 *             return probe.item;
 *     vs_table_add(&table, hash, count);
 *     items[count++] = …;
 *
 * Open addressing with linear probing: 8 bytes for each slot, 16 to 32 bytes for each item. Only the low 32 bits of a
 * hash are used, so those must depend on the whole key (base/hash.h). They are stored in the slots: items with other
 * hashes are skipped without a comparison, and no key is hashed again when the table grows.
 */
#ifndef VS_BASE_TABLE_H
#define VS_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* item: number + 1; 0 means that the slot is free. */
struct vs_table_slot {
    uint32_t hash;
    uint32_t item;
};

/*
 * A zero-initialised table is empty and owns no memory. slot_count: 0 or a power of two. count: occupied slots.
 */
struct vs_table {
    struct vs_table_slot *slots;
    size_t slot_count;
    size_t count;
};

/*
 * The state of a search among the items with one hash. item: the current item; next: index of the slot after it,
 * modulo slot_count.
 */
struct vs_probe {
    uint32_t hash;
    uint32_t item;
    size_t next;
};

static inline struct vs_probe vs_probe(uint64_t hash)
{
    return (struct vs_probe){.hash = (uint32_t)hash, .next = (uint32_t)hash};
}

/*
 * Advances to the next item with the probe's hash, in no particular order. Returns false if there are no more. O(1)
 * as long as few items share a hash. Adding or removing items invalidates the probe.
 */
static inline bool vs_table_next(const struct vs_table *table, struct vs_probe *probe)
{
    if (!table->slot_count)
        return false;
    for (;;) {
        const struct vs_table_slot *slot = &table->slots[probe->next & (table->slot_count - 1)];

        if (!slot->item)
            return false;
        probe->next++;
        if (slot->hash == probe->hash) {
            probe->item = slot->item - 1;
            return true;
        }
    }
}

/*
 * Adds an item. The caller makes sure that no item with the same key is in the table. item < UINT32_MAX. Amortised
 * O(1).
 */
void vs_table_add(struct vs_table *table, uint64_t hash, size_t item);

/*
 * Remove, or renumber, the current item of a probe (the one at which vs_table_next has just returned true). O(1).
 */
void vs_table_remove(struct vs_table *table, const struct vs_probe *probe);
void vs_table_renumber(struct vs_table *table, const struct vs_probe *probe, size_t item);

/* Makes capacity for `count` items in all: up to that number vs_table_add does not allocate. */
void vs_table_reserve(struct vs_table *table, size_t count);
/* Removes all items; the memory is kept. O(slots). */
void vs_table_clear(struct vs_table *table);
/* Host memory of the table. */
static inline size_t vs_table_bytes(const struct vs_table *table)
{
    return table->slot_count * sizeof(*table->slots);
}
/* Frees the memory; the table is empty afterwards. */
void vs_table_release(struct vs_table *table);

#endif
