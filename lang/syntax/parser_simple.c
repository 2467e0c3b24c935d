/*
 * lang/syntax/parser_simple.c - statements of one line: assignments, imports, return, del, ...
 *
 * Must not know:  slots.
 * Invariant:      each reads up to `;` or the end of the line, which parser_stmt.c checks.
 */
#include <string.h>

#include "lang/syntax/parser_internal.h"

struct lang_stmt *parser_stmt_new(struct lang_parser *p, enum lang_stmt_kind kind,
                                  struct lang_span start)
{
    struct lang_stmt *stmt = vs_arena_calloc(p->arena, 1, sizeof(*stmt));

    stmt->kind = kind;
    stmt->span = parser_span_from(p, start);
    return stmt;
}

static bool is_at_end(const struct lang_parser *p)
{
    return parser_is(p, LANG_TOK_NEWLINE) || parser_is(p, LANG_TOK_SEMICOLON) ||
           parser_is(p, LANG_TOK_END);
}

/* ---- expressions and assignments ---- */

static struct lang_stmt *assign(struct lang_parser *p, struct lang_expr *first,
                                struct lang_span start)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_ASSIGN, start);
    size_t mark = p->scratch_len;
    struct lang_expr *value = first;

    while (parser_accept(p, LANG_TOK_ASSIGN)) {
        parser_check_target(p, value, PARSER_TARGET_ASSIGN);
        parser_push(p, &value, sizeof(value));
        value = parser_star_exprs(p);
    }
    if (value->kind == LANG_EXPR_STARRED)
        parser_fail(p, value->span, "put it into a list or tuple: [*x]",
                    "a starred expression cannot stand alone");
    stmt->u.assign.targets = parser_take_exprs(p, mark);
    stmt->u.assign.value = value;
    return stmt;
}

static struct lang_stmt *annotate(struct lang_parser *p, struct lang_expr *target, bool is_simple,
                                  struct lang_span start)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_ANNOTATE, start);

    parser_check_target(p, target, PARSER_TARGET_ANNOTATE);
    parser_advance(p);
    stmt->u.annotate.target = target;
    stmt->u.annotate.is_simple = is_simple;
    stmt->u.annotate.annotation = parser_annotation(p);
    if (parser_accept(p, LANG_TOK_ASSIGN))
        stmt->u.annotate.value = parser_exprs(p);
    return stmt;
}

static struct lang_stmt *augment(struct lang_parser *p, struct lang_expr *target,
                                 struct lang_span start)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_AUGMENT, start);

    parser_check_target(p, target, PARSER_TARGET_AUGMENT);
    stmt->u.augment.target = target;
    stmt->u.augment.op = (enum lang_op)lang_token_info((enum lang_token_kind)p->tok->kind)->op;
    stmt->u.augment.at = p->tok->span;
    parser_advance(p);
    stmt->u.augment.value = parser_exprs(p);
    return stmt;
}

/* `tok` is the name `word` and starts a statement of newer Pythons rather than an expression. */
static bool is_soft_keyword(const struct lang_parser *p, const char *word)
{
    if (!parser_is(p, LANG_TOK_NAME) || strcmp(p->tok->name->text, word) != 0)
        return false;
    switch (parser_next_kind(p)) {
    case LANG_TOK_NAME:
    case LANG_TOK_NUMBER:
    case LANG_TOK_STRING:
    case LANG_TOK_FSTRING_START:
    case LANG_TOK_LBRACE:
    case LANG_TOK_TILDE:
    case LANG_TOK_FALSE:
    case LANG_TOK_NONE:
    case LANG_TOK_TRUE:
    case LANG_TOK_LAMBDA:
        return true;
    default: /* operators and the rest: an ordinary name */
        return false;
    }
}

static struct lang_stmt *expression(struct lang_parser *p)
{
    const struct lang_token *first = p->tok;
    bool is_match = first->kind == LANG_TOK_NAME && strcmp(first->name->text, "match") == 0;
    struct lang_expr *expr;
    struct lang_stmt *stmt;

    if (is_soft_keyword(p, "match"))
        parser_refuse(p, PARSER_REFUSE_MATCH, first->span);
    if (is_soft_keyword(p, "type"))
        parser_refuse(p, PARSER_REFUSE_TYPE_ALIAS, first->span);
    expr = parser_star_exprs(p);
    if (parser_is(p, LANG_TOK_ASSIGN))
        return assign(p, expr, first->span);
    if (parser_is(p, LANG_TOK_COLON)) {
        if (is_match && parser_next_kind(p) == LANG_TOK_NEWLINE)
            parser_refuse(p, PARSER_REFUSE_MATCH, first->span);
        return annotate(p, expr, expr->kind == LANG_EXPR_NAME && first->kind == LANG_TOK_NAME,
                        first->span);
    }
    if (p->tok->kind >= LANG_TOK_PIPE_ASSIGN && p->tok->kind <= LANG_TOK_DOUBLESTAR_ASSIGN)
        return augment(p, expr, first->span);
    if (expr->kind == LANG_EXPR_STARRED)
        parser_fail(p, expr->span, NULL, "a starred expression cannot stand alone");
    if (parser_is(p, LANG_TOK_WALRUS))
        parser_fail(p, p->tok->span, "write `=`", "`:=` cannot stand alone");
    stmt = parser_stmt_new(p, LANG_STMT_EXPR, first->span);
    stmt->u.expr = expr;
    return stmt;
}

/* ---- imports ---- */

/* Bytes start to end of the text without the blanks and joined lines that may stand around dots. */
static const struct lang_str *without_blanks(struct lang_parser *p, uint32_t start, uint32_t end)
{
    char *name = vs_arena_alloc(p->arena, end - start);
    size_t len = 0;

    for (uint32_t i = start; i < end; i++)
        if (!strchr(" \t\f\\\n", p->source->text[i]))
            name[len++] = p->source->text[i];
    return lang_strs_get(p->strs, name, len);
}

/* a.b.c, with its first name in *top. */
static const struct lang_str *dotted_name(struct lang_parser *p, const struct lang_str **top)
{
    uint32_t start = p->tok->start;

    *top = parser_name(p, "the name of a module");
    while (parser_accept(p, LANG_TOK_DOT))
        (void)parser_name(p, "the name of a module");
    if (p->failed)
        return *top;
    return without_blanks(p, start, p->last->end);
}

static void as_name(struct lang_parser *p, struct lang_import_name *out,
                    const struct lang_str *plain)
{
    struct lang_span at = out->span;

    out->bind.name = plain;
    if (parser_accept(p, LANG_TOK_AS)) {
        at = p->tok->span;
        out->is_as = true;
        out->bind.name = parser_name(p, "a name after `as`");
    }
    parser_check_bound(p, out->bind.name, at);
    out->bind.name = parser_private(p, out->bind.name);
    out->span = parser_span_from(p, out->span);
}

static void take_names(struct lang_parser *p, struct lang_stmt *stmt, size_t mark)
{
    stmt->u.import.names =
        parser_take(p, mark, sizeof(struct lang_import_name), &stmt->u.import.count);
}

static struct lang_stmt *import(struct lang_parser *p)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_IMPORT, p->tok->span);
    size_t mark = p->scratch_len;

    parser_advance(p);
    do {
        struct lang_import_name name = {0};
        const struct lang_str *top;

        name.span = p->tok->span;
        name.path = dotted_name(p, &top);
        as_name(p, &name, top);
        parser_push(p, &name, sizeof(name));
    } while (parser_accept(p, LANG_TOK_COMMA));
    take_names(p, stmt, mark);
    return stmt;
}

/* `from __future__ import …` comes before everything but the docstring. */
static void check_future(struct lang_parser *p, struct lang_stmt *stmt, bool is_first)
{
    if (strcmp(stmt->u.import.module->text, "__future__") != 0)
        return;
    if (!is_first)
        parser_fail(p, stmt->span, NULL, "imports from __future__ come first in a file");
    p->is_future_ok = true;
}

static struct lang_stmt *import_from(struct lang_parser *p)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_IMPORT_FROM, p->tok->span);
    size_t mark = p->scratch_len;
    const struct lang_str *top;
    bool is_first = p->is_future_ok;
    bool has_bracket;

    parser_advance(p);
    if (parser_is(p, LANG_TOK_DOT) || parser_is(p, LANG_TOK_ELLIPSIS))
        parser_refuse(p, PARSER_REFUSE_RELATIVE_IMPORT, p->tok->span);
    stmt->u.import.module = dotted_name(p, &top);
    parser_expect(p, LANG_TOK_IMPORT);
    if (parser_is(p, LANG_TOK_STAR))
        parser_refuse(p, PARSER_REFUSE_STAR_IMPORT, p->tok->span);
    has_bracket = parser_accept(p, LANG_TOK_LPAREN);
    do {
        struct lang_import_name name = {0};

        if (has_bracket && parser_is(p, LANG_TOK_RPAREN) && p->scratch_len > mark)
            break;
        name.span = p->tok->span;
        name.path = parser_name(p, "a name to import");
        as_name(p, &name, name.path);
        parser_push(p, &name, sizeof(name));
    } while (parser_accept(p, LANG_TOK_COMMA));
    if (has_bracket)
        parser_expect(p, LANG_TOK_RPAREN);
    stmt->span = parser_span_from(p, stmt->span);
    take_names(p, stmt, mark);
    check_future(p, stmt, is_first);
    return stmt;
}

/* ---- the rest ---- */

static struct lang_stmt *keyword_only(struct lang_parser *p, enum lang_stmt_kind kind)
{
    struct lang_span start = p->tok->span;

    if ((kind == LANG_STMT_BREAK || kind == LANG_STMT_CONTINUE) && !p->loops)
        parser_fail(p, start, NULL, "`%s` outside a loop",
                    kind == LANG_STMT_BREAK ? "break" : "continue");
    parser_advance(p);
    return parser_stmt_new(p, kind, start);
}

static struct lang_stmt *return_stmt(struct lang_parser *p)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_RETURN, p->tok->span);

    if (!p->in_def)
        parser_fail(p, p->tok->span, NULL, "`return` outside a function");
    parser_advance(p);
    if (!is_at_end(p))
        stmt->u.expr = parser_exprs(p);
    return stmt;
}

static struct lang_stmt *del(struct lang_parser *p)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_DEL, p->tok->span);
    size_t mark = p->scratch_len;

    parser_advance(p);
    do {
        struct lang_expr *target;

        if (is_at_end(p) && p->scratch_len > mark)
            break;
        target = parser_expr(p);
        if (!p->failed)
            parser_check_target(p, target, PARSER_TARGET_DEL);
        parser_push(p, &target, sizeof(target));
    } while (parser_accept(p, LANG_TOK_COMMA));
    stmt->u.targets = parser_take_exprs(p, mark);
    return stmt;
}

static struct lang_stmt *assertion(struct lang_parser *p)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_ASSERT, p->tok->span);

    parser_advance(p);
    stmt->u.assertion.test = parser_expr(p);
    if (parser_accept(p, LANG_TOK_COMMA))
        stmt->u.assertion.message = parser_expr(p);
    return stmt;
}

static struct lang_stmt *raise(struct lang_parser *p)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_RAISE, p->tok->span);

    parser_advance(p);
    if (is_at_end(p))
        return stmt;
    stmt->u.raise.value = parser_expr(p);
    if (parser_accept(p, LANG_TOK_FROM))
        stmt->u.raise.cause = parser_expr(p);
    return stmt;
}

static struct lang_stmt *scope_names(struct lang_parser *p, enum lang_stmt_kind kind)
{
    struct lang_stmt *stmt = parser_stmt_new(p, kind, p->tok->span);
    size_t mark = p->scratch_len;

    parser_advance(p);
    do {
        const struct lang_str *name = parser_private(p, parser_name(p, "a name"));

        parser_push(p, &name, sizeof(name));
    } while (parser_accept(p, LANG_TOK_COMMA));
    stmt->u.names.names =
        parser_take(p, mark, sizeof(const struct lang_str *), &stmt->u.names.count);
    return stmt;
}

static struct lang_stmt *by_keyword(struct lang_parser *p)
{
    switch ((enum lang_token_kind)p->tok->kind) {
    case LANG_TOK_RETURN:
        return return_stmt(p);
    case LANG_TOK_IMPORT:
        return import(p);
    case LANG_TOK_FROM:
        return import_from(p);
    case LANG_TOK_DEL:
        return del(p);
    case LANG_TOK_PASS:
        return keyword_only(p, LANG_STMT_PASS);
    case LANG_TOK_BREAK:
        return keyword_only(p, LANG_STMT_BREAK);
    case LANG_TOK_CONTINUE:
        return keyword_only(p, LANG_STMT_CONTINUE);
    case LANG_TOK_ASSERT:
        return assertion(p);
    case LANG_TOK_RAISE:
        return raise(p);
    case LANG_TOK_GLOBAL:
        return scope_names(p, LANG_STMT_GLOBAL);
    case LANG_TOK_NONLOCAL:
        return scope_names(p, LANG_STMT_NONLOCAL);
    default: /* every other token starts an expression, or nothing */
        return expression(p);
    }
}

struct lang_stmt *parser_simple_stmt(struct lang_parser *p)
{
    bool was_future_ok = p->is_future_ok;
    struct lang_stmt *stmt;

    stmt = by_keyword(p);
    if (stmt->kind != LANG_STMT_IMPORT_FROM ||
        strcmp(stmt->u.import.module->text, "__future__") != 0)
        p->is_future_ok =
            was_future_ok && stmt->kind == LANG_STMT_EXPR && stmt->u.expr->kind == LANG_EXPR_STR;
    stmt->span = parser_span_from(p, stmt->span);
    parser_refuse_generator(p);
    return stmt;
}
