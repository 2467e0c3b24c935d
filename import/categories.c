/*
 * import/categories.c - see categories.h.
 */
#include "import/categories_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/between.h"

/* Sizes of the workspace that cuBLAS allocates once per thread and keeps: 8 MiB + 128 KiB, or 32 MiB on newer GPUs. */
static const uint64_t CUBLAS_BYTES[] = {8519680, 33554432};

static bool is_cublas_size(uint64_t bytes)
{
    for (size_t i = 0; i < sizeof(CUBLAS_BYTES) / sizeof(CUBLAS_BYTES[0]); i++)
        if (bytes == CUBLAS_BYTES[i])
            return true;
    return false;
}

/* The same in every phase. */
enum vs_category imp_moved_decide(const struct imp_stack *role)
{
    return role->is_grad ? VS_CAT_GRADIENT : role->is_buffer ? VS_CAT_BUFFER : VS_CAT_PARAMETER;
}

/* ---- lifetimes ---- */

static void lives_fill(struct imp_deciding *d)
{
    const struct imp_import *import = d->import;
    size_t cap = 0;

    for (size_t i = 0; i < import->event_count; i++) {
        const struct vs_event *event = &import->events[i];
        const size_t from = import->from[i] ? import->from[i] - 1 : NEVER;

        if (event->kind == VS_EV_ALLOC) {
            d->lives = vs_grow(d->lives, d->count, &cap, sizeof(*d->lives));
            d->lives[d->count++] = (struct imp_life){
                .alloc = i, .made = from, .freed = NEVER, .bytes = event->alloc.requested_bytes};
            VS_ASSERT(event->alloc.block == d->count);
        } else if (event->kind == VS_EV_FREE && event->free.block) {
            d->lives[event->free.block - 1].freed = from;
        }
    }
}

static void stretches_fill(struct imp_deciding *d)
{
    const size_t count = d->list->event_count;

    d->stretch_end = vs_calloc(count + 1, sizeof(*d->stretch_end));
    for (size_t i = count; i-- > 0;)
        d->stretch_end[i] =
            i + 1 < count && phase_at(d, i + 1) == phase_at(d, i) ? d->stretch_end[i + 1] : i;
}

/* ---- cuBLAS's workspace ---- */

/* Of a tensor the shape may have been observed; C++ frames say whose memory it is. */
static bool may_be_cublas(const struct imp_deciding *d, const struct imp_life *life)
{
    const struct vs_mem_facts *facts =
        life->made == NEVER ? NULL : vs_memlist_facts(d->list, &d->list->events[life->made]);

    return life->freed == NEVER && is_cublas_size(life->bytes) && !stack_of(d, life->made)->flags &&
           !(facts && facts->has_tensor);
}

/* What a block that may be cuBLAS's has in common with another that it would allocate for the same reason. */
struct cublas {
    uint64_t stream;
    uint32_t stack;
    struct imp_life *life;
};

static int by_stack(const void *a, const void *b)
{
    const struct cublas *x = a;
    const struct cublas *y = b;

    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    return x->stream < y->stream ? -1 : x->stream > y->stream;
}

/*
 * A line needs one workspace on a stream. More blocks of that size which it keeps are tensors; where no line is known,
 * more than two: backward has a thread of its own.
 */
static void cublas_find(struct imp_deciding *d)
{
    struct cublas *found = NULL;
    size_t count = 0, cap = 0;

    for (size_t b = 0; b < d->count; b++) {
        struct imp_life *life = &d->lives[b];
        const struct vs_mem_event *made = life->made == NEVER ? NULL : &d->list->events[life->made];

        if (!may_be_cublas(d, life))
            continue;
        found = vs_grow(found, count, &cap, sizeof(*found));
        found[count++] = (struct cublas){made ? made->stream : 0, made ? made->stack : 0, life};
    }
    if (count)
        qsort(found, count, sizeof(*found), by_stack);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && by_stack(&found[i], &found[end]) == 0;)
            end++;
        for (size_t k = i; k < end; k++)
            found[k].life->is_cublas = end - i <= (found[i].stack ? 1 : 2);
    }
    vs_free(found);
}

/* ---- category of an observed allocation ---- */

/* Whether what autograd does with the block was observed: then it changes its category when that happens. */
static bool is_observed(const struct imp_deciding *d, const struct imp_life *life)
{
    return d->list->has_saves && d->list->events[life->made].facts &&
           d->list->events[life->made].cls == VS_MEM_TENSOR;
}

/* The category in which the engine allocates in forward, loss and backward. */
static enum vs_category observed_decide(const struct imp_deciding *d, struct imp_life *life)
{
    const bool is_backward = phase_at(d, life->made) == VS_PHASE_BACKWARD;

    life->is_decided = true;
    if (d->between[life->made] & IMP_BETWEEN_CAST)
        return VS_CAT_CAST;
    return is_backward && !role_of(d, life->made)->is_recompute ? VS_CAT_TEMPORARY
                                                                : VS_CAT_ACTIVATION;
}

/* ---- category by the phase of the allocation ---- */

/* Allocated in forward or loss. */
static enum vs_category forward_decide(const struct imp_deciding *d, struct imp_life *life)
{
    const struct vs_callstack *freed = free_stack_of(d, life);

    life->is_decided = life->freed != NEVER;
    if (stack_of(d, life->made)->flags & VS_STACK_CAST)
        return VS_CAT_CAST;
    /* without C++ frames a library workspace can only be recognised by its short lifetime */
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

/* A block allocated in backward that is not freed in it is a gradient. */
static enum vs_category backward_decide(const struct imp_deciding *d, struct imp_life *life)
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
    /* allocated by Python code outside of the graph: a gradient scaler's tensor, the root of a backward */
    if (stack_of(d, life->made)->count && !(stack_of(d, life->made)->flags & VS_STACK_ENGINE))
        return VS_CAT_OTHER;
    life->is_decided = end + 1 < d->list->event_count;
    return life->is_decided ? VS_CAT_GRADIENT : VS_CAT_TEMPORARY;
}

/* The location of an event as a key. */
static uint64_t location_key(const struct vs_mem_event *event)
{
    return (uint64_t)event->file << 32 | event->line;
}

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/*
 * Lines of `.data = …` that free a tensor: a tensor that is allocated there and kept is the new storage of the
 * parameter.
 */
static size_t data_lines(const struct imp_deciding *d, uint64_t **out)
{
    size_t count = 0, cap = 0;

    *out = NULL;
    for (size_t i = 0; i < d->list->event_count && d->phases->has_free_stacks; i++)
        if (d->list->events[i].kind == VS_MEM_FREE_REQUESTED &&
            stack_of(d, i)->flags & VS_STACK_SET_DATA) {
            *out = vs_grow(*out, count, &cap, sizeof(**out));
            (*out)[count++] = location_key(&d->list->events[i]);
        }
    if (count)
        qsort(*out, count, sizeof(**out), by_key);
    return count;
}

static enum vs_category optimizer_decide(const struct imp_deciding *d, struct imp_life *life,
                                         const uint64_t *lines, size_t line_count)
{
    const uint64_t key = location_key(&d->list->events[life->made]);

    life->is_decided = true;
    if (role_of(d, life->made)->is_state)
        return VS_CAT_OPTIMIZER;
    if (dies_in_phase(d, life))
        return VS_CAT_TEMPORARY;
    if (line_count && bsearch(&key, lines, line_count, sizeof(*lines), by_key))
        return VS_CAT_PARAMETER;
    return VS_CAT_OPTIMIZER;
}

/* Allocated while something is constructed or loaded. */
static enum vs_category setup_decide(const struct imp_deciding *d, struct imp_life *life)
{
    const struct imp_stack *role = role_of(d, life->made);

    life->is_decided = true;
    if (role->is_state)
        return VS_CAT_OPTIMIZER;
    if (dies_in_phase(d, life))
        return VS_CAT_TEMPORARY;
    return role->run == IMP_RUN_LOAD ? VS_CAT_PARAMETER : VS_CAT_OTHER;
}

static enum vs_category made_decide(const struct imp_deciding *d, struct imp_life *life,
                                    const uint64_t *lines, size_t line_count)
{
    const struct imp_stack *role = role_of(d, life->made);

    life->is_decided = true;
    if (d->list->events[life->made].cls != VS_MEM_TENSOR || role->is_compile)
        return VS_CAT_WORKSPACE;
    if (role->is_apply)
        return imp_moved_decide(role);
    if (role->is_bucket)
        return dies_in_phase(d, life) ? VS_CAT_TEMPORARY : VS_CAT_GRADIENT;
    if (!d->phases->has_stacks)
        return VS_CAT_OTHER;
    if (life->is_cublas)
        return VS_CAT_WORKSPACE;
    switch ((enum vs_phase)phase_at(d, life->made)) {
    case VS_PHASE_SETUP:
        return setup_decide(d, life);
    case VS_PHASE_DATA:
        return dies_in_phase(d, life) ? VS_CAT_TEMPORARY : VS_CAT_INPUT;
    case VS_PHASE_FORWARD:
    case VS_PHASE_LOSS:
        return is_observed(d, life) ? observed_decide(d, life) : forward_decide(d, life);
    case VS_PHASE_BACKWARD:
        return is_observed(d, life) ? observed_decide(d, life) : backward_decide(d, life);
    case VS_PHASE_ZERO_GRAD:
        return dies_in_phase(d, life) ? VS_CAT_TEMPORARY : VS_CAT_GRADIENT;
    case VS_PHASE_OPTIMIZER:
        return optimizer_decide(d, life, lines, line_count);
    case VS_PHASE_COUNT:
        break;
    }
    return VS_CAT_OTHER;
}

/* ---- blocks that are not freed ---- */

/* Blocks of one stack, and the categories of those that were freed. */
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

/* Give a block that is not freed the most frequent category of the freed blocks with the same stack. */
static void undecided_settle(struct imp_deciding *d)
{
    struct vote *votes = vs_calloc(d->list->stacks.count + 1, sizeof(*votes));

    for (size_t b = 0; b < d->count; b++)
        if (d->lives[b].is_decided && d->lives[b].made != NEVER)
            votes[d->list->events[d->lives[b].made].stack]
                .counts[d->import->events[d->lives[b].alloc].alloc.category]++;
    for (size_t b = 0; b < d->count; b++) {
        const struct imp_life *life = &d->lives[b];
        struct vs_event *event = &d->import->events[life->alloc];

        if (!life->is_decided && life->made != NEVER && d->list->events[life->made].stack)
            event->alloc.category = (uint8_t)winner(&votes[d->list->events[life->made].stack],
                                                    (enum vs_category)event->alloc.category);
    }
    vs_free(votes);
}

/* A category stored in the recording replaces the derived one. */
static void recorded_take(struct imp_deciding *d)
{
    for (size_t b = 0; b < d->count; b++) {
        const struct imp_life *life = &d->lives[b];
        uint8_t recorded = life->made == NEVER ? 0 : d->list->events[life->made].category;

        /* of a gradient it was observed when it became one */
        if (recorded && !(recorded == VS_CAT_GRADIENT + 1 && is_observed(d, life) &&
                          d->between[life->made] & IMP_BETWEEN_GRADIENT))
            d->import->events[life->alloc].alloc.category = (uint8_t)(recorded - 1);
    }
}

void imp_categories_fill(struct imp_import *import, const struct vs_memlist *list,
                         const struct imp_roles *roles, const struct imp_phases *phases,
                         const struct imp_steps *steps)
{
    struct imp_deciding d = {
        .import = import, .list = list, .roles = roles, .phases = phases, .steps = steps};
    uint64_t *lines;
    size_t line_count;

    lives_fill(&d);
    cublas_find(&d);
    d.between = imp_between_flags(list);
    stretches_fill(&d);
    line_count = data_lines(&d, &lines);
    for (size_t b = 0; b < d.count; b++) {
        struct imp_life *life = &d.lives[b];

        import->events[life->alloc].alloc.category =
            (uint8_t)(life->made == NEVER ? imp_preexisting_decide(&d, life)
                                          : made_decide(&d, life, lines, line_count));
    }
    imp_preexisting_by_stack(&d);
    undecided_settle(&d);
    if (phases->has_stacks)
        imp_preexisting_settle(&d);
    recorded_take(&d);
    vs_free(lines);
    vs_free(d.lives);
    vs_free(d.between);
    vs_free(d.stretch_end);
}
