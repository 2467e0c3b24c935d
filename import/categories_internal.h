/*
 * import/categories_internal.h - lifetimes of blocks, shared by import/categories.c and import/preexisting.c.
 *
 * For:            these two files.
 * Must not know:  how categories are displayed.
 * Invariant:      lifetimes are in the order of their blocks: block 1 is lives[0].
 */
#ifndef IMP_CATEGORIES_INTERNAL_H
#define IMP_CATEGORIES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "import/categories.h"

#define NEVER SIZE_MAX

/*
 * One block. alloc: index of its event in the trace; made, freed: its events in the list; NEVER: before the recording
 * began, or after it ended. is_decided: the category is final. is_cublas: it is probably the workspace that cuBLAS
 * allocates once for each stream and thread, and keeps.
 */
struct imp_life {
    size_t alloc;
    size_t made;
    size_t freed;
    uint64_t bytes;
    bool is_decided;
    bool is_cublas;
};

struct imp_deciding {
    struct imp_import *import;
    const struct vs_memlist *list;
    const struct imp_roles *roles;
    const struct imp_phases *phases;
    const struct imp_steps *steps;
    struct imp_life *lives;
    size_t count;
    uint8_t *between; /* by event of the list: flags of import/between.h */
    size_t
        *stretch_end; /* by event of the list: the last event of the same interval of one phase */
};

static inline const struct vs_callstack *stack_of(const struct imp_deciding *d, size_t at)
{
    static const struct vs_callstack NO_STACK = {.count = 0};
    const uint32_t id = at == NEVER ? 0 : d->list->events[at].stack;

    return id ? vs_callstacks_get(&d->list->stacks, id) : &NO_STACK;
}

static inline const struct imp_stack *role_of(const struct imp_deciding *d, size_t at)
{
    return imp_roles_stack(d->roles, at == NEVER ? 0 : d->list->events[at].stack);
}

static inline uint8_t phase_at(const struct imp_deciding *d, size_t at)
{
    return d->phases->phases[at];
}

/* The stack of the block's free; an empty one if frees repeat the stack of the allocation. */
static inline const struct vs_callstack *free_stack_of(const struct imp_deciding *d,
                                                       const struct imp_life *life)
{
    return stack_of(d, d->phases->has_free_stacks ? life->freed : NEVER);
}

/* Whether the block is freed before the interval of its phase ends. */
static inline bool dies_in_phase(const struct imp_deciding *d, const struct imp_life *life)
{
    return life->freed != NEVER && life->freed <= d->stretch_end[life->made];
}

/* Category of what a module moves: what it holds. */
enum vs_category imp_moved_decide(const struct imp_stack *role);

/* ---- pre-existing blocks: preexisting.c ---- */

/* The category of a pre-existing block, from the stack of its free. */
enum vs_category imp_preexisting_decide(const struct imp_deciding *d, struct imp_life *life);
/*
 * Set categories of pre-existing blocks that are not freed, from their stacks in the state at the end, which has them
 * if the history was enabled when they were allocated.
 */
void imp_preexisting_by_stack(const struct imp_deciding *d);
/*
 * Set categories of the remaining blocks that are still `other` and are not freed, by comparing sizes with those of
 * gradients.
 */
void imp_preexisting_settle(struct imp_deciding *d);

#endif
