/*
 * lang/value/object_class.c - classes: single inheritance, and the cache of what is found in them.
 *
 * For:            lang/value/object.h.
 * Must not know:  what the classes are.
 * Invariant:      a cache entry is of the classes as they were: every change of a class makes all of them old.
 */
#include "lang/interp/vm.h"
#include "lang/value/object.h"

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
