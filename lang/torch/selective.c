/*
 * lang/torch/selective.c - which ops a selective checkpoint saves: by name, or as a function of the net says.
 *
 * For:            lang/prelude/selective.py.
 * Must not know:  how results are kept.
 * Invariant:      an op has the name that PyTorch's dispatcher has for it: "mm.default", "add_.Tensor".
 */
#include "lang/torch/selective.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/autograd/selective.h"
#include "lang/interp/attr.h"
#include "lang/interp/call.h"
#include "lang/interp/interp.h"
#include "lang/interp/ops.h"
#include "lang/torch/callback.h"

#define TYPE "selective checkpoint"

/* Bytes for a name with its overload, and the terminating 0. */
#define NAME_MAX_BYTES 80

static const char *const EXCEPTIONS[][2] = {
#define ATEN(ours, theirs) {ours, theirs},
#include "lang/torch/aten_names.def"
#undef ATEN
};

/* Ops that lists name and that no forward of a net here runs. PyTorch 2.15 has all of them. */
static const char *const OTHERS[] = {
    "convolution_backward.default",
    "_convolution.default",
    "cudnn_convolution.default",
    "_scaled_mm.default",
    "_flash_attention_forward.default",
    "_efficient_attention_forward.default",
    "_scaled_dot_product_cudnn_attention.default",
    "_scaled_dot_product_flash_attention_for_cpu.default",
    "_scaled_dot_product_fused_attention_overrideable.default",
    "_scaled_dot_product_attention_math.default",
    "linear.default",
    "matmul.default",
    "max.default",
    "detach.default",
    "upsample_nearest2d.vec",
    "upsample_bilinear2d.vec",
};

/* ---- names ---- */

/* The name of an op, or of its in-place variant. text: NAME_MAX_BYTES bytes. */
static void aten_name(enum eng_op_id id, bool is_inplace, char *text)
{
    const char *name = eng_op_get(id)->name;
    const char *found = NULL;
    const char *dot;

    for (size_t i = 0; i < sizeof(EXCEPTIONS) / sizeof(EXCEPTIONS[0]); i++) {
        if (strcmp(EXCEPTIONS[i][0], name) == 0)
            found = EXCEPTIONS[i][1];
    }
    if (!found)
        found = name[0] == '_' ? name + 1 : name;
    dot = strchr(found, '.');
    (void)snprintf(text, NAME_MAX_BYTES, "%.*s%s%s", (int)(dot ? dot - found : (long)strlen(found)),
                   found, is_inplace ? "_" : "", dot ? dot : ".default");
}

static bool is_dispatched(enum eng_op_id id)
{
    return eng_op_get(id)->kind != ENG_COMPOSITE;
}

/* Whether PyTorch's dispatcher has an op of this name, as far as is known here. */
static bool is_known(const char *name)
{
    char text[NAME_MAX_BYTES];

    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        if (strcmp(OTHERS[i], name) == 0)
            return true;
    }
    for (int id = 0; id < ENG_OP_COUNT; id++) {
        for (int in_place = 0; in_place < 2 && is_dispatched((enum eng_op_id)id); in_place++) {
            aten_name((enum eng_op_id)id, in_place, text);
            if (strcmp(text, name) == 0)
                return true;
        }
    }
    return false;
}

/* torch._aten_known(name): see is_known */
static bool f_aten_known(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    if (!lang_args_exact(vm, call, "_aten_known", 1))
        return false;
    if (call->args[0].kind != LANG_STR)
        return lang_fail(vm, VS_E_TYPE, "_aten_known() takes a name");
    *out = lang_bool(is_known(call->args[0].as.str->text));
    return true;
}

/* ---- the choice ---- */

/*
 * policy     a function of a name, the result and the arguments, or None: then the names of a list are saved
 * is_listed  of each op, and of its in-place variant: its name is in the list
 */
struct choice {
    struct lang_vm *vm;
    struct lang_value policy;
    bool is_listed[ENG_OP_COUNT];
    bool is_listed_in_place[ENG_OP_COUNT];
};

static void choice_free(void *user)
{
    struct choice *choice = user;

    lang_drop(choice->vm, choice->policy);
    vs_free(choice);
}

static struct lang_value tensors_value(struct lang_vm *vm, struct eng_tensor *const *tensors,
                                       uint32_t count)
{
    struct lang_tuple *tuple = lang_tuple_new(vm, count);

    for (uint32_t i = 0; i < count; i++)
        tuple->items[i] = lang_tensor(eng_ref(tensors[i]));
    return lang_object(tuple);
}

/* What the policy sees of an argument: tensors, numbers, lists of integers; None of the rest. */
static struct lang_value arg_value(struct lang_vm *vm, const struct eng_arg *arg)
{
    struct lang_tuple *ints;

    switch (arg->kind) {
    case ENG_A_TENSOR:
        return lang_tensor(eng_ref(arg->v.tensor));
    case ENG_A_TENSORS:
        return tensors_value(vm, arg->v.tensors, arg->count);
    case ENG_A_INTS:
        ints = lang_tuple_new(vm, arg->count);
        for (uint32_t i = 0; i < arg->count; i++)
            ints->items[i] = lang_int(arg->v.ints[i]);
        return lang_object(ints);
    case ENG_A_SCALAR:
        return arg->v.scalar.is_int ? lang_int(arg->v.scalar.i) : lang_float(arg->v.scalar.f);
    case ENG_A_BOOL:
        return lang_bool(arg->v.flag);
    case ENG_A_DTYPE:
        return lang_dtype(arg->v.dtype);
    case ENG_A_DEVICE:
        return lang_device(arg->v.on_host);
    case ENG_A_NONE:
    case ENG_A_FLOATS:
    case ENG_A_STR:
    case ENG_A_INDEX:
        break;
    }
    return lang_none();
}

/* policy(name, result, arguments) */
static bool policy_call(struct lang_vm *vm, const struct choice *choice, const char *name,
                        const struct eng_arg *args, int arg_count, const struct eng_ret *results,
                        bool *is_saved)
{
    struct lang_tuple *tuple = lang_tuple_new(vm, (uint32_t)arg_count);
    struct lang_value given[3];
    struct lang_value answer;
    bool ok;

    for (int i = 0; i < arg_count; i++)
        tuple->items[i] = arg_value(vm, &args[i]);
    given[0] = lang_str(vm, name);
    given[1] = results->count == 1 && !results->is_list
                   ? lang_tensor(eng_ref(results->tensors[0]))
                   : tensors_value(vm, results->tensors, results->count);
    given[2] = lang_object(tuple);
    ok = lang_call_value(vm, choice->policy, given, 3, &answer);
    for (int i = 0; i < 3; i++)
        lang_drop(vm, given[i]);
    if (!ok)
        return false;
    ok = lang_truth(vm, answer, is_saved);
    lang_drop(vm, answer);
    return ok;
}

static bool choice_is_saved(void *user, enum eng_op_id id, bool is_inplace,
                            const struct eng_arg *args, int arg_count,
                            const struct eng_ret *results)
{
    const struct choice *choice = user;
    struct lang_vm *vm = choice->vm;
    char name[NAME_MAX_BYTES];
    struct lang_callback cb;
    bool is_saved = false;

    if (choice->policy.kind == LANG_NONE)
        return is_inplace ? choice->is_listed_in_place[id] : choice->is_listed[id];
    if (vm->failed)
        return false;
    aten_name(id, is_inplace, name);
    lang_callback_begin(vm, &cb);
    if (!lang_callback_end(vm, &cb,
                           policy_call(vm, choice, name, args, arg_count, results, &is_saved)))
        return false;
    return is_saved;
}

static void list_add(struct choice *choice, const char *name)
{
    char text[NAME_MAX_BYTES];

    for (int id = 0; id < ENG_OP_COUNT; id++) {
        if (!is_dispatched((enum eng_op_id)id))
            continue;
        aten_name((enum eng_op_id)id, false, text);
        choice->is_listed[id] |= strcmp(text, name) == 0;
        aten_name((enum eng_op_id)id, true, text);
        choice->is_listed_in_place[id] |= strcmp(text, name) == 0;
    }
}

static void selective_release(struct lang_vm *vm, void *data)
{
    (void)vm;
    eng_selective_unref(data);
}

/*
 * torch._selective_new(policy, allows_mutation): a new choice, for _checkpoint_run(). policy: a tuple of names, or a
 * function of a name, the result and a tuple of the arguments.
 */
static bool f_selective_new(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out)
{
    struct eng_selective_calls calls = {.is_saved = choice_is_saved, .free_user = choice_free};
    const struct lang_value *a = call->args;
    struct choice *choice;

    if (!lang_args_exact(vm, call, "_selective_new", 2))
        return false;
    choice = vs_calloc(1, sizeof(*choice));
    choice->vm = vm;
    choice->policy = a[0].kind == LANG_TUPLE ? lang_none() : lang_keep(a[0]);
    for (uint32_t i = 0; a[0].kind == LANG_TUPLE && i < a[0].as.tuple->count; i++) {
        VS_ASSERT(a[0].as.tuple->items[i].kind == LANG_STR);
        list_add(choice, a[0].as.tuple->items[i].as.str->text);
    }
    calls.user = choice;
    *out = lang_object(lang_opaque_new(vm, TYPE, eng_selective_new(vm->eng, &calls, a[1].as.i != 0),
                                       selective_release));
    return true;
}

struct eng_selective *lang_selective_of(struct lang_value value)
{
    return value.kind == LANG_OPAQUE && strcmp(value.as.opaque->type, TYPE) == 0
               ? value.as.opaque->data
               : NULL;
}

void lang_selective_register(struct lang_vm *vm)
{
    lang_native(vm, "torch", "_aten_known", f_aten_known, NULL);
    lang_native(vm, "torch", "_selective_new", f_selective_new, NULL);
}
