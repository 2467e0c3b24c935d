/*
 * base/heap.h - memory in one piece, that can be put back as it was: what vs_alloc and its like give while it is entered.
 *
 * For:            whoever makes a large, linked thing again and again up to the same point (lang/run_start.c).
 * Must not know:  what is in it.
 * Invariant:      what was got from it lies in it at the same address after it was put back, with the contents of then. A block is given back or grown
 *                 only while its heap is entered; what came from elsewhere may be so at any time, and stays elsewhere.
 *
 * Entered by one thread, for itself. Under a memory checker (base/pool.h) there are none, so that a use after the end is found.
 */
#ifndef VS_BASE_HEAP_H
#define VS_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct vs_heap;

/* The one that this thread has entered; NULL: none. For base/mem.c and vs_heap_enter alone. */
extern _Thread_local struct vs_heap *vs_heap_current;

/* NULL where the system gives no room for one. Addresses are taken, memory as far as it is used; that stays until the heap goes. */
struct vs_heap *vs_heap_new(void) VS_MUST_USE;
void vs_heap_free(struct vs_heap *heap); /* not while it is entered; NULL is nothing */

/* From now on vs_alloc, vs_calloc and vs_realloc take from `heap`; NULL: from the system, as always. Returns what was entered before, to be entered again. */
static inline struct vs_heap *vs_heap_enter(struct vs_heap *heap)
{
    struct vs_heap *before = vs_heap_current;

    vs_heap_current = heap;
    return before;
}

/* Everything that was got from it goes at once. */
void vs_heap_clear(struct vs_heap *heap);
/* It was too small, and something came from the system since it was cleared or put back. */
bool vs_heap_is_spilled(const struct vs_heap *heap);
/* Bytes from its beginning to the end of what was got so far: as many as an image has. */
size_t vs_heap_bytes(const struct vs_heap *heap);

/* What it is like, to `image`, of vs_heap_bytes; and back to that. */
void vs_heap_save(const struct vs_heap *heap, void *image);
void vs_heap_restore(struct vs_heap *heap, const void *image, size_t bytes);

/* ---- for base/mem.c: of the heap that is entered ---- */

#define VS_HEAP_BYTES ((size_t)256 << 20)

static inline bool vs_heap_has(const struct vs_heap *heap, const void *ptr)
{
    return (uintptr_t)ptr - (uintptr_t)heap < VS_HEAP_BYTES;
}

/* NULL: there is no room. Aligned as malloc's. calloc's is zeroed. */
void *vs_heap_alloc(struct vs_heap *heap, size_t size) VS_MUST_USE;
void *vs_heap_calloc(struct vs_heap *heap, size_t size) VS_MUST_USE;
void vs_heap_put(struct vs_heap *heap, void *ptr);
/* How large a block of it may grow in its place. */
size_t vs_heap_room(const void *ptr);

#endif
