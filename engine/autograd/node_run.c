/*
 * engine/autograd/node_run.c - computes one node of the graph: its formulas, and PyTorch's checks of their results.
 *
 * Must not know:  which ops exist; which node runs when: backward.c.
 * Invariant:      a result that is returned has the sizes and the dtype of the input it is a gradient of.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/autograd/autograd_internal.h"
#include "engine/core/engine_internal.h"
#include "engine/core/op_internal.h"

static bool any_defined(struct eng_tensor *const *g, int count)
{
    for (int i = 0; i < count; i++) {
        if (g[i])
            return true;
    }
    return false;
}

/* Whether a gradient of t's shape can be summed to the shape of edge i. */
static bool shape_legal(const struct eng_node *n, int i, const struct eng_tensor *t)
{
    const struct eng_edge *edge = &n->edges[i];
    struct eng_tensor wanted = {.ndim = edge->ndim};
    int lead = t->ndim - edge->ndim;
    bool legal = lead >= 0;
    char is[ENG_SHAPE_TEXT_MAX], want[ENG_SHAPE_TEXT_MAX];
    char location[ENG_LOCATION_TEXT_MAX];

    for (int d = 0; legal && d < edge->ndim; d++)
        legal = edge->sizes[d] == t->sizes[d + lead] || edge->sizes[d] == 1;
    if (legal)
        return true;
    memcpy(wanted.sizes, edge->sizes, sizeof(wanted.sizes));
    eng_fail(
        n->eng, VS_E_AUTOGRAD,
        "%s (%s) returned an invalid gradient at index %d: got %s, expected a shape compatible "
        "with %s",
        n->name, eng_location_text(n->line, n->func, location), i, eng_shape_text(t, is),
        eng_shape_text(&wanted, want));
    return false;
}

/* The dtype that a gradient gets on its way along the edge: that of the tensor, or what its leaf asks for. */
static enum vs_dtype dtype_along(const struct eng_edge *edge, const struct eng_tensor *grad)
{
    const struct eng_tensor *leaf = edge->node ? edge->node->variable : NULL;

    if (!leaf || !leaf->grad_dtype)
        return (enum vs_dtype)edge->dtype;
    return eng_grad_dtype(leaf, grad);
}

/* PyTorch's validation of each result: broadcast gradients are summed, dtypes converted. */
static void validate(struct eng *e, const struct eng_node *n, struct eng_tensor **out)
{
    for (int i = 0; i < n->edge_count && !e->failed; i++) {
        const struct eng_edge *edge = &n->edges[i];

        if (!out[i] || !eng_edge_is_wanted(edge))
            continue;
        if (edge->node->variable && edge->node->variable->has_whole_grad)
            continue;
        if (!shape_legal(n, i, out[i]))
            return;
        if (out[i]->ndim != edge->ndim ||
            memcmp(out[i]->sizes, edge->sizes, sizeof(*edge->sizes) * edge->ndim) != 0)
            eng_slot_set(&out[i], eng_sum_to(e, out[i], edge->sizes, edge->ndim));
        if (out[i] && out[i]->dtype != dtype_along(edge, out[i]))
            eng_slot_set(&out[i], eng_to_dtype(e, out[i], dtype_along(edge, out[i])));
        /* the gradient of a number on the host; others were refused in forward */
        if (out[i] && out[i]->ndim == 0 && out[i]->storage->on_host != edge->on_host)
            eng_slot_set(&out[i], eng_to_side(e, out[i], edge->on_host));
    }
}

/* Releases gradients that a formula computed together with others although they are not needed. */
static void drop_unwanted(const struct eng_node *n, struct eng_tensor **out)
{
    for (int i = 0; i < n->edge_count; i++) {
        if (out[i] && !eng_edge_is_wanted(&n->edges[i]))
            eng_slot_set(&out[i], NULL);
    }
}

/* Collectives whose results a formula uses have ended when it runs. Some only pass them on: eng_set_pending. */
static void wait_for_gradients(const struct eng_node *n, struct eng_tensor **g)
{
    if (eng_op_get(n->op)->kind == ENG_VIEW || n->op == ENG_OP_add || n->op == ENG_OP_sub)
        return;
    for (int i = 0; i < n->output_count; i++)
        eng_wait(g[i]);
}

void eng_run_op_backward(struct eng *e, struct eng_node *n, struct eng_tensor **g,
                         struct eng_tensor **out)
{
    struct eng_bw b = {.e = e, .node = n, .g = g, .a = n->args, .out = out};
    int depth = e->backward_depth;

    e->backward_depth =
        0; /* unpacking may run a checkpointed function again, which is forward work */
    for (int i = 0; i < n->saved_count; i++) {
        struct eng_tensor *t = eng_node_unpack(n, i);

        if (i < ENG_MAX_SAVES)
            b.saved[i] = t;
        else /* the rest of a list, whose tensors no formula reads */
            eng_unref(t);
    }
    e->backward_depth = depth;
    wait_for_gradients(n, g);
    if (!e->failed)
        eng_op_get(n->op)->backward(&b);
    /* what a checkpoint computed again is released after them, as the variables of PyTorch's formulas are */
    if (n->kind == ENG_NODE_OP)
        drop_unwanted(n, out);
    for (int i = ENG_MAX_SAVES - 1; i >= 0; i--)
        eng_unref(b.saved[i]);
}

/* Runs a node's formulas; `g` is still owned by the caller. */
static void run_node(struct eng *e, struct eng_node *n, struct eng_tensor **g,
                     struct eng_tensor **out)
{
    switch (n->kind) {
    case ENG_NODE_OP:
        if (any_defined(g, n->output_count))
            eng_run_op_backward(e, n, g, out);
        break;
    case ENG_NODE_CUSTOM:
        if (!n->custom.backward(n->custom.user, n, g, n->output_count, out, n->edge_count))
            VS_ASSERT(e->failed);
        break;
    case ENG_NODE_COPY_SLICES:
        if (any_defined(g, n->output_count))
            eng_copy_slices_run(e, n, g[0], out);
        break;
    case ENG_NODE_ACCUMULATE:
        break;
    }
}

void eng_node_run(struct eng *e, struct eng_node *n, struct eng_tensor **g, struct eng_tensor **out)
{
    if (!g)
        return;
    if (n->kind == ENG_NODE_ACCUMULATE) {
        eng_leaf_reached(e, n->variable, &g[0]);
        return;
    }
    run_node(e, n, g, out);
    if (n->kind == ENG_NODE_CUSTOM) { /* the net's code has taken ownership of the gradients */
        for (int i = 0; i < n->output_count; i++)
            eng_slot_set(&g[i], NULL);
    }
    validate(e, n, out);
}

void eng_node_check_nan(struct eng *e, const struct eng_node *n, struct eng_tensor *const *out)
{
    bool grad = eng_set_grad_enabled(e, false);

    for (int i = 0; i < n->edge_count && !e->failed; i++) {
        struct eng_tensor *mask = out[i] ? eng_op1(e, ENG_OP_isnan, out[i]) : NULL;
        struct eng_tensor *any = mask ? eng_op1(e, ENG_OP_any_all, mask) : NULL;
        struct eng_scalar answer;

        if (any && eng_has_data(e) && eng_item(e, any, &answer) && answer.i)
            eng_fail(e, VS_E_RAISED, "Function '%s' returned nan values in its %dth output.",
                     n->name, i);
        eng_unref(any);
        eng_unref(mask);
    }
    eng_set_grad_enabled(e, grad);
}
