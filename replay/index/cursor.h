/*
 * replay/index/cursor.h - the state of the program at any event of a trace.
 *
 * For:            every view that shows one moment: blocks, why, modules, frames, segments.
 * Must not know:  drawing, how the place to go to was found (replay/inspect/step.h, replay/breakpoints/breakpoints.h).
 * Invariant:      a seek gives what reading every event from the start would give, wherever it came from. Only the
 *                 order of blocks, holders and the like is not fixed: whoever shows them sorts.
 */
#ifndef RPL_CURSOR_H
#define RPL_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "replay/index/index.h"
#include "replay/state/holders.h"
#include "replay/state/live.h"
#include "replay/state/state.h"

struct rpl_cursor;

/*
 * At event 0: before the first. The index is borrowed. Several cursors on one index are fine. The caller frees it
 * before the index.
 */
struct rpl_cursor *rpl_cursor_new(struct rpl_index *index) VS_MUST_USE;
void rpl_cursor_free(struct rpl_cursor *cursor);

/* Host memory it takes. */
uint64_t rpl_cursor_bytes(const struct rpl_cursor *cursor);

struct rpl_index *rpl_cursor_index(const struct rpl_cursor *cursor);
/* The event it stands right after; 0: before the first. */
uint64_t rpl_cursor_seq(const struct rpl_cursor *cursor);

/*
 * Go to right after event `seq`, 0 … rpl_index_event_count. Costs reading the chunk and what lies in it before `seq`,
 * never more; a short way forward costs only its events. On failure the cursor is at event 0.
 */
VS_MUST_USE enum vs_status rpl_cursor_seek(struct rpl_cursor *cursor, uint64_t seq,
                                           struct vs_error *err);

/* What is alive, totals, by category, step and phase. Borrowed until the next move. */
const struct rpl_live *rpl_cursor_live(const struct rpl_cursor *cursor);

/*
 * Where the program is: of the event the cursor stands after.
 *
 * event     itself; all zero at event 0, and then everything below is as before the first event
 * module, func, op   texts, "" for none; borrowed from the trace
 * line      in the net file, from 1; 0: none
 * is_recompute  inside a checkpoint's re-run
 */
struct rpl_here {
    struct vs_event event;
    const char *module;
    const char *func;
    const char *op;
    uint32_t line;
    int64_t step;
    enum vs_phase phase;
    bool is_recompute;
};
struct rpl_here rpl_cursor_here(const struct rpl_cursor *cursor);

/*
 * Every holder there is now: `count` of them. Holders of tensors on the host have block 0. Of those of autograd `name`
 * is 0; replay/inspect/alive.h finds out. Borrowed until the next move.
 */
const struct rpl_held *rpl_cursor_held(const struct rpl_cursor *cursor, size_t *count);

/*
 * Of those: number of the first one of a block, in the order in which they took hold, and of the next one; SIZE_MAX:
 * there is none.
 */
size_t rpl_cursor_held_first(const struct rpl_cursor *cursor, uint64_t block);
size_t rpl_cursor_held_next(const struct rpl_cursor *cursor, size_t i);
/* How many holders has the block that holder `i` holds, itself included? */
size_t rpl_cursor_held_count(const struct rpl_cursor *cursor, size_t i);

/* In order of address, without overlaps. Borrowed until the next move. */
const struct rpl_segment *rpl_cursor_segments(const struct rpl_cursor *cursor, size_t *count);

#endif
