/*
 * lang/run/run_ranks.c - functions for distributed.py and fsdp.py of lang/prelude in a training that several processes
 * run for real: what they send each other.
 *
 * Must not know:  buckets, units; how data gets to another process (ranks/ranks.h).
 * Invariant:      none of these functions creates, holds or releases a tensor, or emits an event; without data, and
 *                 where there are no other processes, they do nothing.
 */
#include "base/mem.h"
#include "engine/core/engine.h"
#include "engine/core/tensor.h"
#include "engine/device/cpu/cpu_half.h"
#include "lang/interp/call.h"
#include "lang/run/run_internal.h"
#include "lang/value/vm.h"
#include "ranks/ranks.h"

/* The other processes; NULL: there are none, or no data. */
static const struct vs_ranks *ranks_of(const struct lang_call *call)
{
    const struct lang_run_state *run = call->builtin->closure.as.opaque->data;

    return eng_has_data(run->eng) ? run->settings->ranks : NULL;
}

bool lang_run_rank_count(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct vs_ranks *ranks = ranks_of(call);

    if (!lang_args_exact(vm, call, "_rank_count", 0))
        return false;
    *out = lang_int(ranks ? ranks->count : 0);
    return true;
}

bool lang_run_rank(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct vs_ranks *ranks = ranks_of(call);

    if (!lang_args_exact(vm, call, "_rank", 0))
        return false;
    *out = lang_int(ranks ? ranks->rank : 0);
    return true;
}

/* The elements of a tensor that lies in memory without gaps, in any order of dimensions; NULL: it has none. */
static void *elements_of(const struct eng_tensor *t)
{
    char *data = t->storage->data;

    VS_ASSERT(eng_is_non_overlapping_and_dense(t));
    return data ? data + t->offset * vs_dtype_bytes((enum vs_dtype)t->dtype) : NULL;
}

static bool is_tensor(const struct lang_call *call, uint32_t i)
{
    return call->args[i].kind == LANG_TENSOR &&
           eng_is_non_overlapping_and_dense(call->args[i].as.tensor);
}

/* The status of what was sent; a failure is raised. */
static bool sent(struct lang_vm *vm, enum vs_status st, const struct vs_error *err)
{
    return !st || lang_fail(vm, st, "%s", err->text);
}

static bool is_reducible(struct lang_vm *vm, const struct eng_tensor *t)
{
    return t->dtype == VS_F32 || t->dtype == VS_F16 || t->dtype == VS_BF16 ||
           lang_fail(vm, VS_E_UNSUPPORTED,
                     "real processes reduce gradients in float32 and in half precision, these are "
                     "%s",
                     vs_dtype_name((enum vs_dtype)t->dtype));
}

/* The elements as float32, in which sums are made: those of t, or copies that floats_put releases. */
static float *floats_get(const struct eng_tensor *t)
{
    const size_t elems = (size_t)eng_numel(t);
    const uint16_t *from = elements_of(t);
    float *to;

    if (t->dtype == VS_F32)
        return elements_of(t);
    to = vs_alloc(elems * sizeof(*to));
    for (size_t i = 0; i < elems; i++)
        to[i] = t->dtype == VS_F16 ? cpu_f16_to_f32(from[i]) : cpu_bf16_to_f32(from[i]);
    return to;
}

/* Round what floats_get gave, back into t, where that is a copy. */
static void floats_put(const struct eng_tensor *t, float *from)
{
    const size_t elems = (size_t)eng_numel(t);
    uint16_t *to = elements_of(t);

    if (t->dtype == VS_F32)
        return;
    for (size_t i = 0; i < elems; i++)
        to[i] = t->dtype == VS_F16 ? cpu_f32_to_f16(from[i]) : cpu_f32_to_bf16(from[i]);
    vs_free(from);
}

static void divide(float *data, size_t elems, int by)
{
    for (size_t i = 0; i < elems; i++)
        data[i] /= (float)by;
}

bool lang_run_gather(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct vs_ranks *ranks = ranks_of(call);
    struct vs_error err = VS_ERROR_INIT;
    const struct eng_tensor *all;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "_gather", 1) || !is_tensor(call, 0))
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_gather() takes a tensor");
    all = call->args[0].as.tensor;
    if (!ranks || !elements_of(all))
        return true;
    return sent(vm, ranks->gather(elements_of(all), eng_nbytes(all) / (uint64_t)ranks->count, &err),
                &err);
}

bool lang_run_reduce_scatter(struct lang_vm *vm, const struct lang_call *call,
                             struct lang_value *out)
{
    const struct vs_ranks *ranks = ranks_of(call);
    struct vs_error err = VS_ERROR_INIT;
    const struct eng_tensor *own, *all;
    float *sums, *given;
    enum vs_status st;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "_reduce_scatter", 2) || !is_tensor(call, 0) ||
        !is_tensor(call, 1))
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_reduce_scatter() takes two tensors");
    own = call->args[0].as.tensor;
    all = call->args[1].as.tensor;
    if (!ranks || !elements_of(own))
        return true;
    if (!is_reducible(vm, own) || !is_reducible(vm, all))
        return false;
    VS_ASSERT(elements_of(all) && eng_numel(all) == eng_numel(own) * ranks->count);
    sums = floats_get(own);
    given = floats_get(all);
    st = ranks->reduce_scatter(given, sums, (size_t)eng_numel(own), &err);
    if (!st)
        divide(sums, (size_t)eng_numel(own), ranks->count);
    floats_put(own, sums);
    floats_put(all, given);
    return sent(vm, st, &err);
}

bool lang_run_all_reduce(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct vs_ranks *ranks = ranks_of(call);
    struct vs_error err = VS_ERROR_INIT;
    const struct eng_tensor *t;
    enum vs_status st;
    float *sums;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "_all_reduce", 1) || !is_tensor(call, 0))
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_all_reduce() takes a tensor");
    t = call->args[0].as.tensor;
    if (!ranks || !elements_of(t))
        return true;
    if (!is_reducible(vm, t))
        return false;
    sums = floats_get(t);
    st = ranks->all_reduce(sums, (size_t)eng_numel(t), &err);
    if (!st)
        divide(sums, (size_t)eng_numel(t), ranks->count);
    floats_put(t, sums);
    return sent(vm, st, &err);
}

bool lang_run_broadcast(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct vs_ranks *ranks = ranks_of(call);
    struct vs_error err = VS_ERROR_INIT;
    const struct eng_tensor *t;

    *out = lang_none();
    if (!lang_args_exact(vm, call, "_broadcast", 2) || !is_tensor(call, 0) ||
        call->args[1].kind != LANG_INT)
        return !vm->failed && lang_fail(vm, VS_E_TYPE, "_broadcast() takes a tensor and a rank");
    t = call->args[0].as.tensor;
    if (!ranks || !elements_of(t))
        return true;
    return sent(vm, ranks->broadcast(elements_of(t), eng_nbytes(t), (int)call->args[1].as.i, &err),
                &err);
}
