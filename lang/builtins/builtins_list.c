/*
 * lang/builtins/builtins_list.c - methods of lists, tuples and sets.
 *
 * For:            lang/builtins/builtins.h.
 * Must not know:  ops on tensors.
 * Invariant:      removed items are released after the list is in its new state.
 */
#include <inttypes.h>
#include <string.h>

#include "lang/builtins/builtins.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"
#include "lang/value/hold.h"

#define METHOD(name)                                                                               \
    static bool name(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)

/* Checks self, a list, and that there are `count` arguments with it. */
static bool list_self(struct lang_vm *vm, const struct lang_call *call, uint32_t count,
                      struct lang_list **out)
{
    if (!lang_args_exact(vm, call, call->builtin->name, count))
        return false;
    if (call->args[0].kind != LANG_LIST)
        return lang_fail(vm, VS_E_TYPE, "%s() is a method of a list", call->builtin->name);
    *out = call->args[0].as.list;
    return true;
}

METHOD(list_append)
{
    struct lang_list *l;

    if (!list_self(vm, call, 2, &l))
        return false;
    lang_list_append(vm, l, lang_keep(call->args[1]));
    *out = lang_none();
    return true;
}

METHOD(list_extend)
{
    struct lang_list *l;
    struct lang_value item;
    struct lang_value it;

    if (!list_self(vm, call, 2, &l))
        return false;
    if (call->args[1].kind == LANG_LIST && call->args[1].as.list == l)
        return lang_inplace(vm, LANG_OP_ADD, call->args[0], call->args[1], &item) &&
               (lang_drop(vm, item), *out = lang_none(), true);
    if (!lang_iter_of(vm, call->args[1], &it))
        return false;
    while (lang_iter_next(vm, it, &item) && lang_is_bound(item))
        lang_list_append(vm, l, item);
    lang_drop(vm, it);
    *out = lang_none();
    return !vm->failed;
}

METHOD(list_insert)
{
    struct lang_list *l;
    int64_t at;

    if (!list_self(vm, call, 3, &l))
        return false;
    if (!lang_is_int(call->args[1]))
        return lang_fail(vm, VS_E_TYPE, "insert(): the index must be an integer");
    at = call->args[1].as.i;
    if (at < 0)
        at = at + l->count < 0 ? 0 : at + l->count;
    if (at > l->count)
        at = l->count;
    lang_list_insert(vm, l, (uint32_t)at, lang_keep(call->args[2]));
    *out = lang_none();
    return true;
}

METHOD(list_pop)
{
    struct lang_list *l;
    int64_t at = -1;

    if (!list_self(vm, call, call->arg_count == 2 ? 2 : 1, &l))
        return false;
    if (call->arg_count == 2 && !lang_is_int(call->args[1]))
        return lang_fail(vm, VS_E_TYPE, "pop(): the index must be an integer");
    if (call->arg_count == 2)
        at = call->args[1].as.i;
    if (at < 0)
        at += l->count;
    if (at < 0 || at >= l->count)
        return lang_fail(vm, VS_E_VALUE,
                         l->count == 0 ? "pop() from an empty list"
                                       : "pop(): the index is out of range");
    *out = lang_list_pop(vm, l, (uint32_t)at);
    return true;
}

METHOD(list_clear)
{
    struct lang_list *l;

    if (!list_self(vm, call, 1, &l))
        return false;
    lang_list_splice(vm, l, 0, l->count, NULL, 0);
    *out = lang_none();
    return true;
}

METHOD(list_copy)
{
    struct lang_list *l;
    struct lang_list *copy;

    if (!list_self(vm, call, 1, &l) || !lang_list_of(vm, call->args[0], &copy))
        return false;
    *out = lang_object(copy);
    return true;
}

METHOD(list_reverse)
{
    struct lang_list *l;

    if (!list_self(vm, call, 1, &l))
        return false;
    if (l->held_by != NULL)
        lang_unhold_items(vm, l);
    for (uint32_t i = 0, j = l->count; i + 1 < j; i++) {
        struct lang_value v = l->items[--j];

        l->items[j] = l->items[i];
        l->items[i] = v;
    }
    if (l->held_by != NULL)
        lang_hold_items(vm, l);
    *out = lang_none();
    return true;
}

METHOD(list_sort)
{
    struct lang_value a[3];

    if (!LANG_ARGS(vm, call, "sort", 1, a, "self", "*key", "reverse"))
        return false;
    *out = lang_none();
    return lang_list_sort(vm, a[0].as.list, a[1], lang_is_bound(a[2]) && a[2].as.i != 0);
}

/* Index of the value in a list or tuple, -1 where it is not in it. */
static bool find(struct lang_vm *vm, const struct lang_call *call, int64_t *at, int64_t *count)
{
    struct lang_value *items;
    uint32_t len;

    *at = -1;
    *count = 0;
    if (!lang_args_exact(vm, call, call->builtin->name, 2))
        return false;
    if (!lang_items(call->args[0], &items, &len))
        return lang_fail(vm, VS_E_TYPE, "%s() is a method of a list or tuple", call->builtin->name);
    for (uint32_t i = 0; i < len; i++) {
        bool same = lang_is_same(items[i], call->args[1]);

        if (!same && !lang_equal(vm, items[i], call->args[1], &same))
            return false;
        if (same && *at < 0)
            *at = i;
        *count += same;
    }
    return true;
}

METHOD(seq_index)
{
    int64_t at;
    int64_t count;

    if (!find(vm, call, &at, &count))
        return false;
    if (at < 0)
        return lang_fail(vm, VS_E_VALUE, "index(): the value is not in the list");
    *out = lang_int(at);
    return true;
}

METHOD(seq_count)
{
    int64_t at;
    int64_t count;

    if (!find(vm, call, &at, &count))
        return false;
    *out = lang_int(count);
    return true;
}

METHOD(list_remove)
{
    int64_t at;
    int64_t count;

    if (!find(vm, call, &at, &count))
        return false;
    if (at < 0)
        return lang_fail(vm, VS_E_VALUE, "remove(): the value is not in the list");
    lang_drop(vm, lang_list_pop(vm, call->args[0].as.list, (uint32_t)at));
    *out = lang_none();
    return true;
}

/* torch.Size.numel() */
METHOD(size_numel)
{
    int64_t n = 1;

    if (!lang_args_exact(vm, call, "numel", 1) || call->args[0].kind != LANG_TUPLE)
        return false;
    for (uint32_t i = 0; i < call->args[0].as.tuple->count; i++) {
        struct lang_value v = call->args[0].as.tuple->items[i];

        if (!lang_is_int(v) || __builtin_mul_overflow(n, v.as.i, &n))
            return lang_fail(vm, VS_E_OVERFLOW, "the number of elements does not fit in 64 bits");
    }
    *out = lang_int(n);
    return true;
}

/* ---- sets ---- */

METHOD(set_add)
{
    *out = lang_none();
    if (!lang_args_exact(vm, call, "add", 2) || call->args[0].kind != LANG_SET)
        return false;
    return lang_dict_store(vm, call->args[0].as.set->keys, call->args[1], lang_none());
}

METHOD(set_discard)
{
    struct lang_value old;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "discard", 2) || call->args[0].kind != LANG_SET)
        return false;
    return lang_dict_remove(vm, call->args[0].as.set->keys, call->args[1], &old);
}

void lang_list_methods_register(struct lang_vm *vm)
{
    struct lang_class *list = vm->cls.list;

    lang_method_add(vm, list, "append", list_append);
    lang_method_add(vm, list, "extend", list_extend);
    lang_method_add(vm, list, "insert", list_insert);
    lang_method_add(vm, list, "pop", list_pop);
    lang_method_add(vm, list, "remove", list_remove);
    lang_method_add(vm, list, "clear", list_clear);
    lang_method_add(vm, list, "copy", list_copy);
    lang_method_add(vm, list, "reverse", list_reverse);
    lang_method_add(vm, list, "sort", list_sort);
    lang_method_add(vm, list, "index", seq_index);
    lang_method_add(vm, list, "count", seq_count);
    lang_method_add(vm, vm->cls.tuple, "index", seq_index);
    lang_method_add(vm, vm->cls.tuple, "count", seq_count);
    lang_method_add(vm, vm->cls.size, "numel", size_numel);
    lang_method_add(vm, vm->cls.set, "add", set_add);
    lang_method_add(vm, vm->cls.set, "discard", set_discard);
}
