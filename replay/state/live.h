/*
 * replay/state/live.h - what is alive while a trace is read from its start: blocks, totals, where the program is.
 *
 * For:            summaries, why-alive, what-if; everything that reads a trace once from front to back.
 * Must not know:  drawing.
 * Invariant:      allocated is the sum of bytes of the live blocks, by category and in all; it never wraps.
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
 * A block that is alive.
 *
 * id              of the trace, from 1
 * requested       bytes asked for; bytes: of the block, with rounding
 * alloc_seq       event that handed it out
 * last_use_seq    last event so far at which an op read it; 0: none
 * tensor          whom it was made for; 0: a workspace
 * alloc_location, last_use_location   places of those events
 * saves           times autograd holds it now
 * category        enum vs_category, as it is now
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

/* An op or a re-run that has begun and not ended. */
struct rpl_open {
    uint64_t seq;
    bool is_recompute;
};

/*
 * blocks       block_count of them, in no order that means anything
 * by_id        of the blocks
 * reserved     bytes in segments
 * step         -1 in the setup
 * open         what has begun and not ended, outermost first
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
/* Before the first event again; the memory is kept. */
void rpl_live_clear(struct rpl_live *live);

/*
 * The state after event number `seq`.
 *
 * VS_E_DAMAGED: the event cannot follow what came before (a free of what is not alive, a word out of range); `live` is
 * then of no more use. O(1), amortised.
 */
VS_MUST_USE enum vs_status rpl_live_apply(struct rpl_live *live, uint64_t seq,
                                          const struct vs_event *event, struct vs_error *err);

/*
 * The same for the beginning or end of an op outside of re-runs, which most are: false where it is not that plain, and
 * nothing was done.
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
 * Make `block` alive as it is, for restoring a state that was kept. False where one of this number is alive already,
 * or where a figure cannot be right. O(1), amortised.
 */
VS_MUST_USE bool rpl_live_put(struct rpl_live *live, const struct rpl_block *block);

/*
 * The state right after event `seq` of `trace` (0: before the first). `live` is initialised; what it held is forgotten.
 * O(seq). Errors: as above, and those of reading the file.
 */
VS_MUST_USE enum vs_status rpl_live_read(struct rpl_live *live, struct rpl_trace *trace,
                                         uint64_t seq, struct vs_error *err);

/* The live block `id`, or NULL. Valid until the next event. */
const struct rpl_block *rpl_live_block(const struct rpl_live *live, uint64_t id);

/* For qsort: the larger block first, of equal ones that with the lower id. */
int rpl_block_by_bytes(const void *a, const void *b);

/*
 * Is it for the whole run, whether read again or not: parameters, buffers, the optimizer's state, what a library keeps?
 */
bool rpl_block_is_permanent(const struct rpl_block *block);

/*
 * First event of what is being worked on now: the outermost running op, or the outermost op inside the innermost
 * running re-run. What was read since then is in use. UINT64_MAX where no op runs.
 */
uint64_t rpl_live_working_since(const struct rpl_live *live);

#endif
