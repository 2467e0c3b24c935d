/*
 * lang/builtins/builtins_iter.c - built-in functions that return iterators or consume iterables.
 *
 * For:            lang/builtins/builtins.h.
 * Must not know:  ops on tensors.
 * Invariant:      functions that consume an iterable release each item where CPython does.
 */
#include <string.h>

#include "lang/builtins/builtins.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"
#include "lang/value/hold.h"

#define NATIVE(name)                                                                               \
    static bool name(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)

/* ---- iterators ---- */

NATIVE(b_iter)
{
    return lang_args_exact(vm, call, "iter", 1) && lang_iter_of(vm, call->args[0], out);
}

NATIVE(b_next)
{
    if (call->arg_count != 1 && call->arg_count != 2)
        return lang_args_exact(vm, call, "next", 1);
    if (call->args[0].kind == LANG_ITER ? call->args[0].as.iter->is_view
                                        : call->args[0].kind != LANG_GENERATOR)
        return lang_fail(vm, VS_E_TYPE, "next() needs an iterator, not `%s`",
                         lang_type_name(vm, call->args[0]));
    if (!lang_iter_next(vm, call->args[0], out))
        return false;
    if (lang_is_bound(*out))
        return true;
    if (call->arg_count == 1)
        return lang_fail(vm, VS_E_VALUE, "next(): the iterator is at its end");
    *out = lang_keep(call->args[1]);
    return true;
}

NATIVE(b_reversed)
{
    struct lang_value *items;
    struct lang_iter *it;
    struct lang_value v;
    uint32_t count;

    if (!lang_args_exact(vm, call, "reversed", 1))
        return false;
    v = call->args[0];
    if (v.kind == LANG_RANGE) {
        it = lang_iter_new(vm, LANG_ITER_RANGE, lang_none());
        it->left = v.as.range->count;
        it->step = v.as.range->count > 0 ? -v.as.range->step : 0;
        it->at = v.as.range->count > 0
                     ? v.as.range->start + (v.as.range->count - 1) * v.as.range->step
                     : 0;
        *out = lang_object(it);
        return true;
    }
    if (lang_items(v, &items, &count)) {
        it = lang_iter_new(vm, LANG_ITER_REVERSED, lang_keep(v));
    } else {
        struct lang_list *list;

        if (!lang_list_of(vm, v, &list))
            return false;
        count = list->count;
        it = lang_iter_new(vm, LANG_ITER_REVERSED, lang_object(list));
    }
    it->left = count;
    *out = lang_object(it);
    return true;
}

NATIVE(b_enumerate)
{
    struct lang_value a[2];
    struct lang_value source;
    struct lang_iter *it;

    if (!LANG_ARGS(vm, call, "enumerate", 1, a, "iterable", "start"))
        return false;
    if (lang_is_bound(a[1]) && !lang_is_int(a[1]))
        return lang_fail(vm, VS_E_TYPE, "enumerate(): `start` must be an integer");
    if (!lang_iter_of(vm, a[0], &source))
        return false;
    it = lang_iter_new(vm, LANG_ITER_ENUMERATE, source);
    it->at = lang_is_bound(a[1]) ? a[1].as.i : 0;
    *out = lang_object(it);
    return true;
}

/* Iterators over the arguments from `from` on, in a new tuple; NULL and a failure where one cannot be iterated over. */
static struct lang_tuple *iterators(struct lang_vm *vm, const struct lang_call *call, uint32_t from)
{
    struct lang_tuple *sources = lang_tuple_new(vm, call->arg_count - from);

    for (uint32_t i = from; i < call->arg_count; i++) {
        sources->items[i - from] = lang_unbound();
        if (!lang_iter_of(vm, call->args[i], &sources->items[i - from])) {
            sources->items[i - from] = lang_unbound();
            lang_drop_obj(vm, sources);
            return NULL;
        }
    }
    return sources;
}

/* filter(function, iterable): an iterator, as in Python 3; so an optimizer reads it once. */
NATIVE(b_filter)
{
    struct lang_value source;
    struct lang_iter *it;

    if (!lang_args_exact(vm, call, "filter", 2) || !lang_iter_of(vm, call->args[1], &source))
        return false;
    it = lang_iter_new(vm, LANG_ITER_FILTER, source);
    it->function = lang_keep(call->args[0]);
    *out = lang_object(it);
    return true;
}

NATIVE(b_map)
{
    struct lang_tuple *sources;
    struct lang_iter *it;

    if (call->arg_count < 2 || call->kw.count > 0)
        return lang_fail(vm, VS_E_TYPE, "map() takes a function and at least one iterable");
    sources = iterators(vm, call, 1);
    if (sources == NULL)
        return false;
    it = lang_iter_new(vm, LANG_ITER_MAP, lang_object(sources));
    it->function = lang_keep(call->args[0]);
    *out = lang_object(it);
    return true;
}

NATIVE(b_zip)
{
    struct lang_tuple *sources = iterators(vm, call, 0);
    struct lang_iter *it;

    if (sources == NULL)
        return false;
    it = lang_iter_new(vm, LANG_ITER_ZIP, lang_object(sources));
    for (uint32_t k = 0; k < call->kw.count; k++) {
        if (strcmp(lang_kwname(&call->kw, k)->text, "strict") != 0) {
            lang_drop_obj(vm, it);
            return lang_fail(vm, VS_E_TYPE, "zip() takes strict= as its only keyword");
        }
        it->strict = call->args[call->arg_count + k].as.i != 0;
    }
    *out = lang_object(it);
    return true;
}

/* ---- functions that consume an iterable ---- */

NATIVE(b_sum)
{
    struct lang_value a[2];
    struct lang_value it;
    struct lang_value item;
    struct lang_value total;
    bool ok = true;

    if (!LANG_ARGS(vm, call, "sum", 1, a, "iterable", "start"))
        return false;
    if (!lang_iter_of(vm, a[0], &it))
        return false;
    total = lang_is_bound(a[1]) ? lang_keep(a[1]) : lang_int(0);
    while (ok && lang_iter_next(vm, it, &item) && lang_is_bound(item)) {
        struct lang_value next;

        ok = lang_binary(vm, LANG_OP_ADD, total, item, &next);
        lang_drop(vm, total);
        lang_drop(vm, item);
        total = ok ? next : lang_none();
    }
    lang_drop(vm, it);
    if (vm->failed) {
        lang_drop(vm, total);
        return false;
    }
    *out = total;
    return true;
}

static bool any_or_all(struct lang_vm *vm, const struct lang_call *call, const char *name,
                       bool stop_at, struct lang_value *out)
{
    struct lang_value it;
    struct lang_value item;
    bool yes = !stop_at;

    if (!lang_args_exact(vm, call, name, 1) || !lang_iter_of(vm, call->args[0], &it))
        return false;
    while (yes != stop_at && lang_iter_next(vm, it, &item) && lang_is_bound(item)) {
        bool ok = lang_truth(vm, item, &yes);

        lang_drop(vm, item);
        if (!ok)
            break;
    }
    lang_drop(vm, it);
    *out = lang_bool(yes);
    return !vm->failed;
}

NATIVE(b_any)
{
    return any_or_all(vm, call, "any", true, out);
}

NATIVE(b_all)
{
    return any_or_all(vm, call, "all", false, out);
}

/* The value by which an item is compared: key(item), or the item. */
static bool key_of(struct lang_vm *vm, struct lang_value key, struct lang_value item,
                   struct lang_value *out)
{
    if (lang_is_bound(key) && key.kind != LANG_NONE)
        return lang_call_value(vm, key, &item, 1, out);
    *out = lang_keep(item);
    return true;
}

/* min() or max() of an iterator; *best and its key are replaced by each better item. */
static bool best_of(struct lang_vm *vm, struct lang_value it, struct lang_value key, bool greatest,
                    struct lang_value *best)
{
    struct lang_value best_key = lang_unbound();
    struct lang_value item;
    bool ok = true;

    *best = lang_unbound();
    while (ok && lang_iter_next(vm, it, &item) && lang_is_bound(item)) {
        struct lang_value item_key;
        bool better = true;

        ok = key_of(vm, key, item, &item_key);
        if (!ok) {
            lang_drop(vm, item);
            break;
        }
        if (lang_is_bound(*best))
            ok = greatest ? lang_less(vm, best_key, item_key, &better)
                          : lang_less(vm, item_key, best_key, &better);
        if (ok && better) {
            lang_assign(vm, &best_key, item_key);
            lang_assign(vm, best, item);
        } else {
            lang_drop(vm, item_key);
            lang_drop(vm, item);
        }
    }
    lang_drop(vm, best_key);
    if (!vm->failed)
        return true;
    lang_drop(vm, *best);
    return false;
}

static bool min_or_max(struct lang_vm *vm, const struct lang_call *call, bool greatest,
                       struct lang_value *out)
{
    const char *function = greatest ? "max" : "min";
    struct lang_value key = lang_unbound();
    struct lang_value fallback = lang_unbound();
    struct lang_value it;
    bool ok;

    for (uint32_t k = 0; k < call->kw.count; k++) {
        const char *name = lang_kwname(&call->kw, k)->text;

        if (strcmp(name, "key") == 0)
            key = call->args[call->arg_count + k];
        else if (strcmp(name, "default") == 0)
            fallback = call->args[call->arg_count + k];
        else
            return lang_fail(vm, VS_E_TYPE, "%s() has no parameter `%s`", function, name);
    }
    if (call->arg_count == 0)
        return lang_fail(vm, VS_E_TYPE, "%s() needs at least one argument", function);
    if (call->arg_count == 1) {
        if (!lang_iter_of(vm, call->args[0], &it))
            return false;
    } else {
        struct lang_value all = lang_object(lang_args_tuple(vm, call, 0));

        ok = lang_iter_of(vm, all, &it);
        lang_drop(vm, all);
        if (!ok)
            return false;
    }
    ok = best_of(vm, it, key, greatest, out);
    lang_drop(vm, it);
    if (ok && !lang_is_bound(*out)) {
        if (!lang_is_bound(fallback))
            return lang_fail(vm, VS_E_VALUE, "%s() of an empty iterable", function);
        *out = lang_keep(fallback);
    }
    return ok;
}

NATIVE(b_min)
{
    return min_or_max(vm, call, false, out);
}

NATIVE(b_max)
{
    return min_or_max(vm, call, true, out);
}

/* A stable merge sort by keys; on failure the order is unspecified. */
static bool merge_sort(struct lang_vm *vm, struct lang_value *pairs, struct lang_value *spare,
                       uint32_t count, bool reverse)
{
    uint32_t half = count / 2;
    uint32_t i = 0;
    uint32_t j = half;

    if (count < 2)
        return true;
    if (!merge_sort(vm, pairs, spare, half, reverse) ||
        !merge_sort(vm, pairs + 2 * half, spare, count - half, reverse))
        return false;
    memcpy(spare, pairs, 2 * count * sizeof(*pairs));
    for (uint32_t k = 0; k < count; k++) {
        bool second = false;

        if (i < half && j < count) {
            bool ok = reverse ? lang_less(vm, spare[2 * i], spare[2 * j], &second)
                              : lang_less(vm, spare[2 * j], spare[2 * i], &second);

            if (!ok) {
                memcpy(pairs, spare, 2 * count * sizeof(*pairs));
                return false;
            }
        } else {
            second = i >= half;
        }
        memcpy(pairs + 2 * k, spare + 2 * (second ? j++ : i++), 2 * sizeof(*pairs));
    }
    return true;
}

bool lang_list_sort(struct lang_vm *vm, struct lang_list *list, struct lang_value key, bool reverse)
{
    uint32_t count = list->count;
    struct lang_value *pairs = vs_calloc(count + 1, 4 * sizeof(*pairs));
    bool ok = true;

    if (list->held_by != NULL)
        lang_unhold_items(vm, list);
    for (uint32_t i = 0; i < count; i++)
        pairs[2 * i + 1] = list->items[i];
    for (uint32_t i = 0; i < count && ok; i++)
        ok = key_of(vm, key, list->items[i], &pairs[2 * i]);
    ok = ok && merge_sort(vm, pairs, pairs + 2 * (count + 1), count, reverse);
    for (uint32_t i = 0; i < count; i++) {
        list->items[i] = pairs[2 * i + 1];
        lang_drop(vm, pairs[2 * i]);
    }
    if (list->held_by != NULL)
        lang_hold_items(vm, list);
    vs_free(pairs);
    return ok && !vm->failed;
}

NATIVE(b_sorted)
{
    struct lang_value a[3];
    struct lang_list *list;

    if (!LANG_ARGS(vm, call, "sorted", 1, a, "iterable", "*key", "reverse") ||
        !lang_list_of(vm, a[0], &list))
        return false;
    if (!lang_list_sort(vm, list, a[1], lang_is_bound(a[2]) && a[2].as.i != 0)) {
        lang_drop_obj(vm, list);
        return false;
    }
    *out = lang_object(list);
    return true;
}

void lang_iter_builtins_register(struct lang_vm *vm)
{
    static const struct {
        const char *name;
        lang_native_fn *fn;
    } table[] = {
        {"iter", b_iter},         {"next", b_next},
        {"reversed", b_reversed}, {"enumerate", b_enumerate},
        {"filter", b_filter},     {"map", b_map},
        {"zip", b_zip},           {"sum", b_sum},
        {"any", b_any},           {"all", b_all},
        {"min", b_min},           {"max", b_max},
        {"sorted", b_sorted},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        lang_native(vm, "builtins", table[i].name, table[i].fn, NULL);
}
