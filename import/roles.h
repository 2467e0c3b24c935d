/*
 * import/roles.h - what the stacks of a recording say was running: a module's forward, autograd, an optimizer, …
 *
 * For:            import/phases.c, categories.c, modules.c.
 * Must not know:  events, the allocator.
 * Invariant:      decided by the stack alone; the rules are the rows of roles.def and the flags of base/recorded/callstack.h.
 */
#ifndef IMP_ROLES_H
#define IMP_ROLES_H

#include <stdbool.h>

#include "base/recorded/memlist.h"

/* What a single Python frame says. */
enum imp_role {
    IMP_ROLE_NONE,
    IMP_ROLE_CALL,  /* nn.Module is called */
    IMP_ROLE_APPLY, /* a module is moved or converted */
    IMP_ROLE_INIT,  /* something is constructed */
    IMP_ROLE_LOAD,
    IMP_ROLE_DATA,
    IMP_ROLE_LOSS,
    IMP_ROLE_BACKWARD,
    IMP_ROLE_FUNCTION,  /* a custom autograd function is called: its forward is no module's */
    IMP_ROLE_RECOMPUTE, /* a checkpoint runs its function again */
    IMP_ROLE_OPTIMIZER,
    IMP_ROLE_STATE,       /* an optimizer makes its state, in its first step */
    IMP_ROLE_STATE_SETUP, /* likewise when it is made or loaded */
    IMP_ROLE_ZERO_GRAD,
    IMP_ROLE_COMPILE /* torch.compile tries something out */
};

/* What was running. NONE: there are no frames that say; OUTSIDE: the user's code, outside of all of these. */
enum imp_run {
    IMP_RUN_NONE,
    IMP_RUN_OUTSIDE,
    IMP_RUN_LOAD,
    IMP_RUN_DATA,
    IMP_RUN_FORWARD,
    IMP_RUN_LOSS,
    IMP_RUN_BACKWARD,
    IMP_RUN_OPTIMIZER,
    IMP_RUN_ZERO_GRAD
};

/* is_param, is_buffer, is_grad: what a module is moving, by the line of its _apply. is_init: something is being constructed. */
struct imp_stack {
    uint8_t run;
    bool is_apply, is_param, is_buffer, is_grad;
    bool is_init;
    bool is_state;
    bool is_recompute;
    bool is_compile;
};

/* stacks: by number - 1; roles: of the frames, by number - 1, each an enum imp_role. Zeroed is empty. */
struct imp_roles {
    const struct vs_memlist *list;
    struct imp_stack *stacks;
    uint8_t *roles;
};

/* `list` is borrowed. Release it. O(frames of all stacks). */
void imp_roles_fill(struct imp_roles *roles, const struct vs_memlist *list);
void imp_roles_release(struct imp_roles *roles);

/* Of stack `id`; of 0 one that says nothing. */
const struct imp_stack *imp_roles_stack(const struct imp_roles *roles, uint32_t id);

#endif
