/*
 * replay/index/cursor.h - the state of the program at any event of a trace.
 *
 * For:            every view that shows the state at one event: blocks, why, modules, frames, segments.
 * Must not know:  drawing, how the event to seek to was found (replay/inspect/step.h,
 *                 replay/breakpoints/breakpoints.h).
 * Invariant:      a seek gives the state that reading every event from the start would give, from whatever event it
 *                 begins. Only the order of blocks and holders is not defined: callers that show them sort them.
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
 * A cursor at event 0, before the first event. The index is borrowed; several cursors may use it. The caller frees the
 * cursor before the index.
 */
struct rpl_cursor *rpl_cursor_new(struct rpl_index *index) VS_MUST_USE;
void rpl_cursor_free(struct rpl_cursor *cursor);

/* Host memory used, in bytes. */
uint64_t rpl_cursor_bytes(const struct rpl_cursor *cursor);

struct rpl_index *rpl_cursor_index(const struct rpl_cursor *cursor);
/* The event that the cursor's state is right after; 0: before the first. */
uint64_t rpl_cursor_seq(const struct rpl_cursor *cursor);

/*
 * Move to the state right after event `seq`, 0 … rpl_index_event_count. Costs at most reading the chunk of `seq` and
 * applying its events up to `seq`; a short move forward costs only the events in between. On failure the cursor is at
 * event 0. Errors: those of reading the trace; VS_E_DAMAGED: the events cannot follow each other.
 */
VS_MUST_USE enum vs_status rpl_cursor_seek(struct rpl_cursor *cursor, uint64_t seq,
                                           struct vs_error *err);

/* The live set, totals, bytes by category, step and phase. Borrowed until the next move. */
const struct rpl_live *rpl_cursor_live(const struct rpl_cursor *cursor);

/*
 * The event that the cursor's state is right after, and where the program is.
 *
 * event             the event; all fields 0 at event 0, and the fields below are then those before the first event
 * module, func, op  texts, "" for none; borrowed from the trace
 * line              line of the net file, from 1; 0: none
 * is_recompute      inside the recomputation of a checkpoint
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
 * All `count` current holders; at an event to which a program was run again (replay/trace/found.h) also those that
 * were found there, whose since_seq is 0: not known. Those of tensors on the host have block 0. The `name` of
 * autograd's holders is 0; replay/inspect/alive.h finds it. Borrowed until the next move.
 */
const struct rpl_held *rpl_cursor_held(const struct rpl_cursor *cursor, size_t *count);

/*
 * Index, in this array, of the first holder of a block, in the order in which they acquired their references, and of
 * the next one; SIZE_MAX: there is none.
 */
size_t rpl_cursor_held_first(const struct rpl_cursor *cursor, uint64_t block);
size_t rpl_cursor_held_next(const struct rpl_cursor *cursor, size_t i);
/* The number of holders of the block that holder `i` holds, itself included. */
size_t rpl_cursor_held_count(const struct rpl_cursor *cursor, size_t i);

/* The segments in order of address, without overlaps. Borrowed until the next move. */
const struct rpl_segment *rpl_cursor_segments(const struct rpl_cursor *cursor, size_t *count);

#endif
