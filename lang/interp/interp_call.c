/*
 * lang/interp/interp_call.c - call expressions: evaluation of the callable and the arguments.
 *
 * For:            lang/interp/interp.h.
 * Must not know:  how arguments are assigned to parameters (lang/interp/call.c).
 * Invariant:      the object of a method call is on the stack like an argument: a function of the net language owns
 *                 it, for all other callables it is released after the call.
 */
#include <string.h>

#include "lang/interp/attr.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"

/* [function, object] and *self = 1 for a method, [attribute] otherwise. */
static bool eval_callee(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *func,
                        uint32_t *self)
{
    struct lang_value callee;
    bool is_method;

    *self = 0;
    if (func->kind != LANG_EXPR_ATTR)
        return lang_eval(vm, f, func);
    if (!lang_eval(vm, f, func->u.attr.value))
        return false;
    f->at = func;
    lang_line(vm, f, func->u.attr.at.line);
    if (!lang_getmethod(vm, &vm->sp[-1], f->net->names[func->u.attr.name->id], &callee, &is_method))
        return false;
    if (is_method) {
        lang_push(vm, vm->sp[-1]);
        vm->sp[-2] = callee;
        *self = 1;
        return true;
    }
    lang_replace(vm, 1, callee);
    return true;
}

static bool is_spread(const struct lang_expr *e)
{
    for (uint32_t i = 0; i < e->u.call.args.count; i++) {
        if (e->u.call.args.items[i]->kind == LANG_EXPR_STARRED)
            return true;
    }
    for (uint32_t i = 0; i < e->u.call.keyword_count; i++) {
        if (e->u.call.keywords[i].name == NULL)
            return true;
    }
    return false;
}

/* The positional arguments of f(*a, b) as a tuple. A single starred tuple is passed unchanged. */
static bool eval_args_tuple(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    const struct lang_exprs *args = &e->u.call.args;
    struct lang_list *list;
    struct lang_tuple *t;

    if (args->count == 1 && args->items[0]->kind == LANG_EXPR_STARRED) {
        if (!lang_eval(vm, f, args->items[0]->u.starred))
            return false;
        if (vm->sp[-1].kind == LANG_TUPLE)
            return true;
        lang_at(vm, f, args->items[0]);
        if (!lang_list_of(vm, vm->sp[-1], &list))
            return false;
        lang_replace(vm, 1, lang_object(list));
    } else if (!lang_eval_spread(vm, f, args)) {
        return false;
    }
    list = vm->sp[-1].as.list;
    t = lang_tuple_new(vm, list->count);
    if (list->count > 0)
        memcpy(t->items, list->items, list->count * sizeof(t->items[0]));
    list->count = 0; /* moved: nothing else refers to the list */
    lang_replace(vm, 1, lang_object(t));
    return true;
}

static bool add_keywords(struct lang_vm *vm, struct lang_dict *dict, struct lang_value more)
{
    struct lang_entry *entry;
    struct lang_value *old;
    uint32_t at = 0;

    if (more.kind != LANG_DICT)
        return lang_fail(vm, VS_E_TYPE, "`**` needs a dict, not `%s`", lang_type_name(vm, more));
    while ((entry = lang_dict_next(more.as.dict, &at)) != NULL) {
        if (entry->key.kind != LANG_STR)
            return lang_fail(vm, VS_E_TYPE, "the names of keyword arguments must be strings");
        if (!lang_dict_lookup(vm, dict, entry->key, &old))
            return false;
        if (old != NULL)
            return lang_fail(vm, VS_E_TYPE, "the argument `%s` is given twice",
                             entry->key.as.str->text);
        if (!lang_dict_store(vm, dict, entry->key, lang_keep(entry->value)))
            return false;
    }
    return true;
}

static bool eval_kwargs_dict(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    struct lang_dict *dict;

    if (e->u.call.keyword_count == 0) {
        lang_push(vm, lang_unbound());
        return true;
    }
    dict = lang_dict_new(vm);
    lang_push(vm, lang_object(dict));
    for (uint32_t i = 0; i < e->u.call.keyword_count; i++) {
        const struct lang_keyword *kw = &e->u.call.keywords[i];

        if (!lang_eval(vm, f, kw->value))
            return false;
        f->at = kw->value;
        if (kw->name != NULL) {
            lang_dict_put(vm, dict, f->net->names[kw->name->id], lang_pop(vm));
            continue;
        }
        if (!add_keywords(vm, dict, vm->sp[-1]))
            return false;
        lang_drop(vm, lang_pop(vm));
    }
    return true;
}

bool lang_eval_call(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    struct lang_kwnames kw = {e->u.call.keyword_count, e->u.call.keywords, f->net->names};
    struct lang_value *at = vm->sp;
    uint32_t count;

    if (is_spread(e)) {
        if (!lang_eval(vm, f, e->u.call.func) || !eval_args_tuple(vm, f, e) ||
            !eval_kwargs_dict(vm, f, e))
            return false;
        f->at = e;
        lang_line(vm, f, lang_expr_line(e));
        return lang_call_spread(vm, at);
    }
    if (!lang_reserve(vm, e->u.call.args.count + e->u.call.keyword_count + LANG_HEADROOM) ||
        !eval_callee(vm, f, e->u.call.func, &count))
        return false;
    for (uint32_t i = 0; i < e->u.call.args.count; i++) {
        if (!lang_eval(vm, f, e->u.call.args.items[i]))
            return false;
    }
    for (uint32_t i = 0; i < e->u.call.keyword_count; i++) {
        if (!lang_eval(vm, f, e->u.call.keywords[i].value))
            return false;
    }
    f->at = e;
    lang_line(vm, f, lang_expr_line(e));
    return lang_call_at(vm, at, count + e->u.call.args.count, &kw);
}
