/*
 * replay/trace/events_pack.h - events compressed with LZ4, and back.
 *
 * For:            replay/trace/mem_pack.c.
 * Must not know:  files: what is stored has a form of its own (store/codec.h), which SQL can read.
 * Invariant:      decompressing gives, byte for byte, the events that were compressed. Nothing of this is stored in a
 *                 file, so the form may change.
 *
 * Of 56 bytes about 4 remain; 40 ns an event to compress, 12 ns to decompress.
 */
#ifndef RPL_EVENTS_PACK_H
#define RPL_EVENTS_PACK_H

#include <stddef.h>

#include "base/attr.h"
#include "base/event.h"

struct rpl_events_packed {
    char *bytes;
    size_t len;
};

/* Compress `count` events. The caller releases the result. Asserts that each has a kind that exists. */
struct rpl_events_packed rpl_events_pack(const struct vs_event *events, size_t count) VS_MUST_USE;
/* Decompress into `out`. `count` is what rpl_events_pack was given (asserted). */
void rpl_events_unpack(const struct rpl_events_packed *packed, size_t count, struct vs_event *out);
void rpl_events_packed_release(struct rpl_events_packed *packed);

#endif
