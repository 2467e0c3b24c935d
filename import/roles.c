/*
 * import/roles.c - see roles.h.
 */
#include "import/roles.h"

#include <string.h>

#include "base/mem.h"

enum whose { WHOSE_USER, WHOSE_TORCH, WHOSE_PACKAGE, WHOSE_ANY };

static const struct {
    enum whose whose;
    const char *file;
    const char *func;
    enum imp_role role;
} RULES[] = {
/* clang-format off */
#define IMP_RULE(whose, file, func, role) {WHOSE_##whose, file, func, role},
#include "import/roles.def"
#undef IMP_RULE
    /* clang-format on */
};

#define COUNT(words) (sizeof(words) / sizeof((words)[0]))

static bool func_fits(const char *func, const char *rule)
{
    return rule[0] == '*' ? strstr(func, rule + 1) != NULL : strcmp(func, rule) == 0;
}

static bool whose_fits(uint8_t kind, enum whose whose)
{
    switch (whose) {
    case WHOSE_USER:
        return kind == VS_FRAME_USER;
    case WHOSE_TORCH:
        return kind == VS_FRAME_TORCH;
    case WHOSE_PACKAGE:
        return kind == VS_FRAME_PACKAGE;
    case WHOSE_ANY:
        break;
    }
    return kind == VS_FRAME_USER || kind == VS_FRAME_PACKAGE;
}

static enum imp_role role_of(const struct vs_memlist *list, const struct vs_frame *frame)
{
    const char *file = vs_memlist_text(list, frame->file);
    const char *func = vs_memlist_text(list, frame->func);

    for (size_t i = 0; i < COUNT(RULES); i++)
        if (whose_fits(frame->kind, RULES[i].whose) && func_fits(func, RULES[i].func) &&
            strncmp(file, RULES[i].file, strlen(RULES[i].file)) == 0)
            return RULES[i].role;
    return IMP_ROLE_NONE;
}

static uint32_t frame_at(const struct vs_callstacks *all, const struct vs_callstack *stack,
                         size_t i)
{
    return all->pool[stack->first + i] - 1;
}

/* ---- user-defined optimizers ---- */

/* A file whose `step` is called by torch.optim.Optimizer is an optimizer's; what its `__init__` allocates is state. */
static void optimizers_find(struct imp_roles *roles, bool *is_optimizer)
{
    const struct vs_callstacks *all = &roles->list->stacks;

    for (size_t s = 0; s < all->count; s++)
        for (size_t i = 0; i + 1 < all->items[s].count; i++) {
            const struct vs_frame *frame = &all->frames[frame_at(all, &all->items[s], i)];
            const uint32_t caller = frame_at(all, &all->items[s], i + 1);

            if (frame->kind == VS_FRAME_USER && roles->roles[caller] == IMP_ROLE_OPTIMIZER &&
                strcmp(vs_memlist_text(roles->list, frame->func), "step") == 0)
                is_optimizer[frame->file] = true;
        }
}

static void optimizers_mark(struct imp_roles *roles)
{
    const struct vs_callstacks *all = &roles->list->stacks;
    uint32_t files = 0;
    bool *is_optimizer;

    for (size_t i = 0; i < all->frame_count; i++)
        files = all->frames[i].file > files ? all->frames[i].file : files;
    is_optimizer = vs_calloc((size_t)files + 1, sizeof(*is_optimizer));
    optimizers_find(roles, is_optimizer);
    for (size_t i = 0; i < all->frame_count; i++)
        if (is_optimizer[all->frames[i].file] && roles->roles[i] == IMP_ROLE_INIT)
            roles->roles[i] = IMP_ROLE_STATE_SETUP;
    vs_free(is_optimizer);
}

/* ---- stacks ---- */

/* What is running according to a frame of this role. */
static enum imp_run run_of(enum imp_role role)
{
    switch (role) {
    case IMP_ROLE_CALL:
    case IMP_ROLE_COMPILE:
        return IMP_RUN_FORWARD;
    case IMP_ROLE_LOAD:
    case IMP_ROLE_STATE_SETUP:
        return IMP_RUN_LOAD;
    case IMP_ROLE_DATA:
        return IMP_RUN_DATA;
    case IMP_ROLE_LOSS:
        return IMP_RUN_LOSS;
    case IMP_ROLE_BACKWARD:
    case IMP_ROLE_RECOMPUTE:
        return IMP_RUN_BACKWARD;
    case IMP_ROLE_OPTIMIZER:
    case IMP_ROLE_STATE:
        return IMP_RUN_OPTIMIZER;
    case IMP_ROLE_ZERO_GRAD:
        return IMP_RUN_ZERO_GRAD;
    case IMP_ROLE_NONE:
    case IMP_ROLE_APPLY:
    case IMP_ROLE_INIT:
    case IMP_ROLE_FUNCTION:
    case IMP_ROLE_BUCKET:
        break;
    }
    return IMP_RUN_NONE;
}

/*
 * The innermost conclusive frame decides, except that autograd's engine and the recomputation of a checkpoint take
 * precedence.
 */
static void stack_classify(const struct imp_roles *roles, const struct vs_callstack *stack,
                           struct imp_stack *out)
{
    const struct vs_callstacks *all = &roles->list->stacks;

    for (size_t i = 0; i < stack->count; i++) {
        const enum imp_role role = (enum imp_role)roles->roles[frame_at(all, stack, i)];

        out->is_apply |= role == IMP_ROLE_APPLY;
        out->is_init |= role == IMP_ROLE_INIT;
        out->is_state |= role == IMP_ROLE_STATE || role == IMP_ROLE_STATE_SETUP;
        /* a checkpoint that runs backward itself does not recompute */
        out->is_recompute |= role == IMP_ROLE_RECOMPUTE && out->run != IMP_RUN_BACKWARD;
        out->is_compile |= role == IMP_ROLE_COMPILE;
        out->is_bucket |= role == IMP_ROLE_BUCKET && i == 0; /* not what these call in Python */
        if (out->run == IMP_RUN_NONE)
            out->run = (uint8_t)run_of(role);
    }
    if (out->run == IMP_RUN_NONE && stack->count)
        out->run = out->is_apply || out->is_init ? IMP_RUN_LOAD : IMP_RUN_OUTSIDE;
    if (stack->flags & VS_STACK_ENGINE || out->is_recompute)
        out->run = IMP_RUN_BACKWARD;
}

/* ---- moved tensors ---- */

/* The line of the innermost _apply; 0: there is none. */
static uint32_t apply_line(const struct imp_roles *roles, const struct vs_callstack *stack)
{
    const struct vs_callstacks *all = &roles->list->stacks;

    for (size_t i = 0; i < stack->count; i++)
        if (roles->roles[frame_at(all, stack, i)] == IMP_ROLE_APPLY)
            return all->frames[frame_at(all, stack, i)].line;
    return 0;
}

/*
 * _apply moves the parameters, then their gradients, then the buffers, each in a line of its own, which depends on the
 * version.
 */
static void applies_mark(struct imp_roles *roles)
{
    const struct vs_callstacks *all = &roles->list->stacks;
    uint32_t first = UINT32_MAX;
    uint32_t last = 0;

    for (size_t s = 0; s < all->count; s++) {
        const uint32_t line = apply_line(roles, &all->items[s]);

        if (line && all->items[s].cls == VS_MEM_TENSOR) {
            first = line < first ? line : first;
            last = line > last ? line : last;
        }
    }
    for (size_t s = 0; s < all->count; s++) {
        const uint32_t line = apply_line(roles, &all->items[s]);

        roles->stacks[s].is_param = line && line == first;
        roles->stacks[s].is_buffer = line && line == last && last > first;
        roles->stacks[s].is_grad = line && line > first && line < last;
    }
}

void imp_roles_fill(struct imp_roles *roles, const struct vs_memlist *list)
{
    const struct vs_callstacks *all = &list->stacks;

    roles->list = list;
    roles->stacks = vs_calloc(all->count + 1, sizeof(*roles->stacks));
    roles->roles = vs_calloc(all->frame_count + 1, sizeof(*roles->roles));
    for (size_t i = 0; i < all->frame_count; i++)
        roles->roles[i] = (uint8_t)role_of(list, &all->frames[i]);
    optimizers_mark(roles);
    for (size_t s = 0; s < all->count; s++)
        stack_classify(roles, &all->items[s], &roles->stacks[s]);
    applies_mark(roles);
}

void imp_roles_release(struct imp_roles *roles)
{
    vs_free(roles->stacks);
    vs_free(roles->roles);
    memset(roles, 0, sizeof(*roles));
}

const struct imp_stack *imp_roles_stack(const struct imp_roles *roles, uint32_t id)
{
    static const struct imp_stack NOTHING = {.run = IMP_RUN_NONE};

    return id ? &roles->stacks[id - 1] : &NOTHING;
}
