/* base/heap.h: memory that can be put back as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/heap.h"
#include "base/mem.h"
#include "base/pool.h"

#define BLOCKS 3000

static size_t size_of(size_t i)
{
    return 1 + i * 131 % 5000;
}

/* NULL under a memory checker, where there is nothing to look at. */
static struct vs_heap *heap_new(void)
{
    struct vs_heap *heap = vs_heap_new();

    assert_true(VS_POOL_OFF ? !heap : heap != NULL);
    if (!heap)
        skip();
    return heap;
}

static void *image_of(const struct vs_heap *heap)
{
    void *image = vs_alloc(vs_heap_bytes(heap));

    vs_heap_save(heap, image);
    return image;
}

static void blocks_do_not_overlap_and_keep_what_is_in_them_when_they_grow(void **state)
{
    static unsigned char *blocks[BLOCKS];
    struct vs_heap *heap = heap_new();

    (void)state;
    vs_heap_enter(heap);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            blocks[i] = i % 2 ? vs_alloc(size_of(i)) : vs_calloc(size_of(i), 1);
            assert_int_equal((uintptr_t)blocks[i] % 16, 0);
            for (size_t k = 0; !(i % 2) && k < size_of(i); k++)
                assert_int_equal(blocks[i][k], 0);
            memset(blocks[i], (int)(i % 251), size_of(i));
        }
        for (size_t i = 0; i < BLOCKS; i += 3)
            blocks[i] = vs_realloc(blocks[i], size_of(i) * 2, 1);
        for (size_t i = 0; i < BLOCKS; i++)
            for (size_t k = 0; k < size_of(i); k++)
                assert_int_equal(blocks[i][k], i % 251);
        for (size_t i = 0; i < BLOCKS; i++)
            vs_free(blocks[i * 7 % BLOCKS]);
    }
    vs_heap_enter(NULL);
    vs_heap_free(heap);
}

static void what_is_put_back_lies_where_it_lay(void **state)
{
    struct vs_heap *heap = heap_new();
    struct link {
        struct link *next;
        int value;
    } *first = NULL;
    size_t bytes;
    void *image;
    void *next;

    (void)state;
    vs_heap_enter(heap);
    for (int i = 0; i < 100; i++) {
        struct link *link = vs_alloc(sizeof(*link));

        *link = (struct link){.next = first, .value = i};
        first = link;
    }
    vs_heap_enter(NULL);
    bytes = vs_heap_bytes(heap);
    image = image_of(heap);
    for (int round = 0; round < 3; round++) {
        struct link *at = first;

        vs_heap_enter(heap);
        for (int i = 99; i >= 0; i--, at = at->next)
            assert_int_equal(at->value, i);
        assert_null(at);
        memset(first, 0xee, sizeof(*first));
        next = vs_alloc(100000);
        memset(next, 0xee, 100000);
        vs_free(next);
        vs_heap_enter(NULL);
        vs_heap_restore(heap, image, bytes);
        assert_int_equal(vs_heap_bytes(heap), bytes);
    }
    /* what lay behind it is not zero any more, and is so for who asks for zeros */
    vs_heap_enter(heap);
    next = vs_calloc(1, 100000);
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(((unsigned char *)next)[i], 0);
    vs_heap_enter(NULL);
    vs_free(image);
    vs_heap_free(heap);
}

static void what_came_from_elsewhere_stays_there(void **state)
{
    struct vs_heap *heap = heap_new();
    char *outside = vs_strdup("outside");
    size_t bytes = vs_heap_bytes(heap);

    (void)state;
    vs_heap_enter(heap);
    outside = vs_realloc(outside, 4000, 1);
    assert_int_equal(vs_heap_bytes(heap), bytes);
    assert_string_equal(outside, "outside");
    vs_free(outside);
    assert_ptr_equal(vs_heap_enter(NULL), heap);
    vs_heap_free(heap);
}

static void what_does_not_fit_comes_from_the_system(void **state)
{
    struct vs_heap *heap = heap_new();
    char *large;

    (void)state;
    vs_heap_enter(heap);
    assert_false(vs_heap_is_spilled(heap));
    large = vs_alloc(VS_HEAP_BYTES);
    large[VS_HEAP_BYTES - 1] = 1;
    assert_true(vs_heap_is_spilled(heap));
    large = vs_realloc(large, VS_HEAP_BYTES + 1, 1);
    vs_free(large);
    vs_heap_enter(NULL);
    vs_heap_clear(heap);
    assert_false(vs_heap_is_spilled(heap));
    vs_heap_free(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_do_not_overlap_and_keep_what_is_in_them_when_they_grow),
        cmocka_unit_test(what_is_put_back_lies_where_it_lay),
        cmocka_unit_test(what_came_from_elsewhere_stays_there),
        cmocka_unit_test(what_does_not_fit_comes_from_the_system),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
