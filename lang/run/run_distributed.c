/*
 * lang/run/run_distributed.c - functions for lang/prelude/distributed.py: the order in which parameters get their
 * gradients.
 *
 * Must not know:  buckets, processes.
 * Invariant:      none of these functions creates, holds or releases a tensor.
 */
#include "base/mem.h"
#include "engine/autograd/ready.h"
#include "lang/interp/call.h"
#include "lang/run/run_internal.h"
#include "lang/value/object.h"
#include "lang/value/vm.h"

bool lang_run_ready_expect(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct lang_run_state *run = call->builtin->closure.as.opaque->data;
    struct lang_value *items = NULL;
    struct eng_tensor **leaves;
    uint32_t count = 0;
    bool are_tensors = true;

    if (!lang_args_exact(vm, call, "_ready_expect", 1))
        return false;
    if (!lang_items(call->args[0], &items, &count))
        return lang_fail(vm, VS_E_TYPE, "_ready_expect() takes a list of tensors");
    leaves = vs_calloc((size_t)count + 1, sizeof(struct eng_tensor *));
    for (uint32_t i = 0; i < count && are_tensors; i++) {
        are_tensors = items[i].kind == LANG_TENSOR;
        leaves[i] = are_tensors ? items[i].as.tensor : NULL;
    }
    if (are_tensors)
        eng_ready_expect(run->eng, leaves, count);
    vs_free(leaves);
    *out = lang_none();
    return are_tensors || lang_fail(vm, VS_E_TYPE, "_ready_expect() takes a list of tensors");
}

bool lang_run_ready_order(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct lang_run_state *run = call->builtin->closure.as.opaque->data;

    if (!lang_args_exact(vm, call, "_ready_order", 0))
        return false;
    *out = lang_value_list(vm);
    for (size_t i = 0; i < eng_ready_count(run->eng); i++)
        lang_list_append(vm, out->as.list, lang_int((int64_t)eng_ready_at(run->eng, i)));
    return true;
}
