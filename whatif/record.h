/*
 * whatif/record.h - converts an imported trace to the record of the allocator module: its initial state and its
 * events.
 *
 * For:            whatif/alloc.c.
 * Must not know:  settings, the what-if.
 * Invariant:      event i of the record is, or is part of, event from[i] of the trace; from ascends.
 */
#ifndef WIF_RECORD_H
#define WIF_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "engine/alloc_history/record.h"
#include "replay/trace/trace.h"

/*
 * Zero-initialised: empty.
 *
 * events   all events of the trace, in order; the first start_count of them describe the initial state
 * state    that state
 * record   the allocator's events after it
 * last     the highest block number
 */
struct wif_record {
    struct vs_event *events;
    size_t event_count;
    uint64_t start_count;
    struct eng_record_state state;
    struct eng_record_event *record;
    size_t *from;
    size_t record_count, record_cap, from_cap;
    uint64_t last;
};

/*
 * Read `trace`, an imported one. Release `out`, also after a failure.
 * VS_E_UNSUPPORTED: it was imported without the events needed. VS_E_DAMAGED: blocks outside of segments, or
 * overlapping.
 */
VS_MUST_USE enum vs_status wif_record_fill(struct wif_record *out, struct rpl_trace *trace,
                                           struct vs_error *err);
void wif_record_release(struct wif_record *record);

#endif
