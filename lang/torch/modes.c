/*
 * lang/torch/modes.c - torch.no_grad(), torch.set_grad_enabled(), torch.autocast() and similar functions.
 *
 * For:            the module torch.
 * Must not know:  how a context manager is entered and exited.
 * Invariant:      each function returns a new context manager; set_grad_enabled() and set_detect_anomaly() also change
 *                 the mode at once.
 */
#include "lang/interp/call.h"
#include "lang/interp/ops.h"
#include "lang/torch/bind.h"
#include "lang/torch/torch.h"
#include "lang/value/context.h"

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

/* inference_mode(False) has no effect; inference_mode() uses memory as no_grad() does. */
static bool f_inference_mode(struct lang_vm *vm, const struct lang_call *call,
                             struct lang_value *out)
{
    if (call->arg_count == 1 && call->args[0].kind == LANG_BOOL && call->args[0].as.i == 0) {
        *out = lang_object(lang_context_new(vm, LANG_CONTEXT_NONE));
        return true;
    }
    return grad_context(vm, call, false, out);
}

/* Functions that change a mode at once, and restore it on exit if used as a context manager. */
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

/* Without check_nan the mode only records Python stacks, which need no device memory. */
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

static bool f_save_on_cpu(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_context *c;
    struct lang_value a[2];
    bool is_pinned = false;

    if (!LANG_ARGS(vm, call, "save_on_cpu", 0, a, "pin_memory", "device_type") ||
        (lang_is_bound(a[0]) && !lang_truth(vm, a[0], &is_pinned)))
        return false;
    c = lang_context_new(vm, LANG_CONTEXT_MODE);
    c->set = is_pinned ? eng_set_offload_pinned : eng_set_offload;
    c->on = true;
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
                             "autocast: `dtype` must be torch.float16 or torch.bfloat16");
        dtype = a[0].as.dtype;
    }
    if (!is_device) {
        /* autocast of the CPU has no effect on device memory, and CPU tensors are not recorded */
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
        return lang_fail(vm, VS_E_VALUE, "autocast: the device must be \"cuda\" or \"cpu\"");
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
    lang_warn(vm, "`torch.cuda.amp.autocast(args...)` is deprecated. Please use "
                  "`torch.amp.autocast('cuda', args...)` instead.");
    ordered[0] = a[1];
    ordered[1] = a[0];
    ordered[2] = a[2];
    return autocast_context(vm, ordered, true, out);
}

/* ---- queries ---- */

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
        return lang_fail(vm, VS_E_VALUE,
                         "is_autocast_enabled: the device must be \"cuda\" or \"cpu\"");
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

void lang_modes_register(struct lang_vm *vm)
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
        {"torch.autograd.graph", "save_on_cpu", f_save_on_cpu},
        {"torch.autograd", "set_detect_anomaly", f_set_detect_anomaly},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        lang_native(vm, table[i].space, table[i].name, table[i].fn, NULL);
}
