/*
 * lang/syntax/token.h - the tokens of a net file.
 *
 * For:            the lexer, which creates them, and the parser.
 * Must not know:  the syntax tree.
 * Invariant:      a list of tokens ends with exactly one END or one ERROR, and has neither before that.
 */
#ifndef LANG_TOKEN_H
#define LANG_TOKEN_H

#include <stdint.h>

#include "lang/syntax/ast.h"

enum lang_token_kind {
/* clang-format off */
#define LANG_TOKEN(id, text, strength, op) id,
#include "lang/syntax/token.def"
#undef LANG_TOKEN
    /* clang-format on */
    LANG_TOKEN_KIND_COUNT
};

/* The properties of a kind. text: its spelling or name in messages. */
struct lang_token_info {
    const char *text;
    uint8_t
        strength; /* of a binary operator, 1 (`|`) to 6 (`*`); 0: none, or `**`, which binds from the right */
    uint8_t op; /* enum lang_op, where the kind is an operator; else 0 */
};

const struct lang_token_info *lang_token_info(enum lang_token_kind kind);

/*
 * start, end  byte offsets into the text. The range of a string includes prefix and quotes. NEWLINE, INDENT, DEDENT
 *             and END are empty or the line ending.
 * name        NAME: its text; else NULL. Private names are unchanged.
 * is_raw      FSTRING_TEXT: backslashes mean themselves
 * is_spec     FSTRING_TEXT: part of a format spec, where a doubled brace is not an escaped brace
 */
struct lang_token {
    uint8_t kind; /* enum lang_token_kind */
    bool is_raw;
    bool is_spec;
    uint32_t start;
    uint32_t end;
    struct lang_span span;
    const struct lang_str *name;
};

#endif
