/*
 * tests/store/json/test_json_reader.c - reading JSON texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "store/json/json_reader.h"

static struct sto_json_reader *reader;

static int setup(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    reader = sto_json_reader_new(&err);
    return !reader;
}

static int cleanup(void **state)
{
    (void)state;
    sto_json_reader_free(reader);
    return 0;
}

static enum vs_status take(const char *text)
{
    struct vs_error err = VS_ERROR_INIT;

    return sto_json_reader_take(reader, text, strlen(text), &err);
}

static void values_are_read_by_their_type(void **state)
{
    struct vs_text text = {NULL, 0, 0};
    int64_t n = 0;
    double real = 0;

    (void)state;
    assert_int_equal(take("{\"a\": [1, {\"b\": \"x\\u00e9\\n\"}], \"t\": true, \"r\": 2.5, "
                          "\"n\": null, \"big\": 9223372036854775807}"),
                     VS_OK);
    assert_int_equal(sto_json_type(reader, "$"), STO_JSON_OBJECT);
    assert_int_equal(sto_json_type(reader, "$.a"), STO_JSON_ARRAY);
    assert_int_equal(sto_json_type(reader, "$.n"), STO_JSON_NULL);
    assert_int_equal(sto_json_type(reader, "$.t"), STO_JSON_BOOL);
    assert_int_equal(sto_json_type(reader, "$.nothing"), STO_JSON_NONE);
    assert_true(sto_json_text(reader, "$.a[1].b", &text));
    assert_string_equal(vs_text_get(&text), "x\xc3\xa9\n");
    assert_false(sto_json_text(reader, "$.r", &text));
    assert_true(sto_json_int(reader, "$.big", &n));
    assert_true(n == INT64_MAX);
    assert_true(sto_json_int(reader, "$.t", &n) && n == 1);
    assert_false(sto_json_int(reader, "$.r", &n));
    assert_true(sto_json_real(reader, "$.r", &real) && real == 2.5);
    vs_text_release(&text);
}

static bool add(void *user, const char *key, enum sto_json_type type, const char *value)
{
    vs_text_addf(user, "%s:%d:%s;", key, (int)type, value);
    return strcmp(key, "last") != 0;
}

static void members_come_in_order_until_enough_were_read(void **state)
{
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    assert_int_equal(take("{\"o\": {\"z\": 1, \"a\": \"1\", \"t\": false, \"l\": [], \"last\": 2, "
                          "\"more\": 3}}"),
                     VS_OK);
    sto_json_members(reader, "$.o", add, &text);
    assert_string_equal(vs_text_get(&text), "z:3:1;a:5:1;t:2:false;l:6:;last:3:2;");
    vs_text_clear(&text);
    sto_json_members(reader, "$.nothing", add, &text);
    sto_json_members(reader, "$.o.l", add, &text);
    assert_string_equal(vs_text_get(&text), "");
    vs_text_release(&text);
}

static void what_is_not_json_is_refused_as_a_whole(void **state)
{
    static const char *const TEXTS[] = {
        "",    "{",    "{\"a\": 1,}", "{'a': 1}", "{a: 1}",    "01",
        "nul", "[1]]", "\"\xff\"",    "+1",       "[1] // no", "{\"a\": Infinity}",
    };
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++)
        if (take(TEXTS[i]) != VS_E_VALUE)
            fail_msg("accepted: %s", TEXTS[i]);
    assert_int_equal(sto_json_type(reader, "$"), STO_JSON_NONE);
    assert_int_equal(sto_json_reader_take(reader, "1\0002", 3, &err), VS_E_VALUE);
}

static void a_text_with_a_nul_in_a_string_is_refused(void **state)
{
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    assert_int_equal(take("{\"a\": \"x\\u0000y\"}"), VS_E_VALUE);
    assert_int_equal(take("{\"a\": \"x\\\\u0000\"}"), VS_OK); /* a backslash, then u0000 */
    assert_true(sto_json_text(reader, "$.a", &text));
    assert_string_equal(vs_text_get(&text), "x\\u0000");
    vs_text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_by_their_type),
        cmocka_unit_test(members_come_in_order_until_enough_were_read),
        cmocka_unit_test(what_is_not_json_is_refused_as_a_whole),
        cmocka_unit_test(a_text_with_a_nul_in_a_string_is_refused),
    };

    return cmocka_run_group_tests(tests, setup, cleanup);
}
