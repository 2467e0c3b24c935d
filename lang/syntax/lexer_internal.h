/*
 * lang/syntax/lexer_internal.h - declarations shared by the files of the lexer.
 *
 * For:            lexer.c (lines, brackets, names, operators), lexer_text.c (numbers, strings, f-strings).
 * Must not know:  the grammar.
 * Invariant:      `pos` only grows; once `failed` is set nothing more is emitted.
 */
#ifndef LANG_LEXER_INTERNAL_H
#define LANG_LEXER_INTERNAL_H

#include "lang/syntax/lexer.h"

struct lexer_bracket {
    char open;
    uint32_t start;
    struct lang_span span;
};

/*
 * indents  columns of the open blocks with tabs advancing to multiples of 8 (col), and with a tab as one column (alt);
 *          both must agree on which block is deeper, so that the meaning does not depend on the width of a tab
 * first, next  chains of token kinds with a fixed spelling by first character: first[c] is one of them, next[kind] the
 *          next; 0 ends a chain
 * line     the line of the last requested position
 * col_offset, col  byte offset and column of a position on that line
 */
struct lexer {
    const struct lang_source *source;
    struct lang_strs *strs;
    struct lang_tokens *out;
    const char *text;
    uint32_t len;
    uint32_t pos;
    bool is_ascii;
    bool failed;
    uint8_t first[128];
    uint8_t next[LANG_TOKEN_KIND_COUNT];
    uint32_t line;
    uint32_t col_offset;
    uint32_t col;
    struct {
        uint32_t col;
        uint32_t alt;
    } indents[LANG_MAX_BLOCKS + 1];
    uint32_t indent_count;
    struct lexer_bracket brackets[LANG_MAX_NESTING];
    uint32_t bracket_count;
};

/* The span of the bytes from start to end. O(1) for increasing offsets. */
struct lang_span lexer_span(struct lexer *lx, uint32_t start, uint32_t end);

struct lang_token *lexer_emit(struct lexer *lx, enum lang_token_kind kind, uint32_t start,
                              uint32_t end);

/* Records the error and ends the list with an ERROR token. Only the first call has an effect. */
void lexer_fail(struct lexer *lx, struct lang_span span, const char *hint, const char *fmt, ...)
    VS_PRINTF(4, 5);

/* Skip blanks, comments, joined lines and, inside brackets, line ends. */
void lexer_skip_blanks(struct lexer *lx);

/* The token at `pos`, which is not blank and not the end. */
void lexer_token(struct lexer *lx);

void lexer_open(struct lexer *lx, enum lang_token_kind kind);
void lexer_close(struct lexer *lx, enum lang_token_kind kind);

/* Byte at pos + n, NUL beyond the end. */
static inline char lexer_peek(const struct lexer *lx, uint32_t n)
{
    return n < lx->len - lx->pos ? lx->text[lx->pos + n] : '\0';
}

/* Bytes of the identifier character at `at` (0: there is none). */
uint32_t lexer_ident_len(const struct lexer *lx, uint32_t at, bool is_first);

/* In lexer_text.c. */
void lexer_number(struct lexer *lx);
/* A string that starts at `start` with its prefix; `pos` is at the quote. */
void lexer_string(struct lexer *lx, uint32_t start);

#endif
