/*
 * lang/torch/hooks.c - see hooks.h.
 *
 * Must not know:  when backward calls.
 * Invariant:      hooks are called in the order of their registration. Those registered when the first one is called
 *                 are all called, even if a hook registers or removes others.
 */
#include "lang/torch/hooks.h"

#include "base/mem.h"
#include "engine/autograd/autograd.h"
#include "lang/interp/call.h"
#include "lang/interp/interp.h"
#include "lang/torch/callback.h"

static const char HANDLE[] = "RemovableHandle";

/* refs: by the tensor and by handles. functions: dict by number; NULL after the tensor was freed. */
struct hooks {
    struct lang_vm *vm;
    uint32_t refs;
    struct lang_dict *functions;
    int64_t next;
};

struct handle {
    struct hooks *hooks;
    int64_t number;
};

static void hooks_unref(struct hooks *h)
{
    if (--h->refs == 0)
        vs_free(h);
}

/* Called when the tensor is freed. */
static void hooks_free(void *user)
{
    struct hooks *h = user;
    struct lang_dict *functions = h->functions;

    h->functions = NULL;
    lang_drop_obj(h->vm, functions);
    hooks_unref(h);
}

/* ---- the calls ---- */

/* at: the list of hooks, above it the argument of each. */
static bool call_each(struct lang_vm *vm, struct lang_value *at, uint32_t count)
{
    const struct lang_kwnames none = {0, NULL, NULL};

    for (uint32_t i = 0; i < count; i++) {
        struct lang_value *base = vm->sp;

        lang_push(vm, lang_keep(at[i]));
        lang_push(vm, lang_keep(at[count]));
        if (!lang_call_at(vm, base, 1, &none))
            return false;
        if (base->kind != LANG_NONE &&
            (base->kind != LANG_TENSOR || base->as.tensor != at[count].as.tensor))
            return lang_fail(vm, VS_E_AUTOGRAD,
                             "Tensor post accumulate grad hooks should return None.");
        lang_drop(vm, lang_pop(vm));
    }
    return true;
}

static bool call_all(struct lang_vm *vm, const struct hooks *h, struct eng_tensor *leaf)
{
    struct lang_value *at = vm->sp;
    const struct lang_entry *e;
    uint32_t count = h->functions->live;
    uint32_t next = 0;

    if (!lang_reserve(vm, (size_t)count + 3))
        return false;
    while ((e = lang_dict_next(h->functions, &next)) != NULL)
        lang_push(vm, lang_keep(e->value));
    lang_push(vm, lang_tensor(eng_ref(leaf)));
    if (!call_each(vm, at, count))
        return false;
    /* release the list of hooks from its last item, then the argument */
    for (uint32_t i = count; i-- > 0;) {
        lang_drop(vm, at[i]);
        at[i] = lang_none();
    }
    lang_unwind(vm, at);
    return true;
}

static bool hooks_run(void *user, struct eng_tensor *leaf)
{
    const struct hooks *h = user;
    struct lang_vm *vm = h->vm;
    struct lang_callback cb;

    if (vm->failed)
        return false;
    lang_callback_begin(vm, &cb);
    return lang_callback_end(vm, &cb, call_all(vm, h, leaf));
}

/* ---- registering ---- */

static struct hooks *hooks_of(struct lang_vm *vm, struct eng_tensor *leaf)
{
    struct eng_hooks hooks = {.run = hooks_run, .free_user = hooks_free};
    struct hooks *h = eng_hooks_user(leaf);

    if (h != NULL)
        return h;
    h = vs_calloc(1, sizeof(*h));
    h->vm = vm;
    h->refs = 1;
    h->functions = lang_dict_new(vm);
    hooks.user = h;
    eng_set_hooks(leaf, &hooks);
    return h;
}

static void handle_release(struct lang_vm *vm, void *data)
{
    struct handle *handle = data;

    (void)vm;
    hooks_unref(handle->hooks);
    vs_free(handle);
}

static bool m_register(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_value a[2];
    struct handle *handle;
    struct hooks *h;

    if (!LANG_ARGS(vm, call, call->builtin->name, 2, a, "self", "hook"))
        return false;
    if (a[0].kind != LANG_TENSOR)
        return lang_fail(vm, VS_E_TYPE, "%s() is a method of a tensor", call->builtin->name);
    if (!eng_requires_grad(a[0].as.tensor))
        return lang_fail(vm, VS_E_AUTOGRAD,
                         "cannot register a hook on a tensor that doesn't require gradient");
    if (a[0].as.tensor->grad_fn != NULL)
        return lang_fail(vm, VS_E_AUTOGRAD,
                         "post accumulate grad hooks cannot be registered on non-leaf tensors");
    h = hooks_of(vm, a[0].as.tensor);
    if (!lang_dict_store(vm, h->functions, lang_int(h->next), lang_keep(a[1])))
        return false;
    handle = vs_alloc(sizeof(*handle));
    *handle = (struct handle){.hooks = h, .number = h->next++};
    h->refs++;
    *out = lang_object(lang_opaque_new(vm, HANDLE, handle, handle_release));
    return true;
}

/* handle.remove(); does nothing the second time, or after the tensor was freed. */
static bool m_remove(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct lang_value *self = call->args;
    const struct handle *handle;
    struct lang_value *function = NULL;
    struct lang_value taken = lang_none();

    if (!lang_args_exact(vm, call, "remove", 1))
        return false;
    if (self->kind != LANG_OPAQUE || self->as.opaque->type != HANDLE)
        return lang_fail(vm, VS_E_TYPE, "remove() is a method of a hook's handle");
    handle = self->as.opaque->data;
    *out = lang_none();
    if (handle->hooks->functions == NULL)
        return true;
    if (!lang_dict_lookup(vm, handle->hooks->functions, lang_int(handle->number), &function))
        return false;
    if (function == NULL)
        return true;
    if (!lang_dict_remove(vm, handle->hooks->functions, lang_int(handle->number), &taken))
        return false;
    lang_drop(vm, taken);
    return true;
}

static void method_put(struct lang_vm *vm, struct lang_class *cls, const char *name,
                       lang_native_fn *fn)
{
    struct lang_builtin *b = lang_builtin_new(vm, name, fn, NULL);

    b->head.flags = LANG_BUILTIN_BINDS;
    lang_dict_put(vm, cls->names, lang_intern_text(vm, name), lang_object(b));
}

void lang_hooks_register(struct lang_vm *vm)
{
    method_put(vm, vm->cls.tensor, "register_post_accumulate_grad_hook", m_register);
    method_put(vm, vm->cls.opaque, "remove", m_remove);
    lang_class_changed(vm);
}
