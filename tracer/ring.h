/*
 * tracer/ring.h - a lock-free queue of records from one thread to another.
 *
 * For:            tracer/recorder.c: the training thread produces, the writer thread consumes.
 * Must not know:  the meaning of records.
 * Invariant:      exactly one thread calls the producer's functions and one the consumer's. No record is lost or
 *                 changed: the producer waits while the ring is full.
 */
#ifndef TRC_RING_H
#define TRC_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"

struct trc_ring;

/* Create a ring of `slot_count` records, a power of two, at least 2. */
struct trc_ring *trc_ring_new(size_t slot_count) VS_MUST_USE;
void trc_ring_free(struct trc_ring *ring); /* neither thread may use the ring any more */

/*
 * Producer: return the next slot, to be filled and then published with trc_ring_publish(). Waits while the ring is
 * full. The slot's contents are undefined. Does not allocate, lock or do I/O; takes a few ns if the ring is not full.
 */
struct vs_event *trc_ring_slot(struct trc_ring *ring);
void trc_ring_publish(struct trc_ring *ring);

/* Producer: how often it has waited, and the total time in ns. */
void trc_ring_waits(const struct trc_ring *ring, uint64_t *waits, uint64_t *wait_ns);

/*
 * Consumer: return the oldest records that are contiguous in memory; *count is their number, 0 if the ring is empty.
 * They remain in the ring until trc_ring_consume() removes `count` of them or fewer. Never waits.
 */
const struct vs_event *trc_ring_peek(struct trc_ring *ring, size_t *count);
void trc_ring_consume(struct trc_ring *ring, size_t count);

/* Consumer: from now on the records are discarded. The producer may continue to publish. */
void trc_ring_give_up(struct trc_ring *ring);
/* Producer: whether the consumer has given up. */
bool trc_ring_is_given_up(const struct trc_ring *ring);

#endif
