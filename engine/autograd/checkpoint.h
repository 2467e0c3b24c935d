/*
 * engine/autograd/checkpoint.h - non-reentrant activation checkpointing: saved tensors are replaced by placeholders,
 * and recomputed when backward needs them.
 *
 * For:            lang/ (torch.utils.checkpoint with use_reentrant=False). The reentrant form is an ordinary custom
 *                 function, in the prelude.
 * Must not know:  how the function is written.
 * Invariant:      recomputation saves the same tensors in the same order as the first run; it ends at the last one that
 *                 is needed.
 */
#ifndef ENG_CHECKPOINT_H
#define ENG_CHECKPOINT_H

#include "engine/core/tensor.h"

struct eng_checkpoint;
struct eng_selective;

/*
 * rerun      runs the function again on `inputs` (count of them, borrowed; the tensor arguments given to
 *            eng_checkpoint_begin, in that order), with grad mode and autocast as in the first run; the engine has
 *            restored the random state. The results are to be discarded. Returns false on failure, or when an op failed
 *            with VS_E_STOPPED: then every tensor needed has been saved, the function must return at once without
 *            running anything more, and the engine clears the failure
 * left       called after the recomputation, when autocast and random state are restored: releases what the frames of
 *            the stopped function held (in Python the exception that stops it keeps them alive until then); may be NULL
 * free_user  called when no placeholder needs the function any more; releases the other arguments
 * name       of the function, for the trace; must stay valid until free_user
 */
struct eng_checkpoint_calls {
    void *user;
    bool (*rerun)(void *user, struct eng_tensor *const *inputs, int count);
    void (*left)(void *user);
    void (*free_user)(void *user);
    const char *name;
};

/*
 * Between begin and end everything that autograd saves is replaced by a placeholder. May nest. With grad mode off
 * nothing is saved. The engine keeps references to `inputs` (NULL entries allowed) as long as recomputation is
 * possible, as saved tensors of a node: inside another checkpoint they are placeholders of that one. selective: what is
 * kept of the function's ops (one reference is taken; engine/autograd/selective.h), or NULL.
 */
struct eng_checkpoint *eng_checkpoint_begin(struct eng *e, const struct eng_checkpoint_calls *calls,
                                            struct eng_tensor *const *inputs, int count,
                                            struct eng_selective *selective, bool early_stop,
                                            bool preserve_rng);
void eng_checkpoint_end(struct eng *e, struct eng_checkpoint *checkpoint);

/* For the reentrant form: ops between these two calls count as recomputed. */
void eng_recompute_begin(struct eng *e, const char *name);
void eng_recompute_end(struct eng *e, const char *name);

#endif
