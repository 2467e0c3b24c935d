/*
 * engine/alloc_adopt.c - starting an allocator from a recorded state instead of from nothing.
 *
 * For:            engine/alloc_record.h.
 * Must not know:  where the state comes from.
 * Invariant:      afterwards the allocator is as if it had made that state itself.
 */
#include "engine/alloc_record.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "engine/alloc_internal.h"

/* A made-up stream that a recorded pending block waits for; no real handle looks like it. */
#define UNKNOWN_STREAM (ENG_ANY_STREAM - 1)

static enum vs_status check_segment(const struct eng_record_state *state, size_t idx,
                                    struct vs_error *err)
{
    const struct eng_record_segment *seg = &state->segments[idx];
    uint64_t bytes = 0;

    if (idx > 0 && seg->address < seg[-1].address + seg[-1].bytes)
        return vs_fail(err, VS_E_DAMAGED, "segment at 0x%" PRIx64 " overlaps the one at 0x%" PRIx64,
                       seg->address, seg[-1].address);
    for (size_t i = 0; i < seg->block_count; i++) {
        const struct eng_record_block *block = &state->blocks[seg->first_block + i];

        if (block->bytes == 0 || block->bytes % ENG_MIN_BLOCK_BYTES != 0 ||
            (block->state != ENG_BLOCK_INACTIVE && block->requested_bytes > block->bytes) ||
            !vs_bytes_add(bytes, block->bytes, &bytes))
            return vs_fail(err, VS_E_DAMAGED,
                           "segment at 0x%" PRIx64 ": block %zu of %" PRIu64 " bytes cannot be",
                           seg->address, i, block->bytes);
    }
    if (bytes == 0 || bytes != seg->bytes)
        return vs_fail(err, VS_E_DAMAGED,
                       "segment at 0x%" PRIx64 " has %" PRIu64 " bytes, its blocks %" PRIu64,
                       seg->address, seg->bytes, bytes);
    return VS_OK;
}

/* The statistics of a block that is in use. */
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

/* Puts the blocks of `seg` between `prev` and `next` (either may be NULL: an end of the area). */
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

static void adopt_plain(struct eng_alloc *alloc, struct eng_pool *pool,
                        const struct eng_record_state *state, const struct eng_record_segment *seg)
{
    struct eng_area *area = eng_area_new(alloc, pool, seg->address, seg->bytes);

    adopt_blocks(alloc, area, state, seg, NULL, NULL);
    eng_stat_up(alloc->stats.segment, seg->is_small, 1);
    if (seg->bytes >= alloc->conf.max_split_bytes)
        eng_stat_one_up(&alloc->stats.oversize_segments);
}

static struct eng_block *last_block(struct eng_area *area)
{
    struct eng_block *block = area->first;

    while (block->next)
        block = block->next;
    return block;
}

/*
 * A mapped range of the area that begins at `base`; ranges come in address order, so the last block of an area known already
 * is the unmapped one to cut from.
 */
static enum vs_status adopt_range(struct eng_alloc *alloc, struct eng_pool *pool,
                                  const struct eng_record_state *state,
                                  const struct eng_record_segment *seg, struct vs_error *err)
{
    const uint64_t base = seg->area_address ? seg->area_address : seg->address;
    const struct eng_set_key key = {{base, 0, 0}};
    struct eng_set_node *node = eng_set_floor(&alloc->areas, &key);
    struct eng_area *area = (struct eng_area *)(void *)node; /* the node is the first member */
    const uint64_t granule = eng_expandable_granule(alloc, pool);
    struct eng_block *hole;
    struct eng_block *rest;
    uint64_t end;

    if (!area || area->address != base)
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
    VS_ASSERT(alloc->areas.count == 0);
    for (size_t i = 0; i < state->segment_count; i++) {
        const struct eng_record_segment *seg = &state->segments[i];
        const bool is_private = seg->pool.graph != 0 || seg->pool.user != 0;
        struct eng_private_pool *owner = is_private ? eng_private_pool_get(alloc, seg->pool) : NULL;
        struct eng_pool *pool = owner ? (seg->is_small ? &owner->small : &owner->large)
                                      : (seg->is_small ? &alloc->small : &alloc->large);
        enum vs_status st = check_segment(state, i, err);

        if (!st && seg->is_expandable)
            st = adopt_range(alloc, pool, state, seg, err);
        else if (!st)
            adopt_plain(alloc, pool, state, seg);
        if (st)
            return st;
        eng_stat_up(alloc->stats.reserved_bytes, seg->is_small, seg->bytes);
    }
    return VS_OK;
}
