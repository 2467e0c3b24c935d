/*
 * tests/lang/syntax/test_lexer.c - tokens and their positions, lines and blocks, f-strings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lang/syntax/lexer.h"

struct lexed {
    struct vs_arena *arena;
    const struct lang_source *source;
    struct lang_strs strs;
    struct lang_tokens tokens;
};

static void lex(struct lexed *x, const char *text)
{
    struct vs_error err = VS_ERROR_INIT;

    x->arena = vs_arena_new();
    assert_int_equal(lang_source_new("net.py", text, strlen(text), x->arena, &x->source, &err),
                     VS_OK);
    lang_strs_init(&x->strs, x->arena);
    lang_tokens_init(&x->tokens, x->source, &x->strs);
}

static void unlex(struct lexed *x)
{
    lang_tokens_release(&x->tokens);
    lang_strs_release(&x->strs);
    vs_arena_free(x->arena);
}

/*
 * The tokens in one line: their text, and for the others N (newline), > and < (indent, dedent), T (f-string
 * text).
 */
static void assert_tokens(const char *text, const char *want)
{
    struct lexed x;
    char *got = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&got, &len);

    lex(&x, text);
    for (size_t i = 0; i < x.tokens.count; i++) {
        const struct lang_token *tok = &x.tokens.items[i];
        int size = (int)(tok->end - tok->start);
        const char *at = x.source->text + tok->start;

        switch ((enum lang_token_kind)tok->kind) {
        case LANG_TOK_END:
            break;
        case LANG_TOK_ERROR:
            fprintf(out, "ERROR");
            break;
        case LANG_TOK_NEWLINE:
            fprintf(out, "N ");
            break;
        case LANG_TOK_INDENT:
            fprintf(out, "> ");
            break;
        case LANG_TOK_DEDENT:
            fprintf(out, "< ");
            break;
        case LANG_TOK_FSTRING_TEXT:
            fprintf(out, "T<%.*s> ", size, at);
            break;
        default: /* printed as its text */
            fprintf(out, "%.*s ", size, at);
            break;
        }
    }
    (void)fclose(out);
    if (strcmp(got, want) != 0)
        fail_msg("%s\nis split into\n%s\nnot into\n%s", text, got, want);
    free(got);
    unlex(&x);
}

static void the_lexer_takes_the_longest_operator(void **state)
{
    (void)state;
    assert_tokens("a**=b//c<<d<=e!=f->g...h:=i", "a **= b // c << d <= e != f -> g ... h := i N ");
    assert_tokens("a. ..b", "a . . . b N ");
    assert_tokens("a<-b", "a < - b N ");
    assert_tokens("x=-1", "x = - 1 N ");
}

static void numbers_end_where_they_stop_being_numbers(void **state)
{
    (void)state;
    assert_tokens("1.real", "ERROR");
    assert_tokens("1..real", "1. . real N ");
    assert_tokens("1 .real", "1 . real N ");
    assert_tokens("1e5.x", "1e5 . x N ");
    assert_tokens("0xfe+1", "0xfe + 1 N ");
    assert_tokens("1e+5-1e-5", "1e+5 - 1e-5 N ");
    assert_tokens("a[1:.5]", "a [ 1 : .5 ] N ");
    assert_tokens("1_000j", "ERROR");
}

static void blocks_open_and_close_with_the_indentation(void **state)
{
    (void)state;
    assert_tokens("if a:\n  b\n  c\nd\n", "if a : N > b N c N < d N ");
    assert_tokens("if a:\n  if b:\n      c\nd\n", "if a : N > if b : N > c N < < d N ");
    assert_tokens("if a:\n  b", "if a : N > b N < ");
    assert_tokens("if a:\n\tb\n        c\n", "if a : N > b N ERROR");
    assert_tokens("if a:\n\tb\n\tc\n", "if a : N > b N c N < ");
}

static void blank_and_comment_lines_have_no_indentation(void **state)
{
    (void)state;
    assert_tokens("if a:\n  b\n# x\n\n      # y\n  c\n", "if a : N > b N c N < ");
    assert_tokens("\n\n# only comments", "");
    assert_tokens("", "");
    assert_tokens("   ", "");
    assert_tokens("a # b\n", "a N ");
}

static void lines_are_joined_in_brackets_and_after_backslashes(void **state)
{
    (void)state;
    assert_tokens("a = (1,\n  2) + [\n\n3 # x\n]\n", "a = ( 1 , 2 ) + [ 3 ] N ");
    assert_tokens("a = 1 + \\\n  2\n", "a = 1 + 2 N ");
    assert_tokens("if a:\n  b\n \\\n\n  c", "if a : N > b N c N < ");
    assert_tokens("a \\ \nb", "a ERROR");
}

static void strings_end_at_their_own_quote(void **state)
{
    (void)state;
    assert_tokens("'a\"b' \"c'd\" '\\'' ''", "'a\"b' \"c'd\" '\\'' '' N ");
    assert_tokens("'''a'b''c\n'''", "'''a'b''c\n''' N ");
    assert_tokens("r'\\'' rb'' Rf'' bu''", "r'\\'' rb'' Rf' ' bu '' N ");
    assert_tokens("'a\nb'", "ERROR");
    assert_tokens("'a\\\nb'", "'a\\\nb' N ");
    assert_tokens("'''a''", "ERROR");
}

static void fstrings_consist_of_text_and_fields(void **state)
{
    (void)state;
    assert_tokens("f'a{b}c'", "f' T<a> { b } T<c> ' N ");
    assert_tokens("f'{a!r:>{w}.2f}{{x}}'", "f' { a ! r : T<>> { w } T<.2f> } T<{{x}}> ' N ");
    assert_tokens("f'{a!=b}{c:=d}{e=}'", "f' { a != b } { c : T<=d> } { e = } ' N ");
    assert_tokens("f'{a['x']:{b[1:2]}}'", "f' { a [ 'x' ] : { b [ 1 : 2 ] } } ' N ");
    assert_tokens("f'{f\"{'a'}\"}'", "f' { f\" { 'a' } \" } ' N ");
    assert_tokens("f'{\na # b\n}'", "f' { a } ' N ");
    assert_tokens("f'{ {1: 2} }'", "f' { { 1 : 2 } } ' N ");
    assert_tokens("rf'\\{a}\\''", "rf' T<\\> { a } T<\\'> ' N ");
    assert_tokens("f'{a", "f' { a ERROR");
    assert_tokens("f'a}'", "f' ERROR");
    assert_tokens("f'{a)}'", "f' { a ERROR");
}

static void keywords_are_whole_words(void **state)
{
    static const char text[] = "if iff None none lambda lambda_ _if is not_";
    static const uint8_t kinds[] = {LANG_TOK_IF,   LANG_TOK_NAME,   LANG_TOK_NONE,
                                    LANG_TOK_NAME, LANG_TOK_LAMBDA, LANG_TOK_NAME,
                                    LANG_TOK_NAME, LANG_TOK_IS,     LANG_TOK_NAME};
    struct lexed x;

    (void)state;
    lex(&x, text);
    for (size_t i = 0; i < sizeof(kinds); i++)
        assert_int_equal(x.tokens.items[i].kind, kinds[i]);
    unlex(&x);
}

static void equal_names_are_interned_as_one_string(void **state)
{
    struct lexed x;

    (void)state;
    lex(&x, "abc abd abc");
    assert_ptr_equal(x.tokens.items[0].name, x.tokens.items[2].name);
    assert_ptr_not_equal(x.tokens.items[0].name, x.tokens.items[1].name);
    assert_int_equal(x.tokens.items[1].name->id, 1);
    unlex(&x);
}

static void identifiers_may_hold_letters_of_any_script(void **state)
{
    (void)state;
    assert_tokens("größe = Δx + 变量1", "größe = Δx + 变量1 N ");
    assert_true(lang_is_ident_char(0xE9, true));
    assert_true(lang_is_ident_char(0x660, false)); /* a digit: not at the start */
    assert_false(lang_is_ident_char(0x660, true));
    assert_false(lang_is_ident_char(0x201C, false)); /* a quote */
    assert_false(lang_is_ident_char(0xFB01, true));  /* the ligature fi: Python reads it as "fi" */
    assert_false(lang_is_ident_char(0x301, false));  /* an accent that joins the letter before */
    assert_false(lang_is_ident_char(0x10FFFF, true));
    assert_tokens("a “b”", "a ERROR");
}

static void locations_count_characters_from_one(void **state)
{
    struct lexed x;
    const struct lang_token *tok;

    (void)state;
    lex(&x, "ä = '€\\\n€' ; b\n  \tc");
    tok = &x.tokens.items[2]; /* the string over two lines */
    assert_memory_equal(&tok->span, (&(struct lang_span){1, 5, 2, 3}), sizeof(tok->span));
    tok = &x.tokens.items[4];
    assert_memory_equal(&tok->span, (&(struct lang_span){2, 6, 2, 7}), sizeof(tok->span));
    tok = &x.tokens.items[7];
    assert_memory_equal(&tok->span, (&(struct lang_span){3, 4, 3, 5}), sizeof(tok->span));
    tok = &x.tokens.items[4];
    assert_int_equal(lang_source_span(x.source, tok->start, tok->end).line, 2);
    assert_int_equal(lang_source_span(x.source, tok->start, tok->end).col, 6);
    assert_int_equal(lang_source_span(x.source, tok->start, tok->end).end_col, 7);
    unlex(&x);
}

/* Text is examined eight bytes at a time, so every position among them is tried. */
static void invalid_bytes_are_found_at_any_offset(void **state)
{
    (void)state;
    for (size_t at = 1; at < 24; at++) {
        static const struct {
            const char *bytes;
            size_t len;
            bool is_good;
        } cases[] = {
            {"\0", 1, false}, {"\x80", 1, false}, {"\xff", 1, false}, {"\xc3\xa9", 2, true}};

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            struct vs_error err = VS_ERROR_INIT;
            struct lexed x;
            char text[40];

            memset(text, '#', sizeof(text));
            memcpy(text + at, cases[i].bytes, cases[i].len);
            x.arena = vs_arena_new();
            assert_int_equal(lang_source_new("net.py", text, 30, x.arena, &x.source, &err), VS_OK);
            lang_strs_init(&x.strs, x.arena);
            lang_tokens_init(&x.tokens, x.source, &x.strs);
            assert_int_equal(x.tokens.error.status, cases[i].is_good ? VS_OK : VS_E_SYNTAX);
            unlex(&x);
        }
    }
}

static void an_unclosed_bracket_is_reported(void **state)
{
    struct lexed x;

    (void)state;
    lex(&x, "a = (b,\nc = [1]\n");
    assert_true(x.tokens.is_unclosed);
    assert_int_equal(x.tokens.unclosed_start, 4);
    assert_int_equal(x.tokens.items[x.tokens.count - 1].kind, LANG_TOK_ERROR);
    assert_non_null(strstr(x.tokens.error.text, "net.py:1:5: `(` is never closed"));
    unlex(&x);
}

static void lines_of_the_source_can_be_read(void **state)
{
    struct lexed x;
    size_t len;

    (void)state;
    lex(&x, "one\r\ntwo\n\nfour");
    assert_int_equal(x.source->line_count, 4);
    assert_memory_equal(lang_source_line(x.source, 2, &len), "two", 3);
    assert_int_equal(len, 3);
    (void)lang_source_line(x.source, 3, &len);
    assert_int_equal(len, 0);
    assert_memory_equal(lang_source_line(x.source, 4, &len), "four", 4);
    assert_int_equal(len, 4);
    (void)lang_source_line(x.source, 5, &len);
    assert_int_equal(len, 0);
    unlex(&x);
}

static enum vs_status VS_PRINTF(6, 7)
    diag(struct vs_error *err, enum vs_status status, const struct lang_source *source,
         struct lang_span span, const char *hint, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    lang_diagv(err, status, source, span, hint, fmt, ap);
    va_end(ap);
    return status;
}

static void a_message_without_a_location_shows_no_line(void **state)
{
    struct lexed x;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    lex(&x, "abc");
    assert_int_equal(diag(&err, VS_E_NAME, x.source, (struct lang_span){0, 0, 0, 0}, "add it",
                          "no `%s`", "model"),
                     VS_E_NAME);
    assert_string_equal(err.text, "net.py: no `model`\n  add it");
    unlex(&x);
}

static void a_message_underlines_the_first_line_of_a_longer_span(void **state)
{
    struct lexed x;
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    lex(&x, "a = f(b,\n  c)");
    (void)diag(&err, VS_E_TYPE, x.source, (struct lang_span){1, 5, 2, 5}, NULL, "wrong");
    assert_string_equal(err.text, "net.py:1:5: wrong\n"
                                  "     1 | a = f(b,\n"
                                  "       |     ^^^^");
    unlex(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lexer_takes_the_longest_operator),
        cmocka_unit_test(numbers_end_where_they_stop_being_numbers),
        cmocka_unit_test(blocks_open_and_close_with_the_indentation),
        cmocka_unit_test(blank_and_comment_lines_have_no_indentation),
        cmocka_unit_test(lines_are_joined_in_brackets_and_after_backslashes),
        cmocka_unit_test(strings_end_at_their_own_quote),
        cmocka_unit_test(fstrings_consist_of_text_and_fields),
        cmocka_unit_test(keywords_are_whole_words),
        cmocka_unit_test(equal_names_are_interned_as_one_string),
        cmocka_unit_test(identifiers_may_hold_letters_of_any_script),
        cmocka_unit_test(locations_count_characters_from_one),
        cmocka_unit_test(invalid_bytes_are_found_at_any_offset),
        cmocka_unit_test(an_unclosed_bracket_is_reported),
        cmocka_unit_test(lines_of_the_source_can_be_read),
        cmocka_unit_test(a_message_without_a_location_shows_no_line),
        cmocka_unit_test(a_message_underlines_the_first_line_of_a_longer_span),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
