/*
 * store/snapshot_segments.c - segments and blocks of a snapshot.
 *
 * For:            store/snapshot_internal.h.
 * Must not know:  events.
 * Invariant:      of a block that nobody has nothing is kept of its last owner.
 */
#include "store/snapshot_internal.h"

#include <stdlib.h>

static bool state_get(const struct sto_reading *r, const struct sto_fields *row,
                      enum vs_mem_block_state *out)
{
    static const struct {
        const char *name;
        enum vs_mem_block_state state;
    } STATES[] = {
        {"inactive", VS_MEM_INACTIVE},
        {"active_allocated", VS_MEM_ALLOCATED},
        {"active_pending_free", VS_MEM_PENDING_FREE},
        {"active_awaiting_free", VS_MEM_PENDING_FREE},
    };

    if (!sto_fields_has(row, KEY_STATE))
        return false;
    for (size_t i = 0; i < sizeof(STATES) / sizeof(STATES[0]); i++)
        if (sto_value_is_text(r->p, row->at[KEY_STATE], STATES[i].name)) {
            *out = STATES[i].state;
            return true;
        }
    return false;
}

/* The newest entry of a block's history, which 2.0 has; false: there is none. */
static bool newest_get(const struct sto_reading *r, const struct sto_fields *row,
                       struct sto_value *out)
{
    if (!sto_fields_has(row, KEY_HISTORY) || sto_value_type(row->at[KEY_HISTORY]) != STO_LIST ||
        !sto_value_count(r->p, row->at[KEY_HISTORY]))
        return false;
    *out = sto_value_at(r->p, row->at[KEY_HISTORY], 0);
    return true;
}

/* Where it is not said: the newest entry of the history, else the whole block. */
static bool requested_get(const struct sto_reading *r, const struct sto_fields *row, uint64_t bytes,
                          uint64_t *out)
{
    struct sto_value newest;

    *out = bytes;
    if (sto_fields_has(row, KEY_REQUESTED))
        return sto_value_int(r->p, row->at[KEY_REQUESTED], out);
    return !newest_get(r, row, &newest) || sto_reading_get_uint(r, newest, KEY_REAL_SIZE, out);
}

/* Where it was allocated; of 2.0, the newest entry of its history says it. */
static void block_place_set(struct sto_reading *r, const struct sto_fields *row,
                            struct vs_mem_block *block)
{
    struct sto_value newest;
    struct sto_value frames;
    const struct sto_stack *stack;

    if (newest_get(r, row, &newest)) {
        if (!sto_reading_get(r, newest, KEY_FRAMES, &frames))
            return;
    } else if (sto_fields_has(row, KEY_FRAMES)) {
        frames = row->at[KEY_FRAMES];
    } else {
        return;
    }
    stack = sto_stacks_get(&r->stacks, frames);
    block->stack = stack->id;
    block->op = stack->op;
    block->func = stack->func;
    block->file = stack->file;
    block->line = stack->line;
    block->cls = stack->cls;
}

static enum vs_status block_read(struct sto_reading *r, struct sto_value v)
{
    struct vs_mem_block block = {.state = VS_MEM_INACTIVE};
    struct sto_fields row;
    enum vs_status st = sto_reading_take(r);

    if (st)
        return st;
    row.has = sto_value_row(r->p, v, r->columns, row.at);
    if (!sto_fields_has(&row, KEY_SIZE) || !sto_fields_uint(r, &row, KEY_SIZE, &block.bytes) ||
        !sto_is_count(block.bytes))
        return sto_reading_wrong(r, "a block", KEY_SIZE);
    if (!state_get(r, &row, &block.state))
        return sto_reading_wrong(r, "a block", KEY_STATE);
    if (!requested_get(r, &row, block.bytes, &block.requested) || !sto_is_count(block.requested))
        return sto_reading_wrong(r, "a block", KEY_REQUESTED);
    if (block.state == VS_MEM_INACTIVE)
        block.requested = 0; /* of the last owner, long gone */
    else
        block_place_set(r, &row, &block);
    vs_memlist_add_block(r->list, block);
    return VS_OK;
}

static bool pool_read(const struct sto_reading *r, const struct sto_fields *row,
                      struct vs_mem_segment *out)
{
    const struct sto_value pool = row->at[KEY_POOL_ID];

    if (!sto_fields_has(row, KEY_POOL_ID))
        return true;
    return sto_value_count(r->p, pool) == 2 &&
           sto_value_int(r->p, sto_value_at(r->p, pool, 0), &out->pool_graph) &&
           sto_value_int(r->p, sto_value_at(r->p, pool, 1), &out->pool_user);
}

static enum vs_status blocks_read(struct sto_reading *r, const struct sto_fields *row)
{
    const struct sto_value blocks = row->at[KEY_BLOCKS];
    size_t count;
    enum vs_status st = VS_OK;

    if (!sto_fields_has(row, KEY_BLOCKS) || sto_value_type(blocks) != STO_LIST)
        return sto_reading_wrong(r, "a segment", KEY_BLOCKS);
    count = sto_value_count(r->p, blocks);
    for (size_t i = 0; i < count && !st; i++)
        st = block_read(r, sto_value_at(r->p, blocks, i));
    return st;
}

static enum vs_status segment_read(struct sto_reading *r, const struct sto_fields *row)
{
    struct vs_mem_segment *segment = vs_memlist_add_segment(r->list);
    enum vs_status st = sto_reading_take(r);

    if (st)
        return st;
    if (!sto_fields_has(row, KEY_ADDRESS) ||
        !sto_fields_uint(r, row, KEY_ADDRESS, &segment->address))
        return sto_reading_wrong(r, "a segment", KEY_ADDRESS);
    if (!sto_fields_has(row, KEY_TOTAL_SIZE) ||
        !sto_fields_uint(r, row, KEY_TOTAL_SIZE, &segment->bytes) || !sto_is_count(segment->bytes))
        return sto_reading_wrong(r, "a segment", KEY_TOTAL_SIZE);
    if (!sto_fields_uint(r, row, KEY_STREAM, &segment->stream))
        return sto_reading_wrong(r, "a segment", KEY_STREAM);
    if (!pool_read(r, row, segment))
        return sto_reading_wrong(r, "a segment", KEY_POOL_ID);
    segment->is_small = sto_fields_has(row, KEY_SEGMENT_TYPE) &&
                        sto_value_is_text(r->p, row->at[KEY_SEGMENT_TYPE], "small");
    if (sto_fields_has(row, KEY_EXPANDABLE) &&
        !sto_value_bool(row->at[KEY_EXPANDABLE], &segment->is_expandable))
        return sto_reading_wrong(r, "a segment", KEY_EXPANDABLE);
    return blocks_read(r, row);
}

uint64_t sto_segment_device(const struct sto_reading *r, struct sto_value segment)
{
    uint64_t device = 0;

    return sto_reading_get_uint(r, segment, KEY_DEVICE, &device) ? device : 0;
}

static int by_address(const void *a, const void *b)
{
    const struct vs_mem_segment *x = a;
    const struct vs_mem_segment *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

enum vs_status sto_segments_read(struct sto_reading *r)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < sto_value_count(r->p, r->segments) && !st; i++) {
        struct sto_fields row;
        uint64_t device = 0;

        row.has = sto_value_row(r->p, sto_value_at(r->p, r->segments, i), r->columns, row.at);
        if (!sto_fields_uint(r, &row, KEY_DEVICE, &device))
            device = 0;
        if ((int64_t)device == r->device)
            st = segment_read(r, &row);
        if (st)
            vs_error_prefix(r->err, "segment %zu", i);
    }
    if (!st && r->list->segment_count)
        qsort(r->list->segments, r->list->segment_count, sizeof(*r->list->segments), by_address);
    return st;
}
