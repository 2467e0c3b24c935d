/*
 * lang/interp/call.c - calls: dispatch by kind of callable, and assignment of arguments to parameters.
 *
 * For:            lang/interp/call.h.
 * Must not know:  which functions exist.
 * Invariant:      arguments of a function of the net language are moved, not copied, to its slots.
 */
#include "lang/interp/call.h"

#include <inttypes.h>
#include <string.h>

#include "lang/interp/attr.h"
#include "lang/interp/decorate.h"
#include "lang/interp/interp.h"
#include "lang/interp/ops.h"

struct lang_string *lang_kwname(const struct lang_kwnames *kw, uint32_t i)
{
    return kw->ast != NULL ? kw->names[kw->ast[i].name->id] : kw->names[i];
}

/* ---- arguments of a function of the net language ---- */

static bool too_many(struct lang_vm *vm, const struct lang_rtcode *code, uint32_t given)
{
    return lang_fail(vm, VS_E_TYPE,
                     "%s() takes %" PRIu32 " positional argument%s, %" PRIu32 " given",
                     code->qualname->text, code->code->positional_count,
                     code->code->positional_count == 1 ? "" : "s", given);
}

/* Moves surplus positional arguments to a tuple in the slot of *args. */
static void pack_rest(struct lang_vm *vm, const struct lang_code *code, struct lang_value *slots,
                      const struct lang_value *rest, uint32_t count)
{
    struct lang_tuple *t = lang_tuple_new(vm, count);

    if (count > 0)
        memcpy(t->items, rest, count * sizeof(t->items[0]));
    slots[code->positional_count + code->keyword_only_count] = lang_object(t);
}

static bool location_keyword(struct lang_vm *vm, const struct lang_function *func,
                             struct lang_value *slots, struct lang_string *name,
                             struct lang_value *value)
{
    const struct lang_code *code = func->code->code;
    uint32_t named = code->positional_count + code->keyword_only_count;

    for (uint32_t i = code->positional_only_count; i < named; i++) {
        if (func->code->slot_names[i] != name)
            continue;
        if (lang_is_bound(slots[i]))
            return lang_fail(vm, VS_E_TYPE, "%s() got two values for the argument `%s`",
                             func->code->qualname->text, name->text);
        slots[i] = *value;
        *value = lang_unbound();
        return true;
    }
    if (code->has_kwargs) {
        lang_dict_put(vm, slots[code->param_count - 1].as.dict, name, *value);
        *value = lang_unbound();
        return true;
    }
    return lang_fail(vm, VS_E_TYPE, "%s() has no parameter `%s`", func->code->qualname->text,
                     name->text);
}

static bool fill_defaults(struct lang_vm *vm, const struct lang_function *func,
                          struct lang_value *slots)
{
    const struct lang_code *code = func->code->code;
    uint32_t named = code->positional_count + code->keyword_only_count;

    for (uint32_t i = 0; i < named; i++) {
        if (lang_is_bound(slots[i]))
            continue;
        if (func->defaults == NULL || !lang_is_bound(func->defaults[i]))
            return lang_fail(vm, VS_E_TYPE, "%s() needs the argument `%s`",
                             func->code->qualname->text, func->code->slot_names[i]->text);
        slots[i] = lang_keep(func->defaults[i]);
    }
    return true;
}

/*
 * The general case. Keyword values and surplus positional values stay above the slots until they are assigned; on
 * failure all values are on the stack, where the frame drops them.
 */
static bool bind_general(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                         const struct lang_kwnames *kw)
{
    const struct lang_function *func = at->as.function;
    const struct lang_code *code = func->code->code;
    struct lang_value *slots = at + 1;
    uint32_t placed = arg_count < code->positional_count ? arg_count : code->positional_count;
    uint32_t rest = arg_count - placed;
    uint32_t waiting = rest + kw->count;
    struct lang_value *wait;

    if (rest > 0 && !code->has_args)
        return too_many(vm, func->code, arg_count);
    if (!lang_reserve(vm, code->slot_count + waiting))
        return false;
    wait = slots + (code->slot_count > placed ? code->slot_count : placed);
    memmove(wait, slots + placed, waiting * sizeof(slots[0]));
    for (struct lang_value *v = slots + placed; v < wait; v++)
        *v = lang_unbound();
    vm->sp = wait + waiting;
    if (code->has_args) {
        pack_rest(vm, code, slots, wait, rest);
        for (uint32_t i = 0; i < rest; i++)
            wait[i] = lang_unbound();
    }
    if (code->has_kwargs)
        slots[code->param_count - 1] = lang_object(lang_dict_new(vm));
    for (uint32_t i = 0; i < kw->count; i++) {
        if (!location_keyword(vm, func, slots, lang_kwname(kw, i), &wait[rest + i]))
            return false;
    }
    vm->sp = slots + code->slot_count;
    return fill_defaults(vm, func, slots);
}

static bool call_function(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                          const struct lang_kwnames *kw)
{
    const struct lang_code *code = at->as.function->code->code;

    if (at->as.function->code->is_plain && arg_count == code->positional_count && kw->count == 0) {
        uint32_t more = code->slot_count - arg_count;

        if (!lang_reserve(vm, more))
            return false;
        memset(vm->sp, 0, more * sizeof(vm->sp[0])); /* LANG_UNBOUND is 0 */
        vm->sp += more;
    } else if (!bind_general(vm, at, arg_count, kw)) {
        return false;
    }
    return lang_run_function(vm, at);
}

/* ---- other callables ---- */

static bool call_builtin(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                         const struct lang_kwnames *kw)
{
    struct lang_call call = {at + 1, arg_count, *kw, at->as.builtin, NULL};
    struct lang_value result = lang_none();

    if (at->as.builtin->head.flags & LANG_BUILTIN_DECORATED)
        return lang_context_run(vm, at, arg_count, kw);
    if (!at->as.builtin->fn(vm, &call, &result))
        return false;
    VS_ASSERT(vm->sp == at + 1 + arg_count + kw->count);
    lang_replace(vm, arg_count + kw->count + 1, result);
    return true;
}

/* Pushes copies of `count` values. */
static void push_copies(struct lang_vm *vm, const struct lang_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        lang_push(vm, lang_keep(values[i]));
}

/* Calls a special method of at[0] with at[0] as self and copies of the arguments; leaves the result on top. */
static bool call_method_on_copies(struct lang_vm *vm, struct lang_value method,
                                  struct lang_value self, const struct lang_value *args,
                                  uint32_t arg_count, const struct lang_kwnames *kw)
{
    struct lang_value *at = vm->sp;

    if (!lang_reserve(vm, arg_count + kw->count + 2))
        return false;
    lang_push(vm, lang_keep(method));
    lang_push(vm, lang_keep(self));
    push_copies(vm, args, arg_count + kw->count);
    return lang_call_at(vm, at, arg_count + 1, kw);
}

static bool call_class(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                       const struct lang_kwnames *kw)
{
    struct lang_class *cls = at->as.cls;
    struct lang_value init;
    struct lang_value result = lang_none();

    if (cls->make != NULL) {
        struct lang_call call = {at + 1, arg_count, *kw, NULL, cls};

        if (!cls->make(vm, &call, &result))
            return false;
        lang_replace(vm, arg_count + kw->count + 1, result);
        return true;
    }
    result = lang_object(lang_instance_new(vm, cls));
    lang_push(vm, result);
    init = lang_class_find(vm, cls, lang_name(vm, LANG_N_init));
    if (!lang_is_bound(init)) {
        if (arg_count + kw->count > 0)
            return lang_fail(vm, VS_E_TYPE, "%s() takes no arguments", cls->name->text);
    } else {
        if (!call_method_on_copies(vm, init, result, at + 1, arg_count, kw))
            return false;
        if (vm->sp[-1].kind != LANG_NONE)
            return lang_fail(vm, VS_E_TYPE, "__init__() should return None, not `%s`",
                             lang_type_name(vm, vm->sp[-1]));
        lang_drop(vm, lang_pop(vm));
    }
    vm->sp--; /* the instance */
    lang_replace(vm, arg_count + kw->count + 1, result);
    return true;
}

static bool call_instance(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                          const struct lang_kwnames *kw)
{
    struct lang_class *cls = at->as.instance->cls;
    struct lang_value method = lang_class_find(vm, cls, lang_name(vm, LANG_N_call));
    struct lang_value result;

    if (!lang_is_bound(method)) {
        if (lang_as_module(*at) != NULL)
            return vm->module_type->call(vm, at, arg_count, kw);
        return lang_fail(vm, VS_E_TYPE, "an object of class `%s` cannot be called",
                         cls->name->text);
    }
    if (!call_method_on_copies(vm, method, *at, at + 1, arg_count, kw))
        return false;
    result = lang_pop(vm);
    lang_replace(vm, arg_count + kw->count + 1, result);
    return true;
}

/* [method, args…] becomes [function, self, args…]. */
static bool call_bound(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                       const struct lang_kwnames *kw)
{
    struct lang_value method = *at;

    if (!lang_reserve(vm, 1))
        return false;
    memmove(at + 2, at + 1, (arg_count + kw->count) * sizeof(*at));
    vm->sp++;
    at[0] = lang_keep(method.as.method->func);
    at[1] = lang_keep(method.as.method->self);
    lang_drop(vm, method);
    return lang_call_at(vm, at, arg_count + 1, kw);
}

bool lang_call_at(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                  const struct lang_kwnames *kw)
{
    switch (at->kind) {
    case LANG_FUNCTION:
        return call_function(vm, at, arg_count, kw);
    case LANG_METHOD:
        return call_bound(vm, at, arg_count, kw);
    case LANG_BUILTIN:
        return call_builtin(vm, at, arg_count, kw);
    case LANG_CLASS:
        return call_class(vm, at, arg_count, kw);
    case LANG_INSTANCE:
        return call_instance(vm, at, arg_count, kw);
    case LANG_CONTEXT:
        return lang_context_decorate(vm, at, arg_count, kw);
    default:
        return lang_fail(vm, VS_E_TYPE, "a value of type `%s` cannot be called",
                         lang_type_name(vm, *at));
    }
}

/* Copies the names of a dict of keyword arguments to *names (freed by the caller) and pushes the values. */
static bool push_keywords(struct lang_vm *vm, const struct lang_dict *dict,
                          struct lang_string ***names, uint32_t *count)
{
    struct lang_entry *e;
    uint32_t at = 0;

    *names = NULL;
    *count = 0;
    if (dict == NULL || dict->live == 0)
        return true;
    if (!lang_reserve(vm, dict->live))
        return false;
    *names = vs_alloc(dict->live * sizeof(**names));
    while ((e = lang_dict_next(dict, &at)) != NULL) {
        VS_ASSERT(e->key.kind == LANG_STR);
        (*names)[(*count)++] = lang_intern_str(vm, e->key.as.str);
        lang_push(vm, lang_keep(e->value));
    }
    return true;
}

bool lang_call_spread(struct lang_vm *vm, struct lang_value *at)
{
    struct lang_tuple *args = at[1].as.tuple;
    struct lang_dict *kwargs = lang_is_bound(at[2]) ? at[2].as.dict : NULL;
    bool moves = at->kind == LANG_FUNCTION;
    struct lang_value *target = moves ? at : vm->sp;
    struct lang_string **names = NULL;
    struct lang_kwnames kw = {0, NULL, NULL};
    struct lang_value tuple = at[1];
    struct lang_value dict = at[2];
    uint32_t count = args->count;
    struct lang_value result;
    bool ok;

    if (!lang_reserve(vm, count + 1))
        return false;
    if (moves)
        vm->sp = at + 1; /* tuple and dict are kept until their items are on the stack */
    else
        lang_push(vm, lang_keep(*at));
    push_copies(vm, args->items, count);
    ok = push_keywords(vm, kwargs, &names, &kw.count);
    kw.names = names;
    if (moves) {
        lang_drop(vm, tuple);
        lang_drop(vm, dict);
    }
    ok = ok && lang_call_at(vm, target, count, &kw);
    vs_free(names);
    if (!ok || moves)
        return ok;
    result = lang_pop(vm);
    lang_replace(vm, 3, result);
    return true;
}

bool lang_call_value(struct lang_vm *vm, struct lang_value callable, const struct lang_value *args,
                     uint32_t arg_count, struct lang_value *out)
{
    const struct lang_kwnames none = {0, NULL, NULL};
    struct lang_value *at = vm->sp;

    if (!lang_reserve(vm, arg_count + 1))
        return false;
    lang_push(vm, lang_keep(callable));
    push_copies(vm, args, arg_count);
    if (!lang_call_at(vm, at, arg_count, &none)) {
        lang_unwind(vm, at);
        return false;
    }
    *out = lang_pop(vm);
    return true;
}
