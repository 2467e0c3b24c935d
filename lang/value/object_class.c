/*
 * lang/value/object_class.c - classes: single inheritance, and the cache of class attributes.
 *
 * For:            lang/value/object.h.
 * Must not know:  which classes exist.
 * Invariant:      every change of any class invalidates all cache entries.
 */
#include "lang/value/object.h"
#include "lang/value/vm.h"

struct lang_class *lang_class_new(struct lang_vm *vm, const char *name, struct lang_class *base)
{
    struct lang_class *c = lang_obj_new(vm, LANG_CLASS, sizeof(*c));

    c->name = lang_intern_text(vm, name);
    c->qualname = c->name;
    c->names = lang_dict_new(vm);
    c->instance_kind = LANG_INSTANCE;
    if (base != NULL) {
        base->head.refs++;
        c->base = base;
        c->class_flags = base->class_flags & ~(uint32_t)LANG_CLASS_NATIVE;
        c->make = base->make;
        c->instance_kind = base->instance_kind;
    }
    return c;
}

void lang_class_changed(struct lang_vm *vm)
{
    vm->classes_shape++;
}

struct lang_value lang_class_find(struct lang_vm *vm, struct lang_class *cls,
                                  struct lang_string *name)
{
    size_t at = (((uintptr_t)cls >> 4) * 31 ^ ((uintptr_t)name >> 4)) & (LANG_CACHE_SIZE - 1);
    struct lang_cache_entry *e = &vm->cache[at];
    struct lang_value found = lang_unbound();

    if (e->cls == cls && e->name == name && e->shape == vm->classes_shape)
        return e->value;
    for (const struct lang_class *c = cls; c != NULL; c = c->base) {
        struct lang_value *v = lang_dict_find(c->names, name);

        if (v != NULL) {
            found = *v;
            break;
        }
    }
    e->cls = cls;
    e->name = name;
    e->shape = vm->classes_shape;
    e->value = found;
    return found;
}

bool lang_class_derives(const struct lang_class *cls, const struct lang_class *base)
{
    for (; cls != NULL; cls = cls->base) {
        if (cls == base)
            return true;
    }
    return false;
}

/* ---- classes of values ---- */

struct lang_class *lang_class_of(struct lang_vm *vm, struct lang_value v)
{
    const struct lang_classes *c = &vm->cls;

    switch ((enum lang_kind)v.kind) {
    case LANG_NONE:
        return c->none;
    case LANG_BOOL:
        return c->boolean;
    case LANG_INT:
        return c->integer;
    case LANG_FLOAT:
        return c->floating;
    case LANG_ELLIPSIS:
        return c->ellipsis;
    case LANG_NOT_IMPLEMENTED:
        return c->not_implemented;
    case LANG_DTYPE:
        return c->dtype;
    case LANG_DEVICE:
        return c->device;
    case LANG_TENSOR:
        return v.as.tensor->is_parameter ? c->parameter : c->tensor;
    case LANG_STR:
        return c->str;
    case LANG_TUPLE:
        return v.as.tuple->head.flags & LANG_TUPLE_SIZE ? c->size : c->tuple;
    case LANG_LIST:
        return c->list;
    case LANG_DICT:
        return c->dict;
    case LANG_SET:
        return c->set;
    case LANG_SLICE:
        return c->slice;
    case LANG_RANGE:
        return c->range;
    case LANG_FUNCTION:
        return c->function;
    case LANG_METHOD:
        return c->method;
    case LANG_BUILTIN:
        return c->builtin;
    case LANG_CLASS:
        return c->type;
    case LANG_INSTANCE:
        return v.as.instance->cls;
    case LANG_NAMESPACE:
        return c->namespace;
    case LANG_ITER:
        return c->iterator;
    case LANG_GENERATOR:
        return c->generator;
    case LANG_SUPER:
        return c->super;
    case LANG_DESCRIPTOR:
        return v.as.descriptor->what == LANG_PROPERTY       ? c->property
               : v.as.descriptor->what == LANG_STATICMETHOD ? c->staticmethod
                                                            : c->classmethod;
    case LANG_CONTEXT:
        return c->context;
    case LANG_OPAQUE:
        return c->opaque;
    case LANG_UNBOUND:
    case LANG_CELL:
    case LANG_KIND_COUNT:
        break;
    }
    return c->object;
}

const char *lang_type_name(struct lang_vm *vm, struct lang_value v)
{
    if (v.kind == LANG_OPAQUE)
        return v.as.opaque->type;
    return lang_class_of(vm, v)->name->text;
}

bool lang_isinstance(struct lang_vm *vm, struct lang_value v, const struct lang_class *cls)
{
    if (cls == vm->cls.integer && v.kind == LANG_BOOL)
        return true;
    if (cls == vm->cls.object)
        return true;
    return lang_class_derives(lang_class_of(vm, v), cls);
}
