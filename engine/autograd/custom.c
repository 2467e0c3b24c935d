/*
 * engine/autograd/custom.c - nodes whose formulas are code of the net: torch.autograd.Function.
 *
 * Must not know:  how that code is run.
 * Invariant:      the node exists before anything is saved in it; outputs get it as history only if an input requires
 *                 grad.
 */
#include "base/mem.h"
#include "engine/autograd/autograd.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/core/engine_internal.h"
#include "engine/core/op_internal.h"

/* Output i is an input that the function has overwritten: it gets the node as its history, as by an in-place op. */
static void output_overwritten(struct eng *e, struct eng_node *n, struct eng_tensor *t, int i,
                               int output_count)
{
    if (!eng_inplace_allowed(e, n->name, "give it a clone", t))
        return;
    if (t->base && output_count > 1) {
        eng_fail(e, VS_E_AUTOGRAD,
                 "%s: the function overwrites an input that is a view of another tensor, so it "
                 "cannot return more than one tensor: give it a clone, or split it into two "
                 "functions",
                 n->name);
        return;
    }
    if (t->base)
        eng_inplace_history(t, n);
    else
        eng_set_history(t, n, i);
}

struct eng_node *eng_custom_node(struct eng *e, const struct eng_custom *custom,
                                 struct eng_tensor *const *inputs, int input_count,
                                 struct eng_tensor **outputs, int output_count)
{
    struct eng_node *n;
    bool wanted = false;

    for (int i = 0; i < input_count; i++)
        wanted = wanted || eng_requires_grad(inputs[i]);
    if (!wanted || !e->grad_enabled || e->failed)
        return NULL;
    n = eng_node_new(e, ENG_NODE_CUSTOM, custom->name,
                     (struct eng_node_counts){.edges = input_count});
    n->custom = *custom;
    n->output_count = (uint16_t)output_count;
    for (int i = 0; i < input_count; i++)
        eng_edge_set(&n->edges[i], inputs[i]);
    for (int i = 0; i < output_count; i++) {
        struct eng_tensor *t = outputs[i];

        if (!t || !vs_dtype_is_floating((enum vs_dtype)t->dtype))
            continue;
        if (custom->is_dirty && custom->is_dirty[i]) {
            output_overwritten(e, n, t, i, output_count);
            continue;
        }
        for (int k = 0; k < input_count; k++) {
            if (t ==
                inputs[k]) { /* an input given back is a result of its own, over the same memory */
                eng_slot_set(&outputs[i], eng_alias(t));
                if (outputs[i])
                    outputs[i]->view_kind = ENG_VIEW_CUSTOM;
                break;
            }
        }
        eng_set_history(outputs[i], n, i);
    }
    n->custom.is_dirty = NULL; /* borrowed for this call */
    /* no output keeps it: all of them are integers, or marked as not differentiable */
    if (n->refs == 1) {
        n->custom.free_user = NULL;
        eng_node_unref(n);
        return NULL;
    }
    eng_node_unref(n);
    return n;
}

void eng_node_save(struct eng *e, struct eng_node *node, struct eng_tensor *const *tensors,
                   int count)
{
    if (e->failed || !count)
        return;
    eng_node_saves_make(node, count);
    for (int i = 0; i < count; i++) {
        if (tensors[i])
            eng_node_save_at(node, i, tensors[i], tensors[i]->grad_fn == node);
    }
}

int eng_node_saved_count(const struct eng_node *node)
{
    return node->saved_count;
}

struct eng_tensor *eng_node_saved(struct eng *e, struct eng_node *node, int i)
{
    struct eng_tensor *t;
    int depth = e->backward_depth;

    e->backward_depth = 0;
    t = eng_node_unpack(node, i);
    e->backward_depth = depth;
    return t;
}
