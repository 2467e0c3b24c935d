/*
 * lang/syntax/lexer.h - from text to tokens.
 *
 * For:            the parser.
 * Must not know:  the grammar beyond brackets, indentation and f-strings.
 * Invariant:      the tokens are in the order of the text; a failure is the last token, so that an earlier mistake in
 *                 the grammar is reported first.
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
 * error    what the final ERROR token stands for; unused where the list ends with END
 * is_unclosed, unclosed_start  the error is a bracket that is never closed, and where it stands: the better explanation
 *                              for a
 *          grammar error after it
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
 * put into `strs`. O(len).
 */
void lang_tokens_init(struct lang_tokens *tokens, const struct lang_source *source,
                      struct lang_strs *strs);
void lang_tokens_release(struct lang_tokens *tokens);

/* `c` (a code point from 0x80) may stand in an identifier; `is_first`: at its start. */
bool lang_is_ident_char(uint32_t c, bool is_first);

#endif
