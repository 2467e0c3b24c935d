/*
 * import/roles.h - classifies the stacks of a recording: a module's forward, autograd, an optimizer, …
 *
 * For:            import/phases.c, categories.c, modules.c.
 * Must not know:  events, the allocator.
 * Invariant:      depends on the stack alone; the rules are the rows of roles.def and the flags of
 *                 base/recorded/callstack.h.
 */
#ifndef IMP_ROLES_H
#define IMP_ROLES_H

#include <stdbool.h>

#include "base/recorded/memlist.h"

/* The role of a single Python frame. */
enum imp_role {
    IMP_ROLE_NONE,
    IMP_ROLE_CALL,  /* call of an nn.Module */
    IMP_ROLE_APPLY, /* nn.Module._apply: moving or converting a module */
    IMP_ROLE_INIT,  /* a constructor */
    IMP_ROLE_LOAD,
    IMP_ROLE_DATA,
    IMP_ROLE_LOSS,
    IMP_ROLE_BACKWARD,
    IMP_ROLE_FUNCTION,  /* a custom autograd function: its forward belongs to no module */
    IMP_ROLE_RECOMPUTE, /* a checkpoint that recomputes its function */
    IMP_ROLE_OPTIMIZER,
    IMP_ROLE_STATE,       /* creation of an optimizer's state in its first step */
    IMP_ROLE_STATE_SETUP, /* creation or loading of an optimizer's state outside of a step */
    IMP_ROLE_ZERO_GRAD,
    IMP_ROLE_COMPILE, /* torch.compile measures or tests a kernel */
    IMP_ROLE_BUCKET   /* DistributedDataParallel makes its buckets, which it does in C++ */
};

/* What was running. NONE: no conclusive frames; OUTSIDE: user code outside of all others. */
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

/*
 * is_param, is_buffer, is_grad: what a module is moving, according to the line of its _apply. is_init: inside a
 * constructor. is_bucket: DistributedDataParallel allocates a bucket of gradients, or what the ranks say of buckets.
 */
struct imp_stack {
    uint8_t run;
    bool is_apply, is_param, is_buffer, is_grad;
    bool is_init;
    bool is_state;
    bool is_recompute;
    bool is_compile;
    bool is_bucket;
};

/* stacks: by stack number - 1; roles: by frame number - 1, each an enum imp_role. Zeroed: empty. */
struct imp_roles {
    const struct vs_memlist *list;
    struct imp_stack *stacks;
    uint8_t *roles;
};

/* `list` is borrowed. The caller releases `roles`. O(frames of all stacks). */
void imp_roles_fill(struct imp_roles *roles, const struct vs_memlist *list);
void imp_roles_release(struct imp_roles *roles);

/* The classification of stack `id`; an empty one for id 0. */
const struct imp_stack *imp_roles_stack(const struct imp_roles *roles, uint32_t id);

#endif
