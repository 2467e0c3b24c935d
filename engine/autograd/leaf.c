/*
 * engine/autograd/leaf.c - leaves of the graph: their gradient, their hooks, whether they require grad.
 *
 * Must not know:  which node runs when.
 * Invariant:      a leaf takes over a gradient that has no other references and has the leaf's strides; any other is
 *                 copied.
 */
#include "base/mem.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/core/engine_internal.h"
#include "engine/core/op_internal.h"

/* ---- accumulating a gradient ---- */

static bool obeys_layout(const struct eng_tensor *grad, const struct eng_tensor *variable)
{
    if (!eng_is_non_overlapping_and_dense(variable))
        return eng_is_contiguous(grad);
    for (int i = 0; i < grad->ndim; i++) {
        if (grad->sizes[i] != 1 && grad->strides[i] != variable->strides[i])
            return false;
    }
    return true;
}

static struct eng_tensor *clone_in_layout(struct eng *e, struct eng_tensor *grad,
                                          const struct eng_tensor *variable)
{
    struct eng_tensor *copy;

    if (eng_is_non_overlapping_and_dense(variable))
        copy = eng_empty_strided(e, variable->sizes, variable->strides, variable->ndim,
                                 (enum vs_dtype)grad->dtype, grad->storage->on_host);
    else
        copy = eng_empty(e, grad->sizes, grad->ndim, (enum vs_dtype)grad->dtype,
                         grad->storage->on_host);
    if (copy)
        eng_copy_into(e, copy, grad);
    return copy;
}

static void hold_grad(struct eng *e, struct eng_tensor *variable)
{
    variable->had_grad = true;
    if (variable->grad->storage->category != VS_CAT_PARAMETER)
        eng_set_category(variable->grad, VS_CAT_GRADIENT);
    if (e->observer) {
        struct vs_event ev = {0};

        if (!variable->grad->storage->block)
            return;
        ev.kind = VS_EV_HOLD;
        ev.hold.block = variable->grad->storage->block_id;
        ev.hold.tensor = eng_tensor_id(e, variable->grad);
        ev.hold.name = variable->name;
        ev.hold.holder = VS_HOLD_GRAD;
        eng_emit(e, &ev);
    }
}

/* Takes ownership of `grad`. */
static void accumulate(struct eng *e, struct eng_tensor *variable, struct eng_tensor *grad)
{
    if (!grad)
        return;
    if (variable->grad) {
        struct eng_tensor *same = eng_add_(e, variable->grad, grad);

        eng_unref(same);
        eng_unref(grad);
        return;
    }
    if (grad->refs == 1 && obeys_layout(grad, variable)) {
        variable->grad = eng_alias(grad);
        eng_unref(grad);
    } else {
        struct eng_tensor *copy = clone_in_layout(e, grad, variable);

        eng_unref(grad);
        variable->grad = copy;
    }
    if (variable->grad)
        hold_grad(e, variable);
}

/*
 * The leaf's hooks run after .grad has its new value. If DistributedDataParallel's reducer waits for the leaf, too,
 * PyTorch keeps the incoming gradient until the reducer has been called.
 */
void eng_leaf_reached(struct eng *e, struct eng_tensor *variable, struct eng_tensor **taken)
{
    struct eng_tensor *grad = *taken;
    const struct eng_hooks *hooks = grad ? variable->hooks : NULL;
    struct eng_storage *held = hooks && e->ready ? eng_storage_ref(grad->storage) : NULL;

    *taken = NULL;
    accumulate(e, variable, grad);
    if (hooks && !e->failed && !hooks->run(hooks->user, variable))
        VS_ASSERT(e->failed);
    if (held && !variable->grad)
        eng_fail(e, VS_E_UNSUPPORTED,
                 "a hook released a gradient that DistributedDataParallel makes again after "
                 "backward, which is not supported here: keep it, or train without shard");
    if (e->ready)
        eng_ready_note(e, variable);
    if (held)
        eng_storage_unref(held);
}

/* ---- setting attributes of a leaf ---- */

void eng_set_requires_grad(struct eng *e, struct eng_tensor *t, bool on)
{
    if (!t)
        return;
    if (t->grad_fn) {
        if (!on)
            eng_fail(e, VS_E_AUTOGRAD,
                     "requires_grad can only be changed on leaf tensors: use .detach() to get a "
                     "tensor without history");
        return;
    }
    if (on && !vs_dtype_is_floating((enum vs_dtype)t->dtype)) {
        eng_fail(e, VS_E_AUTOGRAD,
                 "only tensors of floating point dtype can require gradients, this one is %s",
                 vs_dtype_name((enum vs_dtype)t->dtype));
        return;
    }
    t->requires_grad = on;
}

void eng_set_grad_dtype(struct eng_tensor *leaf, int dtype)
{
    VS_ASSERT(!leaf->grad_fn && dtype >= ENG_GRAD_DTYPE_ANY && dtype < VS_DTYPE_COUNT);
    leaf->grad_dtype = dtype == ENG_GRAD_DTYPE_ANY ? UINT8_MAX : (uint8_t)(dtype + 1);
}

enum vs_dtype eng_grad_dtype(const struct eng_tensor *leaf, const struct eng_tensor *grad)
{
    if (!leaf->grad_dtype)
        return (enum vs_dtype)leaf->dtype;
    return leaf->grad_dtype == UINT8_MAX ? (enum vs_dtype)grad->dtype
                                         : (enum vs_dtype)(leaf->grad_dtype - 1);
}

void eng_detach_(struct eng *e, struct eng_tensor *t)
{
    if (!t)
        return;
    if (t->base) {
        eng_fail(e, VS_E_AUTOGRAD,
                 "cannot detach a view in place: use .detach() instead of .detach_()");
        return;
    }
    eng_node_unref(t->grad_fn);
    t->grad_fn = NULL;
    t->output_nr = 0;
    t->requires_grad = false;
}

void eng_set_hooks(struct eng_tensor *leaf, const struct eng_hooks *hooks)
{
    VS_ASSERT(!leaf->grad_fn && !leaf->hooks);
    leaf->hooks = vs_alloc(sizeof(*leaf->hooks));
    *leaf->hooks = *hooks;
}

void *eng_hooks_user(const struct eng_tensor *leaf)
{
    return leaf->hooks ? leaf->hooks->user : NULL;
}

void eng_set_grad(struct eng *e, struct eng_tensor *t, struct eng_tensor *grad)
{
    struct eng_tensor *old = t->grad;

    t->grad = grad;
    if (old && e->observer && old->storage->block) {
        struct vs_event ev = {0};

        ev.kind = VS_EV_DROP;
        ev.hold.block = old->storage->block_id;
        ev.hold.tensor = eng_tensor_id(e, old);
        ev.hold.name = t->name;
        ev.hold.holder = VS_HOLD_GRAD;
        eng_emit(e, &ev);
    }
    if (grad)
        hold_grad(e, t);
    eng_unref(old);
}
