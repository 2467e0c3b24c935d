/*
 * tracer/ring.c - see ring.h.
 *
 * Must not know:  the meaning of records.
 * Invariant:      head and tail only increase; 0 <= head - tail <= slot_count. A slot belongs to the producer from when
 *                 tail has passed it until head passes it, then to the consumer.
 *
 * Head and tail are stored with release and loaded with acquire order, which also orders the contents of slots. Each
 * side keeps a copy of the other side's counter and loads the shared one only if the copy says full or empty.
 */
#include "tracer/ring.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"

#define CACHE_LINE 64
#define SPINS_BEFORE_SLEEP 64
#define SLEEP_NS 20000

struct trc_ring {
    struct vs_event *slots;
    uint64_t mask;
    char pad0[CACHE_LINE];
    /* used by the producer only */
    uint64_t own_head;
    uint64_t seen_tail;
    uint64_t waits;
    uint64_t wait_ns;
    _Atomic uint64_t head;
    char pad1[CACHE_LINE];
    /* used by the consumer only */
    uint64_t own_tail;
    _Atomic uint64_t tail;
    atomic_bool is_given_up;
};

struct trc_ring *trc_ring_new(size_t slot_count)
{
    struct trc_ring *ring = vs_calloc(1, sizeof(*ring));

    VS_ASSERT(slot_count >= 2 && (slot_count & (slot_count - 1)) == 0);
    ring->slots = vs_alloc(slot_count * sizeof(*ring->slots));
    ring->mask = slot_count - 1;
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    atomic_init(&ring->is_given_up, false);
    return ring;
}

void trc_ring_free(struct trc_ring *ring)
{
    if (!ring)
        return;
    vs_free(ring->slots);
    vs_free(ring);
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The slow path: the ring looked full. Check again, sleeping between the checks. */
static void wait_for_slot(struct trc_ring *ring)
{
    const struct timespec nap = {0, SLEEP_NS};
    uint64_t start;

    ring->seen_tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    if (ring->own_head - ring->seen_tail <= ring->mask)
        return;
    start = now_ns();
    ring->waits++;
    for (int spins = 0; ring->own_head - ring->seen_tail > ring->mask; spins++) {
        if (spins >= SPINS_BEFORE_SLEEP)
            nanosleep(&nap, NULL);
        ring->seen_tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    }
    ring->wait_ns += now_ns() - start;
}

struct vs_event *trc_ring_slot(struct trc_ring *ring)
{
    if (VS_UNLIKELY(ring->own_head - ring->seen_tail > ring->mask))
        wait_for_slot(ring);
    return &ring->slots[ring->own_head & ring->mask];
}

void trc_ring_publish(struct trc_ring *ring)
{
    ring->own_head++;
    atomic_store_explicit(&ring->head, ring->own_head, memory_order_release);
}

void trc_ring_waits(const struct trc_ring *ring, uint64_t *waits, uint64_t *wait_ns)
{
    *waits = ring->waits;
    *wait_ns = ring->wait_ns;
}

const struct vs_event *trc_ring_peek(struct trc_ring *ring, size_t *count)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    uint64_t at = ring->own_tail & ring->mask;
    uint64_t until_end = ring->mask + 1 - at;
    uint64_t ready = head - ring->own_tail;

    *count = (size_t)(ready < until_end ? ready : until_end);
    return &ring->slots[at];
}

void trc_ring_consume(struct trc_ring *ring, size_t count)
{
    ring->own_tail += count;
    atomic_store_explicit(&ring->tail, ring->own_tail, memory_order_release);
}

void trc_ring_give_up(struct trc_ring *ring)
{
    atomic_store_explicit(&ring->is_given_up, true, memory_order_relaxed);
}

bool trc_ring_is_given_up(const struct trc_ring *ring)
{
    return atomic_load_explicit(&ring->is_given_up, memory_order_relaxed);
}
