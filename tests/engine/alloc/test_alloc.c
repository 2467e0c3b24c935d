/*
 * tests/engine/alloc/test_alloc.c - the caching allocator on examples computed by hand.
 *
 * Figures: each example's arithmetic is in its comment; the rules are PyTorch 2.6's. MiB = 2^20.
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

/* A: 1 -> 512, 512, 513 -> 1024, 1 MiB share a 2 MiB segment; 1 MiB + 1 B goes to a 20 MiB one. */
static void requests_up_to_one_mebibyte_use_the_small_pool(void **state)
{
    struct alloc_rig rig;
    struct eng_block *b[5];
    static const uint64_t sizes[5] = {1, 512, 513, 1048576, 1048577};
    static const uint64_t offsets[5] = {0, 512, 1024, 2048, 0};

    (void)state;
    alloc_rig_init(&rig, 80 * GIB, "");
    for (int i = 0; i < 5; i++) {
        b[i] = alloc_rig_get(&rig, sizes[i]);
        assert_u64(alloc_rig_offset(b[i]), offsets[i]);
        assert_int_equal(b[i]->pool->is_small, i < 4);
    }
    assert_u64(alloc_rig_now(rig.stats->requested_bytes), 2098179);
    assert_u64(alloc_rig_now(rig.stats->allocated_bytes), 2099712);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 23068672);
    assert_u64(alloc_rig_now(rig.stats->inactive_split_bytes), 20968960);
    assert_u64(alloc_rig_now(rig.stats->segment), 2);
    alloc_rig_put(&rig, b[0]);
    assert_u64(alloc_rig_now(rig.stats->inactive_split_bytes), 20969472);
    alloc_rig_put(&rig, b[2]);
    assert_u64(alloc_rig_now(rig.stats->inactive_split_bytes), 20970496);
    assert_u64(alloc_rig_now(rig.stats->inactive_split), 4);
    alloc_rig_put(
        &rig,
        b[1]); /* merges both: one free block of 2048 B, the tail of the segment, the tail of the other */
    assert_u64(alloc_rig_now(rig.stats->inactive_split_bytes), 20971008);
    assert_u64(alloc_rig_now(rig.stats->inactive_split), 3);
    alloc_rig_put(&rig, b[3]);
    alloc_rig_put(&rig, b[4]);
    assert_u64(alloc_rig_now(rig.stats->inactive_split_bytes), 0);
    assert_u64(alloc_rig_now(rig.stats->inactive_split), 0);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 23068672);
    eng_alloc_empty_cache(rig.alloc);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 0);
    assert_u64(rig.stats->num_device_free, 2);
    assert_u64(rig.stats->num_sync_all_streams, 1);
    assert_u64(eng_sim_driver_used(rig.sim), 0);
    alloc_rig_release(&rig);
}

/*
 * B: the second rounds to 10 MiB but fits the 15 MiB tail; 11 MiB + 512 leaves 1 MiB - 512 of its segment: not split.
 */
static void medium_requests_share_a_segment_of_twenty_mebibytes(void **state)
{
    struct alloc_rig rig;

    (void)state;
    alloc_rig_init(&rig, 80 * GIB, "");
    alloc_rig_get(&rig, 5 * MIB);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 20 * MIB);
    alloc_rig_get(&rig, 10 * MIB - 1);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 20 * MIB);
    alloc_rig_get(&rig, 10 * MIB);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 30 * MIB);
    assert_u64(eng_block_bytes(alloc_rig_get(&rig, 11 * MIB + 1)), 12 * MIB);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 42 * MIB);
    assert_u64(alloc_rig_now(rig.stats->allocated_bytes), 38797312);
    alloc_rig_release(&rig);
}

/* C: of a free 12 MiB segment, 11 MiB leaves exactly 1 MiB: whole. 11 MiB - 512 leaves 1 MiB + 512: split. */
static void a_large_block_is_split_only_above_one_mebibyte(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block;

    (void)state;
    alloc_rig_init(&rig, 80 * GIB, "");
    alloc_rig_put(&rig, alloc_rig_get(&rig, 12 * MIB));
    block = alloc_rig_get(&rig, 11 * MIB);
    assert_u64(eng_block_bytes(block), 12 * MIB);
    assert_u64(alloc_rig_now(rig.stats->inactive_split_bytes), 0);
    alloc_rig_put(&rig, block);
    block = alloc_rig_get(&rig, 11 * MIB - 512);
    assert_u64(eng_block_bytes(block), 11 * MIB - 512);
    assert_u64(alloc_rig_now(rig.stats->inactive_split_bytes), 1049088);
    assert_u64(alloc_rig_now(rig.stats->inactive_split), 1);
    alloc_rig_release(&rig);
}

/*
 * D: 100 MiB device, 3 x 30 MiB, first and third freed, 40 MiB: both are returned, then it fits. Once more: out of
 * memory.
 */
static void a_full_device_returns_cached_memory_and_retries(void **state)
{
    struct alloc_rig rig;
    struct eng_block *b[3];
    struct eng_block *block;
    struct eng_oom oom;

    (void)state;
    alloc_rig_init(&rig, 100 * MIB, "");
    for (int i = 0; i < 3; i++)
        b[i] = alloc_rig_get(&rig, 30 * MIB);
    alloc_rig_put(&rig, b[0]);
    alloc_rig_put(&rig, b[2]);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 90 * MIB);
    alloc_rig_get(&rig, 40 * MIB);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_SEGMENT_FREE], 2);
    assert_true(rig.last[ENG_ALLOC_EV_SEGMENT_FREE].address > eng_block_address(b[1]));
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 70 * MIB);
    assert_u64(rig.stats->num_alloc_retries, 1);
    assert_u64(rig.stats->num_device_alloc, 4);
    assert_u64(rig.stats->num_device_free, 2);
    assert_int_equal(eng_alloc_get(rig.alloc, 40 * MIB, 0, &block, &oom), VS_E_OOM);
    assert_null(block);
    assert_u64(rig.stats->num_alloc_retries, 2);
    assert_u64(rig.stats->num_ooms, 1);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_OOM], 1);
    assert_u64(rig.last[ENG_ALLOC_EV_OOM].address, 30 * MIB);
    assert_u64(rig.last[ENG_ALLOC_EV_OOM].bytes, 40 * MIB);
    assert_u64(oom.device_free_bytes, 30 * MIB);
    assert_u64(oom.total_bytes, 100 * MIB);
    assert_u64(oom.allocated_bytes, 70 * MIB);
    assert_u64(oom.reserved_bytes, 70 * MIB);
    alloc_rig_put(&rig, alloc_rig_get(&rig, 30 * MIB)); /* still usable */
    alloc_rig_release(&rig);
}

/* E: 1 GiB device, a tenth of it is 107,374,182 B; 90 MiB held, 8 MiB needs a segment of 20 MiB: over. */
static void the_memory_fraction_counts_whole_segments(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block;
    struct eng_oom oom;

    (void)state;
    alloc_rig_init(&rig, GIB, "per_process_memory_fraction:0.1");
    alloc_rig_get(&rig, 90 * MIB);
    assert_int_equal(eng_alloc_get(rig.alloc, 8 * MIB, 0, &block, &oom), VS_E_OOM);
    assert_u64(rig.stats->num_alloc_retries, 1);
    assert_u64(rig.stats->num_oom_rejections, 0);
    assert_u64(oom.limit_bytes, 107374182);
    assert_u64(oom.segment_bytes, 20 * MIB);
    assert_u64(oom.rounded_bytes, 8 * MIB);
    assert_u64(oom.device_free_bytes, GIB - 90 * MIB);
    eng_alloc_set_memory_fraction(rig.alloc, 1.0);
    alloc_rig_get(&rig, 8 * MIB);
    alloc_rig_release(&rig);
}

/* F: max_split 128: the cached 200 MiB serve neither 50 (would be split) nor 170 (20 MiB too large), but 190. */
static void an_oversize_block_is_never_split(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block;

    (void)state;
    alloc_rig_init(&rig, 80 * GIB, "max_split_size_mb:128");
    alloc_rig_put(&rig, alloc_rig_get(&rig, 200 * MIB));
    assert_u64(rig.stats->oversize_segments.current, 1);
    assert_u64(rig.stats->max_split_size, 128 * MIB);
    alloc_rig_get(&rig, 50 * MIB);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 250 * MIB);
    assert_u64(rig.stats->oversize_allocations.current, 0);
    block = alloc_rig_get(&rig, 190 * MIB);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 250 * MIB);
    assert_u64(eng_block_bytes(block), 200 * MIB);
    assert_u64(rig.stats->oversize_allocations.current, 1);
    alloc_rig_put(&rig, block);
    alloc_rig_get(&rig, 170 * MIB);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 420 * MIB);
    assert_u64(rig.stats->oversize_segments.current, 2);
    alloc_rig_release(&rig);
}

/* G: maps of 2, 20, 20 MiB; the freed 5 MiB at the front stay free while 45 MiB grow at the end by 40. */
static void expandable_segments_grow_by_granules(void **state)
{
    struct alloc_rig rig;
    struct eng_block *five;
    struct eng_block *thirty;
    struct eng_block *block;

    (void)state;
    alloc_rig_init(&rig, 80 * GIB, "expandable_segments:True");
    alloc_rig_get(&rig, 100);
    five = alloc_rig_get(&rig, 5 * MIB);
    thirty = alloc_rig_get(&rig, 30 * MIB);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_SEGMENT_MAP], 3);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 42 * MIB);
    assert_u64(alloc_rig_now(rig.stats->segment), 0);
    assert_u64(alloc_rig_now(rig.stats->inactive_split), 0);
    alloc_rig_put(&rig, five);
    block = alloc_rig_get(&rig, 45 * MIB);
    assert_u64(rig.last[ENG_ALLOC_EV_SEGMENT_MAP].bytes, 40 * MIB);
    assert_u64(alloc_rig_offset(block), 35 * MIB);
    assert_true(eng_alloc_is_cached(rig.alloc, 5 * MIB, 0));
    alloc_rig_put(&rig, block);
    alloc_rig_put(&rig, thirty);
    eng_alloc_empty_cache(rig.alloc);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_SEGMENT_UNMAP], 1);
    assert_u64(rig.last[ENG_ALLOC_EV_SEGMENT_UNMAP].bytes, 80 * MIB);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 2 * MIB);
    alloc_rig_release(&rig);
}

/*
 * H: 200 MiB device. 5 x 30 MiB map 40+20+40+20+40. The granules 40-80 inside the free range 30-90 are unmapped, so 60
 * MiB fit at the end.
 */
static void expandable_segments_unmap_unused_pages_in_the_middle(void **state)
{
    struct alloc_rig rig;
    struct eng_block *b[5];
    struct eng_block *block;

    (void)state;
    alloc_rig_init(&rig, 200 * MIB, "expandable_segments:True");
    for (int i = 0; i < 5; i++)
        b[i] = alloc_rig_get(&rig, 30 * MIB);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 160 * MIB);
    alloc_rig_put(&rig, b[1]);
    alloc_rig_put(&rig, b[2]);
    block = alloc_rig_get(&rig, 70 * MIB);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_SEGMENT_UNMAP], 1);
    assert_u64(rig.last[ENG_ALLOC_EV_SEGMENT_UNMAP].bytes, 40 * MIB);
    assert_u64(rig.last[ENG_ALLOC_EV_SEGMENT_MAP].bytes, 60 * MIB);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 180 * MIB);
    assert_u64(rig.stats->num_alloc_retries, 1);
    assert_u64(eng_block_address(block), eng_block_address(b[0]) + 150 * MIB);
    alloc_rig_release(&rig);
}

/* I: a block freed on stream 0 is not used for stream 1. */
static void streams_do_not_share_blocks(void **state)
{
    struct alloc_rig rig;

    (void)state;
    alloc_rig_init(&rig, 80 * GIB, "");
    alloc_rig_put(&rig, alloc_rig_get_on(&rig, 4 * MIB, 0));
    alloc_rig_get_on(&rig, 4 * MIB, 1);
    assert_u64(alloc_rig_now(rig.stats->segment), 2);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 40 * MIB);
    assert_u64(alloc_rig_now(rig.stats->inactive_split_bytes), 16 * MIB);
    alloc_rig_release(&rig);
}

/* J: two cuBLAS workspaces of 8,519,680 B share a segment; Hopper's 32 MiB has its own. */
static void two_workspaces_share_a_segment(void **state)
{
    struct alloc_rig rig;

    (void)state;
    alloc_rig_init(&rig, 80 * GIB, "");
    alloc_rig_get(&rig, 8519680);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 20 * MIB);
    assert_u64(alloc_rig_now(rig.stats->inactive_split_bytes), 12451840);
    alloc_rig_get(&rig, 8519680);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 20 * MIB);
    assert_u64(alloc_rig_now(rig.stats->inactive_split_bytes), 3932160);
    alloc_rig_get(&rig, 33554432);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 52 * MIB);
    assert_u64(alloc_rig_now(rig.stats->inactive_split_bytes), 3932160);
    alloc_rig_release(&rig);
}

/* Of equal sizes the lower address is used, whatever the order of the frees; a smaller fitting block before both. */
static void the_best_fit_is_the_smallest_then_the_lowest(void **state)
{
    struct alloc_rig rig;
    struct eng_block *b[4];
    uint64_t at[4];

    (void)state;
    alloc_rig_init(&rig, 80 * GIB, "");
    b[0] = alloc_rig_get(&rig, 30 * MIB);
    b[1] = alloc_rig_get(&rig, 20 * MIB);
    b[2] = alloc_rig_get(&rig, 20 * MIB);
    b[3] = alloc_rig_get(&rig, 18 * MIB);
    for (int i = 3; i >= 0; i--) {
        at[i] = eng_block_address(b[i]);
        alloc_rig_put(&rig, b[i]);
    }
    assert_u64(eng_block_address(alloc_rig_get(&rig, 19 * MIB)), at[1]);
    assert_u64(eng_block_address(alloc_rig_get(&rig, 19 * MIB)), at[2]);
    assert_u64(eng_block_bytes(alloc_rig_get(&rig, 17 * MIB)), 18 * MIB);
    alloc_rig_release(&rig);
}

static void a_request_of_an_exbibyte_is_refused_at_once(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block;
    struct eng_oom oom;

    (void)state;
    alloc_rig_init(&rig, 80 * GIB, "");
    assert_int_equal(eng_alloc_get(rig.alloc, UINT64_C(1) << 60, 0, &block, &oom), VS_E_OOM);
    assert_u64(rig.stats->num_ooms, 0);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_OOM], 0);
    assert_int_equal(eng_alloc_get(rig.alloc, (UINT64_C(1) << 60) - 1, 0, &block, &oom), VS_E_OOM);
    assert_u64(rig.stats->num_ooms, 1);
    alloc_rig_release(&rig);
}

/* With throw_on_cudamalloc_oom a request over the limit is refused without flush or retry, and is counted. */
static void an_early_refusal_does_not_flush_the_cache(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block;
    struct eng_oom oom;

    (void)state;
    alloc_rig_init(&rig, GIB, "per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True");
    alloc_rig_put(&rig, alloc_rig_get(&rig, 400 * MIB));
    assert_int_equal(eng_alloc_get(rig.alloc, 401 * MIB, 0, &block, &oom), VS_E_OOM);
    assert_true(oom.is_rejected);
    assert_u64(rig.stats->num_oom_rejections, 1);
    assert_u64(rig.stats->num_alloc_retries, 0);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 400 * MIB);
    alloc_rig_release(&rig);
}

/*
 * max_split 64 on a device of 200 MiB, 100 and 90 cached. 120 fits neither nor the 10 left: the largest cached blocks
 * are returned until 120 are free (100, then 90), and no flush is needed. Then the 120 block is cached and 80 are
 * left: 70 takes a segment (the block would be 50 too large), and for 66 only the one cached block that is large
 * enough is returned.
 */
static void oversize_blocks_are_released_before_the_whole_cache(void **state)
{
    struct alloc_rig rig;
    struct eng_block *b[3];

    (void)state;
    alloc_rig_init(&rig, 200 * MIB, "max_split_size_mb:64");
    b[0] = alloc_rig_get(&rig, 100 * MIB);
    b[1] = alloc_rig_get(&rig, 90 * MIB);
    alloc_rig_put(&rig, b[1]);
    alloc_rig_put(&rig, b[0]);
    b[2] = alloc_rig_get(&rig, 120 * MIB);
    assert_u64(rig.stats->num_alloc_retries, 0);
    assert_u64(rig.stats->num_sync_all_streams, 0);
    assert_u64(rig.stats->num_device_free, 2);
    alloc_rig_put(&rig, b[2]);
    b[0] = alloc_rig_get(&rig, 70 * MIB);
    assert_u64(rig.stats->num_device_free, 2);
    b[1] = alloc_rig_get(&rig, 66 * MIB);
    assert_u64(rig.stats->num_device_free, 3);
    assert_u64(rig.stats->num_alloc_retries, 0);
    alloc_rig_release(&rig);
}

/* A limit of 100 MiB, GC at 80 %: above 80 MiB reserved, the unused segment of the greatest age is returned. */
static void garbage_collection_returns_the_oldest_segments(void **state)
{
    struct alloc_rig rig;
    struct eng_block *old;
    struct eng_block *young;

    (void)state;
    alloc_rig_init(&rig, 200 * MIB,
                   "per_process_memory_fraction:0.5,garbage_collection_threshold:0.8");
    old = alloc_rig_get(&rig, 30 * MIB);
    young = alloc_rig_get(&rig, 40 * MIB);
    alloc_rig_put(&rig, old); /* freed at search 2 */
    alloc_rig_put(
        &rig,
        alloc_rig_get(
            &rig,
            14 * MIB)); /* search 3 splits the 30 MiB segment and merges it again: freed at 3 */
    alloc_rig_put(&rig, young); /* put at 3 too */
    alloc_rig_get(&rig,
                  50 * MIB); /* search 4: reserved 70 <= 80, no collection; 70 + 50 > 100: flush */
    assert_u64(rig.stats->num_alloc_retries, 1);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 50 * MIB);
    alloc_rig_release(&rig);

    alloc_rig_init(&rig, 200 * MIB,
                   "per_process_memory_fraction:0.5,garbage_collection_threshold:0.5");
    old = alloc_rig_get(&rig, 12 * MIB);   /* search 1 */
    young = alloc_rig_get(&rig, 14 * MIB); /* 2 */
    alloc_rig_get(&rig, 30 * MIB);         /* 3: reserved 56 */
    alloc_rig_put(&rig, old);              /* age base 3 */
    alloc_rig_put(
        &rig,
        alloc_rig_get(
            &rig,
            40 * MIB)); /* 4: reserved 56 > 50: `old` (age 1, the mean) goes; 44 + 40; base 4 */
    assert_u64(rig.stats->num_device_free, 1);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 84 * MIB);
    alloc_rig_get(&rig, 39 * MIB); /* 5: takes the 40 */
    alloc_rig_put(&rig, young);    /* base 5 */
    alloc_rig_get(&rig, 15 * MIB); /* 6: reserved 84 > 50: `young` goes (age 1); 70 + 16 = 86 */
    assert_u64(rig.stats->num_device_free, 2);
    assert_u64(rig.stats->num_alloc_retries, 0);
    assert_u64(alloc_rig_now(rig.stats->reserved_bytes), 86 * MIB);
    alloc_rig_release(&rig);
}

/* 524,800 in quarters of 512 Ki: 640 Ki. 1200 <= 4 x 512: plain. d=2: 514 MiB -> 768. A power of two stays. */
static void requests_are_rounded_as_configured(void **state)
{
    struct eng_alloc_conf conf;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    eng_alloc_conf_init(&conf);
    assert_u64(eng_alloc_round_bytes(&conf, 1), 512);
    assert_u64(eng_alloc_round_bytes(&conf, 512), 512);
    assert_u64(eng_alloc_round_bytes(&conf, 513), 1024);
    assert_u64(eng_alloc_segment_bytes(&conf, MIB), 2 * MIB);
    assert_u64(eng_alloc_segment_bytes(&conf, MIB + 512), 20 * MIB);
    assert_u64(eng_alloc_segment_bytes(&conf, 10 * MIB - 512), 20 * MIB);
    assert_u64(eng_alloc_segment_bytes(&conf, 10 * MIB), 10 * MIB);
    assert_u64(eng_alloc_segment_bytes(&conf, 10 * MIB + 512), 12 * MIB);
    assert_int_equal(eng_alloc_conf_parse("roundup_power2_divisions:4", &conf, &err), VS_OK);
    assert_u64(eng_alloc_round_bytes(&conf, 1200), 1536);
    assert_u64(eng_alloc_round_bytes(&conf, 524800), 655360);
    assert_u64(eng_alloc_round_bytes(&conf, 1048577), 1310720);
    assert_u64(eng_alloc_round_bytes(&conf, 514 * MIB), 640 * MIB);
    assert_u64(eng_alloc_round_bytes(&conf, 512 * MIB), 512 * MIB);
    assert_int_equal(eng_alloc_conf_parse("roundup_power2_divisions:2", &conf, &err), VS_OK);
    assert_u64(eng_alloc_round_bytes(&conf, 514 * MIB), 768 * MIB);
    assert_int_equal(eng_alloc_conf_parse("roundup_power2_divisions:1", &conf, &err), VS_OK);
    assert_u64(eng_alloc_round_bytes(&conf, 514 * MIB + 1), 514 * MIB + 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_up_to_one_mebibyte_use_the_small_pool),
        cmocka_unit_test(medium_requests_share_a_segment_of_twenty_mebibytes),
        cmocka_unit_test(a_large_block_is_split_only_above_one_mebibyte),
        cmocka_unit_test(a_full_device_returns_cached_memory_and_retries),
        cmocka_unit_test(the_memory_fraction_counts_whole_segments),
        cmocka_unit_test(an_oversize_block_is_never_split),
        cmocka_unit_test(expandable_segments_grow_by_granules),
        cmocka_unit_test(expandable_segments_unmap_unused_pages_in_the_middle),
        cmocka_unit_test(streams_do_not_share_blocks),
        cmocka_unit_test(two_workspaces_share_a_segment),
        cmocka_unit_test(the_best_fit_is_the_smallest_then_the_lowest),
        cmocka_unit_test(a_request_of_an_exbibyte_is_refused_at_once),
        cmocka_unit_test(an_early_refusal_does_not_flush_the_cache),
        cmocka_unit_test(oversize_blocks_are_released_before_the_whole_cache),
        cmocka_unit_test(garbage_collection_returns_the_oldest_segments),
        cmocka_unit_test(requests_are_rounded_as_configured),
    };

    return cmocka_run_group_tests_name("engine/alloc", tests, NULL, NULL);
}
