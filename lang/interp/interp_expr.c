/*
 * lang/interp/interp_expr.c - expressions.
 *
 * For:            lang/interp/interp.h.
 * Must not know:  the engine's ops.
 * Invariant:      lang_eval pushes exactly one value.
 */
#include <string.h>

#include "lang/interp/attr.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"

uint32_t lang_expr_line(const struct lang_expr *e)
{
    if (e->kind == LANG_EXPR_CALL && e->u.call.func->kind == LANG_EXPR_ATTR)
        return e->u.call.func->u.attr.at.line;
    return e->span.line;
}

/* ---- operators ---- */

static bool eval_unary(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    struct lang_value result;

    if (e->u.unary.op == LANG_OP_NOT) {
        bool yes;

        if (!lang_eval_test(vm, f, e->u.unary.operand, &yes))
            return false;
        lang_push(vm, lang_bool(!yes));
        return true;
    }
    if (!lang_eval(vm, f, e->u.unary.operand))
        return false;
    lang_at(vm, f, e);
    if (!lang_unary(vm, e->u.unary.op, vm->sp[-1], &result))
        return false;
    lang_replace(vm, 1, result);
    return true;
}

static bool eval_binary(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    struct lang_value result;

    if (!lang_eval(vm, f, e->u.binary.first))
        return false;
    for (uint32_t i = 0; i < e->u.binary.count; i++) {
        const struct lang_step *step = &e->u.binary.steps[i];

        if (!lang_eval(vm, f, step->operand))
            return false;
        lang_at(vm, f, e);
        f->step = i;
        if (!lang_binary(vm, step->op, vm->sp[-2], vm->sp[-1], &result))
            return false;
        lang_replace(vm, 2, result);
    }
    return true;
}

/*
 * a < b < c: while more comparisons follow, b stays on the stack below the result of a < b; it is dropped if that is
 * false.
 */
static bool eval_compare(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    uint32_t count = e->u.compare.count;
    struct lang_value result;

    if (!lang_eval(vm, f, e->u.compare.first))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct lang_step *step = &e->u.compare.steps[i];
        bool more = i + 1 < count;
        struct lang_value left;
        bool yes;

        if (!lang_eval(vm, f, step->operand))
            return false;
        if (more) { /* [a, b] becomes [b, a, b] */
            left = vm->sp[-2];
            vm->sp[-2] = lang_keep(vm->sp[-1]);
            lang_push(vm, vm->sp[-1]);
            vm->sp[-2] = left;
        }
        lang_at(vm, f, e);
        f->step = i;
        if (!lang_compare(vm, step->op, vm->sp[-2], vm->sp[-1], &result))
            return false;
        lang_replace(vm, 2, result);
        if (!more)
            return true;
        if (!lang_truth(vm, vm->sp[-1], &yes))
            return false;
        if (!yes) { /* [b, result] becomes [result] */
            result = lang_pop(vm);
            lang_replace(vm, 1, result);
            return true;
        }
        lang_drop(vm, lang_pop(vm));
    }
    return true;
}

/* `x and y`, `x or y`: x is dropped before y is evaluated. */
static bool eval_logic(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    bool stop_at = e->kind == LANG_EXPR_OR;

    for (uint32_t i = 0; i < e->u.list.count; i++) {
        bool yes;

        if (!lang_eval(vm, f, e->u.list.items[i]))
            return false;
        if (i + 1 == e->u.list.count)
            return true;
        f->at = e->u.list.items[i];
        if (!lang_truth(vm, vm->sp[-1], &yes))
            return false;
        if (yes == stop_at)
            return true;
        lang_drop(vm, lang_pop(vm));
    }
    return true;
}

/* `x is None` and `x is not None`. */
static bool is_none_test(const struct lang_expr *e)
{
    return e->u.compare.count == 1 && e->u.compare.steps[0].operand->kind == LANG_EXPR_NONE &&
           (e->u.compare.steps[0].op == LANG_OP_IS || e->u.compare.steps[0].op == LANG_OP_IS_NOT);
}

static bool eval_none_test(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e,
                           bool *out)
{
    if (!lang_eval(vm, f, e->u.compare.first))
        return false;
    lang_at(vm, f, e);
    *out = (vm->sp[-1].kind == LANG_NONE) == (e->u.compare.steps[0].op == LANG_OP_IS);
    lang_drop(vm, lang_pop(vm));
    return true;
}

bool lang_eval_test(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e, bool *out)
{
    switch (e->kind) {
    case LANG_EXPR_TRUE:
    case LANG_EXPR_FALSE:
        *out = e->kind == LANG_EXPR_TRUE;
        return true;
    case LANG_EXPR_AND:
    case LANG_EXPR_OR:
        for (uint32_t i = 0; i < e->u.list.count; i++) {
            if (!lang_eval_test(vm, f, e->u.list.items[i], out))
                return false;
            if (*out == (e->kind == LANG_EXPR_OR))
                return true;
        }
        return true;
    case LANG_EXPR_UNARY:
        if (e->u.unary.op != LANG_OP_NOT)
            break;
        if (!lang_eval_test(vm, f, e->u.unary.operand, out))
            return false;
        *out = !*out;
        return true;
    case LANG_EXPR_COMPARE:
        if (is_none_test(e))
            return eval_none_test(vm, f, e, out);
        break;
    default:
        break;
    }
    if (!lang_eval(vm, f, e))
        return false;
    f->at = e;
    if (!lang_truth(vm, vm->sp[-1], out))
        return false;
    lang_drop(vm, lang_pop(vm));
    return true;
}

/* ---- attributes and items ---- */

static bool eval_attr(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    struct lang_value result;

    if (!lang_eval(vm, f, e->u.attr.value))
        return false;
    f->at = e;
    lang_line(vm, f, e->u.attr.at.line);
    if (!lang_getattr(vm, vm->sp[-1], f->net->names[e->u.attr.name->id], &result))
        return false;
    lang_replace(vm, 1, result);
    return true;
}

static bool eval_index(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    struct lang_value result;

    if (!lang_eval(vm, f, e->u.index.value) || !lang_eval(vm, f, e->u.index.index))
        return false;
    lang_at(vm, f, e);
    if (!lang_getitem(vm, vm->sp[-2], vm->sp[-1], &result))
        return false;
    if (e->u.index.index->kind == LANG_EXPR_SLICE && e->u.index.index->u.slice.step == NULL) {
        /* x[a:b] is one instruction, which releases the slice first */
        struct lang_value slice = lang_pop(vm);

        lang_drop(vm, slice);
        lang_replace(vm, 1, result);
        return true;
    }
    lang_replace(vm, 2, result);
    return true;
}

static bool eval_or_none(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    if (e != NULL)
        return lang_eval(vm, f, e);
    lang_push(vm, lang_none());
    return true;
}

static bool eval_slice(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    struct lang_slice *slice;

    if (!eval_or_none(vm, f, e->u.slice.lower) || !eval_or_none(vm, f, e->u.slice.upper) ||
        !eval_or_none(vm, f, e->u.slice.step))
        return false;
    slice = lang_slice_new(vm, vm->sp[-3], vm->sp[-2], vm->sp[-1]);
    vm->sp -= 3;
    lang_push(vm, lang_object(slice));
    return true;
}

/* ---- displays ---- */

bool lang_eval_spread(struct lang_vm *vm, struct lang_frame *f, const struct lang_exprs *exprs)
{
    struct lang_value *at = vm->sp;

    lang_push(vm, lang_object(lang_list_new(vm, exprs->count)));
    for (uint32_t i = 0; i < exprs->count; i++) {
        const struct lang_expr *e = exprs->items[i];
        struct lang_value it;
        struct lang_value item;

        if (e->kind != LANG_EXPR_STARRED) {
            if (!lang_eval(vm, f, e))
                return false;
            lang_list_append(vm, at->as.list, lang_pop(vm));
            continue;
        }
        if (!lang_eval(vm, f, e->u.starred))
            return false;
        lang_at(vm, f, e);
        if (!lang_iter_of(vm, vm->sp[-1], &it))
            return false;
        lang_push(vm, it);
        for (;;) {
            if (!lang_iter_next(vm, vm->sp[-1], &item))
                return false;
            if (!lang_is_bound(item))
                break;
            lang_list_append(vm, at->as.list, item);
        }
        lang_drop(vm, lang_pop(vm));
        lang_drop(vm, lang_pop(vm));
    }
    return true;
}

static bool eval_tuple(struct lang_vm *vm, struct lang_frame *f, const struct lang_exprs *exprs)
{
    struct lang_value *at = vm->sp;
    struct lang_value *from = at;
    struct lang_list *list = NULL;
    struct lang_tuple *t;
    uint32_t count = exprs->count;
    bool starred = false;

    for (uint32_t i = 0; i < exprs->count; i++)
        starred = starred || exprs->items[i]->kind == LANG_EXPR_STARRED;
    if (starred) {
        if (!lang_eval_spread(vm, f, exprs))
            return false;
        list = at->as.list;
        from = list->items;
        count = list->count;
    } else {
        if (!lang_reserve(vm, exprs->count))
            return false;
        for (uint32_t i = 0; i < exprs->count; i++) {
            if (!lang_eval(vm, f, exprs->items[i]))
                return false;
        }
    }
    t = lang_tuple_new(vm, count);
    if (count > 0)
        memcpy(t->items, from, count * sizeof(t->items[0]));
    if (list != NULL) {
        list->count = 0; /* its items have moved */
        lang_drop_obj(vm, list);
    }
    vm->sp = at;
    lang_push(vm, lang_object(t));
    return true;
}

static bool eval_set(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    struct lang_value *at = vm->sp;
    struct lang_set *set;
    struct lang_list *list;

    if (!lang_eval_spread(vm, f, &e->u.list))
        return false;
    set = lang_set_new(vm);
    lang_push(vm, lang_object(set));
    list = at->as.list;
    lang_at(vm, f, e);
    for (uint32_t i = 0; i < list->count; i++) {
        if (!lang_dict_store(vm, set->keys, list->items[i], lang_none()))
            return false;
    }
    vm->sp--;
    lang_replace(vm, 1, vm->sp[0]);
    return true;
}

/* {**other}: later items replace earlier ones. */
static bool merge_into(struct lang_vm *vm, struct lang_dict *dict, struct lang_value other)
{
    struct lang_entry *entry;
    uint32_t at = 0;

    if (other.kind != LANG_DICT)
        return lang_fail(vm, VS_E_TYPE, "`**` needs a dict, not `%s`", lang_type_name(vm, other));
    while ((entry = lang_dict_next(other.as.dict, &at)) != NULL) {
        if (!lang_dict_store(vm, dict, entry->key, lang_keep(entry->value)))
            return false;
    }
    return true;
}

static bool eval_dict(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    struct lang_dict *dict = lang_dict_new(vm);

    lang_push(vm, lang_object(dict));
    for (uint32_t i = 0; i < e->u.dict.count; i++) {
        const struct lang_dict_item *item = &e->u.dict.items[i];

        if (item->key == NULL) {
            if (!lang_eval(vm, f, item->value))
                return false;
            lang_at(vm, f, item->value);
            if (!merge_into(vm, dict, vm->sp[-1]))
                return false;
            lang_drop(vm, lang_pop(vm));
            continue;
        }
        if (!lang_eval(vm, f, item->key) || !lang_eval(vm, f, item->value))
            return false;
        lang_at(vm, f, item->key);
        if (!lang_dict_store(vm, dict, vm->sp[-2], lang_keep(vm->sp[-1])))
            return false;
        lang_drop(vm, lang_pop(vm));
        lang_drop(vm, lang_pop(vm));
    }
    return true;
}

/* ---- other expressions ---- */

static bool eval_cond(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    bool yes;

    if (!lang_eval_test(vm, f, e->u.cond.test, &yes))
        return false;
    return lang_eval(vm, f, yes ? e->u.cond.then : e->u.cond.otherwise);
}

static bool eval_list(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    return lang_eval_spread(vm, f, &e->u.list);
}

static bool eval_named(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    if (!lang_eval(vm, f, e->u.named.value))
        return false;
    lang_push(vm, lang_keep(vm->sp[-1]));
    return lang_store(vm, f, e->u.named.target);
}

/* Kinds that the parser accepts only below a node that handles them itself. */
static bool misplaced(const struct lang_expr *e)
{
    vs_die("an expression of kind %d stands alone", (int)e->kind);
}

bool lang_eval_any(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    switch (e->kind) {
    case LANG_EXPR_NONE:
        lang_push(vm, lang_none());
        return true;
    case LANG_EXPR_TRUE:
    case LANG_EXPR_FALSE:
        lang_push(vm, lang_bool(e->kind == LANG_EXPR_TRUE));
        return true;
    case LANG_EXPR_ELLIPSIS:
        lang_push(vm, (struct lang_value){.kind = LANG_ELLIPSIS});
        return true;
    case LANG_EXPR_INT:
        lang_push(vm, lang_int(e->u.int_value));
        return true;
    case LANG_EXPR_FLOAT:
        lang_push(vm, lang_float(e->u.float_value));
        return true;
    case LANG_EXPR_STR:
        lang_push(vm, lang_keep((struct lang_value){.kind = LANG_STR,
                                                    .as.str = f->net->names[e->u.str->id]}));
        return true;
    case LANG_EXPR_FSTRING:
        return lang_eval_fstring(vm, f, e);
    case LANG_EXPR_NAME:
        return lang_load_name(vm, f, e);
    case LANG_EXPR_ATTR:
        return eval_attr(vm, f, e);
    case LANG_EXPR_INDEX:
        return eval_index(vm, f, e);
    case LANG_EXPR_SLICE:
        return eval_slice(vm, f, e);
    case LANG_EXPR_CALL:
        return lang_eval_call(vm, f, e);
    case LANG_EXPR_UNARY:
        return eval_unary(vm, f, e);
    case LANG_EXPR_BINARY:
        return eval_binary(vm, f, e);
    case LANG_EXPR_COMPARE:
        return eval_compare(vm, f, e);
    case LANG_EXPR_AND:
    case LANG_EXPR_OR:
        return eval_logic(vm, f, e);
    case LANG_EXPR_COND:
        return eval_cond(vm, f, e);
    case LANG_EXPR_LAMBDA:
        return lang_eval_function(vm, f, e->u.lambda);
    case LANG_EXPR_LIST:
        return eval_list(vm, f, e);
    case LANG_EXPR_TUPLE:
        return eval_tuple(vm, f, &e->u.list);
    case LANG_EXPR_SET:
        return eval_set(vm, f, e);
    case LANG_EXPR_DICT:
        return eval_dict(vm, f, e);
    case LANG_EXPR_COMP:
        return lang_eval_comp(vm, f, e);
    case LANG_EXPR_NAMED:
        return eval_named(vm, f, e);
    case LANG_EXPR_STARRED:
        break;
    }
    return misplaced(e);
}
