/*
 * engine/autograd/selective.h - selective checkpointing: what chosen ops compute in the first run of a checkpointed
 * function is kept, and returned instead of being computed when the function runs again.
 *
 * For:            lang/ (torch.utils.checkpoint.create_selective_checkpoint_contexts).
 * Must not know:  how ops are chosen.
 * Invariant:      what PyTorch 2.15 does: ops are counted by name as they reach the device's kernels, below autocast
 *                 and autograd; call n of an op in the recomputation gets what call n of the first run computed, once.
 */
#ifndef ENG_SELECTIVE_H
#define ENG_SELECTIVE_H

#include "engine/core/op.h"

struct eng_selective;

/*
 * is_saved   whether the results of the op that has just run are kept. results: borrowed, without history. On failure
 *            it fails the engine (eng_fail), and its value does not matter
 * free_user  may be NULL
 */
struct eng_selective_calls {
    void *user;
    bool (*is_saved)(void *user, enum eng_op_id id, bool is_inplace, const struct eng_arg *args,
                     int arg_count, const struct eng_ret *results);
    void (*free_user)(void *user);
};

/*
 * One reference, for the caller. allows_mutation: results may be overwritten after they were kept; otherwise returning
 * one that was fails. What is kept stays on the device even where eng_set_offload is in force, as in PyTorch.
 */
struct eng_selective *eng_selective_new(struct eng *e, const struct eng_selective_calls *calls,
                                        bool allows_mutation) VS_MUST_USE;
struct eng_selective *eng_selective_ref(struct eng_selective *s);
void eng_selective_unref(struct eng_selective *s);

#endif
