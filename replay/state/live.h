/*
 * replay/state/live.h - the live set while a trace is read from its start: blocks, totals, and the current step, phase
 * and ops.
 *
 * For:            summaries, why-alive, what-if; everything that reads a trace once from front to back.
 * Must not know:  drawing.
 * Invariant:      allocated is the sum of the bytes of the live blocks, by category and in all; it never wraps.
 */
#ifndef RPL_LIVE_H
#define RPL_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "base/table.h"
#include "replay/trace/trace.h"

/*
 * A block in use.
 *
 * id                 number of the block in the trace, from 1
 * requested          requested bytes; bytes: of the block, rounded up by the allocator
 * alloc_seq          event of its allocation
 * last_use_seq       the last event so far at which an op read it; 0: none
 * tensor             the tensor that it was allocated for; 0: a workspace
 * alloc_location, last_use_location   locations of those events
 * saves              how often autograd holds it now
 * category           enum vs_category, as it is now
 */
struct rpl_block {
    uint64_t id;
    uint64_t requested;
    uint64_t bytes;
    uint64_t address;
    uint64_t alloc_seq;
    uint64_t last_use_seq;
    uint32_t tensor;
    uint32_t alloc_location;
    uint32_t last_use_location;
    uint32_t saves;
    uint8_t category;
};

/* An op or a recomputation that has begun and not ended. */
struct rpl_open {
    uint64_t seq;
    bool is_recompute;
};

/*
 * blocks           block_count blocks, in no order
 * by_id            finds a block
 * reserved         bytes in segments
 * step             -1 in the set-up
 * open             ops and recomputations that have begun and not ended, the outermost first
 * recompute_depth  number of recomputations among them
 */
struct rpl_live {
    struct rpl_block *blocks;
    size_t block_count;
    size_t block_cap;
    struct vs_table by_id;
    uint64_t allocated;
    uint64_t requested;
    uint64_t reserved;
    uint64_t segments;
    uint64_t by_category[VS_CATEGORY_COUNT];
    int64_t step;
    enum vs_phase phase;
    struct rpl_open *open;
    size_t open_count;
    size_t open_cap;
    size_t recompute_depth;
};

void rpl_live_init(struct rpl_live *live);
void rpl_live_release(struct rpl_live *live);
/* Return to the state before the first event; the memory is kept. */
void rpl_live_clear(struct rpl_live *live);

/*
 * Apply event number `seq`. O(1), amortised.
 *
 * VS_E_DAMAGED: the event cannot follow the ones before it (a free of a block that is not in use, a field out of
 * range); `live` can then only be cleared or released.
 */
VS_MUST_USE enum vs_status rpl_live_apply(struct rpl_live *live, uint64_t seq,
                                          const struct vs_event *event, struct vs_error *err);

/*
 * The same for the begin or end of an op outside of recomputations, which most events are. Returns false, without a
 * change, for any other event.
 */
static inline bool rpl_live_op(struct rpl_live *live, uint64_t seq, const struct vs_event *event)
{
    if (event->kind == VS_EV_OP_BEGIN && live->open_count < live->open_cap) {
        live->open[live->open_count++] = (struct rpl_open){seq, false};
        return true;
    }
    if (event->kind != VS_EV_OP_END || !live->open_count ||
        live->open[live->open_count - 1].is_recompute)
        return false;
    live->open_count--;
    return true;
}

/*
 * Add a block while a stored state is restored. False if a block of this number is in use already, or if a field has
 * an impossible value. O(1), amortised.
 */
VS_MUST_USE bool rpl_live_put(struct rpl_live *live, const struct rpl_block *block);

/*
 * Set `live`, which is initialised, to the state right after event `seq` of `trace` (0: before the first). O(seq).
 * Errors: as rpl_live_apply, and those of reading the file.
 */
VS_MUST_USE enum vs_status rpl_live_read(struct rpl_live *live, struct rpl_trace *trace,
                                         uint64_t seq, struct vs_error *err);

/* The block `id` if it is in use, otherwise NULL. Valid until the next event. */
const struct rpl_block *rpl_live_block(const struct rpl_live *live, uint64_t id);

/* For qsort: the larger block first, of equal ones that with the lower id. */
int rpl_block_by_bytes(const void *a, const void *b);

/*
 * True if the block belongs to the whole run, whether it is read again or not: a parameter, a buffer, optimizer state,
 * or memory that a library keeps.
 */
bool rpl_block_is_permanent(const struct rpl_block *block);

/*
 * The first event of the current work: the begin of the outermost running op or, during recomputation, of the
 * outermost op inside the innermost recomputation. Blocks read since then are in use. UINT64_MAX if no op is running.
 */
uint64_t rpl_live_working_since(const struct rpl_live *live);

#endif
