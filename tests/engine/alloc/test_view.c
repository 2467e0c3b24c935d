/*
 * tests/engine/alloc/test_view.c - what the allocator reports: statistics and their resets, the view of segments and
 * blocks, the description of an out-of-memory.
 *
 * Figures: each example's arithmetic is in its comment. MiB = 2^20.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/alloc/alloc.h"
#include "engine/alloc/alloc_internal.h"
#include "tests/engine/alloc_rig.h"

static void peaks_and_totals_are_reset_separately(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block;

    (void)state;
    alloc_rig_init(&rig, 80 * GIB, "");
    block = alloc_rig_get(&rig, 3 * MIB);
    alloc_rig_put(&rig, alloc_rig_get(&rig, 5 * MIB));
    assert_u64(rig.stats->allocated_bytes[ENG_STAT_LARGE].peak, 8 * MIB);
    assert_u64(rig.stats->allocated_bytes[ENG_STAT_ALL].allocated, 8 * MIB);
    assert_u64(rig.stats->allocated_bytes[ENG_STAT_ALL].freed, 5 * MIB);
    eng_alloc_reset_peak(rig.alloc);
    assert_u64(rig.stats->allocated_bytes[ENG_STAT_ALL].peak, 3 * MIB);
    assert_u64(rig.stats->allocated_bytes[ENG_STAT_ALL].allocated, 8 * MIB);
    eng_alloc_reset_accumulated(rig.alloc);
    assert_u64(rig.stats->allocated_bytes[ENG_STAT_ALL].allocated, 0);
    assert_u64(rig.stats->allocated_bytes[ENG_STAT_ALL].current, 3 * MIB);
    alloc_rig_put(&rig, block);
    alloc_rig_release(&rig);
}

static void a_block_keeps_the_user_data_of_its_owner(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block;
    int mine;

    (void)state;
    alloc_rig_init(&rig, 80 * GIB, "");
    block = alloc_rig_get(&rig, 1000);
    assert_null(eng_block_user(block));
    eng_block_set_user(block, &mine);
    assert_ptr_equal(eng_block_user(block), &mine);
    alloc_rig_put(&rig, block);
    assert_null(eng_block_user(alloc_rig_get(&rig, 1000)));
    alloc_rig_release(&rig);
}

/* Two blocks in one segment: the blocks of the view cover the segment, and their sums are the statistics. */
static void the_blocks_of_a_view_fill_segments_in_address_order(void **state)
{
    struct alloc_rig rig;
    struct eng_segment it = {0};
    const struct eng_block *block;
    uint64_t segments = 0;
    uint64_t last = 0;

    (void)state;
    alloc_rig_init(&rig, 80 * GIB, "");
    alloc_rig_get(&rig, 700);
    alloc_rig_put(&rig, alloc_rig_get(&rig, 3 * MIB));
    alloc_rig_get(&rig, 2 * MIB);
    alloc_rig_get(&rig, 40 * MIB);
    while (eng_alloc_segment_next(rig.alloc, &it)) {
        uint64_t at = it.address;

        assert_true(it.address > last);
        last = it.address;
        for (block = it.first; block; block = eng_block_next(block)) {
            assert_u64(eng_block_address(block), at);
            at += eng_block_bytes(block);
        }
        assert_u64(at, it.address + it.bytes);
        segments++;
    }
    assert_u64(segments, 3);
    alloc_rig_release(&rig);
}

static void an_oom_is_described_with_its_figures(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block;
    struct eng_oom oom;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    alloc_rig_init(&rig, 100 * MIB, "per_process_memory_fraction:0.5");
    alloc_rig_get(&rig, 30 * MIB);
    alloc_rig_put(
        &rig,
        alloc_rig_get(
            &rig,
            3 * MIB)); /* 20 MiB more: 50 in all, 20 of them cached and returned before giving up */
    assert_int_equal(eng_alloc_get(rig.alloc, 31 * MIB, 0, &block, &oom), VS_E_OOM);
    assert_int_equal(eng_oom_describe(&oom, &err), VS_E_OOM);
    assert_non_null(strstr(err.text, "tried to allocate 32.0 MiB"));
    assert_non_null(strstr(err.text, "has 100.0 MiB, 70.0 MiB of it free"));
    assert_non_null(strstr(err.text, "the limit is 50.0 MiB"));
    assert_non_null(strstr(err.text, "allocated 30.0 MiB, reserved but unallocated 0 B"));
    alloc_rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_and_totals_are_reset_separately),
        cmocka_unit_test(a_block_keeps_the_user_data_of_its_owner),
        cmocka_unit_test(the_blocks_of_a_view_fill_segments_in_address_order),
        cmocka_unit_test(an_oom_is_described_with_its_figures),
    };

    return cmocka_run_group_tests_name("engine/alloc_view", tests, NULL, NULL);
}
