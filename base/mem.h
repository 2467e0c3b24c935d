/*
 * base/mem.h - host memory that is never NULL, and an arena for things that die together.
 *
 * For:            every folder.
 * Must not know:  device memory: running out of that is an event, running out of this is the end.
 * Invariant:      no function here returns NULL for a non-zero size.
 */
#ifndef VS_BASE_MEM_H
#define VS_BASE_MEM_H

#include <stddef.h>

#include "base/attr.h"

/* As malloc, calloc, realloc, free; die instead of returning NULL. count * size is checked. */
void *vs_alloc(size_t size) VS_MUST_USE;
void *vs_calloc(size_t count, size_t size) VS_MUST_USE;
void *vs_realloc(void *old, size_t count, size_t size) VS_MUST_USE;
char *vs_strdup(const char *text) VS_MUST_USE;
char *vs_strndup(const char *text, size_t len) VS_MUST_USE;
void vs_free(void *ptr);

/*
 * For a program of stages that each take some MiB and let go of them: what one stage gave back is the next one's, not the system's to clear anew.
 * For the whole process; costs what the largest stage had more than the others. Where the C library has no such switch, nothing happens.
 */
void vs_mem_keep(void);

/*
 * Room for one more element in a vector kept as (pointer, count, capacity): `vs_grow(v, v_count, &v_cap, sizeof(*v))`
 * returns the pointer to use, capacity grown by doubling when count == *cap.
 */
void *vs_grow(void *vec, size_t count, size_t *cap, size_t elem_size) VS_MUST_USE;
/* Room for `wanted` elements of such a vector, where that is known: no copying later, and what is not used is never touched. */
void *vs_reserve(void *vec, size_t wanted, size_t *cap, size_t elem_size) VS_MUST_USE;

/*
 * An arena: allocations of any size, freed together. Objects from it are never freed singly and never outlive its
 * reset. Alignment is that of max_align_t. Debug builds (DEBUG=1) overwrite memory on reset.
 */
struct vs_arena;
struct vs_arena *vs_arena_new(void) VS_MUST_USE;
void vs_arena_free(struct vs_arena *arena);
void vs_arena_clear(struct vs_arena *arena); /* everything gone, blocks kept for reuse */
/* Host memory of its blocks, of those kept for reuse, too. */
size_t vs_arena_bytes(const struct vs_arena *arena);
void *vs_arena_alloc(struct vs_arena *arena, size_t size) VS_MUST_USE; /* not zeroed */
void *vs_arena_calloc(struct vs_arena *arena, size_t count, size_t size) VS_MUST_USE;
char *vs_arena_strndup(struct vs_arena *arena, const char *text, size_t len) VS_MUST_USE;
char *vs_arena_printf(struct vs_arena *arena, const char *fmt, ...) VS_PRINTF(2, 3) VS_MUST_USE;

#endif
