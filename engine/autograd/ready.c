/*
 * engine/autograd/ready.c - see ready.h.
 *
 * Must not know:  what is done with the order.
 * Invariant:      `leaves` is in the order of their numbers, `order` in that of their gradients.
 */
#include "engine/autograd/ready.h"

#include <stdlib.h>

#include "base/mem.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/core/engine_internal.h"

struct leaf {
    uint64_t born;
    size_t idx;
    bool is_ready;
};

struct eng_ready {
    struct leaf *leaves;
    size_t *order;
    size_t count;
    size_t ready;
    bool is_done; /* the backward in which the last leaf received its gradient has ended */
};

static int by_born(const void *a, const void *b)
{
    uint64_t x = ((const struct leaf *)a)->born;
    uint64_t y = ((const struct leaf *)b)->born;

    return x < y ? -1 : x > y;
}

void eng_ready_free(struct eng_ready *ready)
{
    if (!ready)
        return;
    vs_free(ready->leaves);
    vs_free(ready->order);
    vs_free(ready);
}

void eng_ready_expect(struct eng *e, struct eng_tensor *const *leaves, size_t count)
{
    struct eng_ready *ready = vs_calloc(1, sizeof(*ready));

    ready->leaves = vs_calloc(count + 1, sizeof(*ready->leaves));
    ready->order = vs_calloc(count + 1, sizeof(*ready->order));
    ready->count = count;
    for (size_t i = 0; i < count; i++)
        ready->leaves[i] = (struct leaf){.born = leaves[i]->born, .idx = i};
    qsort(ready->leaves, count, sizeof(*ready->leaves), by_born);
    eng_ready_free(e->ready);
    e->ready = ready;
}

void eng_ready_note(struct eng *e, const struct eng_tensor *leaf)
{
    struct eng_ready *ready = e->ready;
    struct leaf key = {.born = leaf->born};
    struct leaf *found;

    if (ready->is_done)
        return;
    found = bsearch(&key, ready->leaves, ready->count, sizeof(*ready->leaves), by_born);
    if (!found)
        return;
    if (found->is_ready) {
        eng_fail(e, VS_E_AUTOGRAD,
                 "Expected to mark a variable ready only once: parameter at index %zu has been "
                 "marked as ready twice, which means that several autograd hooks have fired for "
                 "it during this iteration; a part that is used more than once cannot be "
                 "checkpointed with use_reentrant=True, or the graph has been walked twice",
                 found->idx);
        return;
    }
    found->is_ready = true;
    ready->order[ready->ready++] = found->idx;
}

void eng_ready_backward_end(struct eng *e)
{
    e->ready->is_done |= e->ready->ready == e->ready->count;
}

size_t eng_ready_count(const struct eng *e)
{
    return e->ready ? e->ready->ready : 0;
}

size_t eng_ready_at(const struct eng *e, size_t i)
{
    VS_ASSERT(e->ready && i < e->ready->ready);
    return e->ready->order[i];
}
