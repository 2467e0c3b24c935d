/*
 * tests/recording/test_pickle.c - pickles of CPython's come out as they went in; everything else is refused, and
 * nothing grows.
 *
 * tests/golden/pickle/cases.txt is CPython's own (tests/oracle/pickle_cases.py); the hostile ones are written here,
 * byte by byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "recording/pickle.h"
#include "tests/recording/pickle_words.h"

#define CASES "tests/golden/pickle/cases.txt"
#define OPCODES "tests/golden/pickle/opcodes.txt"

/* ---- as CPython has it ---- */

static size_t hex_bytes(const char *hex, size_t len, char *out)
{
    for (size_t i = 0; i < len / 2; i++) {
        unsigned byte;

        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        out[i] = (char)byte;
    }
    return len / 2;
}

static void pickles_written_by_cpython_are_read(void **state)
{
    FILE *file = fopen(CASES, "r");
    char *line = NULL;
    size_t cap = 0;
    size_t count = 0;

    (void)state;
    assert_non_null(file);
    while (getline(&line, &cap, file) > 0) {
        size_t len = strcspn(line, " ");
        char *expected = line + len + 1;
        char *bytes = vs_alloc(len / 2 + 1);
        struct vs_error err = VS_ERROR_INIT;
        struct vs_text text = {NULL, 0, 0};
        struct rec_pickle *p;

        expected[strcspn(expected, "\n")] = '\0';
        if (rec_pickle_read(bytes, hex_bytes(line, len, bytes), &p, &err))
            fail_msg("case %zu: %s", count, err.text);
        pickle_words_add(p, rec_pickle_top(p), &text);
        if (strcmp(vs_text_get(&text), expected) != 0)
            fail_msg("case %zu:\n%.300s\nnot\n%.300s", count, vs_text_get(&text), expected);
        vs_text_release(&text);
        rec_pickle_free(p);
        vs_free(bytes);
        count++;
    }
    assert_in_range(count, 1000, 10000);
    free(line);
    fclose(file);
}

/* Cut anywhere, a pickle is refused: only its last byte ends it. */
static void a_truncated_pickle_is_refused_at_any_length(void **state)
{
    FILE *file = fopen(CASES, "r");
    char *line = NULL;
    size_t cap = 0;
    size_t tried = 0;

    (void)state;
    assert_non_null(file);
    while (getline(&line, &cap, file) > 0) {
        size_t len = strcspn(line, " ");
        char *bytes = vs_alloc(len / 2 + 1);

        hex_bytes(line, len, bytes);
        for (size_t cut = 0; cut < len / 2 && len < 1000; cut++) {
            char *copy = vs_alloc(cut + 1); /* so that reading past it is noticed */
            struct vs_error err = VS_ERROR_INIT;
            struct rec_pickle *p;

            memcpy(copy, bytes, cut);
            copy = vs_realloc(copy, cut ? cut : 1, 1);
            assert_int_equal(rec_pickle_read(copy, cut, &p, &err), VS_E_FORMAT);
            assert_null(p);
            vs_free(copy);
            tried++;
        }
        vs_free(bytes);
    }
    assert_true(tried > 10000);
    free(line);
    fclose(file);
}

/* ---- what is refused ---- */

struct hostile {
    const char *bytes;
    size_t len;
    const char *says;
};
#define HOSTILE(bytes, says)                                                                       \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, says                                                             \
    }

static void check_refused(const struct hostile *h)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rec_pickle *p;

    if (rec_pickle_read(h->bytes, h->len, &p, &err) != VS_E_FORMAT)
        fail_msg("was read; should say: %s", h->says);
    if (!strstr(err.text, h->says))
        fail_msg("says: %s; should: %s", err.text, h->says);
}

static void opcodes_that_could_run_code_are_refused_by_name_and_offset(void **state)
{
    static const struct hostile cases[] = {
        HOSTILE("\x80\x02"
                "cos\nsystem\n.",
                "offset 2: opcode GLOBAL"),
        HOSTILE("\x80\x04\x8c\x02os\x8c\x06system\x93.", "offset 14: opcode STACK_GLOBAL"),
        HOSTILE("N)R.", "offset 2: opcode REDUCE"),
        HOSTILE("NNb.", "offset 2: opcode BUILD"),
        HOSTILE("(ios\nsystem\n.", "offset 1: opcode INST"),
        HOSTILE("(No.", "offset 2: opcode OBJ"),
        HOSTILE("NN\x81.", "offset 2: opcode NEWOBJ,"),
        HOSTILE("NNN\x92.", "offset 3: opcode NEWOBJ_EX"),
        HOSTILE("\x82\x01.", "offset 0: opcode EXT1"),
        HOSTILE("\x83\x01\x01.", "offset 0: opcode EXT2"),
        HOSTILE("\x84\x01\x01\x01\x01.", "offset 0: opcode EXT4"),
        HOSTILE("Pid\n.", "offset 0: opcode PERSID"),
        HOSTILE("NQ.", "offset 1: opcode BINPERSID"),
        HOSTILE("\x97.", "offset 0: opcode NEXT_BUFFER"),
        HOSTILE("N\x98.", "offset 1: opcode READONLY_BUFFER"),
        HOSTILE("\xff.", "offset 0: 0xff is no opcode"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_refused(&cases[i]);
}

static void malformed_pickles_are_refused(void **state)
{
    static const struct hostile cases[] = {
        HOSTILE("", "offset 0: the pickle is cut off"),
        HOSTILE(".", "nothing on the stack"),
        HOSTILE("a.", "nothing on the stack"),
        HOSTILE("Na.", "nothing on the stack"),
        HOSTILE("NNa.", "something that is no list"),
        HOSTILE("]Ns.", "nothing on the stack"),
        HOSTILE("]NNs.", "something that is no dict"),
        HOSTILE("}NNs.", "a key that is no text"),
        HOSTILE("}(X\x01\x00\x00\x00xu.", "a key without a value"),
        HOSTILE("e.", "no mark"),
        HOSTILE("(e.", "no list"),
        HOSTILE("]((e.", "nothing on the stack"),
        HOSTILE("](NNa.", "something that is no list"),
        HOSTILE("t.", "no mark"),
        HOSTILE("N\x86.", "nothing on the stack"),
        HOSTILE("(N\x86.", "nothing on the stack"),
        HOSTILE("0.", "nothing on the stack"),
        HOSTILE("1.", "no mark"),
        HOSTILE("2.", "nothing on the stack"),
        HOSTILE("h\x00.", "nothing was put"),
        HOSTILE("Nq\x01h\x00.", "nothing was put"),
        HOSTILE("\x94.", "nothing on the stack"),
        HOSTILE("g1x\n.", "a memo number that is none"),
        HOSTILE("I12x\n.", "a number that is none"),
        HOSTILE("I\n.", "a number that is none"),
        HOSTILE("L-L\n.", "a number that is none"),
        HOSTILE("F1.5.5\n.", "a number that is none"),
        HOSTILE("S'x\n.", "without its quotes"),
        HOSTILE("V\\u12\n.", "an escape"),
        HOSTILE("V\\U00110000\n.", "an escape"),
        HOSTILE("\x80\x06N.", "newer than 5"),
        HOSTILE("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", "cut off in this frame"),
        HOSTILE("\x8a\x11"
                "01234567890123456.",
                "more than 16 bytes"),
        HOSTILE("\x8b\xff\xff\xff\xff.", "more than 16 bytes"),
        HOSTILE("X\xff\xff\xff\xffx.", "cut off"),
        HOSTILE("\x8d\xff\xff\xff\xff\xff\xff\xff\xffx.", "cut off"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_refused(&cases[i]);
}

/* CPython's whole table: an opcode is known, or refused by its name, or there is none of that number. */
static void every_opcode_is_supported_or_refused_by_name(void **state)
{
    char names[256][32] = {{0}};
    bool is_refused[256] = {false};
    char line[128];
    FILE *file = fopen(OPCODES, "r");

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        char kind[16];
        unsigned code;
        char name[32];

        assert_int_equal(sscanf(line, "%2x %31s %15s", &code, name, kind), 3);
        memcpy(names[code], name, sizeof(name));
        is_refused[code] = strcmp(kind, "refused") == 0;
    }
    fclose(file);
    for (unsigned code = 0; code < 256; code++) {
        const char bytes[] = {'N', (char)code, '\n', 0, 0, 0, 0, 0, 0, 0};
        struct vs_error err = VS_ERROR_INIT;
        struct rec_pickle *p = NULL;
        char says[64];
        enum vs_status st = rec_pickle_read(bytes, sizeof(bytes), &p, &err);

        rec_pickle_free(p);
        snprintf(says, sizeof(says), is_refused[code] ? "offset 1: opcode %.31s," : "offset 1: 0x",
                 names[code]);
        if (is_refused[code] || !names[code][0])
            assert_true(st && strstr(err.text, says));
        else if (st && (strstr(err.text, "offset 1: 0x") || strstr(err.text, "offset 1: opcode")))
            fail_msg("%s (0x%02x) is not known: %s", names[code], code, err.text);
    }
}

/* `count` times `unit`, between two other texts. */
static void check_repeated_refused(const char *before, const char *unit, size_t unit_len,
                                   size_t count, const char *after, const char *says)
{
    struct vs_text text = {NULL, 0, 0};
    struct hostile h = {NULL, 0, says};

    vs_text_add(&text, before);
    for (size_t i = 0; i < count; i++)
        vs_text_add_n(&text, unit, unit_len);
    vs_text_add(&text, after);
    h.bytes = vs_text_get(&text);
    h.len = text.len;
    check_refused(&h);
    vs_text_release(&text);
}

static void pickles_that_expand_without_bound_are_refused(void **state)
{
    static const struct hostile huge_memo = HOSTILE("Nr\xff\xff\xff\x7f.", "a memo number larger");

    (void)state;
    check_refused(&huge_memo);
    check_repeated_refused("", "(", 1, 1001, "N.", "more than 1000 deep");
    /* a word of memory for each byte: eight times the input */
    check_repeated_refused("(", "N", 1, (size_t)40 << 20, "l.", "more than four times its size");
    /* 24 bytes and more for each byte */
    check_repeated_refused("(", "]", 1, (size_t)8 << 20, "l.", "more than four times its size");
    check_repeated_refused("(", "}", 1, (size_t)8 << 20, "l.", "more than four times its size");
    /* each tuple holds the one before it twice: seven bytes of input for two levels */
    check_repeated_refused("N", "2\x86", 2, (size_t)8 << 20, ".", "more than four times its size");
}

static void bytes_after_the_end_are_not_read(void **state)
{
    static const char bytes[] = "\x80\x02]q\x00(K\x01K\x02"
                                "e.cos\nsystem\n";
    struct vs_error err = VS_ERROR_INIT;
    struct rec_pickle *p;
    uint64_t n = 0;

    (void)state;
    assert_int_equal(rec_pickle_read(bytes, sizeof(bytes) - 1, &p, &err), VS_OK);
    assert_int_equal(rec_value_count(p, rec_pickle_top(p)), 2);
    assert_true(rec_value_int(p, rec_value_at(p, rec_pickle_top(p), 1), &n));
    assert_int_equal(n, 2);
    rec_pickle_free(p);
}

static void a_dict_lookup_finds_the_last_duplicate_key(void **state)
{
    static const char bytes[] = "}(U\x01"
                                "aK\x01U\x01"
                                "bK\x02U\x01"
                                "aK\x03u.";
    struct vs_error err = VS_ERROR_INIT;
    struct rec_value v;
    struct rec_pickle *p;
    uint64_t n = 0;

    (void)state;
    assert_int_equal(rec_pickle_read(bytes, sizeof(bytes) - 1, &p, &err), VS_OK);
    assert_true(rec_value_get(p, rec_pickle_top(p), rec_pickle_key(p, "a"), &v));
    assert_true(rec_value_int(p, v, &n));
    assert_int_equal(n, 3);
    assert_int_equal(rec_pickle_key(p, "c"), REC_NO_KEY);
    assert_false(rec_value_get(p, rec_pickle_top(p), REC_NO_KEY, &v));
    rec_value_mark_set(p, rec_pickle_top(p), 7);
    assert_int_equal(rec_value_mark(p, rec_pickle_top(p)), 7);
    rec_pickle_free(p);
}

/* ---- equal contents are stored once, and nobody can tell ---- */

static void check_words(const char *bytes, size_t len, const char *expected)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct rec_pickle *p;

    if (rec_pickle_read(bytes, len, &p, &err))
        fail_msg("%s", err.text);
    pickle_words_add(p, rec_pickle_top(p), &text);
    assert_string_equal(vs_text_get(&text), expected);
    vs_text_release(&text);
    rec_pickle_free(p);
}
#define CHECK_WORDS(bytes, expected) check_words(bytes, sizeof(bytes) - 1, expected)

/* The lists and dicts that are added to later are found again by their memo numbers. */
static void adding_to_a_container_leaves_equal_ones_unchanged(void **state)
{
    (void)state;
    CHECK_WORDS("(]q\1(K\1K\2e](K\1K\2eh\1K\3a](K\1K\2el.", "[[1,2,3],[1,2],[1,2,3],[1,2]]");
    CHECK_WORDS("(](K\1K\2e]q\1(K\1K\2eh\1(K\3K\4e0](K\1K\2el.", "[[1,2],[1,2,3,4],[1,2]]");
    CHECK_WORDS("(]]q\1h\1K\3a0]l.", "[[],[3],[]]");
    CHECK_WORDS("(}(U\1aK\1u}q\1(U\1aK\2uh\1U\1bK\3s0}(U\1aK\4ul.",
                "[{t61=1},{t61=2,t62=3},{t61=4}]");
    CHECK_WORDS("(}}q\1h\1U\1aK\3s0}l.", "[{},{t61=3},{}]");
    /* a list and a tuple of the same, a list of a dict's keys */
    CHECK_WORDS("(](K\1K\2eK\1K\2\x86](U\1aU\1be}(U\1aK\1U\1bK\2ul.",
                "[[1,2],(1,2),[t61,t62],{t61=1,t62=2}]");
}

static void equal_lists_share_a_mark_and_equal_dicts_do_not(void **state)
{
    static const char bytes[] = "(](K\1K\2e](K\1K\2e](K\1K\3e}(U\1aK\1u}(U\1aK\1ul.";
    struct vs_error err = VS_ERROR_INIT;
    struct rec_pickle *p;
    uint32_t marks[5];

    (void)state;
    assert_int_equal(rec_pickle_read(bytes, sizeof(bytes) - 1, &p, &err), VS_OK);
    rec_value_mark_set(p, rec_value_at(p, rec_pickle_top(p), 0), 7);
    rec_value_mark_set(p, rec_value_at(p, rec_pickle_top(p), 3), 8);
    for (size_t i = 0; i < 5; i++)
        marks[i] = rec_value_mark(p, rec_value_at(p, rec_pickle_top(p), i));
    assert_memory_equal(marks, ((uint32_t[]){7, 7, 0, 8, 0}), sizeof(marks));
    rec_pickle_free(p);
}

/* Item `i` of what is_dict says, with its key. */
static void item_add(struct vs_text *bytes, bool is_dict, size_t i)
{
    if (is_dict)
        vs_text_addf(bytes, "U%c%05zu", 5, i);
    vs_text_add_char(bytes, 'M');
    vs_text_add_char(bytes, (char)(i & 0xff));
    vs_text_add_char(bytes, (char)(i >> 8));
}

/* A container of `count` items that is filled `batch` at a time, and what is in it. */
static void check_filled(bool is_dict, size_t count, size_t batch)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text bytes = {NULL, 0, 0};
    struct rec_value top, v;
    struct rec_pickle *p;
    uint64_t n;

    vs_text_add_char(&bytes, is_dict ? '}' : ']');
    for (size_t i = 0; i < count; i += batch) {
        vs_text_add(&bytes, batch > 1 ? "(" : "");
        for (size_t j = i; j < count && j < i + batch; j++)
            item_add(&bytes, is_dict, j);
        vs_text_add_char(&bytes, batch > 1 ? (is_dict ? 'u' : 'e') : (is_dict ? 's' : 'a'));
    }
    vs_text_add_char(&bytes, '.');
    if (rec_pickle_read(vs_text_get(&bytes), bytes.len, &p, &err))
        fail_msg("%zu in batches of %zu: %s", count, batch, err.text);
    top = rec_pickle_top(p);
    assert_int_equal(rec_value_count(p, top), count);
    for (size_t i = 0; i < count; i++) {
        char key[24];

        snprintf(key, sizeof(key), "%05zu", i);
        v = rec_value_at(p, top, i);
        assert_true(!is_dict || (rec_value_get(p, top, rec_pickle_key(p, key), &v) &&
                                 rec_value_same(v, rec_value_at(p, top, i))));
        assert_true(rec_value_int(p, v, &n));
        if (n != i)
            fail_msg("item %zu of %zu in batches of %zu is %" PRIu64, i, count, batch, n);
    }
    rec_pickle_free(p);
    vs_text_release(&bytes);
}

/* Around 255 items, the most that are compared with others. */
static void containers_of_any_size_can_be_filled_in_batches(void **state)
{
    static const size_t COUNTS[] = {0, 1, 2, 7, 254, 255, 256, 257, 1000, 5000};
    static const size_t BATCHES[] = {1, 2, 100, 255, 256, 1000, 5000};

    (void)state;
    for (size_t i = 0; i < sizeof(COUNTS) / sizeof(COUNTS[0]); i++)
        for (size_t j = 0; j < sizeof(BATCHES) / sizeof(BATCHES[0]); j++) {
            check_filled(false, COUNTS[i], BATCHES[j]);
            check_filled(true, COUNTS[i], BATCHES[j]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pickles_written_by_cpython_are_read),
        cmocka_unit_test(a_truncated_pickle_is_refused_at_any_length),
        cmocka_unit_test(opcodes_that_could_run_code_are_refused_by_name_and_offset),
        cmocka_unit_test(every_opcode_is_supported_or_refused_by_name),
        cmocka_unit_test(malformed_pickles_are_refused),
        cmocka_unit_test(pickles_that_expand_without_bound_are_refused),
        cmocka_unit_test(bytes_after_the_end_are_not_read),
        cmocka_unit_test(a_dict_lookup_finds_the_last_duplicate_key),
        cmocka_unit_test(adding_to_a_container_leaves_equal_ones_unchanged),
        cmocka_unit_test(equal_lists_share_a_mark_and_equal_dicts_do_not),
        cmocka_unit_test(containers_of_any_size_can_be_filled_in_batches),
    };

    return cmocka_run_group_tests_name("recording/pickle", tests, NULL, NULL);
}
