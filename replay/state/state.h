/*
 * replay/state/state.h - the complete state at one event: live set, holders and segments; how an event changes it; its
 * encoding.
 *
 * For:            replay/index/cursor.c, building the index.
 * Must not know:  files, drawing.
 * Invariant:      packing and unpacking gives the same state, except for the order of its arrays.
 */
#ifndef RPL_STATE_H
#define RPL_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "replay/state/holders.h"
#include "replay/state/live.h"
#include "replay/trace/pack.h"

/*
 * A range of device memory that the allocator took from the driver and has not returned.
 *
 * stream     the stream it belongs to; other streams cannot use it
 * pool       number of the private pool; 0: the default pool
 * is_small   it belongs to the pool for small blocks
 * is_mapped  it is part of an expandable segment
 */
struct rpl_segment {
    uint64_t address;
    uint64_t bytes;
    uint64_t stream;
    uint64_t pool;
    bool is_small;
    bool is_mapped;
};

/*
 * seq       the state is the one right after this event
 * segments  segment_count of them, in order of address
 */
struct rpl_state {
    uint64_t seq;
    struct rpl_live live;
    struct rpl_holders holders;
    struct rpl_segment *segments;
    size_t segment_count;
    size_t segment_cap;
};

void rpl_state_init(struct rpl_state *state);
void rpl_state_release(struct rpl_state *state);
/* Host memory of its arrays, in bytes. */
uint64_t rpl_state_bytes(const struct rpl_state *state);
/* Return to the state before the first event. */
void rpl_state_clear(struct rpl_state *state);

/*
 * Apply the next event. Errors: as rpl_live_apply; the state can then only be cleared or released.
 */
VS_MUST_USE enum vs_status rpl_state_apply(struct rpl_state *state, const struct vs_event *event,
                                           struct vs_error *err);

/* Apply only the change of the segments by an event; nothing else changes. */
void rpl_state_segment(struct rpl_state *state, const struct vs_event *event);

/* The number of blocks and holders: a measure of the packed size. */
size_t rpl_state_size(const struct rpl_state *state);
/* Append the state to `out`, without a checksum. */
void rpl_state_pack(const struct rpl_state *state, struct rpl_pack *out);
/*
 * Restore the state that was packed after event `seq`. False if the bytes are damaged; the state is then cleared.
 */
VS_MUST_USE bool rpl_state_unpack(struct rpl_state *state, uint64_t seq, struct rpl_unpack *in);

#endif
