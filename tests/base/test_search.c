/*
 * tests/base/test_search.c - binary search gives the same result as a linear scan.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/search.h"

#define LONGEST 40

struct item {
    uint32_t other;
    uint64_t key;
};

static void assert_found(const struct item *items, size_t count, uint64_t key)
{
    size_t below = 0;
    size_t until = 0;

    while (below < count && items[below].key < key)
        below++;
    while (until < count && items[until].key <= key)
        until++;
    assert_int_equal(vs_search_below(items, count, sizeof(*items), offsetof(struct item, key), key),
                     below);
    assert_int_equal(vs_search_until(items, count, sizeof(*items), offsetof(struct item, key), key),
                     until);
}

static void binary_search_agrees_with_a_linear_scan(void **state)
{
    (void)state;
    srand(5);
    for (size_t count = 0; count <= LONGEST; count++) {
        struct item items[LONGEST] = {{0, 0}};
        uint64_t key = 0;

        for (size_t i = 0; i < count; i++) {
            key += (uint64_t)rand() % 3; /* some follow each other with the same */
            items[i].key = key;
        }
        for (uint64_t k = 0; k <= key + 2; k++)
            assert_found(items, count, k);
        assert_found(items, count, UINT64_MAX);
    }
}

static void the_largest_keys_are_found(void **state)
{
    const uint64_t keys[] = {1, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX};

    (void)state;
    assert_int_equal(vs_search_below(keys, 4, sizeof(*keys), 0, UINT64_MAX), 2);
    assert_int_equal(vs_search_until(keys, 4, sizeof(*keys), 0, UINT64_MAX), 4);
    assert_int_equal(vs_search_below(NULL, 0, sizeof(*keys), 0, 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_search_agrees_with_a_linear_scan),
        cmocka_unit_test(the_largest_keys_are_found),
    };

    return cmocka_run_group_tests_name("base/search", tests, NULL, NULL);
}
