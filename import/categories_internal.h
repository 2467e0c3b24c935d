/*
 * import/categories_internal.h - the lives of blocks, as import/categories.c and preexisting.c look at them.
 *
 * For:            these two.
 * Must not know:  what a category means to a reader.
 * Invariant:      lives are in the order of their blocks: block 1 is lives[0].
 */
#ifndef IMP_CATEGORIES_INTERNAL_H
#define IMP_CATEGORIES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "import/categories.h"

#define NEVER SIZE_MAX

/*
 * One block. alloc: its event of the trace; made, freed: its events of the list, NEVER: before it began, after it ended.
 * is_decided: nothing that comes after could say otherwise.
 */
struct imp_life {
    size_t alloc;
    size_t made;
    size_t freed;
    uint64_t bytes;
    bool is_decided;
};

struct imp_deciding {
    struct imp_import *import;
    const struct vs_memlist *list;
    const struct imp_roles *roles;
    const struct imp_phases *phases;
    const struct imp_steps *steps;
    struct imp_life *lives;
    size_t count;
    size_t *stretch_end; /* of each event of the list: the last event of its stretch of one phase */
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

/* The stack that let it go; none where frees repeat the allocation's. */
static inline const struct vs_callstack *free_stack_of(const struct imp_deciding *d,
                                                       const struct imp_life *life)
{
    return stack_of(d, d->phases->has_free_stacks ? life->freed : NEVER);
}

/* Is it gone before the stretch of its phase is over? */
static inline bool dies_in_phase(const struct imp_deciding *d, const struct imp_life *life)
{
    return life->freed != NEVER && life->freed <= d->stretch_end[life->made];
}

/* Is it as much as cuBLAS asks for, once a thread, and keeps? */
bool imp_is_cublas(uint64_t bytes);
/* What a module moves is what it holds. */
enum vs_category imp_moved_decide(const struct imp_stack *role);

/* ---- blocks older than the recording: preexisting.c ---- */

/* By who let it go. */
enum vs_category imp_preexisting_decide(const struct imp_deciding *d, struct imp_life *life);
/* What outlives the recording has its stack in the state at the end, where the history was on when it was made. */
void imp_preexisting_by_stack(const struct imp_deciding *d);
/* What is still `other` and stays: by the sizes of gradients. */
void imp_preexisting_settle(struct imp_deciding *d);

#endif
