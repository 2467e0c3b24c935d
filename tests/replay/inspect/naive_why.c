/*
 * tests/replay/inspect/naive_why.c - why blocks are alive, found by reading every event from the start.
 *
 * Up to the event in question holders are added and removed; after it only the next read and the free are looked for.
 */
#include "tests/replay/inspect/naive.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"

struct questions {
    struct rpl_why *whys;
    size_t count;
    struct vs_table by_block;
    size_t open; /* blocks not yet freed */
};

static void questions_init(struct questions *q, struct rpl_why *whys, size_t count)
{
    q->whys = whys;
    q->count = count;
    q->open = count;
    memset(&q->by_block, 0, sizeof(q->by_block));
    vs_table_reserve(&q->by_block, count);
    for (size_t i = 0; i < count; i++)
        vs_table_add(&q->by_block, vs_hash_number(whys[i].id), i);
}

static struct rpl_why *question(const struct questions *q, uint64_t id)
{
    struct vs_probe probe = vs_probe(vs_hash_number(id));

    while (vs_table_next(&q->by_block, &probe))
        if (q->whys[probe.item].id == id)
            return &q->whys[probe.item];
    return NULL;
}

static void holder_add(struct rpl_why *why, uint64_t seq, const struct vs_event *event)
{
    bool is_save = event->kind == VS_EV_SAVE;
    struct rpl_holder *holder;

    why->holders =
        vs_grow(why->holders, why->holder_count, &why->holder_cap, sizeof(*why->holders));
    holder = &why->holders[why->holder_count++];
    *holder = (struct rpl_holder){
        .since_seq = seq,
        .tensor = (uint32_t)(is_save ? event->save.tensor : event->hold.tensor),
        .location = event->location,
    };
    if (is_save) {
        holder->kind = event->save.is_checkpoint_input ? VS_HOLD_CHECKPOINT : VS_HOLD_SAVED;
        holder->node = event->save.node;
    } else {
        holder->kind = event->hold.holder < VS_HOLDER_COUNT ? (enum vs_holder)event->hold.holder
                                                            : VS_HOLD_LOCAL;
        holder->name = (uint32_t)event->hold.name;
        holder->scope = (uint32_t)event->hold.scope;
    }
}

static bool is_released(const struct rpl_holder *holder, const struct vs_event *event)
{
    if (event->kind == VS_EV_UNSAVE)
        return holder->node == event->save.node &&
               holder->kind ==
                   (event->save.is_checkpoint_input ? VS_HOLD_CHECKPOINT : VS_HOLD_SAVED);
    return holder->kind == (enum vs_holder)event->hold.holder &&
           holder->name == (uint32_t)event->hold.name &&
           holder->scope == (uint32_t)event->hold.scope;
}

/*
 * Of several matching holders the oldest one of the same tensor is removed: a variable is rebound before the old
 * reference is released.
 */
static void holder_remove(struct rpl_why *why, const struct vs_event *event)
{
    const uint64_t tensor = event->kind == VS_EV_UNSAVE ? event->save.tensor : event->hold.tensor;
    size_t found = SIZE_MAX;

    for (size_t i = 0; i < why->holder_count; i++) {
        if (!is_released(&why->holders[i], event))
            continue;
        if (why->holders[i].tensor == (uint32_t)tensor) {
            found = i;
            break;
        }
        if (found == SIZE_MAX)
            found = i;
    }
    if (found == SIZE_MAX)
        return;
    memmove(&why->holders[found], &why->holders[found + 1],
            (why->holder_count - found - 1) * sizeof(*why->holders));
    why->holder_count--;
}

/* A backward node begins, which gives its name. */
static void node_name(struct questions *q, const struct vs_event *event)
{
    for (size_t i = 0; i < q->count; i++)
        for (size_t k = 0; k < q->whys[i].holder_count; k++)
            if (q->whys[i].holders[k].node == event->op.node &&
                q->whys[i].holders[k].kind == VS_HOLD_SAVED)
                q->whys[i].holders[k].name = (uint32_t)event->op.name;
}

/* An event up to the one in question. */
static void before(struct questions *q, uint64_t seq, const struct vs_event *event)
{
    struct rpl_why *why;

    if (event->kind == VS_EV_OP_BEGIN) {
        if (event->op.role == VS_OP_BACKWARD && event->op.node)
            node_name(q, event);
        return;
    }
    why = question(q, vs_event_block(event));
    if (!why)
        return;
    if (event->kind == VS_EV_HOLD || event->kind == VS_EV_SAVE)
        holder_add(why, seq, event);
    else if (event->kind == VS_EV_DROP || event->kind == VS_EV_UNSAVE)
        holder_remove(why, event);
}

/* An event after it. */
static void after(struct questions *q, uint64_t seq, const struct vs_event *event)
{
    struct rpl_why *why;

    if (event->kind == VS_EV_OP_BEGIN && event->op.role == VS_OP_BACKWARD && event->op.node)
        node_name(q, event);
    if (event->kind != VS_EV_USE && event->kind != VS_EV_FREE)
        return;
    why = question(q, vs_event_block(event));
    if (!why || !why->is_alive)
        return;
    if (event->kind == VS_EV_FREE && !why->free_seq) {
        why->free_seq = seq;
        why->free_location = event->location;
        q->open--;
    } else if (event->kind == VS_EV_USE && !why->next_use_seq) {
        why->next_use_seq = seq;
        why->next_use_location = event->location;
    }
}

/* At the event itself: which blocks are alive, and their state. */
static void snapshot(struct questions *q, const struct rpl_live *live)
{
    for (size_t i = 0; i < q->count; i++) {
        const struct rpl_block *block = rpl_live_block(live, q->whys[i].id);

        if (block) {
            q->whys[i].is_alive = true;
            q->whys[i].block = *block;
        } else {
            q->whys[i].holder_count = 0;
            q->open--;
        }
    }
}

/* Tensors are named after their blocks were allocated. */
static void names_fill(struct questions *q, const struct rpl_trace *trace)
{
    uint32_t count = rpl_trace_tensor_count(trace);

    for (uint32_t id = 1; id <= count; id++) {
        struct vs_tensor_desc desc;
        struct rpl_why *why;

        if (!rpl_trace_tensor(trace, id, &desc) || !desc.name)
            continue;
        why = question(q, desc.block);
        if (why && why->is_alive)
            why->name = desc.name;
    }
}

enum vs_status naive_why_fill(struct rpl_trace *trace, uint64_t at, struct rpl_why *whys,
                              size_t count, struct vs_error *err)
{
    struct questions q = {.open = 0};
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct rpl_live live;
    const struct vs_event *event;
    enum vs_status st = VS_OK;

    VS_ASSERT(at >= 1 && at <= rpl_trace_event_count(trace));
    rpl_live_init(&live);
    questions_init(&q, whys, count);
    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while (!st && (q.open || scan->seq < at) && (event = rpl_scan_next(scan, err)) != NULL) {
        if (scan->seq > at) {
            after(&q, scan->seq, event);
            continue;
        }
        st = rpl_live_apply(&live, scan->seq, event, err);
        before(&q, scan->seq, event);
        if (scan->seq == at)
            snapshot(&q, &live);
    }
    if (!st)
        st = scan->status;
    if (!st)
        names_fill(&q, trace);
    vs_table_release(&q.by_block);
    rpl_live_release(&live);
    vs_free(scan);
    return st;
}
