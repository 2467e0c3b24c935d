/*
 * lang/value/hold.c - emits the events that say which name holds which tensor.
 *
 * For:            lang/value/hold.h.
 * Must not know:  frames.
 * Invariant:      the walk that emits the holds and the one that emits the drops visit the same tensors under the same
 *                 names, because every change of a container in between emits its difference.
 */
#include "lang/value/hold.h"

#include <string.h>

#include "base/mem.h"
#include "lang/value/hold_tables.h"

static void walk(struct lang_vm *vm, struct lang_value v, enum vs_holder holder, const char *name,
                 const char *scope, uint32_t depth, bool on);

/* ---- tensors ---- */

/* The holders of a parameter are also recorded, as its memory changes when it moves to the device. */
void lang_hold_tensor(struct lang_vm *vm, struct eng_tensor *t, enum vs_holder holder,
                      const char *name, const char *scope, bool on)
{
    const struct lang_tensor_name held = {name, scope, holder, 0};

    if (on) {
        eng_hold(vm->eng, t, holder, name, scope);
        if (t->is_parameter)
            lang_tensor_names_add(&vm->tensor_names, t, &held);
    } else {
        eng_drop(vm->eng, t, holder, name, scope);
        if (t->is_parameter)
            lang_tensor_names_remove(&vm->tensor_names, t, &held);
    }
}

/* The same for an item that is named by its index. */
static void hold_numbered(struct lang_vm *vm, struct eng_tensor *t, struct eng_name *name,
                          const char *scope, bool on)
{
    eng_hold_named(vm->eng, t, VS_HOLD_ITEM, name, scope, on);
    if (t->is_parameter) {
        const struct lang_tensor_name held = {name->text, scope, VS_HOLD_ITEM, 0};

        if (on)
            lang_tensor_names_add(&vm->tensor_names, t, &held);
        else
            lang_tensor_names_remove(&vm->tensor_names, t, &held);
    }
}

void lang_set_data(struct lang_vm *vm, struct eng_tensor *p, struct eng_tensor *t)
{
    struct lang_tensor_name *names;
    uint32_t count = lang_tensor_names_of(&vm->tensor_names, p, &names);

    for (uint32_t i = 0; i < count; i++)
        eng_drop(vm->eng, p, names[i].holder, names[i].name, names[i].scope);
    eng_set_data(p, t);
    for (uint32_t i = 0; i < count; i++)
        eng_hold(vm->eng, p, names[i].holder, names[i].name, names[i].scope);
    vs_free(names);
}

/* ---- containers ---- */

static struct lang_holding **holdings_of(struct lang_value v)
{
    if (v.kind == LANG_LIST)
        return &v.as.list->held_by;
    if (v.kind == LANG_TUPLE)
        return &v.as.tuple->held_by;
    return &v.as.dict->held_by;
}

static void holding_add(struct lang_vm *vm, struct lang_holding **list, const char *name,
                        const char *scope, uint32_t depth)
{
    struct lang_holding *h = vs_pool_get(&vm->pool, sizeof(*h));

    h->name = name;
    h->scope = scope;
    h->depth = depth;
    h->next = *list;
    *list = h;
}

/* Removes a record; true if there was one. Names are interned, so they are compared by pointer. */
static bool holding_remove(struct lang_vm *vm, struct lang_holding **list, const char *name,
                           const char *scope)
{
    for (struct lang_holding **at = list; *at != NULL; at = &(*at)->next) {
        struct lang_holding *h = *at;

        if (h->name == name && h->scope == scope) {
            *at = h->next;
            vs_pool_put(&vm->pool, h, sizeof(*h));
            return true;
        }
    }
    return false;
}

/* torch.Size and strings need no record: they never get tensors as items. */
static bool worth_a_walk(struct lang_value v)
{
    if (v.kind != LANG_TUPLE)
        return true;
    for (uint32_t i = 0; i < v.as.tuple->count; i++) {
        if (lang_can_hold(v.as.tuple->items[i]))
            return true;
    }
    return false;
}

static void walk_items(struct lang_vm *vm, struct lang_value v, const char *name, const char *scope,
                       uint32_t depth, bool on)
{
    struct lang_value *items;
    struct lang_entry *e;
    uint32_t count;
    uint32_t at = 0;

    if (lang_items(v, &items, &count)) {
        struct eng_name *names = count > 0 ? lang_item_numbers(vm, name, count) : NULL;

        for (uint32_t i = 0; i < count; i++) {
            if (items[i].kind == LANG_TENSOR) {
                hold_numbered(vm, items[i].as.tensor, &names[i], scope, on);
            } else if (lang_can_hold(items[i])) {
                walk(vm, items[i], VS_HOLD_ITEM, names[i].text, scope, depth, on);
                names =
                    lang_item_numbers(vm, name, count); /* a nested call may have moved the array */
            }
        }
        return;
    }
    while ((e = lang_dict_next(v.as.dict, &at)) != NULL) {
        if (lang_can_hold(e->value))
            walk(vm, e->value, VS_HOLD_ITEM, lang_item_name(vm, name, e->key), scope, depth, on);
    }
}

static void walk(struct lang_vm *vm, struct lang_value v, enum vs_holder holder, const char *name,
                 const char *scope, uint32_t depth, bool on)
{
    if (v.kind == LANG_TENSOR) {
        lang_hold_tensor(vm, v.as.tensor, holder, name, scope, on);
        return;
    }
    if (!lang_can_hold(v) || depth >= LANG_HOLD_DEPTH || !worth_a_walk(v))
        return;
    if (on)
        holding_add(vm, holdings_of(v), name, scope, depth + 1);
    else if (!holding_remove(vm, holdings_of(v), name, scope))
        return;
    walk_items(vm, v, name, scope, depth + 1, on);
}

void lang_hold(struct lang_vm *vm, struct lang_value v, enum vs_holder holder, const char *name,
               const char *scope)
{
    walk(vm, v, holder, name, scope, 0, true);
}

void lang_unhold(struct lang_vm *vm, struct lang_value v, enum vs_holder holder, const char *name,
                 const char *scope)
{
    walk(vm, v, holder, name, scope, 0, false);
}

/* The item with this key of the container that h names. */
static void walk_item(struct lang_vm *vm, const struct lang_holding *h, struct lang_value key,
                      struct lang_value item, bool on)
{
    if (item.kind == LANG_TENSOR && lang_is_numbered(key)) {
        struct eng_name *names = lang_item_numbers(vm, h->name, (uint32_t)key.as.i + 1);

        hold_numbered(vm, item.as.tensor, &names[key.as.i], h->scope, on);
    } else {
        walk(vm, item, VS_HOLD_ITEM, lang_item_name(vm, h->name, key), h->scope, h->depth, on);
    }
}

void lang_hold_item(struct lang_vm *vm, struct lang_holding *held_by, struct lang_value key,
                    struct lang_value item)
{
    if (!lang_can_hold(item))
        return;
    for (struct lang_holding *h = held_by; h != NULL; h = h->next)
        walk_item(vm, h, key, item, true);
}

void lang_unhold_item(struct lang_vm *vm, struct lang_holding *held_by, struct lang_value key,
                      struct lang_value item)
{
    if (!lang_can_hold(item))
        return;
    for (struct lang_holding *h = held_by; h != NULL; h = h->next)
        walk_item(vm, h, key, item, false);
}

void lang_hold_items(struct lang_vm *vm, struct lang_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        lang_hold_item(vm, list->held_by, lang_int(i), list->items[i]);
}

void lang_unhold_items(struct lang_vm *vm, struct lang_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        lang_unhold_item(vm, list->held_by, lang_int(i), list->items[i]);
}

void lang_holding_forget(struct lang_vm *vm, struct lang_holding **held_by)
{
    while (*held_by != NULL) {
        struct lang_holding *h = *held_by;

        *held_by = h->next;
        vs_pool_put(&vm->pool, h, sizeof(*h));
    }
}
