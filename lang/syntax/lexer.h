/*
 * lang/syntax/lexer.h - splits text into tokens.
 *
 * For:            the parser.
 * Must not know:  the grammar beyond brackets, indentation and f-strings.
 * Invariant:      tokens are in the order of the text. A lexical error is the last token, so that a syntax error before
 *                 it is reported first.
 */
#ifndef LANG_LEXER_H
#define LANG_LEXER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "lang/syntax/diag.h"
#include "lang/syntax/strs.h"
#include "lang/syntax/token.h"

/*
 * items    `count` tokens, on the heap
 * error    the error of the final ERROR token; unused where the list ends with END
 * is_unclosed, unclosed_start  the error is a bracket that is never closed, and its byte offset; a syntax error after
 *                              it is then reported as this one
 */
struct lang_tokens {
    struct lang_token *items;
    size_t count;
    size_t cap;
    bool is_unclosed;
    uint32_t unclosed_start;
    struct vs_error error;
};

/*
 * Split the whole text as Python does: INDENT and DEDENT around blocks, NEWLINE after each logical line, none inside
 * brackets. An f-string is FSTRING_START, then FSTRING_TEXT pieces and fields, then FSTRING_END. A field is `{`, the
 * tokens of its expression, possibly `!` and a NAME, possibly `:` and FSTRING_TEXT pieces and fields, `}`. Names are
 * added to `strs`. O(len).
 */
void lang_tokens_init(struct lang_tokens *tokens, const struct lang_source *source,
                      struct lang_strs *strs);
void lang_tokens_release(struct lang_tokens *tokens);

/* Whether `c` (a code point from 0x80) may be part of an identifier; `is_first`: as its first character. */
bool lang_is_ident_char(uint32_t c, bool is_first);

#endif
