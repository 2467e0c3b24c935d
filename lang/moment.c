/*
 * lang/moment.c - see moment.h.
 *
 * Must not know:  what is done with it.
 * Invariant:      every object that can be reached is described once, in the order in which they are met: containers first, oldest first, then
 *                 the stack. How often each is held is part of what it is like, so that nobody holds anything in secret.
 */
#include "lang/moment.h"

#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "lang/context.h"
#include "lang/hold.h"
#include "lang/interp.h"
#include "lang/iter.h"
#include "lang/vm.h"

/*
 * things      objects that were met; those from `done` on are still to be described
 * step        the word "step"
 * counting    addresses of the dicts of the optimizer's state, one a tensor, in order
 * is_stack    what is met just now is held by a frame
 * is_odd      there is something that cannot be compared
 */
struct moment {
    struct lang_vm *vm;
    struct eng_moment *m;
    const struct lang_moment_ask *ask;
    const struct lang_string *step;
    struct lang_obj **things;
    size_t thing_count;
    size_t thing_cap;
    struct vs_keyed *counting;
    size_t counting_count;
    bool is_stack;
    bool is_odd;
};

static void put(struct moment *s, uint64_t word)
{
    eng_moment_put(s->m, word);
}

static void put_pointer(struct moment *s, const void *p)
{
    put(s, (uint64_t)(uintptr_t)p);
}

static void put_bytes(struct moment *s, const void *bytes, size_t len)
{
    const char *at = bytes;

    put(s, len);
    for (; len; at += len < 8 ? len : 8, len -= len < 8 ? len : 8) {
        uint64_t word = 0;

        memcpy(&word, at, len < 8 ? len : 8);
        put(s, word);
    }
}

static void put_object(struct moment *s, struct lang_obj *obj)
{
    bool is_new = false;
    uint32_t number = obj ? eng_moment_number(s->m, obj, &is_new) : 0;

    put(s, number);
    if (!is_new)
        return;
    s->things = vs_grow(s->things, s->thing_count, &s->thing_cap, sizeof(struct lang_obj *));
    s->things[s->thing_count++] = obj;
}

static void put_value(struct moment *s, struct lang_value v)
{
    double f;
    uint64_t word = 0;

    put(s, v.kind);
    switch ((enum lang_kind)v.kind) {
    case LANG_UNBOUND:
    case LANG_NONE:
    case LANG_ELLIPSIS:
    case LANG_NOT_IMPLEMENTED:
        break;
    case LANG_BOOL:
    case LANG_INT:
        put(s, (uint64_t)v.as.i);
        break;
    case LANG_FLOAT:
        f = v.as.f;
        memcpy(&word, &f, sizeof(word));
        put(s, word);
        break;
    case LANG_DTYPE:
        put(s, (uint64_t)v.as.dtype);
        break;
    case LANG_DEVICE:
        put(s, v.as.on_host);
        break;
    case LANG_TENSOR:
        put(s, eng_moment_tensor(s->m, v.as.tensor));
        break;
    case LANG_STR:
        if (v.as.str->head.flags & LANG_STR_INTERNED)
            put_pointer(s, v.as.str);
        else
            put_bytes(s, v.as.str->text, v.as.str->len);
        break;
    case LANG_INSTANCE:
        s->is_odd |= !s->is_stack && s->ask->optimizer.kind == LANG_INSTANCE &&
                     v.as.instance == s->ask->optimizer.as.instance;
        put_object(s, v.as.obj);
        break;
    case LANG_TUPLE:
    case LANG_LIST:
    case LANG_DICT:
    case LANG_SET:
    case LANG_SLICE:
    case LANG_RANGE:
    case LANG_FUNCTION:
    case LANG_METHOD:
    case LANG_BUILTIN:
    case LANG_CLASS:
    case LANG_NAMESPACE:
    case LANG_CELL:
    case LANG_ITER:
    case LANG_GENERATOR:
    case LANG_SUPER:
    case LANG_DESCRIPTOR:
    case LANG_CONTEXT:
    case LANG_OPAQUE:
        put_object(s, v.as.obj);
        break;
    case LANG_KIND_COUNT:
        s->is_odd = true;
        break;
    }
}

static void put_values(struct moment *s, const struct lang_value *values, size_t count)
{
    put(s, count);
    for (size_t i = 0; i < count; i++)
        put_value(s, values[i]);
}

/* Under which names a container's items are told of. */
static void put_holdings(struct moment *s, const struct lang_holding *h)
{
    for (; h; h = h->next) {
        put_pointer(s, h->name);
        put_pointer(s, h->scope);
        put(s, h->depth);
    }
    put(s, 0);
}

/* ---- objects ---- */

/* One of the dicts of the optimizer's state, and held by nobody else? */
static bool is_counting(const struct moment *s, const struct lang_dict *dict)
{
    uint64_t key = (uint64_t)(uintptr_t)dict;
    size_t first = 0;

    for (size_t count = s->counting_count; count;) {
        size_t half = count / 2;

        if (s->counting[first + half].key < key) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first < s->counting_count && s->counting[first].key == key && dict->head.refs == 1;
}

/* A state of the optimizer's that is its own alone. */
static void counting_fill(struct moment *s)
{
    const struct lang_value *state;
    const struct lang_entry *e;
    uint32_t at = 0;

    if (s->ask->optimizer.kind != LANG_INSTANCE)
        return;
    state = lang_dict_find(s->ask->optimizer.as.instance->attrs, lang_intern_text(s->vm, "state"));
    if (!state || state->kind != LANG_DICT || state->as.dict->head.refs != 1)
        return;
    s->counting = vs_alloc((state->as.dict->live + 1) * sizeof(*s->counting));
    while ((e = lang_dict_next(state->as.dict, &at)) != NULL)
        if (e->value.kind == LANG_DICT)
            s->counting[s->counting_count++].key = (uint64_t)(uintptr_t)e->value.as.dict;
    vs_sort_keyed(s->counting, s->counting_count);
}

static void put_dict(struct moment *s, const struct lang_dict *dict)
{
    const struct lang_entry *e;
    uint32_t at = 0;

    put(s, dict->live);
    put_holdings(s, dict->held_by);
    while ((e = lang_dict_next(dict, &at)) != NULL) {
        put_value(s, e->key);
        if (e->key.kind == LANG_STR && e->key.as.str == s->step && e->value.kind == LANG_FLOAT &&
            is_counting(s, dict))
            put(s, LANG_FLOAT);
        else
            put_value(s, e->value);
    }
}

static void put_function(struct moment *s, const struct lang_function *f)
{
    const struct lang_code *code = f->code->code;

    put_pointer(s, f->code);
    if (f->defaults)
        put_values(s, f->defaults, code->param_count);
    for (uint32_t i = 0; f->cells && i < code->free_count; i++)
        put_object(s, &f->cells[i]->head);
    put_object(s, f->attrs ? &f->attrs->head : NULL);
}

static void put_iter(struct moment *s, const struct lang_iter *it)
{
    put(s, (uint64_t)it->what << 8 | (uint64_t)it->strict << 1 | it->is_view);
    put_value(s, it->source);
    put_value(s, it->last);
    put(s, (uint64_t)it->at);
    put(s, (uint64_t)it->step);
    put(s, (uint64_t)it->left);
    put(s, it->size);
}

static void put_context(struct moment *s, const struct lang_context *c)
{
    put(s, (uint64_t)c->what << 8 | (uint64_t)c->on << 2 | (uint64_t)c->acted << 1 | c->found);
    put(s, (uint64_t)c->autocast.enabled << 16 | (uint64_t)c->autocast.cache_enabled << 8 |
               c->autocast.dtype);
    put_bytes(s, &c->set, sizeof(c->set));
    s->is_odd |= c->depth != 0;
}

static void put_instance(struct moment *s, const struct lang_instance *instance)
{
    put_object(s, &instance->cls->head);
    put_object(s, instance->attrs ? &instance->attrs->head : NULL);
    if (instance->cls->class_flags & LANG_CLASS_MODULE)
        put_pointer(s, ((const struct lang_module_instance *)instance)->path);
}

static void put_class(struct moment *s, const struct lang_class *cls)
{
    put_object(s, cls->base ? &cls->base->head : NULL);
    put_object(s, cls->names ? &cls->names->head : NULL);
    put(s, cls->class_flags);
}

/* What an object holds and is; who it is was said where it was met. */
static void describe(struct moment *s, struct lang_obj *obj)
{
    struct lang_value v = {.kind = obj->kind, .as.obj = obj};

    put(s, (uint64_t)obj->kind << 40 | (uint64_t)obj->flags << 32 | obj->refs);
    switch ((enum lang_kind)obj->kind) {
    case LANG_TUPLE:
        put_holdings(s, v.as.tuple->held_by);
        put_values(s, v.as.tuple->items, v.as.tuple->count);
        break;
    case LANG_LIST:
        put_holdings(s, v.as.list->held_by);
        put_values(s, v.as.list->items, v.as.list->count);
        break;
    case LANG_DICT:
        put_dict(s, v.as.dict);
        break;
    case LANG_SET:
        put_object(s, &v.as.set->keys->head);
        break;
    case LANG_SLICE:
        put_values(s, &v.as.slice->start, 1);
        put_values(s, &v.as.slice->stop, 1);
        put_values(s, &v.as.slice->step, 1);
        break;
    case LANG_RANGE:
        put(s, (uint64_t)v.as.range->start);
        put(s, (uint64_t)v.as.range->stop);
        put(s, (uint64_t)v.as.range->step);
        break;
    case LANG_FUNCTION:
        put_function(s, v.as.function);
        break;
    case LANG_METHOD:
        put_value(s, v.as.method->func);
        put_value(s, v.as.method->self);
        break;
    case LANG_BUILTIN:
        put_pointer(s, v.as.builtin->data);
        put_bytes(s, &v.as.builtin->fn, sizeof(v.as.builtin->fn));
        put_value(s, v.as.builtin->closure);
        break;
    case LANG_CLASS:
        put_class(s, v.as.cls);
        break;
    case LANG_INSTANCE:
        put_instance(s, v.as.instance);
        break;
    case LANG_NAMESPACE:
        put_object(s, &v.as.space->names->head);
        break;
    case LANG_CELL:
        put_value(s, v.as.cell->value);
        put_pointer(s, v.as.cell->name);
        put_pointer(s, v.as.cell->scope);
        break;
    case LANG_ITER:
        put_iter(s, v.as.iter);
        break;
    case LANG_CONTEXT:
        put_context(s, v.as.context);
        break;
    case LANG_SUPER:
        put_object(s, v.as.super->after ? &v.as.super->after->head : NULL);
        put_value(s, v.as.super->self);
        break;
    case LANG_DESCRIPTOR:
        put(s, v.as.descriptor->what);
        put_value(s, v.as.descriptor->func);
        put_value(s, v.as.descriptor->setter);
        break;
    case LANG_OPAQUE: /* of the program's own, and always the same */
        put_pointer(s, v.as.opaque->data);
        break;
    case LANG_STR:
    case LANG_GENERATOR:
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
    case LANG_KIND_COUNT:
        s->is_odd = true;
        break;
    }
}

/* ---- the machine ---- */

/* The stack from its bottom, but for what may differ. */
static void put_stack(struct moment *s)
{
    struct lang_vm *vm = s->vm;
    const struct lang_frame *f = vm->frame;
    const struct lang_value *loop = s->ask->above;
    const struct lang_value *counter = NULL;

    while (loop > vm->stack && loop[-1].kind != LANG_ITER)
        loop--;
    loop--;
    for (uint32_t i = 0; i < f->code->code->slot_count; i++)
        if (f->code->slot_names[i] == s->ask->counter)
            counter = &f->slots[i];
    s->is_odd |= loop < vm->stack || !counter || loop->as.iter->what != LANG_ITER_RANGE;
    for (const struct lang_value *at = vm->stack; at < s->ask->above; at++)
        if (at != loop && at != counter)
            put_value(s, *at);
    for (; f; f = f->prev) {
        put_pointer(s, f->code);
        put_pointer(s, f->stmt);
        put(s, (uint64_t)(f->slots - vm->stack));
    }
}

/* The names under which each parameter is held are told again when its memory changes. */
static bool machine_is_idle(const struct lang_vm *vm)
{
    return !vm->failed && vm->observed && !vm->parked_count && !vm->late_count && !vm->free_depth &&
           !vm->callbacks && !vm->gathering && vm->frame;
}

static void put_machine(struct moment *s)
{
    struct lang_vm *vm = s->vm;
    const struct lang_link *link;

    s->is_stack = true;
    put_stack(s);
    s->is_stack = false;
    for (link = vm->tracked.next; link != &vm->tracked; link = link->next)
        put_object(s, (struct lang_obj *)(uintptr_t)(link + 1));
    for (size_t i = 0; i < s->thing_count && !s->is_odd; i++) /* describing one may name others */
        describe(s, s->things[i]);
    put_pointer(s, vm->func);
    put(s, vm->line);
    put(s, vm->depth);
}

struct eng_moment *lang_moment_new(struct lang_vm *vm, const struct eng_told *told,
                                   const struct lang_moment_ask *ask)
{
    struct moment s = {.vm = vm, .ask = ask, .step = lang_intern_text(vm, "step")};

    if (!machine_is_idle(vm))
        return NULL;
    s.m = eng_moment_new(vm->eng, told);
    if (!s.m)
        return NULL;
    counting_fill(&s);
    put_machine(&s);
    vs_free(s.things);
    vs_free(s.counting);
    if (!s.is_odd && eng_moment_close(s.m))
        return s.m;
    eng_moment_free(s.m);
    return NULL;
}
