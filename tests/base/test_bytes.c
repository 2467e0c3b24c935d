/*
 * tests/base/test_bytes.c - byte arithmetic with overflow checks, and byte counts as text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"

static void a_sum_that_does_not_fit_is_refused(void **state)
{
    uint64_t out = 7;

    (void)state;
    assert_false(vs_bytes_add(UINT64_MAX, 1, &out));
    assert_int_equal(out, 7);
    assert_true(vs_bytes_add(UINT64_MAX, 0, &out));
    assert_true(out == UINT64_MAX);
}

static void a_product_that_does_not_fit_is_refused(void **state)
{
    uint64_t out = 7;

    (void)state;
    assert_false(vs_bytes_mul(UINT64_C(1) << 33, UINT64_C(1) << 31, &out));
    assert_int_equal(out, 7);
    assert_true(vs_bytes_mul(UINT64_C(1) << 32, UINT64_C(1) << 31, &out));
    assert_true(out == UINT64_C(1) << 63);
    assert_true(vs_bytes_mul(0, UINT64_MAX, &out));
    assert_int_equal(out, 0);
}

static void byte_texts_change_unit_at_powers_of_1024(void **state)
{
    char buf[VS_BYTES_TEXT_MAX];

    (void)state;
    assert_string_equal(vs_bytes_text(0, buf), "0 B");
    assert_string_equal(vs_bytes_text(1023, buf), "1023 B");
    assert_string_equal(vs_bytes_text(1024, buf), "1.0 KiB");
    assert_string_equal(vs_bytes_text(8519680, buf), "8.1 MiB");
    assert_string_equal(vs_bytes_text(1024 * 1024 - 1, buf), "1.0 MiB");
    assert_string_equal(vs_bytes_text(UINT64_MAX, buf), "16.00 EiB");
    assert_string_equal(vs_bytes_text(UINT64_C(1493887488), buf), "1.39 GiB");
    assert_string_equal(vs_bytes_text((UINT64_C(1) << 30) - 1, buf), "1.00 GiB");
    assert_string_equal(vs_bytes_delta_text(-1536, buf), "-1.5 KiB");
    assert_string_equal(vs_bytes_delta_text(INT64_MIN, buf), "-8.00 EiB");
    assert_string_equal(vs_change_text(200.0, 100.0, buf), "-50.0 %");
    assert_string_equal(vs_change_text(1000.0, 1001.0, buf), "+0.1 %");
    /* never a negative zero */
    assert_string_equal(vs_change_text(1000.0, 1000.0, buf), "+0.0 %");
    assert_string_equal(vs_change_text(100000.0, 99970.0, buf), "-0.03 %");
    assert_string_equal(vs_change_text(1000000.0, 999999.0, buf), "<0.01 %");
    assert_string_equal(vs_bytes_exact_text(1229753640, buf), "1,229,753,640");
    assert_string_equal(vs_bytes_exact_text(12, buf), "12");
}

static void sizes_with_unit_suffixes_are_parsed(void **state)
{
    uint64_t out = 0;

    (void)state;
    assert_true(vs_bytes_parse("8G", &out));
    assert_true(out == UINT64_C(8) << 30);
    assert_true(vs_bytes_parse("1.5 MiB", &out));
    assert_int_equal(out, 1572864);
    assert_true(vs_bytes_parse("4096", &out));
    assert_int_equal(out, 4096);
    assert_true(vs_bytes_parse("20mb", &out) == false);
    assert_true(vs_bytes_parse("20mB", &out));
    assert_false(vs_bytes_parse("", &out));
    assert_false(vs_bytes_parse("-1", &out));
    assert_false(vs_bytes_parse("8X", &out));
    assert_false(vs_bytes_parse("99999999T", &out));
}

static void ticks_stand_at_round_figures(void **state)
{
    const double mib = 1024.0 * 1024.0;
    double unit;
    char letter;

    (void)state;
    assert_true(vs_bytes_tick(59.1 * mib, &unit, &letter) == 100 * mib);
    assert_true(unit == mib && letter == 'M');
    assert_true(vs_bytes_tick(21 * mib, &unit, &letter) == 25 * mib);
    assert_true(vs_bytes_tick(501 * mib, &unit, &letter) == 1024 * mib);
    assert_true(unit == 1024 * mib && letter == 'G');
    assert_true(vs_bytes_tick(2.2, &unit, &letter) == 5);
    assert_true(unit == 1 && letter == 'B');
    assert_true(vs_bytes_tick(0, &unit, &letter) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_that_does_not_fit_is_refused),
        cmocka_unit_test(a_product_that_does_not_fit_is_refused),
        cmocka_unit_test(byte_texts_change_unit_at_powers_of_1024),
        cmocka_unit_test(sizes_with_unit_suffixes_are_parsed),
        cmocka_unit_test(ticks_stand_at_round_figures),
    };

    return cmocka_run_group_tests_name("base/bytes", tests, NULL, NULL);
}
