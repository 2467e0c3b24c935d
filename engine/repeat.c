/*
 * engine/repeat.c - the events between two equal moments, told once more; see moment.h.
 *
 * Must not know:  the net language.
 * Invariant:      a number that was given away between the moments becomes the one that would be given away now; one from before becomes that of
 *                 the thing that stands in its place now.
 */
#include <string.h>

#include "base/mem.h"
#include "engine/moment_internal.h"

/* ---- numbers ---- */

static uint64_t given(const struct eng_moment *m, enum moment_kind kind)
{
    return kind == THING_TENSOR    ? m->tensor_ids
           : kind == THING_STORAGE ? m->block_ids
                                   : m->node_ids;
}

/*
 * How a number of one kind is changed: what was given away since `before` is `by` more, what is older is found in a table. [0] leaves a number as
 * it is: `before` is 0, and so is `by`.
 */
struct naming {
    uint64_t before;
    uint64_t by;
    const uint64_t *now;
};
#define NAMING_COUNT (THING_KIND_COUNT + 1)

static void naming_init(struct naming naming[], const struct eng_moment *from,
                        const struct eng_moment *to)
{
    static const uint64_t NOTHING = 0;

    naming[0] = (struct naming){.now = &NOTHING};
    for (int kind = 0; kind < THING_KIND_COUNT; kind++) {
        uint64_t before = given(from, (enum moment_kind)kind);

        naming[kind + 1] = (struct naming){before, given(to, (enum moment_kind)kind) - before,
                                           from->names[kind].now};
    }
}

/* 0 stays 0. Also 0: it was there before, and nobody knows it. */
static inline uint64_t name_now(const struct naming *naming, uint64_t id)
{
    return id > naming->before ? id + naming->by : naming->now[id];
}

static void names_fill(struct eng_moment *from, const struct eng_moment *to)
{
    for (int kind = 0; kind < THING_KIND_COUNT; kind++) {
        struct moment_names *names = &from->names[kind];
        size_t count = (size_t)given(from, (enum moment_kind)kind) + 1;

        if (count > names->count) {
            names->now = vs_realloc(names->now, count, sizeof(*names->now));
            memset(names->now + names->count, 0, (count - names->count) * sizeof(*names->now));
            names->count = count;
        }
    }
    for (size_t i = 0; i < from->thing_count; i++)
        from->names[from->things[i].kind].now[from->things[i].id] = to->things[i].id;
}

/* ---- is it possible ---- */

/*
 * Which numbers an event has: the kinds of thing that a, b, c and e are numbers of, + 1. acts: more than its numbers has to be seen to when it is
 * told again.
 */
struct numbers {
    bool is_known;
    bool acts;
    uint8_t a, b, c, e;
};

#define T (THING_TENSOR + 1)
#define B (THING_STORAGE + 1)
#define N (THING_NODE + 1)

/* Kinds that are not here cannot be told again. Segments are: the allocator will see to its own. */
static const struct numbers NUMBERS[VS_EVENT_KIND_COUNT] = {
    [VS_EV_ALLOC] = {true, true, B, 0, 0, T},
    [VS_EV_FREE] = {true, true, B, 0, 0, 0},
    [VS_EV_CATEGORY] = {true, false, B, 0, 0, 0},
    [VS_EV_SAVE] = {true, false, B, T, N, 0},
    [VS_EV_UNSAVE] = {true, false, B, T, N, 0},
    [VS_EV_HOLD] = {true, false, B, T, 0, 0},
    [VS_EV_DROP] = {true, false, B, T, 0, 0},
    [VS_EV_USE] = {true, false, B, T, 0, 0},
    [VS_EV_CAST] = {true, false, B, B, 0, 0},
    [VS_EV_OP_BEGIN] = {true, false, 0, N, 0, 0},
    [VS_EV_OP_END] = {true, false, 0, N, 0, 0},
    [VS_EV_SEGMENT_ALLOC] = {true, true, 0, 0, 0, 0},
    [VS_EV_SEGMENT_MAP] = {true, true, 0, 0, 0, 0},
    [VS_EV_RECOMPUTE_BEGIN] = {true, false, 0, 0, 0, 0},
    [VS_EV_RECOMPUTE_END] = {true, false, 0, 0, 0, 0},
    [VS_EV_PHASE] = {true, false, 0, 0, 0, 0},
    [VS_EV_STEP] = {true, true, 0, 0, 0, 0},
};

/* The same with the kinds' tables at hand, for loops over all events of a step; c, e: NULL where they are no such numbers. */
struct plan {
    const struct naming *a, *b, *c, *e;
    bool is_known;
    bool acts;
    bool has_more; /* than a and b */
    bool tells_tensor;
};

static void plans_make(struct plan plans[], const struct naming naming[])
{
    for (int kind = 0; kind < VS_EVENT_KIND_COUNT; kind++) {
        const struct numbers *n = &NUMBERS[kind];

        plans[kind] = (struct plan){.a = &naming[n->a],
                                    .b = &naming[n->b],
                                    .c = n->c ? &naming[n->c] : NULL,
                                    .e = n->e ? &naming[n->e] : NULL,
                                    .is_known = n->is_known,
                                    .acts = n->acts,
                                    .has_more = n->c || n->e,
                                    .tells_tensor = n->b == T};
    }
}

static inline bool is_named(const struct naming *naming, uint64_t id)
{
    return id > naming->before || !id || naming->now[id];
}

static bool all_named(const struct naming naming[], const struct vs_event *ev,
                      const struct vs_event *end)
{
    struct plan plans[VS_EVENT_KIND_COUNT];

    plans_make(plans, naming);
    for (; ev < end; ev++) {
        const struct plan *plan = &plans[ev->kind];

        if (!plan->is_known || !is_named(plan->a, ev->a) || !is_named(plan->b, ev->b))
            return false;
        if (plan->has_more &&
            ((plan->c && !is_named(plan->c, ev->c)) || (plan->e && !is_named(plan->e, ev->e))))
            return false;
    }
    return true;
}

bool eng_repeat_possible(const struct eng_moment *from, const struct eng_moment *to)
{
    struct eng_moment names = *from; /* for its names alone */
    struct naming naming[NAMING_COUNT];
    uint64_t count;
    const struct vs_event *events = to->told->events(to->told->user, &count);
    bool is_possible;

    memset(names.names, 0, sizeof(names.names));
    names_fill(&names, to);
    naming_init(naming, &names, to);
    is_possible = all_named(naming, events + from->events, events + to->events);
    for (int kind = 0; kind < THING_KIND_COUNT; kind++)
        vs_free(names.names[kind].now);
    return is_possible;
}

/* ---- telling ---- */

static struct eng_block **block_at(struct eng_moment *from, uint64_t id)
{
    if (id >= from->block_cap) {
        size_t cap = (size_t)id * 2 + 64;

        from->blocks = vs_realloc(from->blocks, cap, sizeof(struct eng_block *));
        memset(from->blocks + from->block_cap, 0,
               (cap - from->block_cap) * sizeof(struct eng_block *));
        from->block_cap = cap;
    }
    return &from->blocks[id];
}

void eng_repeat_begin(struct eng_moment *from, struct eng_moment *to)
{
    from->e->is_repeating = true;
    for (size_t i = 0; i < to->thing_count; i++)
        if (to->things[i].block)
            *block_at(from, to->things[i].id) = to->things[i].block;
    names_fill(from, to);
}

/* The tensors up to number `id` that were told of between the moments. */
static void tensors_announce(struct eng *e, const struct eng_told *told,
                             const struct naming naming[], uint64_t id)
{
    while (e->next_tensor_id < id) {
        uint64_t count;
        struct vs_tensor_desc desc =
            told->tensors(told->user, &count)[e->next_tensor_id - naming[T].by];

        desc.id = ++e->next_tensor_id;
        desc.block = name_now(&naming[B], desc.block);
        e->observer->tensor(e->observer->user, &desc);
    }
}

static void block_get(struct eng_moment *from, struct vs_event *ev)
{
    struct eng_block **block = block_at(from, ev->a);
    struct eng_oom oom;
    enum vs_status st = eng_alloc_get(from->e->alloc, ev->b, 0, block, &oom);

    VS_ASSERT(st == VS_OK); /* nothing is ever too much for such a device */
    ev->c = eng_block_bytes(*block);
    ev->d = eng_block_address(*block);
}

/* An event that does something, its numbers renewed: it is done, and told. */
static void event_act(struct eng_moment *from, const struct eng_told *told,
                      const struct naming naming[], int64_t step, struct vs_event *ev)
{
    struct eng *e = from->e;
    struct eng_block *gone = NULL;

    e->place_id = ev->place; /* of segments that the allocator gets */
    e->place_dirty = false;
    if (ev->kind == VS_EV_ALLOC) {
        block_get(from, ev);
        ev->e = (uint32_t)name_now(&naming[T], ev->e);
        tensors_announce(e, told, naming, ev->e);
    } else if (ev->kind == VS_EV_FREE) {
        gone = *block_at(from, ev->a);
        ev->c = eng_block_bytes(gone);
        ev->d = eng_block_address(gone);
    } else if (ev->kind == VS_EV_STEP) {
        ev->a = (uint64_t)(step + 1);
    }
    if (ev->kind != VS_EV_SEGMENT_ALLOC && ev->kind != VS_EV_SEGMENT_MAP)
        e->observer->emit(e->observer->user, ev);
    if (gone)
        eng_alloc_put(e->alloc, gone);
}

/* The events from number `i` on that do nothing but be told, as far as there are such up to `end`. Returns how many. */
static uint64_t plain_tell(struct eng *e, const struct eng_told *told, const struct naming naming[],
                           const struct plan plans[], uint64_t i, uint64_t end)
{
    struct vs_event *out = told->room(told->user, end - i);
    uint64_t count;
    const struct vs_event *in = told->events(told->user, &count) + i;

    for (count = 0; count < end - i; count++, in++, out++) {
        const struct plan *plan = &plans[in->kind];
        uint64_t b;

        if (plan->acts)
            break;
        b = name_now(plan->b, in->b);
        *out = *in;
        out->a = name_now(plan->a, in->a);
        out->b = b;
        if (plan->c)
            out->c = name_now(plan->c, in->c);
        if (plan->tells_tensor && b > e->next_tensor_id)
            tensors_announce(e, told, naming, b);
    }
    told->add(told->user, count);
    return count;
}

void eng_repeat_events(struct eng_moment *from, struct eng_moment *to, int64_t step, uint64_t first,
                       uint64_t last)
{
    const struct eng_told *told = to->told;
    struct plan plans[VS_EVENT_KIND_COUNT];
    struct naming naming[NAMING_COUNT];
    uint64_t end = from->events + last;

    naming_init(naming, from, to);
    plans_make(plans, naming);
    for (uint64_t i = from->events + first; i < end;) {
        uint64_t count = plain_tell(from->e, told, naming, plans, i, end);
        struct vs_event ev;

        i += count;
        if (i == end)
            break;
        ev = told->events(told->user, &count)[i++];
        ev.a = name_now(&naming[NUMBERS[ev.kind].a], ev.a);
        event_act(from, told, naming, step, &ev);
    }
}

/* The things of *from become those of *to, and those of *to the ones that stand in their places now. */
static void things_go_on(struct eng_moment *from, struct eng_moment *to)
{
    uint64_t *next = vs_alloc((to->thing_count + 1) * sizeof(*next));
    struct naming naming[NAMING_COUNT];

    naming_init(naming, from, to);
    for (size_t i = 0; i < to->thing_count; i++)
        next[i] = name_now(&naming[to->things[i].kind + 1], to->things[i].id);
    for (size_t i = 0; i < from->thing_count; i++)
        from->names[from->things[i].kind].now[from->things[i].id] = 0;
    for (size_t i = 0; i < from->thing_count; i++) {
        from->things[i].id = to->things[i].id;
        to->things[i].id = next[i];
    }
    vs_free(next);
}

void eng_repeat_end(struct eng_moment *from, struct eng_moment *to)
{
    struct eng *e = from->e;
    struct eng_counters *c = &e->counters;
    uint64_t steps[] = {to->events - from->events, to->tensor_ids - from->tensor_ids,
                        to->block_ids - from->block_ids, to->node_ids - from->node_ids};
    struct naming naming[NAMING_COUNT];

    naming_init(naming, from, to);
    tensors_announce(e, to->told, naming, to->tensor_ids + steps[1]);
    c->recomputed_ops += to->counters.recomputed_ops - from->counters.recomputed_ops;
    c->recomputed_kernels += to->counters.recomputed_kernels - from->counters.recomputed_kernels;
    c->recompute_flops += to->counters.recompute_flops - from->counters.recompute_flops;
    c->total_flops += to->counters.total_flops - from->counters.total_flops;
    c->events += to->counters.events - from->counters.events;
    things_go_on(from, to);
    from->events = to->events;
    from->tensor_ids = to->tensor_ids;
    from->block_ids = to->block_ids;
    from->node_ids = to->node_ids;
    from->counters = to->counters;
    to->told->events(to->told->user, &to->events);
    to->tensor_ids += steps[1];
    to->block_ids += steps[2];
    to->node_ids += steps[3];
    to->counters = *c;
    names_fill(from, to);
}
