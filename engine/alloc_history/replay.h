/*
 * engine/alloc_history/replay.h - runs a recorded trace through the allocator and compares event by event.
 *
 * For:            importers (block sizes and segment states at every event, which a trace does not contain), and the
 *                 test that the allocator behaves as PyTorch's.
 * Must not know:  the file it was read from.
 * Invariant:      the driver does what the trace contains: it allocates exactly the segments and ranges that come next,
 *                 at their addresses, and fails where the trace continues with something else. All other events are
 *                 the result of the allocator's own rules.
 *
 * What a trace does not contain is inferred: a free_requested that is not directly followed by its free_completed means
 * that another stream used the block. Segments freed outside an allocation mean empty_cache, unless memory was mapped
 * just before or an oom follows, or the settings let an allocation free only a part of the cache: then they belong to
 * the allocation that follows. (num_alloc_retries is therefore a lower bound.)
 */
#ifndef ENG_ALLOC_REPLAY_H
#define ENG_ALLOC_REPLAY_H

#include "engine/alloc_history/record.h"

struct eng_replay;

/*
 * start        the state before the first event, as eng_record_rewind computes it; NULL: nothing allocated
 * events       borrowed until eng_replay_free
 * conf         settings of the recorded run; NULL: PyTorch's defaults
 * total_bytes  of the device; only used for settings that are fractions of it, and for the size of expandable segments'
 *              address space. 0: 1 TiB
 * listener     receives every event, with its block
 */
struct eng_replay_options {
    const struct eng_record_state *start;
    const struct eng_record_event *events;
    size_t event_count;
    const struct eng_alloc_conf *conf;
    uint64_t total_bytes;
    struct eng_alloc_listener listener;
};

/*
 * Creates a replay at the first event, with peaks and sums reset; the caller owns it. VS_E_DAMAGED: the start state is
 * not valid.
 */
VS_MUST_USE enum vs_status eng_replay_new(const struct eng_replay_options *opts,
                                          struct eng_replay **out, struct vs_error *err);
void eng_replay_free(struct eng_replay *replay);

/*
 * Runs all events. VS_E_VALUE: the allocator did something else than the trace contains; `err` names the event and both
 * versions. The replay stops there and must not be run again.
 */
VS_MUST_USE enum vs_status eng_replay_run(struct eng_replay *replay, struct vs_error *err);

/* Number of events reproduced so far. */
size_t eng_replay_done(const struct eng_replay *replay);
/* Borrowed; its driver is the trace, so the caller must not allocate from it. */
const struct eng_alloc *eng_replay_alloc(const struct eng_replay *replay);

#endif
