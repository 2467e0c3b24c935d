/*
 * replay/state/state.h - everything that a cursor knows of one moment, how an event changes it, and how it is kept in
 * few bytes.
 *
 * For:            replay/index/cursor.c, the making of the index.
 * Must not know:  files, drawing.
 * Invariant:      packing and unpacking gives the same state, but for the order of its arrays.
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
 * A stretch of device memory that the driver has given and the program has not given back.
 * is_small    of the pool for small blocks
 * is_mapped   part of an expandable segment
 */
struct rpl_segment {
    uint64_t address;
    uint64_t bytes;
    uint64_t stream; /* whose it is; no other can use it */
    uint64_t pool;   /* of a private pool; 0: the default one */
    bool is_small;
    bool is_mapped;
};

/* seq: the event it is right after. segments: segment_count of them, in order of address. */
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
/* Host memory of its arrays. */
uint64_t rpl_state_bytes(const struct rpl_state *state);
/* Before the first event. */
void rpl_state_clear(struct rpl_state *state);

/* The next event. Errors as rpl_live_apply; the state is then of no more use than to be cleared. */
VS_MUST_USE enum vs_status rpl_state_apply(struct rpl_state *state, const struct vs_event *event,
                                           struct vs_error *err);

/* The part of it that an event of a segment has in the address space; nothing else changes. */
void rpl_state_segment(struct rpl_state *state, const struct vs_event *event);

/* How much there is to pack: blocks and holders. */
size_t rpl_state_size(const struct rpl_state *state);
/* Add it to `out`, unsealed. */
void rpl_state_pack(const struct rpl_state *state, struct rpl_pack *out);
/* What was packed after event `seq`. False: nonsense; the state is then cleared. */
VS_MUST_USE bool rpl_state_unpack(struct rpl_state *state, uint64_t seq, struct rpl_unpack *in);

#endif
