/*
 * lang/torch/nn_module.c - nn.Module: attributes and calls.
 *
 * For:            lang/torch/nn_module.h.
 * Must not know:  which layers exist.
 * Invariant:      the arguments of a module's call stay on the stack until forward has returned, even if forward
 *                 rebinds its parameters, because PyTorch's Module.__call__ keeps them in a tuple.
 */
#include "lang/torch/nn_module.h"

#include <string.h>

#include "lang/interp/attr.h"
#include "lang/interp/interp.h"
#include "lang/interp/ops.h"
#include "lang/value/hold.h"
#include "lang/value/parts.h"

/* ---- hold events ---- */

/* A parameter or buffer of a module whose path is known: "weight" of "layer1.0.conv1". */
static void emit_slot(struct lang_vm *vm, const struct lang_module_instance *m,
                      const struct lang_string *name, struct lang_value v, bool on)
{
    if (vm->observed && m->path != NULL && v.kind == LANG_TENSOR)
        lang_hold_tensor(vm, v.as.tensor, VS_HOLD_ATTR, name->text, m->path, on);
}

static void emit_all(struct lang_vm *vm, const struct lang_module_instance *m,
                     const struct lang_dict *dict, bool on)
{
    struct lang_entry *e;
    uint32_t at = 0;

    while (dict != NULL && (e = lang_dict_next(dict, &at)) != NULL)
        emit_slot(vm, m, e->key.as.str, e->value, on);
}

static void module_forget(struct lang_vm *vm, struct lang_module_instance *m)
{
    if (!vm->observed || m->path == NULL)
        return;
    emit_all(vm, m, m->params, false);
    emit_all(vm, m, m->buffers, false);
}

void lang_module_set_path(struct lang_vm *vm, struct lang_module_instance *m, const char *path)
{
    if (m->path == path)
        return;
    module_forget(vm, m);
    m->path = path;
    if (!vm->observed)
        return;
    emit_all(vm, m, m->params, true);
    emit_all(vm, m, m->buffers, true);
}

/* ---- attributes ---- */

static struct lang_value module_find(const struct lang_module_instance *m,
                                     const struct lang_string *name)
{
    struct lang_value *v;

    if (m->params == NULL)
        return lang_unbound();
    v = lang_dict_find(m->params, name);
    if (v == NULL)
        v = lang_dict_find(m->buffers, name);
    if (v == NULL)
        v = lang_dict_find(m->modules, name);
    return v == NULL ? lang_unbound() : *v;
}

/* Sets an entry of one of the three dicts (value borrowed) and emits the events. */
static void put_slot(struct lang_vm *vm, struct lang_module_instance *m, struct lang_dict *dict,
                     struct lang_string *name, struct lang_value value)
{
    struct lang_value *old = lang_dict_find(dict, name);

    if (dict != m->modules) {
        emit_slot(vm, m, name, value, true);
        if (old != NULL)
            emit_slot(vm, m, name, *old, false);
    }
    lang_dict_put(vm, dict, name, lang_keep(value));
}

void lang_module_set_buffer(struct lang_vm *vm, struct lang_module_instance *m,
                            struct lang_string *name, struct lang_value taken)
{
    put_slot(vm, m, m->buffers, name, taken);
    lang_drop(vm, taken);
}

static void remove_from(struct lang_vm *vm, struct lang_module_instance *m, struct lang_dict *dict,
                        struct lang_string *name)
{
    struct lang_value old = lang_dict_take(vm, dict, name);

    if (dict != m->modules && dict != m->base.attrs)
        emit_slot(vm, m, name, old, false);
    else if (dict == m->base.attrs && vm->observed && lang_can_hold(old))
        lang_unhold(vm, old, VS_HOLD_ATTR, name->text, m->base.cls->qualname->text);
    lang_drop(vm, old);
}

static bool not_made(struct lang_vm *vm, const char *what)
{
    return lang_fail_hint(vm, VS_E_NAME, "call super().__init__() first",
                          "cannot assign a %s before Module.__init__() has run", what);
}

static bool is_own_name(struct lang_vm *vm, const struct lang_string *name)
{
    return name == lang_name(vm, LANG_N_parameters_dict) ||
           name == lang_name(vm, LANG_N_buffers_dict) || name == lang_name(vm, LANG_N_modules_dict);
}

/* Checks a value for an existing entry: it must be of the entry's kind or None; a buffer may be any tensor. */
static bool set_existing(struct lang_vm *vm, struct lang_module_instance *m, struct lang_dict *dict,
                         struct lang_string *name, struct lang_value value, const char *what)
{
    if (value.kind != LANG_NONE && !(dict == m->buffers && value.kind == LANG_TENSOR))
        return lang_fail(vm, VS_E_TYPE, "cannot assign `%s` as %s `%s`", lang_type_name(vm, value),
                         what, name->text);
    put_slot(vm, m, dict, name, value);
    return true;
}

static bool module_setattr(struct lang_vm *vm, struct lang_module_instance *m,
                           struct lang_string *name, struct lang_value value, bool *done)
{
    bool is_param = value.kind == LANG_TENSOR && value.as.tensor->is_parameter;
    bool is_module = lang_as_module(value) != NULL;

    *done = true;
    if (is_own_name(vm, name))
        return lang_fail(vm, VS_E_UNSUPPORTED, "`%s` of a module cannot be replaced", name->text);
    if (m->params == NULL) {
        if (is_param || is_module)
            return not_made(vm, is_param ? "parameter" : "module");
        *done = false;
        return true;
    }
    if (is_param) {
        remove_from(vm, m, m->base.attrs, name);
        remove_from(vm, m, m->buffers, name);
        remove_from(vm, m, m->modules, name);
        put_slot(vm, m, m->params, name, value);
        return true;
    }
    if (lang_dict_find(m->params, name) != NULL)
        return set_existing(vm, m, m->params, name, value, "parameter");
    if (is_module) {
        remove_from(vm, m, m->base.attrs, name);
        remove_from(vm, m, m->buffers, name);
        put_slot(vm, m, m->modules, name, value);
        return true;
    }
    if (lang_dict_find(m->modules, name) != NULL)
        return set_existing(vm, m, m->modules, name, value, "child module");
    if (lang_dict_find(m->buffers, name) != NULL)
        return set_existing(vm, m, m->buffers, name, value, "buffer");
    *done = false;
    return true;
}

static bool module_delattr(struct lang_vm *vm, struct lang_module_instance *m,
                           struct lang_string *name, bool *done)
{
    struct lang_dict *dicts[3] = {m->params, m->buffers, m->modules};

    *done = false;
    if (is_own_name(vm, name))
        return lang_fail(vm, VS_E_UNSUPPORTED, "`%s` of a module cannot be deleted", name->text);
    for (int i = 0; i < 3 && m->params != NULL; i++) {
        if (lang_dict_find(dicts[i], name) == NULL)
            continue;
        remove_from(vm, m, dicts[i], name);
        *done = true;
        return true;
    }
    return true;
}

/* ---- calls ---- */

static void emit_args(struct lang_vm *vm, const struct lang_module_instance *m,
                      const struct lang_value *args, uint32_t count, bool on)
{
    const char *name = m->path != NULL && m->path[0] != '\0' ? m->path : m->base.cls->name->text;
    const char *scope = m->base.cls->name->text;

    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind != LANG_TENSOR)
            continue;
        if (on)
            eng_hold(vm->eng, args[i].as.tensor, VS_HOLD_ARGS, name, scope);
        else
            eng_drop(vm->eng, args[i].as.tensor, VS_HOLD_ARGS, name, scope);
    }
}

/* Pushes forward and copies of the arguments, then calls it. */
static bool call_forward(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                         const struct lang_kwnames *kw)
{
    struct lang_value *base = vm->sp;
    struct lang_value forward;
    uint32_t count = arg_count;
    bool is_method;

    if (!lang_reserve(vm, arg_count + kw->count + 2))
        return false;
    lang_push(vm, lang_unbound());
    lang_push(vm, lang_keep(*at));
    if (!lang_getmethod(vm, &base[1], lang_name(vm, LANG_N_forward), &forward, &is_method))
        return false;
    base[0] = forward;
    if (is_method)
        count++;
    else
        lang_drop(vm, lang_pop(vm));
    for (uint32_t i = 0; i < arg_count + kw->count; i++)
        lang_push(vm, lang_keep(at[1 + i]));
    return lang_call_at(vm, base, count, kw);
}

static bool has_parameters(const struct lang_module_instance *m)
{
    struct lang_entry *e;
    uint32_t at = 0;

    if (m->params == NULL)
        return false;
    while ((e = lang_dict_next(m->params, &at)) != NULL) {
        if (e->value.kind == LANG_TENSOR)
            return true;
    }
    at = 0;
    while ((e = lang_dict_next(m->modules, &at)) != NULL) {
        const struct lang_module_instance *child = lang_as_module(e->value);

        if (child != NULL && has_parameters(child))
            return true;
    }
    return false;
}

/* Elements of the first tensor among the arguments; 0: there is none. */
static uint64_t input_elems(const struct lang_value *args, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (args[i].kind == LANG_TENSOR)
            return (uint64_t)eng_numel(args[i].as.tensor);
    }
    return 0;
}

static bool module_call(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                        const struct lang_kwnames *kw)
{
    const struct lang_module_instance *m = lang_as_module(*at);
    uint32_t total = arg_count + kw->count;
    bool has_path = m->path != NULL; /* m may be freed by the call */
    const char *before = NULL;
    struct lang_value result;
    bool is_part = false;
    bool ok;

    if (vm->parts != NULL && has_parameters(m)) {
        vm->parts->module = m;
        vm->parts->input_elems = input_elems(at + 1, arg_count);
        if (!lang_part_begin(vm, LANG_PART_FORWARD, &is_part))
            return false;
    }
    if (has_path)
        before = eng_location_module(vm->eng, m->path);
    if (vm->observed)
        emit_args(vm, m, at + 1, total, true);
    ok = call_forward(vm, at, arg_count, kw);
    ok = lang_part_end(vm, is_part, ok);
    if (vm->observed)
        emit_args(vm, m, at + 1, total, false);
    if (ok) {
        result = lang_pop(vm);
        lang_replace(vm, total + 1, result);
    } else if (vm->err.status == VS_E_STOPPED) {
        for (uint32_t i = 0; i < total; i++) {
            lang_park(vm, at[1 + i]);
            at[1 + i] = lang_none();
        }
    }
    if (has_path)
        eng_location_module(vm->eng, before);
    return ok;
}

/* ---- the class ---- */

static struct lang_dict *own_dict(struct lang_vm *vm, struct lang_module_instance *m,
                                  enum lang_name name)
{
    struct lang_dict *d = lang_dict_new(vm);

    lang_dict_put(vm, m->base.attrs, lang_name(vm, name), lang_object(d));
    return d;
}

static bool module_of(struct lang_vm *vm, const struct lang_call *call,
                      struct lang_module_instance **out)
{
    *out = call->arg_count > 0 ? lang_as_module(call->args[0]) : NULL;
    if (*out == NULL)
        return lang_fail(vm, VS_E_TYPE, "%s() is a method of a module", call->builtin->name);
    return true;
}

bool lang_module_self(struct lang_vm *vm, const struct lang_call *call,
                      struct lang_module_instance **out)
{
    if (!module_of(vm, call, out))
        return false;
    if ((*out)->params == NULL)
        return lang_fail_hint(vm, VS_E_NAME, "call super().__init__() first",
                              "%s() of a module whose Module.__init__() has not run",
                              call->builtin->name);
    return true;
}

static bool m_init(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_module_instance *m;

    if (!module_of(vm, call, &m))
        return false;
    module_forget(vm, m);
    lang_dict_put(vm, m->base.attrs, lang_name(vm, LANG_N_training), lang_bool(true));
    m->params = own_dict(vm, m, LANG_N_parameters_dict);
    m->buffers = own_dict(vm, m, LANG_N_buffers_dict);
    (void)own_dict(vm, m, LANG_N_not_persistent);
    m->modules = own_dict(vm, m, LANG_N_modules_dict);
    *out = lang_none();
    return true;
}

/* Checks that a name for a parameter, buffer or child is valid and not in use. */
static bool check_name(struct lang_vm *vm, struct lang_module_instance *m, struct lang_value name,
                       const struct lang_dict *own, struct lang_string **out)
{
    if (name.kind != LANG_STR)
        return lang_fail(vm, VS_E_TYPE, "a name must be a string, not `%s`",
                         lang_type_name(vm, name));
    *out = lang_intern_str(vm, name.as.str);
    if ((*out)->len == 0 || strchr((*out)->text, '.') != NULL)
        return lang_fail(vm, VS_E_VALUE, "a name must not be empty or contain a dot: \"%s\"",
                         (*out)->text);
    if (lang_dict_find(own, *out) != NULL)
        return true;
    if (lang_dict_find(m->base.attrs, *out) != NULL || lang_is_bound(module_find(m, *out)))
        return lang_fail(vm, VS_E_VALUE, "the attribute `%s` exists already", (*out)->text);
    return true;
}

static bool m_register_buffer(struct lang_vm *vm, const struct lang_call *call,
                              struct lang_value *out)
{
    struct lang_module_instance *m;
    struct lang_value a[4];
    struct lang_string *name;

    if (!lang_module_self(vm, call, &m) ||
        !LANG_ARGS(vm, call, "register_buffer", 3, a, "self", "name", "tensor", "persistent") ||
        !check_name(vm, m, a[1], m->buffers, &name))
        return false;
    if (a[2].kind != LANG_TENSOR && a[2].kind != LANG_NONE)
        return lang_fail(vm, VS_E_TYPE, "a buffer must be a tensor or None, not `%s`",
                         lang_type_name(vm, a[2]));
    put_slot(vm, m, m->buffers, name, a[2]);
    if (lang_is_bound(a[3]) && a[3].kind == LANG_BOOL && a[3].as.i == 0) {
        struct lang_value *set =
            lang_dict_find(m->base.attrs, lang_name(vm, LANG_N_not_persistent));

        lang_dict_put(vm, set->as.dict, name, lang_none());
    }
    *out = lang_none();
    return true;
}

static bool m_register_parameter(struct lang_vm *vm, const struct lang_call *call,
                                 struct lang_value *out)
{
    struct lang_module_instance *m;
    struct lang_value a[3];
    struct lang_string *name;

    if (!lang_module_self(vm, call, &m) ||
        !LANG_ARGS(vm, call, "register_parameter", 3, a, "self", "name", "param") ||
        !check_name(vm, m, a[1], m->params, &name))
        return false;
    if (a[2].kind != LANG_NONE && (a[2].kind != LANG_TENSOR || !a[2].as.tensor->is_parameter))
        return lang_fail(vm, VS_E_TYPE, "a parameter must be an nn.Parameter or None, not `%s`",
                         lang_type_name(vm, a[2]));
    put_slot(vm, m, m->params, name, a[2]);
    *out = lang_none();
    return true;
}

static bool m_add_module(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_module_instance *m;
    struct lang_value a[3];
    struct lang_string *name;

    if (!lang_module_self(vm, call, &m) ||
        !LANG_ARGS(vm, call, call->builtin->name, 3, a, "self", "name", "module") ||
        !check_name(vm, m, a[1], m->modules, &name))
        return false;
    if (a[2].kind != LANG_NONE && lang_as_module(a[2]) == NULL)
        return lang_fail(vm, VS_E_TYPE, "`%s` is not a module", lang_type_name(vm, a[2]));
    put_slot(vm, m, m->modules, name, a[2]);
    *out = lang_none();
    return true;
}

static bool m_forward(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    (void)out;
    return lang_fail(vm, VS_E_UNSUPPORTED, "module `%s` has no forward()",
                     call->arg_count > 0 ? lang_type_name(vm, call->args[0]) : "Module");
}

static bool m_refused(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    (void)out;
    return lang_fail_hint(vm, VS_E_UNSUPPORTED, call->builtin->data,
                          "%s() is not part of the net language", call->builtin->name);
}

void lang_module_method(struct lang_vm *vm, struct lang_class *cls, const char *name,
                        lang_native_fn *fn, const void *data)
{
    struct lang_builtin *b = lang_builtin_new(vm, name, fn, data);

    b->head.flags = LANG_BUILTIN_BINDS;
    lang_dict_put(vm, cls->names, lang_intern_text(vm, name), lang_object(b));
}

const struct lang_module_type lang_module_type = {
    .find = module_find,
    .setattr = module_setattr,
    .delattr = module_delattr,
    .call = module_call,
    .forget = module_forget,
};

void lang_module_register(struct lang_vm *vm)
{
    static const char no_hooks[] = "write it into forward()";
    struct lang_class *cls = vm->cls.module;

    lang_module_method(vm, cls, "__init__", m_init, NULL);
    lang_module_method(vm, cls, "register_buffer", m_register_buffer, NULL);
    lang_module_method(vm, cls, "register_parameter", m_register_parameter, NULL);
    lang_module_method(vm, cls, "add_module", m_add_module, NULL);
    lang_module_method(vm, cls, "register_module", m_add_module, NULL);
    lang_module_method(vm, cls, "forward", m_forward, NULL);
    lang_module_method(vm, cls, "register_forward_hook", m_refused, no_hooks);
    lang_module_method(vm, cls, "register_forward_pre_hook", m_refused, no_hooks);
    lang_module_method(vm, cls, "register_full_backward_hook", m_refused, no_hooks);
    lang_module_tree_register(vm, cls);
    lang_module_apply_register(vm, cls);
    lang_class_changed(vm);
}
