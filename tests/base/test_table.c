/*
 * tests/base/test_table.c - the hash table compared with a plain list of pairs that is searched from its start.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/table.h"

#define ITEMS 600
#define CHANGES 20000

/* An item's key is its number; what is in the table, and under which hash. */
struct naive {
    uint64_t hash[ITEMS];
    bool is_there[ITEMS];
    size_t count;
};

/* The next of a sequence that looks like chance. */
static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Moves a probe to the item; false: the table does not have it. Every item on the way has this hash. */
static bool find(const struct vs_table *table, const struct naive *naive, uint64_t hash,
                 size_t item, struct vs_probe *probe)
{
    *probe = vs_probe(hash);
    while (vs_table_next(table, probe)) {
        assert_true(probe->item < ITEMS);
        assert_true(naive->is_there[probe->item]);
        assert_int_equal((uint32_t)naive->hash[probe->item], (uint32_t)hash);
        if (probe->item == item)
            return true;
    }
    return false;
}

static void compare(const struct vs_table *table, const struct naive *naive)
{
    struct vs_probe probe;

    assert_int_equal(table->count, naive->count);
    assert_true(table->count * 2 <= table->slot_count);
    for (size_t i = 0; i < ITEMS; i++) {
        size_t found = 0;

        assert_int_equal(find(table, naive, naive->hash[i], i, &probe), naive->is_there[i]);
        for (probe = vs_probe(naive->hash[i]); vs_table_next(table, &probe);)
            found += probe.item == i;
        assert_int_equal(found, naive->is_there[i]);
    }
}

/* Items come and go by chance, `hashes` different ones among them. */
static void change(uint64_t seed, uint64_t hashes, uint64_t step)
{
    struct vs_table table = {0};
    struct naive naive = {.count = 0};

    for (size_t i = 0; i < ITEMS; i++)
        naive.hash[i] = (next(&seed) % hashes) * step;
    for (size_t n = 0; n < CHANGES; n++) {
        const size_t most = n / 4000 % 2 ? 40 : ITEMS; /* grow, shrink, and again */
        const size_t item = next(&seed) % ITEMS;
        struct vs_probe probe;

        assert_int_equal(find(&table, &naive, naive.hash[item], item, &probe),
                         naive.is_there[item]);
        if (naive.is_there[item]) {
            vs_table_remove(&table, &probe);
            naive.is_there[item] = false;
            naive.count--;
        } else if (naive.count < most) {
            vs_table_add(&table, naive.hash[item], item);
            naive.is_there[item] = true;
            naive.count++;
        }
        if (n % 500 == 0)
            compare(&table, &naive);
    }
    compare(&table, &naive);
    vs_table_release(&table);
}

static void items_can_be_added_and_removed(void **state)
{
    (void)state;
    change(1, UINT64_MAX, UINT64_C(0x9E3779B97F4A7C15));
}

static void items_with_equal_hashes_are_distinguished(void **state)
{
    (void)state;
    change(2, 1, 1);
    change(3, 7, 1);
}

/* Other hashes, but the searches begin at the same slot, at the last one too. */
static void probing_wraps_around_to_the_first_slot(void **state)
{
    (void)state;
    change(4, 50, 4096);
    change(5, 3, UINT32_MAX);
}

static void only_the_low_half_of_a_hash_is_used(void **state)
{
    struct vs_table table = {0};
    struct vs_probe probe = vs_probe(UINT64_C(0xABCDEF0112345678));

    (void)state;
    vs_table_add(&table, 0x12345678, 5);
    assert_true(vs_table_next(&table, &probe));
    assert_int_equal(probe.item, 5);
    assert_false(vs_table_next(&table, &probe));
    vs_table_release(&table);
}

static void nothing_is_found_in_an_empty_table(void **state)
{
    struct vs_table table = {0};
    struct vs_probe probe = vs_probe(0);

    (void)state;
    assert_false(vs_table_next(&table, &probe));
    vs_table_clear(&table);
    vs_table_release(&table);
    vs_table_add(&table, 0, 0);
    vs_table_clear(&table);
    assert_int_equal(table.count, 0);
    assert_false(vs_table_next(&table, &probe));
    vs_table_release(&table);
    vs_table_release(&table);
    assert_null(table.slots);
}

static void reserved_capacity_is_not_exceeded(void **state)
{
    struct vs_table table = {0};
    const struct vs_table_slot *slots;

    (void)state;
    vs_table_reserve(&table, 1000);
    slots = table.slots;
    for (size_t i = 0; i < 1000; i++)
        vs_table_add(&table, vs_hash_mix(0, i), i);
    assert_ptr_equal(table.slots, slots);
    vs_table_clear(&table);
    for (size_t i = 0; i < 1000; i++)
        vs_table_add(&table, vs_hash_mix(1, i), i);
    assert_ptr_equal(table.slots, slots);
    vs_table_reserve(&table, 5000);
    for (size_t i = 0; i < 1000; i++) {
        struct vs_probe probe = vs_probe(vs_hash_mix(1, i));
        bool found = false;

        while (vs_table_next(&table, &probe))
            found |= probe.item == i;
        assert_true(found);
    }
    vs_table_release(&table);
}

/* As in an array whose last item moves to the place of the one that is removed. */
static void an_item_can_be_renumbered(void **state)
{
    struct vs_table table = {0};
    uint64_t keys[ITEMS];

    (void)state;
    for (size_t i = 0; i < ITEMS; i++) {
        keys[i] = i * 3;
        vs_table_add(&table, keys[i] / 5, i);
    }
    for (size_t count = ITEMS, at = 17; count; at = at * 31 + 7) {
        const size_t item = at % count--;
        struct vs_probe probe = vs_probe(keys[item] / 5);

        while (vs_table_next(&table, &probe) && probe.item != item)
            continue;
        assert_int_equal(probe.item, item);
        vs_table_remove(&table, &probe);
        if (item != count) {
            probe = vs_probe(keys[count] / 5);
            while (vs_table_next(&table, &probe) && probe.item != count)
                continue;
            assert_int_equal(probe.item, count);
            vs_table_renumber(&table, &probe, item);
            keys[item] = keys[count];
        }
        for (size_t i = 0; i < count; i += 13) {
            probe = vs_probe(keys[i] / 5);
            while (vs_table_next(&table, &probe) && probe.item != i)
                continue;
            assert_int_equal(probe.item, i);
        }
    }
    assert_int_equal(table.count, 0);
    vs_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_can_be_added_and_removed),
        cmocka_unit_test(items_with_equal_hashes_are_distinguished),
        cmocka_unit_test(probing_wraps_around_to_the_first_slot),
        cmocka_unit_test(only_the_low_half_of_a_hash_is_used),
        cmocka_unit_test(nothing_is_found_in_an_empty_table),
        cmocka_unit_test(reserved_capacity_is_not_exceeded),
        cmocka_unit_test(an_item_can_be_renumbered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
