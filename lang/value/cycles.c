/*
 * lang/value/cycles.c - reference cycles: those that nothing outside of them holds are freed by gc.collect(), all of
 * them when the vm is freed.
 *
 * For:            lang/value/vm.h.
 * Must not know:  frames, the engine's graph.
 * Invariant:      an object is cleared only if every one of its references was found in another object that is cleared,
 *                 too. A reference that is not visited here (from the stack, from C data, from autograd) keeps its
 *                 object alive, so a kind that is left out below leaks as before and is never freed too early.
 *
 * Several cycles are cleared in the order in which their objects were made; in CPython that order also depends on
 * earlier collections.
 *
 * CPython's algorithm: subtract from each object's count the references found inside other objects; what still has some
 * is held from outside, and so is everything that it reaches.
 */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "lang/value/hold.h"
#include "lang/value/object_iter.h"
#include "lang/value/vm.h"

/* An object that was found; `refs` counts the references not found inside other objects. */
struct candidate {
    struct lang_obj *obj;
    uint32_t refs;
    bool is_held;
};

struct collector {
    struct candidate *all;
    size_t count, cap;
    struct vs_table by_address;
    void (*visit)(struct collector *c, struct lang_obj *obj);
    size_t *held; /* indices of held objects whose members have not been visited yet */
    size_t held_count, held_cap;
};

static uint64_t address_hash(const struct lang_obj *obj)
{
    return vs_hash_bytes(&obj, sizeof(obj));
}

static struct candidate *candidate_find(const struct collector *c, const struct lang_obj *obj)
{
    struct vs_probe probe = vs_probe(address_hash(obj));

    while (vs_table_next(&c->by_address, &probe)) {
        if (c->all[probe.item].obj == obj)
            return &c->all[probe.item];
    }
    return NULL;
}

/* ---- members ---- */

static void visit(struct collector *c, struct lang_value v)
{
    if (lang_is_object(v))
        c->visit(c, v.as.obj);
}

static void visit_obj(struct collector *c, void *obj)
{
    if (obj != NULL)
        c->visit(c, obj);
}

static void visit_all(struct collector *c, const struct lang_value *values, uint32_t count)
{
    for (uint32_t i = 0; values != NULL && i < count; i++)
        visit(c, values[i]);
}

static void visit_function(struct collector *c, const struct lang_function *f)
{
    const struct lang_code *code = f->code->code;

    visit_all(c, f->defaults, code->param_count);
    visit_obj(c, f->attrs);
    for (uint32_t i = 0; f->cells != NULL && i < code->free_count; i++)
        visit_obj(c, f->cells[i]);
}

static void visit_iter(struct collector *c, const struct lang_iter *it)
{
    visit(c, it->source);
    visit(c, it->last);
    visit(c, it->function);
}

static void visit_dict(struct collector *c, const struct lang_dict *d)
{
    for (uint32_t i = 0; i < d->used; i++) {
        visit(c, d->entries[i].key);
        visit(c, d->entries[i].value);
    }
}

static void visit_members(struct collector *c, struct lang_obj *obj)
{
    const struct lang_value v = lang_object(obj);

    switch ((enum lang_kind)obj->kind) {
    case LANG_TUPLE:
        visit_all(c, v.as.tuple->items, v.as.tuple->count);
        break;
    case LANG_LIST:
        visit_all(c, v.as.list->items, v.as.list->count);
        break;
    case LANG_DICT:
        visit_dict(c, v.as.dict);
        break;
    case LANG_SET:
        visit_obj(c, v.as.set->keys);
        break;
    case LANG_FUNCTION:
        visit_function(c, v.as.function);
        break;
    case LANG_METHOD:
        visit(c, v.as.method->func);
        visit(c, v.as.method->self);
        break;
    case LANG_BUILTIN:
        visit(c, v.as.builtin->closure);
        break;
    case LANG_INSTANCE:
        visit_obj(c, v.as.instance->attrs);
        break;
    case LANG_CELL:
        visit(c, v.as.cell->value);
        break;
    case LANG_ITER:
        visit_iter(c, v.as.iter);
        break;
    case LANG_GENERATOR:
        visit_all(c, v.as.generator->slots, v.as.generator->code->code->slot_count);
        visit_all(c, v.as.generator->loops, v.as.generator->loop_count);
        break;
    case LANG_UNBOUND:
    case LANG_NONE:
    case LANG_BOOL:
    case LANG_INT:
    case LANG_FLOAT:
    case LANG_ELLIPSIS:
    case LANG_NOT_IMPLEMENTED:
    case LANG_DTYPE:
    case LANG_DEVICE:
    case LANG_TENSOR:
    case LANG_STR:
    case LANG_SLICE:
    case LANG_RANGE:
    case LANG_CLASS:
    case LANG_NAMESPACE:
    case LANG_SUPER:
    case LANG_DESCRIPTOR:
    case LANG_CONTEXT:
    case LANG_OPAQUE:
    case LANG_KIND_COUNT:
        break;
    }
}

/* ---- the three passes ---- */

static void add(struct collector *c, struct lang_obj *obj)
{
    bool is_leaf = obj->kind == LANG_STR || obj->kind == LANG_CLASS || obj->kind == LANG_NAMESPACE;

    if (is_leaf || candidate_find(c, obj) != NULL)
        return;
    c->all = vs_grow(c->all, c->count, &c->cap, sizeof(*c->all));
    c->all[c->count] = (struct candidate){.obj = obj, .refs = obj->refs};
    vs_table_add(&c->by_address, address_hash(obj), c->count++);
}

static void subtract(struct collector *c, struct lang_obj *obj)
{
    struct candidate *found = candidate_find(c, obj);

    if (found != NULL && found->refs > 0)
        found->refs--;
}

static void hold(struct collector *c, struct lang_obj *obj)
{
    struct candidate *found = candidate_find(c, obj);

    if (found == NULL || found->is_held)
        return;
    found->is_held = true;
    c->held = vs_grow(c->held, c->held_count, &c->held_cap, sizeof(*c->held));
    c->held[c->held_count++] = (size_t)(found - c->all);
}

static void find_all(struct lang_vm *vm, struct collector *c)
{
    for (struct lang_link *link = vm->tracked.next; link != NULL && link != &vm->tracked;
         link = link->next)
        add(c, (struct lang_obj *)(link + 1));
    c->visit = add;
    for (size_t i = 0; i < c->count; i++)
        visit_members(c, c->all[i].obj);
    c->visit = subtract;
    for (size_t i = 0; i < c->count; i++)
        visit_members(c, c->all[i].obj);
    c->visit = hold;
    for (size_t i = 0; i < c->count; i++) {
        if (c->all[i].refs > 0)
            hold(c, c->all[i].obj);
        while (c->held_count > 0)
            visit_members(c, c->all[c->held[--c->held_count]].obj);
    }
}

/* ---- clearing ---- */

/* Drops what a tracked object refers to. */
static void clear(struct lang_vm *vm, struct lang_obj *obj)
{
    struct lang_value v = lang_object(obj);

    obj->refs++;
    if (obj->kind == LANG_LIST) {
        lang_list_splice(vm, v.as.list, 0, v.as.list->count, NULL, 0);
    } else if (obj->kind == LANG_DICT) {
        lang_dict_clear(vm, v.as.dict);
    } else if (obj->kind == LANG_CELL) {
        if (vm->observed && v.as.cell->name != NULL && lang_can_hold(v.as.cell->value))
            lang_unhold(vm, v.as.cell->value, VS_HOLD_LOCAL, v.as.cell->name, v.as.cell->scope);
        lang_assign(vm, &v.as.cell->value, lang_unbound());
    } else if (obj->kind == LANG_GENERATOR) {
        lang_generator_finish(vm, v.as.generator);
    }
    lang_drop_obj(vm, obj);
}

void lang_cycles_break(struct lang_vm *vm)
{
    struct lang_link *link = vm->tracked.next;
    struct lang_link cleared = {&cleared, &cleared};

    while (link != NULL && (link = vm->tracked.next) != &vm->tracked) {
        struct lang_obj *obj = (struct lang_obj *)(link + 1);

        /* move it to the other ring first, so that each object is visited once even if it stays alive */
        link->prev->next = link->next;
        link->next->prev = link->prev;
        link->next = &cleared;
        link->prev = cleared.prev;
        link->prev->next = link;
        cleared.prev = link;
        clear(vm, obj);
    }
    if (cleared.next == &cleared)
        return;
    cleared.next->prev = &vm->tracked;
    cleared.prev->next = &vm->tracked;
    vm->tracked.next = cleared.next;
    vm->tracked.prev = cleared.prev;
}

/* Attributes of a module or another instance are cleared by it, whose class their events name. */
static void clear_garbage(struct lang_vm *vm, struct lang_obj *obj)
{
    struct lang_value v = lang_object(obj);

    if (obj->kind == LANG_INSTANCE)
        lang_attrs_clear(vm, v.as.instance->attrs, v.as.instance->cls->qualname->text);
    else if (lang_is_tracked((enum lang_kind)obj->kind))
        clear(vm, obj);
}

size_t lang_collect(struct lang_vm *vm)
{
    struct collector c = {0};
    size_t garbage = 0;

    find_all(vm, &c);
    for (size_t i = 0; i < c.count; i++) {
        if (c.all[i].is_held)
            continue;
        c.all[i].obj->refs++; /* all of them stay until the last one has been cleared */
        c.all[garbage++] = c.all[i];
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < garbage; i++) {
            if ((c.all[i].obj->kind == LANG_INSTANCE) == (pass == 0))
                clear_garbage(vm, c.all[i].obj);
        }
    }
    for (size_t i = 0; i < garbage; i++)
        lang_drop_obj(vm, c.all[i].obj);
    vs_table_release(&c.by_address);
    vs_free(c.all);
    vs_free(c.held);
    return garbage;
}
