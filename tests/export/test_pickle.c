/*
 * tests/export/test_pickle.c - written pickles are read back unchanged, whatever their size; address ranges agree with
 * a plain array.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "export/out.h"
#include "export/pickle.h"
#include "export/ranges.h"
#include "recording/pickle.h"

/* A pickle that is being written to memory, and what it is read back as. */
struct fixture {
    struct exp_pickle p;
    FILE *file;
    char *bytes;
    size_t len;
    struct rec_pickle *back;
};

static void begin(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->file = open_memstream(&f->bytes, &f->len);
    assert_non_null(f->file);
    exp_pickle_begin(&f->p, exp_out_new(f->file));
}

static struct rec_value finish(struct fixture *f)
{
    struct vs_error err = VS_ERROR_INIT;

    exp_pickle_end(&f->p);
    assert_int_equal(exp_out_finish(f->p.out, &err), VS_OK);
    exp_out_free(f->p.out);
    assert_int_equal(fclose(f->file), 0);
    if (rec_pickle_read(f->bytes, f->len, &f->back, &err))
        fail_msg("%s", err.text);
    return rec_pickle_top(f->back);
}

static void release(struct fixture *f)
{
    rec_pickle_free(f->back);
    free(f->bytes);
}

static void integers_of_every_width_are_read_back(void **state)
{
    struct exp_pickle_list list;
    struct fixture f;
    struct rec_value top;
    uint64_t value;
    size_t n = 0;

    (void)state;
    begin(&f);
    exp_pickle_list(&f.p, &list);
    for (unsigned bit = 0; bit < 64; bit++)
        for (uint64_t d = 0; d < 3; d++) {
            exp_pickle_item(&f.p, &list);
            exp_pickle_uint(&f.p, (UINT64_C(1) << bit) + d - 1);
            exp_pickle_item(&f.p, &list);
            exp_pickle_int(&f.p, -(int64_t)((UINT64_C(1) << bit) / 2 + d));
        }
    exp_pickle_list_end(&f.p, &list);
    top = finish(&f);
    for (unsigned bit = 0; bit < 64; bit++)
        for (uint64_t d = 0; d < 3; d++) {
            assert_true(rec_value_int(f.back, rec_value_at(f.back, top, n++), &value));
            assert_int_equal(value, (UINT64_C(1) << bit) + d - 1);
            assert_true(rec_value_int(f.back, rec_value_at(f.back, top, n++), &value));
            assert_int_equal((int64_t)value, -(int64_t)((UINT64_C(1) << bit) / 2 + d));
        }
    assert_int_equal(rec_value_count(f.back, top), n);
    release(&f);
}

static void a_list_of_any_length_is_read_back(void **state)
{
    static const size_t COUNTS[] = {0, 1, 999, 1000, 1001, 2000, 70001};

    (void)state;
    for (size_t i = 0; i < sizeof(COUNTS) / sizeof(COUNTS[0]); i++) {
        struct exp_pickle_list list;
        struct fixture f;
        struct rec_value top;
        uint64_t value;

        begin(&f);
        exp_pickle_list(&f.p, &list);
        for (size_t n = 0; n < COUNTS[i]; n++) {
            exp_pickle_item(&f.p, &list);
            exp_pickle_uint(&f.p, n);
        }
        exp_pickle_list_end(&f.p, &list);
        top = finish(&f);
        assert_int_equal(rec_value_count(f.back, top), COUNTS[i]);
        for (size_t n = 0; n < COUNTS[i]; n++) {
            assert_true(rec_value_int(f.back, rec_value_at(f.back, top, n), &value));
            assert_int_equal(value, n);
        }
        release(&f);
    }
}

/* More than 256 words, so that both kinds of reference are needed; long texts, and texts with special characters. */
static void repeated_texts_and_numbers_are_read_back(void **state)
{
    static struct exp_memo words[400];
    char name[300];
    struct fixture f;
    struct rec_value top;
    struct rec_value v;
    double number;
    bool truth;

    (void)state;
    memset(words, 0, sizeof(words));
    begin(&f);
    exp_pickle_dict(&f.p);
    for (size_t i = 0; i < 400; i++) {
        snprintf(name, sizeof(name), "%0*zu", i < 10 ? 280 : 4, i);
        exp_pickle_word(&f.p, &words[i], name);
        exp_pickle_word(&f.p, &words[399 - i], i < 200 ? "later" : "not written again");
    }
    exp_pickle_text(&f.p, "odd");
    exp_pickle_text(&f.p, "a\xff\xc3z");
    exp_pickle_text(&f.p, "pi");
    exp_pickle_double(&f.p, 3.25);
    exp_pickle_text(&f.p, "yes");
    exp_pickle_bool(&f.p, true);
    exp_pickle_text(&f.p, "pair");
    exp_pickle_uint(&f.p, 1);
    exp_pickle_uint(&f.p, 2);
    exp_pickle_pair(&f.p);
    exp_pickle_dict_end(&f.p);
    top = finish(&f);
    snprintf(name, sizeof(name), "%0280d", 3);
    assert_true(rec_value_get(f.back, top, rec_pickle_key(f.back, name), &v));
    assert_true(rec_value_is_text(f.back, v, "later"));
    assert_true(rec_value_get(f.back, top, rec_pickle_key(f.back, "odd"), &v));
    assert_true(rec_value_is_text(f.back, v, "a\xEF\xBF\xBD\xEF\xBF\xBDz"));
    assert_true(rec_value_get(f.back, top, rec_pickle_key(f.back, "pi"), &v));
    assert_true(rec_value_float(f.back, v, &number));
    assert_true(number == 3.25);
    assert_true(rec_value_get(f.back, top, rec_pickle_key(f.back, "yes"), &v));
    assert_true(rec_value_bool(v, &truth));
    assert_true(truth);
    assert_true(rec_value_get(f.back, top, rec_pickle_key(f.back, "pair"), &v));
    assert_int_equal(rec_value_type(v), REC_TUPLE);
    assert_int_equal(rec_value_count(f.back, v), 2);
    release(&f);
}

/* ---- ranges ---- */

#define LOCATIONS 200

static uint64_t random_next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *seed >> 33;
}

static void ranges_agree_with_a_plain_array(void **state)
{
    struct exp_ranges ranges = {.items = NULL};
    uint64_t plain[LOCATIONS] = {0};
    uint64_t seed = 1;

    (void)state;
    for (int round = 0; round < 4000; round++) {
        uint64_t from = random_next(&seed) % LOCATIONS;
        uint64_t bytes = random_next(&seed) % (LOCATIONS - from) + (from == LOCATIONS ? 0 : 1);
        uint64_t stream = random_next(&seed) % 3 ? random_next(&seed) % 5 + 1 : 0;

        if (stream)
            exp_ranges_add(&ranges, &(struct exp_range){from, bytes, stream, stream * 7});
        else
            exp_ranges_remove(&ranges, from, bytes);
        for (uint64_t i = from; i < from + bytes; i++)
            plain[i] = stream;
        for (uint64_t i = 0; i < LOCATIONS; i++) {
            struct exp_range found = exp_ranges_find(&ranges, i);

            assert_int_equal(found.stream, plain[i]);
            assert_int_equal(found.pool, plain[i] * 7);
        }
    }
    exp_ranges_release(&ranges);
}

static void a_range_up_to_the_last_address_is_found(void **state)
{
    struct exp_ranges ranges = {.items = NULL};

    (void)state;
    exp_ranges_add(&ranges, &(struct exp_range){UINT64_MAX - 9, 10, 5, 0});
    assert_int_equal(exp_ranges_find(&ranges, UINT64_MAX - 1).stream, 5);
    assert_int_equal(exp_ranges_find(&ranges, UINT64_MAX - 10).stream, 0);
    exp_ranges_release(&ranges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_every_width_are_read_back),
        cmocka_unit_test(a_list_of_any_length_is_read_back),
        cmocka_unit_test(repeated_texts_and_numbers_are_read_back),
        cmocka_unit_test(ranges_agree_with_a_plain_array),
        cmocka_unit_test(a_range_up_to_the_last_address_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
