/*
 * base/pool.h - small objects of the host that come and go by the thousand.
 *
 * For:            whoever owns many objects of a few sizes: an engine context, a machine of the net language.
 * Must not know:  what is in them.
 * Invariant:      every block is put back with the size it was got with; blocks of equal rounded size are used again, last one first.
 *
 * Under a memory checker (ASAN, MSAN, DEBUG=1) every block comes from malloc by itself, as large ones always do, and goes back to it
 * at once, so that a use after its end is found.
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
#define VS_POOL_SIZES 64 /* larger blocks than 64 * 16 bytes stand alone */

struct vs_pool_chunk;
struct vs_pool_alone;

/* Zeroed is empty. */
struct vs_pool {
    void *unused[VS_POOL_SIZES];
    char *fresh; /* of the newest chunk: what has not been handed out yet */
    size_t fresh_bytes;
    struct vs_pool_chunk *chunks;
    struct vs_pool_alone *alone; /* blocks of malloc's that are out */
};

/* Everything that is still out goes with it. */
void vs_pool_release(struct vs_pool *pool);

/*
 * Shows every block of a pool whose blocks are all got with `size`; where blocks are used again also those that were put back, of which
 * all but the first pointer is as it was then. `see` leaves the pool as it is.
 */
void vs_pool_each(const struct vs_pool *pool, size_t size, void (*see)(void *user, void *block),
                  void *user);

/* The slow ways. */
void *vs_pool_get_fresh(struct vs_pool *pool, size_t size) VS_MUST_USE;
void *vs_pool_get_alone(struct vs_pool *pool, size_t size) VS_MUST_USE;
void vs_pool_put_alone(struct vs_pool *pool, void *block);

/* At least `size` (> 0) bytes, aligned as malloc's, not zeroed. */
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

/* `size` as it was got. NULL is nothing. */
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
