/*
 * engine/alloc_history/replay.h - a recorded trace, run through the allocator again and compared event by event.
 *
 * For:            importers (block sizes and segment states at every event, which a trace does not carry), the test that the
 *                 allocator is PyTorch's.
 * Must not know:  the file it was read from.
 * Invariant:      the driver does what the trace says it did: it grants exactly the segments and ranges that come next, at their
 *                 addresses, and refuses where the trace goes on with something else. Everything else is the allocator's doing.
 *
 * What a trace does not say is decided so: a free_requested that its free_completed does not follow at once means that another
 * stream used the block. Segments returned outside an allocation mean empty_cache, unless memory was mapped just before or an oom
 * follows, or settings are in force by which an allocation returns only some: then they are part of the allocation that follows.
 * (So num_alloc_retries is a lower bound.)
 */
#ifndef ENG_ALLOC_REPLAY_H
#define ENG_ALLOC_REPLAY_H

#include "engine/alloc_history/record.h"

struct eng_replay;

/*
 * start        the state before the first event, as eng_record_rewind gave it for these events; NULL: nothing
 * events       borrowed until eng_replay_free
 * conf         settings in force; NULL: PyTorch's defaults
 * total_bytes  of the device; it only matters to settings that are shares of it, and to the reach of expandable segments.
 *              0: 1 TiB
 * listener     gets every event as it happens, with its block
 */
struct eng_replay_options {
    const struct eng_record_state *start;
    const struct eng_record_event *events;
    size_t event_count;
    const struct eng_alloc_conf *conf;
    uint64_t total_bytes;
    struct eng_alloc_listener listener;
};

/* VS_E_DAMAGED: the start state cannot be. Else *out is the caller's, at the first event, peaks and sums reset. */
VS_MUST_USE enum vs_status eng_replay_new(const struct eng_replay_options *opts,
                                          struct eng_replay **out, struct vs_error *err);
void eng_replay_free(struct eng_replay *replay);

/*
 * Run all events. VS_E_VALUE: the allocator did something else than the trace says; `err` names the event and both sides. The
 * replay stops there and must not be run further.
 */
VS_MUST_USE enum vs_status eng_replay_run(struct eng_replay *replay, struct vs_error *err);

/* Events that matched so far. */
size_t eng_replay_done(const struct eng_replay *replay);
/* Borrowed; its driver is the trace, so nothing may be allocated through it. */
const struct eng_alloc *eng_replay_alloc(const struct eng_replay *replay);

#endif
