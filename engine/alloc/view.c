/*
 * engine/alloc/view.c - reads the allocator's state: blocks, and segments as a memory snapshot shows them.
 *
 * For:            reports, traces, comparisons.
 * Must not know:  how the state came about.
 * Invariant:      nothing here changes the state.
 */
#include "engine/alloc/alloc_internal.h"

uint64_t eng_block_address(const struct eng_block *block)
{
    return block->address;
}

uint64_t eng_block_bytes(const struct eng_block *block)
{
    return block->bytes;
}

uint64_t eng_block_requested_bytes(const struct eng_block *block)
{
    return block->requested_bytes;
}

uint64_t eng_block_stream(const struct eng_block *block)
{
    return block->stream;
}

uint64_t eng_block_segment_address(const struct eng_block *block)
{
    if (!block->area->is_expandable)
        return block->area->address;
    while (block->prev && block->prev->is_mapped)
        block = block->prev;
    return block->address;
}

enum eng_block_state eng_block_state(const struct eng_block *block)
{
    if (block->is_allocated)
        return ENG_BLOCK_ALLOCATED;
    return eng_block_is_available(block) ? ENG_BLOCK_INACTIVE : ENG_BLOCK_PENDING_FREE;
}

void *eng_block_user(const struct eng_block *block)
{
    return block->user;
}

void eng_block_set_user(struct eng_block *block, void *user)
{
    block->user = user;
}

const struct eng_block *eng_block_next(const struct eng_block *block)
{
    return block->next && block->next->is_mapped ? block->next : NULL;
}

static struct eng_area *area_of(struct eng_set_node *node)
{
    return (struct eng_area *)(void *)node; /* the node is the first member */
}

/* The first mapped block after `block` that begins a range, or the first of a later area. */
static const struct eng_block *next_range(const struct eng_alloc *alloc,
                                          const struct eng_block *block)
{
    struct eng_set_node *node = block ? &block->area->node : NULL;

    while (block && block->is_mapped)
        block = block->next;
    for (;;) {
        while (block && !block->is_mapped)
            block = block->next;
        if (block)
            return block;
        node = node ? eng_set_next(node) : eng_set_first(&alloc->areas);
        if (!node)
            return NULL;
        block = area_of(node)->first;
    }
}

bool eng_alloc_segment_next(const struct eng_alloc *alloc, struct eng_segment *it)
{
    const struct eng_block *first = next_range(alloc, it->first);

    if (!first)
        return false;
    *it = (struct eng_segment){.address = first->address,
                               .area_address = first->area->address,
                               .stream = first->stream,
                               .is_small = first->pool->is_small,
                               .is_expandable = first->area->is_expandable,
                               .first = first};
    if (first->pool->owner)
        it->pool = first->pool->owner->id;
    for (const struct eng_block *block = first; block; block = eng_block_next(block)) {
        const enum eng_block_state state = eng_block_state(block);

        it->bytes += block->bytes;
        it->block_count++;
        if (state == ENG_BLOCK_ALLOCATED)
            it->allocated_bytes += block->bytes;
        if (state != ENG_BLOCK_INACTIVE) {
            it->active_bytes += block->bytes;
            it->requested_bytes += block->requested_bytes;
        }
    }
    return true;
}
