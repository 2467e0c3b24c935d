/*
 * tests/engine/alloc/test_driver.c - the simulated driver, and the ordered sets that it uses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/alloc/driver.h"
#include "engine/alloc/set.h"

#define MIB UINT64_C(1048576)

static uint64_t grant(const struct eng_alloc_driver *driver, uint64_t bytes)
{
    uint64_t address = 0;

    assert_true(driver->segment_alloc(driver->user, bytes, &address));
    return address;
}

static uint64_t free_bytes(const struct eng_alloc_driver *driver)
{
    uint64_t free = 0;
    uint64_t total = 0;

    driver->mem_info(driver->user, &free, &total);
    return free;
}

static void segments_are_placed_back_to_back(void **state)
{
    struct eng_sim_driver *sim =
        eng_sim_driver_new(&(struct eng_sim_options){.total_bytes = 100 * MIB});
    const struct eng_alloc_driver driver = eng_sim_driver_get(sim);

    (void)state;
    assert_int_equal(grant(&driver, 2 * MIB), ENG_SIM_BASE);
    assert_int_equal(grant(&driver, 20 * MIB), ENG_SIM_BASE + 2 * MIB);
    assert_int_equal(eng_sim_driver_used(sim), 22 * MIB);
    assert_int_equal(free_bytes(&driver), 78 * MIB);
    eng_sim_driver_free(sim);
}

/* Four of 10 MiB, the second and third freed: a hole of 20, of which 4 and then 16 are used before the end. */
static void returned_ranges_join_and_are_used_first(void **state)
{
    struct eng_sim_driver *sim =
        eng_sim_driver_new(&(struct eng_sim_options){.total_bytes = 100 * MIB, .base = 2 * MIB});
    const struct eng_alloc_driver driver = eng_sim_driver_get(sim);
    uint64_t at[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        at[i] = grant(&driver, 10 * MIB);
    driver.segment_free(driver.user, at[1], 10 * MIB);
    driver.segment_free(driver.user, at[2], 10 * MIB);
    assert_int_equal(grant(&driver, 22 * MIB), 42 * MIB);
    assert_int_equal(grant(&driver, 4 * MIB), at[1]);
    assert_int_equal(grant(&driver, 16 * MIB), at[1] + 4 * MIB);
    assert_int_equal(grant(&driver, 2 * MIB), 64 * MIB);
    driver.segment_free(driver.user, 64 * MIB, 2 * MIB); /* at the end, which is lowered */
    driver.segment_free(driver.user, 42 * MIB, 22 * MIB);
    assert_int_equal(grant(&driver, 30 * MIB), 42 * MIB);
    eng_sim_driver_free(sim);
}

static void a_full_device_refuses_a_segment(void **state)
{
    struct eng_sim_driver *sim = eng_sim_driver_new(
        &(struct eng_sim_options){.total_bytes = 100 * MIB, .used_bytes = 30 * MIB});
    const struct eng_alloc_driver driver = eng_sim_driver_get(sim);
    uint64_t address = 0;

    (void)state;
    assert_false(driver.segment_alloc(driver.user, 72 * MIB, &address));
    grant(&driver, 70 * MIB);
    assert_false(driver.segment_alloc(driver.user, 1, &address));
    assert_false(driver.range_map(driver.user, 0, 2 * MIB));
    eng_sim_driver_set_used_by_others(sim, 80 * MIB);
    assert_int_equal(free_bytes(&driver), 0);
    eng_sim_driver_set_used_by_others(sim, 0);
    assert_true(driver.range_map(driver.user, 0, 30 * MIB));
    assert_int_equal(free_bytes(&driver), 0);
    driver.range_unmap(driver.user, 0, 30 * MIB);
    assert_int_equal(free_bytes(&driver), 30 * MIB);
    eng_sim_driver_free(sim);
}

/* 13 MiB takes 14 of the device. */
static void granted_sizes_are_whole_granules(void **state)
{
    struct eng_sim_driver *sim =
        eng_sim_driver_new(&(struct eng_sim_options){.total_bytes = 14 * MIB});
    const struct eng_alloc_driver driver = eng_sim_driver_get(sim);
    uint64_t address = grant(&driver, 13 * MIB);

    (void)state;
    assert_int_equal(free_bytes(&driver), 0);
    driver.segment_free(driver.user, address, 13 * MIB);
    assert_int_equal(free_bytes(&driver), 14 * MIB);
    eng_sim_driver_free(sim);
}

static void prescribed_addresses_are_used_first_and_merge_when_freed(void **state)
{
    struct eng_sim_driver *sim =
        eng_sim_driver_new(&(struct eng_sim_options){.total_bytes = 100 * MIB});
    const struct eng_alloc_driver driver = eng_sim_driver_get(sim);

    (void)state;
    eng_sim_driver_push_address(sim, 0x123400000);
    eng_sim_driver_push_address(sim, ENG_SIM_BASE - 2 * MIB);
    assert_int_equal(grant(&driver, 2 * MIB), 0x123400000);
    assert_int_equal(grant(&driver, 4 * MIB), ENG_SIM_BASE - 2 * MIB);
    assert_int_equal(grant(&driver, 2 * MIB), ENG_SIM_BASE);
    driver.segment_free(driver.user, 0x123400000, 2 * MIB);
    driver.segment_free(driver.user, ENG_SIM_BASE - 2 * MIB, 4 * MIB);
    assert_int_equal(grant(&driver, 2 * MIB), ENG_SIM_BASE + 2 * MIB);
    eng_sim_driver_free(sim);
}

static void reserved_address_space_uses_no_memory(void **state)
{
    struct eng_sim_driver *sim =
        eng_sim_driver_new(&(struct eng_sim_options){.total_bytes = 100 * MIB});
    const struct eng_alloc_driver driver = eng_sim_driver_get(sim);
    uint64_t a = 0;
    uint64_t b = 0;

    (void)state;
    assert_true(driver.range_reserve(driver.user, 1000 * MIB, &a));
    assert_true(driver.range_reserve(driver.user, 1000 * MIB, &b));
    assert_true(b >= a + 1000 * MIB);
    assert_int_equal(free_bytes(&driver), 100 * MIB);
    driver.range_release(driver.user, a, 1000 * MIB);
    eng_sim_driver_free(sim);
}

/* ---- sets ---- */

#define NODES 500

/* Keys (i % 5, i % 7, i), inserted and removed in a scattered order, compared with a plain scan. */
static struct eng_set_key key_of(size_t i)
{
    return (struct eng_set_key){{i % 5, i % 7, i}};
}

static int compare(const struct eng_set_key *a, const struct eng_set_key *b)
{
    for (int i = 0; i < 3; i++) {
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    }
    return 0;
}

static void check_set(const struct eng_set *set, const struct eng_set_node *nodes,
                      const bool *is_in)
{
    const struct eng_set_node *last = NULL;
    size_t count = 0;

    for (const struct eng_set_node *n = eng_set_first(set); n; last = n, n = eng_set_next(n)) {
        assert_true(!last || compare(&last->key, &n->key) < 0);
        assert_ptr_equal(eng_set_prev(n), last);
        assert_true(is_in[n - nodes]);
        count++;
    }
    assert_ptr_equal(eng_set_last(set), last);
    assert_int_equal(count, set->count);
}

static void check_search(const struct eng_set *set, const struct eng_set_node *nodes,
                         const bool *is_in, const struct eng_set_key *key)
{
    const struct eng_set_node *ceil = NULL;
    const struct eng_set_node *floor = NULL;

    for (size_t i = 0; i < NODES; i++) {
        if (!is_in[i])
            continue;
        if (compare(&nodes[i].key, key) >= 0 && (!ceil || compare(&nodes[i].key, &ceil->key) < 0))
            ceil = &nodes[i];
        if (compare(&nodes[i].key, key) <= 0 && (!floor || compare(&nodes[i].key, &floor->key) > 0))
            floor = &nodes[i];
    }
    assert_ptr_equal(eng_set_ceil(set, key), ceil);
    assert_ptr_equal(eng_set_floor(set, key), floor);
}

static void a_set_stays_ordered_under_insertions_and_removals(void **state)
{
    static struct eng_set_node nodes[NODES];
    static bool is_in[NODES];
    struct eng_set set = {0};
    size_t count = 0;

    (void)state;
    for (size_t step = 0; step < 4 * NODES; step++) {
        const size_t i =
            step * 7919 %
            NODES; /* 7919 is prime: every node is used, each far from the one before */
        const bool wants_in = step < NODES || step * 31 % 3 == 0;

        if (wants_in && !is_in[i])
            eng_set_insert(&set, &nodes[i], key_of(i));
        else if (!wants_in && is_in[i])
            eng_set_remove(&set, &nodes[i]);
        is_in[i] = wants_in;
        if (step % 97 == 0) {
            check_set(&set, nodes, is_in);
            for (size_t k = 0; k < 20; k++)
                check_search(&set, nodes, is_in,
                             &(struct eng_set_key){{k % 6, (step + k) % 9, step % NODES}});
        }
    }
    for (size_t i = 0; i < NODES; i++)
        count += is_in[i];
    assert_int_equal(set.count, count);
    while (set.root)
        eng_set_remove(&set, set.root);
    assert_int_equal(set.count, 0);
    assert_null(eng_set_first(&set));
    assert_null(eng_set_last(&set));
}

/* Ascending keys would make a plain search tree a list; here the depth stays near 2 ln n. */
static void the_tree_of_a_set_is_balanced(void **state)
{
    static struct eng_set_node nodes[20000];
    struct eng_set set = {0};
    size_t deepest = 0;

    (void)state;
    for (size_t i = 0; i < 20000; i++)
        eng_set_insert(&set, &nodes[i], (struct eng_set_key){{0, 512 * (i / 100), 512 * i}});
    for (size_t i = 0; i < 20000; i++) {
        size_t depth = 0;

        for (const struct eng_set_node *n = &nodes[i]; n; n = n->parent)
            depth++;
        deepest = depth > deepest ? depth : deepest;
    }
    assert_in_range(
        deepest, 15,
        60); /* log2 n = 14.3; expected about 2 ln n = 20, the deepest about twice that */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_are_placed_back_to_back),
        cmocka_unit_test(returned_ranges_join_and_are_used_first),
        cmocka_unit_test(a_full_device_refuses_a_segment),
        cmocka_unit_test(granted_sizes_are_whole_granules),
        cmocka_unit_test(prescribed_addresses_are_used_first_and_merge_when_freed),
        cmocka_unit_test(reserved_address_space_uses_no_memory),
        cmocka_unit_test(a_set_stays_ordered_under_insertions_and_removals),
        cmocka_unit_test(the_tree_of_a_set_is_balanced),
    };

    return cmocka_run_group_tests_name("engine/alloc_driver", tests, NULL, NULL);
}
