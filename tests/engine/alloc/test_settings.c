/*
 * tests/engine/alloc/test_settings.c - sizes by divisions, oversized blocks counted anew, regions that end out of
 * order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/engine/alloc_rig.h"

/* Divisions are by power of two from 1 MiB on; what is larger than the last has its. */
static void each_power_of_two_has_its_divisions(void **state)
{
    struct eng_alloc_conf conf;

    (void)state;
    eng_alloc_conf_init(&conf);
    for (size_t i = 0; i < ENG_ROUNDUP_INTERVALS; i++)
        conf.roundup_divisions[i] = 1;
    conf.roundup_divisions[1] = 4;
    conf.roundup_divisions[ENG_ROUNDUP_INTERVALS - 1] = 2;
    assert_u64(eng_alloc_round_bytes(&conf, 512), 512);
    assert_u64(eng_alloc_round_bytes(&conf, MIB + 1), MIB + 512);
    assert_u64(eng_alloc_round_bytes(&conf, 2 * MIB + 1), 2 * MIB + MIB / 2);
    assert_u64(eng_alloc_round_bytes(&conf, 4 * MIB + 1), 4 * MIB + 512);
    for (unsigned power = 20 + ENG_ROUNDUP_INTERVALS - 1; power < 44; power++) {
        const uint64_t bytes = UINT64_C(1) << power;

        assert_u64(eng_alloc_round_bytes(&conf, bytes + 1), bytes + bytes / 2);
    }
}

static void set_split(struct alloc_rig *rig, uint64_t bytes)
{
    struct eng_alloc_conf conf = *eng_alloc_conf_get(rig->alloc);

    conf.max_split_bytes = bytes;
    eng_alloc_set_conf(rig->alloc, &conf);
}

static void another_split_size_counts_oversized_blocks_anew(void **state)
{
    struct alloc_rig rig;
    struct eng_block *small;
    struct eng_block *large;

    (void)state;
    alloc_rig_init(&rig, GIB, "max_split_size_mb:40");
    small = alloc_rig_get(&rig, 100 * MIB);
    large = alloc_rig_get(&rig, 200 * MIB);
    assert_u64(rig.stats->oversize_allocations.current, 2);
    assert_u64(rig.stats->oversize_segments.current, 2);
    set_split(&rig, 200 * MIB); /* the size itself is oversized */
    assert_u64(rig.stats->oversize_allocations.current, 1);
    assert_u64(rig.stats->oversize_segments.current, 1);
    set_split(&rig, 201 * MIB);
    assert_u64(rig.stats->oversize_allocations.current, 0);
    assert_u64(rig.stats->oversize_segments.current, 0);
    alloc_rig_put(&rig, large); /* its segment stays in the cache */
    set_split(&rig, 100 * MIB);
    assert_u64(rig.stats->oversize_allocations.current, 1);
    assert_u64(rig.stats->oversize_segments.current, 2);
    assert_u64(rig.stats->oversize_allocations.peak, 2);
    alloc_rig_put(&rig, small);
    alloc_rig_release(&rig);
}

static void a_region_that_ends_leaves_those_that_began_later(void **state)
{
    const struct eng_pool_id a = {.graph = 1};
    const struct eng_pool_id b = {.graph = 2};
    struct alloc_rig rig;

    (void)state;
    alloc_rig_init(&rig, GIB, "");
    eng_alloc_pool_begin(rig.alloc, a, 1);
    eng_alloc_pool_begin(rig.alloc, b, 2);
    (void)alloc_rig_get_on(&rig, MIB, 1);
    (void)alloc_rig_get_on(&rig, 2 * MIB, 2);
    assert_u64(alloc_rig_now(rig.stats->segment), 2);
    eng_alloc_pool_end(rig.alloc, a);
    /* what stream 2 takes is still from the segment of b; what stream 1 takes is not from that of a */
    (void)alloc_rig_get_on(&rig, 2 * MIB, 2);
    assert_u64(alloc_rig_now(rig.stats->segment), 2);
    (void)alloc_rig_get_on(&rig, 2 * MIB, 1);
    assert_u64(alloc_rig_now(rig.stats->segment), 3);
    eng_alloc_pool_end(rig.alloc, b);
    (void)alloc_rig_get_on(&rig, 2 * MIB, 2);
    assert_u64(alloc_rig_now(rig.stats->segment), 4);
    alloc_rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_power_of_two_has_its_divisions),
        cmocka_unit_test(another_split_size_counts_oversized_blocks_anew),
        cmocka_unit_test(a_region_that_ends_leaves_those_that_began_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
