/*
 * lang/value/context.h - contexts: torch.no_grad() and the like, torch.autocast.
 *
 * For:            the with statement, decorators, the functions that make them (lang/torch/modes.c).
 * Must not know:  statements, calls.
 * Invariant:      leaving restores what entering found, also when the body failed.
 */
#ifndef LANG_CONTEXT_H
#define LANG_CONTEXT_H

#include "engine/core/engine.h"
#include "lang/value/object.h"

enum lang_context_kind { LANG_CONTEXT_MODE, LANG_CONTEXT_AUTOCAST, LANG_CONTEXT_NONE };

#define LANG_CONTEXT_NESTING 16

/* `depth` regions of this object are open; what each found is kept. set: of a mode, which is then `on`. */
struct lang_context {
    struct lang_obj head;
    enum lang_context_kind what;
    bool (*set)(struct eng *e, bool on);
    bool on;
    bool acted; /* set_grad_enabled() and the like: the mode changed when it was made */
    bool found;
    struct eng_autocast autocast;
    uint32_t depth;
    bool before[LANG_CONTEXT_NESTING];
    struct eng_autocast autocast_before[LANG_CONTEXT_NESTING];
};

struct lang_context *lang_context_new(struct lang_vm *vm, enum lang_context_kind what) VS_MUST_USE;
VS_MUST_USE bool lang_context_enter(struct lang_vm *vm, struct lang_context *c);
void lang_context_exit(struct lang_vm *vm, struct lang_context *c);

#endif
