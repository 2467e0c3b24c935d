/*
 * lang/torch/buckets.c - see buckets.h.
 *
 * Must not know:  optimizers.
 * Invariant:      items are appended index by index, each to all lists; hold events are emitted in that order.
 */
#include "lang/torch/buckets.h"

#include "engine/core/tensor.h"
#include "lang/value/object.h"
#include "lang/value/vm.h"

static bool is_alike(struct lang_value a, struct lang_value b)
{
    return a.kind == LANG_TENSOR && b.kind == LANG_TENSOR &&
           a.as.tensor->dtype == b.as.tensor->dtype &&
           a.as.tensor->storage->on_host == b.as.tensor->storage->on_host;
}

/* Appends the items at index i of each list that is not empty, and i itself. */
static bool deal_one(struct lang_vm *vm, const struct lang_list *lists, int64_t i,
                     const struct lang_list *bucket)
{
    for (uint32_t j = 0; j <= lists->count; j++) {
        struct lang_value *items = NULL;
        uint32_t count = 0;

        if (bucket->items[j].kind != LANG_LIST)
            return false;
        if (j == lists->count) {
            lang_list_append(vm, bucket->items[j].as.list, lang_int(i));
        } else if (lang_items(lists->items[j], &items, &count) && count) {
            if (i >= count)
                return false;
            lang_list_append(vm, bucket->items[j].as.list, lang_keep(items[i]));
        }
    }
    return true;
}

bool lang_native_deal(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct lang_value *args = call->args;
    struct lang_value *first = NULL;
    uint32_t count = 0;
    int64_t from;
    int64_t i;

    if (!lang_args_exact(vm, call, "_deal", 3))
        return false;
    from = lang_is_int(args[1]) ? args[1].as.i : -1;
    if (args[0].kind != LANG_LIST || args[2].kind != LANG_LIST || args[0].as.list->count == 0 ||
        args[2].as.list->count != args[0].as.list->count + 1 ||
        !lang_items(args[0].as.list->items[0], &first, &count) || from < 0 || from >= count)
        return lang_fail(vm, VS_E_TYPE, "_deal() takes lists, a place in them, and a bucket");
    for (i = from; i < count && (i == from || is_alike(first[from], first[i])); i++)
        if (!deal_one(vm, args[0].as.list, i, args[2].as.list))
            return lang_fail(vm, VS_E_TYPE,
                             "_deal(): a list is too short, or a bucket has no lists");
    *out = lang_int(i);
    return true;
}
