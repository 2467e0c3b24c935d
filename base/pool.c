/*
 * base/pool.c - see pool.h.
 *
 * Must not know:  what is in the blocks.
 * Invariant:      a chunk is used from its beginning; the rest of it is lost when the next one is allocated, until
 *                 the pool is released.
 */
#include "base/pool.h"

#ifdef VS_STRESS
#define CHUNK_BYTES ((size_t)2048)
#else
#define CHUNK_BYTES ((size_t)64 * 1024)
#endif

struct vs_pool_chunk {
    struct vs_pool_chunk *next;
    max_align_t data[]; /* flexible array: aligns the blocks */
};

/* The header of a block from malloc: links it with the other blocks that are in use. */
struct vs_pool_alone {
    struct vs_pool_alone *prev, *next;
    max_align_t data[];
};

static size_t rounded(size_t size)
{
    return (size + VS_POOL_STEP - 1) / VS_POOL_STEP * VS_POOL_STEP;
}

void *vs_pool_get_alone(struct vs_pool *pool, size_t size)
{
    struct vs_pool_alone *a = vs_alloc(sizeof(*a) + size);

    a->prev = NULL;
    a->next = pool->alone;
    if (a->next)
        a->next->prev = a;
    pool->alone = a;
    return a->data;
}

void vs_pool_put_alone(struct vs_pool *pool, void *block)
{
    struct vs_pool_alone *a = (void *)((char *)block - offsetof(struct vs_pool_alone, data));

    if (a->prev)
        a->prev->next = a->next;
    else
        pool->alone = a->next;
    if (a->next)
        a->next->prev = a->prev;
    vs_free(a);
}

void *vs_pool_get_fresh(struct vs_pool *pool, size_t size)
{
    size_t bytes = rounded(size);
    void *block;

    if (pool->fresh_bytes < bytes) {
        struct vs_pool_chunk *chunk = vs_alloc(sizeof(*chunk) + CHUNK_BYTES);

        chunk->next = pool->chunks;
        pool->chunks = chunk;
        pool->fresh = (char *)chunk->data;
        pool->fresh_bytes = CHUNK_BYTES;
    }
    block = pool->fresh;
    pool->fresh += bytes;
    pool->fresh_bytes -= bytes;
    return block;
}

void vs_pool_each(const struct vs_pool *pool, size_t size, void (*see)(void *user, void *block),
                  void *user)
{
    size_t bytes = rounded(size);

    for (struct vs_pool_chunk *chunk = pool->chunks; chunk; chunk = chunk->next) {
        size_t count =
            CHUNK_BYTES / bytes - (chunk == pool->chunks ? pool->fresh_bytes / bytes : 0);

        for (size_t i = 0; i < count; i++)
            see(user, (char *)chunk->data + i * bytes);
    }
    for (struct vs_pool_alone *a = pool->alone; a; a = a->next)
        see(user, a->data);
}

void vs_pool_release(struct vs_pool *pool)
{
    while (pool->chunks) {
        struct vs_pool_chunk *chunk = pool->chunks;

        pool->chunks = chunk->next;
        vs_free(chunk);
    }
    while (pool->alone)
        vs_pool_put_alone(pool, pool->alone->data);
    memset(pool, 0, sizeof(*pool));
}
