/*
 * lang/value/context.h - context managers: torch.no_grad() and similar ones, torch.autocast.
 *
 * For:            the with statement, decorators, and lang/torch/modes.c, which creates them.
 * Must not know:  statements, calls.
 * Invariant:      exit restores the mode that enter found, also after a failure in the body.
 */
#ifndef LANG_CONTEXT_H
#define LANG_CONTEXT_H

#include "engine/core/engine.h"
#include "lang/value/object.h"

enum lang_context_kind { LANG_CONTEXT_MODE, LANG_CONTEXT_AUTOCAST, LANG_CONTEXT_NONE };

/* How often one object may be entered inside itself. */
#define LANG_CONTEXT_NESTING 16

/*
 * A context manager object.
 *
 * set       LANG_CONTEXT_MODE: sets the engine's mode to `on` and returns the value before
 * acted     the mode changed when the object was created, as set_grad_enabled() does; `found` is the value before that
 * autocast  LANG_CONTEXT_AUTOCAST: the settings inside the region
 * depth     number of open regions of this object; the values before each are in `before` or `autocast_before`
 */
struct lang_context {
    struct lang_obj head;
    enum lang_context_kind what;
    bool (*set)(struct eng *e, bool on);
    bool on;
    bool acted;
    bool found;
    struct eng_autocast autocast;
    uint32_t depth;
    bool before[LANG_CONTEXT_NESTING];
    struct eng_autocast autocast_before[LANG_CONTEXT_NESTING];
};

/* A new object with all fields zero but `what`; the caller fills in the rest. */
struct lang_context *lang_context_new(struct lang_vm *vm, enum lang_context_kind what) VS_MUST_USE;
/* Sets the mode. False with a failure noted: entered more than LANG_CONTEXT_NESTING times. */
VS_MUST_USE bool lang_context_enter(struct lang_vm *vm, struct lang_context *c);
/* Restores what the matching enter found. Cannot fail. */
void lang_context_exit(struct lang_vm *vm, struct lang_context *c);

#endif
