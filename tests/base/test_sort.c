/*
 * tests/base/test_sort.c - radix sort by a 64-bit key.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/sort.h"

#define MOST 5000

/* The next of a sequence that looks like chance. */
static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state ^ *state >> 29;
}

static int by_key_and_location(const void *a, const void *b)
{
    const struct vs_keyed *x = a;
    const struct vs_keyed *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

/* Keys of the bits in `mask`, sorted by us and by qsort with the places they had. */
static void compare(size_t count, uint64_t mask, uint64_t seed)
{
    struct vs_keyed *ours = vs_calloc(count + 1, sizeof(*ours));
    struct vs_keyed *theirs = vs_calloc(count + 1, sizeof(*theirs));

    for (size_t i = 0; i < count; i++)
        ours[i] = theirs[i] = (struct vs_keyed){next(&seed) & mask, i};
    ours[count].key = 77; /* behind the end */
    vs_sort_keyed(ours, count);
    qsort(theirs, count, sizeof(*theirs), by_key_and_location);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ours[i].key, theirs[i].key);
        assert_int_equal(ours[i].item, theirs[i].item);
    }
    assert_int_equal(ours[count].key, 77);
    vs_free(ours);
    vs_free(theirs);
}

static void sorting_is_stable(void **state)
{
    static const uint64_t masks[] = {UINT64_MAX,
                                     0xff,
                                     0,
                                     UINT64_C(0x7ff) << 11,
                                     UINT64_C(1) << 63,
                                     UINT64_C(0x8000000000000001),
                                     UINT64_C(0xfffff) << 30};

    (void)state;
    for (size_t m = 0; m < sizeof(masks) / sizeof(masks[0]); m++)
        for (size_t count = 0; count <= MOST; count += count < 100 ? 1 : 1225)
            compare(count, masks[m], m + count + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting_is_stable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
