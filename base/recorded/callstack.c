/*
 * base/recorded/callstack.c - see callstack.h.
 */
#include "base/recorded/callstack.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

void vs_callstacks_release(struct vs_callstacks *stacks)
{
    vs_free(stacks->frames);
    vs_free(stacks->items);
    vs_free(stacks->pool);
    vs_table_release(&stacks->frames_by_hash);
    vs_table_release(&stacks->items_by_hash);
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

uint32_t vs_callstacks_frame(struct vs_callstacks *stacks, const struct vs_frame *frame)
{
    const uint64_t hash = frame_hash(frame);
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&stacks->frames_by_hash, &probe))
        if (frame_same(&stacks->frames[probe.item], frame))
            return probe.item + 1;
    vs_table_add(&stacks->frames_by_hash, hash, stacks->frame_count);
    stacks->frames =
        vs_grow(stacks->frames, stacks->frame_count, &stacks->frame_cap, sizeof(*stacks->frames));
    stacks->frames[stacks->frame_count++] = *frame;
    return (uint32_t)stacks->frame_count;
}

uint32_t vs_callstacks_add(struct vs_callstacks *stacks, const uint32_t *frames, size_t count,
                           const struct vs_callstack *about)
{
    const uint64_t hash = stack_hash(frames, count, about);
    struct vs_probe probe = vs_probe(hash);
    struct vs_callstack *item;

    while (vs_table_next(&stacks->items_by_hash, &probe))
        if (stack_same(stacks, &stacks->items[probe.item], frames, count, about))
            return probe.item + 1;
    vs_table_add(&stacks->items_by_hash, hash, stacks->count);
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
