/*
 * lang/syntax/parser_literal.c - values of number and string literals.
 *
 * Must not know:  where a literal is used.
 * Invariant:      the parser's `text` is used as a stack: each function removes what it has added.
 */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "lang/syntax/parser_internal.h"

/* ---- the buffer ---- */

static void add_bytes(struct lang_parser *p, const char *s, size_t len)
{
    while (p->text_cap - p->text_len < len)
        p->text = vs_grow(p->text, p->text_cap, &p->text_cap, 1);
    if (len)
        memcpy(p->text + p->text_len, s, len);
    p->text_len += len;
}

static void add_code_point(struct lang_parser *p, uint32_t c)
{
    char s[4];

    if (c < 0x80) {
        s[0] = (char)c;
        add_bytes(p, s, 1);
    } else if (c < 0x800) {
        s[0] = (char)(0xC0 | c >> 6);
        s[1] = (char)(0x80 | (c & 0x3F));
        add_bytes(p, s, 2);
    } else if (c < 0x10000) {
        s[0] = (char)(0xE0 | c >> 12);
        s[1] = (char)(0x80 | (c >> 6 & 0x3F));
        s[2] = (char)(0x80 | (c & 0x3F));
        add_bytes(p, s, 3);
    } else {
        s[0] = (char)(0xF0 | c >> 18);
        s[1] = (char)(0x80 | (c >> 12 & 0x3F));
        s[2] = (char)(0x80 | (c >> 6 & 0x3F));
        s[3] = (char)(0x80 | (c & 0x3F));
        add_bytes(p, s, 4);
    }
}

static const struct lang_str *take_text(struct lang_parser *p, size_t mark)
{
    const struct lang_str *str =
        lang_strs_get(p->strs, p->text_len ? p->text + mark : "", p->text_len - mark);

    p->text_len = mark;
    return str;
}

/* ---- numbers ---- */

static int64_t int_value(struct lang_parser *p, const char *s, int base,
                         const struct lang_token *tok)
{
    int64_t value = 0;

    for (; *s; s++) {
        int digit = *s <= '9' ? *s - '0' : (*s | 0x20) - 'a' + 10;

        if (value > (INT64_MAX - digit) / base) {
            parser_refuse(p, PARSER_REFUSE_BIG_INT, tok->span);
            return 0;
        }
        value = value * base + digit;
    }
    return value;
}

/* The program may have set a locale whose decimal point is a comma. */
static double float_value(const char *s)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value;

    VS_ASSERT(plain);
    value = strtod_l(s, NULL, plain);
    freelocale(plain);
    return value;
}

struct lang_expr *parser_number(struct lang_parser *p)
{
    const struct lang_token *tok = p->tok;
    const char *source = p->source->text;
    size_t mark = p->text_len;
    struct lang_expr *expr;
    const char *s;
    int base = 10;

    for (uint32_t i = tok->start; i < tok->end; i++)
        if (source[i] != '_')
            add_bytes(p, source + i, 1);
    add_bytes(p, "", 1);
    s = p->text + mark;
    if (s[0] == '0' && s[1])
        base = strchr("xX", s[1]) ? 16 : strchr("oO", s[1]) ? 8 : strchr("bB", s[1]) ? 2 : 10;
    parser_advance(p);
    if (base == 10 && strpbrk(s, ".eE")) {
        expr = parser_expr_new(p, LANG_EXPR_FLOAT, tok->span);
        expr->u.float_value = float_value(s);
    } else {
        expr = parser_expr_new(p, LANG_EXPR_INT, tok->span);
        expr->u.int_value = int_value(p, base == 10 ? s : s + 2, base, tok);
    }
    p->text_len = mark;
    return expr;
}

/* ---- the text of strings ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* `digits` hex digits at `s`; `escape` is where the backslash stands. */
static uint32_t hex_escape(struct lang_parser *p, uint32_t escape, uint32_t end, uint32_t digits)
{
    const char *s = p->source->text;
    uint32_t value = 0;

    for (uint32_t i = 0; i < digits; i++) {
        int digit = escape + 2 + i < end ? hex_digit(s[escape + 2 + i]) : -1;

        if (digit < 0) {
            parser_fail(p, lang_source_span(p->source, escape, escape + 2 + i), NULL,
                        "`\\%c` needs %u hex digits", s[escape + 1], digits);
            return 0;
        }
        value = value * 16 + (uint32_t)digit;
    }
    if (value > 0x10FFFF) {
        parser_fail(p, lang_source_span(p->source, escape, escape + 2 + digits), NULL,
                    "U+%X is not a character", value);
        return 0;
    }
    if (value >= 0xD800 && value < 0xE000) {
        parser_refuse(p, PARSER_REFUSE_SURROGATE,
                      lang_source_span(p->source, escape, escape + 2 + digits));
        return 0;
    }
    return value;
}

static uint32_t octal_escape(struct lang_parser *p, uint32_t at, uint32_t end)
{
    const char *s = p->source->text;
    uint32_t stop = at + 4 < end ? at + 4 : end;
    uint32_t value = 0;
    uint32_t i = at + 1;

    for (; i < stop && s[i] >= '0' && s[i] <= '7'; i++)
        value = value * 8 + (uint32_t)(s[i] - '0');
    add_code_point(p, value);
    return i;
}

/*
 * The escape at `at`: adds its character, returns the offset after it. An unknown escape is kept
 * unchanged, as in Python.
 */
static uint32_t escape(struct lang_parser *p, uint32_t at, uint32_t end)
{
    static const char plain[] = "\\\\''\"\"a\ab\bf\fn\nr\rt\tv\v";
    char c = at + 1 < end ? p->source->text[at + 1] : '\0';
    uint32_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;

    if (c == '\n')
        return at + 2;
    for (const char *row = plain; *row && c; row += 2) {
        if (row[0] == c) {
            add_bytes(p, row + 1, 1);
            return at + 2;
        }
    }
    if (digits) {
        add_code_point(p, hex_escape(p, at, end, digits));
        return p->failed ? end : at + 2 + digits;
    }
    if (c >= '0' && c <= '7')
        return octal_escape(p, at, end);
    if (c == 'N') {
        parser_refuse(p, PARSER_REFUSE_NAMED_CHAR, lang_source_span(p->source, at, at + 2));
        return end;
    }
    add_bytes(p, "\\", 1);
    return at + 1;
}

/* Bytes start to end of the source, decoded; `is_doubled`: {{ and }} are one brace. */
static void add_decoded(struct lang_parser *p, uint32_t start, uint32_t end, bool is_raw,
                        bool is_doubled)
{
    const char *s = p->source->text;
    uint32_t at = start;

    while (at < end) {
        uint32_t run = at;

        while (run < end && (is_raw || s[run] != '\\') &&
               (!is_doubled || (s[run] != '{' && s[run] != '}')))
            run++;
        add_bytes(p, s + at, run - at);
        at = run;
        if (at == end)
            break;
        if (s[at] == '\\') {
            at = escape(p, at, end);
        } else {
            add_bytes(p, s + at, 1);
            at += 2;
        }
    }
}

/* A STRING token: prefix, quotes, text. */
static void plain_string(struct lang_parser *p)
{
    const char *s = p->source->text;
    const struct lang_token *tok = p->tok;
    uint32_t at = tok->start;
    uint32_t quote_len;
    bool is_raw = false;

    for (; s[at] != '"' && s[at] != '\''; at++) {
        if (s[at] == 'b' || s[at] == 'B') {
            parser_refuse(p, PARSER_REFUSE_BYTES, tok->span);
            return;
        }
        is_raw = is_raw || s[at] == 'r' || s[at] == 'R';
    }
    quote_len = tok->end - at >= 6 && s[at + 1] == s[at] && s[at + 2] == s[at] ? 3 : 1;
    parser_advance(p);
    add_decoded(p, at + quote_len, tok->end - quote_len, is_raw, false);
}

/* ---- f-strings ---- */

static void fstring_pieces(struct lang_parser *p, enum lang_token_kind end, size_t text_mark);

/* What has been read of the text so far becomes a part. */
static void flush_text(struct lang_parser *p, size_t mark)
{
    struct lang_fpart part = {NULL, NULL, 0, NULL};

    if (p->text_len == mark)
        return;
    part.text = take_text(p, mark);
    parser_push(p, &part, sizeof(part));
}

/* The parts from the scratch mark on, and the text not yet among them, as one expression. */
static struct lang_expr *finish(struct lang_parser *p, size_t mark, size_t text_mark,
                                bool is_fstring, struct lang_span start)
{
    struct lang_expr *expr;

    if (!is_fstring) {
        expr = parser_expr_new(p, LANG_EXPR_STR, start);
        expr->u.str = take_text(p, text_mark);
        return expr;
    }
    flush_text(p, text_mark);
    expr = parser_expr_new(p, LANG_EXPR_FSTRING, start);
    expr->u.fstring.parts = parser_take(p, mark, sizeof(struct lang_fpart), &expr->u.fstring.count);
    for (uint32_t i = 0; i < expr->u.fstring.count; i++) {
        parser_adopt(p, expr, expr->u.fstring.parts[i].value);
        parser_adopt(p, expr, expr->u.fstring.parts[i].spec);
    }
    return expr;
}

static struct lang_expr *format_spec(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    size_t mark = p->scratch_len;
    size_t text_mark = p->text_len;

    fstring_pieces(p, LANG_TOK_RBRACE, text_mark);
    return finish(p, mark, text_mark, p->scratch_len > mark, start);
}

static char conversion(struct lang_parser *p)
{
    const struct lang_token *tok = p->tok;
    const char *s = tok->name ? tok->name->text : "";

    if (tok->kind != LANG_TOK_NAME || tok->start != p->last->end || !*s || s[1] ||
        !strchr("rsa", *s)) {
        parser_fail(p, tok->span, NULL, "`!` in an f-string is followed by r, s or a");
        return 0;
    }
    parser_advance(p);
    return *s;
}

/* A replacement field, from `{` to `}`. The text from text_mark on, which precedes it, becomes a separate part. */
static void field(struct lang_parser *p, size_t text_mark)
{
    struct lang_fpart part = {NULL, NULL, 0, NULL};
    uint32_t text_start = p->tok->end;
    bool is_debug = false;

    parser_advance(p);
    if (parser_is(p, LANG_TOK_RBRACE) || parser_is(p, LANG_TOK_COLON) ||
        parser_is(p, LANG_TOK_EXCLAM) || parser_is(p, LANG_TOK_ASSIGN))
        parser_unexpected(p, "an expression between the braces");
    part.value = parser_exprs(p);
    if (parser_accept(p, LANG_TOK_ASSIGN)) {
        is_debug = true;
        add_bytes(p, p->source->text + text_start, p->failed ? 0 : p->tok->start - text_start);
    }
    flush_text(p, text_mark);
    if (parser_accept(p, LANG_TOK_EXCLAM))
        part.conversion = conversion(p);
    if (parser_is(p, LANG_TOK_COLON) && parser_enter(p)) {
        parser_advance(p);
        part.spec = format_spec(p);
        parser_leave(p);
    }
    if (is_debug && !part.spec && !part.conversion)
        part.conversion = 'r';
    parser_expect(p, LANG_TOK_RBRACE);
    parser_push(p, &part, sizeof(part));
}

/*
 * Text and fields up to `end`, which is not read. Parts are pushed; the text from text_mark on goes before the first
 * field, that behind the last one stays in the buffer.
 */
static void fstring_pieces(struct lang_parser *p, enum lang_token_kind end, size_t text_mark)
{
    while (!parser_is(p, end) && !p->failed) {
        const struct lang_token *tok = p->tok;

        if (parser_is(p, LANG_TOK_LBRACE)) {
            field(p, text_mark);
        } else if (parser_is(p, LANG_TOK_FSTRING_TEXT)) {
            parser_advance(p);
            add_decoded(p, tok->start, tok->end, tok->is_raw, !tok->is_spec);
        } else {
            parser_unexpected(p, "`}`");
        }
    }
}

struct lang_expr *parser_strings(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    size_t mark = p->scratch_len;
    size_t text_mark = p->text_len;
    bool is_fstring = false;

    for (;;) {
        if (parser_is(p, LANG_TOK_STRING)) {
            plain_string(p);
        } else if (parser_accept(p, LANG_TOK_FSTRING_START)) {
            is_fstring = true;
            fstring_pieces(p, LANG_TOK_FSTRING_END, text_mark);
            parser_expect(p, LANG_TOK_FSTRING_END);
        } else {
            return finish(p, mark, text_mark, is_fstring, start);
        }
    }
}
