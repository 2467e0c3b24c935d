/*
 * engine/alloc_history/rerun.h - runs the requests of a recorded trace again with other settings or on another device.
 *
 * For:            what-ifs of a trace that contains no net, only the requests to the allocator.
 * Must not know:  the file it was read from, what the result is used for.
 * Invariant:      with the recorded settings, and on the recorded device, every event equals the recorded one.
 *
 * Requests are allocations, frees, the points at which a block stopped waiting for a stream, and empty_cache. What the
 * allocator made of them (segments, blocks, memory returned in need) is not repeated. Whether recorded segments were
 * freed by an empty_cache or by an allocation in need (the one that follows) is seen from their stack; without stacks,
 * the latter is assumed where a new segment follows.
 *
 * While the rerun equals the recording, the driver does what the recorded one did: it returns the same addresses, and
 * fails where it failed. From the first difference on, it returns new addresses above all recorded ones.
 */
#ifndef ENG_ALLOC_RERUN_H
#define ENG_ALLOC_RERUN_H

#include "engine/alloc_history/record.h"

struct eng_rerun;

/*
 * start      the state before the first event, with area_address of expandable segments; not changed
 * events     borrowed; their `location` is used
 * recorded   settings of the recorded run; conf: those of the rerun. Both required, copied
 * capacity   bytes that can be reserved; 0: those of the recorded device, as far as known (eng_rerun_capacity)
 * listener   receives every event
 */
struct eng_rerun_options {
    const struct eng_record_state *start;
    const struct eng_record_event *events;
    size_t event_count;
    const struct eng_alloc_conf *recorded;
    const struct eng_alloc_conf *conf;
    uint64_t capacity;
    struct eng_alloc_listener listener;
};

/* VS_E_DAMAGED: the start state is not valid. VS_E_VALUE: it leaves no addresses for further segments. */
VS_MUST_USE enum vs_status eng_rerun_new(const struct eng_rerun_options *opts,
                                         struct eng_rerun **out, struct vs_error *err);
void eng_rerun_free(struct eng_rerun *rerun);

/*
 * Runs the next request. *more is false at the end: of the events, or if the device ran out of memory where the
 * recorded one did not. VS_E_DAMAGED: an impossible request; `err` names the event, and *more is false. O(log blocks).
 */
VS_MUST_USE enum vs_status eng_rerun_step(struct eng_rerun *rerun, bool *more,
                                          struct vs_error *err);

/* Index of the recorded event that the next step begins with; event_count at the end. */
size_t eng_rerun_next(const struct eng_rerun *rerun);
/* Index of the recorded event that is being run; the listener's events belong to it. */
size_t eng_rerun_at(const struct eng_rerun *rerun);
/* Number of recorded events that occurred again, from the first; event_count at the end if nothing differs. */
size_t eng_rerun_equal(const struct eng_rerun *rerun);
/* Whether the event that the listener received last equals the recorded one, number eng_rerun_equal - 1. */
bool eng_rerun_is_same(const struct eng_rerun *rerun);
/*
 * Bytes that can be reserved; ENG_NO_LIMIT: not known. If it was not given: what a recorded out-of-memory implies,
 * otherwise the most that is possible given the segments freed by allocations in need.
 */
uint64_t eng_rerun_capacity(const struct eng_rerun *rerun);
/* Whether it ended in an out-of-memory that is not in the recording. */
bool eng_rerun_has_failed(const struct eng_rerun *rerun);

const struct eng_alloc *eng_rerun_alloc(const struct eng_rerun *rerun);

#endif
