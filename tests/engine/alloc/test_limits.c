/*
 * tests/engine/alloc/test_limits.c - sizes that are exactly a limit: of the process, of oversized blocks, of garbage
 * collection.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/engine/alloc_rig.h"

static void all_of_the_limit_can_be_reserved(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block;

    (void)state;
    alloc_rig_init(&rig, 80 * MIB, "per_process_memory_fraction:0.5");
    (void)alloc_rig_get(&rig, 40 * MIB);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 40 * MIB);
    assert_int_equal(eng_alloc_get(rig.alloc, 512, 0, &block, NULL), VS_E_OOM);
    alloc_rig_release(&rig);
}

/* ---- max_split_size ---- */

static void a_block_of_the_split_size_is_oversized(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block;

    (void)state;
    alloc_rig_init(&rig, GIB, "max_split_size_mb:40");
    block = alloc_rig_get(&rig, 40 * MIB);
    assert_u64(rig.stats->oversize_allocations.current, 1);
    assert_u64(rig.stats->oversize_segments.current, 1);
    alloc_rig_put(&rig, block);
    assert_u64(rig.stats->oversize_allocations.current, 0);
    assert_u64(rig.stats->oversize_segments.current, 1);
    /* a smaller request does not take it, one of the split size does */
    (void)alloc_rig_get(&rig, 38 * MIB);
    assert_u64(alloc_rig_now(rig.stats->segment), 2);
    assert_u64(eng_block_address(alloc_rig_get(&rig, 40 * MIB)), eng_block_address(block));
    assert_u64(alloc_rig_now(rig.stats->segment), 2);
    alloc_rig_release(&rig);
}

static void the_last_oversized_segment_returned_is_the_last_counted(void **state)
{
    struct alloc_rig rig;

    (void)state;
    alloc_rig_init(&rig, GIB, "max_split_size_mb:40");
    alloc_rig_put(&rig, alloc_rig_get(&rig, 40 * MIB));
    eng_alloc_empty_cache(rig.alloc);
    assert_u64(rig.stats->oversize_segments.current, 0);
    alloc_rig_release(&rig);
}

/* By default a request of the split size or more takes a block that is less than 20 MiB larger, undivided. */
static void an_oversized_request_takes_a_block_that_is_not_much_larger(void **state)
{
    struct alloc_rig rig;
    struct eng_block *larger;
    struct eng_block *much_larger;
    struct eng_block *block;

    (void)state;
    alloc_rig_init(&rig, GIB, "max_split_size_mb:40");
    much_larger = alloc_rig_get(&rig, 60 * MIB);
    alloc_rig_put(&rig, much_larger);
    block = alloc_rig_get(&rig, 40 * MIB);
    assert_u64(alloc_rig_now(rig.stats->segment), 2);
    alloc_rig_put(&rig, block);
    eng_alloc_empty_cache(rig.alloc);
    larger = alloc_rig_get(&rig, 58 * MIB);
    alloc_rig_put(&rig, larger);
    block = alloc_rig_get(&rig, 40 * MIB);
    assert_u64(alloc_rig_now(rig.stats->segment), 1);
    assert_u64(eng_block_bytes(block), 58 * MIB);
    alloc_rig_release(&rig);
}

/* Three free segments of the split size; two of them are as much as is wanted. */
static void no_more_oversized_segments_are_returned_than_a_request_needs(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block[3];

    (void)state;
    alloc_rig_init(&rig, 120 * MIB, "max_split_size_mb:40");
    for (int i = 0; i < 3; i++)
        block[i] = alloc_rig_get(&rig, 40 * MIB);
    for (int i = 0; i < 3; i++)
        alloc_rig_put(&rig, block[i]);
    (void)alloc_rig_get(&rig, 80 * MIB);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 120 * MIB);
    assert_u64(rig.stats->num_device_free, 2);
    assert_u64(rig.stats->num_alloc_retries, 0);
    alloc_rig_release(&rig);
}

/* ---- garbage collection ---- */

/* Of 160 MiB a quarter may be reserved. What was freed first is the oldest, and returning it is just enough. */
static void garbage_collection_stops_at_its_threshold(void **state)
{
    struct alloc_rig rig;
    struct eng_block *first;
    struct eng_block *second;
    struct eng_block *between;

    (void)state;
    alloc_rig_init(&rig, 320 * MIB,
                   "per_process_memory_fraction:0.5,garbage_collection_threshold:0.25");
    first = alloc_rig_get(&rig, 60 * MIB);
    second = alloc_rig_get(&rig, 28 * MIB);
    between = alloc_rig_get_on(&rig, 12 * MIB, 1);
    alloc_rig_put(&rig, between);
    alloc_rig_put(&rig, first);
    (void)alloc_rig_get_on(&rig, 12 * MIB, 1); /* a search: `first` ages */
    alloc_rig_put(&rig, second);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 100 * MIB);
    (void)alloc_rig_get(&rig, 70 * MIB);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 110 * MIB);
    assert_u64(rig.stats->num_device_free, 1);
    alloc_rig_release(&rig);
}

static void garbage_collection_returns_blocks_of_the_average_age(void **state)
{
    struct alloc_rig rig;

    (void)state;
    alloc_rig_init(&rig, 320 * MIB,
                   "per_process_memory_fraction:0.5,garbage_collection_threshold:0.25");
    alloc_rig_put(&rig, alloc_rig_get(&rig, 60 * MIB));
    (void)alloc_rig_get(&rig, 70 * MIB);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 70 * MIB);
    alloc_rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_the_limit_can_be_reserved),
        cmocka_unit_test(a_block_of_the_split_size_is_oversized),
        cmocka_unit_test(the_last_oversized_segment_returned_is_the_last_counted),
        cmocka_unit_test(an_oversized_request_takes_a_block_that_is_not_much_larger),
        cmocka_unit_test(no_more_oversized_segments_are_returned_than_a_request_needs),
        cmocka_unit_test(garbage_collection_stops_at_its_threshold),
        cmocka_unit_test(garbage_collection_returns_blocks_of_the_average_age),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
