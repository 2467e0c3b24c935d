/*
 * tests/engine/alloc/test_pools.c - blocks used by other streams, private pools, limits of expandable segments,
 * settings changed while running.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/alloc/alloc.h"
#include "engine/alloc/driver.h"

#define MIB UINT64_C(1048576)
#define GIB (UINT64_C(1024) * MIB)

struct rig {
    struct eng_sim_driver *sim;
    struct eng_alloc *alloc;
    const struct eng_alloc_stats *stats;
    unsigned counts[ENG_ALLOC_EV_COUNT];
};

static void count_event(void *user, const struct eng_alloc_event *event)
{
    struct rig *rig = user;

    rig->counts[event->kind]++;
}

static struct eng_alloc_conf conf_of(const char *text)
{
    struct eng_alloc_conf conf;
    struct vs_error err = VS_ERROR_INIT;

    eng_alloc_conf_init(&conf);
    if (eng_alloc_conf_parse(text, &conf, &err))
        fail_msg("%s", err.text);
    return conf;
}

static void rig_init(struct rig *rig, uint64_t total_bytes, const char *conf_text,
                     enum eng_alloc_events events)
{
    const struct eng_alloc_conf conf = conf_of(conf_text);

    *rig = (struct rig){0};
    rig->sim = eng_sim_driver_new(&(struct eng_sim_options){.total_bytes = total_bytes});
    rig->alloc = eng_alloc_new(&(struct eng_alloc_options){
        .driver = eng_sim_driver_get(rig->sim),
        .conf = &conf,
        .listener = {.user = rig, .event = count_event},
        .events = events,
    });
    rig->stats = eng_alloc_stats_get(rig->alloc);
}

static void rig_release(struct rig *rig)
{
    eng_alloc_free(rig->alloc);
    eng_sim_driver_free(rig->sim);
}

static struct eng_block *get(struct rig *rig, uint64_t bytes)
{
    struct eng_block *block = NULL;

    if (eng_alloc_get(rig->alloc, bytes, 0, &block, NULL) != VS_OK)
        fail_msg("%llu bytes were refused", (unsigned long long)bytes);
    return block;
}

static uint64_t now(const struct eng_alloc_stat stat[ENG_STAT_POOLS])
{
    return stat[ENG_STAT_ALL].current;
}

#define assert_u64(a, b) assert_int_equal((uintmax_t)(a), (uintmax_t)(b))

/* ---- other streams ---- */

static void a_block_another_stream_used_waits_for_the_next_allocation(void **state)
{
    struct rig rig;
    struct eng_block *block;
    uint64_t address;

    (void)state;
    rig_init(&rig, GIB, "", ENG_EVENTS_AT_NEXT_ALLOC);
    block = get(&rig, 30 * MIB);
    address = eng_block_address(block);
    eng_alloc_record_stream(rig.alloc, block, 7);
    eng_alloc_put(rig.alloc, block);
    assert_int_equal(eng_block_state(block), ENG_BLOCK_PENDING_FREE);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_FREE_REQUESTED], 1);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_FREE_COMPLETED], 0);
    assert_u64(now(rig.stats->allocated_bytes), 0);
    assert_u64(now(rig.stats->active_bytes), 30 * MIB);
    assert_u64(now(rig.stats->requested_bytes), 30 * MIB);
    assert_u64(eng_block_address(get(&rig, 30 * MIB)), address);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_FREE_COMPLETED], 1);
    assert_u64(now(rig.stats->reserved_bytes), 30 * MIB);
    rig_release(&rig);
}

static void a_block_recorded_on_its_own_stream_is_freed_at_once(void **state)
{
    struct rig rig;
    struct eng_block *block;

    (void)state;
    rig_init(&rig, GIB, "", ENG_EVENTS_EXPLICIT);
    block = get(&rig, 30 * MIB);
    eng_alloc_record_stream(rig.alloc, block, 0);
    eng_alloc_put(rig.alloc, block);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_FREE_COMPLETED], 1);
    rig_release(&rig);
}

/* Used on streams 1 and 2: both have to be reached; a block freed after stream_reached is not completed by it. */
static void a_block_waits_for_every_stream_that_used_it(void **state)
{
    struct rig rig;
    struct eng_block *first;
    struct eng_block *second;

    (void)state;
    rig_init(&rig, GIB, "", ENG_EVENTS_EXPLICIT);
    first = get(&rig, 30 * MIB);
    second = get(&rig, 40 * MIB);
    eng_alloc_record_stream(rig.alloc, first, 1);
    eng_alloc_record_stream(rig.alloc, first, 2);
    eng_alloc_record_stream(rig.alloc, second, 2);
    eng_alloc_put(rig.alloc, first);
    eng_alloc_stream_reached(rig.alloc, 2);
    eng_alloc_put(rig.alloc, second);
    get(&rig, 512);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_FREE_COMPLETED], 0);
    eng_alloc_stream_reached(rig.alloc, 1);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_FREE_COMPLETED],
                     0); /* processed by the next allocation */
    get(&rig, 512);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_FREE_COMPLETED], 1);
    assert_int_equal(eng_block_state(second), ENG_BLOCK_PENDING_FREE);
    eng_alloc_stream_reached(rig.alloc, 2);
    get(&rig, 512);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_FREE_COMPLETED], 2);
    rig_release(&rig);
}

static void a_free_can_be_completed_out_of_order(void **state)
{
    struct rig rig;
    struct eng_block *b[3];

    (void)state;
    rig_init(&rig, GIB, "", ENG_EVENTS_EXPLICIT);
    for (int i = 0; i < 3; i++)
        b[i] = get(&rig, 30 * MIB);
    for (int i = 0; i < 3; i++) {
        eng_alloc_record_stream(rig.alloc, b[i], 1);
        eng_alloc_put(rig.alloc, b[i]);
        if (i == 0)
            eng_alloc_stream_reached(rig.alloc, 1);
    }
    eng_alloc_put_complete(rig.alloc, b[1]);
    assert_u64(now(rig.stats->active), 2);
    get(&rig, 30 * MIB); /* completes b[0], whose stream was reached; uses its segment or b[1]'s */
    assert_int_equal(rig.counts[ENG_ALLOC_EV_FREE_COMPLETED], 2);
    assert_int_equal(eng_block_state(b[2]), ENG_BLOCK_PENDING_FREE);
    assert_u64(now(rig.stats->reserved_bytes), 90 * MIB);
    rig_release(&rig);
}

static void emptying_the_cache_waits_for_the_device(void **state)
{
    struct rig rig;
    struct eng_block *block;

    (void)state;
    rig_init(&rig, GIB, "", ENG_EVENTS_EXPLICIT);
    block = get(&rig, 30 * MIB);
    eng_alloc_record_stream(rig.alloc, block, 1);
    eng_alloc_put(rig.alloc, block);
    eng_alloc_empty_cache(rig.alloc);
    assert_u64(now(rig.stats->reserved_bytes), 0);
    assert_u64(rig.stats->num_sync_all_streams, 1);
    rig_release(&rig);
}

/* A pending block is not merged, and separates its neighbours. */
static void a_waiting_block_does_not_merge(void **state)
{
    struct rig rig;
    struct eng_block *b[3];

    (void)state;
    rig_init(&rig, GIB, "", ENG_EVENTS_EXPLICIT);
    for (int i = 0; i < 3; i++)
        b[i] = get(&rig, 512);
    eng_alloc_record_stream(rig.alloc, b[1], 1);
    for (int i = 0; i < 3; i++)
        eng_alloc_put(rig.alloc, b[i]);
    assert_u64(now(rig.stats->inactive_split), 2); /* the first, and the third with the tail */
    assert_u64(now(rig.stats->inactive_split_bytes), 2 * MIB - 512);
    eng_alloc_put_complete(rig.alloc, b[1]);
    assert_u64(now(rig.stats->inactive_split), 0);
    rig_release(&rig);
}

/* ---- private pools ---- */

static const struct eng_pool_id graph = {1, 0};
static const struct eng_pool_id user = {0, 1};

static void a_private_pool_shares_nothing(void **state)
{
    struct rig rig;
    struct eng_block *outside;
    struct eng_block *inside;
    struct eng_segment it = {0};

    (void)state;
    rig_init(&rig, GIB, "", ENG_EVENTS_AT_NEXT_ALLOC);
    outside = get(&rig, 3 * MIB);
    eng_alloc_pool_begin(rig.alloc, graph, ENG_ANY_STREAM);
    inside = get(&rig, 3 * MIB);
    assert_u64(now(rig.stats->reserved_bytes), 40 * MIB);
    eng_alloc_pool_end(rig.alloc, graph);
    eng_alloc_put(rig.alloc, inside);
    assert_u64(eng_block_address(get(&rig, 3 * MIB)), eng_block_address(outside) + 3 * MIB);
    assert_true(eng_alloc_segment_next(rig.alloc, &it));
    assert_u64(it.pool.graph, 0);
    assert_true(eng_alloc_segment_next(rig.alloc, &it));
    assert_u64(it.pool.graph, 1);
    assert_u64(it.active_bytes, 0);
    assert_false(eng_alloc_segment_next(rig.alloc, &it));
    rig_release(&rig);
}

static void a_private_pools_memory_is_kept_until_its_last_user_ends(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, GIB, "", ENG_EVENTS_AT_NEXT_ALLOC);
    eng_alloc_pool_begin(rig.alloc, user, ENG_ANY_STREAM);
    eng_alloc_put(rig.alloc, get(&rig, 30 * MIB));
    eng_alloc_pool_end(rig.alloc, user);
    eng_alloc_empty_cache(rig.alloc);
    assert_u64(now(rig.stats->reserved_bytes), 30 * MIB);
    eng_alloc_pool_release(rig.alloc, user);
    assert_u64(now(rig.stats->reserved_bytes), 30 * MIB);
    eng_alloc_empty_cache(rig.alloc);
    assert_u64(now(rig.stats->reserved_bytes), 0);
    /* an empty pool that still has users is kept by a flush */
    eng_alloc_pool_begin(rig.alloc, user, ENG_ANY_STREAM);
    eng_alloc_pool_end(rig.alloc, user);
    eng_alloc_empty_cache(rig.alloc);
    eng_alloc_pool_release(rig.alloc, user);
    rig_release(&rig);
}

static void a_pool_region_can_apply_to_one_stream(void **state)
{
    struct rig rig;
    struct eng_block *block;
    struct eng_segment it = {0};

    (void)state;
    rig_init(&rig, GIB, "", ENG_EVENTS_AT_NEXT_ALLOC);
    eng_alloc_pool_begin(rig.alloc, graph, 5);
    get(&rig, 3 * MIB);
    assert_int_equal(eng_alloc_get(rig.alloc, 3 * MIB, 5, &block, NULL), VS_OK);
    while (eng_alloc_segment_next(rig.alloc, &it))
        assert_u64(it.pool.graph, it.stream == 5 ? 1 : 0);
    rig_release(&rig);
}

/* Inside a region: no waiting, no flush; the event of a block used by another stream is recorded after the region. */
static void a_pool_region_neither_flushes_the_cache_nor_waits_for_streams(void **state)
{
    struct rig rig;
    struct eng_block *shared;
    struct eng_block *block;

    (void)state;
    rig_init(&rig, 100 * MIB, "", ENG_EVENTS_AT_NEXT_ALLOC);
    shared = get(&rig, 20 * MIB);
    eng_alloc_put(rig.alloc, get(&rig, 60 * MIB));
    eng_alloc_record_stream(rig.alloc, shared, 1);
    eng_alloc_pool_begin(rig.alloc, graph, ENG_ANY_STREAM);
    eng_alloc_put(rig.alloc, shared);
    assert_int_equal(eng_alloc_get(rig.alloc, 30 * MIB, 0, &block, NULL), VS_E_OOM);
    assert_u64(rig.stats->num_alloc_retries, 0);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_FREE_COMPLETED], 1); /* of the 60 MiB block */
    eng_alloc_pool_end(rig.alloc, graph);
    get(&rig, 90 * MIB);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_FREE_COMPLETED], 2);
    assert_u64(rig.stats->num_alloc_retries, 1);
    rig_release(&rig);
}

static void an_oom_counts_memory_kept_by_private_pools(void **state)
{
    struct rig rig;
    struct eng_block *block;
    struct eng_oom oom;

    (void)state;
    rig_init(&rig, 100 * MIB, "", ENG_EVENTS_AT_NEXT_ALLOC);
    eng_alloc_pool_begin(rig.alloc, user, ENG_ANY_STREAM);
    eng_alloc_put(rig.alloc, get(&rig, 60 * MIB));
    eng_alloc_pool_end(rig.alloc, user);
    assert_int_equal(eng_alloc_get(rig.alloc, 50 * MIB, 0, &block, &oom), VS_E_OOM);
    assert_u64(oom.private_bytes, 60 * MIB);
    assert_u64(oom.reserved_bytes, 60 * MIB);
    assert_u64(oom.allocated_bytes, 0);
    assert_u64(oom.largest_free_bytes, 0);
    rig_release(&rig);
}

/* ---- expandable segments ---- */

/*
 * 100 MiB device, 3 x 20 MiB, the second unmapped (a hole), the third free. 90 MiB: the hole is mapped again (60
 * reserved), then 50 more would be needed: refused. The flush unmaps all 40 free MiB in one range, and the last attempt
 * needs 100: out of memory.
 */
static void a_growth_that_fails_halfway_keeps_the_mapped_part_free(void **state)
{
    struct rig rig;
    struct eng_block *b[3];
    struct eng_block *block;

    (void)state;
    rig_init(&rig, 100 * MIB, "expandable_segments:True", ENG_EVENTS_AT_NEXT_ALLOC);
    for (int i = 0; i < 3; i++)
        b[i] = get(&rig, 20 * MIB);
    eng_alloc_put(rig.alloc, b[1]);
    eng_alloc_empty_cache(rig.alloc);
    eng_alloc_put(rig.alloc, b[2]);
    assert_u64(now(rig.stats->reserved_bytes), 40 * MIB);
    assert_int_equal(eng_alloc_get(rig.alloc, 90 * MIB, 0, &block, NULL), VS_E_OOM);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_SEGMENT_MAP], 4);
    assert_int_equal(rig.counts[ENG_ALLOC_EV_SEGMENT_UNMAP], 2);
    assert_u64(rig.stats->reserved_bytes[ENG_STAT_ALL].peak, 60 * MIB);
    assert_u64(now(rig.stats->reserved_bytes), 20 * MIB);
    assert_u64(eng_sim_driver_used(rig.sim), 20 * MIB);
    rig_release(&rig);
}

/* When the last block of an area is unmapped its address space is released, and a new area has another address. */
static void an_empty_expandable_segment_is_removed(void **state)
{
    struct rig rig;
    struct eng_block *block;
    struct eng_segment it = {0};
    uint64_t address;

    (void)state;
    rig_init(&rig, GIB, "expandable_segments:True", ENG_EVENTS_AT_NEXT_ALLOC);
    block = get(&rig, 5 * MIB);
    address = eng_block_address(block);
    eng_alloc_put(rig.alloc, block);
    eng_alloc_empty_cache(rig.alloc);
    assert_false(eng_alloc_segment_next(rig.alloc, &it));
    assert_true(eng_block_address(get(&rig, 5 * MIB)) > address);
    rig_release(&rig);
}

/* A reserve of a quarter of 400 MiB: 100 MiB per area. Two requests of 60 need two areas; 110 fits in none. */
static void a_smaller_reserve_makes_more_segments(void **state)
{
    struct rig rig;
    struct eng_block *first;
    struct eng_block *second;
    struct eng_block *third;

    (void)state;
    rig_init(&rig, 400 * MIB, "expandable_segments:True,expandable_segments_reserve:0.25",
             ENG_EVENTS_AT_NEXT_ALLOC);
    first = get(&rig, 60 * MIB);
    second = get(&rig, 60 * MIB);
    third = get(&rig, 40 * MIB);
    assert_true(eng_block_address(second) >= eng_block_address(first) + 100 * MIB);
    assert_u64(eng_block_address(third), eng_block_address(first) + 60 * MIB);
    assert_int_equal(eng_alloc_get(rig.alloc, 110 * MIB, 0, &first, NULL), VS_E_OOM);
    rig_release(&rig);
}

/* Turned off: the rest of an expandable segment is no longer used. Turned on again: it is. */
static void expandable_segments_are_unused_while_the_setting_is_off(void **state)
{
    struct rig rig;
    struct eng_block *block;
    struct eng_alloc_conf conf = conf_of("");
    uint64_t address;

    (void)state;
    rig_init(&rig, GIB, "expandable_segments:True", ENG_EVENTS_AT_NEXT_ALLOC);
    block = get(&rig, 5 * MIB);
    address = eng_block_address(block);
    eng_alloc_put(rig.alloc, block);
    eng_alloc_set_conf(rig.alloc, &conf);
    assert_false(eng_alloc_conf_get(rig.alloc)->expandable_segments);
    block = get(&rig, 5 * MIB);
    assert_true(eng_block_address(block) != address);
    assert_u64(now(rig.stats->segment), 1);
    address = eng_block_address(block);
    eng_alloc_put(rig.alloc, block);
    conf.expandable_segments = true;
    eng_alloc_set_conf(rig.alloc, &conf);
    /* both fit; an ordinary block counts as its 20 MiB, the growing one as 9/8 of the device */
    assert_u64(eng_block_address(get(&rig, 5 * MIB)), address);
    rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_another_stream_used_waits_for_the_next_allocation),
        cmocka_unit_test(a_block_recorded_on_its_own_stream_is_freed_at_once),
        cmocka_unit_test(a_block_waits_for_every_stream_that_used_it),
        cmocka_unit_test(a_free_can_be_completed_out_of_order),
        cmocka_unit_test(emptying_the_cache_waits_for_the_device),
        cmocka_unit_test(a_waiting_block_does_not_merge),
        cmocka_unit_test(a_private_pool_shares_nothing),
        cmocka_unit_test(a_private_pools_memory_is_kept_until_its_last_user_ends),
        cmocka_unit_test(a_pool_region_can_apply_to_one_stream),
        cmocka_unit_test(a_pool_region_neither_flushes_the_cache_nor_waits_for_streams),
        cmocka_unit_test(an_oom_counts_memory_kept_by_private_pools),
        cmocka_unit_test(a_growth_that_fails_halfway_keeps_the_mapped_part_free),
        cmocka_unit_test(an_empty_expandable_segment_is_removed),
        cmocka_unit_test(a_smaller_reserve_makes_more_segments),
        cmocka_unit_test(expandable_segments_are_unused_while_the_setting_is_off),
    };

    return cmocka_run_group_tests_name("engine/alloc_pools", tests, NULL, NULL);
}
