/*
 * lang/torch/checkpoint.c - the non-reentrant checkpoint.
 *
 * For:            lang/prelude/checkpoint.py.
 * Must not know:  how placeholders work.
 * Invariant:      the engine keeps the tensor arguments; this file keeps the function, the other arguments and the
 *                 keyword arguments until no placeholder needs them.
 */
#include "engine/autograd/checkpoint.h"

#include <string.h>

#include "lang/interp/attr.h"
#include "lang/interp/call.h"
#include "lang/interp/interp.h"
#include "lang/torch/autograd_function.h"
#include "lang/torch/callback.h"
#include "lang/torch/selective.h"

/* args: the positional arguments; None where the engine has a tensor (`is_tensor`). */
struct segment {
    struct lang_vm *vm;
    struct lang_value function;
    struct lang_tuple *args;
    bool *is_tensor;
    struct lang_value kwargs;
};

static void segment_free(void *user)
{
    struct segment *s = user;

    lang_drop(s->vm, s->kwargs); /* a closure releases its last cell first: fn, kwargs */
    lang_drop(s->vm, s->function);
    lang_drop_obj(s->vm, s->args);
    vs_free(s->is_tensor);
    vs_free(s);
}

/* Calls function(*args, **kwargs) and drops the result. */
static bool run_again(struct lang_vm *vm, const struct segment *s, struct lang_tuple *args)
{
    struct lang_value *at = vm->sp;

    if (!lang_reserve(vm, 3)) {
        lang_drop_obj(vm, args);
        return false;
    }
    lang_push(vm, lang_keep(s->function));
    lang_push(vm, lang_object(args));
    lang_push(vm, lang_keep(s->kwargs));
    if (!lang_call_spread(vm, at))
        return false;
    lang_drop(vm, lang_pop(vm));
    return true;
}

static bool segment_rerun(void *user, struct eng_tensor *const *inputs, int count)
{
    struct segment *s = user;
    struct lang_vm *vm = s->vm;
    struct lang_callback cb;
    struct lang_tuple *args;
    int next = 0;

    if (vm->failed)
        return false;
    lang_callback_begin(vm, &cb);
    args = lang_tuple_new(vm, s->args->count);
    for (uint32_t i = 0; i < s->args->count; i++) {
        if (!s->is_tensor[i]) {
            args->items[i] = lang_keep(s->args->items[i]);
        } else {
            VS_ASSERT(next < count);
            args->items[i] = lang_tensor(eng_ref(inputs[next++]));
        }
    }
    return lang_callback_end(vm, &cb, run_again(vm, s, args));
}

static void segment_left(void *user)
{
    struct segment *s = user;

    lang_parked_clear(s->vm);
}

static const char *name_of(struct lang_vm *vm, struct lang_value function)
{
    if (function.kind == LANG_FUNCTION)
        return function.as.function->code->qualname->text;
    if (function.kind == LANG_METHOD)
        return name_of(vm, function.as.method->func);
    return lang_class_of(vm, function)->name->text;
}

/* Splits the arguments: tensors go to inputs (borrowed), the others to the segment. */
static struct segment *segment_new(struct lang_vm *vm, struct lang_value function,
                                   const struct lang_tuple *args, struct lang_value kwargs,
                                   struct eng_tensor **inputs, int *count)
{
    struct segment *s = vs_calloc(1, sizeof(*s));

    s->vm = vm;
    s->function = lang_keep(function);
    s->kwargs = lang_keep(kwargs);
    s->args = lang_tuple_new(vm, args->count);
    s->is_tensor = vs_calloc(args->count + 1, sizeof(bool));
    *count = 0;
    for (uint32_t i = 0; i < args->count; i++) {
        if (args->items[i].kind == LANG_TENSOR) {
            s->is_tensor[i] = true;
            s->args->items[i] = lang_none();
            inputs[(*count)++] = args->items[i].as.tensor;
        } else {
            s->args->items[i] = lang_keep(args->items[i]);
        }
    }
    return s;
}

/* torch._checkpoint_run(function, args, kwargs, preserve_rng_state, early_stop, selective or None) */
static bool f_checkpoint_run(struct lang_vm *vm, const struct lang_call *call,
                             struct lang_value *out)
{
    const struct lang_value *a = call->args;
    struct eng_checkpoint_calls calls = {
        .rerun = segment_rerun, .left = segment_left, .free_user = segment_free};
    struct eng_checkpoint *checkpoint;
    struct eng_tensor **inputs;
    struct lang_value *at = vm->sp;
    int count;
    bool ok;

    if (!lang_args_exact(vm, call, "_checkpoint_run", 6))
        return false;
    if (a[1].kind != LANG_TUPLE || a[2].kind != LANG_DICT)
        return lang_fail(vm, VS_E_TYPE, "_checkpoint_run() takes a tuple and a dict");
    inputs = vs_calloc(a[1].as.tuple->count + 1, sizeof(*inputs));
    calls.user = segment_new(vm, a[0], a[1].as.tuple, a[2], inputs, &count);
    calls.name = name_of(vm, a[0]);
    checkpoint = eng_checkpoint_begin(vm->eng, &calls, inputs, count, lang_selective_of(a[5]),
                                      a[4].as.i != 0, a[3].as.i != 0);
    vs_free(inputs);
    /* the recomputation of an outer checkpoint may end with these inputs: then the function is not called */
    ok = lang_check_engine(vm) && lang_reserve(vm, 3);
    if (ok) {
        lang_push(vm, lang_keep(a[0]));
        lang_push(vm, lang_keep(a[1]));
        lang_push(vm, lang_keep(a[2]));
        ok = lang_call_spread(vm, at);
    }
    eng_checkpoint_end(vm->eng, checkpoint);
    if (!ok)
        return false;
    *out = lang_pop(vm);
    return lang_check_engine(vm);
}

static bool f_checkpoint_is_valid(struct lang_vm *vm, const struct lang_call *call,
                                  struct lang_value *out)
{
    (void)call;
    *out = lang_bool(vm->gathering == 0);
    return true;
}

static bool recompute(struct lang_vm *vm, const struct lang_call *call, bool begin,
                      struct lang_value *out)
{
    if (!lang_args_exact(vm, call, call->builtin->name, 1))
        return false;
    if (begin)
        eng_recompute_begin(vm->eng, name_of(vm, call->args[0]));
    else
        eng_recompute_end(vm->eng, name_of(vm, call->args[0]));
    *out = lang_none();
    return true;
}

static bool f_recompute_begin(struct lang_vm *vm, const struct lang_call *call,
                              struct lang_value *out)
{
    return recompute(vm, call, true, out);
}

static bool f_recompute_end(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out)
{
    return recompute(vm, call, false, out);
}

static void rng_free(struct lang_vm *vm, void *data)
{
    (void)vm;
    vs_free(data);
}

static bool f_rng_get(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct eng_rng_state *state = vs_alloc(sizeof(*state));

    (void)call;
    *state = eng_rng_get(vm->eng);
    *out = lang_object(lang_opaque_new(vm, "random state", state, rng_free));
    return true;
}

static bool f_rng_set(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct eng_rng_state *state;

    if (!lang_args_exact(vm, call, "_rng_set", 1))
        return false;
    if (call->args[0].kind != LANG_OPAQUE ||
        strcmp(call->args[0].as.opaque->type, "random state") != 0)
        return lang_fail(vm, VS_E_TYPE, "_rng_set() takes what _rng_get() gave");
    state = call->args[0].as.opaque->data;
    eng_rng_set(vm->eng, *state);
    *out = lang_none();
    return true;
}

/* torch._rng_moved(state): whether random numbers were drawn since _rng_get() gave this state */
static bool f_rng_moved(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct eng_rng_state *state;
    struct eng_rng_state now = eng_rng_get(vm->eng);

    if (!lang_args_exact(vm, call, "_rng_moved", 1))
        return false;
    if (call->args[0].kind != LANG_OPAQUE ||
        strcmp(call->args[0].as.opaque->type, "random state") != 0)
        return lang_fail(vm, VS_E_TYPE, "_rng_moved() takes what _rng_get() gave");
    state = call->args[0].as.opaque->data;
    *out = lang_bool(state->host_offset != now.host_offset ||
                     state->device_offset != now.device_offset);
    return true;
}

void lang_checkpoint_register(struct lang_vm *vm)
{
    lang_native(vm, "torch", "_checkpoint_run", f_checkpoint_run, NULL);
    lang_native(vm, "torch", "_checkpoint_is_valid", f_checkpoint_is_valid, NULL);
    lang_native(vm, "torch", "_recompute_begin", f_recompute_begin, NULL);
    lang_native(vm, "torch", "_recompute_end", f_recompute_end, NULL);
    lang_native(vm, "torch", "_rng_get", f_rng_get, NULL);
    lang_native(vm, "torch", "_rng_set", f_rng_set, NULL);
    lang_native(vm, "torch", "_rng_moved", f_rng_moved, NULL);
}
