/*
 * tests/replay/diff/test_lcs.c - common subsequences compared with a plain implementation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "replay/diff/lcs.h"

#define LEN 48
#define LONG 4000

static uint64_t random_next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

/* Pairs are of equal keys and rise; how many there are. */
static size_t pairs_check(const uint64_t *a, size_t na, const uint64_t *b, size_t nb,
                          const uint32_t *mate)
{
    uint32_t last = 0;
    size_t count = 0;

    for (size_t i = 0; i < na; i++) {
        if (!mate[i])
            continue;
        assert_true(mate[i] > last && mate[i] <= nb);
        assert_int_equal(a[i], b[mate[i] - 1]);
        last = mate[i];
        count++;
    }
    return count;
}

/* The length of the longest one, by the book. */
static size_t longest(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
    size_t row[LEN + 1] = {0};

    for (size_t i = 0; i < na; i++) {
        size_t diagonal = 0;

        for (size_t k = 0; k < nb; k++) {
            size_t up = row[k + 1];

            row[k + 1] = a[i] == b[k] ? diagonal + 1 : up > row[k] ? up : row[k];
            diagonal = up;
        }
    }
    return row[nb];
}

static void short_sequences_get_a_longest_common_subsequence(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        uint64_t a[LEN];
        uint64_t b[LEN];
        uint32_t mate[LEN];
        size_t na = random_next(&seed) % LEN;
        size_t nb = random_next(&seed) % LEN;
        uint64_t words = 1 + random_next(&seed) % 12;

        for (size_t i = 0; i < na; i++)
            a[i] = random_next(&seed) % words;
        for (size_t i = 0; i < nb; i++)
            b[i] = random_next(&seed) % words;
        rpl_lcs(a, na, b, nb, mate);
        assert_int_equal(pairs_check(a, na, b, nb, mate), longest(a, na, b, nb));
    }
}

/* Every tenth key of b is new and every seventh of a is left out: all that remains is paired. */
static void long_sequences_are_divided_at_unique_keys(void **state)
{
    uint64_t *a = calloc(LONG, sizeof(*a));
    uint64_t *b = calloc(2 * LONG, sizeof(*b));
    uint32_t *mate = calloc(LONG, sizeof(*mate));
    size_t nb = 0;
    size_t common = 0;

    (void)state;
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(mate);
    for (size_t i = 0; i < LONG; i++) {
        a[i] = i;
        if (i % 10 == 0)
            b[nb++] = LONG + i;
        if (i % 7 == 0)
            continue;
        b[nb++] = i;
        common++;
    }
    rpl_lcs(a, LONG, b, nb, mate);
    assert_int_equal(pairs_check(a, LONG, b, nb, mate), common);
    free(a);
    free(b);
    free(mate);
}

/* What b does four times over a does once: every key is there more than once, and all of a is found. */
static void long_sequences_without_unique_keys_are_divided_by_occurrence(void **state)
{
    uint64_t *b = calloc((size_t)4 * LONG, sizeof(*b));
    uint32_t *mate = calloc(LONG, sizeof(*mate));

    (void)state;
    assert_non_null(b);
    assert_non_null(mate);
    for (size_t i = 0; i < (size_t)4 * LONG; i++)
        b[i] = i % LONG;
    rpl_lcs(b + 5, LONG - 5, b, (size_t)4 * LONG, mate);
    assert_int_equal(pairs_check(b + 5, LONG - 5, b, (size_t)4 * LONG, mate), LONG - 5);
    free(b);
    free(mate);
}

static void long_sequences_without_order_still_give_valid_pairs(void **state)
{
    uint64_t *keys = calloc(2 * LONG, sizeof(*keys));
    uint32_t *mate = calloc(LONG, sizeof(*mate));
    uint64_t seed = 3;

    (void)state;
    assert_non_null(keys);
    assert_non_null(mate);
    for (uint64_t words = 2; words <= UINT64_C(1) << 20; words *= 8) {
        for (size_t i = 0; i < (size_t)2 * LONG; i++)
            keys[i] = random_next(&seed) % words;
        rpl_lcs(keys, LONG, keys + LONG, LONG, mate);
        pairs_check(keys, LONG, keys + LONG, LONG, mate);
    }
    free(keys);
    free(mate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_sequences_get_a_longest_common_subsequence),
        cmocka_unit_test(long_sequences_are_divided_at_unique_keys),
        cmocka_unit_test(long_sequences_without_unique_keys_are_divided_by_occurrence),
        cmocka_unit_test(long_sequences_without_order_still_give_valid_pairs),
    };

    return cmocka_run_group_tests_name("replay/lcs", tests, NULL, NULL);
}
