/*
 * lang/syntax/parser_def.c - functions and classes.
 *
 * Must not know:  slots.
 * Invariant:      the parser's state about enclosing class, loops and function is restored after the body.
 */
#include <string.h>

#include "lang/syntax/parser_internal.h"

/* The parser's state that a body changes. */
struct around {
    const char *class_name;
    uint32_t loops;
    bool in_def;
};

static struct around enter_body(struct lang_parser *p, bool is_def)
{
    struct around around = {p->class_name, p->loops, p->in_def};

    p->loops = 0;
    p->in_def = is_def;
    return around;
}

static void leave_body(struct lang_parser *p, struct around around)
{
    p->class_name = around.class_name;
    p->loops = around.loops;
    p->in_def = around.in_def;
}

void parser_take_doc(struct lang_code *code)
{
    const struct lang_stmt *first = code->body.count ? code->body.stmts[0] : NULL;

    if (!first || first->kind != LANG_STMT_EXPR || first->u.expr->kind != LANG_EXPR_STR)
        return;
    code->doc = first->u.expr->u.str;
    code->body.stmts++;
    if (--code->body.count == 0)
        code->body.stmts = NULL;
}

static void bind(struct lang_parser *p, struct lang_ref *out, const struct lang_str *name,
                 struct lang_span at)
{
    parser_check_bound(p, name, at);
    out->name = parser_private(p, name);
}

struct lang_stmt *parser_def(struct lang_parser *p, struct lang_exprs decorators)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_DEF, p->tok->span);
    uint32_t line = p->tok->span.line;
    const struct lang_str *name;
    struct lang_code *code;
    struct around around;

    parser_advance(p);
    stmt->u.def.at = p->tok->span;
    name = parser_name(p, "the name of the function");
    bind(p, &stmt->u.def.bind, name, stmt->u.def.at);
    code = parser_code_new(p, LANG_CODE_DEF, name, stmt->span);
    if (parser_is(p, LANG_TOK_LBRACKET))
        parser_refuse(p, PARSER_REFUSE_TYPE_PARAMS, p->tok->span);
    parser_expect(p, LANG_TOK_LPAREN);
    parser_params(p, code, false);
    parser_expect(p, LANG_TOK_RPAREN);
    if (parser_accept(p, LANG_TOK_ARROW))
        code->returns = parser_annotation(p);
    around = enter_body(p, true);
    code->body = parser_block(p, "`def`", line);
    leave_body(p, around);
    parser_take_doc(code);
    code->span = parser_span_from(p, code->span);
    stmt->u.def.decorators = decorators;
    stmt->u.def.code = code;
    return stmt;
}

/* The base in brackets, if any. */
static struct lang_expr *base_of(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    struct lang_expr *base = NULL;

    while (!parser_is(p, LANG_TOK_RPAREN) && !p->failed) {
        struct lang_expr *arg;

        start = p->tok->span;
        if (parser_is(p, LANG_TOK_DOUBLESTAR) ||
            (parser_is(p, LANG_TOK_NAME) && parser_next_kind(p) == LANG_TOK_ASSIGN)) {
            bool is_meta = p->tok->name && strcmp(p->tok->name->text, "metaclass") == 0;

            parser_refuse(p, is_meta ? PARSER_REFUSE_METACLASS : PARSER_REFUSE_CLASS_KEYWORD,
                          start);
            break;
        }
        if (parser_is(p, LANG_TOK_STAR)) {
            parser_refuse(p, PARSER_REFUSE_BASES, start);
            break;
        }
        arg = parser_named_expr(p);
        if (base)
            parser_refuse(p, PARSER_REFUSE_BASES, arg->span);
        base = arg;
        if (!parser_is(p, LANG_TOK_RPAREN))
            parser_expect(p, LANG_TOK_COMMA);
    }
    return base;
}

struct lang_stmt *parser_class(struct lang_parser *p, struct lang_exprs decorators)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_CLASS, p->tok->span);
    uint32_t line = p->tok->span.line;
    const struct lang_str *name;
    struct lang_code *code;
    struct around around;

    parser_advance(p);
    stmt->u.class_def.at = p->tok->span;
    name = parser_name(p, "the name of the class");
    bind(p, &stmt->u.class_def.bind, name, stmt->u.class_def.at);
    code = parser_code_new(p, LANG_CODE_CLASS, name, stmt->span);
    if (parser_is(p, LANG_TOK_LBRACKET))
        parser_refuse(p, PARSER_REFUSE_TYPE_PARAMS, p->tok->span);
    if (parser_accept(p, LANG_TOK_LPAREN)) {
        stmt->u.class_def.base = base_of(p);
        parser_expect(p, LANG_TOK_RPAREN);
    }
    around = enter_body(p, false);
    p->class_name = name->text + strspn(name->text, "_");
    if (!*p->class_name)
        p->class_name = NULL;
    code->body = parser_block(p, "`class`", line);
    leave_body(p, around);
    parser_take_doc(code);
    code->span = parser_span_from(p, code->span);
    stmt->u.class_def.decorators = decorators;
    stmt->u.class_def.code = code;
    return stmt;
}
