/*
 * engine/autograd/backward.c - the backward run: the order of nodes, how gradients are summed, what is freed when.
 *
 * Must not know:  which ops exist.
 * Invariant:      for each node: incoming gradients are kept until its formulas have run and their results were
 *                 checked; then they are released, then its saved tensors (in anomaly mode the results are checked
 *                 after that); then the results are passed to the next nodes, where they are summed with those that
 *                 arrived before.
 *
 * Ready nodes run by descending creation number; accumulators before all others. Nodes with equal numbers are in the
 * order of the C++ library's binary heap, because PyTorch's queue is one (std::push_heap, std::pop_heap).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/core/engine_internal.h"
#include "engine/core/flops.h"
#include "engine/core/op_internal.h"

/* Nodes between two polls of the stop function: some tens of microseconds on meta. */
#define POLL_INTERVAL 64

/* The state of a node in one backward run. */
struct task_node {
    struct eng_node *node; /* counted */
    /* previous node->task and node->task_slot, because recomputation can run a backward inside a backward */
    struct eng_task *outer_task;
    uint32_t outer_slot;
    uint32_t waits_for; /* number of gradients still to arrive */
    bool has_buffer;
    struct eng_tensor **buffer; /* node->output_count gradients */
    bool is_captured;           /* eng_grad: a gradient that arrives here is a result */
    bool runs;                  /* false in eng_grad if no path leads from here to an input */
};

/* eng_grad: the gradient that arrives at result nr of node is stored in *slot. */
struct capture {
    struct eng_node *node; /* held by the task's list of nodes */
    uint16_t nr;
    struct eng_tensor **slot;
};

struct eng_task {
    struct eng *e;
    struct task_node *nodes;
    size_t count, cap;
    uint32_t *heap;
    size_t heap_count, heap_cap;
    bool retain_graph;
    struct capture *captures; /* eng_grad: nothing is accumulated; NULL for eng_backward */
    int capture_count;
};

/* ---- the nodes of a run ---- */

static uint32_t task_slot(struct eng_task *task, struct eng_node *n)
{
    struct task_node *tn;

    if (n->task == task)
        return n->task_slot;
    task->nodes = vs_grow(task->nodes, task->count, &task->cap, sizeof(*task->nodes));
    tn = &task->nodes[task->count];
    memset(tn, 0, sizeof(*tn));
    tn->node = eng_node_ref(n);
    tn->outer_task = n->task;
    tn->outer_slot = n->task_slot;
    tn->runs = true;
    n->task = task;
    n->task_slot = (uint32_t)task->count;
    return (uint32_t)task->count++;
}

/* Counts how many gradients each reachable node will get. The order of the traversal does not matter. */
static void count_dependencies(struct eng_task *task)
{
    for (size_t i = 0; i < task->count; i++) {
        struct eng_node *n = task->nodes[i].node;

        for (int k = 0; k < n->edge_count; k++) {
            if (n->edges[k].node) {
                uint32_t slot = task_slot(task, n->edges[k].node);

                task->nodes[slot].waits_for++;
            }
        }
    }
}

static int by_age(const void *a, const void *b)
{
    const struct eng_node *x = ((const struct task_node *)a)->node,
                          *y = ((const struct task_node *)b)->node;
    /* accumulators have no edges, so they come first */
    uint64_t age_x = x->kind == ENG_NODE_ACCUMULATE ? 0 : x->seq + 1,
             age_y = y->kind == ENG_NODE_ACCUMULATE ? 0 : y->seq + 1;

    return age_x < age_y ? -1 : age_x > age_y;
}

/*
 * eng_grad runs only nodes that lead to an input. An edge leads to an older node, so one pass from old to young finds
 * them: those with an edge to a node that is captured or runs itself. The others receive no gradients.
 */
static void prune(struct eng_task *task)
{
    qsort(task->nodes, task->count, sizeof(*task->nodes), by_age);
    for (size_t i = 0; i < task->count; i++) {
        struct task_node *tn = &task->nodes[i];

        tn->node->task_slot = (uint32_t)i;
        tn->runs = false;
        for (int k = 0; k < tn->node->edge_count; k++)
            tn->runs = tn->runs || eng_edge_is_wanted(&tn->node->edges[k]);
        tn->node->is_pruned = !tn->runs && !tn->is_captured;
    }
}

static void give_captured(const struct eng_task *task, const struct eng_node *n,
                          struct eng_tensor **g)
{
    for (int i = 0; i < task->capture_count; i++) {
        if (task->captures[i].node == n)
            eng_slot_set(task->captures[i].slot, eng_ref(g[task->captures[i].nr]));
    }
}

/* An array for a node's incoming gradients, from the pool, because thousands are needed. */
static struct eng_tensor **gradients_make(const struct eng_node *n)
{
    return vs_pool_get_zeroed(&n->eng->pool, n->output_count * sizeof(struct eng_tensor *));
}

static void gradients_release(const struct eng_node *n, struct eng_tensor **g)
{
    for (int i = 0; g && i < n->output_count; i++)
        eng_unref(g[i]);
    vs_pool_put(&n->eng->pool, g, n->output_count * sizeof(struct eng_tensor *));
}

static void task_release(struct eng_task *task)
{
    for (size_t i = 0; i < task->count; i++) {
        struct task_node *tn = &task->nodes[i];

        gradients_release(tn->node, tn->buffer);
        tn->node->task = tn->outer_task;
        tn->node->task_slot = tn->outer_slot;
        tn->node->is_pruned = false;
    }
    for (size_t i = 0; i < task->count; i++)
        eng_node_unref(task->nodes[i].node);
    vs_free(task->nodes);
    vs_free(task->heap);
    vs_free(task->captures);
}

/* ---- the ready queue ---- */

static bool runs_later(const struct eng_task *task, uint32_t a, uint32_t b)
{
    return task->nodes[a].node->seq < task->nodes[b].node->seq;
}

static void heap_sift_up(struct eng_task *task, size_t hole, size_t top, uint32_t value)
{
    while (hole > top && runs_later(task, task->heap[(hole - 1) / 2], value)) {
        task->heap[hole] = task->heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    task->heap[hole] = value;
}

static void heap_push(struct eng_task *task, uint32_t value)
{
    task->heap = vs_grow(task->heap, task->heap_count, &task->heap_cap, sizeof(*task->heap));
    heap_sift_up(task, task->heap_count++, 0, value);
}

static uint32_t heap_pop(struct eng_task *task)
{
    uint32_t first = task->heap[0];
    size_t len = --task->heap_count;
    uint32_t value = task->heap[len];
    size_t hole = 0;
    size_t child = 0;

    if (!len)
        return first;
    while (child < (len - 1) / 2) {
        child = 2 * (child + 1);
        if (runs_later(task, task->heap[child], task->heap[child - 1]))
            child--;
        task->heap[hole] = task->heap[child];
        hole = child;
    }
    if (!(len & 1) && child == (len - 2) / 2) {
        child = 2 * (child + 1);
        task->heap[hole] = task->heap[child - 1];
        hole = child - 1;
    }
    heap_sift_up(task, hole, 0, value);
    return first;
}

/* ---- summing gradients ---- */

/*
 * Adds a gradient to a slot of a buffer. If the slot is empty it takes ownership of `*taken`; otherwise the sum belongs
 * to the slot, and `*taken` is still owned by the caller. As in PyTorch, the sum is computed in place only if the
 * buffered gradient has no other references, and is no DTensor (`apart`).
 */
static void buffer_add(struct eng *e, struct eng_tensor **slot, struct eng_tensor **taken,
                       bool apart)
{
    struct eng_tensor *old = *slot, *var = *taken;
    struct eng_tensor *sum;

    if (!var)
        return;
    if (!old) {
        *slot = var;
        *taken = NULL;
        return;
    }
    if (!apart && !e->grad_enabled && old->refs == 1 && old->storage->refs == 1 &&
        eng_is_non_overlapping_and_dense(old)) {
        sum = eng_add_(e, old, var);
        eng_unref(sum);
    } else {
        *slot = eng_add(e, old, var);
        eng_unref(old);
    }
}

/* ---- one node ---- */

static void emit_node(struct eng *e, enum vs_event_kind kind, const struct eng_node *n,
                      uint64_t flops)
{
    struct vs_event ev = {0};

    if (!e->observer)
        return;
    ev.kind = (uint8_t)kind;
    ev.op.name = eng_string_id(e, n->name);
    ev.op.node = n->id;
    ev.op.flops = flops;
    ev.op.role = VS_OP_BACKWARD;
    eng_emit(e, &ev);
}

/* The source location before a node runs; while it runs, the location is that of its forward. */
struct location_before {
    const char *op, *module, *func;
    uint32_t line;
};

static struct location_before location_enter(struct eng *e, const struct eng_node *n)
{
    struct location_before before = {eng_set_op(e, n->name), e->module, e->func, e->line};

    if (n->kind != ENG_NODE_ACCUMULATE) {
        eng_location_module(e, n->module);
        eng_location_func(e, n->func);
        eng_location_line(e, n->line);
    }
    return before;
}

static void location_leave(struct eng *e, const struct location_before *before)
{
    eng_set_op(e, before->op);
    eng_location_module(e, before->module);
    eng_location_func(e, before->func);
    eng_location_line(e, before->line);
}

/*
 * Passes results to the next nodes. One that was added to another gradient is released after all were passed, as in
 * PyTorch.
 */
static void deliver(struct eng_task *task, struct eng_node *n, struct eng_tensor **out)
{
    for (int i = 0; i < n->edge_count; i++) {
        struct eng_node *next = n->edges[i].node;
        struct task_node *tn;

        if (!eng_edge_is_wanted(&n->edges[i]))
            continue;
        tn = &task->nodes[task_slot(task, next)];
        if (!tn->buffer)
            tn->buffer = gradients_make(next);
        VS_ASSERT(n->edges[i].input_nr < next->output_count);
        if (next->stream != n->stream && out[i] && !out[i]->storage->on_host)
            eng_record_stream(out[i], next->stream);
        buffer_add(task->e, &tn->buffer[n->edges[i].input_nr], &out[i], next->is_dtensor);
        VS_ASSERT(tn->waits_for > 0);
        if (!--tn->waits_for)
            heap_push(task, n->edges[i].node->task_slot);
    }
}

static void evaluate(struct eng_task *task, uint32_t slot)
{
    struct eng *e = task->e;
    struct eng_node *n = task->nodes[slot].node;
    struct eng_tensor **g = task->nodes[slot].buffer;
    struct eng_tensor *few[8] = {0};
    struct eng_tensor **out = n->edge_count <= 8 ? few : vs_calloc(n->edge_count, sizeof(*out));
    const uint64_t flops = eng_flops_of_node(n, g);
    struct location_before before;
    uint32_t stream;

    task->nodes[slot].buffer = NULL;
    before = location_enter(e, n);
    emit_node(e, VS_EV_OP_BEGIN, n, flops);
    for (int i = 0; g && i < n->output_count; i++)
        eng_emit_use(e, g[i]);
    stream = eng_set_stream(e, n->stream);
    eng_node_hooks_run(e, n);
    eng_node_run(e, n, g, out);
    gradients_release(n, g);
    if (!task->retain_graph && !e->failed)
        eng_node_release_saved(n);
    eng_set_stream(e, stream);
    if (e->anomaly && g && n->kind != ENG_NODE_ACCUMULATE && !e->failed)
        eng_node_check_nan(e, n, out);
    if (!e->failed)
        e->counters.total_flops += flops;
    emit_node(e, VS_EV_OP_END, n, e->failed ? 0 : flops);
    if (!e->failed)
        deliver(task, n, out);
    for (int i = 0; i < n->edge_count; i++)
        eng_unref(out[i]);
    if (out != few)
        vs_free(out);
    location_leave(e, &before);
}

static void visit(struct eng_task *task, uint32_t slot)
{
    struct task_node *tn = &task->nodes[slot];

    if (tn->is_captured && tn->buffer)
        give_captured(task, tn->node, tn->buffer);
    if (tn->runs) {
        evaluate(task, slot);
    } else {
        gradients_release(tn->node, tn->buffer);
        tn->buffer = NULL;
    }
}

/* ---- entry ---- */

static bool roots_legal(struct eng *e, struct eng_tensor *const *tensors,
                        struct eng_tensor *const *grads, int count)
{
    for (int i = 0; i < count; i++) {
        if (!eng_requires_grad(tensors[i])) {
            eng_fail(e, VS_E_AUTOGRAD,
                     "backward: element %d of the tensors does not require grad and does not have "
                     "a grad_fn",
                     i);
            return false;
        }
        if ((!grads || !grads[i]) && eng_numel(tensors[i]) != 1) {
            char shape[ENG_SHAPE_TEXT_MAX];

            eng_fail(e, VS_E_AUTOGRAD,
                     "backward: grad can be implicitly created only for scalar outputs, this one "
                     "has shape %s",
                     eng_shape_text(tensors[i], shape));
            return false;
        }
    }
    return true;
}

/*
 * Runs nodes until none is ready. A backward inside another one does not poll the stop function: there VS_E_STOPPED
 * could also mean that a checkpoint's recomputation has all tensors that are needed.
 */
static void heap_run(struct eng_task *task, bool is_outermost)
{
    struct eng *e = task->e;
    bool polls = e->stop && is_outermost;

    for (size_t done = 1; task->heap_count && !e->failed; done++) {
        if (polls && done % POLL_INTERVAL == 0 && e->stop(e->stop_user))
            eng_fail(e, VS_E_STOPPED, "stopped");
        else
            visit(task, heap_pop(task));
    }
}

static void run(struct eng_task *task, struct eng_tensor *const *tensors,
                struct eng_tensor *const *grads, int count)
{
    struct eng *e = task->e;
    bool grad_mode = eng_set_grad_enabled(e, false);
    struct eng_checkpoint *collecting = e->checkpoint;
    int depth = e->backward_depth;

    uint64_t outer_task = e->task_id;

    e->checkpoint = NULL;
    e->task_id = ++e->next_task_id;
    e->counters.backwards++;
    e->backward_depth++;
    for (int i = 0; i < count; i++) {
        struct eng_node *n = eng_gradient_node(tensors[i]);

        task_slot(task, n);
        eng_node_unref(n);
    }
    count_dependencies(task);
    if (task->captures)
        prune(task);
    for (int i = 0; i < count; i++) {
        struct eng_node *n = tensors[i]->grad_fn ? tensors[i]->grad_fn : tensors[i]->accumulator;
        struct task_node *tn = &task->nodes[n->task_slot];
        unsigned nr = tensors[i]->grad_fn ? tensors[i]->output_nr : 0;
        struct eng_tensor *grad;

        if (!tn->buffer)
            tn->buffer = gradients_make(n);
        grad = eng_ref(grads[i]);
        buffer_add(e, &tn->buffer[nr], &grad, n->is_dtensor);
        eng_unref(grad);
    }
    /* A root that other roots lead to waits for their gradients. */
    for (size_t i = 0; i < task->count; i++) {
        if (!task->nodes[i].waits_for && task->nodes[i].buffer)
            heap_push(task, (uint32_t)i);
    }
    heap_run(task, outer_task == 0);
    if (e->after_backward && outer_task == 0)
        eng_after_backward_run(e);
    e->backward_depth = depth;
    e->task_id = outer_task;
    e->checkpoint = collecting;
    eng_set_grad_enabled(e, grad_mode);
    if (e->ready && outer_task == 0)
        eng_ready_backward_end(e);
}

static void captures_fill(struct eng_task *task, struct eng_tensor *const *inputs, int count,
                          struct eng_tensor **out)
{
    task->captures = vs_calloc((size_t)count + 1, sizeof(*task->captures));
    for (int i = 0; i < count; i++) {
        struct eng_node *n = eng_gradient_node(inputs[i]);
        uint32_t slot;

        if (!n)
            continue;
        slot = task_slot(task, n);
        task->nodes[slot].is_captured = true;
        task->captures[task->capture_count].node = n;
        task->captures[task->capture_count].nr = inputs[i]->grad_fn ? inputs[i]->output_nr : 0;
        task->captures[task->capture_count++].slot = &out[i];
        eng_node_unref(n);
    }
}

/* PyTorch converts a given gradient of another dtype before the first node runs. */
static struct eng_tensor *root_make(struct eng *e, struct eng_tensor *output,
                                    struct eng_tensor *grad)
{
    if (!grad)
        return eng_ones_like(e, output);
    return grad->dtype == output->dtype ? eng_ref(grad)
                                        : eng_to_dtype(e, grad, (enum vs_dtype)output->dtype);
}

void eng_grad(struct eng *e, struct eng_tensor *const *outputs, struct eng_tensor *const *grads,
              int count, struct eng_tensor *const *inputs, int input_count, bool retain_graph,
              struct eng_tensor **out)
{
    struct eng_task task = {.e = e, .retain_graph = retain_graph};
    struct eng_tensor **roots;

    for (int i = 0; i < input_count; i++)
        out[i] = NULL;
    if (e->failed || !roots_legal(e, outputs, grads, count))
        return;
    roots = vs_calloc((size_t)count, sizeof(*roots));
    for (int i = 0; i < count && !e->failed; i++)
        roots[i] = root_make(e, outputs[i], grads ? grads[i] : NULL);
    if (!e->failed) {
        if (inputs)
            captures_fill(&task, inputs, input_count, out);
        run(&task, outputs, roots, count);
    }
    task_release(&task);
    for (int i = count - 1; i >= 0; i--) /* a tuple releases its last item first */
        eng_unref(roots[i]);
    vs_free(roots);
}

void eng_backward(struct eng *e, struct eng_tensor *const *tensors, struct eng_tensor *const *grads,
                  int count, bool retain_graph)
{
    eng_grad(e, tensors, grads, count, NULL, 0, retain_graph, NULL);
}
