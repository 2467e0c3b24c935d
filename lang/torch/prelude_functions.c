/*
 * lang/torch/prelude_functions.c - functions of torch that only the prelude calls; their names begin with "_".
 *
 * For:            lang/torch/torch.h.
 * Must not know:  which files of the prelude call them.
 * Invariant:      none runs an op or allocates memory of the device.
 */
#include "lang/torch/torch.h"

#include <stdio.h>
#include <string.h>

#include "lang/builtins/builtins.h"
#include "lang/interp/interp.h"
#include "lang/torch/bind.h"
#include "lang/torch/buckets.h"
#include "lang/torch/parameter_lists.h"
#include "lang/torch/sharding.h"

#define NATIVE(name)                                                                               \
    static bool name(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)

NATIVE(f_set_category)
{
    *out = lang_none();
    if (!lang_args_exact(vm, call, "_set_category", 2) || call->args[0].kind != LANG_TENSOR ||
        call->args[1].kind != LANG_STR)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_set_category() takes a tensor and a word");
    for (int i = 0; i < VS_CATEGORY_COUNT; i++) {
        if (strcmp(vs_category_name((enum vs_category)i), call->args[1].as.str->text) == 0) {
            eng_set_category(call->args[0].as.tensor, (enum vs_category)i);
            return true;
        }
    }
    return lang_fail(vm, VS_E_VALUE, "_set_category(): no such category");
}

NATIVE(f_has_data)
{
    (void)call;
    *out = lang_bool(eng_has_data(vm->eng));
    return true;
}

NATIVE(f_set_name)
{
    *out = lang_none();
    if (!lang_args_exact(vm, call, "_set_name", 2) || call->args[0].kind != LANG_TENSOR ||
        call->args[1].kind != LANG_STR)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_set_name() takes a tensor and a name");
    eng_set_name(call->args[0].as.tensor, lang_intern_str(vm, call->args[1].as.str)->text);
    return true;
}

/* An instance of a class of a net or of the library; not a number, a text, a function. */
NATIVE(f_is_instance)
{
    if (!lang_args_exact(vm, call, "_is_instance", 1))
        return false;
    *out = lang_bool(call->args[0].kind == LANG_INSTANCE);
    return true;
}

/* An instance on which __init__ has not run. */
NATIVE(f_new)
{
    if (!lang_args_exact(vm, call, "_new", 1) || call->args[0].kind != LANG_CLASS)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_new() takes a class");
    *out = lang_object(lang_instance_new(vm, call->args[0].as.cls));
    return true;
}

NATIVE(f_storage_numel)
{
    const struct eng_tensor *t;

    if (!lang_args_exact(vm, call, "_storage_numel", 1) || call->args[0].kind != LANG_TENSOR)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_storage_numel() takes a tensor");
    t = call->args[0].as.tensor;
    *out = lang_int((int64_t)(t->storage->bytes / vs_dtype_bytes((enum vs_dtype)t->dtype)));
    return true;
}

NATIVE(f_warn)
{
    *out = lang_none();
    if (!lang_args_exact(vm, call, "_warn", 1) || call->args[0].kind != LANG_STR)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_warn() takes a text");
    lang_warn(vm, call->args[0].as.str->text);
    return true;
}

/* torch._stream(number): sets the current stream, or leaves it where the number is -1; the one before. */
NATIVE(f_stream)
{
    if (!lang_args_exact(vm, call, "_stream", 1) || !lang_is_int(call->args[0]))
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_stream() takes a number");
    *out = lang_int(call->args[0].as.i < 0
                        ? (int64_t)eng_stream(vm->eng)
                        : (int64_t)eng_set_stream(vm->eng, (uint32_t)call->args[0].as.i));
    return true;
}

/* torch._record_stream(tensor, number) */
NATIVE(f_record_stream)
{
    *out = lang_none();
    if (!lang_args_exact(vm, call, "_record_stream", 2) || call->args[0].kind != LANG_TENSOR ||
        !lang_is_int(call->args[1]))
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "record_stream() takes a tensor, a stream");
    eng_record_stream(call->args[0].as.tensor, (uint32_t)call->args[1].as.i);
    return true;
}

/* torch._had_grad(tensor): whether its .grad was set at least once. */
NATIVE(f_had_grad)
{
    if (!lang_args_exact(vm, call, "_had_grad", 1) || call->args[0].kind != LANG_TENSOR)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_had_grad() takes a tensor");
    *out = lang_bool(call->args[0].as.tensor->had_grad);
    return true;
}

/* torch._warn_of(kind, text): a warning of a kind of lang/value/warning.def */
NATIVE(f_warn_of)
{
    enum lang_warning_kind kind;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "_warn_of", 2) || call->args[0].kind != LANG_STR ||
        call->args[1].kind != LANG_STR)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_warn_of() takes two texts");
    if (!lang_warning_find(call->args[0].as.str->text, &kind))
        return lang_fail(vm, VS_E_VALUE, "_warn_of(): there is no warning `%s`",
                         call->args[0].as.str->text);
    lang_warn_of(vm, kind, call->args[1].as.str->text);
    return true;
}

/*
 * torch._check_eps(optimizer, eps, params): warns where eps is 0 in the float16 of one of the parameters. 2^-25 is half
 * of the smallest float16 above 0: what is not larger becomes 0. A native, so that no name holds the parameters.
 */
NATIVE(f_check_eps)
{
    struct lang_value *items = NULL;
    uint32_t count = 0;
    double eps;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "_check_eps", 3) || call->args[0].kind != LANG_STR ||
        !lang_is_number(call->args[1]) || !lang_items(call->args[2], &items, &count))
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_check_eps() takes text, number, list");
    eps = lang_number(call->args[1]);
    for (uint32_t i = 0; i < count && eps <= 0x1p-25; i++) {
        char text[256];

        if (items[i].kind != LANG_TENSOR || items[i].as.tensor->dtype != VS_F16)
            continue;
        (void)snprintf(
            text, sizeof(text),
            "%s: eps=%g is 0 in float16, so an element whose squared gradient underflows "
            "is divided by 0 and becomes NaN",
            call->args[0].as.str->text, eps);
        lang_warn_of(vm, LANG_WARN_EPS_UNDERFLOW, text);
        return true;
    }
    return true;
}

void lang_prelude_functions_register(struct lang_vm *vm)
{
    static const struct {
        const char *name;
        lang_native_fn *fn;
    } table[] = {
        {"_set_category", f_set_category},
        {"_set_name", f_set_name},
        {"_has_data", f_has_data},
        {"_deal", lang_native_deal},
        {"_is_instance", f_is_instance},
        {"_new", f_new},
        {"_storage_numel", f_storage_numel},
        {"_stream", f_stream},
        {"_record_stream", f_record_stream},
        {"_warn", f_warn},
        {"_warn_of", f_warn_of},
        {"_check_eps", f_check_eps},
        {"_had_grad", f_had_grad},
        {"_free_storages", lang_native_free_storages},
        {"_alloc_storages", lang_native_alloc_storages},
        {"_set_attributes", lang_native_set_attributes},
        {"_take_gradients", lang_native_take_gradients},
        {"_are_dense", lang_native_are_dense},
        {"_split_gradients", lang_native_split_gradients},
        {"_before_backward_of", lang_native_before_backward_of},
        {"_after_backward", lang_native_after_backward},
        {"_is_in_backward", lang_native_is_in_backward},
        {"_apart", lang_native_apart},
        {"_edge", lang_native_edge},
        {"_empty_strided", lang_native_empty_strided},
        {"_set_shares", lang_native_set_shares},
        {"_shares", lang_native_shares},
        {"_resize", lang_native_resize},
        {"_set_pending", lang_native_set_pending},
        {"_set_dtensor", lang_native_set_dtensor},
        {"_set_whole_grad", lang_native_set_whole_grad},
        {"_set_grad_dtype", lang_native_set_grad_dtype},
        {"_grad_dtype", lang_native_grad_dtype},
        {"_packed_pointers", lang_native_packed_pointers},
        {"_has_target", lang_native_has_target},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        lang_native(vm, "torch", table[i].name, table[i].fn, NULL);
}
