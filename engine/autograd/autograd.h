/*
 * engine/autograd/autograd.h - nodes, saved tensors, and the backward run.
 *
 * For:            ops (through dispatch.c), custom functions and checkpoint (through lang/), the loop.
 * Must not know:  which ops exist.
 * Invariant:      the order in which nodes run, gradients join and saved tensors go is PyTorch's; see the .c file.
 */
#ifndef ENG_AUTOGRAD_H
#define ENG_AUTOGRAD_H

#include "engine/core/graph.h"
#include "engine/core/tensor.h"

struct eng_checkpoint; /* a non-reentrant checkpointed call, see checkpoint.h */

/*
 * Runs backward from `tensors`: gradients (NULL: ones, for a scalar) are propagated to all leaves that require grad and
 * accumulated in .grad. grads: `count` of them, or NULL.
 * Fails as PyTorch does (VS_E_AUTOGRAD), naming the op: nothing requires grad, not a scalar, saved tensors already
 * freed; VS_E_INPLACE: a saved tensor was overwritten (with both versions and the op that saved it).
 */
void eng_backward(struct eng *e, struct eng_tensor *const *tensors, struct eng_tensor *const *grads,
                  int count, bool retain_graph);
/*
 * torch.autograd.grad: as eng_backward, but returns the gradients of `inputs` in out[] (owned by the caller; NULL where
 * unused) and accumulates nothing.
 */
void eng_grad(struct eng *e, struct eng_tensor *const *outputs, struct eng_tensor *const *grads,
              int count, struct eng_tensor *const *inputs, int input_count, bool retain_graph,
              struct eng_tensor **out);

/* t.requires_grad_(on) of a leaf; for a result, turning it off fails. */
void eng_set_requires_grad(struct eng *e, struct eng_tensor *t, bool on);
/* t.detach_(): t loses its history and no longer requires grad. Fails for a view, as in PyTorch. */
void eng_detach_(struct eng *e, struct eng_tensor *t);
/* t.grad = grad, taking ownership of its reference (NULL: None). The old one is released. Emits both changes. */
void eng_set_grad(struct eng *e, struct eng_tensor *t, struct eng_tensor *grad);

/*
 * leaf.grad_dtype = dtype: gradients that reach the leaf are converted to `dtype` before they are accumulated;
 * ENG_GRAD_DTYPE_ANY (None in PyTorch): they stay as they are, and are added in place to one that is there.
 */
#define ENG_GRAD_DTYPE_ANY (-1)
void eng_set_grad_dtype(struct eng_tensor *leaf, int dtype);
/* The dtype that `grad` has when it has reached the leaf. */
enum vs_dtype eng_grad_dtype(const struct eng_tensor *leaf, const struct eng_tensor *grad);

/*
 * Adds a custom function's node. inputs: the tensor arguments in order (NULL for other arguments). If grad mode is on
 * and an input requires grad, `outputs` get the new node as grad_fn (an output that is an input is replaced by an
 * alias; one in custom->is_dirty stays the same tensor, and its history so far is the input's) and the node is
 * returned, borrowed from them. Otherwise, and where no output is differentiable, returns NULL: outputs are not changed
 * and custom->user stays the caller's. Fails as PyTorch does where an overwritten input is a leaf that requires grad,
 * or a view that must not be overwritten.
 */
struct eng_node *eng_custom_node(struct eng *e, const struct eng_custom *custom,
                                 struct eng_tensor *const *inputs, int input_count,
                                 struct eng_tensor **outputs, int output_count);
/* ctx.save_for_backward and ctx.saved_tensors. References returned by eng_node_saved are owned by the caller. */
void eng_node_save(struct eng *e, struct eng_node *node, struct eng_tensor *const *tensors,
                   int count);
int eng_node_saved_count(const struct eng_node *node);
struct eng_tensor *eng_node_saved(struct eng *e, struct eng_node *node, int i);

/* ctx.mark_dirty: the tensor counts as written to. */
void eng_bump_version(struct eng_tensor *t);

/* Sets the hooks of a leaf that has none; copied. */
void eng_set_hooks(struct eng_tensor *leaf, const struct eng_hooks *hooks);
/* `user` of the leaf's hooks; NULL: it has no hooks. */
void *eng_hooks_user(const struct eng_tensor *leaf);

/* Adds a hook to the node that made t, which must have one (struct eng_node_hook); copied. */
void eng_node_hook_add(struct eng_tensor *t, const struct eng_hooks *hook);
/*
 * Calls `hook` with NULL at the end of the running backward, after its last node and before it returns, and then its
 * free_user (Variable._execution_engine.queue_callback); copied. Outside a backward it fails, after free_user.
 */
void eng_after_backward(struct eng *e, const struct eng_hooks *hook);

bool eng_is_in_backward(const struct eng *e);

const char *eng_node_name(const struct eng_node *node);

/*
 * Clears the history and the gradient of every tensor that still exists; for the end of a run. Reference cycles through
 * these (an in-place op on a tensor that its own history has saved, an argument that a checkpointed function overwrote,
 * .grad with a graph) leak in PyTorch, too; here their memory is freed, and free_user is called for nodes and
 * checkpoints.
 */
void eng_cycles_break(struct eng *e);

#endif
