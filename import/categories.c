/*
 * import/categories.c - see categories.h.
 */
#include "import/categories.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

#define NEVER SIZE_MAX

/* What cuBLAS asks for, once a thread, and keeps: 8 MiB and 128 KiB, or 32 MiB on newer GPUs. */
static const uint64_t CUBLAS_BYTES[] = {8519680, 33554432};

/*
 * One block. alloc: its event of the trace; made, freed: its events of the list, NEVER: before it began, after it ended. stretch: number of
 * the stretch of one phase it was made in.
 */
struct life {
    size_t alloc;
    size_t made;
    size_t freed;
    uint64_t bytes;
    bool is_decided;
};

struct deciding {
    struct imp_import *import;
    const struct vs_memlist *list;
    const struct imp_roles *roles;
    const struct imp_phases *phases;
    const struct imp_steps *steps;
    struct life *lives;
    size_t count;
    size_t *stretch_end; /* of each event of the list: the last event of its stretch of one phase */
};

static const struct vs_callstack NO_STACK = {.count = 0};

static const struct vs_callstack *stack_of(const struct deciding *d, size_t at)
{
    const uint32_t id = at == NEVER ? 0 : d->list->events[at].stack;

    return id ? vs_callstacks_get(&d->list->stacks, id) : &NO_STACK;
}

static const struct imp_stack *role_of(const struct deciding *d, size_t at)
{
    return imp_roles_stack(d->roles, at == NEVER ? 0 : d->list->events[at].stack);
}

static uint8_t phase_at(const struct deciding *d, size_t at)
{
    return d->phases->phases[at];
}

/* The stack that let it go; none where frees repeat the allocation's. */
static const struct vs_callstack *free_stack_of(const struct deciding *d, const struct life *life)
{
    return d->phases->has_free_stacks ? stack_of(d, life->freed) : &NO_STACK;
}

/* Is it gone before the stretch of its phase is over? */
static bool dies_in_phase(const struct deciding *d, const struct life *life)
{
    return life->freed != NEVER && life->freed <= d->stretch_end[life->made];
}

static bool is_cublas(uint64_t bytes)
{
    for (size_t i = 0; i < sizeof(CUBLAS_BYTES) / sizeof(CUBLAS_BYTES[0]); i++)
        if (bytes == CUBLAS_BYTES[i])
            return true;
    return false;
}

/* ---- lives ---- */

static void lives_fill(struct deciding *d)
{
    const struct imp_import *import = d->import;
    size_t cap = 0;

    for (size_t i = 0; i < import->event_count; i++) {
        const struct vs_event *event = &import->events[i];
        const size_t from = import->from[i] ? import->from[i] - 1 : NEVER;

        if (event->kind == VS_EV_ALLOC) {
            d->lives = vs_grow(d->lives, d->count, &cap, sizeof(*d->lives));
            d->lives[d->count++] =
                (struct life){.alloc = i, .made = from, .freed = NEVER, .bytes = event->b};
            VS_ASSERT(event->a == d->count);
        } else if (event->kind == VS_EV_FREE && event->a) {
            d->lives[event->a - 1].freed = from;
        }
    }
}

static void stretches_fill(struct deciding *d)
{
    const size_t count = d->list->event_count;

    d->stretch_end = vs_calloc(count + 1, sizeof(*d->stretch_end));
    for (size_t i = count; i-- > 0;)
        d->stretch_end[i] =
            i + 1 < count && phase_at(d, i + 1) == phase_at(d, i) ? d->stretch_end[i + 1] : i;
}

/* ---- by the phase it was made in ---- */

/* In the forward or the loss. */
static enum vs_category forward_decide(const struct deciding *d, struct life *life)
{
    const struct vs_callstack *freed = free_stack_of(d, life);

    life->is_decided = life->freed != NEVER;
    if (stack_of(d, life->made)->flags & VS_STACK_CAST)
        return VS_CAT_CAST;
    /* without C++ frames a library's workspace is only told by how short it lives */
    if (!(stack_of(d, life->made)->flags & VS_STACK_HAS_CPP) && life->freed == life->made + 1)
        return VS_CAT_TEMPORARY;
    if (freed->flags & (VS_STACK_RELEASE | VS_STACK_ENGINE))
        return VS_CAT_SAVED;
    if (life->freed != NEVER && phase_at(d, life->freed) == VS_PHASE_BACKWARD && !freed->count)
        return VS_CAT_SAVED;
    if (freed->flags & VS_STACK_INSIDE_OP && dies_in_phase(d, life))
        return VS_CAT_TEMPORARY;
    return VS_CAT_ACTIVATION;
}

/* What outlives the backward that made it is a gradient that was kept. */
static enum vs_category backward_decide(const struct deciding *d, struct life *life)
{
    const size_t end = d->stretch_end[life->made];

    if (role_of(d, life->made)->is_recompute) {
        enum vs_category category = forward_decide(d, life);

        return category == VS_CAT_SAVED || category == VS_CAT_CAST ? category : VS_CAT_TEMPORARY;
    }
    life->is_decided = true;
    if (stack_of(d, life->made)->flags & VS_STACK_ACCUMULATE)
        return VS_CAT_GRADIENT;
    if (dies_in_phase(d, life))
        return VS_CAT_TEMPORARY;
    /* made beside the graph, in Python: a gradient scaler's own, the root of a backward */
    if (stack_of(d, life->made)->count && !(stack_of(d, life->made)->flags & VS_STACK_ENGINE))
        return VS_CAT_OTHER;
    life->is_decided = end + 1 < d->list->event_count;
    return life->is_decided ? VS_CAT_GRADIENT : VS_CAT_TEMPORARY;
}

/* The place of an event as a key. */
static uint64_t place_key(const struct vs_mem_event *event)
{
    return (uint64_t)event->file << 32 | event->line;
}

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Lines at which `.data = …` let go of a tensor: what is made there and kept is the parameter that took its place. */
static size_t data_lines(const struct deciding *d, uint64_t **out)
{
    size_t count = 0, cap = 0;

    *out = NULL;
    for (size_t i = 0; i < d->list->event_count && d->phases->has_free_stacks; i++)
        if (d->list->events[i].kind == VS_MEM_FREE_REQUESTED &&
            stack_of(d, i)->flags & VS_STACK_SET_DATA) {
            *out = vs_grow(*out, count, &cap, sizeof(**out));
            (*out)[count++] = place_key(&d->list->events[i]);
        }
    if (count)
        qsort(*out, count, sizeof(**out), by_key);
    return count;
}

static enum vs_category optimizer_decide(const struct deciding *d, struct life *life,
                                         const uint64_t *lines, size_t line_count)
{
    const uint64_t key = place_key(&d->list->events[life->made]);

    life->is_decided = true;
    if (role_of(d, life->made)->is_state)
        return VS_CAT_OPTIMIZER;
    if (dies_in_phase(d, life))
        return VS_CAT_TEMPORARY;
    if (line_count && bsearch(&key, lines, line_count, sizeof(*lines), by_key))
        return VS_CAT_PARAMETER;
    return VS_CAT_OPTIMIZER;
}

/* While something is built or loaded. */
static enum vs_category setup_decide(const struct deciding *d, struct life *life)
{
    const struct imp_stack *role = role_of(d, life->made);

    life->is_decided = true;
    if (role->is_state)
        return VS_CAT_OPTIMIZER;
    if (dies_in_phase(d, life))
        return VS_CAT_TEMPORARY;
    return role->run == IMP_RUN_LOAD ? VS_CAT_PARAMETER : VS_CAT_OTHER;
}

/* What a module moves is what it holds, whenever that is. */
static enum vs_category moved_decide(const struct imp_stack *role)
{
    return role->is_grad ? VS_CAT_GRADIENT : role->is_buffer ? VS_CAT_BUFFER : VS_CAT_PARAMETER;
}

static enum vs_category made_decide(const struct deciding *d, struct life *life,
                                    const uint64_t *lines, size_t line_count)
{
    const struct imp_stack *role = role_of(d, life->made);

    life->is_decided = true;
    if (d->list->events[life->made].cls != VS_MEM_TENSOR || role->is_compile)
        return VS_CAT_WORKSPACE;
    if (role->is_apply)
        return moved_decide(role);
    if (!d->phases->has_stacks)
        return VS_CAT_OTHER;
    if (life->freed == NEVER && is_cublas(life->bytes) && !stack_of(d, life->made)->flags)
        return VS_CAT_WORKSPACE;
    switch ((enum vs_phase)phase_at(d, life->made)) {
    case VS_PHASE_SETUP:
        return setup_decide(d, life);
    case VS_PHASE_DATA:
        return dies_in_phase(d, life) ? VS_CAT_TEMPORARY : VS_CAT_INPUT;
    case VS_PHASE_FORWARD:
    case VS_PHASE_LOSS:
        return forward_decide(d, life);
    case VS_PHASE_BACKWARD:
        return backward_decide(d, life);
    case VS_PHASE_ZERO_GRAD:
        return dies_in_phase(d, life) ? VS_CAT_TEMPORARY : VS_CAT_GRADIENT;
    case VS_PHASE_OPTIMIZER:
        return optimizer_decide(d, life, lines, line_count);
    case VS_PHASE_COUNT:
        break;
    }
    return VS_CAT_OTHER;
}

/* ---- what is still there at the end ---- */

/* Blocks of one stack, and what those that ended came to. */
struct vote {
    uint32_t stack;
    uint32_t counts[VS_CATEGORY_COUNT];
};

static enum vs_category winner(const struct vote *vote, enum vs_category otherwise)
{
    enum vs_category best = otherwise;

    for (size_t c = 0; c < VS_CATEGORY_COUNT; c++)
        if (vote->counts[c] > vote->counts[best])
            best = (enum vs_category)c;
    return best;
}

/* A block that never ended is what others of its stack came to be. */
static void undecided_settle(struct deciding *d)
{
    struct vote *votes = vs_calloc(d->list->stacks.count + 1, sizeof(*votes));

    for (size_t b = 0; b < d->count; b++)
        if (d->lives[b].is_decided && d->lives[b].made != NEVER)
            votes[d->list->events[d->lives[b].made].stack]
                .counts[d->import->events[d->lives[b].alloc].aux]++;
    for (size_t b = 0; b < d->count; b++) {
        const struct life *life = &d->lives[b];
        struct vs_event *event = &d->import->events[life->alloc];

        if (!life->is_decided && life->made != NEVER && d->list->events[life->made].stack)
            event->aux = (uint8_t)winner(&votes[d->list->events[life->made].stack],
                                         (enum vs_category)event->aux);
    }
    vs_free(votes);
}

/* ---- what was there before the recording began ---- */

/* By the stack that the state at the end has of it. */
static enum vs_category stack_decide(const struct deciding *d, const struct vs_mem_block *block)
{
    const struct imp_stack *role = imp_roles_stack(d->roles, block->stack);

    if (block->cls != VS_MEM_TENSOR)
        return VS_CAT_WORKSPACE;
    if (role->is_apply)
        return moved_decide(role);
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

/* Blocks at the end, by address. O(n); segments come in order of address. */
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

/* What is older than the recording and outlives it may have its stack in the state at the end. */
static void ends_decide(const struct deciding *d)
{
    struct end_block *ends;
    const size_t count = end_blocks(d->list, &ends);

    for (size_t b = 0; b < d->count; b++) {
        const struct life *life = &d->lives[b];
        struct vs_event *event = &d->import->events[life->alloc];
        const struct end_block key = {.address = event->d};
        const struct end_block *end;
        enum vs_category category;

        if (life->made != NEVER || life->freed != NEVER || !count)
            continue;
        end = bsearch(&key, ends, count, sizeof(*ends), by_address);
        category = end && end->block->stack ? stack_decide(d, end->block) : VS_CAT_OTHER;
        if (category != VS_CAT_OTHER)
            event->aux = (uint8_t)category;
    }
    vs_free(ends);
}

/* By who let it go. */
static enum vs_category before_decide(const struct deciding *d, struct life *life)
{
    const struct vs_callstack *freed = free_stack_of(d, life);

    life->is_decided = life->freed != NEVER;
    if (life->freed == NEVER)
        return is_cublas(life->bytes) ? VS_CAT_WORKSPACE : VS_CAT_OTHER;
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
    const struct life *x = *(struct life *const *)a;
    const struct life *y = *(struct life *const *)b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->alloc < y->alloc ? -1 : x->alloc > y->alloc;
}

/* Lives for which `wanted` holds, by bytes and then in order of allocation. */
static size_t lives_pick(const struct deciding *d,
                         bool (*wanted)(const struct deciding *d, const struct life *),
                         struct life ***out)
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

static bool is_old_and_stays(const struct deciding *d, const struct life *life)
{
    return life->made == NEVER && life->freed == NEVER &&
           d->import->events[life->alloc].aux == VS_CAT_OTHER;
}

/* The gradients of one step, the last that was seen to let them go or, where none did, of the only one. */
static bool is_gradient_of_step(const struct deciding *d, const struct life *life)
{
    int32_t last = (int32_t)d->steps->count - 1;

    return life->made != NEVER && d->import->events[life->alloc].aux == VS_CAT_GRADIENT &&
           (d->steps->steps[life->made] == last - 1 || last <= 0);
}

/*
 * What is older than the recording and outlives it: for each gradient of a size one block of that size is the parameter, the first by
 * address; two more are the optimizer's. Where nothing was computed backward, what stays is taken for the model.
 */
static void old_settle(struct deciding *d)
{
    struct life **old;
    struct life **gradients;
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
            d->import->events[old[k]->alloc].aux = (uint8_t)category;
        }
    }
    vs_free(old);
    vs_free(gradients);
}

/* What the recording itself says of an allocation counts, whatever would have been derived. */
static void told_take(struct deciding *d)
{
    for (size_t b = 0; b < d->count; b++) {
        const struct life *life = &d->lives[b];
        uint8_t told = life->made == NEVER ? 0 : d->list->events[life->made].category;

        if (told)
            d->import->events[life->alloc].aux = (uint8_t)(told - 1);
    }
}

void imp_categories_fill(struct imp_import *import, const struct vs_memlist *list,
                         const struct imp_roles *roles, const struct imp_phases *phases,
                         const struct imp_steps *steps)
{
    struct deciding d = {
        .import = import, .list = list, .roles = roles, .phases = phases, .steps = steps};
    uint64_t *lines;
    size_t line_count;

    lives_fill(&d);
    stretches_fill(&d);
    line_count = data_lines(&d, &lines);
    for (size_t b = 0; b < d.count; b++) {
        struct life *life = &d.lives[b];

        import->events[life->alloc].aux =
            (uint8_t)(life->made == NEVER ? before_decide(&d, life)
                                          : made_decide(&d, life, lines, line_count));
    }
    ends_decide(&d);
    undecided_settle(&d);
    if (phases->has_stacks)
        old_settle(&d);
    told_take(&d);
    vs_free(lines);
    vs_free(d.lives);
    vs_free(d.stretch_end);
}
