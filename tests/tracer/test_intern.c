/*
 * tests/tracer/test_intern.c - numbers for strings and locations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tracer/intern.h"

static void equal_texts_get_equal_numbers_starting_at_one(void **state)
{
    struct trc_intern *in = trc_intern_new();
    char buffer[32] = "layer1.0.conv1";
    const char *copy;
    const char *none;

    (void)state;
    assert_int_equal(trc_intern_string(in, buffer, &copy), 1);
    assert_string_equal(copy, "layer1.0.conv1");
    assert_ptr_not_equal(copy, buffer);
    assert_int_equal(trc_intern_string(in, "", &none), 2);
    assert_string_equal(none, "");
    strcpy(buffer, "layer1.0.conv2"); /* another text at the same address */
    assert_int_equal(trc_intern_string(in, buffer, &none), 3);
    assert_int_equal(trc_intern_string(in, "layer1.0.conv1", &none), 1);
    assert_null(none);
    assert_string_equal(copy, "layer1.0.conv1");
    trc_intern_free(in);
    trc_intern_free(NULL);
}

static void interned_texts_keep_their_numbers(void **state)
{
    struct trc_intern *in = trc_intern_new();
    const char *new_text;
    char text[64];

    (void)state;
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 20000; i++) {
            /* lengths around the eight bytes that are hashed at a time */
            snprintf(text, sizeof(text), "%.*s%u", (int)(i % 20), "module.module.module", i);
            assert_int_equal(trc_intern_string(in, text, &new_text), i + 1);
            assert_int_equal(new_text != NULL, round == 0);
        }
    trc_intern_free(in);
}

static void locations_that_differ_in_any_field_get_different_numbers(void **state)
{
    struct trc_intern *in = trc_intern_new();
    bool is_new;
    uint32_t next = 1;

    (void)state;
    for (int round = 0; round < 2; round++) {
        next = 1;
        for (uint32_t i = 0; i < 5 * 2000; i++) {
            uint32_t n = i / 5 + 1;
            struct vs_location location = {i % 5 == 0 ? n : 0, i % 5 == 1 ? n : 0,
                                           i % 5 == 2 ? n : 0, i % 5 == 3 ? n : 0,
                                           i % 5 == 4 ? n : 0};

            assert_int_equal(trc_intern_location(in, &location, &is_new), next);
            assert_int_equal(is_new, round == 0);
            assert_int_equal(trc_intern_location(in, &location, &is_new), next);
            assert_false(is_new);
            next++;
        }
    }
    trc_intern_free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_get_equal_numbers_starting_at_one),
        cmocka_unit_test(interned_texts_keep_their_numbers),
        cmocka_unit_test(locations_that_differ_in_any_field_get_different_numbers),
    };

    return cmocka_run_group_tests_name("tracer/intern", tests, NULL, NULL);
}
