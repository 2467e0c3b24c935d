/*
 * base/mem.h - host memory allocation that never returns NULL, and an arena for objects that are freed together.
 *
 * For:            every folder.
 * Must not know:  device memory. (Exhausted device memory is an event; exhausted host memory ends the program.)
 * Invariant:      no function here returns NULL for a size other than zero.
 */
#ifndef VS_BASE_MEM_H
#define VS_BASE_MEM_H

#include <stddef.h>

#include "base/attr.h"

/*
 * As malloc, calloc, realloc and free, but call vs_die instead of returning NULL. count * size is checked for
 * overflow.
 */
void *vs_alloc(size_t size) VS_MUST_USE;
void *vs_calloc(size_t count, size_t size) VS_MUST_USE;
void *vs_realloc(void *old, size_t count, size_t size) VS_MUST_USE;
char *vs_strdup(const char *text) VS_MUST_USE;
char *vs_strndup(const char *text, size_t len) VS_MUST_USE;
void vs_free(void *ptr);

/*
 * Sets malloc, for the whole process, to keep large freed blocks instead of returning them to the system. For a
 * program whose stages allocate and free some MiB each: the next stage then reuses memory that need not be cleared by
 * the system again. Costs up to the largest stage's memory. Does nothing where the C library has no such setting.
 */
void vs_mem_keep(void);

/*
 * Makes capacity for one more element in a vector kept as (pointer, count, capacity): `v = vs_grow(v, v_count,
 * &v_cap, sizeof(*v))`. When count == *cap the capacity is doubled. Returns the pointer to use from then on.
 */
void *vs_grow(void *vec, size_t count, size_t *cap, size_t elem_size) VS_MUST_USE;
/*
 * Makes capacity for at least `wanted` elements at once, if the number is known in advance: avoids copying while the
 * vector grows. Memory that is never used is not touched.
 */
void *vs_reserve(void *vec, size_t wanted, size_t *cap, size_t elem_size) VS_MUST_USE;

/*
 * An arena: allocations of any size that are freed together. An object from it is never freed singly and must not be
 * used after a clear. Alignment is that of max_align_t. Debug builds (DEBUG=1) overwrite the memory on clear.
 */
struct vs_arena;
struct vs_arena *vs_arena_new(void) VS_MUST_USE;
void vs_arena_free(struct vs_arena *arena);
void vs_arena_clear(struct vs_arena *arena); /* frees all objects; the blocks are kept for reuse */
/* Host memory of all blocks, including those kept for reuse. */
size_t vs_arena_bytes(const struct vs_arena *arena);
void *vs_arena_alloc(struct vs_arena *arena, size_t size) VS_MUST_USE; /* not zeroed */
void *vs_arena_calloc(struct vs_arena *arena, size_t count, size_t size) VS_MUST_USE;
char *vs_arena_strndup(struct vs_arena *arena, const char *text, size_t len) VS_MUST_USE;
char *vs_arena_printf(struct vs_arena *arena, const char *fmt, ...) VS_PRINTF(2, 3) VS_MUST_USE;

#endif
