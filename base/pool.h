/*
 * base/pool.h - an allocator for small host objects that are allocated and freed very often.
 *
 * For:            owners of many objects of a few sizes: an engine context, an interpreter of the net language.
 * Must not know:  the contents of the objects.
 * Invariant:      a block is put back with the size it was allocated with; among blocks of equal rounded size the one
 *                 put back last is reused first.
 *
 * Under a memory checker (ASan, MSan, DEBUG=1) every block is allocated by malloc and freed at once when it is put
 * back, so that use after free is found. Otherwise only large blocks are.
 */
#ifndef VS_BASE_POOL_H
#define VS_BASE_POOL_H

#include <stddef.h>
#include <string.h>

#include "base/attr.h"
#include "base/mem.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define VS_POOL_OFF 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(VS_DEBUG)
#define VS_POOL_OFF 1
#endif
#ifndef VS_POOL_OFF
#define VS_POOL_OFF 0
#endif

#define VS_POOL_STEP 16  /* sizes are rounded up to a multiple of this */
#define VS_POOL_SIZES 64 /* blocks larger than 64 * 16 bytes come from malloc */

struct vs_pool_chunk;
struct vs_pool_alone;

/*
 * A zero-initialised pool is empty. unused: per rounded size, a list of blocks that were put back.
 */
struct vs_pool {
    void *unused[VS_POOL_SIZES];
    char *fresh; /* the part of the newest chunk that was never handed out */
    size_t fresh_bytes;
    struct vs_pool_chunk *chunks;
    struct vs_pool_alone *alone; /* blocks from malloc that are in use */
};

/* Frees all memory of the pool, including blocks that are still in use. */
void vs_pool_release(struct vs_pool *pool);

/*
 * Calls `see` for every block of a pool that allocates blocks of `size` only. Unless blocks come from malloc, that
 * includes blocks that were put back; those still have their contents except for the first pointer. `see` must not
 * change the pool.
 */
void vs_pool_each(const struct vs_pool *pool, size_t size, void (*see)(void *user, void *block),
                  void *user);

/*
 * For the inline functions below: when no unused block of the size exists, and for blocks from malloc.
 */
void *vs_pool_get_fresh(struct vs_pool *pool, size_t size) VS_MUST_USE;
void *vs_pool_get_alone(struct vs_pool *pool, size_t size) VS_MUST_USE;
void vs_pool_put_alone(struct vs_pool *pool, void *block);

/* Returns at least `size` (> 0) bytes, aligned as by malloc, not zeroed. O(1). */
static inline void *vs_pool_get(struct vs_pool *pool, size_t size)
{
    size_t i = (size - 1) / VS_POOL_STEP;
    void *block;

    if (VS_POOL_OFF || i >= VS_POOL_SIZES)
        return vs_pool_get_alone(pool, size);
    block = pool->unused[i];
    if (!block)
        return vs_pool_get_fresh(pool, size);
    memcpy(&pool->unused[i], block, sizeof(void *));
    return block;
}

static inline void *vs_pool_get_zeroed(struct vs_pool *pool, size_t size)
{
    return memset(vs_pool_get(pool, size), 0, size);
}

/* Puts a block back; `size` is what was passed to vs_pool_get. NULL is allowed. */
static inline void vs_pool_put(struct vs_pool *pool, void *block, size_t size)
{
    size_t i = (size - 1) / VS_POOL_STEP;

    if (!block)
        return;
    if (VS_POOL_OFF || i >= VS_POOL_SIZES) {
        vs_pool_put_alone(pool, block);
        return;
    }
    memcpy(block, &pool->unused[i], sizeof(void *));
    pool->unused[i] = block;
}

#endif
