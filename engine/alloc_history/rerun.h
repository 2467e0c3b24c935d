/*
 * engine/alloc_history/rerun.h - the requests of a recorded trace, run again under other settings or on another device.
 *
 * For:            what-if questions about a trace that carries no net, only what was asked of the allocator.
 * Must not know:  the file it was read from, who asked.
 * Invariant:      under the recorded settings, and on the recorded device, every event is the recorded one.
 *
 * What is run again are the requests: allocations, frees, the moments a block stopped to wait for a stream, empty_cache. What the
 * allocator made of them (segments, blocks, what it gave back in need) is not. Which of the two a recorded give-back was, its stack says:
 * in need it is the one of the allocation that follows. Without stacks, one that a new segment follows was in need.
 *
 * As long as the two agree, the driver does what the recorded one did: it gives the same addresses, and refuses where it refused.
 * From then on, fresh addresses, above all recorded ones.
 */
#ifndef ENG_ALLOC_RERUN_H
#define ENG_ALLOC_RERUN_H

#include "engine/alloc_history/record.h"

struct eng_rerun;

/*
 * start      the state before the first event, with area_address of expandable segments; it stays as it was made
 * events     borrowed; `place` is looked at
 * recorded   settings in force then; conf: those to run under. Both required, copied
 * capacity   bytes that can be reserved; 0: of the recorded device, as far as the events tell (eng_rerun_capacity)
 * listener   gets every event as it happens
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

/* VS_E_DAMAGED: the start state cannot be. VS_E_VALUE: it does not leave room for other segments. */
VS_MUST_USE enum vs_status eng_rerun_new(const struct eng_rerun_options *opts,
                                         struct eng_rerun **out, struct vs_error *err);
void eng_rerun_free(struct eng_rerun *rerun);

/*
 * The next request. False at the end: of the events, or where the device ran out of memory in another place than the recorded one did.
 * VS_E_DAMAGED: the events ask for what cannot be; `err` names the event, and *more is false. O(log blocks).
 */
VS_MUST_USE enum vs_status eng_rerun_step(struct eng_rerun *rerun, bool *more,
                                          struct vs_error *err);

/* Index of the recorded event that the next step begins with; event_count at the end. */
size_t eng_rerun_next(const struct eng_rerun *rerun);
/* Index of the recorded event that is being run; events of the listener belong to it. */
size_t eng_rerun_at(const struct eng_rerun *rerun);
/* Recorded events that happened again, from the first on; at the end event_count where nothing differs. */
size_t eng_rerun_equal(const struct eng_rerun *rerun);
/* Is the event that the listener was told last the recorded one, number eng_rerun_equal - 1? */
bool eng_rerun_is_same(const struct eng_rerun *rerun);
/* Bytes that could be reserved; ENG_NO_LIMIT: nothing tells. Recorded: what an out-of-memory said was free, else the most that the
 * give-backs in need leave possible. */
uint64_t eng_rerun_capacity(const struct eng_rerun *rerun);
/* Did it end in an out-of-memory that the recording has not? */
bool eng_rerun_has_failed(const struct eng_rerun *rerun);

const struct eng_alloc *eng_rerun_alloc(const struct eng_rerun *rerun);

#endif
