/*
 * engine/alloc_history/adopt.c - fills a new allocator with a recorded state.
 *
 * For:            engine/alloc_history/record.h.
 * Must not know:  where the state comes from.
 * Invariant:      afterwards the allocator is as if its own calls had led to that state.
 */
#include "engine/alloc_history/record.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "engine/alloc/alloc_internal.h"

/* An invented stream for recorded pending blocks, whose streams are not known; no real handle has this value. */
#define UNKNOWN_STREAM (ENG_ANY_STREAM - 1)

/* Counts a block that is in use in the statistics. */
static void book_active(struct eng_alloc *alloc, const struct eng_block *block)
{
    struct eng_alloc_stats *stats = &alloc->stats;
    const bool is_small = block->pool->is_small;

    eng_stat_up(stats->active, is_small, 1);
    eng_stat_up(stats->active_bytes, is_small, block->bytes);
    eng_stat_up(stats->requested_bytes, is_small, block->requested_bytes);
    if (!block->is_allocated)
        return;
    eng_stat_up(stats->allocation, is_small, 1);
    eng_stat_up(stats->allocated_bytes, is_small, block->bytes);
    if (block->bytes >= alloc->conf.max_split_bytes)
        eng_stat_one_up(&stats->oversize_allocations);
}

static struct eng_area *area_at(const struct eng_alloc *alloc, uint64_t address)
{
    const struct eng_set_key key = {{address, 0, 0}};
    struct eng_set_node *node = eng_set_ceil(&alloc->areas, &key);

    /* the node is the first member */
    return node && node->key.word[0] == address ? (struct eng_area *)(void *)node : NULL;
}

/* Inserts the blocks of `seg` between `prev` and `next` (either may be NULL: an end of the area). */
static void adopt_blocks(struct eng_alloc *alloc, struct eng_area *area,
                         const struct eng_record_state *state, const struct eng_record_segment *seg,
                         struct eng_block *prev, struct eng_block *next)
{
    uint64_t address = seg->address;

    for (size_t i = seg->first_block; i < seg->first_block + seg->block_count; i++) {
        const struct eng_record_block *from = &state->blocks[i];
        struct eng_block *block = eng_block_take(alloc, area, address, from->bytes, seg->stream);

        address += from->bytes;
        eng_block_splice(block, prev, next);
        prev = block;
        block->requested_bytes = from->requested_bytes;
        block->is_allocated = from->state == ENG_BLOCK_ALLOCATED;
        if (from->state != ENG_BLOCK_INACTIVE) {
            book_active(alloc, block);
        } else {
            eng_pool_insert_free(block);
            if (!area->is_expandable && seg->block_count > 1) {
                eng_stat_up(alloc->stats.inactive_split, seg->is_small, 1);
                eng_stat_up(alloc->stats.inactive_split_bytes, seg->is_small, block->bytes);
            }
        }
        if (from->state == ENG_BLOCK_PENDING_FREE)
            eng_events_expect(alloc, block, UNKNOWN_STREAM);
    }
}

static enum vs_status adopt_plain(struct eng_alloc *alloc, struct eng_pool *pool,
                                  const struct eng_record_state *state,
                                  const struct eng_record_segment *seg, struct vs_error *err)
{
    struct eng_area *area;

    if (area_at(alloc, seg->address))
        return vs_fail(err, VS_E_DAMAGED,
                       "segment at 0x%" PRIx64 " is where an expandable one begins", seg->address);
    area = eng_area_new(alloc, pool, seg->address, seg->bytes);
    adopt_blocks(alloc, area, state, seg, NULL, NULL);
    eng_stat_up(alloc->stats.segment, seg->is_small, 1);
    if (seg->bytes >= alloc->conf.max_split_bytes)
        eng_stat_one_up(&alloc->stats.oversize_segments);
    return VS_OK;
}

static struct eng_block *last_block(struct eng_area *area)
{
    struct eng_block *block = area->first;

    while (block->next)
        block = block->next;
    return block;
}

/*
 * Adds a mapped range of the area that begins at `base`. Ranges come in address order, so if the area exists already,
 * its last block is the unmapped one from which the range is split off.
 */
static enum vs_status adopt_range(struct eng_alloc *alloc, struct eng_pool *pool,
                                  const struct eng_record_state *state,
                                  const struct eng_record_segment *seg, struct vs_error *err)
{
    const uint64_t base = seg->area_address ? seg->area_address : seg->address;
    struct eng_area *area = area_at(alloc, base);
    const uint64_t granule = eng_expandable_granule(alloc, pool);
    struct eng_block *hole;
    struct eng_block *rest;
    uint64_t end;

    if (!area)
        area = eng_expandable_area_new(alloc, pool, seg->stream, base,
                                       eng_expandable_reserve_bytes(alloc, granule), granule);
    hole = last_block(area);
    end = hole->address + hole->bytes;
    if (hole->is_mapped || seg->address < hole->address || seg->address + seg->bytes > end ||
        hole->stream != seg->stream || hole->pool != pool || (seg->address - base) % granule != 0 ||
        seg->bytes % granule != 0)
        return vs_fail(err, VS_E_DAMAGED,
                       "expandable segment at 0x%" PRIx64
                       " does not fit the address space at 0x%" PRIx64,
                       seg->address, base);
    eng_pool_remove_unmapped(hole);
    rest = NULL;
    if (seg->address + seg->bytes < end) {
        rest = eng_block_take(alloc, area, seg->address + seg->bytes,
                              end - seg->address - seg->bytes, seg->stream);
        rest->is_mapped = false;
        eng_block_splice(rest, hole, NULL);
        eng_pool_insert_unmapped(rest);
    }
    if (seg->address > hole->address) {
        hole->bytes = seg->address - hole->address;
        eng_pool_insert_unmapped(hole);
    } else {
        struct eng_block *prev = hole->prev;

        eng_block_recycle(alloc, hole);
        hole = prev;
    }
    adopt_blocks(alloc, area, state, seg, hole, rest);
    return VS_OK;
}

enum vs_status eng_alloc_adopt(struct eng_alloc *alloc, const struct eng_record_state *state,
                               struct vs_error *err)
{
    enum vs_status st = eng_record_state_check(state, err);

    VS_ASSERT(alloc->areas.count == 0);
    for (size_t i = 0; i < state->segment_count && !st; i++) {
        const struct eng_record_segment *seg = &state->segments[i];
        const bool is_private = seg->pool.graph != 0 || seg->pool.user != 0;
        struct eng_private_pool *owner = is_private ? eng_private_pool_get(alloc, seg->pool) : NULL;
        struct eng_pool *pool = owner ? (seg->is_small ? &owner->small : &owner->large)
                                      : (seg->is_small ? &alloc->small : &alloc->large);

        if (owner && owner->use_count == 0)
            owner->use_count = 1; /* its creator is assumed to exist still */
        st = seg->is_expandable ? adopt_range(alloc, pool, state, seg, err)
                                : adopt_plain(alloc, pool, state, seg, err);
        if (st)
            break;
        eng_stat_up(alloc->stats.reserved_bytes, seg->is_small, seg->bytes);
    }
    return st;
}

bool eng_record_is_wait(const struct eng_alloc *alloc, const struct eng_record_event *events,
                        size_t count)
{
    const struct eng_block *block;

    for (size_t i = 0; i < count; i++) {
        block = eng_events_waiting(alloc, i);
        if (!block || block->address != events[i].address)
            return false;
    }
    return !eng_events_waiting(alloc, count);
}
