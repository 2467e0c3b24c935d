/*
 * engine/autograd/autograd_internal.h - making nodes, saving tensors in them, and running them.
 *
 * For:            the files of engine/autograd/, the dispatch of ops, the release of a context.
 * Must not know:  which ops exist.
 */
#ifndef ENG_AUTOGRAD_INTERNAL_H
#define ENG_AUTOGRAD_INTERNAL_H

#include "engine/autograd/autograd.h"
#include "engine/autograd/checkpoint.h"
#include "engine/core/engine_internal.h"

/* ---- node.c ---- */
/* How many of each a node has. ints: in the lists of integers among its arguments, all together. */
struct eng_node_counts {
    int edges;
    int saves;
    int args;
    int ints;
};
struct eng_node *eng_node_new(struct eng *e, enum eng_node_kind kind, const char *name,
                              struct eng_node_counts counts);
/* Places for `count` saved tensors in a node that was made with none. */
void eng_node_saves_make(struct eng_node *n, int count);
void eng_node_release_saved(struct eng_node *n);
void eng_fail_second_backward(const struct eng_node *n); /* what was saved is gone */
/* The accumulator of a leaf that requires grad, or the grad_fn of a result (a new reference), NULL where no gradient is wanted. */
struct eng_node *eng_gradient_node(struct eng_tensor *t);
void eng_edge_set(struct eng_edge *edge, struct eng_tensor *t);
void eng_node_save_at(struct eng_node *n, int i, struct eng_tensor *t, bool is_output);
/* A new reference, or NULL (absent, or failed). */
struct eng_tensor *eng_node_unpack(struct eng_node *n, int i);
void eng_set_history(struct eng_tensor *t, struct eng_node *n, int output_nr);
/*
 * False where the overwriting cannot be noted as the fault of one module (eng_blame_begin) and has to fail. The first: s, saved by n, is
 * needed; the second: storage is read under an old name.
 */
VS_MUST_USE bool eng_blame_saved(const struct eng_node *n, const struct eng_saved *s,
                                 const char *why);
VS_MUST_USE bool eng_blame_read(struct eng *e, const struct eng_storage *storage, const char *why);
void eng_blame_release(struct eng *e);

/* t was overwritten by the op of n: its history continues through n; where t is a view, its base's history does too. */
void eng_inplace_history(struct eng_tensor *t, struct eng_node *n);

/* ---- copy_slices.c ---- */
void eng_copy_slices_run(struct eng *e, struct eng_node *n, struct eng_tensor *grad,
                         struct eng_tensor **out);
void eng_copy_slices_release(
    struct eng_copy_slices *slices); /* lets go of the op's own node and what that saved */
void eng_copy_slices_free(struct eng_copy_slices *slices);

/* ---- leaf.c ---- */

/* A gradient has arrived at a leaf (`*taken` is NULL then, and may be before): it is accumulated, then the leaf's hooks are called. */
void eng_leaf_reached(struct eng *e, struct eng_tensor *variable, struct eng_tensor **taken);

/* ---- backward.c ---- */
/* Run the formulas of one op node on given gradients; fills out[], one per edge. */
void eng_run_op_backward(struct eng *e, struct eng_node *n, struct eng_tensor **g,
                         struct eng_tensor **out);

/* ---- checkpoint.c ---- */
struct eng_checkpoint *eng_checkpoint_ref(struct eng_checkpoint *c);
void eng_checkpoint_unref(struct eng_checkpoint *c);
uint32_t eng_checkpoint_pack(struct eng *e, struct eng_checkpoint *c, struct eng_tensor *t);
bool eng_checkpoint_is_rerun(const struct eng_checkpoint *c);
struct eng_tensor *eng_checkpoint_unpack(struct eng *e, struct eng_checkpoint *c, uint32_t index);
void eng_checkpoint_forget(struct eng_checkpoint *c, uint32_t index); /* its placeholder is gone */

/* ---- ready.c ---- */
void eng_ready_free(struct eng_ready *ready);
/* A leaf has got its gradient; e->ready is there. */
void eng_ready_note(struct eng *e, const struct eng_tensor *leaf);
/* An outermost backward is over; e->ready is there. */
void eng_ready_backward_end(struct eng *e);

/* ---- autocast.c ---- */
bool eng_autocast_call(struct eng *e, enum eng_op_id id, const struct eng_arg *args,
                       struct eng_ret *ret);
bool eng_op_run(struct eng *e, enum eng_op_id id, const struct eng_arg *args, bool inplace,
                struct eng_ret *ret);
void eng_cast_cache_clear(struct eng *e);

#endif
