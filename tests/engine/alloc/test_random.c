/*
 * tests/engine/alloc/test_random.c - the caching allocator compared with a slow and simple one, on random sequences.
 *
 * After every call the addresses must be equal; every few calls every block, and every statistic with the sum that
 * defines it. The device is small, so that it is full most of the time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/alloc/alloc.h"
#include "engine/alloc/driver.h"
#include "tests/engine/alloc_naive.h"

#define MIB UINT64_C(1048576)
#define MAX_LIVE 400
#define CALLS 2500
#define SEEDS 3

struct scenario {
    const char *name;
    const char *conf;
    uint64_t device_bytes;
    uint64_t streams;
    unsigned share_percent;  /* of the frees: blocks that another stream used */
    unsigned region_percent; /* calls that open or close a private pool's region */
};

struct pair {
    struct eng_block *block;
    uint64_t address;
};

struct rig {
    const struct scenario *sc;
    struct eng_sim_driver *sim[2];
    struct eng_alloc *alloc;
    const struct eng_alloc_stats *stats;
    struct naive nv;
    struct pair live[MAX_LIVE];
    size_t live_count;
    uint64_t random;
    unsigned call;
    uint64_t ooms;
};

/* xorshift64*: the same sequence in every run. */
static uint64_t draw(struct rig *rig, uint64_t below)
{
    rig->random ^= rig->random >> 12;
    rig->random ^= rig->random << 25;
    rig->random ^= rig->random >> 27;
    return (rig->random * UINT64_C(2685821657736338717) >> 11) % below;
}

/* Sizes around every threshold: 512 B, 1 MiB, 10 MiB, whole MiB, and anything between. */
static uint64_t draw_bytes(struct rig *rig)
{
    static const uint64_t edges[] = {
        1,        511,          512,          513,      MIB - 1,        MIB,     MIB + 1,
        10 * MIB, 10 * MIB - 1, 10 * MIB + 1, 20 * MIB, 20 * MIB - 512, 2 * MIB, 64 * MIB};

    switch (draw(rig, 6)) {
    case 0:
        return 1 + draw(rig, 4096);
    case 1:
        return 1 + draw(rig, 2 * MIB);
    case 2:
        return 1 + draw(rig, 12 * MIB);
    case 3:
        return (1 + draw(rig, 48)) * MIB + draw(rig, 2) * draw(rig, MIB);
    case 4:
        return edges[draw(rig, sizeof(edges) / sizeof(edges[0]))];
    default:
        return (1 + draw(rig, 16)) * 512 * (1 + draw(rig, 64));
    }
}

static void same(const struct rig *rig, const char *what, uint64_t naive, uint64_t real)
{
    if (naive != real)
        fail_msg("%s, call %u: %s is %llu, should be %llu", rig->sc->name, rig->call, what,
                 (unsigned long long)real, (unsigned long long)naive);
}

static void same_stat(const struct rig *rig, const char *what, const uint64_t naive[2],
                      const struct eng_alloc_stat real[ENG_STAT_POOLS])
{
    same(rig, what, naive[0], real[ENG_STAT_SMALL].current);
    same(rig, what, naive[1], real[ENG_STAT_LARGE].current);
    same(rig, what, naive[0] + naive[1], real[ENG_STAT_ALL].current);
    for (int k = 0; k < ENG_STAT_POOLS; k++) {
        same(rig, "allocated - freed", real[k].current, real[k].allocated - real[k].freed);
        assert_true(real[k].peak >= real[k].current);
    }
}

static void check_statistics(const struct rig *rig)
{
    const struct eng_alloc_stats *s = rig->stats;
    const struct naive_sums sums = naive_sum(&rig->nv);

    same_stat(rig, "allocation", sums.allocation, s->allocation);
    same_stat(rig, "allocated_bytes", sums.allocated_bytes, s->allocated_bytes);
    same_stat(rig, "active", sums.active, s->active);
    same_stat(rig, "active_bytes", sums.active_bytes, s->active_bytes);
    same_stat(rig, "requested_bytes", sums.requested_bytes, s->requested_bytes);
    same_stat(rig, "segment", sums.segment, s->segment);
    same_stat(rig, "reserved_bytes", sums.reserved_bytes, s->reserved_bytes);
    same_stat(rig, "inactive_split", sums.inactive_split, s->inactive_split);
    same_stat(rig, "inactive_split_bytes", sums.inactive_split_bytes, s->inactive_split_bytes);
    same(rig, "peak allocated", rig->nv.peak_allocated, s->allocated_bytes[ENG_STAT_ALL].peak);
    same(rig, "peak requested", rig->nv.peak_requested, s->requested_bytes[ENG_STAT_ALL].peak);
    same(rig, "num_alloc_retries", rig->nv.retries, s->num_alloc_retries);
    same(rig, "num_ooms", rig->nv.ooms, s->num_ooms);
    same(rig, "num_device_alloc", rig->nv.device_allocs, s->num_device_alloc);
    same(rig, "num_device_free", rig->nv.device_frees, s->num_device_free);
    same(rig, "granted", eng_sim_driver_used(rig->sim[1]), eng_sim_driver_used(rig->sim[0]));
    same(rig, "reserved", s->reserved_bytes[ENG_STAT_ALL].current,
         eng_sim_driver_used(rig->sim[0]));
}

static void check_blocks(const struct rig *rig)
{
    static const enum eng_block_state states[] = {[NAIVE_FREE] = ENG_BLOCK_INACTIVE,
                                                  [NAIVE_USED] = ENG_BLOCK_ALLOCATED,
                                                  [NAIVE_PENDING] = ENG_BLOCK_PENDING_FREE};
    struct eng_segment it = {0};
    size_t i = 0;

    while (eng_alloc_segment_next(rig->alloc, &it)) {
        for (const struct eng_block *b = it.first; b; b = eng_block_next(b), i++) {
            const struct naive_block *n;

            while (i < rig->nv.count && rig->nv.blocks[i].state == NAIVE_UNMAPPED)
                i++;
            assert_true(i < rig->nv.count);
            n = &rig->nv.blocks[i];
            same(rig, "block address", n->address, eng_block_address(b));
            same(rig, "block size", n->bytes, eng_block_bytes(b));
            same(rig, "block state", states[n->state], eng_block_state(b));
            same(rig, "block stream", n->segment->stream, eng_block_stream(b));
            same(rig, "block pool", n->segment->pool, it.pool.user);
            same(rig, "segment of a block", it.address, eng_block_segment_address(b));
        }
    }
    while (i < rig->nv.count && rig->nv.blocks[i].state == NAIVE_UNMAPPED)
        i++;
    same(rig, "blocks", rig->nv.count, i);
}

static void call_get(struct rig *rig)
{
    const uint64_t bytes = draw_bytes(rig);
    const uint64_t stream = draw(rig, rig->sc->streams);
    struct eng_block *block;
    struct eng_oom oom;
    uint64_t address = 0;
    bool is_ok = naive_get(&rig->nv, bytes, stream, &address);

    same(rig, "success", is_ok, eng_alloc_get(rig->alloc, bytes, stream, &block, &oom) == VS_OK);
    if (!is_ok) {
        rig->ooms++;
        same(rig, "oom: requested", bytes, oom.requested_bytes);
        return;
    }
    same(rig, "address", address, eng_block_address(block));
    rig->live[rig->live_count++] = (struct pair){block, address};
    if (draw(rig, 100) < rig->sc->share_percent) {
        eng_alloc_record_stream(rig->alloc, block, stream); /* its own: no effect */
        eng_alloc_record_stream(rig->alloc, block, stream + 1);
        eng_alloc_record_stream(rig->alloc, block, stream + 1);
        if (draw(rig, 2))
            eng_alloc_record_stream(rig->alloc, block, stream + 2);
        naive_share(&rig->nv, address);
    }
}

static void call_put(struct rig *rig)
{
    size_t i = draw(rig, rig->live_count);
    struct pair pair = rig->live[i];

    rig->live[i] = rig->live[--rig->live_count];
    eng_alloc_put(rig->alloc, pair.block);
    naive_put(&rig->nv, pair.address);
}

/*
 * Opens or closes a region, or removes a user that remained after its region (as a CUDA graph does after its capture).
 */
static void call_region(struct rig *rig)
{
    const uint64_t number = 1 + draw(rig, 3);

    if (rig->nv.region_pool) {
        eng_alloc_pool_end(rig->alloc, (struct eng_pool_id){0, rig->nv.region_pool});
        rig->nv.region_pool = 0;
    } else if (draw(rig, 2) && rig->nv.pool_users[number]) {
        eng_alloc_pool_release(rig->alloc, (struct eng_pool_id){0, number});
        rig->nv.pool_users[number]--;
    } else {
        rig->nv.region_pool = number;
        rig->nv.pool_users[number]++;
        eng_alloc_pool_begin(rig->alloc, (struct eng_pool_id){0, number}, ENG_ANY_STREAM);
    }
}

static void run_once(const struct scenario *sc, uint64_t seed)
{
    struct rig rig = {.sc = sc, .random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    struct eng_alloc_conf conf;
    struct vs_error err = VS_ERROR_INIT;

    eng_alloc_conf_init(&conf);
    if (eng_alloc_conf_parse(sc->conf, &conf, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 2; i++)
        rig.sim[i] = eng_sim_driver_new(&(struct eng_sim_options){.total_bytes = sc->device_bytes});
    rig.alloc = eng_alloc_new(
        &(struct eng_alloc_options){.driver = eng_sim_driver_get(rig.sim[0]), .conf = &conf});
    rig.stats = eng_alloc_stats_get(rig.alloc);
    naive_init(&rig.nv, &conf, eng_sim_driver_get(rig.sim[1]));
    for (rig.call = 0; rig.call < CALLS; rig.call++) {
        /* phases of growing and of shrinking */
        const unsigned put_percent = rig.call / 250 % 2 ? 60 : 40;

        if (draw(&rig, 100) < sc->region_percent) {
            call_region(&rig);
        } else if (!rig.nv.region_pool && draw(&rig, 200) == 0) {
            eng_alloc_empty_cache(rig.alloc);
            naive_empty_cache(&rig.nv);
        } else if (rig.live_count == MAX_LIVE ||
                   (rig.live_count && draw(&rig, 100) < put_percent)) {
            call_put(&rig);
        } else {
            call_get(&rig);
        }
        if (rig.call % 8 == 0) {
            check_statistics(&rig);
            check_blocks(&rig);
        }
    }
    check_statistics(&rig);
    check_blocks(&rig);
    if (sc->device_bytes < 4096 * MIB)
        assert_true(rig.nv.retries > 0); /* the device was full at least once */
    eng_alloc_free(rig.alloc);
    naive_release(&rig.nv);
    for (int i = 0; i < 2; i++)
        eng_sim_driver_free(rig.sim[i]);
}

static void it_does_what_the_plain_one_does(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_once(*state, seed);
}

static const struct scenario scenarios[] = {
    {"a large device", "", 16384 * MIB, 1, 0, 0},
    {"a small device", "", 512 * MIB, 1, 0, 0},
    {"three streams", "", 768 * MIB, 3, 0, 0},
    {"blocks used by other streams", "", 512 * MIB, 2, 30, 0},
    {"private pools", "", 768 * MIB, 2, 0, 4},
    {"private pools and other streams", "", 768 * MIB, 2, 30, 4},
    {"max_split_size", "max_split_size_mb:24", 768 * MIB, 2, 10, 0},
    {"max_split_size with more rounding", "max_split_size_mb:20,max_non_split_rounding_mb:40",
     400 * MIB, 1, 0, 0},
    {"a memory fraction", "per_process_memory_fraction:0.37", 1024 * MIB, 1, 0, 0},
    {"garbage collection", "per_process_memory_fraction:0.75,garbage_collection_threshold:0.6",
     512 * MIB, 2, 5, 0},
    {"rounding to divisions", "roundup_power2_divisions:[1:4,8:2,32:8,>:1]", 512 * MIB, 1, 0, 0},
    {"larger segments", "large_segment_size_mb:32", 512 * MIB, 1, 0, 0},
    {"expandable segments", "expandable_segments:True", 512 * MIB, 1, 0, 0},
    {"expandable segments and streams", "expandable_segments:True", 768 * MIB, 3, 20, 0},
    {"expandable segments and private pools", "expandable_segments:True", 768 * MIB, 2, 10, 4},
    {"expandable segments of other granules",
     "expandable_segments:True,large_segment_size_mb:12,per_process_memory_fraction:0.9", 512 * MIB,
     1, 0, 0},
};

int main(void)
{
    static struct CMUnitTest tests[sizeof(scenarios) / sizeof(scenarios[0])];
    static struct scenario copies[sizeof(scenarios) / sizeof(scenarios[0])];

    memcpy(copies, scenarios, sizeof(copies));
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tests[i] = (struct CMUnitTest){.name = copies[i].name,
                                       .test_func = it_does_what_the_plain_one_does,
                                       .initial_state = &copies[i]};
    return _cmocka_run_group_tests("engine/alloc: random sequences", tests,
                                   sizeof(tests) / sizeof(tests[0]), NULL, NULL);
}
