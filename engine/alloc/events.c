/*
 * engine/alloc/events.c - blocks that other streams used: after their put they stay active until those streams have
 * finished the work queued by then.
 *
 * For:            alloc.c, cache.c.
 * Must not know:  sizes, pools.
 * Invariant:      block->event_count is the number of queue entries with the block. The events of a stream are
 *                 completed in order; streams do not wait for each other.
 */
#include "engine/alloc/alloc_internal.h"

#include "base/mem.h"

void eng_alloc_record_stream(struct eng_alloc *alloc, struct eng_block *block, uint64_t stream)
{
    struct eng_stream_use *use;

    (void)alloc;
    VS_ASSERT(block->is_allocated);
    if (stream == block->stream)
        return;
    for (use = block->uses; use; use = use->next) {
        if (use->stream == stream)
            return;
    }
    use = vs_calloc(1, sizeof(*use));
    use->stream = stream;
    use->next = block->uses;
    block->uses = use;
}

static void drop_uses(struct eng_block *block)
{
    while (block->uses) {
        struct eng_stream_use *use = block->uses;

        block->uses = use->next;
        vs_free(use);
    }
}

static struct eng_event_queue *queue_of(struct eng_alloc *alloc, uint64_t stream)
{
    for (size_t i = 0; i < alloc->queue_count; i++) {
        if (alloc->queues[i].stream == stream)
            return &alloc->queues[i];
    }
    alloc->queues =
        vs_grow(alloc->queues, alloc->queue_count, &alloc->queue_cap, sizeof(*alloc->queues));
    alloc->queues[alloc->queue_count] = (struct eng_event_queue){.stream = stream};
    return &alloc->queues[alloc->queue_count++];
}

void eng_events_expect(struct eng_alloc *alloc, struct eng_block *block, uint64_t stream)
{
    struct eng_event_queue *queue = queue_of(alloc, stream);

    if (queue->first == queue->count)
        queue->first = queue->count = queue->reached_count = 0;
    queue->blocks = vs_grow(queue->blocks, queue->count, &queue->cap, sizeof(struct eng_block *));
    queue->blocks[queue->count++] = block;
    block->event_count++;
}

static void record(struct eng_alloc *alloc, struct eng_block *block)
{
    for (const struct eng_stream_use *use = block->uses; use; use = use->next)
        eng_events_expect(alloc, block, use->stream);
    drop_uses(block);
}

static void record_deferred(struct eng_alloc *alloc)
{
    for (size_t i = 0; i < alloc->deferred_count; i++)
        record(alloc, alloc->deferred[i]);
    alloc->deferred_count = 0;
}

void eng_events_record(struct eng_alloc *alloc, struct eng_block *block)
{
    if (alloc->region_count == 0) {
        record(alloc, block);
        return;
    }
    alloc->deferred = vs_grow(alloc->deferred, alloc->deferred_count, &alloc->deferred_cap,
                              sizeof(struct eng_block *));
    alloc->deferred[alloc->deferred_count++] = block;
}

/* Removes completed events from a queue; a block without events left becomes free. */
static void drain(struct eng_alloc *alloc, struct eng_event_queue *queue, size_t done_count)
{
    while (queue->first < done_count) {
        struct eng_block *block = queue->blocks[queue->first++];

        if (--block->event_count == 0)
            eng_alloc_complete_put(alloc, block);
    }
}

void eng_events_process(struct eng_alloc *alloc)
{
    if (alloc->deferred_count)
        record_deferred(alloc);
    for (size_t i = 0; i < alloc->queue_count; i++) {
        struct eng_event_queue *queue = &alloc->queues[i];

        drain(alloc, queue,
              alloc->events == ENG_EVENTS_AT_NEXT_ALLOC ? queue->count : queue->reached_count);
    }
}

void eng_events_synchronize(struct eng_alloc *alloc)
{
    alloc->stats.num_sync_all_streams++;
    record_deferred(alloc);
    for (size_t i = 0; i < alloc->queue_count; i++)
        drain(alloc, &alloc->queues[i], alloc->queues[i].count);
}

const struct eng_block *eng_events_waiting(const struct eng_alloc *alloc, size_t i)
{
    for (size_t q = 0; q < alloc->queue_count; q++) {
        const struct eng_event_queue *queue = &alloc->queues[q];

        if (i < queue->count - queue->first)
            return queue->blocks[queue->first + i];
        i -= queue->count - queue->first;
    }
    return NULL;
}

void eng_alloc_stream_reached(struct eng_alloc *alloc, uint64_t stream)
{
    struct eng_event_queue *queue = queue_of(alloc, stream);

    queue->reached_count = queue->count;
}

/* Removes every entry of `block` from the queue; the others keep their order. */
static void forget_in_queue(struct eng_event_queue *queue, const struct eng_block *block)
{
    size_t to = queue->first;
    size_t reached = queue->first;

    for (size_t from = queue->first; from < queue->count; from++) {
        if (queue->blocks[from] == block)
            continue;
        if (from < queue->reached_count)
            reached++;
        queue->blocks[to++] = queue->blocks[from];
    }
    queue->count = to;
    queue->reached_count = reached;
}

void eng_events_forget(struct eng_alloc *alloc, struct eng_block *block)
{
    size_t to = 0;

    for (size_t i = 0; i < alloc->queue_count; i++)
        forget_in_queue(&alloc->queues[i], block);
    for (size_t i = 0; i < alloc->deferred_count; i++) {
        if (alloc->deferred[i] != block)
            alloc->deferred[to++] = alloc->deferred[i];
    }
    alloc->deferred_count = to;
    block->event_count = 0;
    drop_uses(block);
}

void eng_alloc_put_complete(struct eng_alloc *alloc, struct eng_block *block)
{
    VS_ASSERT(eng_block_state(block) == ENG_BLOCK_PENDING_FREE);
    eng_events_forget(alloc, block);
    eng_alloc_complete_put(alloc, block);
}

void eng_events_release(struct eng_alloc *alloc)
{
    for (size_t i = 0; i < alloc->slab_count; i++) {
        for (size_t j = 0; j < ENG_SLAB_BLOCKS; j++)
            drop_uses(&alloc->slabs[i][j]);
    }
    for (size_t i = 0; i < alloc->queue_count; i++)
        vs_free(alloc->queues[i].blocks);
    vs_free(alloc->queues);
    vs_free(alloc->deferred);
}
