/*
 * tests/base/test_text.c - the growing text buffer, and the edit distance of words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static void pieces_join_in_order(void **state)
{
    struct vs_text text = {NULL, 0, 0};
    char *taken;

    (void)state;
    assert_string_equal(vs_text_get(&text), "");
    vs_text_add(&text, "ab");
    vs_text_add_n(&text, "cdef", 2);
    vs_text_add_fill(&text, '-', 3);
    vs_text_add_fill(&text, '-', -3);
    vs_text_add_char(&text, '!');
    vs_text_addf(&text, "%d%s", 7, "x");
    assert_string_equal(vs_text_get(&text), "abcd---!7x");
    assert_int_equal(text.len, 10);
    taken = vs_text_take(&text);
    assert_string_equal(taken, "abcd---!7x");
    assert_string_equal(vs_text_get(&text), "");
    vs_free(taken);
    taken = vs_text_take(&text);
    assert_string_equal(taken, "");
    vs_free(taken);
}

static void a_text_grows_beyond_its_initial_capacity(void **state)
{
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    for (int i = 0; i < 5000; i++)
        vs_text_addf(&text, "%04d", i);
    assert_int_equal(text.len, 20000);
    assert_int_equal(strlen(vs_text_get(&text)), 20000);
    assert_int_equal(memcmp(text.data + 4 * 4321, "4321", 4), 0);
    vs_text_clear(&text);
    assert_string_equal(vs_text_get(&text), "");
    vs_text_release(&text);
}

static void edit_distance_counts_the_letters_to_change(void **state)
{
    (void)state;
    assert_int_equal(vs_word_distance("kitten", "sitting"), 3);
    assert_int_equal(vs_word_distance("", "abc"), 3);
    assert_int_equal(vs_word_distance("abc", ""), 3);
    assert_int_equal(vs_word_distance("amp", "amp"), 0);
    assert_int_equal(vs_word_distance("zero_grad", "zero-grad"), 1);
}

static void two_swapped_letters_are_one_typing_error(void **state)
{
    (void)state;
    assert_int_equal(vs_word_distance("Lienar", "Linear"), 1);
    assert_int_equal(vs_word_distance("ab", "ba"), 1);
}

static void only_close_names_are_suggested(void **state)
{
    (void)state;
    assert_true(vs_word_distance("conv2", "conv1") <= vs_word_distance_limit("conv2"));
    assert_true(vs_word_distance("LSTM", "ELU") > vs_word_distance_limit("LSTM"));
    assert_true(vs_word_distance("fold", "fill") > vs_word_distance_limit("fold"));
    assert_true(vs_word_distance("sofmax", "softmax") <= vs_word_distance_limit("sofmax"));
    assert_true(vs_word_distance("checkpiont", "checkpoint") <=
                vs_word_distance_limit("checkpiont"));
}

static void numbers_are_formatted_in_decimal(void **state)
{
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    vs_text_add_uint(&text, 0);
    vs_text_add_char(&text, ' ');
    vs_text_add_uint(&text, 1000);
    vs_text_add_char(&text, ' ');
    vs_text_add_uint(&text, UINT64_MAX);
    assert_string_equal(vs_text_get(&text), "0 1000 18446744073709551615");
    vs_text_release(&text);
}

/* Width 12: a line ends before the word that would exceed it; a longer word has a line of its own. */
static void text_is_wrapped_at_the_width(void **state)
{
    static const char WORDS[] = "one two\nthree  extraordinarily four five";
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    vs_text_add(&text, "> ");
    vs_text_add_words(&text, WORDS, strlen(WORDS), 2, 4, 12);
    assert_string_equal(vs_text_get(&text), "> one two\n"
                                            "    three\n"
                                            "    extraordinarily\n"
                                            "    four\n"
                                            "    five");
    vs_text_clear(&text);
    /* exactly twelve columns, and only the first seven bytes */
    vs_text_add_words(&text, "12345 789012", 12, 0, 0, 12);
    vs_text_add_char(&text, '|');
    vs_text_add_words(&text, "12345 789012", 7, 0, 0, 12);
    assert_string_equal(vs_text_get(&text), "12345 789012|12345 7");
    vs_text_release(&text);
}

static void a_text_is_cut_before_a_character_that_does_not_fit(void **state)
{
    (void)state;
    assert_int_equal(vs_utf8_cut("abc", 5), 3);
    assert_int_equal(vs_utf8_cut("abc", 2), 2);
    assert_int_equal(vs_utf8_cut("a\xE2\x80\xA6z", 4), 4);
    assert_int_equal(vs_utf8_cut("a\xE2\x80\xA6z", 3), 1);
    assert_int_equal(vs_utf8_cut("a\xE2\x80\xA6z", 2), 1);
    assert_int_equal(vs_utf8_cut("\xC3\xA4", 1), 0);
    assert_int_equal(vs_utf8_cut("", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_join_in_order),
        cmocka_unit_test(a_text_grows_beyond_its_initial_capacity),
        cmocka_unit_test(edit_distance_counts_the_letters_to_change),
        cmocka_unit_test(two_swapped_letters_are_one_typing_error),
        cmocka_unit_test(only_close_names_are_suggested),
        cmocka_unit_test(numbers_are_formatted_in_decimal),
        cmocka_unit_test(text_is_wrapped_at_the_width),
        cmocka_unit_test(a_text_is_cut_before_a_character_that_does_not_fit),
    };

    return cmocka_run_group_tests_name("base/text", tests, NULL, NULL);
}
