/*
 * lang/value/object_seq.c - tuples and lists.
 *
 * For:            lang/value/object.h.
 * Must not know:  how they are indexed or printed.
 * Invariant:      a list with names (held_by) emits a hold or drop event for each tensor added or removed. Removed
 *                 items are released after the list is in its new state.
 */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "lang/value/hold.h"
#include "lang/value/object.h"

struct lang_tuple *lang_tuple_new(struct lang_vm *vm, uint32_t count)
{
    struct lang_tuple *t;

    t = lang_obj_new(vm, LANG_TUPLE, sizeof(*t) + count * sizeof(t->items[0]));
    t->count = count;
    return t;
}

struct lang_tuple *lang_tuple_pair(struct lang_vm *vm, struct lang_value a_taken,
                                   struct lang_value b_taken)
{
    struct lang_tuple *t = lang_tuple_new(vm, 2);

    t->items[0] = a_taken;
    t->items[1] = b_taken;
    return t;
}

struct lang_tuple *lang_size_new(struct lang_vm *vm, const int64_t *sizes, int count)
{
    struct lang_tuple *t = lang_tuple_new(vm, (uint32_t)count);

    t->head.flags = LANG_TUPLE_SIZE;
    for (int i = 0; i < count; i++)
        t->items[i] = lang_int(sizes[i]);
    return t;
}

bool lang_items(struct lang_value v, struct lang_value **items, uint32_t *count)
{
    if (v.kind == LANG_TUPLE) {
        *items = v.as.tuple->items;
        *count = v.as.tuple->count;
        return true;
    }
    if (v.kind == LANG_LIST) {
        *items = v.as.list->items;
        *count = v.as.list->count;
        return true;
    }
    return false;
}

/* ---- lists ---- */

struct lang_list *lang_list_new(struct lang_vm *vm, uint32_t cap)
{
    struct lang_list *l = lang_obj_new(vm, LANG_LIST, sizeof(*l));

    if (cap > 0) {
        l->items = vs_alloc(cap * sizeof(l->items[0]));
        l->cap = cap;
    }
    return l;
}

static void reserve(struct lang_list *l, uint32_t count)
{
    uint32_t cap = l->cap < 4 ? 4 : l->cap;

    if (count <= l->cap)
        return;
    VS_ASSERT(count < UINT32_MAX / 2);
    while (cap < count)
        cap += cap / 2 + 1;
    l->items = vs_realloc(l->items, cap, sizeof(l->items[0]));
    l->cap = cap;
}

void lang_list_append(struct lang_vm *vm, struct lang_list *list, struct lang_value taken)
{
    reserve(list, list->count + 1);
    list->items[list->count++] = taken;
    if (list->held_by != NULL)
        lang_hold_item(vm, list->held_by, lang_int(list->count - 1), taken);
}

void lang_list_splice(struct lang_vm *vm, struct lang_list *list, uint32_t at, uint32_t count,
                      struct lang_value *taken, uint32_t new_count)
{
    struct lang_value *old = NULL;
    uint32_t tail = list->count - at - count;

    VS_ASSERT(at <= list->count && count <= list->count - at);
    if (list->held_by != NULL)
        lang_unhold_items(vm, list);
    if (count > 0) {
        old = vs_alloc(count * sizeof(*old));
        memcpy(old, list->items + at, count * sizeof(*old));
    }
    reserve(list, at + new_count + tail);
    if (tail > 0)
        memmove(list->items + at + new_count, list->items + at + count,
                tail * sizeof(list->items[0]));
    if (new_count > 0)
        memcpy(list->items + at, taken, new_count * sizeof(list->items[0]));
    list->count = at + new_count + tail;
    if (list->held_by != NULL)
        lang_hold_items(vm, list);
    for (uint32_t i = count; i-- > 0;)
        lang_drop(vm, old[i]);
    vs_free(old);
}

void lang_list_insert(struct lang_vm *vm, struct lang_list *list, uint32_t at,
                      struct lang_value taken)
{
    lang_list_splice(vm, list, at, 0, &taken, 1);
}

struct lang_value lang_list_pop(struct lang_vm *vm, struct lang_list *list, uint32_t at)
{
    struct lang_value v = list->items[at];
    uint32_t tail = list->count - at - 1;

    VS_ASSERT(at < list->count);
    if (tail == 0) {
        if (list->held_by != NULL)
            lang_unhold_item(vm, list->held_by, lang_int(at), v);
        list->count--;
        return v;
    }
    if (list->held_by != NULL)
        lang_unhold_items(vm, list);
    memmove(list->items + at, list->items + at + 1, tail * sizeof(list->items[0]));
    list->count--;
    if (list->held_by != NULL)
        lang_hold_items(vm, list);
    return v;
}

void lang_list_set(struct lang_vm *vm, struct lang_list *list, uint32_t at, struct lang_value taken)
{
    struct lang_value old = list->items[at];

    VS_ASSERT(at < list->count);
    list->items[at] = taken;
    if (list->held_by != NULL) {
        lang_hold_item(vm, list->held_by, lang_int(at), taken);
        lang_unhold_item(vm, list->held_by, lang_int(at), old);
    }
    lang_drop(vm, old);
}
