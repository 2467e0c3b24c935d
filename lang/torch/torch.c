/*
 * lang/torch/torch.c - names of torch that are neither ops nor in the prelude: tensor(), dtypes, devices, autograd,
 * cuda.
 *
 * For:            lang/torch/torch.h.
 * Must not know:  what ops compute.
 * Invariant:      "cuda" is the device whose memory is recorded; the memory of "cpu" is not.
 */
#include "lang/torch/torch.h"
#include "lang/torch/selective.h"

#include <math.h>
#include <string.h>

#include "engine/alloc/alloc.h"
#include "engine/autograd/autograd.h"
#include "lang/builtins/builtins.h"
#include "lang/interp/interp.h"
#include "lang/torch/autograd_function.h"
#include "lang/torch/bind.h"
#include "lang/torch/hooks.h"
#include "lang/torch/nn_module.h"
#include "lang/torch/tensor_methods.h"
#include "lang/value/parts.h"

#define NATIVE(name)                                                                               \
    static bool name(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)

/* ---- tensors ---- */

/* Reads an optional dtype. */
static bool optional_dtype(struct lang_vm *vm, const char *function, struct lang_value v, bool *has,
                           enum vs_dtype *dtype)
{
    *has = v.kind == LANG_DTYPE;
    if (*has)
        *dtype = v.as.dtype;
    else if (lang_is_bound(v) && v.kind != LANG_NONE)
        return lang_fail(vm, VS_E_TYPE,
                         "%s(): `dtype` must be a dtype, such as torch.float16, not `%s`", function,
                         lang_type_name(vm, v));
    return true;
}

/* torch.tensor(data, dtype=None, device=None, requires_grad=False): created on the CPU, then copied. */
NATIVE(f_tensor)
{
    struct lang_value a[4];
    struct lang_to to = {.has_dtype = false};
    enum vs_dtype dtype = VS_F32;
    bool has_dtype;

    if (!LANG_ARGS(vm, call, "torch.tensor", 1, a, "data", "*dtype", "device", "requires_grad") ||
        !optional_dtype(vm, "torch.tensor", a[1], &has_dtype, &dtype))
        return false;
    if (lang_is_bound(a[2]) && a[2].kind != LANG_NONE) {
        to.has_device = true;
        if (!lang_is_device(a[2], &to.on_host))
            return lang_fail(vm, VS_E_VALUE,
                             "torch.tensor(): `device` must be \"cuda\" or \"cpu\"");
    }
    if (a[0].kind == LANG_TENSOR) {
        lang_warn(vm, "To copy construct from a tensor, it is recommended to use "
                      "sourceTensor.detach().clone() or "
                      "sourceTensor.detach().clone().requires_grad_(True), rather than "
                      "torch.tensor(sourceTensor).");
        to.has_dtype = has_dtype;
        to.dtype = dtype;
        to.copy = true;
        if (!lang_tensor_to(vm, a[0].as.tensor, &to, out))
            return false;
        lang_assign(vm, out, lang_tensor(eng_alias(out->as.tensor)));
    } else {
        if (!lang_tensor_from(vm, a[0], has_dtype, dtype, out))
            return false;
        if (to.has_device) {
            struct lang_value moved;
            bool ok = lang_tensor_to(vm, out->as.tensor, &to, &moved);

            lang_drop(vm, *out);
            if (!ok)
                return false;
            *out = moved;
        }
    }
    if (lang_is_bound(a[3]) && a[3].as.i != 0)
        eng_set_requires_grad(vm->eng, out->as.tensor, true);
    if (lang_check_engine(vm))
        return true;
    lang_drop(vm, *out);
    return false;
}

NATIVE(f_is_tensor)
{
    if (!lang_args_exact(vm, call, "torch.is_tensor", 1))
        return false;
    *out = lang_bool(call->args[0].kind == LANG_TENSOR);
    return true;
}

NATIVE(f_is_floating_point)
{
    if (!lang_args_exact(vm, call, "torch.is_floating_point", 1))
        return false;
    if (call->args[0].kind != LANG_TENSOR)
        return lang_fail(vm, VS_E_TYPE, "torch.is_floating_point() takes a tensor");
    *out = lang_bool(vs_dtype_is_floating((enum vs_dtype)call->args[0].as.tensor->dtype));
    return true;
}

NATIVE(f_numel)
{
    if (!lang_args_exact(vm, call, "torch.numel", 1))
        return false;
    if (call->args[0].kind != LANG_TENSOR)
        return lang_fail(vm, VS_E_TYPE, "torch.numel() takes a tensor");
    *out = lang_int(eng_numel(call->args[0].as.tensor));
    return true;
}

/* nn.Parameter(data, requires_grad=True): a new leaf that shares the memory of data. */
NATIVE(make_parameter)
{
    struct lang_value a[2];
    struct eng_tensor *t;
    int64_t none = 0;

    if (!LANG_ARGS(vm, call, "Parameter", 0, a, "data", "requires_grad"))
        return false;
    if (!lang_is_bound(a[0]) || a[0].kind == LANG_NONE)
        t = eng_empty(vm->eng, &none, 1, VS_F32, true);
    else if (a[0].kind == LANG_TENSOR)
        t = eng_alias(a[0].as.tensor);
    else
        return lang_fail(vm, VS_E_TYPE, "Parameter() takes a tensor, not `%s`",
                         lang_type_name(vm, a[0]));
    if (t == NULL)
        return lang_fail_engine(vm);
    t->is_parameter = true;
    *out = lang_tensor(t);
    eng_set_requires_grad(vm->eng, t, !lang_is_bound(a[1]) || a[1].as.i != 0);
    if (lang_check_engine(vm))
        return true;
    lang_drop(vm, *out);
    return false;
}

/*
 * torch.autograd.Variable(data=None, requires_grad=False): a tensor without history that shares the memory of data.
 * Every tensor is an instance of it, so it is the base of the class of tensors here.
 */
NATIVE(make_variable)
{
    struct lang_value a[3];
    struct eng_tensor *t;
    int64_t none = 0;

    if (!LANG_ARGS(vm, call, "Variable", 0, a, "data", "requires_grad", "volatile"))
        return false;
    if (lang_is_bound(a[2]))
        lang_warn(vm, "volatile was removed and now has no effect. "
                      "Use `with torch.no_grad():` instead.");
    if (!lang_is_bound(a[0]) || a[0].kind == LANG_NONE)
        t = eng_empty(vm->eng, &none, 1, VS_F32, true);
    else if (a[0].kind == LANG_TENSOR)
        t = eng_alias(a[0].as.tensor);
    else
        return lang_fail(vm, VS_E_TYPE, "Variable data has to be a tensor, but got %s",
                         lang_type_name(vm, a[0]));
    if (t == NULL)
        return lang_fail_engine(vm);
    *out = lang_tensor(t);
    if (lang_is_bound(a[1]) && a[1].as.i != 0)
        eng_set_requires_grad(vm->eng, t, true);
    if (lang_check_engine(vm))
        return true;
    lang_drop(vm, *out);
    return false;
}

/* gc.collect(generation=2): frees reference cycles; the number of objects in them. */
NATIVE(f_collect)
{
    struct lang_value a[1];

    if (!LANG_ARGS(vm, call, "gc.collect", 0, a, "generation"))
        return false;
    *out = lang_int((int64_t)lang_collect(vm));
    return true;
}

NATIVE(make_device)
{
    struct lang_value a[2];
    bool on_host;

    if (!LANG_ARGS(vm, call, "torch.device", 1, a, "type", "index"))
        return false;
    if (!lang_is_device(a[0], &on_host))
        return lang_fail(vm, VS_E_VALUE,
                         "there is one device, \"cuda\" (or \"cuda:0\"), and the host, \"cpu\"");
    *out = lang_device(on_host);
    return true;
}

/* torch.finfo(dtype): an object with max, min, eps, tiny. */
NATIVE(f_finfo)
{
    static const struct {
        enum vs_dtype dtype;
        double max, eps, tiny;
    } table[] = {
        {VS_F16, 65504.0, 9.765625e-04, 6.103515625e-05},
        {VS_BF16, 3.3895313892515355e+38, 7.8125e-03, 1.1754943508222875e-38},
        {VS_F32, 3.4028234663852886e+38, 1.1920928955078125e-07, 1.1754943508222875e-38},
        {VS_F64, 1.7976931348623157e+308, 2.220446049250313e-16, 2.2250738585072014e-308},
    };
    struct lang_instance *in;

    if (!lang_args_exact(vm, call, "torch.finfo", 1))
        return false;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (call->args[0].kind != LANG_DTYPE || call->args[0].as.dtype != table[i].dtype)
            continue;
        in = lang_instance_new(vm, vm->cls.object);
        lang_dict_put(vm, in->attrs, lang_intern_text(vm, "max"), lang_float(table[i].max));
        lang_dict_put(vm, in->attrs, lang_intern_text(vm, "min"), lang_float(-table[i].max));
        lang_dict_put(vm, in->attrs, lang_intern_text(vm, "eps"), lang_float(table[i].eps));
        lang_dict_put(vm, in->attrs, lang_intern_text(vm, "tiny"), lang_float(table[i].tiny));
        *out = lang_object(in);
        return true;
    }
    return lang_fail(vm, VS_E_TYPE, "torch.finfo() takes a floating point dtype");
}

/* ---- autograd ---- */

/* A tensor or a list of them (None allowed where `optional`), as an array of `*count`; NULL for the Nones. */
static bool tensor_list(struct lang_vm *vm, const char *function, struct lang_value v,
                        bool optional, struct eng_tensor ***out, uint32_t *count)
{
    struct lang_value *items = &v;

    *count = 1;
    (void)lang_items(v, &items, count);
    *out = vs_calloc(*count + 1, sizeof(**out));
    for (uint32_t i = 0; i < *count; i++) {
        if (items[i].kind == LANG_TENSOR) {
            (*out)[i] = items[i].as.tensor;
        } else if (items[i].kind != LANG_NONE || !optional) {
            vs_free(*out);
            *out = NULL;
            return lang_fail(vm, VS_E_TYPE, "%s() takes tensors, not `%s`", function,
                             lang_type_name(vm, items[i]));
        }
    }
    return true;
}

static bool is_true(struct lang_value v)
{
    return v.kind == LANG_BOOL && v.as.i != 0;
}

NATIVE(f_backward)
{
    struct lang_value a[5];
    struct eng_tensor **tensors;
    struct eng_tensor **grads = NULL;
    uint32_t count;
    uint32_t grad_count = 0;
    bool is_part = false;
    bool ok = false;

    *out = lang_none();
    if (!LANG_ARGS(vm, call, "torch.autograd.backward", 1, a, "tensors", "grad_tensors",
                   "retain_graph", "create_graph", "inputs"))
        return false;
    if (is_true(a[3]) || (lang_is_bound(a[4]) && a[4].kind != LANG_NONE))
        return lang_fail(vm, VS_E_UNSUPPORTED,
                         "create_graph=True and inputs=... are not supported here");
    if (!tensor_list(vm, "torch.autograd.backward", a[0], false, &tensors, &count))
        return false;
    if (lang_is_bound(a[1]) && a[1].kind != LANG_NONE &&
        !tensor_list(vm, "torch.autograd.backward", a[1], true, &grads, &grad_count))
        goto out;
    if (grads != NULL && grad_count != count)
        lang_fail(vm, VS_E_VALUE,
                  "torch.autograd.backward(): as many gradients as tensors are needed");
    else if (grads == NULL)
        grads = vs_calloc(count + 1, sizeof(*grads));
    if (!vm->failed && lang_part_begin(vm, LANG_PART_BACKWARD, &is_part))
        eng_backward(vm->eng, tensors, grads, (int)count, is_true(a[2]));
    ok = lang_part_end(vm, is_part, lang_backward_check(vm));
out:
    vs_free(tensors);
    vs_free(grads);
    return ok;
}

static bool gather_gradients(struct lang_vm *vm, const struct lang_value *a,
                             struct eng_tensor **outputs, uint32_t output_count,
                             struct eng_tensor **inputs, uint32_t input_count,
                             struct lang_value *out)
{
    struct eng_tensor **grads = NULL;
    struct eng_tensor **found = vs_calloc(input_count + 1, sizeof(*found));
    struct lang_tuple *t;
    uint32_t grad_count = output_count;
    bool ok = true;

    if (lang_is_bound(a[2]) && a[2].kind != LANG_NONE)
        ok = tensor_list(vm, "torch.autograd.grad", a[2], true, &grads, &grad_count);
    else
        grads = vs_calloc(output_count + 1, sizeof(*grads));
    if (ok && grad_count != output_count)
        ok = lang_fail(vm, VS_E_VALUE,
                       "torch.autograd.grad(): as many gradients as outputs are needed");
    if (ok) {
        vm->gathering++;
        eng_grad(vm->eng, outputs, grads, (int)output_count, inputs, (int)input_count,
                 is_true(a[3]), found);
        vm->gathering--;
        ok = !vm->failed && lang_check_engine(vm);
    }
    t = lang_tuple_new(vm, input_count);
    for (uint32_t i = 0; i < input_count; i++) {
        if (ok && found[i] == NULL && !is_true(a[5]))
            ok = lang_fail(vm, VS_E_AUTOGRAD,
                           "torch.autograd.grad(): one of the inputs was not used; "
                           "set allow_unused=True if that is meant");
        t->items[i] = lang_tensor(found[i]);
    }
    if (ok)
        *out = lang_object(t);
    else
        lang_drop_obj(vm, t);
    vs_free(found);
    vs_free(grads);
    return ok;
}

NATIVE(f_grad)
{
    struct lang_value a[6];
    struct eng_tensor **outputs;
    struct eng_tensor **inputs;
    uint32_t output_count;
    uint32_t input_count;
    bool is_part;
    bool ok;

    if (!LANG_ARGS(vm, call, "torch.autograd.grad", 2, a, "outputs", "inputs", "grad_outputs",
                   "retain_graph", "create_graph", "allow_unused"))
        return false;
    if (is_true(a[4]))
        return lang_fail(vm, VS_E_UNSUPPORTED, "create_graph=True is not supported here");
    if (!tensor_list(vm, "torch.autograd.grad", a[0], false, &outputs, &output_count))
        return false;
    if (!tensor_list(vm, "torch.autograd.grad", a[1], false, &inputs, &input_count)) {
        vs_free(outputs);
        return false;
    }
    ok = lang_part_begin(vm, LANG_PART_GRAD, &is_part) &&
         gather_gradients(vm, a, outputs, output_count, inputs, input_count, out);
    if (ok && !lang_part_end(vm, is_part, true)) {
        lang_drop(vm, *out);
        ok = false;
    }
    vs_free(outputs);
    vs_free(inputs);
    return ok;
}

/* ---- the device ---- */

NATIVE(f_true)
{
    (void)vm;
    (void)call;
    *out = lang_bool(true);
    return true;
}

NATIVE(f_one)
{
    (void)vm;
    (void)call;
    *out = lang_int(1);
    return true;
}

NATIVE(f_zero)
{
    (void)vm;
    (void)call;
    *out = lang_int(0);
    return true;
}

NATIVE(f_nothing)
{
    (void)vm;
    (void)call;
    *out = lang_none();
    return true;
}

NATIVE(f_empty_cache)
{
    (void)call;
    eng_empty_cache(vm->eng);
    *out = lang_none();
    return true;
}

/* One figure of the allocator: which, and whether the peak. */
struct figure {
    bool reserved;
    bool peak;
};

NATIVE(f_memory)
{
    const struct figure *figure = call->builtin->data;
    const struct eng_alloc_stats *stats = eng_alloc_stats_get(eng_alloc_of(vm->eng));
    const struct eng_alloc_stat *s = figure->reserved ? &stats->reserved_bytes[ENG_STAT_ALL]
                                                      : &stats->allocated_bytes[ENG_STAT_ALL];

    *out = lang_int((int64_t)(figure->peak ? s->peak : s->current));
    return true;
}

NATIVE(f_reset_peak)
{
    (void)call;
    eng_alloc_reset_peak(eng_alloc_of(vm->eng));
    *out = lang_none();
    return true;
}

NATIVE(f_manual_seed)
{
    struct eng_rng_state state = {0, 0, 0};

    if (!lang_args_exact(vm, call, "manual_seed", 1) || !lang_is_int(call->args[0]))
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "manual_seed() takes an integer");
    state.seed = (uint64_t)call->args[0].as.i;
    eng_rng_set(vm->eng, state);
    *out = lang_none();
    return true;
}

NATIVE(f_default_dtype)
{
    (void)vm;
    (void)call;
    *out = lang_dtype(VS_F32);
    return true;
}

/* ---- the table ---- */

static struct lang_dict *names_of(struct lang_vm *vm, const char *space)
{
    return lang_dict_find(vm->spaces, lang_intern_text(vm, space))->as.space->names;
}

static void put_class(struct lang_vm *vm, const char *space, struct lang_class *cls)
{
    lang_dict_put(vm, names_of(vm, space), cls->name,
                  lang_keep((struct lang_value){.kind = LANG_CLASS, .as.cls = cls}));
}

static void dtypes_register(struct lang_vm *vm)
{
    static const char *const aliases[] = {"half", "float", "double", "long", "int"};
    struct lang_dict *torch = names_of(vm, "torch");
    enum vs_dtype dtype;

    for (int i = 0; i < VS_DTYPE_COUNT; i++)
        lang_dict_put(vm, torch, lang_intern_text(vm, vs_dtype_name((enum vs_dtype)i)),
                      lang_dtype((enum vs_dtype)i));
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (vs_dtype_parse(aliases[i], &dtype))
            lang_dict_put(vm, torch, lang_intern_text(vm, aliases[i]), lang_dtype(dtype));
    }
}

static void names_register(struct lang_vm *vm)
{
    static const struct figure allocated = {false, false}, allocated_peak = {false, true},
                               reserved = {true, false}, reserved_peak = {true, true};
    static const struct {
        const char *space;
        const char *name;
        lang_native_fn *fn;
        const void *data;
    } table[] = {
        {"torch", "tensor", f_tensor, NULL},
        {"torch", "is_tensor", f_is_tensor, NULL},
        {"torch", "is_floating_point", f_is_floating_point, NULL},
        {"torch", "numel", f_numel, NULL},
        {"torch", "finfo", f_finfo, NULL},
        {"torch", "manual_seed", f_manual_seed, NULL},
        {"torch", "get_default_dtype", f_default_dtype, NULL},
        {"gc", "collect", f_collect, NULL},
        {"gc", "enable", f_nothing, NULL},
        {"gc", "disable", f_nothing, NULL},
        {"torch.autograd", "backward", f_backward, NULL},
        {"torch.autograd", "grad", f_grad, NULL},
        {"torch.cuda", "is_available", f_true, NULL},
        {"torch.cuda", "is_bf16_supported", f_true, NULL},
        {"torch.cuda", "device_count", f_one, NULL},
        {"torch.cuda", "current_device", f_zero, NULL},
        {"torch.cuda", "synchronize", f_nothing, NULL},
        {"torch.cuda", "empty_cache", f_empty_cache, NULL},
        {"torch.cuda", "memory_allocated", f_memory, &allocated},
        {"torch.cuda", "max_memory_allocated", f_memory, &allocated_peak},
        {"torch.cuda", "memory_reserved", f_memory, &reserved},
        {"torch.cuda", "max_memory_reserved", f_memory, &reserved_peak},
        {"torch.cuda", "reset_peak_memory_stats", f_reset_peak, NULL},
        {"torch.cuda", "manual_seed", f_manual_seed, NULL},
        {"torch.cuda", "manual_seed_all", f_manual_seed, NULL},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        lang_native(vm, table[i].space, table[i].name, table[i].fn, table[i].data);
    dtypes_register(vm);
    vm->cls.parameter->make = make_parameter;
    vm->cls.variable->make = make_variable;
    vm->cls.device->make = make_device;
    vm->cls.tensor->make = f_tensor;
    put_class(vm, "torch", vm->cls.tensor);
    put_class(vm, "torch", vm->cls.size);
    put_class(vm, "torch", vm->cls.device);
    put_class(vm, "torch", vm->cls.dtype);
    put_class(vm, "torch.nn", vm->cls.module);
    put_class(vm, "torch.nn", vm->cls.parameter);
    put_class(vm, "torch.autograd", vm->cls.autograd_function);
    put_class(vm, "torch.autograd", vm->cls.variable);
    lang_dict_put(vm, names_of(vm, "torch"), lang_intern_text(vm, "inf"),
                  lang_float((double)INFINITY));
    lang_dict_put(vm, names_of(vm, "torch"), lang_intern_text(vm, "nan"), lang_float((double)NAN));
    lang_dict_put(vm, names_of(vm, "torch"), lang_intern_text(vm, "pi"),
                  lang_float(3.141592653589793));
}

void lang_torch_register(struct lang_vm *vm)
{
    names_register(vm);
    lang_prelude_functions_register(vm);
    lang_bind_register(vm);
    lang_tensor_methods_register(vm);
    lang_hooks_register(vm);
    lang_modes_register(vm);
    lang_parts_register(vm);
    lang_module_register(vm);
    lang_autograd_function_register(vm);
    lang_checkpoint_register(vm);
    lang_selective_register(vm);
}
