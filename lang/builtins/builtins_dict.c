/*
 * lang/builtins/builtins_dict.c - methods of dicts.
 *
 * For:            lang/builtins/builtins.h.
 * Must not know:  ops on tensors.
 * Invariant:      keys(), values() and items() are views: each loop over one starts a new iteration of the dict.
 */
#include <string.h>

#include "lang/builtins/builtins.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"
#include "lang/interp/text.h"

#define METHOD(name)                                                                               \
    static bool name(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)

static bool dict_self(struct lang_vm *vm, const struct lang_call *call, uint32_t least,
                      uint32_t most, struct lang_dict **out)
{
    if (call->arg_count < least || call->arg_count > most)
        return lang_args_exact(vm, call, call->builtin->name, least) && lang_false();
    if (call->kw.count > 0)
        return lang_fail(vm, VS_E_TYPE, "%s() takes no keyword arguments", call->builtin->name);
    if (call->args[0].kind != LANG_DICT)
        return lang_fail(vm, VS_E_TYPE, "%s() is a method of a dict", call->builtin->name);
    *out = call->args[0].as.dict;
    return true;
}

static bool view(struct lang_vm *vm, const struct lang_call *call, enum lang_iter_kind what,
                 struct lang_value *out)
{
    struct lang_iter *it;
    struct lang_dict *d;

    if (!dict_self(vm, call, 1, 1, &d))
        return false;
    it = lang_iter_new(vm, what, lang_keep(call->args[0]));
    it->is_view = true;
    *out = lang_object(it);
    return true;
}

METHOD(dict_keys)
{
    return view(vm, call, LANG_ITER_KEYS, out);
}

METHOD(dict_values)
{
    return view(vm, call, LANG_ITER_VALUES, out);
}

METHOD(dict_items)
{
    return view(vm, call, LANG_ITER_ITEMS, out);
}

METHOD(dict_get)
{
    struct lang_value *found;
    struct lang_dict *d;

    if (!dict_self(vm, call, 2, 3, &d) || !lang_dict_lookup(vm, d, call->args[1], &found))
        return false;
    *out = found != NULL          ? lang_keep(*found)
           : call->arg_count == 3 ? lang_keep(call->args[2])
                                  : lang_none();
    return true;
}

METHOD(dict_setdefault)
{
    struct lang_value value = call->arg_count == 3 ? call->args[2] : lang_none();
    struct lang_value *found;
    struct lang_dict *d;

    if (!dict_self(vm, call, 2, 3, &d) || !lang_dict_lookup(vm, d, call->args[1], &found))
        return false;
    if (found != NULL) {
        *out = lang_keep(*found);
        return true;
    }
    if (!lang_dict_store(vm, d, call->args[1], lang_keep(value)))
        return false;
    *out = lang_keep(value);
    return true;
}

METHOD(dict_pop)
{
    struct lang_dict *d;

    if (!dict_self(vm, call, 2, 3, &d) || !lang_dict_remove(vm, d, call->args[1], out))
        return false;
    if (lang_is_bound(*out))
        return true;
    if (call->arg_count < 3)
        return lang_fail(vm, VS_E_VALUE, "KeyError: pop() of a key that is not in the dict");
    *out = lang_keep(call->args[2]);
    return true;
}

METHOD(dict_popitem)
{
    struct lang_dict *d;
    struct lang_value key;
    struct lang_value value;

    if (!dict_self(vm, call, 1, 1, &d))
        return false;
    for (uint32_t i = d->used; i-- > 0;) {
        if (!lang_is_bound(d->entries[i].key))
            continue;
        key = lang_keep(d->entries[i].key);
        if (!lang_dict_remove(vm, d, key, &value)) {
            lang_drop(vm, key);
            return false;
        }
        *out = lang_object(lang_tuple_pair(vm, key, value));
        return true;
    }
    return lang_fail(vm, VS_E_VALUE, "KeyError: popitem() of an empty dict");
}

METHOD(dict_update)
{
    if (call->args[0].kind != LANG_DICT || call->arg_count > 2)
        return lang_fail(vm, VS_E_TYPE, "update() takes a dict or pairs, and keywords");
    if (call->arg_count == 2 && !lang_dict_update(vm, call->args[0].as.dict, call->args[1]))
        return false;
    for (uint32_t k = 0; k < call->kw.count; k++)
        lang_dict_put(vm, call->args[0].as.dict, lang_kwname(&call->kw, k),
                      lang_keep(call->args[call->arg_count + k]));
    *out = lang_none();
    return true;
}

METHOD(dict_copy)
{
    struct lang_dict *d;
    struct lang_dict *copy;

    if (!dict_self(vm, call, 1, 1, &d))
        return false;
    copy = lang_dict_new(vm);
    *out = lang_object(copy);
    return lang_dict_update(vm, copy, call->args[0]);
}

METHOD(dict_clear)
{
    struct lang_dict *d;

    if (!dict_self(vm, call, 1, 1, &d))
        return false;
    lang_dict_clear(vm, d);
    *out = lang_none();
    return true;
}

void lang_dict_methods_register(struct lang_vm *vm)
{
    struct lang_class *dict = vm->cls.dict;

    lang_method_add(vm, dict, "keys", dict_keys);
    lang_method_add(vm, dict, "values", dict_values);
    lang_method_add(vm, dict, "items", dict_items);
    lang_method_add(vm, dict, "get", dict_get);
    lang_method_add(vm, dict, "setdefault", dict_setdefault);
    lang_method_add(vm, dict, "pop", dict_pop);
    lang_method_add(vm, dict, "popitem", dict_popitem);
    lang_method_add(vm, dict, "update", dict_update);
    lang_method_add(vm, dict, "copy", dict_copy);
    lang_method_add(vm, dict, "clear", dict_clear);
}
