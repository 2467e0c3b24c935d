/*
 * lang/torch/prelude_functions.c - functions of torch that only the prelude calls; their names begin with "_".
 *
 * For:            lang/torch/torch.h.
 * Must not know:  which files of the prelude call them.
 * Invariant:      none runs an op or allocates memory of the device.
 */
#include "lang/torch/torch.h"

#include <string.h>

#include "lang/builtins/builtins.h"
#include "lang/interp/interp.h"
#include "lang/torch/bind.h"
#include "lang/torch/buckets.h"

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

void lang_prelude_functions_register(struct lang_vm *vm)
{
    static const struct {
        const char *name;
        lang_native_fn *fn;
    } table[] = {
        {"_set_category", f_set_category},   {"_set_name", f_set_name},
        {"_has_data", f_has_data},           {"_deal", lang_native_deal},
        {"_is_instance", f_is_instance},     {"_new", f_new},
        {"_storage_numel", f_storage_numel}, {"_warn", f_warn},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        lang_native(vm, "torch", table[i].name, table[i].fn, NULL);
}
