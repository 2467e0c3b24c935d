/*
 * lang/interp/attr.c - obj.name.
 *
 * For:            lang/interp/attr.h.
 * Must not know:  expressions.
 * Invariant:      a function found through a class becomes a bound method; one found on the object itself does not.
 */
#include "lang/interp/attr.h"

#include <string.h>

#include "engine/core/tensor.h"
#include "lang/interp/call.h"
#include "lang/interp/interp.h"
#include "lang/interp/ops.h"
#include "lang/value/hold.h"

/* ---- attributes of every object ---- */

static struct lang_value text_of(struct lang_string *s)
{
    return lang_keep((struct lang_value){.kind = LANG_STR, .as.str = s});
}

static struct lang_value class_value(struct lang_class *cls)
{
    return lang_keep((struct lang_value){.kind = LANG_CLASS, .as.cls = cls});
}

/* Binds an attribute found in a class to an instance, as Python's descriptors do. */
static bool bind_found(struct lang_vm *vm, struct lang_value found, struct lang_value self,
                       struct lang_class *cls, struct lang_value *out)
{
    const struct lang_descriptor *d;

    if (found.kind == LANG_FUNCTION ||
        (found.kind == LANG_BUILTIN && (found.as.builtin->head.flags & LANG_BUILTIN_BINDS))) {
        *out = lang_object(lang_method_new(vm, found, self));
        return true;
    }
    if (found.kind != LANG_DESCRIPTOR) {
        *out = lang_keep(found);
        return true;
    }
    d = found.as.descriptor;
    switch (d->what) {
    case LANG_PROPERTY:
        return lang_call_value(vm, d->func, &self, 1, out);
    case LANG_STATICMETHOD:
        *out = lang_keep(d->func);
        return true;
    case LANG_CLASSMETHOD:
        *out = lang_object(
            lang_method_new(vm, d->func, (struct lang_value){.kind = LANG_CLASS, .as.cls = cls}));
        return true;
    }
    return true;
}

static bool find_in_class(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                          struct lang_value *out)
{
    struct lang_class *cls = lang_class_of(vm, obj);
    struct lang_value found = lang_class_find(vm, cls, name);

    *out = lang_unbound();
    if (lang_is_bound(found))
        return bind_found(vm, found, obj, cls, out);
    if (name == lang_name(vm, LANG_N_class))
        *out = class_value(cls);
    return true;
}

/* ---- by kind ---- */

/*
 * A module's parameter without elements may be one whose memory comes and goes 
 * (lang/prelude/deepspeed/deepspeed_params.py): then the module has a function that is called with it.
 */
static bool before_parameter_is_read(struct lang_vm *vm, const struct lang_instance *in,
                                     struct lang_value v)
{
    const struct lang_value *function;
    struct lang_value ignored;

    if (v.kind != LANG_TENSOR || !v.as.tensor->is_parameter || eng_numel(v.as.tensor) > 0)
        return true;
    function = lang_dict_find(in->attrs, lang_name(vm, LANG_N_before_empty_read));
    if (function == NULL)
        return true;
    if (!lang_call_value(vm, *function, &v, 1, &ignored))
        return false;
    lang_drop(vm, ignored);
    return true;
}

static bool find_in_instance(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                             struct lang_value *out)
{
    struct lang_instance *in = obj.as.instance;
    struct lang_value found = lang_class_find(vm, in->cls, name);
    struct lang_module_instance *m = lang_as_module(obj);
    struct lang_value *own;

    if (found.kind == LANG_DESCRIPTOR && found.as.descriptor->what == LANG_PROPERTY)
        return lang_call_value(vm, found.as.descriptor->func, &obj, 1, out);
    own = lang_dict_find(in->attrs, name);
    if (own != NULL) {
        *out = lang_keep(*own);
        return true;
    }
    if (lang_is_bound(found))
        return bind_found(vm, found, obj, in->cls, out);
    if (m != NULL) {
        *out = lang_keep(vm->module_type->find(m, name));
        if (lang_is_bound(*out))
            return before_parameter_is_read(vm, in, *out);
    }
    if (name == lang_name(vm, LANG_N_class)) {
        *out = class_value(in->cls);
        return true;
    }
    if (name == lang_name(vm, LANG_N_dict)) {
        *out = lang_keep(lang_object(in->attrs));
        return true;
    }
    found = lang_class_find(vm, in->cls, lang_name(vm, LANG_N_getattr));
    if (lang_is_bound(found)) {
        struct lang_value arg = text_of(name);
        bool ok = lang_call_special(vm, found, obj, &arg, 1, out);

        lang_drop(vm, arg);
        return ok;
    }
    *out = lang_unbound();
    return true;
}

static bool find_in_type(struct lang_vm *vm, struct lang_class *cls, struct lang_string *name,
                         struct lang_value *out)
{
    struct lang_value found = lang_class_find(vm, cls, name);

    *out = lang_unbound();
    if (lang_is_bound(found)) {
        if (found.kind != LANG_DESCRIPTOR || found.as.descriptor->what == LANG_PROPERTY) {
            *out = lang_keep(found);
            return true;
        }
        return bind_found(vm, found, lang_none(), cls, out);
    }
    if (name == lang_name(vm, LANG_N_name))
        *out = text_of(cls->name);
    else if (name == lang_name(vm, LANG_N_qualname))
        *out = text_of(cls->qualname);
    else if (name == lang_name(vm, LANG_N_class))
        *out = class_value(vm->cls.type);
    return true;
}

/* object.__init__(self) */
static bool object_init(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    *out = lang_none();
    return lang_args_exact(vm, call, "object.__init__", 1);
}

static bool find_in_super(struct lang_vm *vm, const struct lang_super *s, struct lang_string *name,
                          struct lang_value *out)
{
    struct lang_value found = lang_unbound();

    *out = lang_unbound();
    if (s->after->base != NULL)
        found = lang_class_find(vm, s->after->base, name);
    if (!lang_is_bound(found) && name == lang_name(vm, LANG_N_init)) {
        struct lang_builtin *init = lang_builtin_new(vm, "__init__", object_init, NULL);
        bool ok;

        init->head.flags = LANG_BUILTIN_BINDS;
        ok = bind_found(vm, lang_object(init), s->self, lang_class_of(vm, s->self), out);
        lang_drop_obj(vm, init);
        return ok;
    }
    if (!lang_is_bound(found))
        return true;
    return bind_found(vm, found, s->self, lang_class_of(vm, s->self), out);
}

static bool find_in_function(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                             struct lang_value *out)
{
    const struct lang_function *f = obj.as.function;
    const struct lang_str *doc = f->code->code->doc;
    struct lang_value *own = f->attrs != NULL ? lang_dict_find(f->attrs, name) : NULL;

    *out = lang_unbound();
    if (own != NULL)
        *out = lang_keep(*own);
    else if (name == lang_name(vm, LANG_N_name))
        *out = text_of(f->code->name);
    else if (name == lang_name(vm, LANG_N_qualname))
        *out = text_of(f->code->qualname);
    else if (name == lang_name(vm, LANG_N_doc))
        *out = doc == NULL ? lang_none() : text_of(f->code->net->names[doc->id]);
    else
        return find_in_class(vm, obj, name, out);
    return true;
}

/* Names with an underscore are the prelude's, except those of PyTorch's own that models call. */
static bool hides(const struct lang_vm *vm, const struct lang_string *name)
{
    static const char *const CALLED[] = {"_grouped_mm", "_weight_norm"};

    if (name->text[0] != '_' || vm->frame == NULL || !vm->frame->is_user)
        return false;
    for (size_t i = 0; i < sizeof(CALLED) / sizeof(*CALLED); i++) {
        if (strcmp(name->text, CALLED[i]) == 0)
            return false;
    }
    return true;
}

static void find_in_space(struct lang_vm *vm, const struct lang_namespace *s,
                          struct lang_string *name, struct lang_value *out)
{
    struct lang_value *own = hides(vm, name) ? NULL : lang_dict_find(s->names, name);

    *out = lang_unbound();
    if (own != NULL)
        *out = lang_keep(*own);
    else if (name == lang_name(vm, LANG_N_name))
        *out = text_of(s->name);
}

static bool find_in_small(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                          struct lang_value *out)
{
    const char *n = name->text;

    *out = lang_unbound();
    if (obj.kind == LANG_TUPLE && (obj.as.tuple->head.flags & LANG_TUPLE_VALUES)) {
        if (name == lang_name(vm, LANG_N_values) || name == lang_name(vm, LANG_N_indices)) {
            *out = lang_keep(obj.as.tuple->items[name == lang_name(vm, LANG_N_indices)]);
            return true;
        }
    } else if (obj.kind == LANG_SLICE) {
        const struct lang_slice *s = obj.as.slice;

        if (strcmp(n, "start") == 0 || strcmp(n, "stop") == 0 || strcmp(n, "step") == 0) {
            *out = lang_keep(n[2] == 'a' ? s->start : n[2] == 'o' ? s->stop : s->step);
            return true;
        }
    } else if (obj.kind == LANG_DTYPE) {
        if (strcmp(n, "is_floating_point") == 0 || strcmp(n, "itemsize") == 0) {
            *out = n[1] == 's' ? lang_bool(vs_dtype_is_floating(obj.as.dtype))
                               : lang_int((int64_t)vs_dtype_bytes(obj.as.dtype));
            return true;
        }
    } else if (obj.kind == LANG_DEVICE) {
        if (strcmp(n, "type") == 0) {
            *out = lang_str(vm, obj.as.on_host ? "cpu" : "cuda");
            return true;
        }
        if (strcmp(n, "index") == 0) {
            *out = obj.as.on_host ? lang_none() : lang_int(0);
            return true;
        }
    } else if (obj.kind == LANG_METHOD &&
               (name == lang_name(vm, LANG_N_name) || name == lang_name(vm, LANG_N_qualname))) {
        return lang_findattr(vm, obj.as.method->func, name, out);
    } else if (obj.kind == LANG_BUILTIN && name == lang_name(vm, LANG_N_name)) {
        const char *dot = strrchr(obj.as.builtin->name, '.');

        *out = lang_str(vm, dot != NULL ? dot + 1 : obj.as.builtin->name);
        return true;
    }
    return find_in_class(vm, obj, name, out);
}

bool lang_findattr(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                   struct lang_value *out)
{
    bool found;

    switch ((enum lang_kind)obj.kind) {
    case LANG_INSTANCE:
        return find_in_instance(vm, obj, name, out);
    case LANG_NAMESPACE:
        find_in_space(vm, obj.as.space, name, out);
        return true;
    case LANG_TENSOR:
        if (!vm->tensor_type->getattr(vm, obj.as.tensor, name, out, &found))
            return false;
        return found ? true : find_in_class(vm, obj, name, out);
    case LANG_CLASS:
        return find_in_type(vm, obj.as.cls, name, out);
    case LANG_SUPER:
        return find_in_super(vm, obj.as.super, name, out);
    case LANG_FUNCTION:
        return find_in_function(vm, obj, name, out);
    default:
        return find_in_small(vm, obj, name, out);
    }
}

/* ---- error messages ---- */

static const char *nearest(struct lang_vm *vm, struct lang_value obj, const char *name)
{
    const struct lang_module_instance *m = lang_as_module(obj);
    const char *hint = NULL;

    if (obj.kind == LANG_NAMESPACE)
        return lang_suggest(vm, obj.as.space->names, name);
    if (obj.kind == LANG_INSTANCE)
        hint = lang_suggest(vm, obj.as.instance->attrs, name);
    if (hint == NULL && m != NULL)
        hint = lang_suggest(vm, m->modules, name);
    if (hint == NULL && m != NULL)
        hint = lang_suggest(vm, m->params, name);
    if (hint == NULL && obj.kind == LANG_CLASS)
        hint = lang_suggest(vm, obj.as.cls->names, name);
    for (const struct lang_class *c = lang_class_of(vm, obj); hint == NULL && c != NULL;
         c = c->base)
        hint = lang_suggest(vm, c->names, name);
    return hint;
}

static bool no_attribute(struct lang_vm *vm, struct lang_value obj, const struct lang_string *name)
{
    const char *hint = nearest(vm, obj, name->text);

    if (obj.kind == LANG_NAMESPACE)
        return lang_fail_hint(vm, VS_E_NAME,
                              hint != NULL ? hint : "`vramscope ops` lists what there is",
                              "%s has no `%s` here", obj.as.space->name->text, name->text);
    if (lang_as_module(obj) != NULL &&
        ((const struct lang_module_instance *)obj.as.instance)->params == NULL)
        return lang_fail_hint(vm, VS_E_NAME, "call super().__init__() first",
                              "`%s` has no `%s`, and its Module.__init__ has not run",
                              lang_type_name(vm, obj), name->text);
    if (obj.kind == LANG_CLASS)
        return lang_fail_hint(vm, VS_E_NAME, hint, "class `%s` has no attribute `%s`",
                              obj.as.cls->name->text, name->text);
    return lang_fail_hint(vm, VS_E_NAME, hint, "`%s` has no attribute `%s`",
                          lang_type_name(vm, obj), name->text);
}

bool lang_getattr(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                  struct lang_value *out)
{
    if (!lang_findattr(vm, obj, name, out))
        return false;
    return lang_is_bound(*out) ? true : no_attribute(vm, obj, name);
}

/* Whether a class attribute is a function that becomes a bound method. */
static bool is_plain_method(struct lang_value found)
{
    return found.kind == LANG_FUNCTION ||
           (found.kind == LANG_BUILTIN && (found.as.builtin->head.flags & LANG_BUILTIN_BINDS));
}

bool lang_getmethod(struct lang_vm *vm, struct lang_value *self, struct lang_string *name,
                    struct lang_value *out, bool *is_method)
{
    struct lang_value obj = *self;
    struct lang_value found = lang_unbound();

    *is_method = false;
    if (obj.kind == LANG_INSTANCE) {
        found = lang_class_find(vm, obj.as.instance->cls, name);
        if (is_plain_method(found) && lang_dict_find(obj.as.instance->attrs, name) != NULL)
            found = lang_unbound();
    } else if (obj.kind == LANG_SUPER) {
        if (obj.as.super->after->base != NULL)
            found = lang_class_find(vm, obj.as.super->after->base, name);
    } else if (obj.kind != LANG_CLASS && obj.kind != LANG_NAMESPACE) {
        found = lang_class_find(vm, lang_class_of(vm, obj), name);
    }
    if (!is_plain_method(found))
        return lang_getattr(vm, obj, name, out);
    *out = lang_keep(found);
    *is_method = true;
    if (obj.kind == LANG_SUPER) {
        *self = lang_keep(obj.as.super->self);
        lang_drop(vm, obj);
    }
    return true;
}

/* ---- writing ---- */

static bool set_plain(struct lang_vm *vm, struct lang_instance *in, struct lang_string *name,
                      struct lang_value value)
{
    if (vm->observed) {
        struct lang_value *old = lang_dict_find(in->attrs, name);
        const char *scope = in->cls->qualname->text;

        if (lang_can_hold(value))
            lang_hold(vm, value, VS_HOLD_ATTR, name->text, scope);
        if (old != NULL && lang_can_hold(*old))
            lang_unhold(vm, *old, VS_HOLD_ATTR, name->text, scope);
    }
    lang_dict_put(vm, in->attrs, name, lang_keep(value));
    return true;
}

static bool set_in_instance(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                            struct lang_value value)
{
    struct lang_instance *in = obj.as.instance;
    struct lang_value found = lang_class_find(vm, in->cls, name);
    struct lang_module_instance *m = lang_as_module(obj);
    bool done;

    if (found.kind == LANG_DESCRIPTOR && found.as.descriptor->what == LANG_PROPERTY) {
        struct lang_value args[2] = {obj, value};
        struct lang_value result;

        if (found.as.descriptor->setter.kind == LANG_NONE)
            return lang_fail(vm, VS_E_TYPE, "the property `%s` of `%s` has no setter", name->text,
                             in->cls->name->text);
        if (!lang_call_value(vm, found.as.descriptor->setter, args, 2, &result))
            return false;
        lang_drop(vm, result);
        return true;
    }
    if (m != NULL) {
        if (!vm->module_type->setattr(vm, m, name, value, &done))
            return false;
        if (done)
            return true;
    }
    return set_plain(vm, in, name, value);
}

/*
 * A net sets an attribute of a module: *allowed where the module has a function _set(name, value), which has looked at
 * the value (torch.backends).
 */
static bool may_set(struct lang_vm *vm, const struct lang_namespace *space,
                    struct lang_string *name, struct lang_value value, bool *allowed)
{
    struct lang_value *set = lang_dict_find(space->names, lang_intern_text(vm, "_set"));
    struct lang_value args[2] = {lang_object(name), value};
    struct lang_value result;

    *allowed = set != NULL;
    if (set == NULL)
        return true;
    if (!lang_call_value(vm, *set, args, 2, &result))
        return false;
    lang_drop(vm, result);
    return true;
}

bool lang_setattr(struct lang_vm *vm, struct lang_value obj, struct lang_string *name,
                  struct lang_value value)
{
    bool is_user = vm->frame != NULL && vm->frame->is_user;
    bool done = false;

    switch ((enum lang_kind)obj.kind) {
    case LANG_INSTANCE:
        return set_in_instance(vm, obj, name, value);
    case LANG_TENSOR:
        return vm->tensor_type->setattr(vm, obj.as.tensor, name, value);
    case LANG_CLASS:
        if ((obj.as.cls->class_flags & LANG_CLASS_NATIVE) && is_user)
            break;
        lang_dict_put(vm, obj.as.cls->names, name, lang_keep(value));
        lang_class_changed(vm);
        return true;
    case LANG_NAMESPACE:
        if (is_user && !may_set(vm, obj.as.space, name, value, &done))
            return false;
        if (is_user && !done)
            break;
        lang_dict_put(vm, obj.as.space->names, name, lang_keep(value));
        return true;
    case LANG_FUNCTION:
        if (obj.as.function->attrs == NULL)
            obj.as.function->attrs = lang_dict_new(vm);
        lang_dict_put(vm, obj.as.function->attrs, name, lang_keep(value));
        return true;
    default:
        break;
    }
    return lang_fail(vm, VS_E_TYPE, "the attribute `%s` of `%s` cannot be set", name->text,
                     obj.kind == LANG_NAMESPACE ? obj.as.space->name->text
                                                : lang_type_name(vm, obj));
}

bool lang_delattr(struct lang_vm *vm, struct lang_value obj, struct lang_string *name)
{
    struct lang_module_instance *m = lang_as_module(obj);
    struct lang_value old = lang_unbound();
    bool done = false;

    if (obj.kind == LANG_TENSOR)
        return vm->tensor_type->delattr(vm, obj.as.tensor, name);
    if (m != NULL && !vm->module_type->delattr(vm, m, name, &done))
        return false;
    if (done)
        return true;
    if (obj.kind == LANG_INSTANCE) {
        old = lang_dict_take(vm, obj.as.instance->attrs, name);
        if (vm->observed && lang_can_hold(old))
            lang_unhold(vm, old, VS_HOLD_ATTR, name->text, obj.as.instance->cls->qualname->text);
    } else if (obj.kind == LANG_CLASS && !(obj.as.cls->class_flags & LANG_CLASS_NATIVE)) {
        old = lang_dict_take(vm, obj.as.cls->names, name);
        lang_class_changed(vm);
    } else if (obj.kind == LANG_FUNCTION && obj.as.function->attrs != NULL) {
        old = lang_dict_take(vm, obj.as.function->attrs, name);
    }
    if (!lang_is_bound(old))
        return no_attribute(vm, obj, name);
    lang_drop(vm, old);
    return true;
}
