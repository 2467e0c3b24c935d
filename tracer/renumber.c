/*
 * tracer/renumber.c - see renumber.h.
 *
 * Must not know:  files; which events are written.
 */
#include "tracer/renumber.h"

#include "base/hash.h"
#include "base/mem.h"

uint64_t trc_ids_number(const struct trc_ids *ids, uint64_t id)
{
    struct vs_probe probe;

    if (id > ids->base)
        return id - ids->base + ids->first_new - 1;
    probe = vs_probe(vs_hash_number(id));
    while (vs_table_next(&ids->by_id, &probe))
        if (ids->old[probe.item] == id)
            return probe.item + UINT64_C(1);
    return 0;
}

void trc_ids_add(struct trc_ids *ids, uint64_t id)
{
    if (!id || id > ids->base || trc_ids_number(ids, id))
        return;
    ids->old = vs_grow(ids->old, ids->old_count, &ids->old_cap, sizeof(*ids->old));
    vs_table_add(&ids->by_id, vs_hash_number(id), ids->old_count);
    ids->old[ids->old_count++] = id;
}

void trc_ids_release(struct trc_ids *ids)
{
    vs_free(ids->old);
    vs_table_release(&ids->by_id);
}

struct trc_event_ids trc_event_ids(struct vs_event *event)
{
    struct trc_event_ids in = {.block = vs_event_has_block(event) ? &event->raw.a : NULL,
                               .tensor = vs_event_tensor(event)};

    if (event->kind == VS_EV_ALLOC)
        in.short_tensor = &event->alloc.tensor;
    else if (event->kind == VS_EV_CAST)
        in.from_block = &event->cast.from_block;
    else if (event->kind == VS_EV_SAVE || event->kind == VS_EV_UNSAVE)
        in.node = &event->save.node;
    else if (event->kind == VS_EV_OP_BEGIN || event->kind == VS_EV_OP_END)
        in.node = &event->op.node;
    return in;
}

static uint64_t node_number(struct trc_ids *nodes, uint64_t id)
{
    const uint64_t number = trc_ids_number(nodes, id);

    if (number || !id || nodes->old_count + 1 >= nodes->first_new)
        return number;
    trc_ids_add(nodes, id);
    return nodes->old_count;
}

void trc_renumber(struct trc_numbers *numbers, struct vs_event *event)
{
    const struct trc_event_ids in = trc_event_ids(event);

    if (in.block)
        *in.block = trc_ids_number(&numbers->blocks, *in.block);
    if (in.from_block)
        *in.from_block = trc_ids_number(&numbers->blocks, *in.from_block);
    if (in.tensor)
        *in.tensor = trc_ids_number(&numbers->tensors, *in.tensor);
    if (in.short_tensor)
        *in.short_tensor = (uint32_t)trc_ids_number(&numbers->tensors, *in.short_tensor);
    if (in.node)
        *in.node = node_number(&numbers->nodes, *in.node);
}

void trc_numbers_release(struct trc_numbers *numbers)
{
    trc_ids_release(&numbers->blocks);
    trc_ids_release(&numbers->tensors);
    trc_ids_release(&numbers->nodes);
}
