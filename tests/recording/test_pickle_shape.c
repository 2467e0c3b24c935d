/*
 * tests/recording/test_pickle_shape.c - dicts that are written like the ones before hold what they would hold without that.
 *
 * Invented pickles of events, with everything that an event may hold and everything that makes one unlike the last, read twice: as
 * they always are, and plainly, opcode by opcode.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "recording/pickle_internal.h"
#include "recording/pickle_opcode.h"
#include "recording/pickle_shape.h"
#include "tests/recording/pickle_words.h"

#define KEYS 8
#define FRAMES 5
#define EVENTS 300

/* A pickle being written. keys, frames: their memo numbers. */
struct making {
    struct vs_text bytes;
    uint64_t random;
    uint32_t memo_count;
    uint32_t keys[KEYS], frames[FRAMES];
    int protocol;
    bool is_odd; /* now and then something that no recording has */
};

static uint32_t any(struct making *m, uint32_t below)
{
    m->random = m->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(m->random >> 33) % below;
}

static void add(struct making *m, int byte)
{
    vs_text_add_char(&m->bytes, (char)byte);
}

static void add_uint(struct making *m, uint64_t n, int bytes)
{
    for (int i = 0; i < bytes; i++)
        add(m, (int)(n >> 8 * i & 0xff));
}

static uint32_t put(struct making *m)
{
    const uint32_t number = m->memo_count++;

    if (m->protocol == 4) {
        add(m, OP_MEMOIZE);
    } else {
        add(m, number < 256 ? OP_BINPUT : OP_LONG_BINPUT);
        add_uint(m, number, number < 256 ? 1 : 4);
    }
    return number;
}

static void get(struct making *m, uint32_t number)
{
    const bool is_short = number < 256 && !(m->is_odd && any(m, 50) == 0);

    add(m, is_short ? OP_BINGET : OP_LONG_BINGET);
    add_uint(m, number, is_short ? 1 : 4);
}

static void add_words(struct making *m, const char *text)
{
    const size_t len = strlen(text);

    add(m, m->protocol == 4 && len < 256 ? OP_SHORT_BINUNICODE : OP_BINUNICODE);
    add_uint(m, len, m->protocol == 4 && len < 256 ? 1 : 4);
    vs_text_add(&m->bytes, text);
}

/* ---- values ---- */

static void number(struct making *m)
{
    const uint32_t kind = any(m, 4);

    switch (kind) {
    case 0:
        add(m, OP_BININT1);
        add_uint(m, any(m, 256), 1);
        break;
    case 1:
        add(m, OP_BININT2);
        add_uint(m, any(m, 65536), 2);
        break;
    case 2:
        add(m, OP_BININT);
        add_uint(m, any(m, UINT32_MAX), 4);
        break;
    default: /* 9 bytes do not fit in a word */
        add(m, OP_LONG1);
        add(m, 5 + (int)any(m, m->is_odd ? 5 : 3));
        for (int i = (unsigned char)m->bytes.data[m->bytes.len - 1]; i > 0; i--)
            add(m, (int)any(m, 256));
    }
}

static void pair(struct making *m)
{
    const int first = any(m, 10) ? 0 : 1;

    add(m, OP_BININT1);
    add(m, first);
    add(m, OP_BININT1);
    add(m, 0);
    add(m, OP_TUPLE2);
    put(m);
}

static void frames(struct making *m)
{
    const uint32_t count = any(m, m->is_odd ? 7 : 2) ? 4 + any(m, 3) : any(m, 4);

    add(m, OP_EMPTY_LIST);
    put(m);
    if (!count)
        return;
    add(m, OP_MARK);
    for (uint32_t i = 0; i < count; i++)
        get(m, m->frames[any(m, FRAMES)]);
    add(m, OP_APPENDS);
}

static void value(struct making *m)
{
    switch (any(m, m->is_odd ? 9 : 7)) {
    case 0:
        add_words(m, "N/A");
        put(m);
        break;
    case 1:
        frames(m);
        break;
    case 2:
        pair(m);
        break;
    case 3:
        get(m, any(m, m->memo_count)); /* a text, a frame, a list, the dict itself */
        break;
    case 4:
        add(m, any(m, 2) ? OP_NEWTRUE : OP_NONE);
        break;
    case 7:
        add(m, OP_BINFLOAT);
        add_uint(m, any(m, UINT32_MAX), 8);
        break;
    case 8:
        add(m, OP_EMPTY_DICT);
        put(m);
        break;
    default:
        number(m);
    }
}

/* A dict with `count` of the keys, from `first` on, or here and there with others, in between what pushes nothing. */
static uint32_t dict(struct making *m, const uint32_t *keys, uint32_t count)
{
    uint32_t self;

    add(m, OP_EMPTY_DICT);
    self = put(m);
    add(m, OP_MARK);
    for (uint32_t i = 0; i < count; i++) {
        if (m->is_odd && any(m, 60) == 0)
            get(m, m->keys[any(m, KEYS)]);
        else
            get(m, keys[i]);
        if (m->is_odd && any(m, 100) == 0) {
            add(m, OP_FRAME);
            add_uint(m, 0, 8);
        }
        value(m);
    }
    add(m, OP_SETITEMS);
    return self;
}

static void make(struct making *m)
{
    static const char *const NAMES[KEYS] = {"action", "addr",   "size",     "stream",
                                            "time",   "frames", "metadata", ""};

    add(m, OP_PROTO);
    add(m, m->protocol);
    add(m, OP_EMPTY_LIST);
    put(m);
    add(m, OP_MARK);
    for (int i = 0; i < KEYS; i++) {
        add_words(m, NAMES[i]);
        m->keys[i] = put(m);
    }
    for (int i = 0; i < FRAMES; i++) {
        const uint32_t two[] = {m->keys[i], m->keys[i + 1]};

        add(m, OP_EMPTY_DICT);
        m->frames[i] = put(m);
        add(m, OP_MARK);
        get(m, two[0]);
        add_words(m, "frame");
        get(m, two[1]);
        number(m);
        add(m, OP_SETITEMS);
    }
    for (int i = 0; i < EVENTS; i++) {
        const uint32_t count = any(m, 4) ? 6 : 2 + any(m, 5);

        dict(m, m->keys + (any(m, 8) ? 0 : any(m, KEYS - count)), count);
    }
    add(m, OP_APPENDS);
    add(m, OP_STOP);
}

/* ---- both ways ---- */

/* All columns of a dict at once are what each of its keys has alone. */
static void check_row(const struct rec_pickle *p, struct rec_value dict_value)
{
    static const char *const NAMES[] = {"action", "size", "frames", "metadata", "", "none"};
    enum { COUNT = sizeof(NAMES) / sizeof(NAMES[0]) };
    struct rec_columns *columns = rec_columns_new(p, NAMES, COUNT);
    struct rec_value row[COUNT];
    const uint64_t has = rec_value_row(p, dict_value, columns, row);

    for (size_t i = 0; i < COUNT; i++) {
        struct rec_value alone;
        const bool is_there = rec_value_get(p, dict_value, rec_pickle_key(p, NAMES[i]), &alone);

        assert_int_equal(has >> i & 1, is_there);
        if (is_there)
            assert_true(rec_value_same(row[i], alone));
    }
    rec_columns_free(columns);
}

static struct rec_pickle *read_once(const struct making *m, size_t len, bool is_plain)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rec_pickle *p = NULL;
    bool has_doubt = false;

    (void)!rec_pickle_read_once(m->bytes.data, len, is_plain, &has_doubt, &p, &err);
    assert_false(has_doubt);
    return p;
}

/* Items one by one: a list that holds itself would never end. */
static void check_same(const struct rec_pickle *a, const struct rec_pickle *b)
{
    const struct rec_value tops[] = {rec_pickle_top(a), rec_pickle_top(b)};
    const size_t count = rec_value_count(a, tops[0]);

    assert_int_equal(count, rec_value_count(b, tops[1]));
    for (size_t i = 0; i < count; i++) {
        const struct rec_value of_a = rec_value_at(a, tops[0], i);
        const struct rec_value of_b = rec_value_at(b, tops[1], i);

        assert_int_equal(rec_value_type(of_a), rec_value_type(of_b));
        assert_int_equal(rec_value_count(a, of_a), rec_value_count(b, of_b));
        if (rec_value_type(of_a) == REC_DICT) {
            check_row(a, of_a);
            check_row(b, of_b);
        }
        for (size_t j = 0; j < rec_value_count(a, of_a); j++) {
            const struct rec_value x = rec_value_at(a, of_a, j);
            const struct rec_value y = rec_value_at(b, of_b, j);
            struct vs_text words[2] = {{NULL, 0, 0}, {NULL, 0, 0}};

            assert_int_equal(rec_value_type(x), rec_value_type(y));
            assert_int_equal(rec_value_count(a, x), rec_value_count(b, y));
            if (rec_value_type(x) < REC_LIST) {
                pickle_words_add(a, x, &words[0]);
                pickle_words_add(b, y, &words[1]);
                assert_string_equal(vs_text_get(&words[0]), vs_text_get(&words[1]));
            }
            vs_text_release(&words[0]);
            vs_text_release(&words[1]);
        }
    }
}

static void read_both_ways(uint64_t seed, int protocol, bool is_odd)
{
    struct making m = {.random = seed, .protocol = protocol, .is_odd = is_odd};
    struct rec_pickle *fast;
    struct rec_pickle *plain;

    make(&m);
    fast = read_once(&m, m.bytes.len, false);
    plain = read_once(&m, m.bytes.len, true);
    assert_non_null(fast);
    assert_non_null(plain);
    check_same(fast, plain);
    assert_true(fast->shapes->count > 1);
    assert_int_equal(plain->shapes->count, 0);
    rec_pickle_free(fast);
    rec_pickle_free(plain);
    vs_text_release(&m.bytes);
}

static void dicts_like_the_ones_before_are_read_as_if_they_were_the_first(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        read_both_ways(seed, 4, false);
        read_both_ways(seed, 2, false);
        read_both_ways(seed, 4, true);
        read_both_ways(seed, 2, true);
    }
}

/* Cut anywhere it is refused, and nothing behind the end is looked at: the copy is exactly as long. */
static void cut_off_in_such_a_dict_it_is_refused(void **state)
{
    struct making m = {.random = 7, .protocol = 4};

    (void)state;
    make(&m);
    for (size_t len = m.bytes.len - 1; len > m.bytes.len - 400; len--) {
        struct making cut = m;

        cut.bytes.data = vs_alloc(len);
        memcpy(cut.bytes.data, m.bytes.data, len);
        assert_null(read_once(&cut, len, false));
        vs_free(cut.bytes.data);
    }
    vs_text_release(&m.bytes);
}

/* Of 300 events that are alike all but the first is one that was there already: nothing else is left of them. */
static void alike_dicts_need_no_box(void **state)
{
    struct making m = {.random = 1, .protocol = 4};
    struct rec_pickle *p;

    (void)state;
    add(&m, OP_PROTO);
    add(&m, 4);
    add(&m, OP_EMPTY_LIST);
    add(&m, OP_MARK);
    add_words(&m, "a");
    m.keys[0] = put(&m);
    add_words(&m, "b");
    m.keys[1] = put(&m);
    for (int i = 0; i < EVENTS; i++) {
        add(&m, OP_EMPTY_DICT);
        put(&m);
        add(&m, OP_MARK);
        for (int k = 0; k < 2; k++) {
            get(&m, m.keys[k]);
            number(&m);
        }
        add(&m, OP_SETITEMS);
    }
    add_words(&m, "so that the last of them is not near the end");
    add(&m, OP_APPENDS);
    add(&m, OP_STOP);
    p = read_once(&m, m.bytes.len, false);
    assert_non_null(p);
    assert_int_equal(p->shapes->count, 1);
    assert_int_equal(p->dict_count, EVENTS);
    assert_int_equal(p->box_count, 1);
    assert_int_equal(p->nested_count, 0);
    assert_int_equal(p->memo_count, EVENTS + 2);
    rec_pickle_free(p);
    vs_text_release(&m.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dicts_like_the_ones_before_are_read_as_if_they_were_the_first),
        cmocka_unit_test(cut_off_in_such_a_dict_it_is_refused),
        cmocka_unit_test(alike_dicts_need_no_box),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
