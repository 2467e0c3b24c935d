/*
 * engine/autograd/checkpoint.h - non-reentrant activation checkpointing: saved tensors replaced by placeholders, refilled by a re-run.
 *
 * For:            lang/ (torch.utils.checkpoint with use_reentrant=False). The reentrant form is an ordinary custom function and
 *                 lives in the prelude.
 * Must not know:  how the function is written.
 * Invariant:      a re-run saves the same tensors in the same order as the first run; it ends at the last one that is needed.
 */
#ifndef ENG_CHECKPOINT_H
#define ENG_CHECKPOINT_H

#include "engine/core/tensor.h"

struct eng_checkpoint;

/*
 * rerun      runs the function again on `inputs` (count of them, borrowed; the tensor arguments given to eng_checkpoint_begin, in that order),
 *            grad mode and autocast as in the first run, random state put back by the engine; results are to be thrown away. Returns
 *            false on failure, or when an op failed with VS_E_STOPPED: then every tensor needed has been saved, the function is
 *            to be left at once without running anything more, and the engine clears the failure.
 * left       after a re-run, when autocast and random state are back: what a stopped function's frames held may go now (in Python the
 *            exception that stops it keeps them alive until then); may be NULL
 * free_user  when no placeholder needs the function any more; lets go of the other arguments
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
 * Until eng_checkpoint_end, everything autograd saves is replaced by a placeholder of this call. May nest. With grad mode off
 * nothing is saved and the call costs nothing. The engine keeps references to `inputs` (NULL entries allowed) until the re-run is no
 * longer possible, as the saved tensors of a node: inside another checkpoint they are placeholders of that one.
 */
struct eng_checkpoint *eng_checkpoint_begin(struct eng *e, const struct eng_checkpoint_calls *calls,
                                            struct eng_tensor *const *inputs, int count,
                                            bool early_stop, bool preserve_rng);
void eng_checkpoint_end(struct eng *e, struct eng_checkpoint *checkpoint);

/* For the reentrant form: ops between these count as recomputed. */
void eng_recompute_begin(struct eng *e, const char *name);
void eng_recompute_end(struct eng *e, const char *name);

#endif
