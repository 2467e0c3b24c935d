/*
 * lang/interp/context.c - torch.no_grad() and its like, torch.autocast, as regions and as decorators.
 *
 * For:            lang/interp/context.h.
 * Must not know:  statements.
 * Invariant:      a decorated function holds its arguments in a tuple until it returns, as PyTorch's wrapper does.
 */
#include "lang/interp/context.h"

#include <string.h>

#include "lang/interp/hold.h"
#include "lang/interp/interp.h"
#include "lang/torch/bind.h"

struct lang_context *lang_context_new(struct lang_vm *vm, enum lang_context_kind what)
{
    struct lang_context *c = lang_obj_new(vm, LANG_CONTEXT, sizeof(*c));

    c->what = what;
    return c;
}

bool lang_context_enter(struct lang_vm *vm, struct lang_context *c)
{
    if (c->depth == LANG_CONTEXT_NESTING)
        return lang_fail(vm, VS_E_UNSUPPORTED, "one context is entered more than %d times at once",
                         LANG_CONTEXT_NESTING);
    switch (c->what) {
    case LANG_CONTEXT_MODE:
        c->before[c->depth] = c->set(vm->eng, c->on);
        break;
    case LANG_CONTEXT_AUTOCAST:
        c->autocast_before[c->depth] = eng_autocast_enter(vm->eng, c->autocast);
        break;
    case LANG_CONTEXT_NONE:
        break;
    }
    c->depth++;
    return true;
}

void lang_context_exit(struct lang_vm *vm, struct lang_context *c)
{
    VS_ASSERT(c->depth > 0);
    c->depth--;
    switch (c->what) {
    case LANG_CONTEXT_MODE:
        /* set_grad_enabled() acted when it was made: what it found then comes back */
        c->set(vm->eng, c->acted ? c->found : c->before[c->depth]);
        break;
    case LANG_CONTEXT_AUTOCAST:
        eng_autocast_exit(vm->eng, c->autocast_before[c->depth]);
        break;
    case LANG_CONTEXT_NONE:
        break;
    }
}

/* ---- decorators ---- */

/*
 * [wrapper, args…, kwargs…] with a wrapper made by lang_context_decorate: the arguments move into a tuple and a dict, which
 * stay until the function has returned; the function gets references of its own.
 */
bool lang_context_run(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                      const struct lang_kwnames *kw)
{
    const struct lang_tuple *pair = at->as.builtin->closure.as.tuple;
    struct lang_context *c = pair->items[0].as.context;
    struct lang_tuple *args = lang_tuple_new(vm, arg_count);
    struct lang_dict *kwargs = lang_dict_new(vm);
    struct lang_value *call;
    struct lang_value result;
    bool ok;

    if (arg_count > 0)
        memcpy(args->items, at + 1, arg_count * sizeof(*at));
    for (uint32_t k = 0; k < kw->count; k++)
        lang_dict_put(vm, kwargs, lang_kwname(kw, k), at[1 + arg_count + k]);
    vm->sp = at + 1;
    if (!lang_reserve(vm, 5)) {
        lang_drop_obj(vm, args);
        lang_drop_obj(vm, kwargs);
        return false;
    }
    lang_push(vm, lang_object(args));
    lang_push(vm, lang_object(kwargs));
    if (!lang_context_enter(vm, c))
        return false;
    call = vm->sp;
    lang_push(vm, lang_keep(pair->items[1]));
    lang_push(vm, lang_keep(at[1]));
    lang_push(vm, lang_keep(at[2]));
    ok = lang_call_spread(vm, call);
    lang_context_exit(vm, c);
    if (!ok)
        return false;
    result = lang_pop(vm);
    vm->sp = at + 1;
    lang_drop(vm, at[1]);
    lang_drop(vm, at[2]);
    lang_drop(vm, at[0]);
    at[0] = result;
    return true;
}

static bool never_called(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    (void)call;
    (void)out;
    return lang_fail(vm, VS_E_RAISED, "a decorated function is called through lang_context_run");
}

bool lang_context_decorate(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                           const struct lang_kwnames *kw)
{
    struct lang_builtin *b;

    if (arg_count != 1 || kw->count != 0 ||
        (at[1].kind != LANG_FUNCTION && at[1].kind != LANG_BUILTIN && at[1].kind != LANG_METHOD))
        return lang_fail(vm, VS_E_TYPE,
                         "a context is entered with `with`, or decorates a function");
    if (at[0].as.context->acted) { /* made only to decorate: it must not have acted */
        at[0].as.context->acted = false;
        at[0].as.context->set(vm->eng, at[0].as.context->found);
    }
    b = lang_builtin_new(
        vm, at[1].kind == LANG_FUNCTION ? at[1].as.function->code->name->text : "decorated",
        never_called, NULL);
    b->closure = lang_object(lang_tuple_pair(vm, lang_keep(at[0]), lang_keep(at[1])));
    b->head.flags = LANG_BUILTIN_BINDS | LANG_BUILTIN_DECORATED;
    lang_replace(vm, 2, lang_object(b));
    return true;
}

/* ---- making them ---- */

/* torch.no_grad(), or @torch.no_grad without brackets. */
static bool grad_context(struct lang_vm *vm, const struct lang_call *call, bool on,
                         struct lang_value *out)
{
    struct lang_context *c = lang_context_new(vm, LANG_CONTEXT_MODE);
    struct lang_value result;
    bool ok;

    c->set = eng_set_grad_enabled;
    c->on = on;
    if (call->arg_count == 0 || call->args[0].kind == LANG_BOOL) {
        *out = lang_object(c);
        return true;
    }
    ok = lang_call_value(vm, lang_object(c), call->args, call->arg_count, &result);
    lang_drop_obj(vm, c);
    if (ok)
        *out = result;
    return ok;
}

static bool f_no_grad(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    return grad_context(vm, call, false, out);
}

static bool f_enable_grad(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    return grad_context(vm, call, true, out);
}

/* inference_mode(False) leaves everything as it is; here, as far as memory goes, the mode is no_grad. */
static bool f_inference_mode(struct lang_vm *vm, const struct lang_call *call,
                             struct lang_value *out)
{
    if (call->arg_count == 1 && call->args[0].kind == LANG_BOOL && call->args[0].as.i == 0) {
        *out = lang_object(lang_context_new(vm, LANG_CONTEXT_NONE));
        return true;
    }
    return grad_context(vm, call, false, out);
}

/* What changes a mode at once, and puts it back where it is left as a region. */
static struct lang_value mode_change(struct lang_vm *vm, bool (*set)(struct eng *e, bool on),
                                     bool on)
{
    struct lang_context *c = lang_context_new(vm, LANG_CONTEXT_MODE);

    c->set = set;
    c->on = on;
    c->acted = true;
    c->found = set(vm->eng, on);
    return lang_object(c);
}

static bool f_set_grad_enabled(struct lang_vm *vm, const struct lang_call *call,
                               struct lang_value *out)
{
    struct lang_value a[1];
    bool on;

    if (!LANG_ARGS(vm, call, "set_grad_enabled", 1, a, "mode") || !lang_truth(vm, a[0], &on))
        return false;
    *out = mode_change(vm, eng_set_grad_enabled, on);
    return true;
}

/* Without check_nan the mode only keeps stacks of the host: nothing on the device. */
static bool f_detect_anomaly(struct lang_vm *vm, const struct lang_call *call,
                             struct lang_value *out)
{
    struct lang_context *c;
    struct lang_value a[1];
    bool check = true;

    if (!LANG_ARGS(vm, call, "detect_anomaly", 0, a, "check_nan") ||
        (lang_is_bound(a[0]) && !lang_truth(vm, a[0], &check)))
        return false;
    c = lang_context_new(vm, LANG_CONTEXT_MODE);
    c->set = eng_set_anomaly;
    c->on = check;
    *out = lang_object(c);
    return true;
}

static bool f_set_detect_anomaly(struct lang_vm *vm, const struct lang_call *call,
                                 struct lang_value *out)
{
    struct lang_value a[2];
    bool on;
    bool check = true;

    if (!LANG_ARGS(vm, call, "set_detect_anomaly", 1, a, "mode", "check_nan") ||
        !lang_truth(vm, a[0], &on) || (lang_is_bound(a[1]) && !lang_truth(vm, a[1], &check)))
        return false;
    *out = mode_change(vm, eng_set_anomaly, on && check);
    return true;
}

static bool f_no_context(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    (void)call;
    *out = lang_object(lang_context_new(vm, LANG_CONTEXT_NONE));
    return true;
}

/* The arguments after the device: dtype, enabled, cache_enabled. */
static bool autocast_context(struct lang_vm *vm, const struct lang_value *a, bool is_device,
                             struct lang_value *out)
{
    struct lang_context *c;
    enum vs_dtype dtype = VS_F16;

    if (lang_is_bound(a[0]) && a[0].kind != LANG_NONE) {
        if (a[0].kind != LANG_DTYPE || (a[0].as.dtype != VS_F16 && a[0].as.dtype != VS_BF16))
            return lang_fail(vm, VS_E_VALUE,
                             "autocast: `dtype` is torch.float16 or torch.bfloat16");
        dtype = a[0].as.dtype;
    }
    if (!is_device) {
        /* autocast of the host changes nothing on the device, and host tensors are not accounted */
        *out = lang_object(lang_context_new(vm, LANG_CONTEXT_NONE));
        return true;
    }
    c = lang_context_new(vm, LANG_CONTEXT_AUTOCAST);
    c->autocast.enabled = !lang_is_bound(a[1]) || a[1].as.i != 0;
    c->autocast.cache_enabled = !lang_is_bound(a[2]) || a[2].kind == LANG_NONE || a[2].as.i != 0;
    c->autocast.dtype = (uint8_t)dtype;
    *out = lang_object(c);
    return true;
}

static bool f_autocast(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_value a[4];
    bool on_host;

    if (!LANG_ARGS(vm, call, "autocast", 1, a, "device_type", "dtype", "enabled", "cache_enabled"))
        return false;
    if (!lang_is_device(a[0], &on_host))
        return lang_fail(vm, VS_E_VALUE, "autocast: the device is \"cuda\" or \"cpu\"");
    return autocast_context(vm, a + 1, !on_host, out);
}

/* torch.cuda.amp.autocast(enabled=True, dtype=torch.float16, cache_enabled=True) */
static bool f_cuda_autocast(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out)
{
    struct lang_value a[3];
    struct lang_value ordered[3];

    if (!LANG_ARGS(vm, call, "autocast", 0, a, "enabled", "dtype", "cache_enabled"))
        return false;
    ordered[0] = a[1];
    ordered[1] = a[0];
    ordered[2] = a[2];
    return autocast_context(vm, ordered, true, out);
}

/* ---- questions ---- */

static bool f_is_grad_enabled(struct lang_vm *vm, const struct lang_call *call,
                              struct lang_value *out)
{
    (void)call;
    *out = lang_bool(eng_grad_enabled(vm->eng));
    return true;
}

static bool f_is_autocast_enabled(struct lang_vm *vm, const struct lang_call *call,
                                  struct lang_value *out)
{
    bool on_host = false;

    if (call->arg_count > 0 && !lang_is_device(call->args[0], &on_host))
        return lang_fail(vm, VS_E_VALUE, "is_autocast_enabled: the device is \"cuda\" or \"cpu\"");
    *out = lang_bool(!on_host && eng_autocast_get(vm->eng).enabled);
    return true;
}

static bool f_get_autocast_dtype(struct lang_vm *vm, const struct lang_call *call,
                                 struct lang_value *out)
{
    (void)call;
    *out = lang_dtype((enum vs_dtype)eng_autocast_get(vm->eng).dtype);
    return true;
}

static bool f_is_autocast_cache_enabled(struct lang_vm *vm, const struct lang_call *call,
                                        struct lang_value *out)
{
    (void)call;
    *out = lang_bool(eng_autocast_get(vm->eng).cache_enabled);
    return true;
}

void lang_context_register(struct lang_vm *vm)
{
    static const struct {
        const char *space;
        const char *name;
        lang_native_fn *fn;
    } table[] = {
        {"torch", "no_grad", f_no_grad},
        {"torch", "enable_grad", f_enable_grad},
        {"torch", "inference_mode", f_inference_mode},
        {"torch", "set_grad_enabled", f_set_grad_enabled},
        {"torch", "_no_context", f_no_context},
        {"torch", "autocast", f_autocast},
        {"torch.amp", "autocast", f_autocast},
        {"torch.cuda.amp", "autocast", f_cuda_autocast},
        {"torch", "is_grad_enabled", f_is_grad_enabled},
        {"torch", "is_autocast_enabled", f_is_autocast_enabled},
        {"torch", "get_autocast_dtype", f_get_autocast_dtype},
        {"torch", "get_autocast_gpu_dtype", f_get_autocast_dtype},
        {"torch", "is_autocast_cache_enabled", f_is_autocast_cache_enabled},
        {"torch.autograd", "no_grad", f_no_grad},
        {"torch.autograd", "enable_grad", f_enable_grad},
        {"torch.autograd", "set_grad_enabled", f_set_grad_enabled},
        {"torch.autograd", "detect_anomaly", f_detect_anomaly},
        {"torch.autograd", "set_detect_anomaly", f_set_detect_anomaly},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        lang_native(vm, table[i].space, table[i].name, table[i].fn, NULL);
}
