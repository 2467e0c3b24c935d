/*
 * lang/syntax/resolve_children.c - see resolve_internal.h: the subexpressions of an expression.
 *
 * For:            the two walks of name resolution, which differ only where a name is bound or a scope opened.
 * Must not know:  scopes, slots.
 * Invariant:      subexpressions come in the order in which CPython evaluates them.
 */
#include "lang/syntax/resolve_internal.h"

static void visit_all(const struct lang_exprs *list, resolve_expr_fn *fn, void *user)
{
    for (uint32_t i = 0; i < list->count; i++)
        fn(user, list->items[i]);
}

static void visit_maybe(struct lang_expr *expr, resolve_expr_fn *fn, void *user)
{
    if (expr)
        fn(user, expr);
}

static void visit_chain(struct lang_expr *first, const struct lang_step *steps, uint32_t count,
                        resolve_expr_fn *fn, void *user)
{
    fn(user, first);
    for (uint32_t i = 0; i < count; i++)
        fn(user, steps[i].operand);
}

static void visit_call(const struct lang_expr *call, resolve_expr_fn *fn, void *user)
{
    fn(user, call->u.call.func);
    visit_all(&call->u.call.args, fn, user);
    for (uint32_t i = 0; i < call->u.call.keyword_count; i++)
        fn(user, call->u.call.keywords[i].value);
}

void resolve_children(const struct lang_expr *expr, resolve_expr_fn *fn, void *user)
{
    switch (expr->kind) {
    case LANG_EXPR_NONE:
    case LANG_EXPR_TRUE:
    case LANG_EXPR_FALSE:
    case LANG_EXPR_ELLIPSIS:
    case LANG_EXPR_INT:
    case LANG_EXPR_FLOAT:
    case LANG_EXPR_STR:
        return;
    case LANG_EXPR_FSTRING:
        for (uint32_t i = 0; i < expr->u.fstring.count; i++) {
            visit_maybe(expr->u.fstring.parts[i].value, fn, user);
            visit_maybe(expr->u.fstring.parts[i].spec, fn, user);
        }
        return;
    case LANG_EXPR_ATTR:
        fn(user, expr->u.attr.value);
        return;
    case LANG_EXPR_INDEX:
        fn(user, expr->u.index.value);
        fn(user, expr->u.index.index);
        return;
    case LANG_EXPR_SLICE:
        visit_maybe(expr->u.slice.lower, fn, user);
        visit_maybe(expr->u.slice.upper, fn, user);
        visit_maybe(expr->u.slice.step, fn, user);
        return;
    case LANG_EXPR_CALL:
        visit_call(expr, fn, user);
        return;
    case LANG_EXPR_UNARY:
        fn(user, expr->u.unary.operand);
        return;
    case LANG_EXPR_BINARY:
        visit_chain(expr->u.binary.first, expr->u.binary.steps, expr->u.binary.count, fn, user);
        return;
    case LANG_EXPR_COMPARE:
        visit_chain(expr->u.compare.first, expr->u.compare.steps, expr->u.compare.count, fn, user);
        return;
    case LANG_EXPR_COND:
        fn(user, expr->u.cond.test);
        fn(user, expr->u.cond.then);
        fn(user, expr->u.cond.otherwise);
        return;
    case LANG_EXPR_AND:
    case LANG_EXPR_OR:
    case LANG_EXPR_LIST:
    case LANG_EXPR_TUPLE:
    case LANG_EXPR_SET:
        visit_all(&expr->u.list, fn, user);
        return;
    case LANG_EXPR_DICT:
        for (uint32_t i = 0; i < expr->u.dict.count; i++) {
            visit_maybe(expr->u.dict.items[i].key, fn, user);
            fn(user, expr->u.dict.items[i].value);
        }
        return;
    case LANG_EXPR_STARRED:
        fn(user, expr->u.starred);
        return;
    case LANG_EXPR_NAME:
    case LANG_EXPR_LAMBDA:
    case LANG_EXPR_COMP:
    case LANG_EXPR_NAMED:
        VS_ASSERT(false);
        return;
    }
}
