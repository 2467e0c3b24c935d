/*
 * lang/run/run_distributed.c - functions for distributed.py and fsdp.py of lang/prelude: the order in which parameters
 * get their gradients, and what is sent.
 *
 * Must not know:  buckets, processes.
 * Invariant:      none of these functions creates, holds or releases a tensor.
 */
#include <string.h>

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

/* ---- collectives ---- */

/* The place of `name`, which is added where it is new; the names stay sorted. */
static struct lang_collective *collective_of(struct lang_result *result, const char *name)
{
    size_t at = 0;

    while (at < result->collective_count && strcmp(result->collectives[at].name, name) < 0)
        at++;
    if (at < result->collective_count && strcmp(result->collectives[at].name, name) == 0)
        return &result->collectives[at];
    result->collectives = vs_grow(result->collectives, result->collective_count,
                                  &result->collective_cap, sizeof(*result->collectives));
    memmove(result->collectives + at + 1, result->collectives + at,
            (result->collective_count - at) * sizeof(*result->collectives));
    result->collectives[at] = (struct lang_collective){.name = vs_strdup(name)};
    result->collective_count++;
    return &result->collectives[at];
}

bool lang_run_collective(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct lang_run_state *run = call->builtin->closure.as.opaque->data;
    struct lang_collective *collective;

    if (!lang_args_exact(vm, call, "_collective", 3))
        return false;
    if (call->args[0].kind != LANG_STR || call->args[1].kind != LANG_INT ||
        call->args[2].kind != LANG_INT)
        return lang_fail(vm, VS_E_TYPE, "_collective() takes a name and two numbers");
    collective = collective_of(run->result, lang_value_text(call->args[0]));
    collective->count++;
    collective->step_count++;
    collective->bytes += (uint64_t)call->args[1].as.i;
    collective->step_bytes += (uint64_t)call->args[1].as.i;
    collective->sent += (uint64_t)call->args[2].as.i;
    collective->step_sent += (uint64_t)call->args[2].as.i;
    *out = lang_none();
    return true;
}

void lang_run_collectives_step(struct lang_result *result)
{
    for (size_t i = 0; i < result->collective_count; i++) {
        struct lang_collective *collective = &result->collectives[i];

        collective->step_count = collective->step_bytes = collective->step_sent = 0;
    }
}
