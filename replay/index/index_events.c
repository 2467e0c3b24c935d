/*
 * replay/index/index_events.c - how each event changes totals, blocks and ops while an index is computed.
 *
 * Must not know:  files; chunks, except which blocks they refer to; the pyramid.
 * Invariant:      the totals are the sums over the rows of the live blocks, by category and in all; they never wrap.
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "replay/index/index_build_internal.h"

void rpl_pages_reserve(struct rpl_pages *pages, size_t count)
{
    /* A scratch grows without copying. */
    if (pages->scratch)
        return;
    /* At least double the capacity, as it will grow again. */
    if (count > pages->cap && count < pages->cap * 2)
        count = pages->cap * 2;
    pages->items = vs_reserve(pages->items, count, &pages->cap, pages->item_bytes);
}

void *rpl_pages_add(struct rpl_pages *pages)
{
    char *item;

    if (pages->scratch)
        pages->items = rpl_scratch_reserve(pages->scratch, pages->items, pages->count + 1,
                                           &pages->cap, pages->item_bytes);
    else
        pages->items = vs_grow(pages->items, pages->count, &pages->cap, pages->item_bytes);
    item = (char *)pages->items + pages->count++ * pages->item_bytes;
    memset(item, 0, pages->item_bytes);
    return item;
}

/* Item number `i` of what event `seq` refers to, with empty items before it; NULL if that would be too many. */
static void *pages_at(struct rpl_pages *pages, uint64_t i, uint64_t seq)
{
    if (i > seq + RPL_NUMBER_GAP_MAX)
        return NULL;
    while (pages->count <= i)
        rpl_pages_add(pages);
    return (char *)pages->items + i * pages->item_bytes;
}

enum vs_status rpl_builder_damaged(uint64_t seq, const char *what, uint64_t number,
                                   struct vs_error *err)
{
    return vs_fail(err, VS_E_DAMAGED, "event %" PRIu64 " %s %" PRIu64 "; the trace is damaged", seq,
                   what, number);
}

static enum vs_status on_alloc(struct rpl_index *index, struct rpl_chunk *chunk, uint64_t seq,
                               const struct vs_event *event, struct vs_error *err)
{
    struct rpl_builder *b = index->builder;
    struct rpl_row *row =
        event->alloc.block ? pages_at(&index->rows, event->alloc.block - 1, seq) : NULL;
    uint32_t bits[3];

    if (!row)
        return rpl_builder_damaged(
            seq, "allocates a block of no possible number:", event->alloc.block, err);
    if (row->alloc_seq)
        return rpl_builder_damaged(seq, "allocates a block again:", event->alloc.block, err);
    if (event->alloc.category >= VS_CATEGORY_COUNT)
        return rpl_builder_damaged(seq, "has no such category:", event->alloc.category, err);
    if (event->alloc.block_bytes > UINT64_MAX - b->allocated ||
        event->alloc.requested_bytes > UINT64_MAX - b->requested)
        return rpl_builder_damaged(seq, "allocates more than can be counted, block",
                                   event->alloc.block, err);
    *row = (struct rpl_row){
        .alloc_seq = seq,
        .requested = event->alloc.requested_bytes,
        .bytes = event->alloc.block_bytes,
        .tensor = event->alloc.tensor,
        .location = event->location,
        .category = event->alloc.category,
    };
    b->allocated += event->alloc.block_bytes;
    b->requested += event->alloc.requested_bytes;
    b->by_category[event->alloc.category] += event->alloc.block_bytes;
    rpl_line_bits(rpl_trace_location(index->trace, event->location), bits);
    for (int i = 0; i < 3; i++)
        chunk->lines[bits[i] / 64] |= UINT64_C(1) << bits[i] % 64;
    /* 0 means none, so sizes are stored + 1. */
    if (event->alloc.requested_bytes >= chunk->alloc_max[event->alloc.category])
        chunk->alloc_max[event->alloc.category] = event->alloc.requested_bytes == UINT64_MAX
                                                      ? event->alloc.requested_bytes
                                                      : event->alloc.requested_bytes + 1;
    return VS_OK;
}

static enum vs_status on_free(struct rpl_index *index, uint64_t seq, const struct vs_event *event,
                              struct vs_error *err)
{
    struct rpl_builder *b = index->builder;
    struct rpl_row *row = rpl_builder_row(index, event->free.block);

    if (!row || !row->alloc_seq || row->free_seq)
        return rpl_builder_damaged(seq, "frees a block that is not alive:", event->free.block, err);
    if (row->bytes != event->free.block_bytes || row->requested != event->free.requested_bytes)
        return rpl_builder_damaged(seq,
                                   "gives back another number of bytes than were handed out, block",
                                   event->free.block, err);
    row->free_seq = seq;
    b->allocated -= row->bytes;
    b->requested -= row->requested;
    b->by_category[row->category] -= row->bytes;
    return VS_OK;
}

static enum vs_status on_category(struct rpl_index *index, uint64_t seq,
                                  const struct vs_event *event, struct vs_error *err)
{
    struct rpl_builder *b = index->builder;
    struct rpl_row *row = rpl_builder_row(index, event->category.block);

    if (!row || !row->alloc_seq || row->free_seq)
        return rpl_builder_damaged(
            seq, "speaks of a block that is not alive:", event->category.block, err);
    if (event->category.category >= VS_CATEGORY_COUNT)
        return rpl_builder_damaged(seq, "has no such category:", event->category.category, err);
    b->by_category[row->category] -= row->bytes;
    row->category = event->category.category;
    b->by_category[row->category] += row->bytes;
    return VS_OK;
}

static enum vs_status on_segment(struct rpl_index *index, uint64_t seq,
                                 const struct vs_event *event, struct vs_error *err)
{
    struct rpl_builder *b = index->builder;
    bool grows = event->kind == VS_EV_SEGMENT_ALLOC || event->kind == VS_EV_SEGMENT_MAP;

    if (grows ? event->segment.bytes > UINT64_MAX - b->reserved
              : event->segment.bytes > b->reserved)
        return rpl_builder_damaged(seq, "leaves no possible number of reserved bytes, with",
                                   event->segment.bytes, err);
    b->reserved = grows ? b->reserved + event->segment.bytes : b->reserved - event->segment.bytes;
    if (b->reserved > index->facts.reserved_max)
        index->facts.reserved_max = b->reserved;
    return VS_OK;
}

void rpl_builder_op(struct rpl_index *index, uint64_t seq, const struct vs_event *event)
{
    uint32_t *name;

    if (event->kind == VS_EV_OP_END) {
        index->facts.flops += event->op.flops;
        if (event->op.role == VS_OP_RECOMPUTE)
            index->facts.recompute_flops += event->op.flops;
    } else if (event->op.role == VS_OP_BACKWARD && event->op.node) {
        name = pages_at(&index->nodes, event->op.node - 1, seq);
        if (name)
            *name = (uint32_t)event->op.name;
    }
}

enum vs_status rpl_builder_apply(struct rpl_index *index, struct rpl_chunk *chunk, uint64_t seq,
                                 const struct vs_event *event, struct vs_error *err)
{
    struct rpl_builder *b = index->builder;

    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        return on_alloc(index, chunk, seq, event, err);
    case VS_EV_FREE:
        return on_free(index, seq, event, err);
    case VS_EV_ANY_SEGMENT:
        return on_segment(index, seq, event, err);
    case VS_EV_CATEGORY:
        return on_category(index, seq, event, err);
    case VS_EV_OOM:
        if (!index->facts.oom_seq)
            index->facts.oom_seq = seq;
        break;
    case VS_EV_OP_BEGIN:
    case VS_EV_OP_END:
        rpl_builder_op(index, seq, event);
        break;
    case VS_EV_RECOMPUTE_BEGIN:
        b->recompute_depth++;
        break;
    case VS_EV_RECOMPUTE_END:
        b->recompute_depth -= b->recompute_depth > 0;
        break;
    case VS_EV_PHASE:
        if (event->phase.phase >= VS_PHASE_COUNT)
            return rpl_builder_damaged(seq, "has no such phase:", event->phase.phase, err);
        b->phase = (uint8_t)event->phase.phase;
        break;
    case VS_EV_STEP:
        b->step = vs_event_step(event);
        index->facts.steps += vs_event_step(event) >= 0;
        break;
    /* Kinds of RPL_BLOCK_KINDS do not come here. */
    case VS_EV_ANY_HOLDER:
    case VS_EV_USE:
    case VS_EV_ANY_AMP:
    case VS_EV_FREE_COMPLETED:
    case VS_EVENT_KIND_COUNT:
        break;
    }
    return VS_OK;
}
