/*
 * base/mem.c - see mem.h.
 *
 * Must not know:  what is stored.
 * Invariant:      an arena's blocks have at least the requested size; the current block is the first of the list.
 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/error.h"

/*
 * Blocks of this size and larger are mapped from the system, which can enlarge them without a copy.
 */
#define MMAP_FROM (4 << 20)

#ifdef VS_STRESS
#define ARENA_BLOCK_SIZE ((size_t)256)
#else
#define ARENA_BLOCK_SIZE ((size_t)64 * 1024)
#endif
#define ARENA_ALIGN _Alignof(max_align_t)

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t size;
    max_align_t data[]; /* flexible array: aligns the payload */
};

struct vs_arena {
    struct arena_block *in_use;
    struct arena_block *spare;
};

static void *none(size_t count, size_t size)
{
    vs_die("out of host memory (%zu x %zu bytes requested)", count, size);
}

void *vs_alloc(size_t size)
{
    void *ptr = malloc(size ? size : 1);

    return ptr ? ptr : none(1, size);
}

void *vs_calloc(size_t count, size_t size)
{
    void *ptr = calloc(count ? count : 1, size ? size : 1);

    return ptr ? ptr : none(count, size);
}

void *vs_realloc(void *old, size_t count, size_t size)
{
    void *ptr;

    if (size && count > SIZE_MAX / size)
        return none(count, size);
    ptr = realloc(old, count && size ? count * size : 1);
    return ptr ? ptr : none(count, size);
}

char *vs_strndup(const char *text, size_t len)
{
    char *copy = vs_alloc(len + 1);

    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *vs_strdup(const char *text)
{
    return vs_strndup(text, strlen(text));
}

void vs_free(void *ptr)
{
    free(ptr);
}

void vs_mem_keep(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, MMAP_FROM);
    mallopt(M_TRIM_THRESHOLD, 2 * MMAP_FROM);
#endif
}

void *vs_grow(void *vec, size_t count, size_t *cap, size_t elem_size)
{
    if (count < *cap)
        return vec;
    *cap = *cap ? *cap * 2 : 8;
    return vs_realloc(vec, *cap, elem_size);
}

void *vs_reserve(void *vec, size_t wanted, size_t *cap, size_t elem_size)
{
    if (wanted <= *cap)
        return vec;
    *cap = wanted;
    return vs_realloc(vec, wanted, elem_size);
}

struct vs_arena *vs_arena_new(void)
{
    return vs_calloc(1, sizeof(struct vs_arena));
}

static void blocks_free(struct arena_block *block)
{
    while (block) {
        struct arena_block *next = block->next;

        vs_free(block);
        block = next;
    }
}

void vs_arena_free(struct vs_arena *arena)
{
    if (!arena)
        return;
    blocks_free(arena->in_use);
    blocks_free(arena->spare);
    vs_free(arena);
}

void vs_arena_clear(struct vs_arena *arena)
{
    while (arena->in_use) {
        struct arena_block *block = arena->in_use;

        arena->in_use = block->next;
#ifdef VS_DEBUG
        memset(block->data, 0xdb, block->size);
#endif
        block->used = 0;
        block->next = arena->spare;
        arena->spare = block;
    }
}

size_t vs_arena_bytes(const struct vs_arena *arena)
{
    size_t bytes = 0;

    for (const struct arena_block *block = arena->in_use; block; block = block->next)
        bytes += sizeof(*block) + block->size;
    for (const struct arena_block *block = arena->spare; block; block = block->next)
        bytes += sizeof(*block) + block->size;
    return bytes;
}

static struct arena_block *arena_block_take(struct vs_arena *arena, size_t need)
{
    struct arena_block *block = arena->spare;
    size_t size = need > ARENA_BLOCK_SIZE ? need : ARENA_BLOCK_SIZE;

    if (block && block->size >= need) {
        arena->spare = block->next;
    } else {
        block = vs_alloc(sizeof(*block) + size);
        block->size = size;
    }
    block->used = 0;
    block->next = arena->in_use;
    arena->in_use = block;
    return block;
}

void *vs_arena_alloc(struct vs_arena *arena, size_t size)
{
    struct arena_block *block = arena->in_use;
    size_t need = (size + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
    void *ptr;

    VS_ASSERT(need >= size);
    if (!block || block->size - block->used < need)
        block = arena_block_take(arena, need);
    ptr = (char *)block->data + block->used;
    block->used += need;
    return ptr;
}

void *vs_arena_calloc(struct vs_arena *arena, size_t count, size_t size)
{
    void *ptr;

    VS_ASSERT(!size || count <= SIZE_MAX / size);
    ptr = vs_arena_alloc(arena, count * size);
    memset(ptr, 0, count * size);
    return ptr;
}

char *vs_arena_strndup(struct vs_arena *arena, const char *text, size_t len)
{
    char *copy = vs_arena_alloc(arena, len + 1);

    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *vs_arena_printf(struct vs_arena *arena, const char *fmt, ...)
{
    va_list ap;
    va_list again;
    char *text;
    int len;

    VS_ASSERT(fmt);
    va_start(ap, fmt);
    va_copy(again, ap);
    len = vsnprintf(NULL, 0, fmt, ap);
    VS_ASSERT(len >= 0);
    text = vs_arena_alloc(arena, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return text;
}
