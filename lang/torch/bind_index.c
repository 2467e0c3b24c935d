/*
 * lang/torch/bind_index.c - converts the key of x[...], and the data of torch.tensor(...).
 *
 * For:            lang/torch/bind.h.
 * Must not know:  how indexing works.
 * Invariant:      a list in an index becomes a CPU tensor first, as in PyTorch.
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/torch/bind.h"

/* ---- x[...] ---- */

static bool slice_item(struct lang_vm *vm, const struct lang_slice *s, struct eng_index *out)
{
    const struct lang_value *parts[3] = {&s->start, &s->stop, &s->step};

    for (int i = 0; i < 3; i++) {
        if (parts[i]->kind != LANG_NONE && !lang_is_int(*parts[i]))
            return lang_fail(vm, VS_E_TYPE,
                             "the bounds of a slice must be integers or None, not `%s`",
                             lang_type_name(vm, *parts[i]));
    }
    out->kind = ENG_I_SLICE;
    out->has_start = s->start.kind != LANG_NONE;
    out->has_stop = s->stop.kind != LANG_NONE;
    out->start = out->has_start ? s->start.as.i : 0;
    out->stop = out->has_stop ? s->stop.as.i : INT64_MAX;
    out->step = s->step.kind != LANG_NONE ? s->step.as.i : 1;
    if (out->step <= 0)
        return lang_fail_hint(vm, VS_E_VALUE, "use x.flip(dim) to reverse a dimension",
                              "the step of a tensor's slice must be positive");
    return true;
}

/* A list becomes a CPU tensor, which is copied to the device if the indexed tensor is there. */
static bool index_tensor(struct lang_vm *vm, struct lang_value list, const struct eng_tensor *of,
                         struct lang_value *out)
{
    struct lang_value moved;

    if (!lang_tensor_from(vm, list, false, VS_F32, out))
        return false;
    if (of && !of->storage->on_host) {
        struct eng_arg args[4] = {eng_at(out->as.tensor), eng_anone(), eng_ahost(false),
                                  eng_ab(false)};

        if (!lang_op_run(vm, ENG_OP_to, false, args, &moved)) {
            lang_drop(vm, *out);
            return false;
        }
        lang_assign(vm, out, moved);
    }
    return true;
}

static bool index_item(struct lang_vm *vm, struct lang_value v, const struct eng_tensor *of,
                       struct lang_index *out)
{
    struct eng_index *item = &out->items[out->count];
    struct lang_value made;

    memset(item, 0, sizeof(*item));
    switch ((enum lang_kind)v.kind) {
    case LANG_INT:
        item->kind = ENG_I_INT;
        item->start = v.as.i;
        break;
    case LANG_SLICE:
        if (!slice_item(vm, v.as.slice, item))
            return false;
        break;
    case LANG_NONE:
        item->kind = ENG_I_NEWAXIS;
        break;
    case LANG_ELLIPSIS:
        item->kind = ENG_I_ELLIPSIS;
        break;
    case LANG_TENSOR:
        item->kind = ENG_I_TENSOR;
        item->tensor = v.as.tensor;
        break;
    case LANG_LIST:
    case LANG_TUPLE:
    case LANG_RANGE:
        if (!index_tensor(vm, v, of, &made))
            return false;
        out->made[out->made_count++] = made;
        item->kind = ENG_I_TENSOR;
        item->tensor = made.as.tensor;
        break;
    default:
        return lang_fail(
            vm, VS_E_TYPE,
            "a tensor is indexed by integers, slices, `...`, None and tensors, not by `%s`",
            lang_type_name(vm, v));
    }
    out->count++;
    return true;
}

bool lang_index_of(struct lang_vm *vm, struct lang_value key, const struct eng_tensor *of,
                   struct lang_index *out)
{
    bool ok = true;

    out->count = 0;
    out->made_count = 0;
    if (key.kind != LANG_TUPLE) {
        ok = index_item(vm, key, of, out);
    } else if (key.as.tuple->count > LANG_MAX_INDEX) {
        return lang_fail(vm, VS_E_VALUE, "more than %d indices", LANG_MAX_INDEX);
    } else {
        for (uint32_t i = 0; i < key.as.tuple->count && ok; i++)
            ok = index_item(vm, key.as.tuple->items[i], of, out);
    }
    if (!ok)
        lang_index_release(vm, out);
    return ok;
}

void lang_index_release(struct lang_vm *vm, struct lang_index *index)
{
    for (uint32_t i = 0; i < index->made_count; i++)
        lang_drop(vm, index->made[i]);
    index->made_count = 0;
}

/* ---- torch.tensor ---- */

/* Nested lists of numbers. */
struct nested {
    int64_t sizes[VS_MAX_DIMS];
    int ndim;
    bool has_float;
    bool has_int;
    bool has_bool;
    bool is_ragged;
    bool is_wrong;
};

static bool nested_items(struct lang_vm *vm, struct lang_value v, struct lang_list **owned,
                         struct lang_value **items, uint32_t *count)
{
    *owned = NULL;
    if (lang_items(v, items, count))
        return true;
    if (v.kind != LANG_RANGE || !lang_list_of(vm, v, owned))
        return false;
    *items = (*owned)->items;
    *count = (*owned)->count;
    return true;
}

/* The sizes are those of the first list at each level. */
static void measure_sizes(struct lang_vm *vm, struct lang_value v, struct nested *n)
{
    struct lang_list *owned;
    struct lang_value *items;
    uint32_t count;

    if (!nested_items(vm, v, &owned, &items, &count))
        return;
    if (n->ndim == VS_MAX_DIMS) {
        n->is_ragged = true;
    } else {
        n->sizes[n->ndim++] = count;
        if (count > 0)
            measure_sizes(vm, items[0], n);
    }
    lang_drop_obj(vm, owned);
}

/* Checks that all lists have those sizes, and finds the kinds of numbers in them. */
static void check(struct lang_vm *vm, struct lang_value v, int depth, struct nested *n)
{
    struct lang_list *owned;
    struct lang_value *items;
    uint32_t count;

    if (!nested_items(vm, v, &owned, &items, &count)) {
        n->has_float = n->has_float || v.kind == LANG_FLOAT;
        n->has_int = n->has_int || v.kind == LANG_INT;
        n->has_bool = n->has_bool || v.kind == LANG_BOOL;
        n->is_wrong = n->is_wrong || !lang_is_number(v);
        n->is_ragged = n->is_ragged || depth != n->ndim;
        return;
    }
    n->is_ragged = n->is_ragged || depth >= n->ndim || n->sizes[depth] != count;
    for (uint32_t i = 0; i < count && !n->is_ragged && !n->is_wrong; i++)
        check(vm, items[i], depth + 1, n);
    lang_drop_obj(vm, owned);
}

static void collect(struct lang_vm *vm, struct lang_value v, struct lang_list *flat)
{
    struct lang_list *owned;
    struct lang_value *items;
    uint32_t count;

    if (!nested_items(vm, v, &owned, &items, &count)) {
        lang_list_append(vm, flat, v);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        collect(vm, items[i], flat);
    lang_drop_obj(vm, owned);
}

/* Writes a number to element `i` of a contiguous CPU tensor. */
static void write_number(void *data, enum vs_dtype dtype, uint32_t i, struct lang_value v)
{
    switch (dtype) {
    case VS_I64:
        ((int64_t *)data)[i] = v.kind == LANG_FLOAT ? (int64_t)v.as.f : v.as.i;
        break;
    case VS_BOOL:
        ((uint8_t *)data)[i] = lang_number(v) != 0.0;
        break;
    case VS_F64:
        ((double *)data)[i] = lang_number(v);
        break;
    default:
        ((float *)data)[i] = (float)lang_number(v);
        break;
    }
}

/* A CPU tensor of dtype `base`, which write_number() must support. */
static struct eng_tensor *make_host(struct lang_vm *vm, struct lang_value data,
                                    const struct nested *n, enum vs_dtype base)
{
    struct eng_tensor *t = eng_empty(vm->eng, n->sizes, n->ndim, base, true);
    struct lang_list *flat;

    if (t == NULL || t->storage->data == NULL)
        return t;
    flat = lang_list_new(vm, 0);
    collect(vm, data, flat);
    for (uint32_t i = 0; i < flat->count; i++)
        write_number(t->storage->data, base, i, flat->items[i]);
    lang_drop_obj(vm, flat);
    return t;
}

bool lang_tensor_from(struct lang_vm *vm, struct lang_value data, bool has_dtype,
                      enum vs_dtype dtype, struct lang_value *out)
{
    struct nested n = {.ndim = 0};
    enum vs_dtype base;
    struct eng_tensor *t;

    measure_sizes(vm, data, &n);
    if (!n.is_ragged)
        check(vm, data, 0, &n);
    if (vm->failed)
        return false;
    if (n.is_wrong)
        return lang_fail(vm, VS_E_TYPE,
                         "a tensor can only be made of numbers and nested lists of numbers");
    if (n.is_ragged)
        return lang_fail(vm, VS_E_SHAPE,
                         "the lists that make a tensor must have equal lengths at each level");
    base = n.has_float || (!n.has_int && !n.has_bool) ? VS_F32 : n.has_int ? VS_I64 : VS_BOOL;
    if (has_dtype && dtype != base)
        base = dtype == VS_I64 || dtype == VS_BOOL || dtype == VS_F64 ? dtype
               : base == VS_I64                                       ? VS_I64
                                                                      : VS_F32;
    t = make_host(vm, data, &n, base);
    if (t == NULL)
        return lang_fail_engine(vm);
    *out = lang_tensor(t);
    if (has_dtype && dtype != base) {
        struct eng_arg args[4] = {eng_at(t), eng_ad(dtype), eng_anone(), eng_ab(false)};
        struct lang_value cast;

        if (!lang_op_run(vm, ENG_OP_to, false, args, &cast)) {
            lang_drop(vm, *out);
            return false;
        }
        lang_assign(vm, out, cast);
    }
    return true;
}
