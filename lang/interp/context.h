/*
 * lang/interp/context.h - what can stand in a `with`: grad modes, autocast, and objects of the net's own.
 *
 * For:            the with statement, @torch.no_grad().
 * Must not know:  statements.
 * Invariant:      leaving restores what entering found, also when the body failed.
 */
#ifndef LANG_CONTEXT_H
#define LANG_CONTEXT_H

#include "engine/core/engine.h"
#include "lang/interp/call.h"
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

/* `@torch.no_grad()`: calling a context with a function gives that function inside the region. As lang_call_at. */
VS_MUST_USE bool lang_context_decorate(struct lang_vm *vm, struct lang_value *at,
                                       uint32_t arg_count, const struct lang_kwnames *kw);

/* Call such a function: at[0] is what lang_context_decorate made. As lang_call_at. */
VS_MUST_USE bool lang_context_run(struct lang_vm *vm, struct lang_value *at, uint32_t arg_count,
                                  const struct lang_kwnames *kw);

/* Adds no_grad, enable_grad, inference_mode, set_grad_enabled, detect_anomaly, autocast … to torch. */
void lang_context_register(struct lang_vm *vm);

#endif
