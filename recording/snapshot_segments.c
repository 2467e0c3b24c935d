/*
 * recording/snapshot_segments.c - reads the segments and blocks of a snapshot.
 *
 * For:            recording/snapshot_internal.h.
 * Must not know:  events.
 * Invariant:      nothing about the last owner of an inactive block is kept.
 */
#include "recording/snapshot_internal.h"

#include <stdlib.h>

static bool state_get(const struct rec_reading *r, const struct rec_fields *row,
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

    if (!rec_fields_has(row, KEY_STATE))
        return false;
    for (size_t i = 0; i < sizeof(STATES) / sizeof(STATES[0]); i++)
        if (rec_value_is_text(r->p, row->at[KEY_STATE], STATES[i].name)) {
            *out = STATES[i].state;
            return true;
        }
    return false;
}

/* The newest entry of a block's history, which PyTorch 2.0 writes; false: there is none. */
static bool newest_get(const struct rec_reading *r, const struct rec_fields *row,
                       struct rec_value *out)
{
    if (!rec_fields_has(row, KEY_HISTORY) || rec_value_type(row->at[KEY_HISTORY]) != REC_LIST ||
        !rec_value_count(r->p, row->at[KEY_HISTORY]))
        return false;
    *out = rec_value_at(r->p, row->at[KEY_HISTORY], 0);
    return true;
}

/* Requested bytes: if missing, those of the newest entry of the history, else the bytes of the block. */
static bool requested_get(const struct rec_reading *r, const struct rec_fields *row, uint64_t bytes,
                          uint64_t *out)
{
    struct rec_value newest;

    *out = bytes;
    if (rec_fields_has(row, KEY_REQUESTED))
        return rec_value_int(r->p, row->at[KEY_REQUESTED], out);
    return !newest_get(r, row, &newest) || rec_reading_get_uint(r, newest, KEY_REAL_SIZE, out);
}

/* Set the location of the allocation; in a snapshot of 2.0, that of the newest entry of its history. */
static void block_place_set(struct rec_reading *r, const struct rec_fields *row,
                            struct vs_mem_block *block)
{
    struct rec_value newest;
    struct rec_value frames;
    const struct rec_stack *stack;

    if (newest_get(r, row, &newest)) {
        if (!rec_reading_get(r, newest, KEY_FRAMES, &frames))
            return;
    } else if (rec_fields_has(row, KEY_FRAMES)) {
        frames = row->at[KEY_FRAMES];
    } else {
        return;
    }
    stack = rec_stacks_get(&r->stacks, frames);
    block->stack = stack->id;
    block->op = stack->op;
    block->func = stack->func;
    block->file = stack->file;
    block->line = stack->line;
    block->cls = stack->cls;
}

static enum vs_status block_read(struct rec_reading *r, struct rec_value v)
{
    struct vs_mem_block block = {.state = VS_MEM_INACTIVE};
    struct rec_fields row;
    enum vs_status st = rec_reading_take(r);

    if (st)
        return st;
    row.has = rec_value_row(r->p, v, r->columns, row.at);
    if (!rec_fields_has(&row, KEY_SIZE) || !rec_fields_uint(r, &row, KEY_SIZE, &block.bytes) ||
        !rec_is_count(block.bytes))
        return rec_reading_wrong(r, "a block", KEY_SIZE);
    if (!state_get(r, &row, &block.state))
        return rec_reading_wrong(r, "a block", KEY_STATE);
    if (!requested_get(r, &row, block.bytes, &block.requested) || !rec_is_count(block.requested))
        return rec_reading_wrong(r, "a block", KEY_REQUESTED);
    if (block.state == VS_MEM_INACTIVE)
        block.requested = 0; /* of the last owner, which freed it */
    else
        block_place_set(r, &row, &block);
    vs_memlist_add_block(r->list, block);
    return VS_OK;
}

static bool pool_read(const struct rec_reading *r, const struct rec_fields *row,
                      struct vs_mem_segment *out)
{
    const struct rec_value pool = row->at[KEY_POOL_ID];

    if (!rec_fields_has(row, KEY_POOL_ID))
        return true;
    return rec_value_count(r->p, pool) == 2 &&
           rec_value_int(r->p, rec_value_at(r->p, pool, 0), &out->pool_graph) &&
           rec_value_int(r->p, rec_value_at(r->p, pool, 1), &out->pool_user);
}

static enum vs_status blocks_read(struct rec_reading *r, const struct rec_fields *row)
{
    const struct rec_value blocks = row->at[KEY_BLOCKS];
    size_t count;
    enum vs_status st = VS_OK;

    if (!rec_fields_has(row, KEY_BLOCKS) || rec_value_type(blocks) != REC_LIST)
        return rec_reading_wrong(r, "a segment", KEY_BLOCKS);
    count = rec_value_count(r->p, blocks);
    for (size_t i = 0; i < count && !st; i++)
        st = block_read(r, rec_value_at(r->p, blocks, i));
    return st;
}

static enum vs_status segment_read(struct rec_reading *r, const struct rec_fields *row)
{
    struct vs_mem_segment *segment = vs_memlist_add_segment(r->list);
    enum vs_status st = rec_reading_take(r);

    if (st)
        return st;
    if (!rec_fields_has(row, KEY_ADDRESS) ||
        !rec_fields_uint(r, row, KEY_ADDRESS, &segment->address))
        return rec_reading_wrong(r, "a segment", KEY_ADDRESS);
    if (!rec_fields_has(row, KEY_TOTAL_SIZE) ||
        !rec_fields_uint(r, row, KEY_TOTAL_SIZE, &segment->bytes) || !rec_is_count(segment->bytes))
        return rec_reading_wrong(r, "a segment", KEY_TOTAL_SIZE);
    if (!rec_fields_uint(r, row, KEY_STREAM, &segment->stream))
        return rec_reading_wrong(r, "a segment", KEY_STREAM);
    if (!pool_read(r, row, segment))
        return rec_reading_wrong(r, "a segment", KEY_POOL_ID);
    segment->is_small = rec_fields_has(row, KEY_SEGMENT_TYPE) &&
                        rec_value_is_text(r->p, row->at[KEY_SEGMENT_TYPE], "small");
    if (rec_fields_has(row, KEY_EXPANDABLE) &&
        !rec_value_bool(row->at[KEY_EXPANDABLE], &segment->is_expandable))
        return rec_reading_wrong(r, "a segment", KEY_EXPANDABLE);
    return blocks_read(r, row);
}

uint64_t rec_segment_device(const struct rec_reading *r, struct rec_value segment)
{
    uint64_t device = 0;

    return rec_reading_get_uint(r, segment, KEY_DEVICE, &device) ? device : 0;
}

static int by_address(const void *a, const void *b)
{
    const struct vs_mem_segment *x = a;
    const struct vs_mem_segment *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

enum vs_status rec_segments_read(struct rec_reading *r)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < rec_value_count(r->p, r->segments) && !st; i++) {
        struct rec_fields row;
        uint64_t device = 0;

        row.has = rec_value_row(r->p, rec_value_at(r->p, r->segments, i), r->columns, row.at);
        if (!rec_fields_uint(r, &row, KEY_DEVICE, &device))
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
