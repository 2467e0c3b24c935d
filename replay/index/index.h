/*
 * replay/index/index.h - what makes looking at a long trace fast: made once from its events, kept beside them in the
 * file.
 *
 * For:            timeline, cursor, step, breaks, lives and everything that moves about in a trace.
 * Must not know:  drawing, SQL.
 * Invariant:      everything in it can be made again from the events, and is, where the file does not have it, has
 *                 that of other events, or has it damaged. An answer never depends on where the index came from.
 *
 * Events are cut into chunks of RPL_CHUNK_EVENTS. Whatever a chunk is asked about costs reading that chunk (decoding
 * some thousand events, about a millisecond) and nothing that grows with the trace.
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
 * A verb, and what it stops at.
 *
 * EVENT    every event
 * ALLOC    what the allocator does: alloc, free, segment_*, oom
 * OP       the beginning of an op or backward node
 * LINE     an event on a line of the net other than that of the event before it
 * MODULE   an event in a module other than that of the event before it
 * PHASE    the beginning of a phase
 * STEP     the beginning of a training step
 * PEAK     a local peak: an event right after which more is allocated than at any other since it was last a good deal
 *          less, and until it will be again; a good deal is 1/RPL_PEAK_SHARE of the most that had been allocated so far
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
 * Told now and then while the events are read: `done` of `total`. False stops the work, which then fails with
 * VS_E_STOPPED.
 */
typedef bool rpl_progress_fn(void *user, uint64_t done, uint64_t total);

/*
 * The index of `trace`, which it borrows: read from the file, or made (one reading of all events, about a second for
 * ten million) and then stored in the file where it can be written and no recorder is at work on it. Of a trace in
 * memory: always made.
 *
 * progress may be NULL. VS_E_DAMAGED: the events cannot follow each other. VS_E_STOPPED: see above. Others as reading
 * the file. The caller owns *out and frees it before the trace; NULL on failure.
 */
VS_MUST_USE enum vs_status rpl_index_open(struct rpl_trace *trace, rpl_progress_fn *progress,
                                          void *user, struct rpl_index **out, struct vs_error *err);
void rpl_index_free(struct rpl_index *index);

/*
 * For whoever has just recorded the trace at `path`, of so many events: make its index and store it there, so that the
 * first look at it is fast. A trace so short that this takes no time is not even opened. Errors as rpl_trace_open and
 * above; that it cannot be stored is none.
 */
VS_MUST_USE enum vs_status rpl_index_make(const char *path, uint64_t events, struct vs_error *err);

/* Its trace, as given. */
struct rpl_trace *rpl_index_trace(const struct rpl_index *index);

/*
 * For a trace that is still being written: take in what has been committed since. *added is how many events came;
 * where there are some, pointers that cursors gave out are still good, strings and places keep their ids, and the last
 * step and phase may have grown. Costs what reading the new events costs. Nothing is stored in the file. Errors: those
 * of reading it.
 */
VS_MUST_USE enum vs_status rpl_index_refresh(struct rpl_index *index, uint64_t *added,
                                             struct vs_error *err);

/* Events it knows; they are numbered 1 … count. */
uint64_t rpl_index_event_count(const struct rpl_index *index);

/* Event `seq`, 1 … count, copied. */
VS_MUST_USE enum vs_status rpl_index_event(struct rpl_index *index, uint64_t seq,
                                           struct vs_event *out, struct vs_error *err);

/*
 * While nobody waits: have event `seq`, 1 … count, ready, so that going there need not read it. True: that took
 * reading a chunk; false: it was read lately, the trace is in memory, or it cannot be read, which is told to whoever
 * asks for it. Some sixteen places can be ready at a time.
 */
bool rpl_index_prefetch(struct rpl_index *index, uint64_t seq);

/*
 * The highest allocated bytes, and the event after which they were first reached. 0 and 0 where nothing was ever
 * allocated.
 */
struct rpl_top {
    uint64_t allocated;
    uint64_t event;
};
struct rpl_top rpl_index_top(const struct rpl_index *index);
/* The first `oom` event; 0: there is none. */
uint64_t rpl_index_oom(const struct rpl_index *index);

#endif
