/*
 * engine/autograd/node.c - autograd's nodes: edges, saved tensors, and freeing a graph.
 *
 * Must not know:  what nodes compute.
 * Invariant:      a graph of any depth is freed without recursion: a node first releases its saved tensors, then its
 *                 edges, the last edge's node next, as PyTorch does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/core/engine_internal.h"

/* Size of the one block that holds a node and its arrays, those with the largest alignment first. */
static size_t node_bytes(const struct eng_node_counts *c)
{
    return sizeof(struct eng_node) + (size_t)c->edges * sizeof(struct eng_edge) +
           (size_t)c->saves * sizeof(struct eng_saved) + (size_t)c->args * sizeof(struct eng_arg) +
           (size_t)c->ints * sizeof(int64_t) + (size_t)c->args;
}

struct eng_node *eng_node_new(struct eng *e, enum eng_node_kind kind, const char *name,
                              struct eng_node_counts counts)
{
    size_t bytes = node_bytes(&counts);
    struct eng_node *n = vs_pool_get_zeroed(&e->pool, bytes);

    VS_ASSERT(counts.edges < 65536);
    n->refs = 1;
    n->kind = kind;
    n->eng = e;
    n->name = name;
    n->seq = kind == ENG_NODE_ACCUMULATE ? UINT64_MAX : e->next_seq++;
    n->id = ++e->next_node_id;
    n->edge_count = (uint16_t)counts.edges;
    n->saved_count = (uint16_t)counts.saves;
    n->arg_count = (uint16_t)counts.args;
    n->output_count = 1;
    n->module = e->module;
    n->func = e->func;
    n->line = e->line;
    n->writer = e->writer;
    n->stream = (uint16_t)e->stream;
    n->bytes = (uint32_t)bytes;
    n->edges = (struct eng_edge *)(n + 1);
    n->saved = (struct eng_saved *)(n->edges + counts.edges);
    n->args = (struct eng_arg *)(n->saved + counts.saves);
    n->ints = (int64_t *)(n->args + counts.args);
    n->arg_edge = (uint8_t *)(n->ints + counts.ints);
    return n;
}

void eng_node_saves_make(struct eng_node *n, int count)
{
    VS_ASSERT(n->kind == ENG_NODE_CUSTOM && !n->saved_count);
    n->saved = vs_calloc((size_t)count, sizeof(*n->saved));
    n->saved_count = (uint16_t)count;
    n->has_own_saves = true;
}

struct eng_node *eng_node_ref(struct eng_node *n)
{
    if (n)
        n->refs++;
    return n;
}

static void saved_release(struct eng_node *n, struct eng_saved *s)
{
    if (s->tensor) {
        struct eng_tensor *t = s->tensor;

        s->tensor = NULL;
        eng_saved_drop(n->eng, t, n->id, n->is_checkpoint);
        eng_unref(t);
    }
    if (s->checkpoint) {
        struct eng_checkpoint *c = s->checkpoint;

        s->checkpoint = NULL;
        eng_checkpoint_forget(c, s->index);
        eng_checkpoint_unref(c);
    }
    if (s->grad_fn) {
        struct eng_node *fn = s->grad_fn;

        s->grad_fn = NULL;
        eng_node_unref(fn);
    }
}

void eng_node_release_saved(struct eng_node *n)
{
    n->released = true;
    for (int i = 0; i < n->saved_count; i++)
        saved_release(n, &n->saved[i]);
    if (n->slices)
        eng_copy_slices_release(n->slices);
    /* plain attributes of ctx exist until the node is freed, as in PyTorch: custom.free_user releases them */
}

static void node_delete(struct eng_node *n)
{
    if (n->kind == ENG_NODE_CUSTOM && n->custom.free_user)
        n->custom.free_user(n->custom.user);
    if (n->variable) {
        if (n->variable->accumulator == n)
            n->variable->accumulator = NULL;
        eng_unref(n->variable);
    }
    eng_copy_slices_free(n->slices);
    eng_node_hooks_free(n->hooks);
    if (n->has_own_saves)
        vs_free(n->saved);
    vs_pool_put(&n->eng->pool, n, n->bytes);
}

/* A stack of nodes to be freed, instead of recursion. */
struct node_stack {
    struct eng_node **items;
    size_t count, cap;
};

/*
 * The first node of a graph that is freed releases its saved tensors as a C++ object destroys its members: last first.
 */
static void release_saved_backwards(struct eng_node *n)
{
    for (int i = n->saved_count - 1; i >= 0; i--)
        saved_release(n, &n->saved[i]);
}

/* Releases what a node holds before it is freed; nodes that have no other reference are pushed on the stack. */
static void node_gather(struct eng_node *n, struct node_stack *stack)
{
    eng_node_release_saved(n);
    for (int i = 0; i < n->edge_count; i++) {
        struct eng_node *next = n->edges[i].node;

        if (!next)
            continue;
        n->edges[i].node = NULL;
        if (next->refs > 1) {
            next->refs--;
            continue;
        }
        stack->items = vs_grow(stack->items, stack->count, &stack->cap, sizeof(*stack->items));
        stack->items[stack->count++] = next;
    }
}

void eng_node_unref(struct eng_node *n)
{
    struct node_stack stack = {0};

    if (!n || --n->refs)
        return;
    release_saved_backwards(n);
    node_gather(n, &stack);
    node_delete(n);
    while (stack.count) {
        n = stack.items[--stack.count];
        node_gather(n, &stack);
        node_delete(n);
    }
    vs_free(stack.items);
}

struct eng_node *eng_gradient_node(struct eng_tensor *t)
{
    if (!t)
        return NULL;
    if (t->grad_fn)
        return eng_node_ref(t->grad_fn);
    if (!t->requires_grad)
        return NULL;
    if (t->accumulator)
        return eng_node_ref(t->accumulator);
    t->accumulator = eng_node_new(t->storage->eng, ENG_NODE_ACCUMULATE, "AccumulateGrad",
                                  (struct eng_node_counts){0});
    t->accumulator->variable = eng_ref(t);
    return t->accumulator;
}

void eng_edge_set(struct eng_edge *edge, struct eng_tensor *t)
{
    if (!t)
        return;
    edge->node = eng_gradient_node(t);
    edge->input_nr = t->grad_fn ? t->output_nr : 0;
    edge->dtype = t->dtype;
    edge->ndim = t->ndim;
    edge->on_host = t->storage->on_host;
    edge->is_defined = true;
    memcpy(edge->sizes, t->sizes, sizeof(edge->sizes));
    memcpy(edge->strides, t->strides, sizeof(edge->strides));
}

/* Of a tensor that is not saved itself, what the net's code can read: its history. */
static void history_keep(const struct eng_node *n, struct eng_saved *s, const struct eng_tensor *t)
{
    if (n->kind != ENG_NODE_CUSTOM || s->is_output)
        return;
    s->grad_fn = eng_node_ref(t->grad_fn);
    s->output_nr = t->output_nr;
    s->requires_grad = t->requires_grad;
}

/* A tensor that stands for the saved one: of a custom function's it gets what that had. */
static struct eng_tensor *history_give(const struct eng_node *n, const struct eng_saved *s,
                                       struct eng_tensor *twin)
{
    if (twin && n->kind == ENG_NODE_CUSTOM) {
        twin->requires_grad = s->requires_grad;
        if (s->grad_fn)
            eng_set_history(twin, s->grad_fn, s->output_nr);
    }
    return twin;
}

static struct eng_tensor *copy_to_side(struct eng *e, struct eng_tensor *t, bool on_host)
{
    struct eng_arg args[] = {eng_at(t), eng_anone(), eng_ahost(on_host)};
    bool grad = eng_set_grad_enabled(e, false);
    struct eng_tensor *copy = eng_call1(e, ENG_OP_to_copy, args);

    eng_set_grad_enabled(e, grad);
    if (copy)
        e->counters.host_bytes += (uint64_t)eng_numel(t) * vs_dtype_bytes((enum vs_dtype)t->dtype);
    return copy;
}

/* A copy to pinned memory is contiguous; what is not is made so on the device, where the copy is freed afterwards. */
static struct eng_tensor *copy_to_host(struct eng *e, struct eng_tensor *t)
{
    struct eng_arg args[] = {eng_at(t)};
    struct eng_tensor *dense = NULL;
    struct eng_tensor *copy;
    bool grad;

    if (!e->offload_pinned || eng_is_contiguous(t))
        return copy_to_side(e, t, true);
    grad = eng_set_grad_enabled(e, false);
    dense = eng_call1(e, ENG_OP_clone_contiguous, args);
    eng_set_grad_enabled(e, grad);
    copy = dense ? copy_to_side(e, dense, true) : NULL;
    eng_unref(dense);
    return copy;
}

void eng_node_save_at(struct eng_node *n, int i, struct eng_tensor *t, bool is_output)
{
    struct eng *e = n->eng;
    struct eng_saved *s = &n->saved[i];

    if (!t || e->failed)
        return;
    s->version = t->version->value;
    s->is_output = is_output;
    if (e->checkpoint && !eng_checkpoint_is_rerun(e->checkpoint)) {
        s->checkpoint = eng_checkpoint_ref(e->checkpoint);
        s->index = eng_checkpoint_pack(e, e->checkpoint, t);
        history_keep(n, s, t);
        return;
    }
    if ((e->offload || e->offload_pinned) && !e->checkpoint && !t->storage->on_host) {
        s->tensor = copy_to_host(e, t);
        s->is_offloaded = true;
        history_keep(n, s, t);
        return;
    }
    if (e->checkpoint) /* recomputation: fills the placeholder of the first run; may stop the function here */
        eng_checkpoint_pack(e, e->checkpoint, t);
    if (e->failed)
        return;
    /* A saved result must not hold its own node: an alias without history is saved instead. */
    s->tensor = is_output && t->grad_fn ? eng_alias(t) : eng_ref(t);
    eng_saved_hold(e, s->tensor, n->id, n->is_checkpoint);
}

void eng_fail_second_backward(const struct eng_node *n)
{
    char location[ENG_LOCATION_TEXT_MAX];

    eng_fail(
        n->eng, VS_E_AUTOGRAD,
        "%s (%s): backward through the graph a second time: the saved tensors were freed by the "
        "first backward; give backward retain_graph=True if it must run twice",
        n->name, eng_location_text(n->line, n->func, location));
}

/*
 * Which op saved the tensor and which overwrote it last, with their lines. `why` has VS_ERROR_TEXT_MAX bytes. A
 * backward node of the net's own is named as such.
 */
static void overwritten_text(const struct eng_node *n, const struct eng_saved *s, char *why)
{
    const struct eng_version *version = s->tensor->version;
    const char *saver = n->kind == ENG_NODE_OP ? eng_op_get(n->op)->name : n->name;
    const char *writer = version->op ? version->op : "an operation";
    const char *mark = writer[strlen(writer) - 1] == '_' ? "" : "_";
    char shape[ENG_SHAPE_TEXT_MAX];
    char saved_at[ENG_LOCATION_TEXT_MAX];
    char written_at[ENG_LOCATION_TEXT_MAX];

    (void)snprintf(why, VS_ERROR_TEXT_MAX,
                   "a tensor %s that %s in %s saved for its gradient was overwritten by the "
                   "in-place operation %s%s in %s: it is at version %" PRIu32 ", version %" PRIu32
                   " was saved",
                   eng_shape_text(s->tensor, shape), saver,
                   eng_location_text(n->line, n->func, saved_at), writer, version->op ? mark : "",
                   eng_location_text(version->line, version->func, written_at), version->value,
                   s->version);
}

static struct eng_tensor *unpack(struct eng_node *n, int i)
{
    struct eng *e = n->eng;
    struct eng_saved *s = &n->saved[i];

    if (e->failed)
        return NULL;
    if (s->checkpoint)
        return history_give(n, s, eng_checkpoint_unpack(e, s->checkpoint, s->index));
    if (!s->tensor) {
        if (n->released)
            eng_fail_second_backward(n);
        return NULL;
    }
    if (s->is_offloaded) /* whether the tensor was overwritten since then does not matter */
        return history_give(n, s, copy_to_side(e, s->tensor, false));
    if (s->tensor->version->value != s->version) {
        char why[VS_ERROR_TEXT_MAX];

        overwritten_text(n, s, why);
        if (!eng_blame_saved(n, s, why)) {
            eng_fail(e, VS_E_INPLACE, "%s", why);
            return NULL;
        }
    }
    return eng_ref(s->tensor);
}

struct eng_tensor *eng_node_unpack(struct eng_node *n, int i)
{
    struct eng_tensor *t = unpack(n, i);

    eng_emit_use(n->eng, t);
    return t;
}

void eng_set_history(struct eng_tensor *t, struct eng_node *n, int output_nr)
{
    if (!t)
        return;
    eng_node_ref(n);
    eng_node_unref(t->grad_fn);
    t->grad_fn = n;
    t->output_nr = (uint16_t)output_nr;
}

/* The tensors whose cycles are broken: held until all of them are known. */
struct living {
    struct eng_tensor **items;
    size_t count, cap;
};

static void living_add(void *user, void *block)
{
    struct living *all = user;
    struct eng_tensor *t = block;

    if (!t->refs) /* a free slot of the pool */
        return;
    all->items = vs_grow(all->items, all->count, &all->cap, sizeof(struct eng_tensor *));
    all->items[all->count++] = eng_ref(t);
}

/*
 * Nodes refer to what existed before them. A reference cycle is only closed by a tensor's history, which is set later,
 * or by its gradient.
 */
void eng_cycles_break(struct eng *e)
{
    struct living all = {0};

    if (!e->live_storages)
        return;
    vs_pool_each(&e->tensors, sizeof(struct eng_tensor), living_add, &all);
    for (size_t i = 0; i < all.count; i++) {
        struct eng_node *grad_fn = all.items[i]->grad_fn;

        all.items[i]->grad_fn = NULL;
        eng_node_unref(grad_fn);
        eng_slot_set(&all.items[i]->grad, NULL);
    }
    for (size_t i = 0; i < all.count; i++)
        eng_unref(all.items[i]);
    vs_free(all.items);
}

const char *eng_node_name(const struct eng_node *node)
{
    return node->name;
}
