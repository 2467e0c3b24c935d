/*
 * engine/autograd/autograd_internal.h - functions shared by the files of engine/autograd/: nodes, saved tensors,
 * leaves.
 *
 * For:            the files of engine/autograd/, the dispatch of ops, the release of a context.
 * Must not know:  which ops exist.
 */
#ifndef ENG_AUTOGRAD_INTERNAL_H
#define ENG_AUTOGRAD_INTERNAL_H

#include "engine/autograd/autograd.h"
#include "engine/autograd/checkpoint.h"
#include "engine/autograd/selective.h"
#include "engine/core/engine_internal.h"

/* ---- node.c ---- */
/* Numbers of a node's parts. ints: integers in all the lists among its arguments together. */
struct eng_node_counts {
    int edges;
    int saves;
    int args;
    int ints;
};
struct eng_node *eng_node_new(struct eng *e, enum eng_node_kind kind, const char *name,
                              struct eng_node_counts counts);
/* Adds `count` slots for saved tensors to a node that was created with none. */
void eng_node_saves_make(struct eng_node *n, int count);
void eng_node_release_saved(struct eng_node *n);
/* Fails: the graph's saved tensors were freed by an earlier backward. */
void eng_fail_second_backward(const struct eng_node *n);
/*
 * The gradient accumulator of a leaf that requires grad, or the grad_fn of a result (a new reference); otherwise NULL.
 */
struct eng_node *eng_gradient_node(struct eng_tensor *t);
void eng_edge_set(struct eng_edge *edge, struct eng_tensor *t);
void eng_node_save_at(struct eng_node *n, int i, struct eng_tensor *t, bool is_output);
/* The saved tensor, recomputed if necessary: a new reference, or NULL (absent, or failed). */
struct eng_tensor *eng_node_unpack(struct eng_node *n, int i);
void eng_set_history(struct eng_tensor *t, struct eng_node *n, int output_nr);
/*
 * In-place checks: record the module that has overwritten a value that is needed. blame_saved: the value is s, saved by
 * n; blame_read: a tensor object older than the write reads the storage. False: not the fault of one module alone, or
 * eng_blame_begin was not called; the caller must fail.
 */
VS_MUST_USE bool eng_blame_saved(const struct eng_node *n, const struct eng_saved *s,
                                 const char *why);
VS_MUST_USE bool eng_blame_read(struct eng *e, const struct eng_storage *storage, const char *why);
void eng_blame_release(struct eng *e);

/*
 * False, and failed, where PyTorch refuses the call because its tensors are on different devices
 * (engine/ops/devices.c).
 */
bool eng_devices_allowed(struct eng *e, enum eng_op_id id, const struct eng_signature *sig,
                         const struct eng_arg *args, bool inplace);
/*
 * Whether autograd can follow writing to t, which needs a gradient; if not, fails as PyTorch does. what: who writes
 * ("relu_"); remedy: what to do instead.
 */
bool eng_inplace_allowed(struct eng *e, const char *what, const char *remedy,
                         const struct eng_tensor *t);
/* t was overwritten by the op of n: its history continues with n; if t is a view, so does its base's history. */
void eng_inplace_history(struct eng_tensor *t, struct eng_node *n);

/* ---- copy_slices.c ---- */
void eng_copy_slices_run(struct eng *e, struct eng_node *n, struct eng_tensor *grad,
                         struct eng_tensor **out);
/* Releases the op's own node and what that has saved. */
void eng_copy_slices_release(struct eng_copy_slices *slices);
void eng_copy_slices_free(struct eng_copy_slices *slices);

/* ---- leaf.c ---- */

/*
 * A gradient has reached a leaf: accumulates it, then calls the leaf's hooks. *taken is the gradient, or NULL if
 * undefined; it is NULL afterwards.
 */
void eng_leaf_reached(struct eng *e, struct eng_tensor *variable, struct eng_tensor **taken);

/* ---- node_run.c ---- */
/* Computes the backward formula of one op node from the gradients g; fills out[], one per edge. */
void eng_run_op_backward(struct eng *e, struct eng_node *n, struct eng_tensor **g,
                         struct eng_tensor **out);
/*
 * Computes and validates the gradients of a node's inputs; fills out[], one per edge. g: the incoming gradients, one
 * per output, NULL: none arrived. The caller owns them, but those of an accumulator and a custom node are taken (set
 * to NULL).
 */
void eng_node_run(struct eng *e, struct eng_node *n, struct eng_tensor **g,
                  struct eng_tensor **out);
/*
 * PyTorch's anomaly mode: fails (VS_E_RAISED) if a result is NaN. The mask and its reduction are released after the
 * value was read, the reduction first (two temporaries of one expression).
 */
void eng_node_check_nan(struct eng *e, const struct eng_node *n, struct eng_tensor *const *out);

/* ---- checkpoint.c ---- */
struct eng_checkpoint *eng_checkpoint_ref(struct eng_checkpoint *c);
void eng_checkpoint_unref(struct eng_checkpoint *c);
uint32_t eng_checkpoint_pack(struct eng *e, struct eng_checkpoint *c, struct eng_tensor *t);
bool eng_checkpoint_is_rerun(const struct eng_checkpoint *c);
struct eng_tensor *eng_checkpoint_unpack(struct eng *e, struct eng_checkpoint *c, uint32_t index);
/* The placeholder of this index was freed. */
void eng_checkpoint_forget(struct eng_checkpoint *c, uint32_t index);

/* ---- selective.c ---- */
/*
 * From enter to leave, ops reach s: in the first run, or in a recomputation (is_rerun). May nest; NULL: does nothing.
 * node_id: of the node that holds what is kept.
 */
void eng_selective_enter(struct eng *e, struct eng_selective *s, uint64_t node_id, bool is_rerun);
void eng_selective_leave(struct eng *e, struct eng_selective *s);
struct eng_op_call;
typedef bool eng_run_fn(struct eng_op_call *c);
/*
 * Runs `kernel` for a call of an op while e->selective is not NULL, or gives the call what was kept: then *is_computed
 * is false. Returns false on failure.
 */
bool eng_selective_run(struct eng_op_call *c, int arg_count, eng_run_fn *kernel, bool *is_computed);

/* ---- node_hooks.c ---- */
void eng_node_hooks_run(struct eng *e, const struct eng_node *n);
void eng_node_hooks_free(struct eng_node_hook *list);
/* The outermost backward has run its last node; e->after_backward is not NULL. */
void eng_after_backward_run(struct eng *e);

/* ---- ready.c ---- */
void eng_ready_free(struct eng_ready *ready);
/* A leaf has received its gradient; e->ready is not NULL. */
void eng_ready_note(struct eng *e, const struct eng_tensor *leaf);
/* An outermost backward has ended; e->ready is not NULL. */
void eng_ready_backward_end(struct eng *e);

/* ---- autocast.c ---- */
bool eng_autocast_call(struct eng *e, enum eng_op_id id, const struct eng_arg *args,
                       struct eng_ret *ret);
bool eng_op_run(struct eng *e, enum eng_op_id id, const struct eng_arg *args, bool inplace,
                struct eng_ret *ret);
void eng_cast_cache_clear(struct eng *e);

#endif
