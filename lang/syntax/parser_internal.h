/*
 * lang/syntax/parser_internal.h - declarations shared by the files of the parser.
 *
 * For:            parser*.c.
 * Must not know:  scopes and slots, which resolve.c assigns.
 * Invariant:      after an error `tok` stays at the end of the file, every function still returns a node, and every
 *                 loop ends, so that callers need not check each step. lang_parse() checks `failed` once.
 */
#ifndef LANG_PARSER_INTERNAL_H
#define LANG_PARSER_INTERNAL_H

#include "lang/syntax/lexer.h"
#include "lang/syntax/parser.h"

/*
 * tok          the next token; `last` is the token read last
 * nesting      current nesting of expressions
 * class_name   of the innermost class without its leading underscores, for private names; NULL where there is none, or
 *              only underscores
 * in_def       directly inside a function, where `return` is allowed
 * loops        number of enclosing loops in the same function
 * in_annotation  inside an annotation, where a walrus is refused
 * is_future_ok only docstring and future imports so far
 * generator    a generator expression that is not yet known to be an argument of a call; NULL: none
 * scratch      a stack of bytes for incomplete lists, which are copied to the arena when complete
 * text         bytes of the literal that is being read
 */
struct lang_parser {
    const struct lang_source *source;
    struct vs_arena *arena;
    struct lang_strs *strs;
    const struct lang_tokens *tokens;
    const struct lang_token *tok;
    const struct lang_token *last;
    struct vs_error *err;
    bool failed;
    uint32_t nesting;
    const char *class_name;
    bool in_def;
    uint32_t loops;
    bool in_annotation;
    bool is_future_ok;
    const struct lang_expr *generator;
    char *scratch;
    size_t scratch_len;
    size_t scratch_cap;
    char *text;
    size_t text_len;
    size_t text_cap;
};

/* Constructs outside the net language; the table of messages is in parser_refuse.c. */
enum parser_refusal {
    PARSER_REFUSE_TRY,
    PARSER_REFUSE_EXCEPT,
    PARSER_REFUSE_FINALLY,
    PARSER_REFUSE_YIELD,
    PARSER_REFUSE_ASYNC,
    PARSER_REFUSE_AWAIT,
    PARSER_REFUSE_MATCH,
    PARSER_REFUSE_TYPE_ALIAS,
    PARSER_REFUSE_TYPE_PARAMS,
    PARSER_REFUSE_BASES,
    PARSER_REFUSE_METACLASS,
    PARSER_REFUSE_CLASS_KEYWORD,
    PARSER_REFUSE_STAR_IMPORT,
    PARSER_REFUSE_RELATIVE_IMPORT,
    PARSER_REFUSE_BYTES,
    PARSER_REFUSE_NAMED_CHAR,
    PARSER_REFUSE_BIG_INT,
    PARSER_REFUSE_SET_COMP,
    PARSER_REFUSE_GENERATOR,
    PARSER_REFUSE_STAR_ANNOTATION,
    PARSER_REFUSE_WALRUS_ANNOTATION,
    PARSER_REFUSE_SURROGATE,
    PARSER_REFUSAL_COUNT
};

/* ---- parser.c ---- */

/* Records an error; only the first one is kept. */
void parser_fail(struct lang_parser *p, struct lang_span span, const char *hint, const char *fmt,
                 ...) VS_PRINTF(4, 5);

/* Reports that `tok` is not `wanted` ("an expression", "`:`"), or a more specific error where there is one. */
void parser_unexpected(struct lang_parser *p, const char *wanted);

void parser_advance(struct lang_parser *p);
bool parser_accept(struct lang_parser *p, enum lang_token_kind kind);
/* Reads a token of kind `kind` or fails. */
void parser_expect(struct lang_parser *p, enum lang_token_kind kind);

static inline bool parser_is(const struct lang_parser *p, enum lang_token_kind kind)
{
    return p->tok->kind == kind;
}

/* The kind after `tok`; END at the end. */
enum lang_token_kind parser_next_kind(const struct lang_parser *p);

/* Increments the nesting; false with an error where it is too deep. Call leave only after true. */
bool parser_enter(struct lang_parser *p);
void parser_leave(struct lang_parser *p);

/* The span from the beginning of `start` to the end of the token read last. */
struct lang_span parser_span_from(const struct lang_parser *p, struct lang_span start);

struct lang_expr *parser_expr_new(struct lang_parser *p, enum lang_expr_kind kind,
                                  struct lang_span start);
/* Updates the height of `expr` for its new child (may be NULL); fails where the tree is too high. */
void parser_adopt(struct lang_parser *p, struct lang_expr *expr, const struct lang_expr *child);

/*
 * To build a list: save scratch_len as `mark`, push items of one size, then take all items from `mark` on, which copies
 * them to the arena. *count: their number.
 */
void parser_push(struct lang_parser *p, const void *item, size_t size);
void *parser_take(struct lang_parser *p, size_t mark, size_t size, uint32_t *count);
struct lang_exprs parser_take_exprs(struct lang_parser *p, size_t mark);

/* The name as it is stored: private names (`__x`) get the prefix `_Class`. */
const struct lang_str *parser_private(struct lang_parser *p, const struct lang_str *name);

/* Reads a NAME, described by `what` ("a name") in messages. Returns the empty string on failure. */
const struct lang_str *parser_name(struct lang_parser *p, const char *what);

struct lang_code *parser_code_new(struct lang_parser *p, enum lang_code_kind kind,
                                  const struct lang_str *name, struct lang_span start);

/* ---- parser_refuse.c ---- */
void parser_refuse(struct lang_parser *p, enum parser_refusal what, struct lang_span span);
/* Refuse if the token is a keyword that only occurs outside the language. */
bool parser_refuse_keyword(struct lang_parser *p, const struct lang_token *token);

/* ---- parser_expr.c ---- */
struct lang_expr *
parser_expr(struct lang_parser *p); /* lambda, conditional; no walrus, no commas */
struct lang_expr *parser_named_expr(struct lang_parser *p); /* the same or `name := expr` */
struct lang_expr *parser_or(struct lang_parser *p);         /* below the conditional */
struct lang_expr *parser_binary(struct lang_parser *p);     /* operators only: no comparison */
bool parser_is_at_walrus(const struct lang_parser *p);      /* `name :=` */
struct lang_expr *parser_annotation(struct lang_parser *p);
/* `*x` or an expression; is_named: a walrus may stand there. */
struct lang_expr *parser_star_expr(struct lang_parser *p, bool is_named);
/* One, or with commas a TUPLE, without brackets. A lone `*x` fails. */
struct lang_expr *parser_exprs(struct lang_parser *p);
/* The same; a lone `*x` is returned as STARRED for the caller to judge. */
struct lang_expr *parser_star_exprs(struct lang_parser *p);
bool parser_starts_expr(const struct lang_parser *p);

/* ---- parser_call.c ---- */
/* The arguments of a call; `tok` is behind the `(`. Reads the `)`. */
void parser_args(struct lang_parser *p, struct lang_expr *call);
/* The parameters up to `)` or (of a lambda) `:`, neither of which is read. */
void parser_params(struct lang_parser *p, struct lang_code *code, bool is_lambda);

/* ---- parser_atom.c ---- */
struct lang_expr *parser_atom(struct lang_parser *p);
/* `for … in … if …` after what stands before; `tok` is the first `for`. */
struct lang_expr *parser_comp(struct lang_parser *p, enum lang_comp_kind kind,
                              struct lang_expr *elt, struct lang_expr *value,
                              struct lang_span start);

/* `arg` stands where a generator expression may stand. */
void parser_accept_generator(struct lang_parser *p, const struct lang_expr *arg);
/* One that has not been accepted is refused. */
void parser_refuse_generator(struct lang_parser *p);

/* ---- parser_literal.c ---- */
struct lang_expr *parser_number(struct lang_parser *p);
struct lang_expr *parser_strings(struct lang_parser *p); /* adjacent strings and f-strings */

/* ---- parser_target.c ---- */
enum parser_target_use {
    PARSER_TARGET_ASSIGN,
    PARSER_TARGET_AUGMENT,
    PARSER_TARGET_ANNOTATE,
    PARSER_TARGET_DEL,
};

void parser_check_target(struct lang_parser *p, const struct lang_expr *expr,
                         enum parser_target_use use);
/* The targets of a `for` up to `in`. */
struct lang_expr *parser_for_target(struct lang_parser *p);
/* A name that is bound may not be `__debug__`. */
void parser_check_bound(struct lang_parser *p, const struct lang_str *name, struct lang_span span);

/* ---- parser_stmt.c, parser_simple.c ---- */
/* Statements up to the end of the file. */
struct lang_block parser_file(struct lang_parser *p, struct lang_code *code);
/* `:` and a block; `what` for messages ("`if`"), `line` where it began. */
struct lang_block parser_block(struct lang_parser *p, const char *what, uint32_t line);
/* One statement without a block, up to `;` or the end of the line. */
struct lang_stmt *parser_simple_stmt(struct lang_parser *p);
struct lang_stmt *parser_stmt_new(struct lang_parser *p, enum lang_stmt_kind kind,
                                  struct lang_span start);
/* `def` and `class` in parser_def.c */
struct lang_stmt *parser_def(struct lang_parser *p, struct lang_exprs decorators);
struct lang_stmt *parser_class(struct lang_parser *p, struct lang_exprs decorators);
/* Take a leading docstring off a body. */
void parser_take_doc(struct lang_code *code);

#endif
