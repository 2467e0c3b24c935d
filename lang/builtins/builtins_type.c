/*
 * lang/builtins/builtins_type.c - the classes of all kinds of values, and calling them: int("3"), list(x), super().
 *
 * For:            lang/builtins/builtins.h.
 * Must not know:  ops on tensors.
 * Invariant:      every kind of value has a class.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lang/builtins/builtins.h"
#include "lang/interp/attr.h"
#include "lang/interp/call.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"
#include "lang/interp/text.h"

#define NATIVE(name)                                                                               \
    static bool name(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)

/* Reads at most one positional argument; unbound where there is none. */
static bool at_most_one(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    if (call->kw.count > 0 || call->arg_count > 1)
        return lang_args_exact(vm, call, call->cls->name->text, 1);
    *out = call->arg_count == 1 ? call->args[0] : lang_unbound();
    return true;
}

/* ---- numbers ---- */

static bool parse_int(struct lang_vm *vm, const struct lang_string *s, struct lang_value *out)
{
    char *end;
    long long i;

    errno = 0;
    i = strtoll(s->text, &end, 10);
    while (*end == ' ')
        end++;
    if (end == s->text || *end != '\0' || errno != 0)
        return lang_fail(vm, VS_E_VALUE, "\"%s\" is not an integer", s->text);
    *out = lang_int(i);
    return true;
}

/* The number in a tensor of one element. */
static bool tensor_number(struct lang_vm *vm, struct lang_value *v)
{
    if (eng_requires_grad(v->as.tensor))
        lang_warn(vm, "Converting a tensor with requires_grad=True to a scalar may lead to "
                      "unexpected behavior.");
    return vm->tensor_type->item(vm, v->as.tensor, v);
}

NATIVE(make_int)
{
    struct lang_value v;

    if (!at_most_one(vm, call, &v))
        return false;
    if (!lang_is_bound(v)) {
        *out = lang_int(0);
        return true;
    }
    if (v.kind == LANG_TENSOR && !tensor_number(vm, &v))
        return false;
    if (lang_is_int(v)) {
        *out = lang_int(v.as.i);
        return true;
    }
    if (v.kind == LANG_STR)
        return parse_int(vm, v.as.str, out);
    if (v.kind != LANG_FLOAT)
        return lang_fail(vm, VS_E_TYPE, "int() takes a number or a string, not `%s`",
                         lang_type_name(vm, v));
    if (!(fabs(v.as.f) < 9.2e18))
        return lang_fail(vm, VS_E_OVERFLOW, "the number does not fit in 64 bits");
    *out = lang_int((int64_t)v.as.f);
    return true;
}

NATIVE(make_float)
{
    struct lang_value v;

    if (!at_most_one(vm, call, &v))
        return false;
    if (v.kind == LANG_TENSOR && !tensor_number(vm, &v))
        return false;
    if (!lang_is_bound(v)) {
        *out = lang_float(0.0);
    } else if (lang_is_number(v)) {
        *out = lang_float(lang_number(v));
    } else if (v.kind == LANG_STR) {
        char *end;
        double f = strtod(v.as.str->text, &end);

        if (end == v.as.str->text || *end != '\0' || strpbrk(v.as.str->text, "xX") != NULL)
            return lang_fail(vm, VS_E_VALUE, "\"%s\" is not a number", v.as.str->text);
        *out = lang_float(f);
    } else {
        return lang_fail(vm, VS_E_TYPE, "float() takes a number or a string, not `%s`",
                         lang_type_name(vm, v));
    }
    return true;
}

NATIVE(make_bool)
{
    struct lang_value v;
    bool yes = false;

    if (!at_most_one(vm, call, &v) || (lang_is_bound(v) && !lang_truth(vm, v, &yes)))
        return false;
    *out = lang_bool(yes);
    return true;
}

NATIVE(make_str)
{
    struct lang_value v;

    if (!at_most_one(vm, call, &v))
        return false;
    if (lang_is_bound(v))
        return lang_to_str(vm, v, out);
    *out = lang_str(vm, "");
    return true;
}

/* ---- containers ---- */

NATIVE(make_list)
{
    struct lang_value v;
    struct lang_list *list;

    if (!at_most_one(vm, call, &v))
        return false;
    if (!lang_is_bound(v))
        list = lang_list_new(vm, 0);
    else if (!lang_list_of(vm, v, &list))
        return false;
    *out = lang_object(list);
    return true;
}

NATIVE(make_tuple)
{
    struct lang_value v;
    struct lang_list *list;
    struct lang_tuple *t;

    if (!at_most_one(vm, call, &v))
        return false;
    if (v.kind == LANG_TUPLE && call->cls == vm->cls.tuple && v.as.tuple->head.flags == 0) {
        *out = lang_keep(v);
        return true;
    }
    if (!lang_is_bound(v))
        list = lang_list_new(vm, 0);
    else if (!lang_list_of(vm, v, &list))
        return false;
    t = lang_tuple_new(vm, list->count);
    if (list->count > 0)
        memcpy(t->items, list->items, list->count * sizeof(t->items[0]));
    list->count = 0;
    lang_drop_obj(vm, list);
    if (call->cls == vm->cls.size)
        t->head.flags = LANG_TUPLE_SIZE;
    *out = lang_object(t);
    return true;
}

/* Pairs of key and value, from an iterable of them. */
static bool add_pairs(struct lang_vm *vm, struct lang_dict *dict, struct lang_value pairs)
{
    struct lang_value it;
    struct lang_value pair;
    bool ok = true;

    if (!lang_iter_of(vm, pairs, &it))
        return false;
    while (ok && lang_iter_next(vm, it, &pair) && lang_is_bound(pair)) {
        struct lang_value *items;
        uint32_t count;

        if (lang_items(pair, &items, &count) && count == 2)
            ok = lang_dict_store(vm, dict, items[0], lang_keep(items[1]));
        else
            ok = lang_fail(vm, VS_E_VALUE, "a dict needs pairs of key and value");
        lang_drop(vm, pair);
    }
    lang_drop(vm, it);
    return ok && !vm->failed;
}

bool lang_dict_update(struct lang_vm *vm, struct lang_dict *dict, struct lang_value from)
{
    struct lang_entry *e;
    uint32_t at = 0;

    if (from.kind != LANG_DICT)
        return add_pairs(vm, dict, from);
    while ((e = lang_dict_next(from.as.dict, &at)) != NULL) {
        if (!lang_dict_store(vm, dict, e->key, lang_keep(e->value)))
            return false;
    }
    return true;
}

NATIVE(make_dict)
{
    struct lang_dict *dict;

    if (call->arg_count > 1)
        return lang_args_exact(vm, call, "dict", 1);
    dict = lang_dict_new(vm);
    if (call->arg_count == 1 && !lang_dict_update(vm, dict, call->args[0])) {
        lang_drop_obj(vm, dict);
        return false;
    }
    for (uint32_t k = 0; k < call->kw.count; k++)
        lang_dict_put(vm, dict, lang_kwname(&call->kw, k),
                      lang_keep(call->args[call->arg_count + k]));
    *out = lang_object(dict);
    return true;
}

NATIVE(make_set)
{
    struct lang_value v;
    struct lang_value it;
    struct lang_value item;
    struct lang_set *set;
    bool ok = true;

    if (!at_most_one(vm, call, &v))
        return false;
    set = lang_set_new(vm);
    *out = lang_object(set);
    if (!lang_is_bound(v))
        return true;
    if (!lang_iter_of(vm, v, &it)) {
        lang_drop_obj(vm, set);
        return false;
    }
    while (ok && lang_iter_next(vm, it, &item) && lang_is_bound(item)) {
        ok = lang_dict_store(vm, set->keys, item, lang_none());
        lang_drop(vm, item);
    }
    lang_drop(vm, it);
    if (!vm->failed)
        return true;
    lang_drop_obj(vm, set);
    return false;
}

NATIVE(make_range)
{
    int64_t v[3] = {0, 0, 1};

    if (call->kw.count > 0 || call->arg_count < 1 || call->arg_count > 3)
        return lang_args_exact(vm, call, "range", 1);
    for (uint32_t i = 0; i < call->arg_count; i++) {
        if (!lang_is_int(call->args[i]))
            return lang_fail(vm, VS_E_TYPE, "range() takes integers, not `%s`",
                             lang_type_name(vm, call->args[i]));
        v[call->arg_count == 1 ? 1 : i] = call->args[i].as.i;
    }
    if (v[2] == 0)
        return lang_fail(vm, VS_E_VALUE, "range(): the step must not be zero");
    *out = lang_object(lang_range_new(vm, v[0], v[1], v[2]));
    return true;
}

NATIVE(make_slice)
{
    struct lang_value part[3] = {lang_none(), lang_none(), lang_none()};

    if (call->kw.count > 0 || call->arg_count < 1 || call->arg_count > 3)
        return lang_args_exact(vm, call, "slice", 1);
    for (uint32_t i = 0; i < call->arg_count; i++)
        part[call->arg_count == 1 ? 1 : i] = lang_keep(call->args[i]);
    *out = lang_object(lang_slice_new(vm, part[0], part[1], part[2]));
    return true;
}

/* ---- objects ---- */

NATIVE(make_type)
{
    if (!lang_args_exact(vm, call, "type", 1))
        return false;
    *out = lang_keep(
        (struct lang_value){.kind = LANG_CLASS, .as.cls = lang_class_of(vm, call->args[0])});
    return true;
}

/* super() in a method: the class comes from the cell `__class__`, the object from the first parameter. */
static bool super_of_frame(struct lang_vm *vm, struct lang_value *cls, struct lang_value *self)
{
    const struct lang_frame *f = vm->frame;
    uint32_t slot = f != NULL ? f->code->code->class_cell : LANG_NO_SLOT;

    if (slot == LANG_NO_SLOT || f->code->code->positional_count == 0)
        return lang_fail(vm, VS_E_TYPE, "super() without arguments works only in methods");
    *cls = f->slots[slot].as.cell->value;
    *self = f->slots[0].kind == LANG_CELL ? f->slots[0].as.cell->value : f->slots[0];
    if (!lang_is_bound(*cls) || !lang_is_bound(*self))
        return lang_fail(vm, VS_E_NAME, "super(): the class or the object has been deleted");
    return true;
}

NATIVE(make_super)
{
    struct lang_value cls;
    struct lang_value self;
    struct lang_super *s;

    if (call->arg_count == 0 && call->kw.count == 0) {
        if (!super_of_frame(vm, &cls, &self))
            return false;
    } else {
        if (!lang_args_exact(vm, call, "super", 2))
            return false;
        cls = call->args[0];
        self = call->args[1];
        if (cls.kind != LANG_CLASS)
            return lang_fail(vm, VS_E_TYPE, "super(): the first argument must be a class");
    }
    s = lang_obj_new(vm, LANG_SUPER, sizeof(*s));
    s->after = lang_keep(cls).as.cls;
    s->self = lang_keep(self);
    *out = lang_object(s);
    return true;
}

static bool make_descriptor(struct lang_vm *vm, const struct lang_call *call,
                            enum lang_descriptor_kind what, struct lang_value *out)
{
    if (!lang_args_exact(vm, call, call->cls->name->text, 1))
        return false;
    *out = lang_object(lang_descriptor_new(vm, what, call->args[0]));
    return true;
}

NATIVE(make_property)
{
    return make_descriptor(vm, call, LANG_PROPERTY, out);
}

NATIVE(make_staticmethod)
{
    return make_descriptor(vm, call, LANG_STATICMETHOD, out);
}

NATIVE(make_classmethod)
{
    return make_descriptor(vm, call, LANG_CLASSMETHOD, out);
}

/* @name.setter */
NATIVE(property_setter)
{
    struct lang_descriptor *d;

    if (!lang_args_exact(vm, call, "setter", 2) || call->args[0].kind != LANG_DESCRIPTOR)
        return false;
    d = lang_descriptor_new(vm, LANG_PROPERTY, call->args[0].as.descriptor->func);
    d->setter = lang_keep(call->args[1]);
    *out = lang_object(d);
    return true;
}

/* Exceptions only have their arguments. */
NATIVE(exception_init)
{
    if (call->arg_count == 0 || call->args[0].kind != LANG_INSTANCE)
        return lang_fail(vm, VS_E_TYPE, "__init__() is a method of an exception");
    lang_dict_put(vm, call->args[0].as.instance->attrs, lang_name(vm, LANG_N_args),
                  lang_object(lang_args_tuple(vm, call, 1)));
    *out = lang_none();
    return true;
}

NATIVE(exception_str)
{
    struct lang_value *args;

    if (!lang_args_exact(vm, call, "__str__", 1) || call->args[0].kind != LANG_INSTANCE)
        return false;
    args = lang_dict_find(call->args[0].as.instance->attrs, lang_name(vm, LANG_N_args));
    if (args == NULL || args->kind != LANG_TUPLE || args->as.tuple->count == 0) {
        *out = lang_str(vm, "");
        return true;
    }
    if (args->as.tuple->count == 1)
        return lang_to_str(vm, args->as.tuple->items[0], out);
    return lang_to_str(vm, *args, out);
}

/* ---- the table ---- */

static struct lang_class *class_new(struct lang_vm *vm, const char *name, struct lang_class *base,
                                    enum lang_kind kind, uint32_t flags)
{
    struct lang_class *c = lang_class_new(vm, name, base);

    c->instance_kind = kind;
    c->class_flags |= LANG_CLASS_NATIVE | flags;
    return c;
}

void lang_classes_make(struct lang_vm *vm)
{
    struct lang_classes *c = &vm->cls;
    struct lang_class *o = class_new(vm, "object", NULL, LANG_INSTANCE, 0);

    c->object = o;
    c->type = class_new(vm, "type", o, LANG_CLASS, 0);
    c->none = class_new(vm, "NoneType", o, LANG_NONE, 0);
    c->integer = class_new(vm, "int", o, LANG_INT, 0);
    c->boolean = class_new(vm, "bool", c->integer, LANG_BOOL, 0);
    c->floating = class_new(vm, "float", o, LANG_FLOAT, 0);
    c->str = class_new(vm, "str", o, LANG_STR, 0);
    c->tuple = class_new(vm, "tuple", o, LANG_TUPLE, 0);
    c->size = class_new(vm, "Size", c->tuple, LANG_TUPLE, 0);
    c->list = class_new(vm, "list", o, LANG_LIST, 0);
    c->dict = class_new(vm, "dict", o, LANG_DICT, 0);
    c->set = class_new(vm, "set", o, LANG_SET, 0);
    c->slice = class_new(vm, "slice", o, LANG_SLICE, 0);
    c->range = class_new(vm, "range", o, LANG_RANGE, 0);
    c->function = class_new(vm, "function", o, LANG_FUNCTION, 0);
    c->method = class_new(vm, "method", o, LANG_METHOD, 0);
    c->builtin = class_new(vm, "builtin_function_or_method", o, LANG_BUILTIN, 0);
    c->namespace = class_new(vm, "module", o, LANG_NAMESPACE, 0);
    c->iterator = class_new(vm, "iterator", o, LANG_ITER, 0);
    c->generator = class_new(vm, "generator", o, LANG_GENERATOR, 0);
    c->super = class_new(vm, "super", o, LANG_SUPER, 0);
    c->property = class_new(vm, "property", o, LANG_DESCRIPTOR, 0);
    c->staticmethod = class_new(vm, "staticmethod", o, LANG_DESCRIPTOR, 0);
    c->classmethod = class_new(vm, "classmethod", o, LANG_DESCRIPTOR, 0);
    c->context = class_new(vm, "context", o, LANG_CONTEXT, 0);
    c->opaque = class_new(vm, "opaque", o, LANG_OPAQUE, 0);
    c->ellipsis = class_new(vm, "ellipsis", o, LANG_ELLIPSIS, 0);
    c->not_implemented = class_new(vm, "NotImplementedType", o, LANG_NOT_IMPLEMENTED, 0);
    c->variable = class_new(vm, "Variable", o, LANG_TENSOR, 0);
    c->tensor = class_new(vm, "Tensor", c->variable, LANG_TENSOR, 0);
    c->parameter = class_new(vm, "Parameter", c->tensor, LANG_TENSOR, 0);
    c->dtype = class_new(vm, "dtype", o, LANG_DTYPE, 0);
    c->device = class_new(vm, "device", o, LANG_DEVICE, 0);
    c->module = class_new(vm, "Module", o, LANG_INSTANCE, LANG_CLASS_MODULE);
    c->autograd_function = class_new(vm, "Function", o, LANG_INSTANCE, LANG_CLASS_FUNCTION);
    c->ctx = class_new(vm, "FunctionCtx", o, LANG_INSTANCE, LANG_CLASS_CTX);
    c->exception = class_new(vm, "Exception", o, LANG_INSTANCE, LANG_CLASS_EXCEPTION);
}

static void put_class(struct lang_vm *vm, struct lang_class *cls)
{
    lang_dict_put(vm, vm->builtins, cls->name,
                  lang_keep((struct lang_value){.kind = LANG_CLASS, .as.cls = cls}));
}

void lang_method_add(struct lang_vm *vm, struct lang_class *cls, const char *name,
                     lang_native_fn *fn)
{
    struct lang_builtin *b = lang_builtin_new(vm, name, fn, NULL);

    b->head.flags = LANG_BUILTIN_BINDS;
    lang_dict_put(vm, cls->names, lang_intern_text(vm, name), lang_object(b));
}

static void exceptions_register(struct lang_vm *vm)
{
    static const char *const names[] = {
        "ValueError",      "TypeError",         "RuntimeError",  "KeyError",
        "IndexError",      "AttributeError",    "NameError",     "NotImplementedError",
        "AssertionError",  "ZeroDivisionError", "StopIteration", "OverflowError",
        "ArithmeticError", "LookupError"};

    lang_method_add(vm, vm->cls.exception, "__init__", exception_init);
    lang_method_add(vm, vm->cls.exception, "__str__", exception_str);
    put_class(vm, vm->cls.exception);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct lang_class *c = class_new(vm, names[i], vm->cls.exception, LANG_INSTANCE, 0);

        put_class(vm, c);
        lang_drop_obj(vm, c);
    }
}

void lang_types_register(struct lang_vm *vm)
{
    struct lang_classes *c = &vm->cls;
    const struct {
        struct lang_class *cls;
        lang_native_fn *make;
    } table[] = {
        {c->integer, make_int},
        {c->floating, make_float},
        {c->boolean, make_bool},
        {c->str, make_str},
        {c->list, make_list},
        {c->tuple, make_tuple},
        {c->size, make_tuple},
        {c->dict, make_dict},
        {c->set, make_set},
        {c->range, make_range},
        {c->slice, make_slice},
        {c->type, make_type},
        {c->super, make_super},
        {c->property, make_property},
        {c->object, NULL},
        {c->staticmethod, make_staticmethod},
        {c->classmethod, make_classmethod},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        table[i].cls->make = table[i].make;
        if (table[i].cls != c->size)
            put_class(vm, table[i].cls);
    }
    lang_method_add(vm, c->property, "setter", property_setter);
    exceptions_register(vm);
    lang_dict_put(vm, vm->builtins, lang_intern_text(vm, "NotImplemented"),
                  (struct lang_value){.kind = LANG_NOT_IMPLEMENTED});
    lang_dict_put(vm, vm->builtins, lang_intern_text(vm, "Ellipsis"),
                  (struct lang_value){.kind = LANG_ELLIPSIS});
    lang_class_changed(vm);
}
