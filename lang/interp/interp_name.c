/*
 * lang/interp/interp_name.c - names and other targets: reading, binding, deleting.
 *
 * For:            lang/interp/interp.h.
 * Must not know:  statements, operators.
 * Invariant:      a rebound name drops its old value after the new one is stored; unpacking drops the sequence before
 *                 the first target is bound.
 */
#include <inttypes.h>

#include "lang/interp/attr.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"

static const char MODULE_SCOPE[] = "<module>";

static struct lang_string *name_of(const struct lang_frame *f, const struct lang_str *str)
{
    return f->net->names[str->id];
}

/* ---- slots and cells ---- */

void lang_slot_set(struct lang_vm *vm, struct lang_frame *f, uint32_t slot, struct lang_value taken)
{
    struct lang_value old = f->slots[slot];

    f->slots[slot] = taken;
    if (vm->observed) {
        const char *name = f->code->slot_names[slot]->text;

        if (lang_can_hold(taken))
            lang_hold(vm, taken, VS_HOLD_LOCAL, name, f->code->scope);
        if (lang_can_hold(old))
            lang_unhold(vm, old, VS_HOLD_LOCAL, name, f->code->scope);
    }
    lang_drop(vm, old);
}

struct lang_cell *lang_slot_cell(struct lang_vm *vm, const struct lang_rtcode *code, uint32_t slot,
                                 struct lang_value taken)
{
    struct lang_cell *cell = lang_cell_new(vm, taken);

    if (vm->observed) {
        cell->name = code->slot_names[slot]->text;
        cell->scope = code->scope;
    }
    return cell;
}

static void cell_set(struct lang_vm *vm, struct lang_cell *cell, struct lang_value taken)
{
    struct lang_value old = cell->value;

    cell->value = taken;
    if (vm->observed && cell->name != NULL) {
        if (lang_can_hold(taken))
            lang_hold(vm, taken, VS_HOLD_LOCAL, cell->name, cell->scope);
        if (lang_can_hold(old))
            lang_unhold(vm, old, VS_HOLD_LOCAL, cell->name, cell->scope);
    }
    lang_drop(vm, old);
}

static struct lang_cell *cell_at(const struct lang_frame *f, uint32_t slot)
{
    VS_ASSERT(f->slots[slot].kind == LANG_CELL);
    return f->slots[slot].as.cell;
}

/* Names of a file: a tensor there is held by the module. */
static void global_set(struct lang_vm *vm, struct lang_dict *names, struct lang_string *name,
                       struct lang_value taken)
{
    if (vm->observed) {
        struct lang_value *old = lang_dict_find(names, name);

        if (lang_can_hold(taken))
            lang_hold(vm, taken, VS_HOLD_LOCAL, name->text, MODULE_SCOPE);
        if (old != NULL && lang_can_hold(*old))
            lang_unhold(vm, *old, VS_HOLD_LOCAL, name->text, MODULE_SCOPE);
    }
    lang_dict_put(vm, names, name, taken);
}

/* ---- reading ---- */

static bool unbound_local(struct lang_vm *vm, const struct lang_str *name)
{
    return lang_fail(vm, VS_E_NAME, "local variable `%s` has no value here", name->text);
}

/* The value of a global name, borrowed; NULL where neither the file nor the builtins have it. */
static const struct lang_value *find_global(struct lang_vm *vm, const struct lang_dict *names,
                                            struct lang_string *name)
{
    size_t at = ((uintptr_t)names >> 4 ^ (uintptr_t)name >> 4) & (LANG_GLOBALS_SIZE - 1);
    struct lang_global_entry *e = &vm->globals[at];
    const struct lang_value *v;

    if (e->name == name && e->names == names && e->names_shape == names->shape &&
        e->builtins_shape == vm->builtins->shape)
        return e->value;
    v = lang_dict_find(names, name);
    if (v == NULL)
        v = lang_dict_find(vm->builtins, name);
    *e = (struct lang_global_entry){names, name, names->shape, vm->builtins->shape, v};
    return v;
}

static bool load_global(struct lang_vm *vm, struct lang_frame *f, struct lang_string *name)
{
    const struct lang_value *v = find_global(vm, f->net->space->names, name);
    const char *hint;

    if (v != NULL) {
        lang_push(vm, lang_keep(*v));
        return true;
    }
    hint = lang_suggest(vm, f->net->space->names, name->text);
    if (hint == NULL)
        hint = lang_suggest(vm, vm->builtins, name->text);
    return lang_fail_hint(vm, VS_E_NAME, hint, "name `%s` is not defined", name->text);
}

bool lang_load_name(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *e)
{
    const struct lang_ref *ref = &e->u.name;
    struct lang_value v;

    switch (ref->scope) {
    case LANG_SCOPE_LOCAL:
        v = f->slots[ref->slot];
        break;
    case LANG_SCOPE_CELL:
        v = cell_at(f, ref->slot)->value;
        break;
    case LANG_SCOPE_CLASS:
    case LANG_SCOPE_CLASS_CELL: {
        struct lang_value *own = lang_dict_find(f->names, name_of(f, ref->name));

        if (own != NULL) {
            v = *own;
            break;
        }
        if (ref->scope == LANG_SCOPE_CLASS_CELL) {
            v = cell_at(f, ref->slot)->value;
            break;
        }
        f->at = e;
        return load_global(vm, f, name_of(f, ref->name));
    }
    case LANG_SCOPE_GLOBAL:
    default:
        f->at = e;
        return load_global(vm, f, name_of(f, ref->name));
    }
    if (!lang_is_bound(v)) {
        f->at = e;
        return unbound_local(vm, ref->name);
    }
    lang_push(vm, lang_keep(v));
    return true;
}

/* ---- binding ---- */

bool lang_bind(struct lang_vm *vm, struct lang_frame *f, const struct lang_ref *ref,
               struct lang_value taken)
{
    switch (ref->scope) {
    case LANG_SCOPE_LOCAL:
        lang_slot_set(vm, f, ref->slot, taken);
        break;
    case LANG_SCOPE_CELL:
        cell_set(vm, cell_at(f, ref->slot), taken);
        break;
    case LANG_SCOPE_GLOBAL:
        global_set(vm, f->net->space->names, name_of(f, ref->name), taken);
        break;
    case LANG_SCOPE_CLASS:
    case LANG_SCOPE_CLASS_CELL:
        lang_dict_put(vm, f->names, name_of(f, ref->name), taken);
        break;
    }
    return true;
}

/* Pushes the items of `seq` (taken), the first one topmost; a starred target gets a list of the remaining ones. */
static bool unpack(struct lang_vm *vm, struct lang_frame *f, const struct lang_exprs *targets,
                   struct lang_value seq)
{
    struct lang_value *items;
    struct lang_list *list = NULL;
    uint32_t star = UINT32_MAX;
    uint32_t count;
    uint32_t fixed = targets->count;
    bool ok;

    for (uint32_t i = 0; i < targets->count; i++) {
        if (targets->items[i]->kind == LANG_EXPR_STARRED)
            star = i;
    }
    if (star != UINT32_MAX)
        fixed--;
    if (!lang_items(seq, &items, &count)) {
        ok = lang_list_of(vm, seq, &list);
        if (ok)
            (void)lang_items(lang_object(list), &items, &count);
        if (!ok) {
            lang_drop(vm, seq);
            return false;
        }
    }
    ok = star == UINT32_MAX ? count == fixed : count >= fixed;
    if (ok)
        ok = lang_reserve(vm, targets->count);
    else if (count < fixed)
        lang_fail(vm, VS_E_VALUE,
                  "not enough values to unpack: expected %s%" PRIu32 ", got %" PRIu32,
                  star == UINT32_MAX ? "" : "at least ", fixed, count);
    else
        lang_fail(vm, VS_E_VALUE, "too many values to unpack: expected %" PRIu32 ", got %" PRIu32,
                  fixed, count);
    (void)f;
    for (uint32_t i = targets->count, from = count; ok && i-- > 0;) {
        if (i == star) {
            uint32_t many = count - fixed;
            struct lang_list *rest = lang_list_new(vm, many);

            from -= many;
            for (uint32_t k = 0; k < many; k++)
                lang_list_append(vm, rest, lang_keep(items[from + k]));
            lang_push(vm, lang_object(rest));
        } else {
            lang_push(vm, lang_keep(items[--from]));
        }
    }
    if (list != NULL)
        lang_drop_obj(vm, list);
    lang_drop(vm, seq);
    return ok;
}

static bool store_many(struct lang_vm *vm, struct lang_frame *f, const struct lang_exprs *targets)
{
    if (!unpack(vm, f, targets, lang_pop(vm)))
        return false;
    for (uint32_t i = 0; i < targets->count; i++) {
        const struct lang_expr *t = targets->items[i];

        if (!lang_store(vm, f, t->kind == LANG_EXPR_STARRED ? t->u.starred : t))
            return false;
    }
    return true;
}

static bool store_attr(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *t)
{
    if (!lang_eval(vm, f, t->u.attr.value))
        return false;
    lang_at(vm, f, t);
    if (!lang_setattr(vm, vm->sp[-1], name_of(f, t->u.attr.name), vm->sp[-2]))
        return false;
    vm->sp -= 2;
    lang_drop(vm, vm->sp[0]);
    lang_drop(vm, vm->sp[1]);
    return true;
}

static bool store_item(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *t)
{
    if (!lang_eval(vm, f, t->u.index.value) || !lang_eval(vm, f, t->u.index.index))
        return false;
    lang_at(vm, f, t);
    if (!lang_setitem(vm, vm->sp[-2], vm->sp[-1], vm->sp[-3]))
        return false;
    vm->sp -= 3;
    lang_drop_all(vm, vm->sp, 3);
    return true;
}

bool lang_store(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *target)
{
    switch (target->kind) {
    case LANG_EXPR_NAME:
        return lang_bind(vm, f, &target->u.name, lang_pop(vm));
    case LANG_EXPR_ATTR:
        return store_attr(vm, f, target);
    case LANG_EXPR_INDEX:
        return store_item(vm, f, target);
    case LANG_EXPR_TUPLE:
    case LANG_EXPR_LIST:
        f->at = target;
        return store_many(vm, f, &target->u.list);
    default:
        vs_die("a target of kind %d", (int)target->kind);
    }
}

/* ---- deleting ---- */

static bool delete_name(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *target)
{
    const struct lang_ref *ref = &target->u.name;
    struct lang_value old = lang_unbound();
    struct lang_dict *names = f->names;

    switch (ref->scope) {
    case LANG_SCOPE_LOCAL:
        if (!lang_is_bound(f->slots[ref->slot]))
            return unbound_local(vm, ref->name);
        lang_slot_set(vm, f, ref->slot, lang_unbound());
        return true;
    case LANG_SCOPE_CELL:
        if (!lang_is_bound(cell_at(f, ref->slot)->value))
            return unbound_local(vm, ref->name);
        cell_set(vm, cell_at(f, ref->slot), lang_unbound());
        return true;
    case LANG_SCOPE_GLOBAL:
        names = f->net->space->names;
        break;
    case LANG_SCOPE_CLASS:
    case LANG_SCOPE_CLASS_CELL:
        break;
    }
    old = lang_dict_take(vm, names, name_of(f, ref->name));
    if (!lang_is_bound(old))
        return lang_fail(vm, VS_E_NAME, "name `%s` is not defined", ref->name->text);
    if (vm->observed && ref->scope == LANG_SCOPE_GLOBAL && lang_can_hold(old))
        lang_unhold(vm, old, VS_HOLD_LOCAL, name_of(f, ref->name)->text, MODULE_SCOPE);
    lang_drop(vm, old);
    return true;
}

bool lang_delete(struct lang_vm *vm, struct lang_frame *f, const struct lang_expr *target)
{
    switch (target->kind) {
    case LANG_EXPR_NAME:
        lang_at(vm, f, target);
        return delete_name(vm, f, target);
    case LANG_EXPR_ATTR:
        if (!lang_eval(vm, f, target->u.attr.value))
            return false;
        lang_at(vm, f, target);
        if (!lang_delattr(vm, vm->sp[-1], name_of(f, target->u.attr.name)))
            return false;
        lang_drop(vm, lang_pop(vm));
        return true;
    case LANG_EXPR_INDEX:
        if (!lang_eval(vm, f, target->u.index.value) || !lang_eval(vm, f, target->u.index.index))
            return false;
        lang_at(vm, f, target);
        if (!lang_delitem(vm, vm->sp[-2], vm->sp[-1]))
            return false;
        vm->sp -= 2;
        lang_drop_all(vm, vm->sp, 2);
        return true;
    case LANG_EXPR_TUPLE:
    case LANG_EXPR_LIST:
        for (uint32_t i = 0; i < target->u.list.count; i++) {
            if (!lang_delete(vm, f, target->u.list.items[i]))
                return false;
        }
        return true;
    default:
        vs_die("a target of kind %d", (int)target->kind);
    }
}
