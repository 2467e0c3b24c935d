/*
 * lang/torch/tensor_attr.c - attributes of tensors.
 *
 * For:            lang/torch/tensor_methods.h.
 * Must not know:  how attributes are looked up.
 * Invariant:      reading an attribute runs no aten op, except .T, .mT and .H, which are views.
 */
#include <string.h>

#include "engine/autograd/autograd.h"
#include "lang/interp/interp.h"
#include "lang/torch/bind.h"
#include "lang/torch/tensor_methods.h"
#include "lang/value/hold.h"

typedef bool get_fn(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out);

static bool get_shape(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    *out = lang_object(lang_size_new(vm, t->sizes, t->ndim));
    return true;
}

static bool get_ndim(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    (void)vm;
    *out = lang_int(t->ndim);
    return true;
}

static bool get_dtype(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    (void)vm;
    *out = lang_dtype((enum vs_dtype)t->dtype);
    return true;
}

static bool get_device(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    (void)vm;
    *out = lang_device(t->storage->on_host);
    return true;
}

static bool get_is_cuda(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    (void)vm;
    *out = lang_bool(!t->storage->on_host);
    return true;
}

static bool get_is_cpu(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    (void)vm;
    *out = lang_bool(t->storage->on_host);
    return true;
}

static bool get_requires_grad(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    (void)vm;
    *out = lang_bool(eng_requires_grad(t));
    return true;
}

static bool get_is_leaf(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    (void)vm;
    *out = lang_bool(t->grad_fn == NULL);
    return true;
}

static bool get_grad(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    if (t->grad == NULL && t->grad_fn != NULL)
        lang_warn(vm, "The .grad attribute of a Tensor that is not a leaf Tensor is being "
                      "accessed. Its .grad attribute won't be populated during "
                      "autograd.backward(). If you indeed want the .grad field to be "
                      "populated for a non-leaf Tensor, use .retain_grad() on the non-leaf "
                      "Tensor. If you access the non-leaf Tensor by mistake, make sure you "
                      "access the leaf Tensor instead. See "
                      "github.com/pytorch/pytorch/pull/30531 for more information.");
    *out = lang_tensor(eng_ref(t->grad));
    return true;
}

static bool get_data(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    *out = lang_tensor(eng_alias(t));
    return out->kind == LANG_TENSOR ? true : lang_fail_engine(vm);
}

static bool get_grad_fn(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    if (t->grad_fn == NULL) {
        *out = lang_none();
        return true;
    }
    *out = lang_object(
        lang_opaque_new(vm, lang_intern_text(vm, eng_node_name(t->grad_fn))->text, NULL, NULL));
    return true;
}

static bool get_itemsize(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    (void)vm;
    *out = lang_int((int64_t)vs_dtype_bytes((enum vs_dtype)t->dtype));
    return true;
}

static bool get_nbytes(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    (void)vm;
    *out = lang_int((int64_t)eng_nbytes(t));
    return true;
}

static bool get_T(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    int64_t dims[VS_MAX_DIMS];
    struct eng_arg args[2] = {eng_at(t), eng_anone()};

    if (t->ndim != 2 && t->ndim != 0)
        lang_warn(vm, "The use of `x.T` on tensors of dimension other than 2 to reverse "
                      "their shape is deprecated and it will throw an error in a future "
                      "release. Consider `x.mT` to transpose batches of matrices or "
                      "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the "
                      "dimensions of a tensor.");
    for (int i = 0; i < t->ndim; i++)
        dims[i] = t->ndim - 1 - i;
    args[1] = eng_aints(dims, t->ndim);
    return lang_op_run(vm, ENG_OP_permute, false, args, out);
}

static bool get_mT(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    struct eng_arg args[3] = {eng_at(t), eng_ai(-2), eng_ai(-1)};

    return lang_op_run(vm, ENG_OP_transpose, false, args, out);
}

/* The class has a builtin under each attribute's name, whose data is one of these. */
struct getter {
    const char *name;
    get_fn *get;
};

static const struct getter ATTRS[] = {
    {"shape", get_shape},     {"dtype", get_dtype},
    {"device", get_device},   {"grad", get_grad},
    {"data", get_data},       {"requires_grad", get_requires_grad},
    {"ndim", get_ndim},       {"is_leaf", get_is_leaf},
    {"is_cuda", get_is_cuda}, {"is_cpu", get_is_cpu},
    {"grad_fn", get_grad_fn}, {"itemsize", get_itemsize},
    {"nbytes", get_nbytes},   {"T", get_T},
    {"mT", get_mT},
};

/* Called like a method, with the tensor as its only argument. */
static bool attr_native(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct getter *getter = call->builtin->data;

    if (call->arg_count != 1 || call->args[0].kind != LANG_TENSOR)
        return lang_fail(vm, VS_E_TYPE, "`%s` is an attribute of a tensor", getter->name);
    return getter->get(vm, call->args[0].as.tensor, out);
}

void lang_tensor_attrs_register(struct lang_vm *vm)
{
    for (size_t i = 0; i < sizeof(ATTRS) / sizeof(ATTRS[0]); i++)
        lang_dict_put(vm, vm->cls.tensor->names, lang_intern_text(vm, ATTRS[i].name),
                      lang_object(lang_builtin_new(vm, ATTRS[i].name, attr_native, &ATTRS[i])));
}

bool lang_tensor_attr(struct lang_vm *vm, struct eng_tensor *t, struct lang_string *name,
                      struct lang_value *out, bool *found)
{
    struct lang_class *cls = t->is_parameter ? vm->cls.parameter : vm->cls.tensor;
    struct lang_value v = lang_class_find(vm, cls, name);

    *found = v.kind == LANG_BUILTIN && v.as.builtin->fn == attr_native;
    if (!*found)
        return true;
    return ((const struct getter *)v.as.builtin->data)->get(vm, t, out);
}

/* ---- writing ---- */

bool lang_tensor_set_grad(struct lang_vm *vm, struct eng_tensor *t, struct lang_value value)
{
    if (value.kind == LANG_NONE) {
        eng_set_grad(vm->eng, t, NULL);
        return true;
    }
    if (value.kind != LANG_TENSOR)
        return lang_fail(vm, VS_E_TYPE, ".grad must be a tensor or None, not `%s`",
                         lang_type_name(vm, value));
    if (!eng_same_sizes(t, value.as.tensor) || t->dtype != value.as.tensor->dtype)
        return lang_fail(vm, VS_E_SHAPE, ".grad must have the shape and the dtype of the tensor");
    eng_set_grad(vm->eng, t, eng_ref(value.as.tensor));
    return true;
}

bool lang_tensor_setattr(struct lang_vm *vm, struct eng_tensor *t, struct lang_string *name,
                         struct lang_value value)
{
    const char *n = name->text;

    if (strcmp(n, "grad") == 0)
        return lang_tensor_set_grad(vm, t, value);
    if (strcmp(n, "data") == 0) {
        if (value.kind != LANG_TENSOR)
            return lang_fail(vm, VS_E_TYPE, ".data must be a tensor, not `%s`",
                             lang_type_name(vm, value));
        lang_set_data(vm, t, value.as.tensor);
        return lang_check_engine(vm);
    }
    if (strcmp(n, "requires_grad") == 0) {
        if (value.kind != LANG_BOOL)
            return lang_fail(vm, VS_E_TYPE, ".requires_grad must be True or False");
        eng_set_requires_grad(vm->eng, t, value.as.i != 0);
        return lang_check_engine(vm);
    }
    return lang_fail_hint(vm, VS_E_UNSUPPORTED, "keep it in a variable or in a dict",
                          "the attribute `%s` of a tensor cannot be set", n);
}

bool lang_tensor_delattr(struct lang_vm *vm, struct eng_tensor *t, struct lang_string *name)
{
    if (strcmp(name->text, "grad") != 0)
        return lang_fail(vm, VS_E_UNSUPPORTED, "the attribute `%s` of a tensor cannot be deleted",
                         name->text);
    eng_set_grad(vm->eng, t, NULL);
    return true;
}
