/*
 * lang/torch/bind_arg.c - converts a value to an argument of an op.
 *
 * For:            lang/torch/bind_arg.h.
 * Must not know:  the op that is called.
 * Invariant:      the conversions are PyTorch's: a number may be an integer, a float or a bool; an int list may be one
 *                 int; None is accepted only where the signature allows it.
 */
#include "lang/torch/bind_arg.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void *scratch_alloc(struct lang_scratch *s, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (size <= LANG_SCRATCH_BYTES - s->used) {
        void *p = s->bytes + s->used;

        s->used += size;
        return p;
    }
    VS_ASSERT(s->extra_count < ENG_MAX_ARGS);
    return s->extra[s->extra_count++] = vs_alloc(size);
}

void lang_scratch_release(struct lang_vm *vm, struct lang_scratch *scratch)
{
    for (uint32_t i = 0; i < scratch->extra_count; i++)
        vs_free(scratch->extra[i]);
    if (scratch->has_index)
        lang_index_release(vm, &scratch->index);
}

struct eng_scalar lang_scalar(struct lang_value number)
{
    struct eng_scalar s;

    s.is_int = number.kind != LANG_FLOAT;
    s.i = s.is_int ? number.as.i : 0;
    s.f = lang_number(number);
    return s;
}

struct eng_arg lang_scalar_arg(struct lang_value number)
{
    struct eng_arg a = eng_anone();

    a.kind = ENG_A_SCALAR;
    a.count = number.kind == LANG_BOOL;
    a.v.scalar = lang_scalar(number);
    return a;
}

bool lang_operand(struct lang_vm *vm, struct lang_value v, struct eng_arg *out)
{
    (void)vm;
    if (v.kind == LANG_TENSOR)
        *out = eng_at(v.as.tensor);
    else if (lang_is_number(v))
        *out = lang_scalar_arg(v);
    else
        return false;
    return true;
}

bool lang_is_device(struct lang_value v, bool *on_host)
{
    if (v.kind == LANG_DEVICE) {
        *on_host = v.as.on_host;
        return true;
    }
    if (lang_is_int(v) && v.as.i == 0) {
        *on_host = false;
        return true;
    }
    if (lang_str_is(v, "cuda") || lang_str_is(v, "cuda:0")) {
        *on_host = false;
        return true;
    }
    if (lang_str_is(v, "cpu")) {
        *on_host = true;
        return true;
    }
    return false;
}

static bool ints_of(struct lang_scratch *s, uint8_t wanted, struct lang_value v,
                    struct eng_arg *out)
{
    struct lang_value *items;
    uint32_t count;

    if (lang_is_int(v)) {
        uint32_t copies = wanted == 0 ? 1 : wanted;
        int64_t *ints = scratch_alloc(s, copies * sizeof(*ints));

        for (uint32_t i = 0; i < copies; i++)
            ints[i] = v.as.i;
        *out = eng_aints(ints, (int)copies);
        return true;
    }
    if (!lang_items(v, &items, &count))
        return false;
    return lang_arg_of_ints(s, items, count, out);
}

bool lang_arg_of_ints(struct lang_scratch *scratch, const struct lang_value *items, uint32_t count,
                      struct eng_arg *out)
{
    int64_t *ints;

    for (uint32_t i = 0; i < count; i++) {
        if (!lang_is_int(items[i]))
            return false;
    }
    ints = scratch_alloc(scratch, count * sizeof(*ints));
    for (uint32_t i = 0; i < count; i++)
        ints[i] = items[i].as.i;
    *out = eng_aints(ints, (int)count);
    return true;
}

static bool floats_of(struct lang_scratch *s, struct lang_value v, struct eng_arg *out)
{
    struct lang_value *items;
    uint32_t count;
    double *floats;

    if (!lang_items(v, &items, &count))
        return false;
    floats = scratch_alloc(s, count * sizeof(*floats));
    for (uint32_t i = 0; i < count; i++) {
        if (!lang_is_number(items[i]))
            return false;
        floats[i] = lang_number(items[i]);
    }
    *out = eng_anone();
    out->kind = ENG_A_FLOATS;
    out->count = count;
    out->v.floats = floats;
    return true;
}

static bool tensors_of(struct lang_scratch *s, struct lang_value v, struct eng_arg *out)
{
    struct lang_value *items;
    uint32_t count;
    struct eng_tensor **tensors;

    if (!lang_items(v, &items, &count))
        return false;
    tensors = scratch_alloc(s, count * sizeof(*tensors));
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].kind != LANG_TENSOR)
            return false;
        tensors[i] = items[i].as.tensor;
    }
    *out = eng_atensors(tensors, (int)count);
    return true;
}

static bool number_of(struct lang_value v, bool integers_only, struct eng_arg *out)
{
    if (integers_only ? v.kind != LANG_INT : !lang_is_number(v))
        return false;
    *out = lang_scalar_arg(v);
    return true;
}

bool lang_arg_of(struct lang_vm *vm, struct lang_scratch *scratch, const struct eng_param *param,
                 struct lang_value v, struct eng_arg *out, bool *fits)
{
    bool on_host;

    *out = eng_anone();
    *fits = true;
    if (v.kind == LANG_NONE && param->type != ENG_P_INDEX) {
        *fits = param->type == ENG_P_TENSOR_OPT || param->type == ENG_P_INT_OPT ||
                param->type == ENG_P_FLOAT_OPT || param->type == ENG_P_DTYPE ||
                param->type == ENG_P_DEVICE ||
                (param->has_default && param->value.kind == ENG_A_NONE);
        return true;
    }
    switch (param->type) {
    case ENG_P_TENSOR:
    case ENG_P_TENSOR_OPT:
        *fits = v.kind == LANG_TENSOR;
        if (*fits)
            *out = eng_at(v.as.tensor);
        break;
    case ENG_P_TENSORS:
        *fits = tensors_of(scratch, v, out);
        break;
    case ENG_P_SCALAR:
    case ENG_P_FLOAT:
    case ENG_P_FLOAT_OPT:
        *fits = number_of(v, false, out);
        break;
    case ENG_P_OPERAND:
        *fits = lang_operand(vm, v, out);
        break;
    case ENG_P_INT:
    case ENG_P_INT_OPT:
        *fits = number_of(v, true, out);
        break;
    case ENG_P_INTS:
        *fits = ints_of(scratch, param->ints, v, out);
        break;
    case ENG_P_FLOATS:
        *fits = floats_of(scratch, v, out);
        break;
    case ENG_P_BOOL:
        *fits = v.kind == LANG_BOOL;
        *out = eng_ab(*fits && v.as.i != 0);
        break;
    case ENG_P_DTYPE:
        *fits = v.kind == LANG_DTYPE;
        if (*fits)
            *out = eng_ad(v.as.dtype);
        break;
    case ENG_P_STR:
        *fits = v.kind == LANG_STR;
        if (*fits)
            *out = eng_as(v.as.str->text);
        break;
    case ENG_P_DEVICE:
        *fits = lang_is_device(v, &on_host);
        if (*fits)
            *out = eng_ahost(on_host);
        break;
    case ENG_P_INDEX:
        if (!lang_index_of(vm, v, NULL, &scratch->index))
            return false;
        scratch->has_index = true;
        out->kind = ENG_A_INDEX;
        out->count = scratch->index.count;
        out->v.index = scratch->index.items;
        break;
    }
    return true;
}

const char *lang_param_wants(const struct eng_param *param)
{
    switch (param->type) {
    case ENG_P_TENSOR:
        return "a tensor";
    case ENG_P_TENSOR_OPT:
        return "a tensor or None";
    case ENG_P_TENSORS:
        return "a list or tuple of tensors";
    case ENG_P_SCALAR:
    case ENG_P_FLOAT:
        return "a number";
    case ENG_P_FLOAT_OPT:
        return "a number or None";
    case ENG_P_OPERAND:
        return "a tensor or a number";
    case ENG_P_INT:
        return "an integer";
    case ENG_P_INT_OPT:
        return "an integer or None";
    case ENG_P_INTS:
        return "integers: one, or a list or tuple of them";
    case ENG_P_FLOATS:
        return "a list or tuple of numbers";
    case ENG_P_BOOL:
        return "True or False";
    case ENG_P_DTYPE:
        return "a dtype, such as torch.float16";
    case ENG_P_STR:
        return "a string";
    case ENG_P_DEVICE:
        return "a device: \"cuda\" or \"cpu\"";
    case ENG_P_INDEX:
        return "an index";
    }
    return "something else";
}
