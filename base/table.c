/*
 * base/table.c - see table.h.
 */
#include "base/table.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

#ifdef VS_STRESS
#define FIRST_SLOTS 2
#else
#define FIRST_SLOTS 64
#endif

/* Inserts into a table that has a free slot. */
static void slot_put(struct vs_table *table, struct vs_table_slot slot)
{
    const size_t mask = table->slot_count - 1;
    size_t at = slot.hash & mask;

    while (table->slots[at].item)
        at = (at + 1) & mask;
    table->slots[at] = slot;
}

void vs_table_reserve(struct vs_table *table, size_t count)
{
    const struct vs_table old = *table;

    if (count <= table->slot_count / 2)
        return;
    if (!table->slot_count)
        table->slot_count = FIRST_SLOTS;
    while (table->slot_count / 2 < count)
        table->slot_count *= 2;
    table->slots = vs_calloc(table->slot_count, sizeof(*table->slots));
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].item)
            slot_put(table, old.slots[i]);
    vs_free(old.slots);
}

void vs_table_add(struct vs_table *table, uint64_t hash, size_t item)
{
    VS_ASSERT(item < UINT32_MAX);
    if (++table->count > table->slot_count / 2)
        vs_table_reserve(table, table->count);
    slot_put(table, (struct vs_table_slot){(uint32_t)hash, (uint32_t)item + 1});
}

/* The slot of the probe's current item. */
static size_t slot_of(const struct vs_table *table, const struct vs_probe *probe)
{
    size_t at;

    VS_ASSERT(table->count);
    at = (probe->next - 1) & (table->slot_count - 1);
    VS_ASSERT(table->slots[at].item == probe->item + 1 && table->slots[at].hash == probe->hash);
    return at;
}

/*
 * The following items move up, except those that would come to lie before the slot where their search begins.
 */
void vs_table_remove(struct vs_table *table, const struct vs_probe *probe)
{
    const size_t mask = table->slot_count - 1;
    size_t hole = slot_of(table, probe);

    for (size_t at = (hole + 1) & mask; table->slots[at].item; at = (at + 1) & mask) {
        const size_t first = table->slots[at].hash & mask;

        if (((at - first) & mask) >= ((at - hole) & mask)) {
            table->slots[hole] = table->slots[at];
            hole = at;
        }
    }
    table->slots[hole].item = 0;
    table->count--;
}

void vs_table_renumber(struct vs_table *table, const struct vs_probe *probe, size_t item)
{
    VS_ASSERT(item < UINT32_MAX);
    table->slots[slot_of(table, probe)].item = (uint32_t)item + 1;
}

void vs_table_clear(struct vs_table *table)
{
    if (table->count)
        memset(table->slots, 0, table->slot_count * sizeof(*table->slots));
    table->count = 0;
}

void vs_table_release(struct vs_table *table)
{
    vs_free(table->slots);
    memset(table, 0, sizeof(*table));
}
