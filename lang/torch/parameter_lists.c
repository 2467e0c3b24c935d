/*
 * lang/torch/parameter_lists.c - see parameter_lists.h.
 *
 * Must not know:  units, processes.
 * Invariant:      arguments are borrowed for the call; where it fails, the effects on earlier items remain.
 */
#include "lang/torch/parameter_lists.h"

#include "engine/autograd/autograd.h"
#include "engine/core/engine.h"
#include "engine/core/op.h"
#include "engine/core/tensor.h"
#include "lang/interp/attr.h"
#include "lang/interp/call.h"
#include "lang/torch/bind.h"
#include "lang/torch/tensor_methods.h"
#include "lang/value/object.h"

/* The items of a list or tuple, if all of them are tensors. */
static bool tensors_of(struct lang_value list, struct lang_value **items, uint32_t *count)
{
    if (!lang_items(list, items, count))
        return false;
    for (uint32_t i = 0; i < *count; i++)
        if ((*items)[i].kind != LANG_TENSOR)
            return false;
    return true;
}

bool lang_native_free_storages(struct lang_vm *vm, const struct lang_call *call,
                               struct lang_value *out)
{
    struct lang_value *items = NULL;
    uint32_t count = 0;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "_free_storages", 1))
        return false;
    if (!tensors_of(call->args[0], &items, &count))
        return lang_fail(vm, VS_E_TYPE, "_free_storages() takes tensors");
    for (uint32_t i = 0; i < count; i++)
        eng_free_storage(items[i].as.tensor);
    return true;
}

bool lang_native_alloc_storages(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out)
{
    struct lang_value *items = NULL;
    uint32_t count = 0;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "_alloc_storages", 1))
        return false;
    if (!tensors_of(call->args[0], &items, &count))
        return lang_fail(vm, VS_E_TYPE, "_alloc_storages() takes tensors");
    for (uint32_t i = 0; i < count; i++) {
        eng_alloc_storage(vm->eng, items[i].as.tensor);
        if (!lang_check_engine(vm))
            return false;
    }
    return true;
}

/* setattr(object, name, value) for each (object, name) of `slots` */
static bool set_at_each(struct lang_vm *vm, struct lang_value slots, struct lang_value value)
{
    struct lang_value *pairs = NULL, *pair = NULL;
    uint32_t count = 0, two = 0;

    if (!lang_items(slots, &pairs, &count))
        return lang_fail(vm, VS_E_TYPE, "_set_attributes() takes lists of slots");
    for (uint32_t i = 0; i < count; i++) {
        if (!lang_items(pairs[i], &pair, &two) || two != 2 || pair[1].kind != LANG_STR)
            return lang_fail(vm, VS_E_TYPE, "_set_attributes(): a slot is (object, name)");
        if (!lang_setattr(vm, pair[0], lang_intern_str(vm, pair[1].as.str), value))
            return false;
    }
    return true;
}

bool lang_native_set_attributes(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out)
{
    struct lang_value *slots = NULL, *values = NULL;
    uint32_t count = 0, value_count = 0;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "_set_attributes", 2))
        return false;
    if (!lang_items(call->args[0], &slots, &count) ||
        !lang_items(call->args[1], &values, &value_count) || count != value_count)
        return lang_fail(vm, VS_E_TYPE, "_set_attributes() takes lists of slots, as many values");
    for (uint32_t i = 0; i < count; i++)
        if (!set_at_each(vm, slots[i], values[i]))
            return false;
    return true;
}

bool lang_native_take_gradients(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out)
{
    struct lang_value *leaves = NULL;
    struct lang_list *grads, *indices;
    struct lang_tuple *both;
    uint32_t count = 0;

    if (!lang_args_exact(vm, call, "_take_gradients", 1))
        return false;
    if (!tensors_of(call->args[0], &leaves, &count))
        return lang_fail(vm, VS_E_TYPE, "_take_gradients() takes leaves");
    grads = lang_list_new(vm, count);
    indices = lang_list_new(vm, count);
    for (uint32_t i = 0; i < count; i++) {
        struct eng_tensor *leaf = leaves[i].as.tensor;

        if (leaf->grad == NULL)
            continue;
        lang_list_append(vm, grads, lang_tensor(eng_ref(leaf->grad)));
        lang_list_append(vm, indices, lang_int(i));
        eng_set_grad(vm->eng, leaf, NULL);
    }
    both = lang_tuple_new(vm, 2);
    both->items[0] = lang_object(grads);
    both->items[1] = lang_object(indices);
    *out = lang_object(both);
    return true;
}

bool lang_native_are_dense(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_value *items = NULL;
    uint32_t count = 0;
    bool are_dense = true;

    if (!lang_args_exact(vm, call, "_are_dense", 1))
        return false;
    if (!tensors_of(call->args[0], &items, &count))
        return lang_fail(vm, VS_E_TYPE, "_are_dense() takes tensors");
    for (uint32_t i = 0; i < count; i++)
        are_dense = are_dense && eng_is_non_overlapping_and_dense(items[i].as.tensor);
    *out = lang_bool(are_dense);
    return true;
}

/* ---- gradients out of a flat tensor ---- */

/* Takes `grad`. */
static bool give_gradient(struct lang_vm *vm, struct eng_tensor *leaf, struct lang_value grad)
{
    bool ok = true;

    if (leaf->grad == NULL) {
        ok = lang_tensor_set_grad(vm, leaf, grad);
    } else {
        const struct eng_arg args[] = {eng_at(leaf->grad), eng_at(grad.as.tensor), eng_ai(1)};
        struct lang_value sum;

        ok = lang_op_run(vm, ENG_OP_add, true, args, &sum);
        if (ok)
            lang_drop(vm, sum);
    }
    lang_drop(vm, grad);
    return ok;
}

static bool split_one(struct lang_vm *vm, struct eng_tensor *flat, struct eng_tensor *leaf,
                      int64_t offset, bool to_host)
{
    const struct eng_arg args[] = {eng_at(flat), eng_aints(leaf->sizes, leaf->ndim),
                                   eng_aints(leaf->strides, leaf->ndim), eng_ai(offset)};
    const struct lang_to host = {.has_device = true, .on_host = true};
    struct lang_value view, copy;
    bool ok;

    if (!lang_op_run(vm, ENG_OP_as_strided, false, args, &view))
        return false;
    if (!to_host)
        return give_gradient(vm, leaf, view);
    ok = lang_tensor_to(vm, view.as.tensor, &host, &copy);
    lang_drop(vm, view);
    return ok && give_gradient(vm, leaf, copy);
}

bool lang_native_split_gradients(struct lang_vm *vm, const struct lang_call *call,
                                 struct lang_value *out)
{
    const struct lang_value *args = call->args;
    struct lang_value *leaves = NULL, *indices = NULL, *sizes = NULL;
    uint32_t count = 0, index_count = 0, size_count = 0;
    int64_t offset = 0;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "_split_gradients", 5))
        return false;
    if (args[0].kind != LANG_TENSOR || !tensors_of(args[1], &leaves, &count) ||
        !lang_items(args[2], &indices, &index_count) || !lang_items(args[3], &sizes, &size_count) ||
        size_count != count || args[4].kind != LANG_BOOL)
        return lang_fail(vm, VS_E_TYPE,
                         "_split_gradients() takes a tensor, leaves, indices, sizes, to_host");
    for (uint32_t i = 0; i < index_count; i++) {
        const int64_t at = lang_is_int(indices[i]) ? indices[i].as.i : -1;

        if (at < 0 || at >= count || !lang_is_int(sizes[at]))
            return lang_fail(vm, VS_E_TYPE, "_split_gradients(): no index of a leaf");
        if (!split_one(vm, args[0].as.tensor, leaves[at].as.tensor, offset, args[4].as.i != 0))
            return false;
        offset += sizes[at].as.i;
    }
    return true;
}
