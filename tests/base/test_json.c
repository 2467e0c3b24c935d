/*
 * tests/base/test_json.c - the JSON writer; where its output has to be parsed, SQLite's JSON functions do it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

static void members_are_separated_and_indented(void **state)
{
    struct vs_text text = {NULL, 0, 0};
    struct vs_json json;

    (void)state;
    vs_json_init(&json, &text);
    vs_json_object(&json);
    vs_json_put_uint(&json, "a", 1);
    vs_json_key(&json, "b");
    vs_json_array(&json);
    vs_json_int(&json, -2);
    vs_json_object(&json);
    vs_json_end(&json);
    vs_json_end(&json);
    vs_json_key(&json, "c");
    vs_json_object_flat(&json);
    vs_json_put_bool(&json, "x", true);
    vs_json_key(&json, "y");
    vs_json_array(&json);
    vs_json_null(&json);
    vs_json_string(&json, NULL);
    vs_json_end(&json);
    vs_json_end(&json);
    vs_json_put_string(&json, "d", "e");
    vs_json_end(&json);
    assert_string_equal(vs_text_get(&text), "{\n  \"a\": 1,\n  \"b\": [\n    -2,\n    {}\n  ],\n"
                                            "  \"c\": {\"x\": true, \"y\": [null, null]},\n"
                                            "  \"d\": \"e\"\n}\n");
    vs_text_release(&text);
}

static void integers_are_exact_to_the_last_digit(void **state)
{
    struct vs_text text = {NULL, 0, 0};
    struct vs_json json;

    (void)state;
    vs_json_init(&json, &text);
    vs_json_array_flat(&json);
    vs_json_uint(&json, UINT64_MAX);
    vs_json_uint(&json, (UINT64_C(1) << 53) + 1);
    vs_json_int(&json, INT64_MIN);
    vs_json_end(&json);
    assert_string_equal(vs_text_get(&text),
                        "[18446744073709551615, 9007199254740993, -9223372036854775808]\n");
    vs_text_release(&text);
}

static void numbers_read_back_as_they_were(void **state)
{
    static const double VALUES[] = {0.1, 1e300, -2.5, 1.0 / 3.0, 2.302585092994046, 5e-324, 3.0};

    (void)state;
    for (size_t i = 0; i < sizeof(VALUES) / sizeof(VALUES[0]); i++) {
        struct vs_text text = {NULL, 0, 0};
        struct vs_json json;
        double back = 0.0;

        vs_json_init(&json, &text);
        vs_json_double(&json, VALUES[i]);
        assert_int_equal(sscanf(vs_text_get(&text), "%lf", &back), 1);
        assert_true(back == VALUES[i]);
        vs_text_release(&text);
    }
}

static void nan_and_infinity_are_written_as_null(void **state)
{
    struct vs_text text = {NULL, 0, 0};
    struct vs_json json;

    (void)state;
    vs_json_init(&json, &text);
    vs_json_array_flat(&json);
    vs_json_double(&json, (double)NAN);
    vs_json_double(&json, -(double)INFINITY);
    vs_json_end(&json);
    assert_string_equal(vs_text_get(&text), "[null, null]\n");
    vs_text_release(&text);
}

/* The string at $[0] of `json`, as SQLite reads it; 1 row asserted. */
static void assert_reads_back(sqlite3 *db, const char *json, const char *expected)
{
    sqlite3_stmt *stmt = NULL;

    assert_int_equal(
        sqlite3_prepare_v2(db, "select json_valid(?1), json_extract(?1, '$[0]')", -1, &stmt, NULL),
        SQLITE_OK);
    sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(stmt, 0), 1);
    assert_string_equal((const char *)sqlite3_column_text(stmt, 1), expected);
    sqlite3_finalize(stmt);
}

static void any_text_reads_back_as_it_was(void **state)
{
    sqlite3 *db = NULL;
    uint32_t random = 12345;

    (void)state;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    for (int round = 0; round < 2000; round++) {
        struct vs_text text = {NULL, 0, 0};
        struct vs_json json;
        char in[24];
        size_t len = 0;

        while (len < 20) {
            random = random * 1664525 + 1013904223;
            if ((random >> 16) % 8 == 0) {
                memcpy(in + len, "\xC3\xA4", 2);
                len += 2;
            } else {
                in[len++] = (char)(1 + (random >> 16) % 127);
            }
        }
        in[len] = '\0';
        vs_json_init(&json, &text);
        vs_json_array(&json);
        vs_json_string(&json, in);
        vs_json_end(&json);
        assert_reads_back(db, vs_text_get(&text), in);
        vs_text_release(&text);
    }
    sqlite3_close(db);
}

static void invalid_utf8_becomes_the_replacement_character(void **state)
{
    static const char *const BAD[] = {"\xFF", "\xC3", "\xC0\x80", "\xED\xA0\x80",
                                      "\xF5\x80\x80\x80"};

    (void)state;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        struct vs_text text = {NULL, 0, 0};
        struct vs_json json;

        vs_json_init(&json, &text);
        vs_json_string(&json, BAD[i]);
        assert_int_equal(strncmp(vs_text_get(&text), "\"\\ufffd", 7), 0);
        assert_true(text.len == 2 + 6 * strlen(BAD[i]));
        vs_text_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_separated_and_indented),
        cmocka_unit_test(integers_are_exact_to_the_last_digit),
        cmocka_unit_test(numbers_read_back_as_they_were),
        cmocka_unit_test(nan_and_infinity_are_written_as_null),
        cmocka_unit_test(any_text_reads_back_as_it_was),
        cmocka_unit_test(invalid_utf8_becomes_the_replacement_character),
    };

    return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}
