/*
 * tracer/ring.h - records from one thread to another, in order, without locks.
 *
 * For:            tracer/recorder.c: the training thread produces, the writer thread consumes.
 * Must not know:  what the records mean.
 * Invariant:      exactly one thread calls the producer's functions and one the consumer's. No record is lost or
 *                 changed: a producer that finds the ring full waits.
 */
#ifndef TRC_RING_H
#define TRC_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"

struct trc_ring;

/* A ring for `slot_count` records, a power of two from 2 on. */
struct trc_ring *trc_ring_new(size_t slot_count) VS_MUST_USE;
void trc_ring_free(struct trc_ring *ring); /* both threads are done with it */

/*
 * Producer: the next slot, to be filled and then handed on by trc_ring_publish. Waits while the ring is full; the
 * slot's old content is undefined. Does not allocate, lock or do I/O; without waiting it costs a few ns.
 */
struct vs_event *trc_ring_slot(struct trc_ring *ring);
void trc_ring_publish(struct trc_ring *ring);

/* Producer: how often it had to wait so far, and for how many ns in all. */
void trc_ring_waits(const struct trc_ring *ring, uint64_t *waits, uint64_t *wait_ns);

/*
 * Consumer: the oldest records, as many as lie side by side: *count of them, 0 where there is none. They stay until
 * trc_ring_consume takes `count` of them (or fewer) away. Never waits.
 */
const struct vs_event *trc_ring_peek(struct trc_ring *ring, size_t *count);
void trc_ring_consume(struct trc_ring *ring, size_t count);

/* Consumer: tell the producer that what it sends is thrown away from now on. It may go on sending. */
void trc_ring_give_up(struct trc_ring *ring);
/* Producer: has the consumer given up? */
bool trc_ring_is_given_up(const struct trc_ring *ring);

#endif
