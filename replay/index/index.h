/*
 * replay/index/index.h - the index of a trace: computed once from its events and stored beside them, so that a long
 * trace need not be read again.
 *
 * For:            timeline, cursor, step, breakpoints, lifetimes and everything else that moves within a trace.
 * Must not know:  drawing, SQL.
 * Invariant:      everything in the index follows from the events. It is computed again if the file does not have it,
 *                 has one of other events, or has a damaged one; results do not depend on that.
 *
 * Events are divided into chunks of RPL_CHUNK_EVENTS. A query costs at most reading one chunk (decoding some thousand
 * events, about a millisecond), however long the trace is, unless its comment says otherwise.
 */
#ifndef RPL_INDEX_H
#define RPL_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "replay/trace/trace.h"

/*
 * A way of moving through a trace, and the events at which it stops.
 *
 * EVENT   every event
 * ALLOC   events of the allocator: alloc, free, segment_*, oom
 * OP      the begin of an op or backward node
 * LINE    an event on another line of the net than the event before it
 * MODULE  an event in another module than the event before it
 * PHASE   the begin of a phase
 * STEP    the begin of a training step
 * PEAK    a local peak: the highest total between two valleys. A valley is at least 1/RPL_PEAK_SHARE of the highest
 *         total so far below the peaks beside it
 */
enum rpl_verb {
    RPL_VERB_EVENT,
    RPL_VERB_ALLOC,
    RPL_VERB_OP,
    RPL_VERB_LINE,
    RPL_VERB_MODULE,
    RPL_VERB_PHASE,
    RPL_VERB_STEP,
    RPL_VERB_PEAK,
    RPL_VERB_COUNT
};
#define RPL_PEAK_SHARE 32

struct rpl_index;

/*
 * Called from time to time while events are read: `done` of `total` events. Returning false stops the work, which then
 * fails with VS_E_STOPPED.
 */
typedef bool rpl_progress_fn(void *user, uint64_t done, uint64_t total);

/*
 * Open the index of `trace`, which is borrowed. It is read from the file; otherwise it is computed (one pass over all
 * events, about a second for ten million) and stored in the file if the file can be written and no recorder is writing
 * to it. The index of a trace in memory is always computed.
 *
 * progress  may be NULL
 *
 * VS_E_DAMAGED: the events cannot follow each other. VS_E_STOPPED: progress returned false. Other errors: those of
 * reading the file. The caller owns *out and frees it before the trace; NULL on failure.
 */
VS_MUST_USE enum vs_status rpl_index_open(struct rpl_trace *trace, rpl_progress_fn *progress,
                                          void *user, struct rpl_index **out, struct vs_error *err);
void rpl_index_free(struct rpl_index *index);
/* Whether the trace's file has an index of its events, so that opening it reads few of them. */
bool rpl_index_is_stored(struct rpl_trace *trace);

/*
 * Compute and store the index of a trace file of `events` events that was just recorded, so that opening it is fast.
 * The file of a short trace, whose index takes no time, is not opened. A failure to store the index is ignored.
 * progress and errors: as rpl_index_open; those of rpl_trace_open, too.
 */
VS_MUST_USE enum vs_status rpl_index_make(const char *path, uint64_t events,
                                          rpl_progress_fn *progress, void *user,
                                          struct vs_error *err);

/* The trace given to rpl_index_open. */
struct rpl_trace *rpl_index_trace(const struct rpl_index *index);

/*
 * Add what has been committed since to a trace that is still being recorded. *added is the number of new events.
 * Pointers given out by cursors stay valid, strings and locations keep their ids; the last step and phase may have
 * become longer. Costs reading the new events. Nothing is stored in the file. Errors: those of reading it.
 */
VS_MUST_USE enum vs_status rpl_index_refresh(struct rpl_index *index, uint64_t *added,
                                             struct vs_error *err);

/* True: it is read from the file, and so is each chunk of events when it is needed. */
bool rpl_index_is_paged(const struct rpl_index *index);

/* The number of indexed events; they are numbered 1 … count. */
uint64_t rpl_index_event_count(const struct rpl_index *index);

/* Copy event `seq`, 1 … count. */
VS_MUST_USE enum vs_status rpl_index_event(struct rpl_index *index, uint64_t seq,
                                           struct vs_event *out, struct vs_error *err);

/*
 * Prefetch the chunk of event `seq`, 1 … count, so that a later seek to it does not read it. For use while the event
 * loop is idle. True: a chunk was read. False: it was available, the trace is in memory, or it cannot be read (a later
 * seek reports the error). About sixteen chunks are kept.
 */
bool rpl_index_prefetch(struct rpl_index *index, uint64_t seq);

/*
 * The peak of the trace: the highest allocated bytes, and the event right after which they were first reached; 0 and 0
 * if nothing was allocated.
 */
struct rpl_top {
    uint64_t allocated;
    uint64_t event;
};
struct rpl_top rpl_index_top(const struct rpl_index *index);
/* The highest bytes in segments, at any event. */
uint64_t rpl_index_reserved_max(const struct rpl_index *index);
/* The first `oom` event; 0: there is none. */
uint64_t rpl_index_oom(const struct rpl_index *index);

#endif
