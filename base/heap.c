/*
 * base/heap.c - see heap.h.
 *
 * Must not know:  what is in it.
 * Invariant:      the heap's own record stands at its beginning and is part of what is put back; behind `touched`, which is not, all bytes are zero.
 */
#include "base/heap.h"

#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/pool.h"

/* Of one size each up to FINE_MAX; from there on four to a doubling. */
#define STEP 16
#define FINE_MAX 1024
#define FINE_COUNT (FINE_MAX / STEP)
#define COARSE_FIRST 10 /* 2^10 is FINE_MAX */
#define CLASS_COUNT (FINE_COUNT + 1 + 4 * 32)

#ifdef VS_STRESS
#define ROOM ((size_t)3 << 20)
#else
#define ROOM VS_HEAP_BYTES
#endif

struct unused {
    struct unused *next;
};

/* In front of each block. */
struct head {
    size_t size;
    size_t class;
};

struct vs_heap {
    size_t used;
    size_t touched;
    bool is_spilled;
    struct unused *unused[CLASS_COUNT];
};

_Thread_local struct vs_heap *vs_heap_current;

static size_t rounded(size_t size)
{
    return (size + STEP - 1) / STEP * STEP;
}

/* The class of blocks for so many bytes; *size becomes what they have. */
static size_t class_of(size_t *size)
{
    size_t bytes = rounded(*size ? *size : 1);
    size_t log;
    size_t quarter;
    size_t fourths;

    *size = bytes;
    if (bytes <= FINE_MAX)
        return bytes / STEP;
    log = 63 - (size_t)__builtin_clzll(bytes - 1);
    quarter = (size_t)1 << (log - 2);
    fourths = (bytes - ((size_t)1 << log) + quarter - 1) / quarter; /* 1 to 4 */
    *size = ((size_t)1 << log) + fourths * quarter;
    return FINE_COUNT + (log - COARSE_FIRST) * 4 + fourths;
}

struct vs_heap *vs_heap_new(void)
{
    void *at;

    if (VS_POOL_OFF || sizeof(void *) < 8)
        return NULL;
    at = mmap(NULL, VS_HEAP_BYTES, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    vs_heap_clear(at);
    return at;
}

void vs_heap_free(struct vs_heap *heap)
{
    VS_ASSERT(!heap || heap != vs_heap_current);
    if (heap)
        munmap(heap, VS_HEAP_BYTES);
}

void vs_heap_clear(struct vs_heap *heap)
{
    size_t touched = heap->touched;

    memset(heap, 0, sizeof(*heap));
    heap->used = rounded(sizeof(*heap));
    heap->touched = touched > heap->used ? touched : heap->used;
}

bool vs_heap_is_spilled(const struct vs_heap *heap)
{
    return heap->is_spilled;
}

size_t vs_heap_bytes(const struct vs_heap *heap)
{
    return heap->used;
}

void vs_heap_save(const struct vs_heap *heap, void *image)
{
    memcpy(image, heap, heap->used);
}

void vs_heap_restore(struct vs_heap *heap, const void *image, size_t bytes)
{
    size_t touched = heap->touched;

    memcpy(heap, image, bytes);
    heap->touched = touched;
}

static struct head *head_of(const void *ptr)
{
    return (struct head *)(uintptr_t)ptr - 1;
}

/* *dirty: so many of its bytes may be other than zero. */
static void *get(struct vs_heap *heap, size_t size, size_t *dirty)
{
    size_t class;
    struct unused *again;
    struct head *head;

    if (size > ROOM)
        goto full;
    class = class_of(&size);
    again = heap->unused[class];
    if (again) {
        heap->unused[class] = again->next;
        *dirty = size;
        return again;
    }
    if (sizeof(*head) + size > ROOM - heap->used)
        goto full;
    head = (struct head *)(void *)((char *)heap + heap->used);
    heap->used += sizeof(*head) + size;
    *dirty = size;
    if (heap->used > heap->touched) {
        *dirty = heap->used - heap->touched < size ? size - (heap->used - heap->touched) : 0;
        heap->touched = heap->used;
    }
    *head = (struct head){.size = size, .class = class};
    return head + 1;
full:
    heap->is_spilled = true;
    return NULL;
}

void *vs_heap_alloc(struct vs_heap *heap, size_t size)
{
    size_t dirty;

    return get(heap, size, &dirty);
}

void *vs_heap_calloc(struct vs_heap *heap, size_t size)
{
    size_t dirty;
    void *ptr = get(heap, size, &dirty);

    if (ptr)
        memset(ptr, 0, dirty < size ? dirty : size);
    return ptr;
}

void vs_heap_put(struct vs_heap *heap, void *ptr)
{
    struct unused *block = ptr;
    size_t class = head_of(ptr)->class;

    block->next = heap->unused[class];
    heap->unused[class] = block;
}

size_t vs_heap_room(const void *ptr)
{
    return head_of(ptr)->size;
}
