/*
 * base/table.h - a hash table: from a hash to the numbers of the items that have it.
 *
 * For:            finding an item of an array by its contents, in constant time.
 * Must not know:  the items. The caller keeps them (in an array, where an item's number is its index), hashes their keys and compares them.
 * Invariant:      at most half of the slots are taken, and no free slot lies between an item's slot and the one where its search begins.
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
 * Open addressing with linear probing: 8 bytes a slot, 16 to 32 bytes an item. Of the hash the low 32 bits count, so those must depend on the
 * whole key: base/hash.h. They are kept in the slots: items with other hashes are not looked at, and no key is hashed again when the table grows.
 */
#ifndef VS_BASE_TABLE_H
#define VS_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* item: + 1; 0: the slot is free. */
struct vs_table_slot {
    uint32_t hash;
    uint32_t item;
};

/* Zeroed is an empty table, which owns no memory. slot_count: 0 or a power of two. */
struct vs_table {
    struct vs_table_slot *slots;
    size_t slot_count;
    size_t count;
};

/* A search among the items with one hash. item: the one that it has come to; next: the slot behind it, modulo slot_count. */
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
 * On to the next item with the probe's hash, in no particular order; false: there are no more. O(1) as long as few items share a hash. A probe
 * is over when items are added or removed.
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

/* Add an item. That no other with its key is there is the caller's to know. item < UINT32_MAX. O(1), amortised. */
void vs_table_add(struct vs_table *table, uint64_t hash, size_t item);

/* Where the last vs_table_next came to an item: take that item out, or give it another number. O(1). */
void vs_table_remove(struct vs_table *table, const struct vs_probe *probe);
void vs_table_renumber(struct vs_table *table, const struct vs_probe *probe, size_t item);

/* Room for `count` items in all: until there are more, adding allocates nothing. */
void vs_table_reserve(struct vs_table *table, size_t count);
/* Empty it; the memory is kept. O(slots). */
void vs_table_clear(struct vs_table *table);
/* What it takes of memory. */
static inline size_t vs_table_bytes(const struct vs_table *table)
{
    return table->slot_count * sizeof(*table->slots);
}
/* Give its memory back; it is empty then. */
void vs_table_release(struct vs_table *table);

#endif
