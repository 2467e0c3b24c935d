/*
 * lang/syntax/parser_atom.c - names, constants, brackets, displays and comprehensions.
 *
 * Must not know:  slots, statements.
 * Invariant:      a bracketed expression keeps the span it has without its brackets; displays include theirs.
 */
#include "lang/syntax/parser_internal.h"

static struct lang_expr *fail_node(struct lang_parser *p)
{
    return parser_expr_new(p, LANG_EXPR_NONE, p->tok->span);
}

static struct lang_expr *constant(struct lang_parser *p, enum lang_expr_kind kind)
{
    struct lang_span start = p->tok->span;

    parser_advance(p);
    return parser_expr_new(p, kind, start);
}

static struct lang_expr *name(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    const struct lang_str *text = parser_name(p, "a name");
    struct lang_expr *expr = parser_expr_new(p, LANG_EXPR_NAME, start);

    expr->u.name.name = parser_private(p, text);
    return expr;
}

/* ---- comprehensions ---- */

void parser_accept_generator(struct lang_parser *p, const struct lang_expr *arg)
{
    if (arg == p->generator)
        p->generator = NULL;
}

void parser_refuse_generator(struct lang_parser *p)
{
    if (p->generator)
        parser_refuse(p, PARSER_REFUSE_GENERATOR, p->generator->span);
    p->generator = NULL;
}

static void comp_for(struct lang_parser *p, struct lang_comp_for *out)
{
    size_t mark;

    if (!parser_is(p, LANG_TOK_FOR)) /* async */
        parser_unexpected(p, "`for`");
    parser_advance(p);
    out->target = parser_for_target(p);
    parser_expect(p, LANG_TOK_IN);
    out->iter = parser_or(p);
    mark = p->scratch_len;
    while (parser_accept(p, LANG_TOK_IF)) {
        struct lang_expr *cond = parser_or(p);

        parser_push(p, &cond, sizeof(cond));
    }
    out->conds = parser_take_exprs(p, mark);
}

static void adopt_comp(struct lang_parser *p, struct lang_expr *expr)
{
    const struct lang_comp *comp = &expr->u.comp;

    parser_adopt(p, expr, comp->elt);
    parser_adopt(p, expr, comp->value);
    for (uint32_t i = 0; i < comp->for_count; i++) {
        parser_adopt(p, expr, comp->fors[i].target);
        parser_adopt(p, expr, comp->fors[i].iter);
        for (uint32_t k = 0; k < comp->fors[i].conds.count; k++)
            parser_adopt(p, expr, comp->fors[i].conds.items[k]);
    }
}

struct lang_expr *parser_comp(struct lang_parser *p, enum lang_comp_kind kind,
                              struct lang_expr *elt, struct lang_expr *value,
                              struct lang_span start)
{
    size_t mark = p->scratch_len;
    struct lang_expr *expr;

    if (elt->kind == LANG_EXPR_STARRED)
        parser_fail(p, elt->span, "write a second `for`",
                    "a starred expression in a comprehension");
    while (parser_is(p, LANG_TOK_FOR) || parser_is(p, LANG_TOK_ASYNC)) {
        struct lang_comp_for each;

        comp_for(p, &each);
        parser_push(p, &each, sizeof(each));
    }
    expr = parser_expr_new(p, LANG_EXPR_COMP, start);
    expr->u.comp.kind = kind;
    expr->u.comp.elt = elt;
    expr->u.comp.value = value;
    expr->u.comp.fors = parser_take(p, mark, sizeof(struct lang_comp_for), &expr->u.comp.for_count);
    adopt_comp(p, expr);
    if (kind == LANG_COMP_GENERATOR) {
        expr->u.comp.code = parser_code_new(p, LANG_CODE_GENERATOR,
                                            lang_strs_get(p->strs, "<genexpr>", 9), expr->span);
        expr->u.comp.code->value = expr;
    }
    return expr;
}

static bool is_at_comp(const struct lang_parser *p)
{
    return parser_is(p, LANG_TOK_FOR) || parser_is(p, LANG_TOK_ASYNC);
}

/* ---- brackets ---- */

/* The rest of a display: `, item, item`, each pushed, up to `close` (not read). */
static void more_items(struct lang_parser *p, struct lang_expr *first, enum lang_token_kind close)
{
    parser_push(p, &first, sizeof(first));
    while (parser_accept(p, LANG_TOK_COMMA) && !parser_is(p, close) && !p->failed) {
        struct lang_expr *item = parser_star_expr(p, true);

        parser_push(p, &item, sizeof(item));
    }
}

static struct lang_expr *display(struct lang_parser *p, enum lang_expr_kind kind, size_t mark,
                                 enum lang_token_kind close, struct lang_span start)
{
    struct lang_expr *expr;

    parser_expect(p, close);
    expr = parser_expr_new(p, kind, start);
    expr->u.list = parser_take_exprs(p, mark);
    for (uint32_t i = 0; i < expr->u.list.count; i++)
        parser_adopt(p, expr, expr->u.list.items[i]);
    return expr;
}

static struct lang_expr *parenthesis(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    size_t mark = p->scratch_len;
    struct lang_expr *first;

    parser_advance(p);
    if (parser_is(p, LANG_TOK_RPAREN))
        return display(p, LANG_EXPR_TUPLE, mark, LANG_TOK_RPAREN, start);
    first = parser_star_expr(p, true);
    if (is_at_comp(p)) {
        first = parser_comp(p, LANG_COMP_GENERATOR, first, NULL, start);
        parser_expect(p, LANG_TOK_RPAREN);
        first->span = parser_span_from(p, start);
        parser_refuse_generator(p);
        p->generator = first;
        return first;
    }
    if (parser_is(p, LANG_TOK_COMMA)) {
        more_items(p, first, LANG_TOK_RPAREN);
        return display(p, LANG_EXPR_TUPLE, mark, LANG_TOK_RPAREN, start);
    }
    if (first->kind == LANG_EXPR_STARRED)
        parser_fail(p, first->span, "a tuple of one has a comma: (*x,)",
                    "a starred expression cannot stand alone");
    parser_expect(p, LANG_TOK_RPAREN);
    return first;
}

static struct lang_expr *list(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    size_t mark = p->scratch_len;
    struct lang_expr *first;

    parser_advance(p);
    if (parser_is(p, LANG_TOK_RBRACKET))
        return display(p, LANG_EXPR_LIST, mark, LANG_TOK_RBRACKET, start);
    first = parser_star_expr(p, true);
    if (is_at_comp(p)) {
        first = parser_comp(p, LANG_COMP_LIST, first, NULL, start);
        parser_expect(p, LANG_TOK_RBRACKET);
        first->span = parser_span_from(p, start);
        return first;
    }
    more_items(p, first, LANG_TOK_RBRACKET);
    return display(p, LANG_EXPR_LIST, mark, LANG_TOK_RBRACKET, start);
}

static void dict_item(struct lang_parser *p, struct lang_dict_item *out)
{
    out->key = NULL;
    if (parser_accept(p, LANG_TOK_DOUBLESTAR)) {
        out->value = parser_binary(p);
        return;
    }
    out->key = parser_expr(p);
    parser_expect(p, LANG_TOK_COLON);
    out->value = parser_expr(p);
}

/* A dict whose first item, with its key if it has one, has been read. */
static struct lang_expr *dict_rest(struct lang_parser *p, struct lang_dict_item item,
                                   struct lang_span start)
{
    size_t mark = p->scratch_len;
    struct lang_expr *expr;

    if (is_at_comp(p)) {
        if (!item.key)
            parser_fail(p, item.value->span, NULL, "`**` in a dict comprehension");
        expr = parser_comp(p, LANG_COMP_DICT, item.key ? item.key : item.value, item.value, start);
        parser_expect(p, LANG_TOK_RBRACE);
        expr->span = parser_span_from(p, start);
        return expr;
    }
    parser_push(p, &item, sizeof(item));
    while (parser_accept(p, LANG_TOK_COMMA) && !parser_is(p, LANG_TOK_RBRACE) && !p->failed) {
        dict_item(p, &item);
        parser_push(p, &item, sizeof(item));
    }
    parser_expect(p, LANG_TOK_RBRACE);
    expr = parser_expr_new(p, LANG_EXPR_DICT, start);
    expr->u.dict.items = parser_take(p, mark, sizeof(struct lang_dict_item), &expr->u.dict.count);
    for (uint32_t i = 0; i < expr->u.dict.count; i++) {
        parser_adopt(p, expr, expr->u.dict.items[i].key);
        parser_adopt(p, expr, expr->u.dict.items[i].value);
    }
    return expr;
}

static struct lang_expr *brace(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    size_t mark = p->scratch_len;
    struct lang_dict_item item = {NULL, NULL};
    struct lang_expr *first;
    bool is_walrus;

    parser_advance(p);
    if (parser_accept(p, LANG_TOK_RBRACE))
        return parser_expr_new(p, LANG_EXPR_DICT, start);
    if (parser_is(p, LANG_TOK_DOUBLESTAR)) {
        dict_item(p, &item);
        return dict_rest(p, item, start);
    }
    is_walrus = parser_is_at_walrus(p);
    first = parser_star_expr(p, true);
    if (first->kind != LANG_EXPR_STARRED && !is_walrus && parser_accept(p, LANG_TOK_COLON)) {
        item.key = first;
        item.value = parser_expr(p);
        return dict_rest(p, item, start);
    }
    if (is_at_comp(p)) {
        first = parser_comp(p, LANG_COMP_LIST, first, NULL, start);
        parser_refuse(p, PARSER_REFUSE_SET_COMP, parser_span_from(p, start));
        return first;
    }
    more_items(p, first, LANG_TOK_RBRACE);
    return display(p, LANG_EXPR_SET, mark, LANG_TOK_RBRACE, start);
}

struct lang_expr *parser_atom(struct lang_parser *p)
{
    switch ((enum lang_token_kind)p->tok->kind) {
    case LANG_TOK_NAME:
        return name(p);
    case LANG_TOK_NUMBER:
        return parser_number(p);
    case LANG_TOK_STRING:
    case LANG_TOK_FSTRING_START:
        return parser_strings(p);
    case LANG_TOK_LPAREN:
        return parenthesis(p);
    case LANG_TOK_LBRACKET:
        return list(p);
    case LANG_TOK_LBRACE:
        return brace(p);
    case LANG_TOK_ELLIPSIS:
        return constant(p, LANG_EXPR_ELLIPSIS);
    case LANG_TOK_NONE:
        return constant(p, LANG_EXPR_NONE);
    case LANG_TOK_TRUE:
        return constant(p, LANG_EXPR_TRUE);
    case LANG_TOK_FALSE:
        return constant(p, LANG_EXPR_FALSE);
    default: /* the many that start no expression */
        parser_unexpected(p, "an expression");
        return fail_node(p);
    }
}
