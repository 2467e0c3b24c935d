/*
 * lang/syntax/lexer_text.c - see lexer_internal.h: numbers, strings and f-strings.
 *
 * Must not know:  the grammar.
 * Invariant:      finds the end of literals and refuses malformed ones; parser_literal.c computes their values.
 */
#include <string.h>

#include "lang/syntax/lexer_internal.h"

/* ---- numbers ---- */

static bool is_digit_of(char c, int base)
{
    if (base == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
        return true;
    return c >= '0' && c <= '9' && c - '0' < base;
}

/* Digits with single underscores between them, from `at` on: returns the offset after them. */
static uint32_t skip_digits(const struct lexer *lx, uint32_t at, int base)
{
    while (at < lx->len) {
        if (is_digit_of(lx->text[at], base))
            at++;
        else if (lx->text[at] == '_' && at + 1 < lx->len && is_digit_of(lx->text[at + 1], base))
            at += 2;
        else
            break;
    }
    return at;
}

/* The end of "e+10" at `at`, or `at` where there is no exponent. */
static uint32_t skip_exponent(const struct lexer *lx, uint32_t at)
{
    uint32_t digits = at + 1;

    if (at >= lx->len || (lx->text[at] != 'e' && lx->text[at] != 'E'))
        return at;
    if (digits < lx->len && (lx->text[digits] == '+' || lx->text[digits] == '-'))
        digits++;
    if (digits >= lx->len || !is_digit_of(lx->text[digits], 10))
        return at;
    return skip_digits(lx, digits, 10);
}

static void fail_number(struct lexer *lx, uint32_t start, uint32_t end)
{
    uint32_t n;

    if (end < lx->len && (lx->text[end] == 'j' || lx->text[end] == 'J')) {
        lexer_fail(
            lx, lexer_span(lx, start, end + 1),
            "write the real and the imaginary part as two floats; see docs/guide/net-language.md",
            "complex numbers are not part of the net language");
        return;
    }
    while ((n = lexer_ident_len(lx, end, false)) != 0)
        end += n;
    lexer_fail(lx, lexer_span(lx, start, end), NULL, "not a number");
}

void lexer_number(struct lexer *lx)
{
    uint32_t start = lx->pos;
    uint32_t at = start;
    char mark = lexer_peek(lx, 1);
    int base = mark == 'x' || mark == 'X' ? 16 : mark == 'o' || mark == 'O' ? 8 : 2;
    bool is_float = false;

    if (lx->text[start] == '0' && mark && strchr("xXoObB", mark)) {
        at = start + 2;
        if (at < lx->len && lx->text[at] == '_')
            at++;
        if (at >= lx->len || !is_digit_of(lx->text[at], base)) {
            fail_number(lx, start, start + 2);
            return;
        }
        at = skip_digits(lx, at, base);
    } else {
        uint32_t e;

        at = skip_digits(lx, at, 10);
        if (at < lx->len && lx->text[at] == '.') {
            is_float = true;
            at++;
            if (at < lx->len && is_digit_of(lx->text[at], 10))
                at = skip_digits(lx, at, 10);
        }
        e = skip_exponent(lx, at);
        is_float = is_float || e > at;
        at = e;
        if (!is_float && lx->text[start] == '0' && strspn(lx->text + start, "0_") < at - start) {
            lexer_fail(lx, lexer_span(lx, start, at), "an octal number starts with 0o",
                       "a number cannot start with 0");
            return;
        }
    }
    if (lexer_ident_len(lx, at, false)) {
        fail_number(lx, start, at);
        return;
    }
    lx->pos = at;
    lexer_emit(lx, LANG_TOK_NUMBER, start, at);
}

/* ---- strings ---- */

/*
 * A string or f-string that is being read.
 *
 * start       of the prefix
 * quote_len   1 or 3
 */
struct string_form {
    uint32_t start;
    char quote;
    uint32_t quote_len;
    bool is_raw;
};

static bool is_at_quote(const struct lexer *lx, const struct string_form *form)
{
    for (uint32_t i = 0; i < form->quote_len; i++)
        if (lexer_peek(lx, i) != form->quote)
            return false;
    return true;
}

static void fail_unterminated(struct lexer *lx, const struct string_form *form)
{
    struct lang_span span =
        lexer_span(lx, form->start, form->start + (lx->pos > form->start ? 1 : 0));
    const char *const quotes = form->quote_len == 3 ? (form->quote == '"' ? "\"\"\"" : "'''")
                               : form->quote == '"' ? "\""
                                                    : "'";

    lexer_fail(lx, span,
               form->quote_len == 3 ? NULL : "a string over several lines needs three quotes",
               "the string has no closing %s", quotes);
}

static void plain_string(struct lexer *lx, const struct string_form *form)
{
    for (;;) {
        char c = lexer_peek(lx, 0);

        if (lx->pos >= lx->len || (c == '\n' && form->quote_len == 1)) {
            fail_unterminated(lx, form);
            return;
        }
        if (c == '\\' && lx->pos + 1 < lx->len) {
            lx->pos += 2;
        } else if (c == form->quote && is_at_quote(lx, form)) {
            lx->pos += form->quote_len;
            lexer_emit(lx, LANG_TOK_STRING, form->start, lx->pos);
            return;
        } else {
            lx->pos++;
        }
    }
}

static void fstring_field(struct lexer *lx, const struct string_form *form);

static void emit_text(struct lexer *lx, const struct string_form *form, uint32_t start,
                      bool is_spec)
{
    struct lang_token *token;

    if (start == lx->pos)
        return;
    token = lexer_emit(lx, LANG_TOK_FSTRING_TEXT, start, lx->pos);
    token->is_raw = form->is_raw;
    token->is_spec = is_spec;
}

/* At a backslash in the text of an f-string: step over what it escapes. */
static void fstring_backslash(struct lexer *lx, const struct string_form *form)
{
    char next = lexer_peek(lx, 1);

    if (next == 'N' && !form->is_raw) {
        lexer_fail(
            lx, lexer_span(lx, lx->pos, lx->pos + 2),
            "write the character itself, or \\u with its number; see docs/guide/net-language.md",
            "characters by name (\\N) are not part of the net language");
        return;
    }
    lx->pos += next == '{' || next == '}' || !next ? 1 : 2;
}

/*
 * The text of an f-string up to its closing quote (left standing), or of a format spec up to its closing brace (left
 * standing).
 */
static void fstring_text(struct lexer *lx, const struct string_form *form, bool is_spec)
{
    uint32_t start = lx->pos;

    while (!lx->failed) {
        char c = lexer_peek(lx, 0);

        if (lx->pos >= lx->len || (c == '\n' && form->quote_len == 1)) {
            fail_unterminated(lx, form);
        } else if (c == form->quote && is_at_quote(lx, form)) {
            if (is_spec)
                lexer_fail(lx, lexer_span(lx, lx->pos, lx->pos + 1), NULL,
                           "a `}` is missing before the end of the f-string");
            else
                emit_text(lx, form, start, false);
            return;
        } else if (c == '\\') {
            fstring_backslash(lx, form);
        } else if (c == '{' && !is_spec && lexer_peek(lx, 1) == '{') {
            lx->pos += 2;
        } else if (c == '{') {
            emit_text(lx, form, start, is_spec);
            fstring_field(lx, form);
            start = lx->pos;
        } else if (c == '}' && is_spec) {
            emit_text(lx, form, start, true);
            return;
        } else if (c == '}' && lexer_peek(lx, 1) == '}') {
            lx->pos += 2;
        } else if (c == '}') {
            lexer_fail(lx, lexer_span(lx, lx->pos, lx->pos + 1),
                       "write a brace of the text twice: }}", "a `}` without `{` in an f-string");
        } else {
            lx->pos++;
        }
    }
}

/* A replacement field, from `{` to its `}`. */
static void fstring_field(struct lexer *lx, const struct string_form *form)
{
    uint32_t depth;

    lexer_open(lx, LANG_TOK_LBRACE);
    depth = lx->bracket_count;
    while (!lx->failed) {
        char c;

        lexer_skip_blanks(lx);
        if (lx->failed)
            return;
        c = lexer_peek(lx, 0);
        if (lx->pos >= lx->len) {
            fail_unterminated(lx, form);
        } else if (lx->bracket_count > depth) {
            lexer_token(lx);
        } else if (c == '}') {
            lexer_close(lx, LANG_TOK_RBRACE);
            return;
        } else if (c == '!' && lexer_peek(lx, 1) != '=') {
            lexer_emit(lx, LANG_TOK_EXCLAM, lx->pos, lx->pos + 1);
            lx->pos++;
        } else if (c == ':') {
            lexer_emit(lx, LANG_TOK_COLON, lx->pos, lx->pos + 1);
            lx->pos++;
            fstring_text(lx, form, true);
        } else {
            lexer_token(lx);
        }
    }
}

void lexer_string(struct lexer *lx, uint32_t start)
{
    struct string_form form = {start, lx->text[lx->pos], 1, false};
    bool is_fstring = false;

    for (uint32_t i = start; i < lx->pos; i++) {
        char c = lx->text[i];

        form.is_raw = form.is_raw || c == 'r' || c == 'R';
        is_fstring = is_fstring || c == 'f' || c == 'F';
    }
    if (lexer_peek(lx, 1) == form.quote && lexer_peek(lx, 2) == form.quote)
        form.quote_len = 3;
    lx->pos += form.quote_len;
    if (!is_fstring) {
        plain_string(lx, &form);
        return;
    }
    lexer_emit(lx, LANG_TOK_FSTRING_START, start, lx->pos);
    fstring_text(lx, &form, false);
    if (lx->failed)
        return;
    lexer_emit(lx, LANG_TOK_FSTRING_END, lx->pos, lx->pos + form.quote_len);
    lx->pos += form.quote_len;
}
