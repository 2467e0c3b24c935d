/*
 * replay/state/live.c - see live.h.
 *
 * Must not know:  drawing.
 * Invariant:      by_id has the live blocks, each once.
 */
#include "replay/state/live.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define FIRST_BLOCKS 512

void rpl_live_init(struct rpl_live *live)
{
    memset(live, 0, sizeof(*live));
    vs_table_reserve(&live->by_id, FIRST_BLOCKS);
    live->step = -1;
    live->phase = VS_PHASE_SETUP;
}

void rpl_live_release(struct rpl_live *live)
{
    vs_free(live->blocks);
    vs_table_release(&live->by_id);
    vs_free(live->open);
    memset(live, 0, sizeof(*live));
}

void rpl_live_clear(struct rpl_live *live)
{
    struct rpl_live empty = {
        .blocks = live->blocks,
        .block_cap = live->block_cap,
        .by_id = live->by_id,
        .open = live->open,
        .open_cap = live->open_cap,
        .step = -1,
        .phase = VS_PHASE_SETUP,
    };

    *live = empty;
    vs_table_clear(&live->by_id);
}

/* Move the probe to the block with this id; false: it is not in use. */
static bool probe_find(const struct rpl_live *live, uint64_t id, struct vs_probe *probe)
{
    *probe = vs_probe(vs_hash_number(id));
    while (vs_table_next(&live->by_id, probe))
        if (live->blocks[probe->item].id == id)
            return true;
    return false;
}

static struct rpl_block *block_find(const struct rpl_live *live, uint64_t id)
{
    struct vs_probe probe;

    return probe_find(live, id, &probe) ? &live->blocks[probe.item] : NULL;
}

static enum vs_status damaged(uint64_t seq, const char *what, uint64_t number, struct vs_error *err)
{
    return vs_fail(err, VS_E_DAMAGED, "event %" PRIu64 " %s %" PRIu64 "; the trace is damaged", seq,
                   what, number);
}

bool rpl_live_put(struct rpl_live *live, const struct rpl_block *block)
{
    if (block_find(live, block->id) || block->category >= VS_CATEGORY_COUNT ||
        block->bytes > UINT64_MAX - live->allocated ||
        block->requested > UINT64_MAX - live->requested)
        return false;
    live->blocks =
        vs_grow(live->blocks, live->block_count, &live->block_cap, sizeof(*live->blocks));
    vs_table_add(&live->by_id, vs_hash_number(block->id), live->block_count);
    live->blocks[live->block_count++] = *block;
    live->allocated += block->bytes;
    live->requested += block->requested;
    live->by_category[block->category] += block->bytes;
    return true;
}

static enum vs_status apply_alloc(struct rpl_live *live, uint64_t seq, const struct vs_event *event,
                                  struct vs_error *err)
{
    struct rpl_block block = {
        .id = event->alloc.block,
        .requested = event->alloc.requested_bytes,
        .bytes = event->alloc.block_bytes,
        .address = event->alloc.address,
        .alloc_seq = seq,
        .tensor = event->alloc.tensor,
        .alloc_location = event->location,
        .category = event->alloc.category,
    };

    if (rpl_live_put(live, &block))
        return VS_OK;
    if (block_find(live, event->alloc.block))
        return damaged(seq, "allocates a block that is alive:", event->alloc.block, err);
    if (event->alloc.category >= VS_CATEGORY_COUNT)
        return damaged(seq, "has no such category:", event->alloc.category, err);
    return damaged(seq, "allocates more than can be counted, block", event->alloc.block, err);
}

static enum vs_status apply_free(struct rpl_live *live, uint64_t seq, const struct vs_event *event,
                                 struct vs_error *err)
{
    struct vs_probe probe;
    struct rpl_block *block;
    size_t last;

    if (!probe_find(live, event->free.block, &probe))
        return damaged(seq, "frees a block that is not alive:", event->free.block, err);
    block = &live->blocks[probe.item];
    live->allocated -= block->bytes;
    live->requested -= block->requested;
    live->by_category[block->category] -= block->bytes;
    vs_table_remove(&live->by_id, &probe);
    last = --live->block_count;
    if (block != &live->blocks[last] && probe_find(live, live->blocks[last].id, &probe)) {
        vs_table_renumber(&live->by_id, &probe, (size_t)(block - live->blocks));
        *block = live->blocks[last];
    }
    return VS_OK;
}

static enum vs_status apply_category(struct rpl_live *live, uint64_t seq,
                                     const struct vs_event *event, struct vs_error *err)
{
    struct rpl_block *block = block_find(live, event->category.block);

    if (event->category.category >= VS_CATEGORY_COUNT)
        return damaged(seq, "has no such category:", event->category.category, err);
    if (!block)
        return damaged(seq, "speaks of a block that is not alive:", event->category.block, err);
    live->by_category[block->category] -= block->bytes;
    block->category = event->category.category;
    live->by_category[block->category] += block->bytes;
    return VS_OK;
}

/*
 * Autograd acquires (+1) or releases (-1) a reference. Events about blocks that are not in use change nothing here.
 */
static void apply_saved(struct rpl_live *live, const struct vs_event *event, int by)
{
    struct rpl_block *block = block_find(live, event->save.block);

    if (block && (by > 0 || block->saves))
        block->saves = (uint32_t)((int64_t)block->saves + by);
}

static void apply_use(struct rpl_live *live, uint64_t seq, const struct vs_event *event)
{
    struct rpl_block *block = block_find(live, event->use.block);

    if (!block)
        return;
    block->last_use_seq = seq;
    block->last_use_location = event->location;
}

static void open_push(struct rpl_live *live, uint64_t seq, bool is_recompute)
{
    if (live->open_count == live->open_cap)
        live->open = vs_grow(live->open, live->open_count, &live->open_cap, sizeof(*live->open));
    live->open[live->open_count++] = (struct rpl_open){seq, is_recompute};
    live->recompute_depth += is_recompute;
}

/* The end of a recomputation also ends the ops inside it that it interrupted. */
static void open_pop(struct rpl_live *live, bool is_recompute)
{
    if (is_recompute && !live->recompute_depth)
        return;
    while (live->open_count) {
        bool was_recompute = live->open[live->open_count - 1].is_recompute;

        if (was_recompute && !is_recompute)
            return;
        live->open_count--;
        live->recompute_depth -= was_recompute;
        if (was_recompute == is_recompute)
            return;
    }
}

static enum vs_status apply_segment(struct rpl_live *live, uint64_t seq,
                                    const struct vs_event *event, struct vs_error *err)
{
    bool grows = event->kind == VS_EV_SEGMENT_ALLOC || event->kind == VS_EV_SEGMENT_MAP;

    if (grows ? event->segment.bytes > UINT64_MAX - live->reserved
              : event->segment.bytes > live->reserved)
        return damaged(seq, "leaves no possible number of reserved bytes, with",
                       event->segment.bytes, err);
    live->reserved =
        grows ? live->reserved + event->segment.bytes : live->reserved - event->segment.bytes;
    live->segments += event->kind == VS_EV_SEGMENT_ALLOC;
    live->segments -= event->kind == VS_EV_SEGMENT_FREE && live->segments;
    return VS_OK;
}

enum vs_status rpl_live_apply(struct rpl_live *live, uint64_t seq, const struct vs_event *event,
                              struct vs_error *err)
{
    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_ALLOC:
        return apply_alloc(live, seq, event, err);
    case VS_EV_FREE:
        return apply_free(live, seq, event, err);
    case VS_EV_ANY_SEGMENT:
        return apply_segment(live, seq, event, err);
    case VS_EV_CATEGORY:
        return apply_category(live, seq, event, err);
    case VS_EV_SAVE:
        apply_saved(live, event, 1);
        break;
    case VS_EV_UNSAVE:
        apply_saved(live, event, -1);
        break;
    case VS_EV_USE:
        apply_use(live, seq, event);
        break;
    case VS_EV_OP_BEGIN:
        open_push(live, seq, false);
        break;
    case VS_EV_OP_END:
        open_pop(live, false);
        break;
    case VS_EV_RECOMPUTE_BEGIN:
        open_push(live, seq, true);
        break;
    case VS_EV_RECOMPUTE_END:
        open_pop(live, true);
        break;
    case VS_EV_PHASE:
        if (event->phase.phase >= VS_PHASE_COUNT)
            return damaged(seq, "has no such phase:", event->phase.phase, err);
        live->phase = (enum vs_phase)event->phase.phase;
        break;
    case VS_EV_STEP:
        live->step = vs_event_step(event);
        break;
    case VS_EV_OOM:
    case VS_EV_HOLD:
    case VS_EV_DROP:
    case VS_EV_ANY_AMP:
    case VS_EV_FREE_COMPLETED:
    case VS_EVENT_KIND_COUNT:
        break;
    }
    return VS_OK;
}

enum vs_status rpl_live_read(struct rpl_live *live, struct rpl_trace *trace, uint64_t seq,
                             struct vs_error *err)
{
    struct rpl_scan *scan;
    const struct vs_event *event;
    enum vs_status st = VS_OK;

    rpl_live_clear(live);
    if (!seq)
        return VS_OK;
    scan = vs_alloc(sizeof(*scan));
    rpl_scan_init(scan, trace, 1, seq);
    while (!st && (event = rpl_scan_next(scan, err)) != NULL)
        st = rpl_live_apply(live, scan->seq, event, err);
    if (!st)
        st = scan->status;
    vs_free(scan);
    return st;
}

const struct rpl_block *rpl_live_block(const struct rpl_live *live, uint64_t id)
{
    return block_find(live, id);
}

int rpl_block_by_bytes(const void *a, const void *b)
{
    const struct rpl_block *x = a;
    const struct rpl_block *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

bool rpl_block_is_permanent(const struct rpl_block *block)
{
    return block->category == VS_CAT_PARAMETER || block->category == VS_CAT_BUFFER ||
           block->category == VS_CAT_OPTIMIZER || block->category == VS_CAT_WORKSPACE;
}

uint64_t rpl_live_working_since(const struct rpl_live *live)
{
    uint64_t since = UINT64_MAX;

    for (size_t i = live->open_count; i && !live->open[i - 1].is_recompute; i--)
        since = live->open[i - 1].seq;
    return since;
}
