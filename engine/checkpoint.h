/*
 * engine/checkpoint.h - non-reentrant activation checkpointing: saved tensors replaced by placeholders, refilled by a re-run.
 *
 * For:            lang/ (torch.utils.checkpoint with use_reentrant=False). The reentrant form is an ordinary custom function and
 *                 lives in the prelude.
 * Must not know:  how the function is written.
 * Invariant:      a re-run saves the same tensors in the same order as the first run; it ends at the last one that is needed.
 */
#ifndef ENG_CHECKPOINT_H
#define ENG_CHECKPOINT_H

#include "engine/tensor.h"

struct eng_checkpoint;

/*
 * rerun      runs the function again with grad on; results are thrown away. Returns false on failure or when it was told to stop
 *            early (eng_checkpoint_stopping is then true and the failure in the engine is VS_E_STOPPED, which the engine clears).
 * free_user  when no placeholder needs the function any more; lets go of the arguments
 */
struct eng_checkpoint_calls {
    void *user;
    bool (*rerun)(void *user);
    void (*free_user)(void *user);
    const char *name; /* of the function, for the trace */
};

/* Until eng_checkpoint_end, everything autograd saves is replaced by a placeholder of this call. May nest. */
struct eng_checkpoint *eng_checkpoint_begin(struct eng *e, const struct eng_checkpoint_calls *calls, bool early_stop, bool preserve_rng);
void eng_checkpoint_end(struct eng *e, struct eng_checkpoint *checkpoint);
/* Note a tensor kept for the re-run (an argument), for the accounting of saved bytes. */
void eng_checkpoint_keeps(struct eng *e, struct eng_tensor *t, bool on);

/* For the reentrant form: ops between these count as recomputed. */
void eng_recompute_begin(struct eng *e, const char *name);
void eng_recompute_end(struct eng *e, const char *name);

#endif
