/*
 * engine/autograd/copy_slices.c - the history of an in-place op on a view: the part of the base's gradient that belongs
 * to the view goes through the op.
 *
 * Must not know:  which op it was.
 * Invariant:      after the op both base and view have a history that includes it.
 */
#include <string.h>

#include "base/mem.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/core/engine_internal.h"
#include "engine/core/op_internal.h"

/* The op's own node, and the geometry of view and base in the storage. */
struct eng_copy_slices {
    struct eng_node *fn; /* counted */
    int base_ndim, view_ndim;
    int64_t base_sizes[VS_MAX_DIMS], base_strides[VS_MAX_DIMS];
    int64_t view_sizes[VS_MAX_DIMS], view_strides[VS_MAX_DIMS];
    uint64_t view_offset; /* from the base's first element */
};

void eng_copy_slices_free(struct eng_copy_slices *slices)
{
    if (!slices)
        return;
    eng_node_unref(slices->fn);
    vs_free(slices);
}

void eng_copy_slices_release(struct eng_copy_slices *slices)
{
    struct eng_node *fn = slices->fn;

    slices->fn = NULL;
    eng_node_unref(fn);
}

/* Gives the view a history as a view of the changed base. */
static void view_rebase(struct eng *e, struct eng_tensor *view)
{
    struct eng_node *n =
        eng_node_new(e, ENG_NODE_OP, "AsStridedBackward0",
                     (struct eng_node_counts){.edges = 1, .args = 4, .ints = 2 * VS_MAX_DIMS});
    struct eng_tensor *base = view->base;
    int64_t *sizes = n->ints;
    int64_t *strides = n->ints + VS_MAX_DIMS;

    memcpy(sizes, view->sizes, sizeof(view->sizes));
    memcpy(strides, view->strides, sizeof(view->strides));
    n->op = ENG_OP_as_strided;
    eng_edge_set(&n->edges[0], base);
    n->args[1] = eng_aints(sizes, view->ndim);
    n->args[2] = eng_aints(strides, view->ndim);
    n->args[3] = eng_ai((int64_t)(view->offset - base->offset));
    eng_set_history(view, n, 0);
    eng_node_unref(n);
}

void eng_inplace_history(struct eng_tensor *t, struct eng_node *n)
{
    struct eng *e = n->eng;
    struct eng_tensor *base = t->base;
    struct eng_copy_slices *slices;
    struct eng_node *copy;

    if (!base) {
        eng_set_history(t, n, 0);
        return;
    }
    copy = eng_node_new(e, ENG_NODE_COPY_SLICES, "CopySlices",
                        (struct eng_node_counts){.edges = n->edge_count});
    slices = vs_calloc(1, sizeof(*slices));
    slices->fn = eng_node_ref(n);
    slices->base_ndim = base->ndim;
    slices->view_ndim = t->ndim;
    memcpy(slices->base_sizes, base->sizes, sizeof(base->sizes));
    memcpy(slices->base_strides, base->strides, sizeof(base->strides));
    memcpy(slices->view_sizes, t->sizes, sizeof(t->sizes));
    memcpy(slices->view_strides, t->strides, sizeof(t->strides));
    slices->view_offset = t->offset - base->offset;
    copy->slices = slices;
    eng_edge_set(&copy->edges[0], base);
    for (int i = 1; i < n->edge_count; i++) {
        copy->edges[i] = n->edges[i];
        eng_node_ref(n->edges[i].node);
    }
    eng_set_history(base, copy, 0);
    eng_node_unref(copy);
    view_rebase(e, t);
}

/* The gradient of the slice through the op's own node, which may be a custom function's. */
static void run_slice(struct eng *e, struct eng_node *fn, struct eng_tensor **grad,
                      struct eng_tensor **out)
{
    if (fn->kind != ENG_NODE_CUSTOM)
        eng_run_op_backward(e, fn, grad, out);
    else if (!fn->custom.backward(fn->custom.user, fn, grad, 1, out, fn->edge_count))
        VS_ASSERT(e->failed);
}

void eng_copy_slices_run(struct eng *e, struct eng_node *n, struct eng_tensor *grad,
                         struct eng_tensor **out)
{
    struct eng_copy_slices *s = n->slices;
    struct eng_tensor *result;
    struct eng_tensor *slice;
    struct eng_tensor *copy;
    struct eng_tensor **inner;

    if (!s->fn) {
        eng_fail_second_backward(n);
        return;
    }
    result = eng_empty_strided(e, s->base_sizes, s->base_strides, s->base_ndim,
                               (enum vs_dtype)grad->dtype, grad->storage->on_host);
    if (!result)
        return;
    eng_copy_into(e, result, grad);
    slice = eng_as_strided(result, s->view_sizes, s->view_strides, s->view_ndim, s->view_offset);
    copy = eng_clone(e, slice);
    inner = vs_calloc(n->edge_count, sizeof(*inner));
    if (!e->failed)
        run_slice(e, s->fn, &copy, inner);
    eng_unref(copy);
    for (int i = 1; i < n->edge_count; i++) {
        if (eng_edge_is_wanted(&n->edges[i])) {
            out[i] = inner[i];
            inner[i] = NULL;
        }
    }
    if (eng_edge_is_wanted(&n->edges[0])) {
        if (inner[0])
            eng_copy_into(e, slice, inner[0]);
        else if (slice)
            eng_fill_zero(e, slice);
        out[0] = eng_ref(result);
    }
    for (int i = 0; i < n->edge_count; i++)
        eng_unref(inner[i]);
    vs_free(inner);
    eng_unref(slice);
    eng_unref(result);
}
