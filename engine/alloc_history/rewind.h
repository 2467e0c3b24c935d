/*
 * engine/alloc_history/rewind.h - the state a recorded trace began with.
 *
 * For:            importing snapshots: they hold the state at the end and the events before, never the state at the start.
 * Must not know:  the file it was read from.
 * Invariant:      replaying the events from what this returns gives the state at the end, as far as the trace is whole.
 *
 * Done by undoing the events, newest first. What an undone free leaves open is the block's size, because traces carry the bytes
 * asked for: it is the rounded request, plus whatever free rest up to the next block is too small to have been split off (1 MiB in
 * large pools), plus the whole segment where the block may not be split (max_split_size). One case stays undecided: a block with
 * such a rest whose next neighbour was freed before the trace began and not allocated at the same place again while the block
 * lived; the rest then counts as free.
 */
#ifndef ENG_ALLOC_REWIND_H
#define ENG_ALLOC_REWIND_H

#include "engine/alloc_history/record.h"

/*
 * final   the state after the last event (area_address is not looked at)
 * events  oldest first
 * conf    settings in force during the trace
 * start   empty before; on success the state before events[0], with area_address filled in for expandable segments: the lowest
 *         address ever mapped for the segment's stream and size class
 *
 * VS_E_DAMAGED: the events do not lead to `final`; `err` names the event. O((events + blocks) log blocks).
 */
VS_MUST_USE enum vs_status eng_record_rewind(const struct eng_record_state *final,
                                             const struct eng_record_event *events,
                                             size_t event_count, const struct eng_alloc_conf *conf,
                                             struct eng_record_state *start, struct vs_error *err);

#endif
