/*
 * tests/base/test_pool.c - the pool of small blocks: reuse, alignment, release.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"

#define BLOCKS 4000

/* A size for each of many blocks, below, at and above the largest that is pooled. */
static size_t size_of(size_t i)
{
    return 1 + i * 37 % (VS_POOL_SIZES * VS_POOL_STEP + 100);
}

static void blocks_do_not_overlap(void **state)
{
    static unsigned char *blocks[BLOCKS];
    struct vs_pool pool = {.chunks = NULL};

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            blocks[i] = vs_pool_get(&pool, size_of(i));
            memset(blocks[i], (int)(i % 251), size_of(i));
        }
        for (size_t i = 0; i < BLOCKS; i++)
            for (size_t k = 0; k < size_of(i); k++)
                assert_int_equal(blocks[i][k], i % 251);
        /* in another order than they came */
        for (size_t i = 0; i < BLOCKS; i++)
            vs_pool_put(&pool, blocks[i * 7 % BLOCKS], size_of(i * 7 % BLOCKS));
    }
    vs_pool_release(&pool);
}

static void blocks_are_aligned(void **state)
{
    struct vs_pool pool = {.chunks = NULL};

    (void)state;
    for (size_t i = 0; i < 300; i++) {
        void *block = vs_pool_get(&pool, size_of(i));

        assert_int_equal((uintptr_t)block % _Alignof(max_align_t), 0);
        vs_pool_put(&pool, block, size_of(i));
    }
    vs_pool_release(&pool);
}

static void a_reused_block_is_zeroed_by_get_zeroed(void **state)
{
    struct vs_pool pool = {.chunks = NULL};
    unsigned char *block = vs_pool_get(&pool, 100);

    (void)state;
    memset(block, 0xff, 100);
    vs_pool_put(&pool, block, 100);
    block = vs_pool_get_zeroed(&pool, 97);
    for (int i = 0; i < 97; i++)
        assert_int_equal(block[i], 0);
    vs_pool_put(&pool, block, 97);
    vs_pool_release(&pool);
}

/*
 * Releasing the pool frees blocks that were never put back, in whatever order others were; a leak checker finds those
 * that are not freed.
 */
static void releasing_a_pool_frees_blocks_still_in_use(void **state)
{
    struct vs_pool pool = {.chunks = NULL};
    void *blocks[5];

    (void)state;
    for (int i = 0; i < 5; i++)
        blocks[i] = memset(vs_pool_get(&pool, 4000 + (size_t)i), i, 4000);
    vs_pool_put(&pool, blocks[2], 4002);
    vs_pool_put(&pool, blocks[4], 4004);
    vs_pool_put(&pool, blocks[0], 4000);
    assert_int_equal(*(unsigned char *)blocks[1], 1);
    assert_int_equal(*(unsigned char *)blocks[3], 3);
    vs_pool_release(&pool);
    assert_null(pool.alone);
}

struct seen {
    size_t living, put;
};

/* A block says in its second word whether it is out. */
static void see(void *user, void *block)
{
    struct seen *seen = user;
    uint64_t words[2];

    memcpy(words, block, sizeof(words));
    assert_true(words[1] == 1 || words[1] == 2);
    seen->living += words[1] == 1;
    seen->put += words[1] == 2;
}

static void check_each(size_t size)
{
    static void *blocks[BLOCKS];
    static const uint64_t OUT[2] = {0, 1}, PUT[2] = {0, 2};
    struct vs_pool pool = {.chunks = NULL};
    struct seen seen = {0, 0};

    vs_pool_each(&pool, size, see, &seen);
    assert_int_equal(seen.living + seen.put, 0);
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = memcpy(vs_pool_get(&pool, size), OUT, sizeof(OUT));
    for (size_t i = 0; i < BLOCKS; i += 3) {
        memcpy(blocks[i], PUT, sizeof(PUT));
        vs_pool_put(&pool, blocks[i], size);
    }
    vs_pool_each(&pool, size, see, &seen);
    assert_int_equal(seen.living, BLOCKS - (BLOCKS + 2) / 3);
    if (!VS_POOL_OFF && size <= VS_POOL_SIZES * VS_POOL_STEP)
        assert_int_equal(seen.put, (BLOCKS + 2) / 3);
    else
        assert_int_equal(seen.put, 0);
    vs_pool_release(&pool);
}

static void iteration_visits_each_block_once(void **state)
{
    (void)state;
    check_each(16);
    check_each(272);
    check_each(281);
    check_each(VS_POOL_SIZES * VS_POOL_STEP);
    check_each(VS_POOL_SIZES * VS_POOL_STEP + 1);
}

static void putting_null_has_no_effect(void **state)
{
    struct vs_pool pool = {.chunks = NULL};

    (void)state;
    vs_pool_put(&pool, NULL, 16);
    vs_pool_release(&pool);
    vs_pool_release(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_do_not_overlap),
        cmocka_unit_test(blocks_are_aligned),
        cmocka_unit_test(a_reused_block_is_zeroed_by_get_zeroed),
        cmocka_unit_test(releasing_a_pool_frees_blocks_still_in_use),
        cmocka_unit_test(iteration_visits_each_block_once),
        cmocka_unit_test(putting_null_has_no_effect),
    };

    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
