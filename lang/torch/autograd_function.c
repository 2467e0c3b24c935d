/*
 * lang/torch/autograd_function.c - torch.autograd.Function.
 *
 * For:            classes of a net that define forward and backward themselves.
 * Must not know:  what they compute.
 * Invariant:      the engine's node holds and releases the tensors given to save_for_backward; all other attributes of
 *                 ctx live as long as the node. The arguments of apply and backward are held until forward and
 *                 backward have returned.
 */
#include <stdio.h>
#include <string.h>

#include "engine/autograd/autograd.h"
#include "lang/interp/attr.h"
#include "lang/interp/interp.h"
#include "lang/interp/ops.h"
#include "lang/torch/autograd_function.h"
#include "lang/torch/bind.h"
#include "lang/torch/callback.h"
#include "lang/torch/nn_module.h"

/* Shape of an output, for the zeros that replace a missing gradient. */
struct output_info {
    int64_t sizes[VS_MAX_DIMS];
    int ndim;
    enum vs_dtype dtype;
    bool on_host;
};

/* User data of the engine's node. `node` is set while backward runs. */
struct custom {
    struct lang_vm *vm;
    struct lang_value ctx;
    struct lang_value cls;
    struct lang_opaque *
        handle; /* ctx refers to this struct through it; its data is NULL once the struct is freed */
    struct eng_node *node;
    struct output_info *outputs;
    int output_count;
};

static void custom_free(void *user)
{
    struct custom *c = user;

    c->handle->data = NULL;
    lang_drop_obj(c->vm, c->handle);
    lang_drop(c->vm, c->ctx);
    lang_drop(c->vm, c->cls);
    vs_free(c->outputs);
    vs_free(c);
}

/* ---- ctx ---- */

static bool ctx_of(struct lang_vm *vm, const struct lang_call *call, struct lang_instance **out)
{
    if (call->arg_count == 0 || call->args[0].kind != LANG_INSTANCE ||
        !(call->args[0].as.instance->cls->class_flags & LANG_CLASS_CTX))
        return lang_fail(vm, VS_E_TYPE, "%s is a method of ctx", call->builtin->name);
    *out = call->args[0].as.instance;
    return true;
}

static bool ctx_keep_args(struct lang_vm *vm, const struct lang_call *call, enum lang_name name,
                          struct lang_value *out)
{
    struct lang_instance *ctx;

    if (!ctx_of(vm, call, &ctx))
        return false;
    for (uint32_t i = 1; i < call->arg_count; i++) {
        if (call->args[i].kind != LANG_TENSOR && call->args[i].kind != LANG_NONE)
            return lang_fail(vm, VS_E_TYPE, "%s() takes tensors, not `%s`", call->builtin->name,
                             lang_type_name(vm, call->args[i]));
    }
    lang_dict_put(vm, ctx->attrs, lang_name(vm, name), lang_object(lang_args_tuple(vm, call, 1)));
    *out = lang_none();
    return true;
}

static bool ctx_save_for_backward(struct lang_vm *vm, const struct lang_call *call,
                                  struct lang_value *out)
{
    return ctx_keep_args(vm, call, LANG_N_to_save, out);
}

static bool ctx_mark_non_differentiable(struct lang_vm *vm, const struct lang_call *call,
                                        struct lang_value *out)
{
    return ctx_keep_args(vm, call, LANG_N_non_differentiable, out);
}

static bool ctx_mark_dirty(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    if (!ctx_keep_args(vm, call, LANG_N_dirty, out))
        return false;
    for (uint32_t i = 1; i < call->arg_count; i++) {
        if (call->args[i].kind == LANG_TENSOR)
            eng_bump_version(call->args[i].as.tensor);
    }
    return true;
}

static bool ctx_set_materialize_grads(struct lang_vm *vm, const struct lang_call *call,
                                      struct lang_value *out)
{
    struct lang_instance *ctx;

    if (!ctx_of(vm, call, &ctx) || !lang_args_exact(vm, call, "set_materialize_grads", 2))
        return false;
    lang_dict_put(vm, ctx->attrs, lang_name(vm, LANG_N_materialize), lang_keep(call->args[1]));
    *out = lang_none();
    return true;
}

/* ctx.saved_tensors: a new tuple each time. */
static bool ctx_saved_tensors(struct lang_vm *vm, const struct lang_call *call,
                              struct lang_value *out)
{
    struct lang_instance *ctx;
    struct lang_value *handle;
    struct custom *c = NULL;
    struct lang_tuple *t;
    int count;

    if (!ctx_of(vm, call, &ctx))
        return false;
    handle = lang_dict_find(ctx->attrs, lang_name(vm, LANG_N_node));
    if (handle != NULL)
        c = handle->as.opaque->data;
    if (c == NULL || c->node == NULL)
        return lang_fail(vm, VS_E_AUTOGRAD, "ctx.saved_tensors can only be read in backward()");
    count = eng_node_saved_count(c->node);
    t = lang_tuple_new(vm, (uint32_t)count);
    *out = lang_object(t);
    for (int i = 0; i < count; i++) {
        t->items[i] = lang_tensor(eng_node_saved(vm->eng, c->node, i));
        if (vm->failed || eng_failed(vm->eng) != NULL) {
            lang_drop_obj(vm, t);
            return !vm->failed && lang_check_engine(vm);
        }
    }
    return true;
}

/* The old name of saved_tensors. */
static bool ctx_saved_variables(struct lang_vm *vm, const struct lang_call *call,
                                struct lang_value *out)
{
    lang_warn(vm, "'saved_variables' is deprecated; use 'saved_tensors'");
    return ctx_saved_tensors(vm, call, out);
}

/* ---- backward ---- */

static bool wants_zeros(struct lang_vm *vm, const struct custom *c)
{
    const struct lang_value *v =
        lang_dict_find(c->ctx.as.instance->attrs, lang_name(vm, LANG_N_materialize));

    return v == NULL || v->as.i != 0;
}

/* A missing gradient is replaced by zeros of the output's shape, unless set_materialize_grads(False) was called. */
static bool push_gradient(struct lang_vm *vm, const struct custom *c, struct eng_tensor **grads_in,
                          int i)
{
    const struct output_info *info = &c->outputs[i];
    struct eng_arg args[3];
    struct lang_value zeros;

    if (grads_in[i] != NULL || !wants_zeros(vm, c)) {
        lang_push(vm,
                  lang_tensor(grads_in[i])); /* the call takes it over, as PyTorch's tuple does */
        grads_in[i] = NULL;
        return true;
    }
    args[0] = eng_aints(info->sizes, info->ndim);
    args[1] = eng_ad(info->dtype);
    args[2] = eng_ahost(info->on_host);
    if (!lang_op_run(vm, ENG_OP_zeros, false, args, &zeros))
        return false;
    lang_push(vm, zeros);
    return true;
}

/* The results of backward: one value for each argument of forward; further ones must be None. */
static bool give_gradients(struct lang_vm *vm, const struct custom *c, struct lang_value result,
                           struct eng_tensor **out, int out_count)
{
    const struct lang_value *items = &result;
    uint32_t count = 1;

    if (result.kind == LANG_TUPLE) {
        items = result.as.tuple->items;
        count = result.as.tuple->count;
    }
    while (count > (uint32_t)out_count && items[count - 1].kind == LANG_NONE)
        count--;
    if (count != (uint32_t)out_count)
        return lang_fail(vm, VS_E_AUTOGRAD,
                         "backward of `%s` gave %u gradient%s, its forward had %d argument%s",
                         c->cls.as.cls->name->text, count, count == 1 ? "" : "s", out_count,
                         out_count == 1 ? "" : "s");
    for (int i = 0; i < out_count; i++) {
        if (items[i].kind == LANG_TENSOR)
            out[i] = eng_ref(items[i].as.tensor);
        else if (items[i].kind != LANG_NONE)
            return lang_fail(vm, VS_E_TYPE,
                             "backward of `%s` returned a `%s` instead of a tensor or None",
                             c->cls.as.cls->name->text, lang_type_name(vm, items[i]));
    }
    return true;
}

/* [gradients…] stay on the stack until backward has returned; above them the call. */
static bool run_backward(struct lang_vm *vm, struct custom *c, struct eng_tensor **grads_in,
                         int in_count, struct eng_tensor **grads_out, int out_count)
{
    const struct lang_kwnames none = {0, NULL, NULL};
    struct lang_value *at = vm->sp;
    struct lang_value *base;
    struct lang_value backward;
    struct lang_value result;

    if (!lang_reserve(vm, (size_t)in_count * 2 + 4))
        return false;
    for (int i = 0; i < in_count; i++) {
        if (!push_gradient(vm, c, grads_in, i))
            return false;
    }
    if (!lang_getattr(vm, c->cls, lang_name(vm, LANG_N_backward), &backward))
        return false;
    base = vm->sp;
    lang_push(vm, backward);
    lang_push(vm, lang_keep(c->ctx));
    for (int i = 0; i < in_count; i++)
        lang_push(vm, lang_keep(at[i]));
    if (!lang_call_at(vm, base, (uint32_t)in_count + 1, &none))
        return false;
    if (!give_gradients(vm, c, vm->sp[-1], grads_out, out_count))
        return false;
    lang_drop(vm, lang_pop(vm));
    for (int i = in_count; i-- > 0;) { /* a tuple releases its items from the last one */
        result = lang_pop(vm);
        lang_drop(vm, result);
    }
    return true;
}

static bool custom_backward(void *user, struct eng_node *node, struct eng_tensor **grads_in,
                            int in_count, struct eng_tensor **grads_out, int out_count)
{
    struct custom *c = user;
    struct lang_vm *vm = c->vm;
    struct eng_node *outer = c->node;
    struct lang_callback cb;
    bool ok;

    if (vm->failed)
        return false;
    lang_callback_begin(vm, &cb);
    c->node = node;
    ok = run_backward(vm, c, grads_in, in_count, grads_out, out_count);
    c->node = outer;
    return lang_callback_end(vm, &cb, ok);
}

/* ---- apply ---- */

static struct lang_value new_ctx(struct lang_vm *vm, const struct lang_call *call)
{
    struct lang_instance *ctx = lang_instance_new(vm, vm->cls.ctx);
    struct lang_tuple *needs = lang_tuple_new(vm, call->arg_count - 1);

    for (uint32_t i = 1; i < call->arg_count; i++)
        needs->items[i - 1] = lang_bool(call->args[i].kind == LANG_TENSOR &&
                                        eng_requires_grad(call->args[i].as.tensor));
    lang_dict_put(vm, ctx->attrs, lang_name(vm, LANG_N_needs_input_grad), lang_object(needs));
    return lang_object(ctx);
}

/* forward(ctx, …) with grad mode off; ctx and the arguments are held by the caller. */
static bool run_forward(struct lang_vm *vm, const struct lang_call *call, struct lang_value ctx,
                        struct lang_value *out)
{
    const struct lang_kwnames none = {0, NULL, NULL};
    struct lang_value *base = vm->sp;
    struct lang_value forward;
    bool grad;
    bool ok;

    if (!lang_reserve(vm, call->arg_count + 2) ||
        !lang_getattr(vm, call->args[0], lang_name(vm, LANG_N_forward), &forward))
        return false;
    lang_push(vm, forward);
    lang_push(vm, lang_keep(ctx));
    for (uint32_t i = 1; i < call->arg_count; i++)
        lang_push(vm, lang_keep(call->args[i]));
    grad = eng_set_grad_enabled(vm->eng, false);
    ok = lang_call_at(vm, base, call->arg_count, &none);
    eng_set_grad_enabled(vm->eng, grad);
    if (!ok) {
        if (vm->err.status != VS_E_STOPPED)
            lang_unwind(vm, base);
        return false;
    }
    *out = lang_pop(vm);
    return true;
}

/* The tensors of a call's arguments, NULL for the others. */
static struct eng_tensor **tensors_of_args(const struct lang_call *call)
{
    struct eng_tensor **tensors = vs_calloc(call->arg_count, sizeof(*tensors));

    for (uint32_t i = 1; i < call->arg_count; i++) {
        if (call->args[i].kind == LANG_TENSOR)
            tensors[i - 1] = call->args[i].as.tensor;
    }
    return tensors;
}

static bool is_among(const struct lang_value *items, uint32_t count, const struct eng_tensor *t)
{
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].kind == LANG_TENSOR && items[i].as.tensor == t)
            return true;
    }
    return false;
}

static bool is_marked(const struct lang_value *marked, const struct eng_tensor *t)
{
    return marked != NULL && marked->kind == LANG_TUPLE &&
           is_among(marked->as.tuple->items, marked->as.tuple->count, t);
}

/* Every input that forward has marked dirty must be among its results. What is no input need not be marked. */
static bool check_dirty(struct lang_vm *vm, const struct lang_call *call,
                        const struct lang_value *dirty, const struct lang_value *items,
                        uint32_t count)
{
    for (uint32_t i = 0; dirty != NULL && i < dirty->as.tuple->count; i++) {
        struct lang_value v = dirty->as.tuple->items[i];

        if (v.kind != LANG_TENSOR)
            continue;
        if (!is_among(items, count, v.as.tensor))
            return lang_fail(vm, VS_E_AUTOGRAD,
                             "Some elements marked as dirty during the forward method of `%s` were "
                             "not returned as output. The inputs that are modified inplace must "
                             "all be outputs of the Function.",
                             call->args[0].as.cls->name->text);
        if (!is_among(call->args + 1, call->arg_count - 1, v.as.tensor))
            lang_warn(vm, "ctx.mark_dirty() received a tensor that was not an input. Only input "
                          "Tensors that have been mutated should be passed to ctx.mark_dirty().");
    }
    return true;
}

static struct custom *custom_new(struct lang_vm *vm, struct lang_value cls, struct lang_value ctx,
                                 struct eng_tensor *const *outputs, int count)
{
    struct custom *c = vs_calloc(1, sizeof(*c));

    c->vm = vm;
    c->ctx = lang_keep(ctx);
    c->cls = lang_keep(cls);
    c->outputs = vs_calloc((size_t)count, sizeof(*c->outputs));
    c->output_count = count;
    for (int i = 0; i < count; i++) {
        if (outputs[i] == NULL)
            continue;
        memcpy(c->outputs[i].sizes, outputs[i]->sizes, sizeof(c->outputs[i].sizes));
        c->outputs[i].ndim = outputs[i]->ndim;
        c->outputs[i].dtype = (enum vs_dtype)outputs[i]->dtype;
        c->outputs[i].on_host = outputs[i]->storage->on_host;
    }
    c->handle = lang_opaque_new(vm, "node", c, NULL);
    lang_dict_put(vm, ctx.as.instance->attrs, lang_name(vm, LANG_N_node),
                  lang_keep(lang_object(c->handle)));
    return c;
}

/* The tensors given to save_for_backward are handed to the node; without a node they are only released. */
static void save_tensors(struct lang_vm *vm, struct lang_value ctx, struct eng_node *node)
{
    struct lang_value saved =
        lang_dict_take(vm, ctx.as.instance->attrs, lang_name(vm, LANG_N_to_save));

    if (node != NULL && saved.kind == LANG_TUPLE && saved.as.tuple->count > 0) {
        uint32_t count = saved.as.tuple->count;
        struct eng_tensor **tensors = vs_calloc(count, sizeof(*tensors));

        for (uint32_t i = 0; i < count; i++) {
            struct lang_value v = saved.as.tuple->items[i];

            tensors[i] = v.kind == LANG_TENSOR ? v.as.tensor : NULL;
        }
        node->is_checkpoint =
            lang_dict_find(ctx.as.instance->attrs, lang_name(vm, LANG_N_is_checkpoint)) != NULL;
        eng_node_save(vm->eng, node, tensors, (int)count);
        vs_free(tensors);
    }
    lang_drop(vm, saved);
}

/* Attaches the node to the results. `result` is replaced where forward returned one of its inputs. */
static bool attach(struct lang_vm *vm, const struct lang_call *call, struct lang_value ctx,
                   struct lang_value *result)
{
    struct lang_value *items = result;
    uint32_t count = 1;
    struct lang_value *marked =
        lang_dict_find(ctx.as.instance->attrs, lang_name(vm, LANG_N_non_differentiable));
    struct eng_tensor **inputs = tensors_of_args(call);
    struct eng_tensor **outputs = NULL;
    struct eng_custom custom = {.backward = custom_backward, .free_user = custom_free};
    const struct lang_value *dirty =
        lang_dict_find(ctx.as.instance->attrs, lang_name(vm, LANG_N_dirty));
    bool *is_dirty = NULL;
    struct eng_node *node;
    char name[128];
    bool ok = false;

    if (result->kind == LANG_TUPLE) {
        items = result->as.tuple->items;
        count = result->as.tuple->count;
    }
    if (!check_dirty(vm, call, dirty, items, count))
        goto out;
    outputs = vs_calloc(count, sizeof(*outputs));
    is_dirty = vs_calloc(count, sizeof(*is_dirty));
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].kind == LANG_TENSOR && !is_marked(marked, items[i].as.tensor))
            outputs[i] = items[i].as.tensor;
        is_dirty[i] = outputs[i] != NULL && is_marked(dirty, outputs[i]) &&
                      is_among(call->args + 1, call->arg_count - 1, outputs[i]);
    }
    custom.is_dirty = is_dirty;
    (void)snprintf(name, sizeof(name), "%sBackward", call->args[0].as.cls->name->text);
    custom.name = lang_intern_text(vm, name)->text;
    custom.user = custom_new(vm, call->args[0], ctx, outputs, (int)count);
    node = eng_custom_node(vm->eng, &custom, inputs, (int)call->arg_count - 1, outputs, (int)count);
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].kind != LANG_TENSOR || outputs[i] == NULL)
            continue;
        if (node == NULL && outputs[i]->requires_grad && !outputs[i]->grad_fn &&
            is_among(call->args + 1, call->arg_count - 1, outputs[i]))
            lang_assign(vm, &items[i], lang_tensor(eng_alias(outputs[i])));
        else
            items[i].as.tensor = outputs[i]; /* an alias replaces an input that forward returned */
    }
    save_tensors(vm, ctx, node);
    if (node == NULL)
        custom_free(custom.user);
    lang_drop(vm, lang_dict_take(vm, ctx.as.instance->attrs, lang_name(vm, LANG_N_dirty)));
    lang_drop(vm,
              lang_dict_take(vm, ctx.as.instance->attrs, lang_name(vm, LANG_N_non_differentiable)));
    ok = lang_check_engine(vm);
out:
    vs_free(is_dirty);
    vs_free(outputs);
    vs_free(inputs);
    return ok;
}

static bool f_apply(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_value ctx;
    struct lang_value result;
    bool ok;

    if (call->kw.count > 0)
        return lang_fail(vm, VS_E_TYPE, "apply() takes no keyword arguments");
    if (call->arg_count == 0 || call->args[0].kind != LANG_CLASS)
        return lang_fail(vm, VS_E_TYPE, "apply() is called on the class");
    ctx = new_ctx(vm, call);
    ok = run_forward(vm, call, ctx, &result);
    if (ok) {
        ok = attach(vm, call, ctx, &result);
        if (ok)
            *out = result;
        else
            lang_drop(vm, result);
    }
    lang_drop(vm, ctx);
    return ok;
}

static void ctx_property(struct lang_vm *vm, const char *name, lang_native_fn *get)
{
    struct lang_builtin *b = lang_builtin_new(vm, name, get, NULL);
    struct lang_descriptor *d = lang_descriptor_new(vm, LANG_PROPERTY, lang_object(b));

    lang_drop_obj(vm, b);
    lang_dict_put(vm, vm->cls.ctx->names, lang_intern_text(vm, name), lang_object(d));
}

void lang_autograd_function_register(struct lang_vm *vm)
{
    struct lang_class *ctx = vm->cls.ctx;
    struct lang_builtin *b = lang_builtin_new(vm, "apply", f_apply, NULL);
    struct lang_descriptor *d = lang_descriptor_new(vm, LANG_CLASSMETHOD, lang_object(b));

    lang_drop_obj(vm, b);
    lang_dict_put(vm, vm->cls.autograd_function->names, lang_name(vm, LANG_N_apply),
                  lang_object(d));
    lang_module_method(vm, ctx, "save_for_backward", ctx_save_for_backward, NULL);
    lang_module_method(vm, ctx, "mark_non_differentiable", ctx_mark_non_differentiable, NULL);
    lang_module_method(vm, ctx, "mark_dirty", ctx_mark_dirty, NULL);
    lang_module_method(vm, ctx, "set_materialize_grads", ctx_set_materialize_grads, NULL);
    ctx_property(vm, "saved_tensors", ctx_saved_tensors);
    ctx_property(vm, "saved_variables", ctx_saved_variables);
    lang_class_changed(vm);
}
