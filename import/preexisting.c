/*
 * import/preexisting.c - categories of pre-existing blocks; see categories_internal.h.
 *
 * Must not know:  how the categories of other blocks are determined.
 * Invariant:      only the state at the end contains information about their allocation.
 */
#include "import/categories_internal.h"

#include <stdlib.h>

#include "base/mem.h"

/* The category that follows from the block's stack in the state at the end. */
static enum vs_category stack_decide(const struct imp_deciding *d, const struct vs_mem_block *block)
{
    const struct imp_stack *role = imp_roles_stack(d->roles, block->stack);

    if (block->cls != VS_MEM_TENSOR)
        return VS_CAT_WORKSPACE;
    if (role->is_apply)
        return imp_moved_decide(role);
    if (role->is_state)
        return VS_CAT_OPTIMIZER;
    switch ((enum imp_run)role->run) {
    case IMP_RUN_LOAD:
        return VS_CAT_PARAMETER;
    case IMP_RUN_DATA:
        return VS_CAT_INPUT;
    case IMP_RUN_FORWARD:
    case IMP_RUN_LOSS:
        return VS_CAT_ACTIVATION;
    case IMP_RUN_BACKWARD:
        return VS_CAT_GRADIENT;
    case IMP_RUN_OPTIMIZER:
        return VS_CAT_OPTIMIZER;
    case IMP_RUN_NONE:
    case IMP_RUN_OUTSIDE:
    case IMP_RUN_ZERO_GRAD:
        break;
    }
    return VS_CAT_OTHER;
}

/* The blocks of the state at the end, by address. O(n), as segments are in order of address. */
struct end_block {
    uint64_t address;
    const struct vs_mem_block *block;
};

static int by_address(const void *a, const void *b)
{
    const struct end_block *x = a;
    const struct end_block *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

static size_t end_blocks(const struct vs_memlist *list, struct end_block **out)
{
    size_t count = 0;

    *out = vs_calloc(list->block_count + 1, sizeof(**out));
    for (size_t i = 0; i < list->segment_count; i++) {
        const struct vs_mem_segment *segment = &list->segments[i];
        uint64_t address = segment->address;

        for (size_t j = 0; j < segment->block_count; j++) {
            const struct vs_mem_block *block = &list->blocks[segment->first_block + j];

            if (block->state == VS_MEM_ALLOCATED)
                (*out)[count++] = (struct end_block){.address = address, .block = block};
            address += block->bytes;
        }
    }
    qsort(*out, count, sizeof(**out), by_address);
    return count;
}

/* A pre-existing block that is not freed may have its stack in the state at the end. */
void imp_preexisting_by_stack(const struct imp_deciding *d)
{
    struct end_block *ends;
    const size_t count = end_blocks(d->list, &ends);

    for (size_t b = 0; b < d->count; b++) {
        const struct imp_life *life = &d->lives[b];
        struct vs_event *event = &d->import->events[life->alloc];
        const struct end_block key = {.address = event->alloc.address};
        const struct end_block *end;
        enum vs_category category;

        if (life->made != NEVER || life->freed != NEVER || !count)
            continue;
        end = bsearch(&key, ends, count, sizeof(*ends), by_address);
        category = end && end->block->stack ? stack_decide(d, end->block) : VS_CAT_OTHER;
        if (category != VS_CAT_OTHER)
            event->alloc.category = (uint8_t)category;
    }
    vs_free(ends);
}

/* By the stack of its free. */
enum vs_category imp_preexisting_decide(const struct imp_deciding *d, struct imp_life *life)
{
    const struct vs_callstack *freed = free_stack_of(d, life);

    life->is_decided = life->freed != NEVER;
    if (life->freed == NEVER)
        return life->is_cublas ? VS_CAT_WORKSPACE : VS_CAT_OTHER;
    if (!d->phases->has_stacks)
        return VS_CAT_OTHER;
    if (freed->flags & (VS_STACK_RELEASE | VS_STACK_ENGINE))
        return VS_CAT_SAVED;
    if (freed->flags & VS_STACK_SET_DATA)
        return VS_CAT_PARAMETER;
    if (freed->flags & VS_STACK_SET_GRAD || phase_at(d, life->freed) == VS_PHASE_ZERO_GRAD)
        return VS_CAT_GRADIENT;
    switch ((enum vs_phase)phase_at(d, life->freed)) {
    case VS_PHASE_OPTIMIZER:
        return VS_CAT_OPTIMIZER;
    case VS_PHASE_BACKWARD:
        return VS_CAT_SAVED;
    case VS_PHASE_DATA:
        return VS_CAT_INPUT;
    case VS_PHASE_FORWARD:
    case VS_PHASE_LOSS:
        return VS_CAT_ACTIVATION;
    case VS_PHASE_SETUP:
    case VS_PHASE_ZERO_GRAD:
    case VS_PHASE_COUNT:
        break;
    }
    return VS_CAT_OTHER;
}

static int by_bytes(const void *a, const void *b)
{
    const struct imp_life *x = *(struct imp_life *const *)a;
    const struct imp_life *y = *(struct imp_life *const *)b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->alloc < y->alloc ? -1 : x->alloc > y->alloc;
}

/* Select the blocks for which `wanted` holds, sorted by size and then by order of allocation. */
static size_t lives_pick(const struct imp_deciding *d,
                         bool (*wanted)(const struct imp_deciding *d, const struct imp_life *),
                         struct imp_life ***out)
{
    size_t count = 0, cap = 0;

    *out = NULL;
    for (size_t b = 0; b < d->count; b++)
        if (wanted(d, &d->lives[b])) {
            *out = vs_grow(*out, count, &cap, sizeof(**out));
            (*out)[count++] = &d->lives[b];
        }
    if (count)
        qsort(*out, count, sizeof(**out), by_bytes);
    return count;
}

static bool is_old_and_stays(const struct imp_deciding *d, const struct imp_life *life)
{
    return life->made == NEVER && life->freed == NEVER &&
           d->import->events[life->alloc].alloc.category == VS_CAT_OTHER;
}

/*
 * Whether this is a gradient of one step: of the last step that freed its gradients, or of the only step if none did.
 */
static bool is_gradient_of_step(const struct imp_deciding *d, const struct imp_life *life)
{
    int32_t last = (int32_t)d->steps->count - 1;

    return life->made != NEVER &&
           d->import->events[life->alloc].alloc.category == VS_CAT_GRADIENT &&
           (d->steps->steps[life->made] == last - 1 || last <= 0);
}

/*
 * Pre-existing blocks that are not freed: for each gradient one block of its size is the parameter (the first by
 * address), and two more are the optimizer's. If there was no backward, all such blocks are taken for parameters.
 */
void imp_preexisting_settle(struct imp_deciding *d)
{
    struct imp_life **old;
    struct imp_life **gradients;
    const size_t old_count = lives_pick(d, is_old_and_stays, &old);
    const size_t gradient_count = lives_pick(d, is_gradient_of_step, &gradients);

    for (size_t i = 0, g = 0, end; i < old_count; i = end) {
        size_t same = 0;

        for (end = i; end < old_count && old[end]->bytes == old[i]->bytes;)
            end++;
        while (g < gradient_count && gradients[g]->bytes < old[i]->bytes)
            g++;
        while (g + same < gradient_count && gradients[g + same]->bytes == old[i]->bytes)
            same++;
        for (size_t k = i; k < end; k++) {
            enum vs_category category = VS_CAT_OTHER;

            if (k - i < same || (!gradient_count && d->phases->has_forward))
                category = VS_CAT_PARAMETER;
            else if (k - i < 3 * same)
                category = VS_CAT_OPTIMIZER;
            d->import->events[old[k]->alloc].alloc.category = (uint8_t)category;
        }
    }
    vs_free(old);
    vs_free(gradients);
}
