/*
 * lang/value/object.c - allocation and release of objects; slices, ranges and other small kinds.
 *
 * For:            lang/value/object.h.
 * Must not know:  frames, the engine's ops.
 * Invariant:      every kind of object has its case in `free_object`; members are released in CPython's order.
 */
#include "lang/value/object.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "lang/value/context.h"
#include "lang/value/hold.h"
#include "lang/value/object_iter.h"
#include "lang/value/vm.h"

#define MAX_FREE_DEPTH 500

/* ---- memory ---- */

/*
 * Mutable objects can become part of a reference cycle. They are linked in a ring, by a struct lang_link in front of
 * the object.
 */
bool lang_is_tracked(enum lang_kind kind)
{
    return kind == LANG_LIST || kind == LANG_DICT || kind == LANG_CELL || kind == LANG_GENERATOR;
}

void *lang_obj_new(struct lang_vm *vm, enum lang_kind kind, size_t size)
{
    struct lang_obj *obj;

    if (lang_is_tracked(kind)) {
        struct lang_link *link = vs_pool_get(&vm->pool, size + sizeof(*link));

        if (vm->tracked.next == NULL)
            vm->tracked.next = vm->tracked.prev = &vm->tracked;
        link->next = &vm->tracked;
        link->prev = vm->tracked.prev;
        link->prev->next = link;
        link->next->prev = link;
        obj = (struct lang_obj *)(link + 1);
    } else {
        obj = vs_pool_get(&vm->pool, size);
    }
    memset(obj, 0, size);
    obj->refs = 1;
    obj->kind = (uint8_t)kind;
    return obj;
}

void lang_obj_release_memory(struct lang_vm *vm, struct lang_obj *obj, size_t size)
{
    if (lang_is_tracked((enum lang_kind)obj->kind)) {
        struct lang_link *link = (struct lang_link *)(void *)obj - 1;

        link->prev->next = link->next;
        link->next->prev = link->prev;
        vs_pool_put(&vm->pool, link, size + sizeof(*link));
    } else {
        vs_pool_put(&vm->pool, obj, size);
    }
}

/* ---- release ---- */

static void free_function(struct lang_vm *vm, struct lang_function *f)
{
    const struct lang_code *code = f->code->code;

    if (f->defaults != NULL) {
        /* in CPython positional defaults are a tuple (released last to first), keyword-only ones a dict */
        for (uint32_t i = code->positional_count; i-- > 0;)
            lang_drop(vm, f->defaults[i]);
        lang_drop_all(vm, f->defaults + code->positional_count,
                      code->param_count - code->positional_count);
        vs_free(f->defaults);
    }
    lang_drop_obj(vm, f->attrs);
    if (f->cells != NULL) {
        for (uint32_t i = code->free_count; i-- > 0;)
            lang_drop_obj(vm, f->cells[i]);
        vs_free(f->cells);
    }
    lang_obj_release_memory(vm, &f->head, sizeof(*f));
}

/* From the last item to the first, as CPython's tuples; named tuples such as (values, indices) from the first. */
static void free_tuple(struct lang_vm *vm, struct lang_tuple *t)
{
    bool is_named = t->head.flags & LANG_TUPLE_VALUES;

    lang_holding_forget(vm, &t->held_by);
    for (uint32_t i = 0; i < t->count; i++)
        lang_drop(vm, t->items[is_named ? i : t->count - 1 - i]);
    lang_obj_release_memory(vm, &t->head, sizeof(*t) + t->count * sizeof(t->items[0]));
}

static void free_list(struct lang_vm *vm, struct lang_list *l)
{
    lang_holding_forget(vm, &l->held_by);
    for (uint32_t i = l->count; i-- > 0;)
        lang_drop(vm, l->items[i]);
    vs_free(l->items);
    lang_obj_release_memory(vm, &l->head, sizeof(*l));
}

static void free_dict(struct lang_vm *vm, struct lang_dict *d)
{
    lang_holding_forget(vm, &d->held_by);
    for (uint32_t i = 0; i < d->used; i++) {
        lang_drop(vm, d->entries[i].key);
        lang_drop(vm, d->entries[i].value);
    }
    vs_free(d->entries);
    vs_free(d->index);
    lang_obj_release_memory(vm, &d->head, sizeof(*d));
}

static void free_cell(struct lang_vm *vm, struct lang_cell *c)
{
    if (vm->observed && c->name != NULL && lang_can_hold(c->value))
        lang_unhold(vm, c->value, VS_HOLD_LOCAL, c->name, c->scope);
    lang_drop(vm, c->value);
    lang_obj_release_memory(vm, &c->head, sizeof(*c));
}

static void free_class(struct lang_vm *vm, struct lang_class *c)
{
    lang_class_changed(vm); /* removes the class from the cache */
    lang_drop_obj(vm, c->names);
    lang_drop_obj(vm, c->base);
    lang_obj_release_memory(vm, &c->head, sizeof(*c));
}

void lang_attrs_clear(struct lang_vm *vm, struct lang_dict *attrs, const char *scope)
{
    uint32_t at = 0;
    struct lang_entry *entry;

    while ((entry = lang_dict_next(attrs, &at)) != NULL) {
        struct lang_value v = entry->value;

        if (vm->observed && lang_can_hold(v))
            lang_unhold(vm, v, VS_HOLD_ATTR, entry->key.as.str->text, scope);
        entry->value = lang_none();
        lang_drop(vm, v);
    }
}

static void free_attrs(struct lang_vm *vm, struct lang_dict *attrs, const char *scope)
{
    if (attrs != NULL && vm->observed && attrs->head.refs == 1)
        lang_attrs_clear(vm, attrs, scope);
    lang_drop_obj(vm, attrs);
}

static void free_instance(struct lang_vm *vm, struct lang_instance *in)
{
    struct lang_class *cls = in->cls;
    size_t size = sizeof(*in);

    if (cls->class_flags & LANG_CLASS_MODULE) {
        vm->module_type->forget(vm, (struct lang_module_instance *)in);
        size = sizeof(struct lang_module_instance);
    }
    free_attrs(vm, in->attrs, cls->qualname->text);
    lang_obj_release_memory(vm, &in->head, size);
    lang_drop_obj(vm, cls);
}

static void free_slice(struct lang_vm *vm, struct lang_slice *s)
{
    lang_drop(vm, s->step);
    lang_drop(vm, s->start);
    lang_drop(vm, s->stop);
    lang_obj_release_memory(vm, &s->head, sizeof(*s));
}

static void free_method(struct lang_vm *vm, struct lang_method *m)
{
    lang_drop(vm, m->func);
    lang_drop(vm, m->self);
    lang_obj_release_memory(vm, &m->head, sizeof(*m));
}

static void free_super(struct lang_vm *vm, struct lang_super *s)
{
    lang_drop_obj(vm, s->after);
    lang_drop(vm, s->self);
    lang_obj_release_memory(vm, &s->head, sizeof(*s));
}

static void free_descriptor(struct lang_vm *vm, struct lang_descriptor *d)
{
    lang_drop(vm, d->func);
    lang_drop(vm, d->setter);
    lang_obj_release_memory(vm, &d->head, sizeof(*d));
}

static void free_opaque(struct lang_vm *vm, struct lang_opaque *o)
{
    if (o->release != NULL)
        o->release(vm, o->data);
    lang_obj_release_memory(vm, &o->head, sizeof(*o));
}

/* The kinds that free_object does not have. */
static void free_small(struct lang_vm *vm, struct lang_obj *obj)
{
    switch ((enum lang_kind)obj->kind) {
    case LANG_SET:
        lang_drop_obj(vm, ((struct lang_set *)obj)->keys);
        lang_obj_release_memory(vm, obj, sizeof(struct lang_set));
        break;
    case LANG_SLICE:
        free_slice(vm, (struct lang_slice *)obj);
        break;
    case LANG_RANGE:
        lang_obj_release_memory(vm, obj, sizeof(struct lang_range));
        break;
    case LANG_METHOD:
        free_method(vm, (struct lang_method *)obj);
        break;
    case LANG_BUILTIN:
        lang_drop(vm, ((struct lang_builtin *)obj)->closure);
        lang_obj_release_memory(vm, obj, sizeof(struct lang_builtin));
        break;
    case LANG_NAMESPACE:
        lang_drop_obj(vm, ((struct lang_namespace *)obj)->names);
        lang_obj_release_memory(vm, obj, sizeof(struct lang_namespace));
        break;
    case LANG_SUPER:
        free_super(vm, (struct lang_super *)obj);
        break;
    case LANG_DESCRIPTOR:
        free_descriptor(vm, (struct lang_descriptor *)obj);
        break;
    case LANG_OPAQUE:
        free_opaque(vm, (struct lang_opaque *)obj);
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
    case LANG_TUPLE:
    case LANG_LIST:
    case LANG_DICT:
    case LANG_FUNCTION:
    case LANG_CLASS:
    case LANG_INSTANCE:
    case LANG_CELL:
    case LANG_ITER:
    case LANG_GENERATOR:
    case LANG_CONTEXT:
    case LANG_KIND_COUNT:
        vs_die("an object of kind %d is not freed here", (int)obj->kind);
    }
}

static void free_object(struct lang_vm *vm, struct lang_obj *obj)
{
    switch (obj->kind) {
    case LANG_STR:
        lang_obj_release_memory(vm, obj,
                                sizeof(struct lang_string) + ((struct lang_string *)obj)->len + 1);
        break;
    case LANG_TUPLE:
        free_tuple(vm, (struct lang_tuple *)obj);
        break;
    case LANG_LIST:
        free_list(vm, (struct lang_list *)obj);
        break;
    case LANG_DICT:
        free_dict(vm, (struct lang_dict *)obj);
        break;
    case LANG_FUNCTION:
        free_function(vm, (struct lang_function *)obj);
        break;
    case LANG_CLASS:
        free_class(vm, (struct lang_class *)obj);
        break;
    case LANG_INSTANCE:
        free_instance(vm, (struct lang_instance *)obj);
        break;
    case LANG_CELL:
        free_cell(vm, (struct lang_cell *)obj);
        break;
    case LANG_ITER:
        lang_iter_free(vm, (struct lang_iter *)obj);
        break;
    case LANG_GENERATOR:
        lang_generator_free(vm, (struct lang_generator *)obj);
        break;
    case LANG_CONTEXT:
        lang_obj_release_memory(vm, obj, sizeof(struct lang_context));
        break;
    default:
        free_small(vm, obj);
    }
}

void lang_obj_free(struct lang_vm *vm, struct lang_obj *obj)
{
    if (vm->free_depth >= MAX_FREE_DEPTH) {
        vm->late = vs_grow(vm->late, vm->late_count, &vm->late_cap, sizeof(*vm->late));
        vm->late[vm->late_count++] = obj;
        return;
    }
    vm->free_depth++;
    free_object(vm, obj);
    vm->free_depth--;
    while (vm->free_depth == 0 && vm->late_count > 0) {
        struct lang_obj *late = vm->late[--vm->late_count];

        vm->free_depth++;
        free_object(vm, late);
        vm->free_depth--;
    }
}

void lang_drop_all(struct lang_vm *vm, struct lang_value *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        lang_drop(vm, values[i]);
}

/* ---- slices, ranges and other small kinds ---- */

struct lang_slice *lang_slice_new(struct lang_vm *vm, struct lang_value start_taken,
                                  struct lang_value stop_taken, struct lang_value step_taken)
{
    struct lang_slice *s = lang_obj_new(vm, LANG_SLICE, sizeof(*s));

    s->start = start_taken;
    s->stop = stop_taken;
    s->step = step_taken;
    return s;
}

struct lang_range *lang_range_new(struct lang_vm *vm, int64_t start, int64_t stop, int64_t step)
{
    struct lang_range *r = lang_obj_new(vm, LANG_RANGE, sizeof(*r));
    uint64_t span;

    VS_ASSERT(step != 0);
    r->start = start;
    r->stop = stop;
    r->step = step;
    if (step > 0 && start < stop) {
        span = (uint64_t)stop - (uint64_t)start - 1;
        r->count = (int64_t)(span / (uint64_t)step + 1);
    } else if (step < 0 && start > stop) {
        span = (uint64_t)start - (uint64_t)stop - 1;
        r->count = (int64_t)(span / (0 - (uint64_t)step) + 1);
    }
    return r;
}

struct lang_cell *lang_cell_new(struct lang_vm *vm, struct lang_value taken)
{
    struct lang_cell *c = lang_obj_new(vm, LANG_CELL, sizeof(*c));

    c->value = taken;
    return c;
}

struct lang_descriptor *lang_descriptor_new(struct lang_vm *vm, enum lang_descriptor_kind what,
                                            struct lang_value func)
{
    struct lang_descriptor *d = lang_obj_new(vm, LANG_DESCRIPTOR, sizeof(*d));

    d->what = what;
    d->func = lang_keep(func);
    d->setter = lang_none();
    return d;
}

struct lang_opaque *lang_opaque_new(struct lang_vm *vm, const char *type, void *data,
                                    void (*release)(struct lang_vm *vm, void *data))
{
    struct lang_opaque *o = lang_obj_new(vm, LANG_OPAQUE, sizeof(*o));

    o->type = type;
    o->data = data;
    o->release = release;
    return o;
}

struct lang_function *lang_function_new(struct lang_vm *vm, const struct lang_rtcode *code)
{
    struct lang_function *f = lang_obj_new(vm, LANG_FUNCTION, sizeof(*f));

    f->code = code;
    return f;
}

struct lang_method *lang_method_new(struct lang_vm *vm, struct lang_value func,
                                    struct lang_value self)
{
    struct lang_method *m = lang_obj_new(vm, LANG_METHOD, sizeof(*m));

    m->func = lang_keep(func);
    m->self = lang_keep(self);
    return m;
}

struct lang_builtin *lang_builtin_new(struct lang_vm *vm, const char *name, lang_native_fn *fn,
                                      const void *data)
{
    struct lang_builtin *b = lang_obj_new(vm, LANG_BUILTIN, sizeof(*b));

    b->name = name;
    b->fn = fn;
    b->data = data;
    return b;
}

struct lang_instance *lang_instance_new(struct lang_vm *vm, struct lang_class *cls)
{
    size_t size = cls->class_flags & LANG_CLASS_MODULE ? sizeof(struct lang_module_instance)
                                                       : sizeof(struct lang_instance);
    struct lang_instance *in = lang_obj_new(vm, LANG_INSTANCE, size);

    in->cls = cls;
    cls->head.refs++;
    in->attrs = lang_dict_new(vm);
    return in;
}

struct lang_namespace *lang_namespace_new(struct lang_vm *vm, const char *name)
{
    struct lang_namespace *s = lang_obj_new(vm, LANG_NAMESPACE, sizeof(*s));

    s->name = lang_intern_text(vm, name);
    s->names = lang_dict_new(vm);
    return s;
}
