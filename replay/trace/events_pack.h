/*
 * replay/trace/events_pack.h - a run of events in few bytes, and back.
 *
 * For:            replay/trace/mem_pack.c.
 * Must not know:  files: what is stored has a form of its own (store/codec.h), that SQL can read.
 * Invariant:      unpacking gives the events that were packed; padding is 0.
 *
 * An event is told by what of it differs from the one before it that was of the same sort, which in nets of like layers are the same few numbers again and again;
 * these are squeezed. About 2 bytes an event, 10 ns each way.
 */
#ifndef RPL_EVENTS_PACK_H
#define RPL_EVENTS_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/event.h"
#include "replay/trace/pack.h"

/* plain: how many bytes they are before they are squeezed */
struct rpl_events_packed {
    uint8_t *bytes;
    size_t len;
    size_t plain;
};

/* `count` events, of kinds that there are (asserted). `room` is for work in between, kept for the next call. The caller releases what it gets. */
struct rpl_events_packed rpl_events_pack(const struct vs_event *events, size_t count,
                                         struct rpl_pack *room) VS_MUST_USE;
/* `count` is as it was then. */
void rpl_events_unpack(const struct rpl_events_packed *packed, size_t count, struct vs_event *out);
void rpl_events_packed_release(struct rpl_events_packed *packed);

#endif
