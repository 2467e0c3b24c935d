/*
 * tests/store/test_shape.c - shapes as numbers and as text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store/shape.h"

static void texts_are_json_and_can_be_read_back(void **state)
{
    static const struct {
        int ndim;
        int64_t dims[VS_MAX_DIMS];
        const char *text;
    } rows[] = {
        {0, {0}, "[]"},
        {1, {0}, "[0]"},
        {4, {64, 3, 7, 7}, "[64,3,7,7]"},
        {2, {-1, INT64_MAX}, "[-1,9223372036854775807]"},
        {8, {1, 2, 3, 4, 5, 6, 7, INT64_MIN}, "[1,2,3,4,5,6,7,-9223372036854775808]"},
    };
    char buf[STO_SHAPE_TEXT_MAX];
    int64_t dims[VS_MAX_DIMS];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(sto_shape_text(rows[i].dims, rows[i].ndim, buf), rows[i].text);
        assert_int_equal(sto_shape_parse(rows[i].text, dims), rows[i].ndim);
        assert_memory_equal(dims, rows[i].dims, sizeof(dims));
    }
}

static void the_longest_text_fits(void **state)
{
    int64_t dims[VS_MAX_DIMS];
    int64_t got[VS_MAX_DIMS];
    char buf[STO_SHAPE_TEXT_MAX];

    (void)state;
    for (int i = 0; i < VS_MAX_DIMS; i++)
        dims[i] = INT64_MIN;
    assert_int_equal(sto_shape_parse(sto_shape_text(dims, VS_MAX_DIMS, buf), got), VS_MAX_DIMS);
    assert_memory_equal(dims, got, sizeof(dims));
}

static void malformed_shapes_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "1",
        "[1]x",
        "[1 ,2]",
        "[a]",
        "[1.5]",
        "[9223372036854775808]",
        "[1,2,3,4,5,6,7,8,9]",
        "[--1]",
        "[-]",
        "[ 1]",
    };
    int64_t dims[VS_MAX_DIMS];

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (sto_shape_parse(texts[i], dims) != -1)
            fail_msg("'%s' was taken", texts[i]);
}

static void equal_shapes_get_equal_numbers(void **state)
{
    struct sto_shapes *shapes = sto_shapes_new();
    struct sto_shape shape;
    bool is_new;

    (void)state;
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 3000; i++) {
            struct vs_tensor_desc desc = {.id = i,
                                          .block = 7 * i,
                                          .name = i,
                                          .dtype = (uint8_t)(i % 2),
                                          .ndim = (uint8_t)(1 + i % 3)};

            desc.sizes[i % 3] = i;
            desc.strides[0] = 1;
            desc.sizes[VS_MAX_DIMS - 1] = round; /* beyond ndim: must not count */
            assert_int_equal(sto_shapes_intern(shapes, &desc, &shape, &is_new), i + 1);
            assert_int_equal(is_new, round == 0);
            assert_int_equal(shape.sizes[VS_MAX_DIMS - 1], 0);
        }
    sto_shapes_free(shapes);
    sto_shapes_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_json_and_can_be_read_back),
        cmocka_unit_test(the_longest_text_fits),
        cmocka_unit_test(malformed_shapes_are_refused),
        cmocka_unit_test(equal_shapes_get_equal_numbers),
    };

    return cmocka_run_group_tests_name("store/shape", tests, NULL, NULL);
}
