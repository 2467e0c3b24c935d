/*
 * engine/alloc_history/rewind.h - computes the state in which a recorded trace began.
 *
 * For:            importing snapshots, which contain the state at the end and the events before it, but not the state
 *                 at the start.
 * Must not know:  the file it was read from.
 * Invariant:      replaying the events from the result gives the state at the end, if no events are missing.
 *
 * The events are undone, newest first. The size of the block of an undone free has to be inferred, because traces
 * contain requested bytes: it is the rounded request, plus the free rest up to the next block if that is too small to
 * have been split off (1 MiB in large pools), plus the rest of the segment if the block may not be split
 * (max_split_size). One case cannot be decided: a block with such a rest whose next neighbour was freed before the
 * trace began, with no allocation at the same address while the block existed; the rest then counts as free.
 */
#ifndef ENG_ALLOC_REWIND_H
#define ENG_ALLOC_REWIND_H

#include "engine/alloc_history/record.h"

/*
 * final   the state after the last event (area_address is not used)
 * events  oldest first
 * conf    settings during the trace
 * start   must be empty; on success the state before events[0], with area_address set for expandable segments: the
 *         lowest address ever mapped for the segment's stream and size class. The caller releases it
 *
 * VS_E_DAMAGED: the events do not lead to `final`; `err` names the event. O((events + blocks) log blocks).
 */
VS_MUST_USE enum vs_status eng_record_rewind(const struct eng_record_state *final,
                                             const struct eng_record_event *events,
                                             size_t event_count, const struct eng_alloc_conf *conf,
                                             struct eng_record_state *start, struct vs_error *err);

#endif
