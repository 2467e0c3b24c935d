/*
 * lang/torch/nn_module_apply.c - methods of nn.Module that change all modules of a tree: train(), half(), to(),
 * requires_grad_(), zero_grad().
 *
 * For:            lang/torch/nn_module.h.
 * Must not know:  which layers exist.
 * Invariant:      conversions visit the tree as PyTorch's _apply does: children first, then own parameters, each with
 *                 its gradient, then own buffers. Tensors are converted one at a time, and the old memory is freed
 *                 when the new tensor is in place.
 */
#include "engine/autograd/autograd.h"
#include "engine/core/op.h"
#include "lang/interp/attr.h"
#include "lang/interp/interp.h"
#include "lang/interp/ops.h"
#include "lang/torch/bind.h"
#include "lang/torch/nn_module.h"
#include "lang/torch/tensor_methods.h"
#include "lang/value/hold.h"
#include "lang/value/parts.h"

/* ---- conversions ---- */

/* Only floating-point tensors change their dtype. */
static bool convert(struct lang_vm *vm, struct eng_tensor *t, const struct lang_to *to,
                    struct lang_value *out)
{
    struct lang_to own = *to;

    if (!vs_dtype_is_floating((enum vs_dtype)t->dtype))
        own.has_dtype = false;
    return lang_tensor_to(vm, t, &own, out);
}

static bool convert_data(struct lang_vm *vm, struct eng_tensor *t, const struct lang_to *to)
{
    bool grad_mode = eng_set_grad_enabled(vm->eng, false);
    struct lang_value converted;
    bool ok = convert(vm, t, to, &converted);

    eng_set_grad_enabled(vm->eng, grad_mode);
    if (!ok)
        return false;
    if (converted.as.tensor != t)
        lang_set_data(vm, t, converted.as.tensor);
    lang_drop(vm, converted);
    return true;
}

static bool convert_params(struct lang_vm *vm, struct lang_module_instance *m,
                           const struct lang_to *to)
{
    struct lang_entry *e;
    uint32_t at = 0;

    while ((e = lang_dict_next(m->params, &at)) != NULL) {
        struct eng_tensor *p = e->value.as.tensor;

        if (e->value.kind != LANG_TENSOR)
            continue;
        if (!convert_data(vm, p, to) || (p->grad != NULL && !convert_data(vm, p->grad, to)))
            return false;
    }
    return true;
}

/* PyTorch's loop variable holds a replaced buffer until the next iteration. */
static bool convert_buffers(struct lang_vm *vm, struct lang_module_instance *m,
                            const struct lang_to *to)
{
    struct lang_value old = lang_unbound();
    struct lang_entry *e;
    uint32_t at = 0;
    bool ok = true;

    while (ok && (e = lang_dict_next(m->buffers, &at)) != NULL) {
        struct lang_value converted;

        lang_assign(vm, &old, lang_keep(e->value));
        if (old.kind != LANG_TENSOR)
            continue;
        ok = convert(vm, old.as.tensor, to, &converted);
        if (ok)
            lang_module_set_buffer(vm, m, e->key.as.str, converted);
    }
    lang_drop(vm, old);
    return ok;
}

/* Recurrent layers on the device make their converted weights views of one buffer again: flatten_parameters(). */
static bool flatten(struct lang_vm *vm, struct lang_value module)
{
    struct lang_value method = lang_special(vm, module, LANG_N_flatten_parameters);
    struct lang_value result;

    if (!lang_is_bound(method))
        return true;
    if (!lang_call_special(vm, method, module, NULL, 0, &result))
        return false;
    lang_drop(vm, result);
    return true;
}

static bool convert_tree(struct lang_vm *vm, struct lang_value module, const struct lang_to *to)
{
    struct lang_module_instance *m = lang_as_module(module);
    struct lang_entry *e;
    uint32_t at = 0;

    if (!lang_check_depth(vm) || m->params == NULL)
        return !vm->failed;
    while ((e = lang_dict_next(m->modules, &at)) != NULL) {
        if (lang_as_module(e->value) != NULL && !convert_tree(vm, e->value, to))
            return false;
    }
    return convert_params(vm, m, to) && convert_buffers(vm, m, to) && flatten(vm, module);
}

static bool convert_self(struct lang_vm *vm, const struct lang_call *call, const struct lang_to *to,
                         struct lang_value *out)
{
    struct lang_module_instance *m;

    if (!lang_module_self(vm, call, &m))
        return false;
    *out = lang_keep(call->args[0]);
    if (convert_tree(vm, call->args[0], to))
        return true;
    lang_drop(vm, *out);
    return false;
}

static bool m_to(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_to to;

    if (!lang_to_args(vm, call, 1, &to))
        return false;
    if (to.has_dtype && !vs_dtype_is_floating(to.dtype))
        return lang_fail(vm, VS_E_TYPE,
                         "a module can only be converted to a floating point dtype, not to %s",
                         vs_dtype_name(to.dtype));
    return convert_self(vm, call, &to, out);
}

static bool m_dtype(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const enum vs_dtype *dtype = call->builtin->data;
    const struct lang_to to = {.has_dtype = true, .dtype = *dtype};

    return lang_args_exact(vm, call, call->builtin->name, 1) && convert_self(vm, call, &to, out);
}

static bool m_device(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const bool *on_host = call->builtin->data;
    const struct lang_to to = {.has_device = true, .on_host = *on_host};

    return convert_self(vm, call, &to, out);
}

/* ---- modes ---- */

/* train(mode) is called on every child, so that a class may override it. */
static bool set_mode(struct lang_vm *vm, struct lang_module_instance *m, bool mode)
{
    struct lang_entry *e;
    uint32_t at = 0;

    if (!lang_check_depth(vm))
        return false;
    lang_dict_put(vm, m->base.attrs, lang_name(vm, LANG_N_training), lang_bool(mode));
    while ((e = lang_dict_next(m->modules, &at)) != NULL) {
        struct lang_value method = lang_special(vm, e->value, LANG_N_train);
        struct lang_value arg = lang_bool(mode);
        struct lang_value result;

        if (!lang_is_bound(method))
            continue;
        if (!lang_call_special(vm, method, e->value, &arg, 1, &result))
            return false;
        lang_drop(vm, result);
    }
    return true;
}

static bool m_train(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_module_instance *m;
    struct lang_value a[2];

    if (!lang_module_self(vm, call, &m) || !LANG_ARGS(vm, call, "train", 1, a, "self", "mode"))
        return false;
    if (lang_is_bound(a[1]) && a[1].kind != LANG_BOOL)
        return lang_fail(vm, VS_E_VALUE, "train(mode): mode must be True or False");
    if (!set_mode(vm, m, !lang_is_bound(a[1]) || a[1].as.i != 0))
        return false;
    *out = lang_keep(call->args[0]);
    return true;
}

static bool m_eval(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_module_instance *m;
    struct lang_value arg = lang_bool(false);

    if (!lang_module_self(vm, call, &m) || !lang_args_exact(vm, call, "eval", 1))
        return false;
    return lang_call_special(vm, lang_special(vm, call->args[0], LANG_N_train), call->args[0], &arg,
                             1, out);
}

/* ---- all parameters ---- */

static bool visit_requires_grad(struct lang_vm *vm, void *user, struct lang_module_instance *m,
                                const char *path)
{
    const bool *on = user;
    struct lang_entry *e;
    uint32_t at = 0;

    (void)path;
    while ((e = lang_dict_next(m->params, &at)) != NULL) {
        if (e->value.kind == LANG_TENSOR)
            eng_set_requires_grad(vm->eng, e->value.as.tensor, *on);
    }
    return lang_check_engine(vm);
}

static bool m_requires_grad_(struct lang_vm *vm, const struct lang_call *call,
                             struct lang_value *out)
{
    struct lang_module_instance *m;
    struct lang_value a[2];
    bool on;

    if (!lang_module_self(vm, call, &m) ||
        !LANG_ARGS(vm, call, "requires_grad_", 1, a, "self", "requires_grad"))
        return false;
    on = !lang_is_bound(a[1]) || a[1].as.i != 0;
    if (!lang_module_walk(vm, m, NULL, visit_requires_grad, &on))
        return false;
    *out = lang_keep(call->args[0]);
    return true;
}

static bool visit_zero_grad(struct lang_vm *vm, void *user, struct lang_module_instance *m,
                            const char *path)
{
    const bool *to_none = user;
    struct lang_entry *e;
    uint32_t at = 0;

    (void)path;
    while ((e = lang_dict_next(m->params, &at)) != NULL) {
        struct eng_tensor *p = e->value.as.tensor;
        struct lang_value result;

        if (e->value.kind != LANG_TENSOR || p->grad == NULL)
            continue;
        if (*to_none) {
            eng_set_grad(vm->eng, p, NULL);
        } else {
            struct eng_arg args[1] = {eng_at(p->grad)};

            if (!lang_op_run(vm, ENG_OP_zero_, true, args, &result))
                return false;
            lang_drop(vm, result);
        }
    }
    return true;
}

static bool m_zero_grad(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_module_instance *m;
    struct lang_value a[2];
    bool to_none;
    bool is_part;

    if (!lang_module_self(vm, call, &m) ||
        !LANG_ARGS(vm, call, "zero_grad", 1, a, "self", "set_to_none") ||
        !lang_part_begin(vm, LANG_PART_ZERO_GRAD, &is_part))
        return false;
    to_none = lang_is_bound(a[1]) ? a[1].as.i != 0 : lang_sets_to_none(vm);
    *out = lang_none();
    return lang_part_end(vm, is_part, lang_module_walk(vm, m, NULL, visit_zero_grad, &to_none));
}

/* apply(fn): children first, then the module itself, as PyTorch; a shared child is visited each time. */
static bool apply(struct lang_vm *vm, struct lang_value module, struct lang_value fn)
{
    struct lang_module_instance *m = lang_as_module(module);
    struct lang_entry *e;
    struct lang_value result;
    uint32_t at = 0;

    if (!lang_check_depth(vm))
        return false;
    while (m->modules != NULL && (e = lang_dict_next(m->modules, &at)) != NULL) {
        if (lang_as_module(e->value) != NULL && !apply(vm, e->value, fn))
            return false;
    }
    if (!lang_call_value(vm, fn, &module, 1, &result))
        return false;
    lang_drop(vm, result);
    return true;
}

static bool m_apply(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_module_instance *m;

    if (!lang_module_self(vm, call, &m) || !lang_args_exact(vm, call, "apply", 2) ||
        !apply(vm, call->args[0], call->args[1]))
        return false;
    *out = lang_keep(call->args[0]);
    return true;
}

void lang_module_apply_register(struct lang_vm *vm, struct lang_class *cls)
{
    static const enum vs_dtype f16 = VS_F16, bf16 = VS_BF16, f32 = VS_F32, f64 = VS_F64;
    static const bool host = true, device = false;

    lang_module_method(vm, cls, "to", m_to, NULL);
    lang_module_method(vm, cls, "half", m_dtype, &f16);
    lang_module_method(vm, cls, "bfloat16", m_dtype, &bf16);
    lang_module_method(vm, cls, "float", m_dtype, &f32);
    lang_module_method(vm, cls, "double", m_dtype, &f64);
    lang_module_method(vm, cls, "cuda", m_device, &device);
    lang_module_method(vm, cls, "cpu", m_device, &host);
    lang_module_method(vm, cls, "train", m_train, NULL);
    lang_module_method(vm, cls, "eval", m_eval, NULL);
    lang_module_method(vm, cls, "requires_grad_", m_requires_grad_, NULL);
    lang_module_method(vm, cls, "zero_grad", m_zero_grad, NULL);
    lang_module_method(vm, cls, "apply", m_apply, NULL);
}
