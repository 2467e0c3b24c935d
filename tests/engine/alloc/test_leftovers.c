/*
 * tests/engine/alloc/test_leftovers.c - reserved addresses nobody mapped, blocks of expandable segments after the
 * setting was turned off, what an out-of-memory error counts as free.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/engine/alloc_rig.h"

/* ---- reserved addresses ---- */

/* A device that maps nothing where `maps` is false, and notes which reservation was released, and how many were. */
struct device {
    struct eng_alloc_driver real;
    bool maps;
    unsigned released;
    uint64_t reserved_at;
    uint64_t reserved_bytes;
    uint64_t released_at;
    uint64_t released_bytes;
};

static bool device_segment_alloc(void *user, uint64_t bytes, uint64_t *address)
{
    struct device *d = user;

    return d->real.segment_alloc(d->real.user, bytes, address);
}

static void device_segment_free(void *user, uint64_t address, uint64_t bytes)
{
    struct device *d = user;

    d->real.segment_free(d->real.user, address, bytes);
}

static void device_mem_info(void *user, uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct device *d = user;

    d->real.mem_info(d->real.user, free_bytes, total_bytes);
}

static bool device_reserve(void *user, uint64_t bytes, uint64_t *address)
{
    struct device *d = user;
    const bool is_there = d->real.range_reserve(d->real.user, bytes, address);

    d->reserved_at = *address;
    d->reserved_bytes = bytes;
    return is_there;
}

static bool device_map(void *user, uint64_t address, uint64_t bytes)
{
    struct device *d = user;

    return d->maps && d->real.range_map(d->real.user, address, bytes);
}

static void device_unmap(void *user, uint64_t address, uint64_t bytes)
{
    struct device *d = user;

    d->real.range_unmap(d->real.user, address, bytes);
}

static void device_release(void *user, uint64_t address, uint64_t bytes)
{
    struct device *d = user;

    d->released++;
    d->released_at = address;
    d->released_bytes = bytes;
}

/* Allocate `bytes` on the device, and free the allocator. */
static void run(struct device *d, bool is_expandable, bool maps)
{
    struct eng_sim_driver *sim = eng_sim_driver_new(&(struct eng_sim_options){.total_bytes = GIB});
    struct eng_alloc_conf conf;
    struct eng_alloc *alloc;
    struct eng_block *block;

    *d = (struct device){.real = eng_sim_driver_get(sim), .maps = maps};
    eng_alloc_conf_init(&conf);
    conf.expandable_segments = is_expandable;
    alloc = eng_alloc_new(&(struct eng_alloc_options){
        .conf = &conf,
        .driver = {.user = d,
                   .segment_alloc = device_segment_alloc,
                   .segment_free = device_segment_free,
                   .mem_info = device_mem_info,
                   .range_reserve = device_reserve,
                   .range_map = device_map,
                   .range_unmap = device_unmap,
                   .range_release = device_release},
    });
    /* 20 MiB are the whole of an ordinary segment */
    assert_int_equal(eng_alloc_get(alloc, 20 * MIB, 0, &block, NULL), maps ? VS_OK : VS_E_OOM);
    eng_alloc_free(alloc);
    eng_sim_driver_free(sim);
}

static void addresses_that_nobody_mapped_are_released_at_the_end(void **state)
{
    struct device d;

    (void)state;
    run(&d, true, false);
    assert_int_equal(d.released, 1);
    assert_u64(d.released_at, d.reserved_at);
    assert_u64(d.released_bytes, d.reserved_bytes);
    assert_true(d.reserved_bytes > GIB);
}

static void segments_that_are_in_use_at_the_end_stay_the_devices(void **state)
{
    struct device d;

    (void)state;
    run(&d, true, true);
    assert_int_equal(d.released, 0);
    run(&d, false, true);
    assert_int_equal(d.released, 0);
}

/* A quarter of 400 MiB is reserved for a segment. */
static void a_request_of_all_that_is_reserved_is_served(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block;

    (void)state;
    alloc_rig_init(&rig, 400 * MIB, "expandable_segments:True,expandable_segments_reserve:0.25");
    (void)alloc_rig_get(&rig, 100 * MIB);
    assert_int_equal(eng_alloc_get(rig.alloc, 100 * MIB + 512, 0, &block, NULL), VS_E_OOM);
    alloc_rig_release(&rig);
}

/* ---- expandable segments that are turned off ---- */

static void set_expandable(struct alloc_rig *rig, bool is_expandable)
{
    struct eng_alloc_conf conf = *eng_alloc_conf_get(rig->alloc);

    conf.expandable_segments = is_expandable;
    eng_alloc_set_conf(rig->alloc, &conf);
}

/* Stream 1 has a free block of an expandable segment; ordinary ones follow it in the order of the free blocks. */
static void what_is_left_of_expandable_segments_is_passed_over(void **state)
{
    struct alloc_rig rig;
    struct eng_block *others;
    struct eng_block *own;
    uint64_t address;

    (void)state;
    alloc_rig_init(&rig, GIB, "expandable_segments:True");
    alloc_rig_put(&rig, alloc_rig_get_on(&rig, 12 * MIB, 1));
    set_expandable(&rig, false);
    others = alloc_rig_get_on(&rig, 30 * MIB, 2);
    alloc_rig_put(&rig, others);
    assert_u64(alloc_rig_now(rig.stats->segment), 1);
    /* another stream's block is not used */
    own = alloc_rig_get_on(&rig, 12 * MIB, 1);
    assert_u64(alloc_rig_now(rig.stats->segment), 2);
    address = eng_block_address(own);
    alloc_rig_put(&rig, own);
    /* the ordinary one of this stream is, without another segment */
    assert_u64(eng_block_address(alloc_rig_get_on(&rig, 12 * MIB, 1)), address);
    assert_u64(alloc_rig_now(rig.stats->segment), 2);
    alloc_rig_release(&rig);
}

/* ---- out of memory ---- */

/* 20 MiB of stream 1, of which 3 are in use: what is larger than the other 17 does not fit into the device. */
static void an_oom_names_the_largest_free_block_of_its_stream(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block;
    struct eng_oom oom;

    (void)state;
    alloc_rig_init(&rig, 30 * MIB, "");
    (void)alloc_rig_get_on(&rig, 3 * MIB, 1);
    assert_int_equal(eng_alloc_get(rig.alloc, 18 * MIB, 1, &block, &oom), VS_E_OOM);
    assert_u64(oom.largest_free_bytes, 17 * MIB);
    assert_int_equal(eng_alloc_get(rig.alloc, 18 * MIB, 2, &block, &oom), VS_E_OOM);
    assert_u64(oom.largest_free_bytes, 0);
    assert_int_equal(eng_alloc_get(rig.alloc, 18 * MIB, 0, &block, &oom), VS_E_OOM);
    assert_u64(oom.largest_free_bytes, 0);
    /* so large that no pool is looked into */
    assert_int_equal(eng_alloc_get(rig.alloc, UINT64_C(1) << 60, 1, &block, &oom), VS_E_OOM);
    assert_u64(oom.largest_free_bytes, 0);
    assert_u64(oom.rounded_bytes, UINT64_C(1) << 60);
    assert_u64(rig.stats->num_ooms, 3);
    alloc_rig_release(&rig);
}

static void an_oom_counts_both_halves_of_private_pools(void **state)
{
    const struct eng_pool_id graph = {.graph = 1};
    struct alloc_rig rig;
    struct eng_block *small;
    struct eng_block *large;
    struct eng_block *block;
    struct eng_oom oom;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    alloc_rig_init(&rig, 100 * MIB, "");
    eng_alloc_pool_begin(rig.alloc, graph, ENG_ANY_STREAM);
    small = alloc_rig_get(&rig, MIB);      /* of 2 MiB */
    large = alloc_rig_get(&rig, 30 * MIB); /* all of its segment */
    alloc_rig_put(&rig, small);
    alloc_rig_put(&rig, large);
    eng_alloc_pool_end(rig.alloc, graph);
    (void)alloc_rig_get(&rig, 3 * MIB); /* of 20 MiB */
    assert_int_equal(eng_alloc_get(rig.alloc, 60 * MIB, 0, &block, &oom), VS_E_OOM);
    assert_u64(oom.private_bytes, 32 * MIB);
    assert_u64(oom.allocated_bytes, 3 * MIB);
    assert_u64(oom.reserved_bytes, 52 * MIB);
    assert_u64(oom.largest_free_bytes, 17 * MIB);
    assert_int_equal(eng_oom_describe(&oom, &err), VS_E_OOM);
    assert_non_null(strstr(err.text, "allocated 35.0 MiB (32.0 MiB of it cached in private pools), "
                                     "reserved but unallocated 17.0 MiB"));
    alloc_rig_release(&rig);
}

static void an_oom_names_the_limit_where_there_is_one(void **state)
{
    struct alloc_rig rig;
    struct eng_block *block;
    struct eng_oom oom;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    alloc_rig_init(&rig, 100 * MIB, "per_process_memory_fraction:0.5");
    assert_int_equal(eng_alloc_get(rig.alloc, 60 * MIB, 0, &block, &oom), VS_E_OOM);
    assert_int_equal(eng_oom_describe(&oom, &err), VS_E_OOM);
    assert_non_null(strstr(err.text, "free; the limit is 50.0 MiB; allocated 0 B, reserved"));
    alloc_rig_release(&rig);
    alloc_rig_init(&rig, 100 * MIB, "");
    assert_int_equal(eng_alloc_get(rig.alloc, 110 * MIB, 0, &block, &oom), VS_E_OOM);
    assert_int_equal(eng_oom_describe(&oom, &err), VS_E_OOM);
    assert_non_null(strstr(err.text, "free; allocated 0 B, reserved"));
    alloc_rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_that_nobody_mapped_are_released_at_the_end),
        cmocka_unit_test(segments_that_are_in_use_at_the_end_stay_the_devices),
        cmocka_unit_test(a_request_of_all_that_is_reserved_is_served),
        cmocka_unit_test(what_is_left_of_expandable_segments_is_passed_over),
        cmocka_unit_test(an_oom_names_the_largest_free_block_of_its_stream),
        cmocka_unit_test(an_oom_counts_both_halves_of_private_pools),
        cmocka_unit_test(an_oom_names_the_limit_where_there_is_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
