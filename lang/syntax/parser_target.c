/*
 * lang/syntax/parser_target.c - targets: the left side of `=`, and after `for`, `as` and `del`.
 *
 * Must not know:  slots.
 * Invariant:      an expression that has passed the check consists of NAME, ATTR, INDEX, TUPLE, LIST and STARRED only,
 *                 down to the targets.
 */
#include <string.h>

#include "lang/syntax/parser_internal.h"

/* The name in messages of an expression that cannot be a target. */
static const char *kind_text(const struct lang_expr *expr)
{
    switch (expr->kind) {
    case LANG_EXPR_NONE:
        return "None";
    case LANG_EXPR_TRUE:
        return "True";
    case LANG_EXPR_FALSE:
        return "False";
    case LANG_EXPR_ELLIPSIS:
        return "`...`";
    case LANG_EXPR_INT:
    case LANG_EXPR_FLOAT:
        return "a number";
    case LANG_EXPR_STR:
    case LANG_EXPR_FSTRING:
        return "a string";
    case LANG_EXPR_CALL:
        return "the result of a call";
    case LANG_EXPR_COMPARE:
        return "a comparison";
    case LANG_EXPR_COND:
        return "a conditional expression";
    case LANG_EXPR_LAMBDA:
        return "a lambda";
    case LANG_EXPR_SET:
        return "a set";
    case LANG_EXPR_DICT:
        return "a dict";
    case LANG_EXPR_COMP:
        return "a comprehension";
    case LANG_EXPR_NAMED:
        return "a `:=` expression";
    case LANG_EXPR_TUPLE:
        return "a tuple";
    case LANG_EXPR_LIST:
        return "a list";
    case LANG_EXPR_STARRED:
        return "a starred expression";
    case LANG_EXPR_NAME:
    case LANG_EXPR_ATTR:
    case LANG_EXPR_INDEX:
    case LANG_EXPR_SLICE:
    case LANG_EXPR_UNARY:
    case LANG_EXPR_BINARY:
    case LANG_EXPR_AND:
    case LANG_EXPR_OR:
        break;
    }
    return "an expression";
}

static void fail_target(struct lang_parser *p, const struct lang_expr *expr,
                        enum parser_target_use use)
{
    const char *hint = NULL;

    if (use == PARSER_TARGET_ASSIGN && expr->kind != LANG_EXPR_STARRED)
        hint = "a name, an attribute or an item can stand here; write `==` to compare";
    if (use == PARSER_TARGET_DEL)
        parser_fail(p, expr->span, NULL, "cannot delete %s", kind_text(expr));
    else if (use == PARSER_TARGET_ANNOTATE)
        parser_fail(p, expr->span, NULL, "cannot annotate %s", kind_text(expr));
    else if (use == PARSER_TARGET_AUGMENT)
        parser_fail(p, expr->span, NULL, "cannot assign to %s with an operator", kind_text(expr));
    else
        parser_fail(p, expr->span, hint, "cannot assign to %s", kind_text(expr));
}

void parser_check_bound(struct lang_parser *p, const struct lang_str *name, struct lang_span span)
{
    if (strcmp(name->text, "__debug__") == 0)
        parser_fail(p, span, NULL, "`__debug__` cannot be changed");
}

static void check_items(struct lang_parser *p, const struct lang_exprs *items,
                        enum parser_target_use use)
{
    uint32_t stars = 0;

    for (uint32_t i = 0; i < items->count; i++) {
        const struct lang_expr *item = items->items[i];

        if (item->kind != LANG_EXPR_STARRED || use != PARSER_TARGET_ASSIGN) {
            parser_check_target(p, item, use);
            continue;
        }
        if (++stars > 1)
            parser_fail(p, item->span, NULL, "only one name can take the rest");
        parser_check_target(p, item->u.starred, use);
    }
}

void parser_check_target(struct lang_parser *p, const struct lang_expr *expr,
                         enum parser_target_use use)
{
    switch (expr->kind) {
    case LANG_EXPR_NAME:
        parser_check_bound(p, expr->u.name.name, expr->span);
        return;
    case LANG_EXPR_ATTR:
        parser_check_bound(p, expr->u.attr.name, expr->span);
        return;
    case LANG_EXPR_INDEX:
        return;
    case LANG_EXPR_TUPLE:
    case LANG_EXPR_LIST:
        if (use == PARSER_TARGET_ASSIGN || use == PARSER_TARGET_DEL) {
            check_items(p, &expr->u.list, use);
            return;
        }
        break;
    case LANG_EXPR_STARRED:
        if (use == PARSER_TARGET_ASSIGN) {
            parser_fail(p, expr->span, "write `*x, = ...` to collect everything in a list",
                        "a starred target must be in a tuple or list");
            return;
        }
        break;
    case LANG_EXPR_NONE:
    case LANG_EXPR_TRUE:
    case LANG_EXPR_FALSE:
    case LANG_EXPR_ELLIPSIS:
    case LANG_EXPR_INT:
    case LANG_EXPR_FLOAT:
    case LANG_EXPR_STR:
    case LANG_EXPR_FSTRING:
    case LANG_EXPR_SLICE:
    case LANG_EXPR_CALL:
    case LANG_EXPR_UNARY:
    case LANG_EXPR_BINARY:
    case LANG_EXPR_COMPARE:
    case LANG_EXPR_AND:
    case LANG_EXPR_OR:
    case LANG_EXPR_COND:
    case LANG_EXPR_LAMBDA:
    case LANG_EXPR_SET:
    case LANG_EXPR_DICT:
    case LANG_EXPR_COMP:
    case LANG_EXPR_NAMED:
        break;
    }
    fail_target(p, expr, use);
}

/* `*x` or operators: `in` must be left for the loop. */
static struct lang_expr *for_item(struct lang_parser *p)
{
    if (parser_is(p, LANG_TOK_STAR))
        return parser_star_expr(p, false);
    return parser_binary(p);
}

struct lang_expr *parser_for_target(struct lang_parser *p)
{
    struct lang_span start = p->tok->span;
    size_t mark = p->scratch_len;
    struct lang_expr *item = for_item(p);
    struct lang_expr *target = item;

    if (parser_is(p, LANG_TOK_COMMA)) {
        parser_push(p, &item, sizeof(item));
        while (parser_accept(p, LANG_TOK_COMMA) && !parser_is(p, LANG_TOK_IN) && !p->failed) {
            item = for_item(p);
            parser_push(p, &item, sizeof(item));
        }
        target = parser_expr_new(p, LANG_EXPR_TUPLE, start);
        target->u.list = parser_take_exprs(p, mark);
        for (uint32_t i = 0; i < target->u.list.count; i++)
            parser_adopt(p, target, target->u.list.items[i]);
    }
    if (!p->failed)
        parser_check_target(p, target, PARSER_TARGET_ASSIGN);
    return target;
}
