/*
 * engine/moment.c - see moment.h.
 *
 * Must not know:  the net language; who asks.
 * Invariant:      a thing is numbered when it is first met and described once, in the order of the numbers.
 */
#include "engine/moment_internal.h"

#include <string.h>

#include "base/mem.h"

/* What there mostly is of a tensor that is alive: things that have a number, half of the slots, and words. Only wrong guesses cost anything. */
#define FIRST_SLOTS 1024
#define SLOTS_A_STORAGE 24
#define WORDS_A_STORAGE 112

/* ---- words and numbers ---- */

void eng_moment_put_more(struct eng_moment *m, uint64_t word)
{
    m->words.of = vs_grow(m->words.of, m->words.count, &m->words.cap, sizeof(*m->words.of));
    m->words.of[m->words.count++] = word;
}

/* Where the number of `thing` stands or would stand. */
static inline uint32_t *slot_of(const struct eng_moment *m, const void *thing)
{
    size_t mask = m->slot_count - 1;
    size_t at = (size_t)(((uint64_t)(uintptr_t)thing * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & mask;

    while (m->slots[at] && m->numbered[m->slots[at] - 1] != thing)
        at = (at + 1) & mask;
    return &m->slots[at];
}

static void slots_make(struct eng_moment *m, size_t count)
{
    vs_free(m->slots);
    m->slot_count = count;
    m->slots = vs_calloc(count, sizeof(*m->slots));
    m->numbered = vs_realloc(m->numbered, count / 2, sizeof(*m->numbered));
    for (uint32_t i = 0; i < m->numbers; i++)
        *slot_of(m, m->numbered[i]) = i + 1;
}

uint32_t eng_moment_number(struct eng_moment *m, const void *thing, bool *is_new)
{
    uint32_t *slot = slot_of(m, thing);

    *is_new = !*slot;
    if (*slot)
        return *slot;
    if ((size_t)m->numbers * 2 == m->slot_count) {
        slots_make(m, m->slot_count * 2);
        slot = slot_of(m, thing);
    }
    m->numbered[m->numbers] = thing;
    *slot = ++m->numbers;
    return *slot;
}

static void thing_add(struct eng_moment *m, struct moment_thing thing)
{
    m->things = vs_grow(m->things, m->thing_count, &m->thing_cap, sizeof(*m->things));
    m->things[m->thing_count++] = thing;
}

/* ---- tensors ---- */

uint32_t eng_moment_tensor(struct eng_moment *m, struct eng_tensor *t)
{
    bool is_new;
    uint32_t number = t ? eng_moment_number(m, t, &is_new) : 0;

    if (number && is_new)
        thing_add(m, (struct moment_thing){.kind = THING_TENSOR, .as.tensor = t, .id = t->id});
    return number;
}

static uint32_t storage_number(struct eng_moment *m, struct eng_storage *s)
{
    bool is_new;
    uint32_t number = eng_moment_number(m, s, &is_new);

    if (is_new)
        thing_add(
            m, (struct moment_thing){
                   .kind = THING_STORAGE, .as.storage = s, .id = s->block_id, .block = s->block});
    return number;
}

static uint32_t node_number(struct eng_moment *m, struct eng_node *n)
{
    bool is_new;
    uint32_t number = n ? eng_moment_number(m, n, &is_new) : 0;

    if (number && is_new)
        thing_add(m, (struct moment_thing){.kind = THING_NODE, .as.node = n, .id = n->id});
    return number;
}

/*
 * Its version only counts against what was saved of it, and that is gone; but who shares it does. What its hooks would do is not known here.
 */
static void tensor_put(struct eng_moment *m, const struct eng_tensor *t)
{
    bool is_new;

    eng_moment_put(m, storage_number(m, t->storage));
    eng_moment_put(m, eng_moment_number(m, t->version, &is_new));
    eng_moment_put(m, (uint64_t)t->version->refs << 32 | t->version->writer);
    eng_moment_put(m, node_number(m, t->grad_fn));
    eng_moment_put(m, node_number(m, t->accumulator));
    eng_moment_put(m, eng_moment_tensor(m, t->grad));
    eng_moment_put(m, eng_moment_tensor(m, t->base));
    eng_moment_put(m, t->offset);
    eng_moment_put(m, (uint64_t)t->refs << 32 | t->name);
    eng_moment_put(m, (uint64_t)(t->id != 0) << 63 | (uint64_t)t->output_nr << 32 |
                          (uint64_t)t->dtype << 16 | (uint64_t)t->ndim << 8 |
                          (uint64_t)t->requires_grad << 4 | (uint64_t)t->is_parameter << 3 |
                          (uint64_t)t->is_wrapped_number << 2 | (uint64_t)t->view_kind);
    for (int d = 0; d < t->ndim; d++) {
        eng_moment_put(m, (uint64_t)t->sizes[d]);
        eng_moment_put(m, (uint64_t)t->strides[d]);
    }
    m->is_odd |= t->hooks != NULL;
}

static void storage_put(struct eng_moment *m, const struct eng_storage *s)
{
    eng_moment_put(m, s->bytes);
    eng_moment_put(m, (uint64_t)s->refs << 32 | s->saved_count);
    eng_moment_put(m, (uint64_t)(s->block != NULL) << 16 | (uint64_t)s->category << 8 | s->on_host);
    m->is_odd |= s->data || s->overwritten || s->is_watched;
}

/* Only what is left of a graph that backward has gone through can be told to do nothing more. */
static void node_put(struct eng_moment *m, const struct eng_node *n)
{
    eng_moment_put(m, (uint64_t)n->kind << 32 | n->refs);
    eng_moment_put(m, (uint64_t)(uintptr_t)n->name);
    eng_moment_put(m, (uint64_t)n->released << 48 | (uint64_t)n->edge_count << 32 |
                          (uint64_t)n->saved_count << 16 | n->output_count);
    for (int i = 0; i < n->edge_count; i++)
        eng_moment_put(m, node_number(m, n->edges[i].node));
    for (int i = 0; i < n->saved_count; i++)
        m->is_odd |= n->saved[i].tensor || n->saved[i].checkpoint || n->saved[i].grad_fn;
    m->is_odd |= n->task || n->writer ||
                 (n->kind != ENG_NODE_ACCUMULATE && (n->kind != ENG_NODE_OP || !n->released));
    eng_moment_put(m, eng_moment_tensor(m, n->variable));
}

/* ---- the context ---- */

#define ROOM_MIN (UINT64_C(4) << 40) /* of a device of no stated capacity */

/* Is the device never full, whatever a step asks for, so that the allocator has no reason to give anything back? */
static bool has_room(const struct eng *e)
{
    const struct eng_alloc_conf *conf = eng_alloc_conf_get(e->alloc);
    struct eng_alloc_driver driver = eng_sim_driver_get(e->sim);
    uint64_t left;
    uint64_t total;

    driver.mem_info(driver.user, &left, &total);
    return left >= ROOM_MIN && conf->memory_fraction >= 1.0 && conf->gc_threshold <= 0.0;
}

/* What the context itself is in the midst of, as words; false: of something that cannot be told again. */
static bool context_put(struct eng_moment *m, const struct eng *e)
{
    if (e->failed || e->kernels || e->device || !e->observer || e->target || e->rooms ||
        e->cast_count || e->kernel_depth || e->backward_depth || e->recompute_depth ||
        e->checkpoint || e->live_checkpoints || e->task_id || e->writer || e->is_blaming ||
        e->workspaces[0] || e->workspaces[1] || !has_room(e))
        return false;
    eng_moment_put(m, e->live_storages);
    eng_moment_put(m, (uint64_t)e->grad_enabled << 40 | (uint64_t)e->anomaly << 32 |
                          (uint64_t)e->autocast.enabled << 24 |
                          (uint64_t)e->autocast.cache_enabled << 16 | e->autocast.dtype);
    eng_moment_put(m, (uint64_t)e->autocast_depth << 32 | (uint64_t)e->category);
    eng_moment_put(m, (uint64_t)(uintptr_t)e->module);
    eng_moment_put(m, (uint64_t)(uintptr_t)e->func);
    eng_moment_put(m, (uint64_t)(uintptr_t)e->op);
    eng_moment_put(m, (uint64_t)e->line << 32 | (uint64_t)e->phase);
    eng_moment_put(m, e->asked);
    return true;
}

struct eng_moment *eng_moment_new(struct eng *e, const struct eng_told *told)
{
    struct eng_moment *m = vs_calloc(1, sizeof(*m));
    size_t slots;

    m->e = e;
    m->told = told;
    for (slots = FIRST_SLOTS; slots < e->live_storages * SLOTS_A_STORAGE;)
        slots *= 2;
    slots_make(m, slots);
    m->words.of = vs_reserve(m->words.of, e->live_storages * WORDS_A_STORAGE, &m->words.cap,
                             sizeof(*m->words.of));
    if (!context_put(m, e)) {
        eng_moment_free(m);
        return NULL;
    }
    told->events(told->user, &m->events);
    m->tensor_ids = e->next_tensor_id;
    m->block_ids = e->next_block_id;
    m->node_ids = e->next_node_id;
    m->counters = e->counters;
    return m;
}

void eng_moment_free(struct eng_moment *m)
{
    if (!m)
        return;
    vs_free(m->words.of);
    vs_free(m->slots);
    vs_free(m->numbered);
    vs_free(m->things);
    for (int i = 0; i < THING_KIND_COUNT; i++)
        vs_free(m->names[i].now);
    vs_free(m->blocks);
    vs_free(m);
}

bool eng_moment_close(struct eng_moment *m)
{
    for (size_t i = 0; i < m->thing_count; i++) { /* describing one may name others */
        struct moment_thing thing = m->things[i];

        eng_moment_put(m, thing.kind);
        if (thing.kind == THING_TENSOR)
            tensor_put(m, thing.as.tensor);
        else if (thing.kind == THING_STORAGE)
            storage_put(m, thing.as.storage);
        else
            node_put(m, thing.as.node);
    }
    vs_free(m->slots); /* of no more use, and what has a number will die */
    vs_free(m->numbered);
    m->slots = NULL;
    m->numbered = NULL;
    return !m->is_odd;
}

bool eng_moment_equal(const struct eng_moment *a, const struct eng_moment *b)
{
    return a->words.count == b->words.count && a->thing_count == b->thing_count &&
           memcmp(a->words.of, b->words.of, a->words.count * sizeof(*a->words.of)) == 0;
}

uint64_t eng_moment_events(const struct eng_moment *m)
{
    return m->events;
}
