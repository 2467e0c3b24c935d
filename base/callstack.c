/*
 * base/callstack.c - see callstack.h.
 */
#include "base/callstack.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#define SLOTS_AT_START 64

void vs_callstacks_release(struct vs_callstacks *stacks)
{
    vs_free(stacks->frames);
    vs_free(stacks->items);
    vs_free(stacks->pool);
    vs_free(stacks->frame_slots);
    vs_free(stacks->slots);
    memset(stacks, 0, sizeof(*stacks));
}

static uint64_t frame_hash(const struct vs_frame *frame)
{
    uint64_t hash = vs_hash_mix(frame->func, frame->file);

    return vs_hash_mix(vs_hash_mix(hash, frame->line), frame->kind);
}

static bool frame_same(const struct vs_frame *a, const struct vs_frame *b)
{
    return a->func == b->func && a->file == b->file && a->line == b->line && a->kind == b->kind;
}

static uint64_t stack_hash(const uint32_t *frames, size_t count, const struct vs_callstack *about)
{
    uint64_t hash = vs_hash_mix((uint64_t)about->module << 32 | about->op,
                                (uint64_t)about->cls << 8 | about->flags);

    for (size_t i = 0; i < count; i++)
        hash = vs_hash_mix(hash, frames[i]);
    return hash;
}

static bool stack_same(const struct vs_callstacks *stacks, const struct vs_callstack *there,
                       const uint32_t *frames, size_t count, const struct vs_callstack *about)
{
    return there->count == count && there->op == about->op && there->module == about->module &&
           there->cls == about->cls && there->flags == about->flags &&
           (!count || memcmp(&stacks->pool[there->first], frames, count * sizeof(*frames)) == 0);
}

/* The table with twice the slots, empty; the caller puts the numbers in again. */
static void slots_double(uint32_t **slots, size_t *count)
{
    *count = *count ? *count * 2 : SLOTS_AT_START;
    vs_free(*slots);
    *slots = vs_calloc(*count, sizeof(**slots));
}

static void slot_put(uint32_t *slots, size_t count, uint64_t hash, uint32_t id)
{
    size_t at = (size_t)hash & (count - 1);

    while (slots[at])
        at = (at + 1) & (count - 1);
    slots[at] = id;
}

uint32_t vs_callstacks_frame(struct vs_callstacks *stacks, const struct vs_frame *frame)
{
    size_t at;

    if (stacks->frame_count * 2 >= stacks->frame_slot_count) {
        slots_double(&stacks->frame_slots, &stacks->frame_slot_count);
        for (size_t i = 0; i < stacks->frame_count; i++)
            slot_put(stacks->frame_slots, stacks->frame_slot_count, frame_hash(&stacks->frames[i]),
                     (uint32_t)i + 1);
    }
    at = (size_t)frame_hash(frame) & (stacks->frame_slot_count - 1);
    for (; stacks->frame_slots[at]; at = (at + 1) & (stacks->frame_slot_count - 1))
        if (frame_same(&stacks->frames[stacks->frame_slots[at] - 1], frame))
            return stacks->frame_slots[at];
    stacks->frames =
        vs_grow(stacks->frames, stacks->frame_count, &stacks->frame_cap, sizeof(*stacks->frames));
    stacks->frames[stacks->frame_count++] = *frame;
    stacks->frame_slots[at] = (uint32_t)stacks->frame_count;
    return (uint32_t)stacks->frame_count;
}

static uint64_t item_hash(const struct vs_callstacks *stacks, const struct vs_callstack *item)
{
    return stack_hash(item->count ? &stacks->pool[item->first] : NULL, item->count, item);
}

uint32_t vs_callstacks_add(struct vs_callstacks *stacks, const uint32_t *frames, size_t count,
                           const struct vs_callstack *about)
{
    struct vs_callstack *item;
    size_t at;

    if (stacks->count * 2 >= stacks->slot_count) {
        slots_double(&stacks->slots, &stacks->slot_count);
        for (size_t i = 0; i < stacks->count; i++)
            slot_put(stacks->slots, stacks->slot_count, item_hash(stacks, &stacks->items[i]),
                     (uint32_t)i + 1);
    }
    at = (size_t)stack_hash(frames, count, about) & (stacks->slot_count - 1);
    for (; stacks->slots[at]; at = (at + 1) & (stacks->slot_count - 1))
        if (stack_same(stacks, &stacks->items[stacks->slots[at] - 1], frames, count, about))
            return stacks->slots[at];
    stacks->items = vs_grow(stacks->items, stacks->count, &stacks->cap, sizeof(*stacks->items));
    item = &stacks->items[stacks->count++];
    *item = *about;
    item->first = stacks->pool_count;
    item->count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        stacks->pool =
            vs_grow(stacks->pool, stacks->pool_count, &stacks->pool_cap, sizeof(*stacks->pool));
        stacks->pool[stacks->pool_count++] = frames[i];
    }
    stacks->slots[at] = (uint32_t)stacks->count;
    return (uint32_t)stacks->count;
}

const struct vs_callstack *vs_callstacks_get(const struct vs_callstacks *stacks, uint32_t id)
{
    VS_ASSERT(id && id <= stacks->count);
    return &stacks->items[id - 1];
}

const struct vs_frame *vs_callstacks_at(const struct vs_callstacks *stacks,
                                        const struct vs_callstack *stack, size_t i)
{
    VS_ASSERT(i < stack->count);
    return &stacks->frames[stacks->pool[stack->first + i] - 1];
}
