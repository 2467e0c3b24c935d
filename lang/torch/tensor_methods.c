/*
 * lang/torch/tensor_methods.c - methods of tensors that are not in the op table.
 *
 * For:            lang/torch/tensor_methods.h.
 * Must not know:  how attributes are looked up.
 * Invariant:      a method that runs aten ops in PyTorch runs the same ones here, through the op table.
 */
#include "lang/torch/tensor_methods.h"

#include <string.h>

#include "engine/autograd/autograd.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/torch/bind.h"
#include "lang/torch/tensor_ops.h"
#include "lang/value/parts.h"

/* Reads self and the arguments of a method, and checks that self is a tensor. */
static bool self_of(struct lang_vm *vm, const struct lang_call *call, struct eng_tensor **t)
{
    if (call->arg_count == 0 || call->args[0].kind != LANG_TENSOR)
        return lang_fail(vm, VS_E_TYPE, "%s() is a method of a tensor", call->builtin->name);
    *t = call->args[0].as.tensor;
    return true;
}

#define METHOD(name)                                                                               \
    static bool name(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)

/* ---- queries ---- */

static bool dim_of(struct lang_vm *vm, const struct eng_tensor *t, struct lang_value v, int *out)
{
    int64_t dim = v.as.i;

    if (!lang_is_int(v))
        return lang_fail(vm, VS_E_TYPE, "a dimension must be an integer, not `%s`",
                         lang_type_name(vm, v));
    if (dim < 0)
        dim += t->ndim;
    if (dim < 0 || dim >= t->ndim)
        return lang_fail(vm, VS_E_VALUE, "dimension %d is out of range of a tensor with %d",
                         (int)v.as.i, t->ndim);
    *out = (int)dim;
    return true;
}

/* size() and stride(): of one dimension, or all. */
static bool sizes_or_strides(struct lang_vm *vm, const struct lang_call *call, bool strides,
                             struct lang_value *out)
{
    struct lang_value a[2];
    struct eng_tensor *t;
    int dim;

    if (!self_of(vm, call, &t) || !LANG_ARGS(vm, call, call->builtin->name, 1, a, "self", "dim"))
        return false;
    if (!lang_is_bound(a[1]) || a[1].kind == LANG_NONE) {
        struct lang_tuple *all = lang_size_new(vm, strides ? t->strides : t->sizes, t->ndim);

        if (strides)
            all->head.flags = 0;
        *out = lang_object(all);
        return true;
    }
    if (!dim_of(vm, t, a[1], &dim))
        return false;
    *out = lang_int(strides ? t->strides[dim] : t->sizes[dim]);
    return true;
}

METHOD(m_size)
{
    return sizes_or_strides(vm, call, false, out);
}

METHOD(m_stride)
{
    return sizes_or_strides(vm, call, true, out);
}

METHOD(m_dim)
{
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) || !lang_args_exact(vm, call, call->builtin->name, 1))
        return false;
    *out = lang_int(t->ndim);
    return true;
}

METHOD(m_numel)
{
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) || !lang_args_exact(vm, call, call->builtin->name, 1))
        return false;
    *out = lang_int(eng_numel(t));
    return true;
}

METHOD(m_item)
{
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) || !lang_args_exact(vm, call, call->builtin->name, 1))
        return false;
    return lang_tensor_item(vm, t, out);
}

/* tolist(): nested lists of numbers. Each row is a view of a detached alias, so no data is copied. */
static bool to_list(struct lang_vm *vm, struct eng_tensor *t, struct lang_value *out)
{
    struct lang_list *list;

    if (t->ndim == 0)
        return lang_tensor_item(vm, t, out);
    list = lang_list_new(vm, 0);
    for (int64_t i = 0; i < t->sizes[0]; i++) {
        struct eng_tensor *row = eng_as_strided(t, t->sizes + 1, t->strides + 1, t->ndim - 1,
                                                t->offset + (uint64_t)(i * t->strides[0]));
        struct lang_value item;
        bool ok = to_list(vm, row, &item);

        eng_unref(row);
        if (!ok) {
            lang_drop_obj(vm, list);
            return false;
        }
        lang_list_append(vm, list, item);
    }
    *out = lang_object(list);
    return true;
}

METHOD(m_tolist)
{
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) || !lang_args_exact(vm, call, call->builtin->name, 1))
        return false;
    if (eng_numel(t) > 10000)
        return lang_fail(vm, VS_E_VALUE, "tolist() of more than 10000 elements is not supported");
    return to_list(vm, t, out);
}

METHOD(m_is_floating_point)
{
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) || !lang_args_exact(vm, call, call->builtin->name, 1))
        return false;
    *out = lang_bool(vs_dtype_is_floating((enum vs_dtype)t->dtype));
    return true;
}

METHOD(m_is_contiguous)
{
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) || !lang_args_exact(vm, call, call->builtin->name, 1))
        return false;
    *out = lang_bool(eng_is_contiguous(t));
    return true;
}

METHOD(m_element_size)
{
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) || !lang_args_exact(vm, call, call->builtin->name, 1))
        return false;
    *out = lang_int((int64_t)vs_dtype_bytes((enum vs_dtype)t->dtype));
    return true;
}

METHOD(m_storage_offset)
{
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) || !lang_args_exact(vm, call, call->builtin->name, 1))
        return false;
    *out = lang_int((int64_t)t->offset);
    return true;
}

/* ---- conversions ---- */

bool lang_tensor_to(struct lang_vm *vm, struct eng_tensor *t, const struct lang_to *to,
                    struct lang_value *out)
{
    struct eng_arg args[4] = {eng_at(t), to->has_dtype ? eng_ad(to->dtype) : eng_anone(),
                              to->has_device ? eng_ahost(to->on_host) : eng_anone(),
                              eng_ab(to->copy)};

    return lang_op_run(vm, ENG_OP_to, false, args, out);
}

/* One argument of to(): a dtype, a device or a tensor to be like. */
static bool to_word(struct lang_vm *vm, struct lang_value v, struct lang_to *to)
{
    if (v.kind == LANG_NONE || v.kind == LANG_BOOL)
        return true; /* non_blocking */
    if (v.kind == LANG_DTYPE) {
        to->has_dtype = true;
        to->dtype = v.as.dtype;
    } else if (v.kind == LANG_TENSOR) {
        to->has_dtype = to->has_device = true;
        to->dtype = (enum vs_dtype)v.as.tensor->dtype;
        to->on_host = v.as.tensor->storage->on_host;
    } else if (lang_is_device(v, &to->on_host)) {
        to->has_device = true;
    } else {
        return lang_fail_hint(vm, VS_E_TYPE, "write x.to(\"cuda\"), x.to(torch.float16) or both",
                              "to() takes a device, a dtype or a tensor, not `%s`",
                              lang_type_name(vm, v));
    }
    return true;
}

bool lang_to_args(struct lang_vm *vm, const struct lang_call *call, uint32_t from,
                  struct lang_to *out)
{
    *out = (struct lang_to){.has_dtype = false};
    for (uint32_t i = from; i < call->arg_count; i++) {
        if (!to_word(vm, call->args[i], out))
            return false;
    }
    for (uint32_t k = 0; k < call->kw.count; k++) {
        const char *name = lang_kwname(&call->kw, k)->text;
        struct lang_value v = call->args[call->arg_count + k];

        if (strcmp(name, "copy") == 0)
            out->copy = v.kind == LANG_BOOL && v.as.i != 0;
        else if (strcmp(name, "dtype") == 0 || strcmp(name, "device") == 0 ||
                 strcmp(name, "other") == 0 || strcmp(name, "tensor") == 0) {
            if (!to_word(vm, v, out))
                return false;
        } else if (strcmp(name, "non_blocking") != 0 && strcmp(name, "memory_format") != 0) {
            return lang_fail(vm, VS_E_TYPE, "to() has no parameter `%s`", name);
        }
    }
    return true;
}

/* A conversion that the net asks for: a copy from the host to the device is a part of the step. */
static bool convert(struct lang_vm *vm, struct eng_tensor *t, const struct lang_to *to,
                    struct lang_value *out)
{
    bool is_part;

    if (t->storage->on_host && to->has_device && !to->on_host &&
        !lang_part_begin(vm, LANG_PART_DATA, &is_part))
        return false;
    return lang_tensor_to(vm, t, to, out);
}

METHOD(m_to)
{
    struct eng_tensor *t;
    struct lang_to to;

    return self_of(vm, call, &t) && lang_to_args(vm, call, 1, &to) && convert(vm, t, &to, out);
}

/* half(), float() …: the dtype is the builtin's data. */
METHOD(m_dtype)
{
    const enum vs_dtype *dtype = call->builtin->data;
    const struct lang_to to = {.has_dtype = true, .dtype = *dtype};
    struct eng_tensor *t;

    return self_of(vm, call, &t) && lang_args_exact(vm, call, call->builtin->name, 1) &&
           lang_tensor_to(vm, t, &to, out);
}

METHOD(m_cuda)
{
    struct lang_value a[3];
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) ||
        !LANG_ARGS(vm, call, "cuda", 1, a, "self", "device", "non_blocking"))
        return false;
    return convert(vm, t, &(struct lang_to){.has_device = true, .on_host = false}, out);
}

METHOD(m_cpu)
{
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) || !lang_args_exact(vm, call, "cpu", 1))
        return false;
    return lang_tensor_to(vm, t, &(struct lang_to){.has_device = true, .on_host = true}, out);
}

METHOD(m_type)
{
    struct lang_value a[2];
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) || !LANG_ARGS(vm, call, "type", 1, a, "self", "dtype"))
        return false;
    if (!lang_is_bound(a[1])) {
        *out = lang_str_printf(vm, "torch.%s tensor", vs_dtype_name((enum vs_dtype)t->dtype));
        return true;
    }
    if (a[1].kind != LANG_DTYPE)
        return lang_fail(vm, VS_E_TYPE, "type() takes a dtype, such as torch.float16, not `%s`",
                         lang_type_name(vm, a[1]));
    return lang_tensor_to(vm, t, &(struct lang_to){.has_dtype = true, .dtype = a[1].as.dtype}, out);
}

METHOD(m_type_as)
{
    struct eng_tensor *t;
    struct lang_to to;

    if (!self_of(vm, call, &t) || !lang_args_exact(vm, call, "type_as", 2))
        return false;
    if (call->args[1].kind != LANG_TENSOR)
        return lang_fail(vm, VS_E_TYPE, "type_as() takes a tensor");
    return lang_to_args(vm, call, 1, &to) && lang_tensor_to(vm, t, &to, out);
}

/* view_as, reshape_as */
METHOD(m_shape_as)
{
    const enum eng_op_id *id = call->builtin->data;
    struct eng_arg args[2];
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) || !lang_args_exact(vm, call, call->builtin->name, 2))
        return false;
    if (call->args[1].kind != LANG_TENSOR)
        return lang_fail(vm, VS_E_TYPE, "%s() takes a tensor", call->builtin->name);
    args[0] = eng_at(t);
    args[1] = eng_aints(call->args[1].as.tensor->sizes, call->args[1].as.tensor->ndim);
    return lang_op_run(vm, *id, false, args, out);
}

METHOD(m_self)
{
    struct eng_tensor *t;

    if (!self_of(vm, call, &t))
        return false;
    *out = lang_keep(call->args[0]);
    return true;
}

/* ---- autograd ---- */

bool lang_backward_check(struct lang_vm *vm)
{
    static const char warned[] =
        "None of the inputs have requires_grad=True. Gradients will be None";
    const struct vs_error *failure = eng_failed(vm->eng);
    struct vs_error err = VS_ERROR_INIT;

    if (vm->failed)
        return false;
    if (failure == NULL || strstr(failure->text, "does not require grad") == NULL ||
        lang_dict_find(vm->warned, lang_intern_text(vm, warned)) == NULL)
        return lang_check_engine(vm);
    (void)eng_failure_take(vm->eng, &err);
    return lang_fail_hint(vm, err.status,
                          "a reentrant checkpoint gives its layers a gradient only if one of its "
                          "inputs requires grad: pass use_reentrant=False",
                          "%s", err.text);
}

METHOD(m_backward)
{
    struct lang_value a[5];
    struct eng_tensor *t;
    struct eng_tensor *grad = NULL;
    bool is_part;
    bool retain;

    if (!self_of(vm, call, &t) || !LANG_ARGS(vm, call, "backward", 1, a, "self", "gradient",
                                             "retain_graph", "create_graph", "inputs"))
        return false;
    if ((lang_is_bound(a[3]) && a[3].kind == LANG_BOOL && a[3].as.i != 0) ||
        (lang_is_bound(a[4]) && a[4].kind != LANG_NONE))
        return lang_fail(
            vm, VS_E_UNSUPPORTED,
            "backward(create_graph=True) and backward(inputs=...) are not supported here");
    if (lang_is_bound(a[1]) && a[1].kind != LANG_NONE) {
        if (a[1].kind != LANG_TENSOR)
            return lang_fail(vm, VS_E_TYPE, "backward(): `gradient` must be a tensor");
        grad = a[1].as.tensor;
    }
    retain = lang_is_bound(a[2]) && a[2].kind == LANG_BOOL && a[2].as.i != 0;
    if (!lang_part_begin(vm, LANG_PART_BACKWARD, &is_part))
        return false;
    eng_backward(vm->eng, &t, &grad, 1, retain);
    *out = lang_none();
    return lang_part_end(vm, is_part, lang_backward_check(vm));
}

METHOD(m_requires_grad_)
{
    struct lang_value a[2];
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) ||
        !LANG_ARGS(vm, call, "requires_grad_", 1, a, "self", "requires_grad"))
        return false;
    eng_set_requires_grad(vm->eng, t, !lang_is_bound(a[1]) || a[1].as.i != 0);
    *out = lang_keep(call->args[0]);
    return lang_check_engine(vm);
}

METHOD(m_detach_)
{
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) || !lang_args_exact(vm, call, "detach_", 1))
        return false;
    eng_detach_(vm->eng, t);
    *out = lang_keep(call->args[0]);
    return lang_check_engine(vm);
}

METHOD(m_is_view)
{
    struct eng_tensor *t;

    if (!self_of(vm, call, &t) || !lang_args_exact(vm, call, "_is_view", 1))
        return false;
    *out = lang_bool(t->base != NULL);
    return true;
}

METHOD(m_refused)
{
    (void)out;
    return lang_fail_hint(vm, VS_E_UNSUPPORTED, call->builtin->data,
                          "%s() is not part of the net language", call->builtin->name);
}

/* ---- the table ---- */

static const enum vs_dtype F16 = VS_F16, BF16 = VS_BF16, F32 = VS_F32, F64 = VS_F64, I64 = VS_I64,
                           I32 = VS_I32, BOOL = VS_BOOL;
static const enum eng_op_id VIEW = ENG_OP_view, RESHAPE = ENG_OP_reshape;

static const struct {
    const char *name;
    lang_native_fn *fn;
    const void *data;
} METHODS[] = {
    {"size", m_size, NULL},
    {"stride", m_stride, NULL},
    {"dim", m_dim, NULL},
    {"ndimension", m_dim, NULL},
    {"numel", m_numel, NULL},
    {"nelement", m_numel, NULL},
    {"item", m_item, NULL},
    {"tolist", m_tolist, NULL},
    {"is_floating_point", m_is_floating_point, NULL},
    {"is_contiguous", m_is_contiguous, NULL},
    {"element_size", m_element_size, NULL},
    {"storage_offset", m_storage_offset, NULL},
    {"to", m_to, NULL},
    {"half", m_dtype, &F16},
    {"bfloat16", m_dtype, &BF16},
    {"float", m_dtype, &F32},
    {"double", m_dtype, &F64},
    {"long", m_dtype, &I64},
    {"int", m_dtype, &I32},
    {"bool", m_dtype, &BOOL},
    {"cuda", m_cuda, NULL},
    {"cpu", m_cpu, NULL},
    {"type", m_type, NULL},
    {"type_as", m_type_as, NULL},
    {"view_as", m_shape_as, &VIEW},
    {"reshape_as", m_shape_as, &RESHAPE},
    {"pin_memory", m_self, NULL},
    {"backward", m_backward, NULL},
    {"requires_grad_", m_requires_grad_, NULL},
    {"detach_", m_detach_, NULL},
    {"_is_view", m_is_view, NULL},
    {"numpy", m_refused, "work on the tensor itself, or print .item()"},
    {"retain_grad", m_refused, "return the intermediate from forward and look at it there"},
    {"register_hook", m_refused, "write a torch.autograd.Function whose backward does it"},
    {"share_memory_", m_refused, "leave it out"},
};

/* In-place methods whose rows belong to no module. */
static const struct {
    const char *name;
    const char *row;
} IN_PLACE[] = {
    {"zero_", "_zero_"},     {"fill_", "_fill_"},       {"copy_", "_copy_"},
    {"normal_", "_normal_"}, {"uniform_", "_uniform_"}, {"bernoulli_", "_bernoulli_"},
};

void lang_tensor_methods_register(struct lang_vm *vm)
{
    struct lang_dict *names = vm->cls.tensor->names;
    struct lang_value *torch = lang_dict_find(vm->spaces, lang_intern_text(vm, "torch"));

    lang_tensor_attrs_register(vm);
    for (size_t i = 0; i < sizeof(METHODS) / sizeof(METHODS[0]); i++) {
        struct lang_builtin *b =
            lang_builtin_new(vm, METHODS[i].name, METHODS[i].fn, METHODS[i].data);

        b->head.flags = LANG_BUILTIN_BINDS;
        lang_dict_put(vm, names, lang_intern_text(vm, METHODS[i].name), lang_object(b));
    }
    for (size_t i = 0; i < sizeof(IN_PLACE) / sizeof(IN_PLACE[0]); i++) {
        const struct lang_value *row =
            lang_dict_find(torch->as.space->names, lang_intern_text(vm, IN_PLACE[i].row));
        struct lang_builtin *b;

        VS_ASSERT(row != NULL && row->kind == LANG_BUILTIN);
        b = lang_builtin_new(vm, IN_PLACE[i].name, lang_op_native, row->as.builtin->data);
        b->head.flags = LANG_BUILTIN_BINDS;
        lang_dict_put(vm, names, lang_intern_text(vm, IN_PLACE[i].name), lang_object(b));
    }
    lang_class_changed(vm);
}
