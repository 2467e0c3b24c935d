/*
 * lang/syntax/parser_expr.c - expressions from the conditional down to attribute, call and index.
 *
 * Must not know:  slots, statements.
 * Invariant:      a chain of operators of one precedence is one node; nesting is limited (parser_enter, parser_adopt).
 */
#include <string.h>

#include "lang/syntax/parser_internal.h"

static struct lang_expr *unary(struct lang_parser *p);

bool parser_starts_expr(const struct lang_parser *p)
{
    switch ((enum lang_token_kind)p->tok->kind) {
    case LANG_TOK_NAME:
    case LANG_TOK_NUMBER:
    case LANG_TOK_STRING:
    case LANG_TOK_FSTRING_START:
    case LANG_TOK_LPAREN:
    case LANG_TOK_LBRACKET:
    case LANG_TOK_LBRACE:
    case LANG_TOK_ELLIPSIS:
    case LANG_TOK_TILDE:
    case LANG_TOK_PLUS:
    case LANG_TOK_MINUS:
    case LANG_TOK_FALSE:
    case LANG_TOK_NONE:
    case LANG_TOK_TRUE:
    case LANG_TOK_LAMBDA:
    case LANG_TOK_NOT:
        return true;
    default: /* the many others */
        return false;
    }
}

/* ---- attribute, call, index ---- */

static struct lang_expr *attribute(struct lang_parser *p, struct lang_expr *value,
                                   struct lang_span start)
{
    const struct lang_token *name;
    struct lang_expr *expr;

    parser_advance(p);
    name = p->tok;
    expr = parser_expr_new(p, LANG_EXPR_ATTR, start);
    expr->u.attr.value = value;
    expr->u.attr.at = name->span;
    expr->u.attr.name = parser_private(p, parser_name(p, "a name after the dot"));
    return expr;
}

static struct lang_expr *call(struct lang_parser *p, struct lang_expr *func, struct lang_span start)
{
    struct lang_expr *expr;

    parser_advance(p);
    expr = parser_expr_new(p, LANG_EXPR_CALL, start);
    expr->u.call.func = func;
    parser_args(p, expr);
    return expr;
}

/* Between the brackets of x[...], one item. */
static struct lang_expr *subscript(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    struct lang_expr *lower = NULL;
    struct lang_expr *expr;

    if (parser_is(p, LANG_TOK_STAR))
        return parser_star_expr(p, false);
    if (!parser_is(p, LANG_TOK_COLON)) {
        lower = parser_named_expr(p);
        if (!parser_is(p, LANG_TOK_COLON))
            return lower;
    }
    expr = parser_expr_new(p, LANG_EXPR_SLICE, start);
    expr->u.slice.lower = lower;
    parser_advance(p);
    if (!parser_is(p, LANG_TOK_COLON) && !parser_is(p, LANG_TOK_COMMA) &&
        !parser_is(p, LANG_TOK_RBRACKET))
        expr->u.slice.upper = parser_expr(p);
    if (parser_accept(p, LANG_TOK_COLON) && !parser_is(p, LANG_TOK_COMMA) &&
        !parser_is(p, LANG_TOK_RBRACKET))
        expr->u.slice.step = parser_expr(p);
    expr->span = parser_span_from(p, start);
    parser_adopt(p, expr, lower);
    parser_adopt(p, expr, expr->u.slice.upper);
    parser_adopt(p, expr, expr->u.slice.step);
    return expr;
}

static struct lang_expr *subscripts(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    size_t mark = p->scratch_len;
    struct lang_expr *item = subscript(p);
    struct lang_expr *tuple;

    if (!parser_is(p, LANG_TOK_COMMA) && item->kind != LANG_EXPR_STARRED)
        return item;
    parser_push(p, &item, sizeof(item));
    while (parser_accept(p, LANG_TOK_COMMA) && !parser_is(p, LANG_TOK_RBRACKET)) {
        item = subscript(p);
        parser_push(p, &item, sizeof(item));
    }
    tuple = parser_expr_new(p, LANG_EXPR_TUPLE, start);
    tuple->u.list = parser_take_exprs(p, mark);
    for (uint32_t i = 0; i < tuple->u.list.count; i++)
        parser_adopt(p, tuple, tuple->u.list.items[i]);
    return tuple;
}

static struct lang_expr *index_of(struct lang_parser *p, struct lang_expr *value,
                                  struct lang_span start)
{
    struct lang_expr *expr;

    parser_advance(p);
    expr = parser_expr_new(p, LANG_EXPR_INDEX, start);
    expr->u.index.value = value;
    if (parser_is(p, LANG_TOK_RBRACKET))
        parser_unexpected(p, "an index");
    expr->u.index.index = subscripts(p);
    parser_expect(p, LANG_TOK_RBRACKET);
    parser_adopt(p, expr, expr->u.index.index);
    return expr;
}

static struct lang_expr *postfix(struct lang_parser *p)
{
    struct lang_span start = p->tok->span; /* with the bracket of `(a + b).c` */
    struct lang_expr *expr = parser_atom(p);

    for (;;) {
        struct lang_expr *base = expr;

        if (parser_is(p, LANG_TOK_DOT))
            expr = attribute(p, base, start);
        else if (parser_is(p, LANG_TOK_LPAREN))
            expr = call(p, base, start);
        else if (parser_is(p, LANG_TOK_LBRACKET))
            expr = index_of(p, base, start);
        else
            return expr;
        expr->span = parser_span_from(p, start);
        parser_adopt(p, expr, base);
    }
}

/* ---- operators ---- */

static struct lang_expr *chain(struct lang_parser *p, enum lang_expr_kind kind,
                               struct lang_expr *first, size_t mark, struct lang_span start)
{
    struct lang_expr *expr = parser_expr_new(p, kind, start);
    uint32_t count;
    struct lang_step *steps = parser_take(p, mark, sizeof(*steps), &count);

    if (kind == LANG_EXPR_COMPARE) {
        expr->u.compare.first = first;
        expr->u.compare.steps = steps;
        expr->u.compare.count = count;
    } else {
        expr->u.binary.first = first;
        expr->u.binary.steps = steps;
        expr->u.binary.count = count;
    }
    parser_adopt(p, expr, first);
    for (uint32_t i = 0; i < count; i++)
        parser_adopt(p, expr, steps[i].operand);
    return expr;
}

/* Calls `operand` one nesting level deeper. */
static struct lang_expr *deeper(struct lang_parser *p,
                                struct lang_expr *(*operand)(struct lang_parser *))
{
    struct lang_expr *expr;

    if (!parser_enter(p))
        return parser_expr_new(p, LANG_EXPR_NONE, p->tok->span);
    expr = operand(p);
    parser_leave(p);
    return expr;
}

/* `**` is right-associative and binds more tightly than a unary operator to its left. */
static struct lang_expr *power(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    struct lang_expr *base = postfix(p);
    size_t mark = p->scratch_len;
    struct lang_step step;

    if (!parser_is(p, LANG_TOK_DOUBLESTAR))
        return base;
    step.op = LANG_OP_POW;
    step.at = p->tok->span;
    parser_advance(p);
    step.operand = deeper(p, unary);
    parser_push(p, &step, sizeof(step));
    return chain(p, LANG_EXPR_BINARY, base, mark, start);
}

/* After its operator has been seen: read it, and the operand with `operand`. */
static struct lang_expr *prefixed(struct lang_parser *p, enum lang_op op,
                                  struct lang_expr *(*operand)(struct lang_parser *))
{
    struct lang_span start = p->tok->span;
    struct lang_expr *expr;
    struct lang_expr *child;

    parser_advance(p);
    child = deeper(p, operand);
    expr = parser_expr_new(p, LANG_EXPR_UNARY, start);
    expr->u.unary.op = op;
    expr->u.unary.operand = child;
    parser_adopt(p, expr, child);
    return expr;
}

static struct lang_expr *unary(struct lang_parser *p)
{
    if (parser_is(p, LANG_TOK_MINUS))
        return prefixed(p, LANG_OP_NEG, unary);
    if (parser_is(p, LANG_TOK_PLUS))
        return prefixed(p, LANG_OP_POS, unary);
    if (parser_is(p, LANG_TOK_TILDE))
        return prefixed(p, LANG_OP_INVERT, unary);
    return power(p);
}

/* Operators of at least `strength`; those of one strength in a row become one node. */
static struct lang_expr *binary_from(struct lang_parser *p, uint8_t strength)
{
    struct lang_span start = p->tok->span;
    struct lang_expr *left = unary(p);

    for (;;) {
        const struct lang_token_info *info = lang_token_info((enum lang_token_kind)p->tok->kind);
        uint8_t here = info->strength;
        size_t mark = p->scratch_len;

        if (here == 0 || here < strength)
            return left;
        while (info->strength == here) {
            struct lang_step step;

            step.op = (enum lang_op)info->op;
            step.at = p->tok->span;
            parser_advance(p);
            step.operand = binary_from(p, (uint8_t)(here + 1));
            parser_push(p, &step, sizeof(step));
            info = lang_token_info((enum lang_token_kind)p->tok->kind);
        }
        left = chain(p, LANG_EXPR_BINARY, left, mark, start);
    }
}

struct lang_expr *parser_binary(struct lang_parser *p)
{
    return binary_from(p, 1);
}

/* A comparison operator at `tok`, read; false where there is none. */
static bool comparison_op(struct lang_parser *p, struct lang_step *step)
{
    struct lang_span start = p->tok->span;

    if (parser_is(p, LANG_TOK_NOT) && parser_next_kind(p) == LANG_TOK_IN) {
        parser_advance(p);
        step->op = LANG_OP_NOT_IN;
    } else if (parser_is(p, LANG_TOK_IS) && parser_next_kind(p) == LANG_TOK_NOT) {
        parser_advance(p);
        step->op = LANG_OP_IS_NOT;
    } else if (parser_is(p, LANG_TOK_IN) || parser_is(p, LANG_TOK_IS) ||
               (p->tok->kind >= LANG_TOK_LT && p->tok->kind <= LANG_TOK_NE)) {
        step->op = (enum lang_op)lang_token_info((enum lang_token_kind)p->tok->kind)->op;
    } else {
        return false;
    }
    parser_advance(p);
    step->at = parser_span_from(p, start);
    return true;
}

static struct lang_expr *comparison(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    struct lang_expr *first = parser_binary(p);
    size_t mark = p->scratch_len;
    struct lang_step step;

    while (comparison_op(p, &step)) {
        step.operand = parser_binary(p);
        parser_push(p, &step, sizeof(step));
    }
    return p->scratch_len == mark ? first : chain(p, LANG_EXPR_COMPARE, first, mark, start);
}

static struct lang_expr *inversion(struct lang_parser *p)
{
    return parser_is(p, LANG_TOK_NOT) ? prefixed(p, LANG_OP_NOT, inversion) : comparison(p);
}

/* One operand, or several joined by the keyword `word` into one node. */
static struct lang_expr *joined(struct lang_parser *p, enum lang_token_kind word,
                                enum lang_expr_kind kind,
                                struct lang_expr *(*operand)(struct lang_parser *))
{
    struct lang_span start = p->tok->span;
    struct lang_expr *item = operand(p);
    size_t mark = p->scratch_len;
    struct lang_expr *expr;

    if (!parser_is(p, word))
        return item;
    parser_push(p, &item, sizeof(item));
    while (parser_accept(p, word)) {
        item = operand(p);
        parser_push(p, &item, sizeof(item));
    }
    expr = parser_expr_new(p, kind, start);
    expr->u.list = parser_take_exprs(p, mark);
    for (uint32_t i = 0; i < expr->u.list.count; i++)
        parser_adopt(p, expr, expr->u.list.items[i]);
    return expr;
}

static struct lang_expr *conjunction(struct lang_parser *p)
{
    return joined(p, LANG_TOK_AND, LANG_EXPR_AND, inversion);
}

struct lang_expr *parser_or(struct lang_parser *p)
{
    return joined(p, LANG_TOK_OR, LANG_EXPR_OR, conjunction);
}

/* ---- lowest precedence ---- */

static struct lang_expr *lambda(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    struct lang_code *code =
        parser_code_new(p, LANG_CODE_LAMBDA, lang_strs_get(p->strs, "<lambda>", 8), start);
    struct lang_expr *expr;

    parser_advance(p);
    parser_params(p, code, true);
    parser_expect(p, LANG_TOK_COLON);
    code->value = parser_expr(p);
    code->span = parser_span_from(p, start);
    expr = parser_expr_new(p, LANG_EXPR_LAMBDA, start);
    expr->u.lambda = code;
    parser_adopt(p, expr, code->value);
    for (uint32_t i = 0; i < code->param_count; i++)
        parser_adopt(p, expr, code->params[i].default_value);
    return expr;
}

static struct lang_expr *conditional(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    struct lang_expr *then = parser_or(p);
    struct lang_expr *test;
    struct lang_expr *expr;

    if (!parser_accept(p, LANG_TOK_IF))
        return then;
    test = parser_or(p);
    if (!parser_is(p, LANG_TOK_ELSE))
        parser_unexpected(p, "`else`");
    parser_advance(p);
    expr = parser_expr_new(p, LANG_EXPR_COND, start);
    expr->u.cond.test = test;
    expr->u.cond.then = then;
    expr->u.cond.otherwise = parser_expr(p);
    expr->span = parser_span_from(p, start);
    parser_adopt(p, expr, test);
    parser_adopt(p, expr, then);
    parser_adopt(p, expr, expr->u.cond.otherwise);
    return expr;
}

static struct lang_expr *any(struct lang_parser *p)
{
    return parser_is(p, LANG_TOK_LAMBDA) ? lambda(p) : conditional(p);
}

struct lang_expr *parser_expr(struct lang_parser *p)
{
    return deeper(p, any);
}

struct lang_expr *parser_annotation(struct lang_parser *p)
{
    bool was_in = p->in_annotation;
    struct lang_expr *expr;

    p->in_annotation = true;
    expr = parser_expr(p);
    p->in_annotation = was_in;
    return expr;
}

bool parser_is_at_walrus(const struct lang_parser *p)
{
    return parser_is(p, LANG_TOK_NAME) && parser_next_kind(p) == LANG_TOK_WALRUS;
}

struct lang_expr *parser_named_expr(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    bool is_walrus = parser_is_at_walrus(p);
    struct lang_expr *target = parser_expr(p);
    struct lang_expr *expr;

    if (!parser_is(p, LANG_TOK_WALRUS))
        return target;
    if (p->in_annotation)
        parser_refuse(p, PARSER_REFUSE_WALRUS_ANNOTATION, p->tok->span);
    if (!is_walrus)
        parser_fail(p, target->span, NULL, "`:=` can only bind a plain name");
    else
        parser_check_bound(p, target->u.name.name, target->span);
    parser_advance(p);
    expr = parser_expr_new(p, LANG_EXPR_NAMED, start);
    expr->u.named.target = target;
    expr->u.named.value = parser_expr(p);
    expr->span = parser_span_from(p, start);
    parser_adopt(p, expr, target);
    parser_adopt(p, expr, expr->u.named.value);
    return expr;
}

struct lang_expr *parser_star_expr(struct lang_parser *p, bool is_named)
{
    struct lang_span start = p->tok->span;
    struct lang_expr *value;
    struct lang_expr *expr;

    if (!parser_accept(p, LANG_TOK_STAR))
        return is_named ? parser_named_expr(p) : parser_expr(p);
    value = parser_binary(p);
    expr = parser_expr_new(p, LANG_EXPR_STARRED, start);
    expr->u.starred = value;
    parser_adopt(p, expr, value);
    return expr;
}

struct lang_expr *parser_star_exprs(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    size_t mark = p->scratch_len;
    struct lang_expr *item = parser_star_expr(p, false);
    struct lang_expr *tuple;

    if (!parser_is(p, LANG_TOK_COMMA))
        return item;
    parser_push(p, &item, sizeof(item));
    while (parser_accept(p, LANG_TOK_COMMA) &&
           (parser_starts_expr(p) || parser_is(p, LANG_TOK_STAR))) {
        item = parser_star_expr(p, false);
        parser_push(p, &item, sizeof(item));
    }
    tuple = parser_expr_new(p, LANG_EXPR_TUPLE, start);
    tuple->u.list = parser_take_exprs(p, mark);
    for (uint32_t i = 0; i < tuple->u.list.count; i++)
        parser_adopt(p, tuple, tuple->u.list.items[i]);
    return tuple;
}

struct lang_expr *parser_exprs(struct lang_parser *p)
{
    struct lang_expr *expr = parser_star_exprs(p);

    if (expr->kind == LANG_EXPR_STARRED)
        parser_fail(p, expr->span, "put it into a list or tuple: [*x]",
                    "a starred expression cannot stand alone");
    return expr;
}
