/*
 * whatif/record.h - an imported trace in the allocator's words: the state it began with, and what was recorded.
 *
 * For:            whatif/alloc.c.
 * Must not know:  settings, what is asked.
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
 * events   all of the trace, in order; the first start_count of them make `state`
 * record   those of the allocator after them
 * last     the highest number of a block
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
 * VS_E_UNSUPPORTED: it was imported without what is needed. VS_E_DAMAGED: blocks outside of segments, or over each
 * other.
 */
VS_MUST_USE enum vs_status wif_record_fill(struct wif_record *out, struct rpl_trace *trace,
                                           struct vs_error *err);
void wif_record_release(struct wif_record *record);

#endif
