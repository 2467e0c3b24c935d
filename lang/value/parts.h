/*
 * lang/value/parts.h - the parts that a training step consists of, reported as they happen.
 *
 * For:            lang/torch/ reports modules, backward() and contexts, lang/run/ what the library's optimizers and
 *                 scalers do; lang/run/own_step.c derives the phases of a net's own train_step from it.
 * Must not know:  phases, the built-in loop.
 * Invariant:      every part that began ends, innermost first; after a failure parts do not end.
 */
#ifndef LANG_PARTS_H
#define LANG_PARTS_H

#include "lang/value/vm.h"

/*
 * DATA       a tensor is copied from the host to the device; it has no end
 * FORWARD    the call of a module that has parameters
 * SCALE      GradScaler.scale; it has no end, as backward() follows
 * BACKWARD   backward()
 * GRAD       torch.autograd.grad
 * OPTIMIZER  step() of an optimizer; step() and update() of a GradScaler
 * ZERO_GRAD  zero_grad() of an optimizer or a module
 * AUTOCAST   an autocast region is entered; it has no end
 */
enum lang_part {
    LANG_PART_DATA,
    LANG_PART_FORWARD,
    LANG_PART_SCALE,
    LANG_PART_BACKWARD,
    LANG_PART_GRAD,
    LANG_PART_OPTIMIZER,
    LANG_PART_ZERO_GRAD,
    LANG_PART_AUTOCAST,
};

/*
 * fills  zero_grad() without set_to_none fills gradients with zeros, where PyTorch's default sets them to None
 * has_filled  it has been asked for
 * module  the module that a FORWARD calls, set before it begins; only to be compared
 * input_elems  elements of the first tensor among its positional arguments, set with it; 0: there is none
 * begin  a part begins; sets *has_begun, which is false where the part is of no interest and its end is not to be
 *        reported. Returns false with a failure noted where the run is to stop.
 * end    the part that began last and has not ended ends; returns as `begin`
 */
struct lang_parts {
    void *user;
    bool fills;
    bool has_filled;
    const void *module;
    uint64_t input_elems;
    bool (*begin)(void *user, enum lang_part part, bool *has_begun);
    bool (*end)(void *user);
};

/* A part begins; nobody may be listening. Returns false with a failure noted where the run is to stop. */
static inline bool lang_part_begin(struct lang_vm *vm, enum lang_part part, bool *has_begun)
{
    *has_begun = false;
    return vm->parts == NULL || vm->parts->begin(vm->parts->user, part, has_begun);
}

/* The part ends; ok: nothing has failed in it. Returns `ok`, or false with a failure noted where the run is to stop. */
static inline bool lang_part_end(struct lang_vm *vm, bool has_begun, bool ok)
{
    return ok && (!has_begun || vm->parts->end(vm->parts->user));
}

/* Whether zero_grad() without set_to_none sets gradients to None. */
static inline bool lang_sets_to_none(struct lang_vm *vm)
{
    if (vm->parts == NULL || !vm->parts->fills)
        return true;
    vm->parts->has_filled = true;
    return false;
}

#endif
