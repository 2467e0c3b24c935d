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
 * Backward from `tensors`: gradients (NULL: ones, for a scalar) flow to all leaves that require grad.
 * Refuses what PyTorch refuses (VS_E_AUTOGRAD), naming the op: nothing requires grad, not a scalar, saved tensors already freed,
 * a saved tensor that was overwritten (VS_E_INPLACE, with both versions and the op that saved it).
 */
void eng_backward(struct eng *e, struct eng_tensor *const *tensors, struct eng_tensor *const *grads,
                  int count, bool retain_graph);
/* As eng_backward, but gives the gradients of `inputs` in out[] (caller's; NULL where unused) and accumulates nowhere. */
void eng_grad(struct eng *e, struct eng_tensor *const *outputs, struct eng_tensor *const *grads,
              int count, struct eng_tensor *const *inputs, int input_count, bool retain_graph,
              struct eng_tensor **out);

/* t.requires_grad_(on) on a leaf; only off is refused on a result. */
void eng_set_requires_grad(struct eng *e, struct eng_tensor *t, bool on);
/* t.detach_(): t forgets its history and requires no grad any more. A view is refused, as in PyTorch. */
void eng_detach_(struct eng *e, struct eng_tensor *t);
/* t.grad = grad (its reference is taken over; NULL: None). The old one is let go of, which is told. */
void eng_set_grad(struct eng *e, struct eng_tensor *t, struct eng_tensor *grad);

/*
 * inputs: the tensor arguments in order (NULL for non-tensors); when grad mode is on and one requires grad, `outputs`
 * (aliases are made where an output is an input) get the new node as grad_fn; otherwise returns NULL and the outputs stay as they are.
 * The returned node is borrowed (the outputs hold it).
 */
struct eng_node *eng_custom_node(struct eng *e, const struct eng_custom *custom,
                                 struct eng_tensor *const *inputs, int input_count,
                                 struct eng_tensor **outputs, int output_count);
/* ctx.save_for_backward and ctx.saved_tensors. Unpacked references are the caller's. */
void eng_node_save(struct eng *e, struct eng_node *node, struct eng_tensor *const *tensors,
                   int count);
int eng_node_saved_count(const struct eng_node *node);
struct eng_tensor *eng_node_saved(struct eng *e, struct eng_node *node, int i);

/* Of a leaf that has none; copied. */
void eng_set_hooks(struct eng_tensor *leaf, const struct eng_hooks *hooks);
/* `user` of the leaf's hooks; NULL: it has none. */
void *eng_hooks_user(const struct eng_tensor *leaf);

const char *eng_node_name(const struct eng_node *node);

/*
 * Every tensor that is still alive loses its history and its gradient. At the end of a run: what held itself through these (an in-place op on a
 * tensor that its own history had saved, an argument that a checkpointed function overwrote, .grad with a graph) leaks in PyTorch, too;
 * here it goes, and what nodes and checkpoints hold for others is given back to them (free_user).
 */
void eng_cycles_break(struct eng *e);

#endif
