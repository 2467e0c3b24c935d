/*
 * engine/core/graph.h - the autograd graph as data: nodes, the edges between them, and the tensors they save.
 *
 * For:            engine/ only: tensors own their node, ops read its edges, autograd/ makes nodes and runs them.
 * Must not know:  the order in which nodes run.
 * Invariant:      a node is reference counted, and owns what it saved and the nodes its edges lead to.
 */
#ifndef ENG_GRAPH_H
#define ENG_GRAPH_H

#include "engine/core/op.h"
#include "engine/core/tensor.h"

struct eng_checkpoint;
struct eng_copy_slices;
struct eng_task;

/*
 * The node of a custom function (torch.autograd.Function). The callbacks run code of the net.
 *
 * backward   grads_in: one per output (NULL: undefined), which may be taken over and set to NULL; grads_out: one per
 *            input, to be filled with references (NULL: none). Returns false on failure (recorded in the context).
 * free_user  called once, when the node is freed
 * is_dirty   for each output, whether it is an input that the function has overwritten (ctx.mark_dirty); NULL: none.
 *            Only read by eng_custom_node
 */
struct eng_custom {
    const char *name; /* "SwishBackward"; copied */
    void *user;
    bool (*backward)(void *user, struct eng_node *node, struct eng_tensor **grads_in, int in_count,
                     struct eng_tensor **grads_out, int out_count);
    void (*free_user)(void *user);
    const bool *is_dirty;
};

/*
 * Hooks called after a backward has accumulated into a leaf's .grad (register_post_accumulate_grad_hook). The callbacks
 * run code of the net.
 *
 * run        called before the next node runs; may release .grad. Returns false on failure (recorded in the context)
 * free_user  called once, when the leaf is freed
 */
struct eng_hooks {
    void *user;
    bool (*run)(void *user, struct eng_tensor *leaf);
    void (*free_user)(void *user);
};

/*
 * A hook of a node, called when its gradients have arrived and before it runs (Tensor.register_hook on a result, whose
 * hook returns the gradient unchanged). `hook.run` gets NULL.
 */
struct eng_node_hook {
    struct eng_hooks hook;
    struct eng_node_hook *next;
};

/* A tensor saved by a node. */
struct eng_saved {
    struct eng_tensor *tensor;         /* counted; NULL when absent, released, or a placeholder */
    struct eng_checkpoint *checkpoint; /* counted; not NULL for a placeholder */
    uint32_t index;                    /* the placeholder's number in its checkpoint */
    /*
     * for a placeholder or a copy on the host, of an argument or of a custom function's tensor: what the tensor that
     * its user gets has; counted
     */
    struct eng_node *grad_fn;
    uint16_t output_nr;
    bool requires_grad;
    uint32_t version;
    bool is_output;
    bool is_offloaded; /* `tensor` is a copy on the host; its user gets one on the device */
};

/* An edge to the node that continues backward, with the shape of the gradient that flows along it. */
struct eng_edge {
    struct eng_node *node; /* counted; NULL: this gradient is not needed */
    uint16_t input_nr;
    uint8_t dtype;
    uint8_t ndim;
    bool on_host;
    bool is_defined; /* the argument had a tensor */
    int64_t sizes[VS_MAX_DIMS];
    int64_t strides[VS_MAX_DIMS];
};

enum eng_node_kind { ENG_NODE_OP, ENG_NODE_ACCUMULATE, ENG_NODE_CUSTOM, ENG_NODE_COPY_SLICES };

struct eng_node {
    uint32_t refs;
    enum eng_node_kind kind;
    uint64_t seq; /* UINT64_MAX for accumulators */
    uint64_t id;  /* in the trace */
    struct eng *eng;
    enum eng_op_id op;
    const char *name;      /* "MulBackward0" */
    uint16_t output_count; /* of the forward op: the number of incoming gradients */
    uint16_t edge_count;
    uint16_t saved_count;
    uint16_t arg_count;
    uint16_t stream; /* on which forward ran: backward runs there, too */
    bool released;
    bool is_inplace;
    bool has_own_saves; /* eng_node_saves_make */
    /* its results are parts of DTensors: gradients are never summed in place, memory is released before the history */
    bool is_dtensor;
    bool is_pruned; /* the running eng_grad needs nothing beyond this node */
    bool
        is_checkpoint; /* what it saves are inputs that a checkpoint keeps to run its function again */
    /* size of the node with the arrays that the next five point to, except saved tensors of a custom node */
    uint32_t bytes;
    struct eng_edge *edges;
    struct eng_saved *saved;
    struct eng_arg *args; /* the call's arguments; tensors are replaced by none; ints are copied */
    int64_t *ints;        /* the copies */
    uint8_t *arg_edge;    /* first edge of each argument */
    /* accumulators: the leaf; counted while others than the leaf refer to the accumulator, see node.c */
    struct eng_tensor *variable;
    struct eng_custom custom;
    struct eng_copy_slices *slices;
    struct eng_node_hook *hooks; /* owned, in the order of registration; NULL: none */
    /* where the forward ran, so that backward's events name the line */
    const char *module;
    const char *func;
    uint32_t line;
    uint32_t writer; /* in-place checks: the module in whose forward it was made; 0: none */
    /* the running backward, see backward.c */
    struct eng_task *task;
    uint32_t task_slot;
};

/*
 * Adds a reference to a node, or removes one (autograd/node.c); NULL is allowed. Removing the last one frees the node
 * and all it owns.
 */
struct eng_node *eng_node_ref(struct eng_node *n);
void eng_node_unref(struct eng_node *n);

#endif
