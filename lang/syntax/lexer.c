/*
 * lang/syntax/lexer.c - see lexer.h: lines, indentation, brackets, names and operators.
 *
 * Must not know:  the grammar.
 * Invariant:      every loop iteration advances `pos` or sets `failed`.
 */
#include "lang/syntax/lexer_internal.h"

#include <stdarg.h>
#include <string.h>

static const struct lang_token_info token_infos[] = {
/* clang-format off */
#define LANG_TOKEN(id, text, strength, op) [id] = {text, strength, op},
#include "lang/syntax/token.def"
#undef LANG_TOKEN
    /* clang-format on */
};

/* Characters beyond ASCII, in ascending order. */
static const struct {
    uint32_t first;
    uint32_t last;
    bool is_start;
} ident_ranges[] = {
/* clang-format off */
#define LANG_IDENT(first, last, is_start) {first, last, is_start},
#include "lang/syntax/ident.def"
#undef LANG_IDENT
    /* clang-format on */
};

enum {
    LONGEST_KEYWORD = 8,
    TAB_WIDTH = 8,
};

const struct lang_token_info *lang_token_info(enum lang_token_kind kind)
{
    VS_ASSERT(kind < LANG_TOKEN_KIND_COUNT);
    return &token_infos[kind];
}

bool lang_is_ident_char(uint32_t c, bool is_first)
{
    size_t low = 0;
    size_t high = sizeof(ident_ranges) / sizeof(ident_ranges[0]);

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (c > ident_ranges[mid].last)
            low = mid + 1;
        else if (c < ident_ranges[mid].first)
            high = mid;
        else
            return !is_first || ident_ranges[mid].is_start;
    }
    return false;
}

/* ---- positions ---- */

static void place(struct lexer *lx, uint32_t offset, uint32_t *line, uint32_t *col)
{
    const uint32_t *starts = lx->source->line_starts;

    if (offset < lx->col_offset) { /* backwards: at most by one token, except for messages */
        while (starts[lx->line - 1] > offset)
            lx->line--;
        lx->col_offset = starts[lx->line - 1];
        lx->col = 1;
    }
    while (lx->line < lx->source->line_count && starts[lx->line] <= offset) {
        lx->col_offset = starts[lx->line];
        lx->line++;
        lx->col = 1;
    }
    if (lx->is_ascii)
        lx->col += offset - lx->col_offset;
    else
        for (uint32_t i = lx->col_offset; i < offset; i++)
            lx->col += ((unsigned char)lx->text[i] & 0xC0) != 0x80;
    lx->col_offset = offset;
    *line = lx->line;
    *col = lx->col;
}

struct lang_span lexer_span(struct lexer *lx, uint32_t start, uint32_t end)
{
    const uint32_t *next = &lx->source->line_starts[lx->line];
    struct lang_span span;

    /* most often on the line of the last request */
    if (lx->is_ascii && start >= lx->col_offset && start <= end &&
        (lx->line == lx->source->line_count || end < *next)) {
        span = (struct lang_span){lx->line, lx->col + (start - lx->col_offset), lx->line,
                                  lx->col + (end - lx->col_offset)};
        lx->col = span.end_col;
        lx->col_offset = end;
        return span;
    }
    place(lx, start, &span.line, &span.col);
    place(lx, end, &span.end_line, &span.end_col);
    return span;
}

struct lang_token *lexer_emit(struct lexer *lx, enum lang_token_kind kind, uint32_t start,
                              uint32_t end)
{
    struct lang_tokens *out = lx->out;
    struct lang_token *token;

    if (out->count == out->cap)
        out->items = vs_grow(out->items, out->count, &out->cap, sizeof(*out->items));
    token = &out->items[out->count++];
    *token = (struct lang_token){.kind = (uint8_t)kind, .start = start, .end = end};
    token->span = lexer_span(lx, start, end);
    return token;
}

void lexer_fail(struct lexer *lx, struct lang_span span, const char *hint, const char *fmt, ...)
{
    va_list ap;

    if (lx->failed)
        return;
    lx->failed = true;
    va_start(ap, fmt);
    lang_diagv(&lx->out->error, VS_E_SYNTAX, lx->source, span, hint, fmt, ap);
    va_end(ap);
    lexer_emit(lx, LANG_TOK_ERROR, lx->pos, lx->pos);
}

/* ---- characters ---- */

/* The code point at `at`; *len bytes. The text has been checked to be UTF-8. */
static uint32_t code_point(const struct lexer *lx, uint32_t at, uint32_t *len)
{
    unsigned char first = (unsigned char)lx->text[at];
    uint32_t n = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    uint32_t c = n == 1 ? first : first & (0x7Fu >> n);

    for (uint32_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)lx->text[at + i] & 0x3F);
    *len = n;
    return c;
}

/* A letter of ASCII or `_`, anywhere in a name. */
static bool is_word(unsigned char c)
{
    return ((c | 0x20u) >= 'a' && (c | 0x20u) <= 'z') || c == '_';
}

uint32_t lexer_ident_len(const struct lexer *lx, uint32_t at, bool is_first)
{
    unsigned char c;
    uint32_t len;

    if (at >= lx->len)
        return 0;
    c = (unsigned char)lx->text[at];
    if (is_word(c))
        return 1;
    if (c >= '0' && c <= '9')
        return !is_first;
    if (c < 0x80)
        return 0;
    return lang_is_ident_char(code_point(lx, at, &len), is_first) ? len : 0;
}

/* Offset of the first byte that is not UTF-8 (or is a NUL), or lx->len. Sets is_ascii. */
static uint32_t check_utf8(struct lexer *lx)
{
    const unsigned char *s = (const unsigned char *)lx->text;
    uint32_t i = 0;

    lx->is_ascii = true;
    while (i < lx->len) {
        uint32_t n = 1;
        uint64_t eight;

        if (lx->len - i >= sizeof(eight)) {
            memcpy(&eight, s + i, sizeof(eight));
            /* no byte is 0 or has its highest bit */
            if (!(((eight - UINT64_C(0x0101010101010101)) | eight) &
                  UINT64_C(0x8080808080808080))) {
                i += (uint32_t)sizeof(eight);
                continue;
            }
        }

        if (s[i] == 0)
            return i;
        if (s[i] >= 0x80) {
            lx->is_ascii = false;
            n = s[i] >= 0xF0 ? 4 : s[i] >= 0xE0 ? 3 : 2;
            if (s[i] < 0xC2 || s[i] > 0xF4 || n > lx->len - i)
                return i;
            for (uint32_t k = 1; k < n; k++)
                if ((s[i + k] & 0xC0) != 0x80)
                    return i;
            if ((s[i] == 0xE0 && s[i + 1] < 0xA0) || (s[i] == 0xED && s[i + 1] >= 0xA0) ||
                (s[i] == 0xF0 && s[i + 1] < 0x90) || (s[i] == 0xF4 && s[i + 1] >= 0x90))
                return i; /* overlong, a surrogate, beyond Unicode */
        }
        i += n;
    }
    return i;
}

static void fail_char(struct lexer *lx)
{
    uint32_t n;
    uint32_t c = code_point(lx, lx->pos, &n);
    struct lang_span span = lexer_span(lx, lx->pos, lx->pos + n);

    if (c == '$' || c == '?' || c == '`')
        lexer_fail(lx, span, NULL, "`%c` is not valid in Python", (int)c);
    else if (c < 0x80)
        lexer_fail(lx, span, NULL, "an invisible character (U+%04X)", c);
    else
        lexer_fail(lx, span, "write names in plain letters and quotes as ' or \"",
                   "the character U+%04X is not valid here", c);
}

/* ---- names and operators ---- */

static void index_kinds(struct lexer *lx)
{
    for (int kind = LANG_TOK_LPAREN; kind < LANG_TOKEN_KIND_COUNT; kind++) {
        unsigned char c = (unsigned char)token_infos[kind].text[0];

        lx->next[kind] = lx->first[c];
        lx->first[c] = (uint8_t)kind;
    }
}

/* The name of `len` bytes, at least one, that starts with ASCII may be a keyword. */
static enum lang_token_kind keyword_kind(const struct lexer *lx, const char *text, size_t len)
{
    unsigned char c = (unsigned char)text[0];

    if (len < 2 || len > LONGEST_KEYWORD || c >= 128)
        return LANG_TOK_NAME;
    for (int kind = lx->first[c]; kind; kind = lx->next[kind]) {
        const char *word = token_infos[kind].text;

        if (word[1] == text[1] && strncmp(word, text, len) == 0 && word[len] == '\0')
            return (enum lang_token_kind)kind;
    }
    return LANG_TOK_NAME;
}

/* A string's prefix: r, b, u, f, rb, rf and their reverse, in any case. */
static bool is_prefix(const char *text, uint32_t len)
{
    if (len == 1)
        return strchr("rRbBuUfF", text[0]) != NULL;
    if (len != 2)
        return false;
    return (strchr("rR", text[0]) && strchr("bBfF", text[1])) ||
           (strchr("bBfF", text[0]) && strchr("rR", text[1]));
}

static void name_or_string(struct lexer *lx)
{
    uint32_t start = lx->pos;
    uint32_t n;
    enum lang_token_kind kind;
    struct lang_token *token;

    while (lx->pos < lx->len) {
        n = is_word((unsigned char)lx->text[lx->pos])
                ? 1
                : lexer_ident_len(lx, lx->pos, lx->pos == start);
        if (n == 0)
            break;
        lx->pos += n;
    }
    n = lx->pos - start;
    if ((lexer_peek(lx, 0) == '"' || lexer_peek(lx, 0) == '\'') && is_prefix(lx->text + start, n)) {
        lexer_string(lx, start);
        return;
    }
    kind = keyword_kind(lx, lx->text + start, n);
    token = lexer_emit(lx, kind, start, lx->pos);
    if (kind == LANG_TOK_NAME)
        token->name = lang_strs_get(lx->strs, lx->text + start, n);
}

void lexer_open(struct lexer *lx, enum lang_token_kind kind)
{
    const struct lang_token *token;

    if (lx->bracket_count == LANG_MAX_NESTING) {
        lexer_fail(lx, lexer_span(lx, lx->pos, lx->pos + 1), "assign parts of it to variables",
                   "brackets are nested too deeply");
        return;
    }
    token = lexer_emit(lx, kind, lx->pos, lx->pos + 1);
    lx->brackets[lx->bracket_count++] =
        (struct lexer_bracket){lx->text[lx->pos], lx->pos, token->span};
    lx->pos++;
}

void lexer_close(struct lexer *lx, enum lang_token_kind kind)
{
    char close = lx->text[lx->pos];
    char open = close == ')' ? '(' : close == ']' ? '[' : '{';
    const struct lexer_bracket *last =
        lx->bracket_count ? &lx->brackets[lx->bracket_count - 1] : NULL;

    if (!last) {
        lexer_fail(lx, lexer_span(lx, lx->pos, lx->pos + 1), NULL, "unmatched `%c`", close);
        return;
    }
    if (last->open != open) {
        lexer_fail(lx, lexer_span(lx, lx->pos, lx->pos + 1), NULL,
                   "`%c` does not match the `%c` opened in line %u", close, last->open,
                   last->span.line);
        return;
    }
    lx->bracket_count--;
    lexer_emit(lx, kind, lx->pos, lx->pos + 1);
    lx->pos++;
}

/* The longest operator at `pos` and its length, or LANG_TOK_ERROR. */
static enum lang_token_kind operator_at(const struct lexer *lx, uint32_t *len)
{
    unsigned char c = (unsigned char)lx->text[lx->pos];
    enum lang_token_kind best = LANG_TOK_ERROR;
    size_t best_len = 0;

    *len = 0;
    if (c >= 128)
        return best;
    for (int kind = lx->first[c]; kind; kind = lx->next[kind]) {
        const char *text = token_infos[kind].text;
        size_t n = 1; /* the first is the same */

        while (text[n] && n < lx->len - lx->pos && text[n] == lx->text[lx->pos + n])
            n++;
        if (n > best_len && !text[n]) {
            best = (enum lang_token_kind)kind;
            best_len = n;
        }
    }
    *len = (uint32_t)best_len;
    return best;
}

static void operator_token(struct lexer *lx)
{
    uint32_t len;
    enum lang_token_kind kind = operator_at(lx, &len);

    switch (lx->text[lx->pos]) {
    case '(':
    case '[':
    case '{':
        lexer_open(lx, kind);
        return;
    case ')':
    case ']':
    case '}':
        lexer_close(lx, kind);
        return;
    default: /* not one of our enums */
        break;
    }
    if (kind == LANG_TOK_ERROR || kind == LANG_TOK_EXCLAM) {
        if (kind == LANG_TOK_EXCLAM)
            lexer_fail(lx, lexer_span(lx, lx->pos, lx->pos + 1), "write `not`",
                       "`!` is not valid here");
        else
            fail_char(lx);
        return;
    }
    lexer_emit(lx, kind, lx->pos, lx->pos + len);
    lx->pos += len;
}

void lexer_token(struct lexer *lx)
{
    char c = lx->text[lx->pos];

    if (c >= '0' && c <= '9')
        lexer_number(lx);
    else if (c == '.' && lexer_peek(lx, 1) >= '0' && lexer_peek(lx, 1) <= '9')
        lexer_number(lx);
    else if (c == '"' || c == '\'')
        lexer_string(lx, lx->pos);
    else if (lexer_ident_len(lx, lx->pos, true))
        name_or_string(lx);
    else
        operator_token(lx);
}

/* ---- lines ---- */

/* At a backslash outside strings: it joins this line with the next one. */
static void join_line(struct lexer *lx)
{
    struct lang_span span = lexer_span(lx, lx->pos, lx->pos + 1);

    if (lexer_peek(lx, 1) != '\n')
        lexer_fail(lx, span, "a backslash joins two lines only as the last character of a line",
                   "a character follows the backslash");
    else if (lx->pos + 2 >= lx->len)
        lexer_fail(lx, span, NULL, "the file ends after a backslash");
    else
        lx->pos += 2;
}

static void skip_comment(struct lexer *lx)
{
    const char *end = memchr(lx->text + lx->pos, '\n', lx->len - lx->pos);

    lx->pos = end ? (uint32_t)(end - lx->text) : lx->len;
}

void lexer_skip_blanks(struct lexer *lx)
{
    while (lx->pos < lx->len && !lx->failed) {
        char c = lx->text[lx->pos];

        if (c == ' ' || c == '\t' || c == '\f' || (c == '\n' && lx->bracket_count))
            lx->pos++;
        else if (c == '#')
            skip_comment(lx);
        else if (c == '\\')
            join_line(lx);
        else
            return;
    }
}

static void fail_tabs(struct lexer *lx)
{
    lexer_fail(lx, lexer_span(lx, lx->pos, lx->pos), "indent with spaces only",
               "tabs and spaces are mixed, so the depth depends on the width of a tab");
}

/* Opens or closes blocks for a logical line whose first token is at `col`. */
static void indent_to(struct lexer *lx, uint32_t col, uint32_t alt)
{
    uint32_t top = lx->indent_count - 1;

    if (col == lx->indents[top].col) {
        if (alt != lx->indents[top].alt)
            fail_tabs(lx);
        return;
    }
    if (col > lx->indents[top].col) {
        if (alt <= lx->indents[top].alt) {
            fail_tabs(lx);
        } else if (lx->indent_count == LANG_MAX_BLOCKS) {
            lexer_fail(lx, lexer_span(lx, lx->pos, lx->pos), "move inner blocks into functions",
                       "blocks are nested too deeply");
        } else {
            lx->indents[lx->indent_count].col = col;
            lx->indents[lx->indent_count++].alt = alt;
            lexer_emit(lx, LANG_TOK_INDENT, lx->pos, lx->pos);
        }
        return;
    }
    while (col < lx->indents[lx->indent_count - 1].col) {
        lx->indent_count--;
        lexer_emit(lx, LANG_TOK_DEDENT, lx->pos, lx->pos);
    }
    if (col != lx->indents[lx->indent_count - 1].col)
        lexer_fail(lx, lexer_span(lx, lx->pos, lx->pos), NULL,
                   "the indentation matches no enclosing block");
    else if (alt != lx->indents[lx->indent_count - 1].alt)
        fail_tabs(lx);
}

/* From the start of a line to its first token, over blank lines. False at the end of the text. */
static bool line_start(struct lexer *lx)
{
    while (lx->pos < lx->len && !lx->failed) {
        uint32_t col = 0;
        uint32_t alt = 0;
        uint32_t joined_col =
            0; /* blanks of a blank line that a backslash joins with the next line count */
        uint32_t joined_alt = 0;

        for (; lx->pos < lx->len && !lx->failed; lx->pos++) {
            char c = lx->text[lx->pos];

            if (c == ' ') {
                col++;
                alt++;
            } else if (c == '\t') {
                col = (col / TAB_WIDTH + 1) * TAB_WIDTH;
                alt++;
            } else if (c == '\f') {
                col = alt = 0;
            } else if (c == '\\') {
                joined_col = joined_col ? joined_col : col;
                joined_alt = joined_alt ? joined_alt : alt;
                join_line(lx);
                lx->pos--;
            } else {
                break;
            }
        }
        if (lx->pos >= lx->len || lx->failed)
            return false;
        if (lx->text[lx->pos] == '#')
            skip_comment(lx);
        if (lx->pos < lx->len && lx->text[lx->pos] == '\n') {
            lx->pos++;
            continue;
        }
        if (lx->pos >= lx->len)
            return false;
        indent_to(lx, joined_col ? joined_col : col, joined_alt ? joined_alt : alt);
        return !lx->failed;
    }
    return false;
}

/* The tokens of one logical line and its NEWLINE. */
static void logical_line(struct lexer *lx)
{
    for (;;) {
        lexer_skip_blanks(lx);
        if (lx->failed)
            return;
        if (lx->pos >= lx->len) {
            lexer_emit(lx, LANG_TOK_NEWLINE, lx->len, lx->len);
            return;
        }
        if (lx->text[lx->pos] == '\n') {
            lexer_emit(lx, LANG_TOK_NEWLINE, lx->pos, lx->pos);
            lx->pos++;
            return;
        }
        lexer_token(lx);
    }
}

static void whole_text(struct lexer *lx)
{
    uint32_t bad = check_utf8(lx);

    if (bad < lx->len) {
        lx->is_ascii = false;
        lexer_fail(lx, lexer_span(lx, bad, bad + 1), "save the file as UTF-8",
                   lx->text[bad] ? "a byte that is not UTF-8 (0x%02X)" : "a NUL byte (0x%02X)",
                   (unsigned)(unsigned char)lx->text[bad]);
        return;
    }
    while (line_start(lx))
        logical_line(lx);
    if (!lx->failed && lx->bracket_count) {
        const struct lexer_bracket *last = &lx->brackets[lx->bracket_count - 1];

        lx->out->is_unclosed = true;
        lx->out->unclosed_start = last->start;
        lexer_fail(lx, last->span, NULL, "`%c` is never closed", last->open);
    }
    if (lx->failed)
        return;
    for (; lx->indent_count > 1; lx->indent_count--)
        lexer_emit(lx, LANG_TOK_DEDENT, lx->len, lx->len);
    lexer_emit(lx, LANG_TOK_END, lx->len, lx->len);
}

void lang_tokens_init(struct lang_tokens *tokens, const struct lang_source *source,
                      struct lang_strs *strs)
{
    struct lexer lx;

    VS_ASSERT(tokens && source && strs);
    memset(tokens, 0, sizeof(*tokens));
    memset(&lx, 0, sizeof(lx));
    lx.source = source;
    lx.strs = strs;
    lx.out = tokens;
    lx.text = source->text;
    lx.len = (uint32_t)source->len;
    lx.line = 1;
    lx.col = 1;
    lx.indent_count = 1;
    /* a token has about five characters */
    tokens->items = vs_reserve(NULL, source->len / 5 + 16, &tokens->cap, sizeof(*tokens->items));
    index_kinds(&lx);
    whole_text(&lx);
}

void lang_tokens_release(struct lang_tokens *tokens)
{
    vs_free(tokens->items);
    memset(tokens, 0, sizeof(*tokens));
}
