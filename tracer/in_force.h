/*
 * tracer/in_force.h - the state right after the last event of a recording, as the events that made it.
 *
 * For:            tracer/keep.c, for which a trace begins in the middle of a run.
 * Must not know:  files, threads.
 * Invariant:      a trace that begins with these events has the same blocks, holders, segments and running ops after
 *                 them as the whole recording has.
 *
 * An event is in force until another one undoes it: an alloc until its free, a hold until its drop, a save until its
 * unsave, a segment until it is freed or unmapped, the begin of an op until its end. An alloc has the category that
 * its block has by now. Of the uses of a block the last one is in force. Steps, phases and events without a lasting
 * effect are not.
 */
#ifndef TRC_IN_FORCE_H
#define TRC_IN_FORCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"

struct trc_in_force;

struct trc_in_force *trc_in_force_new(void) VS_MUST_USE;
void trc_in_force_free(struct trc_in_force *f);

/* Apply the next event. Amortised O(1), but for a freed segment, for which it searches through all. */
void trc_in_force_event(struct trc_in_force *f, const struct vs_event *event);

/*
 * The most bytes that blocks had together so far, first reached at event `event`, from 1, in step `step`; -1 is the
 * set-up. event 0: nothing was ever allocated.
 */
struct trc_peak {
    uint64_t bytes;
    uint64_t event;
    int64_t step;
};
struct trc_peak trc_in_force_peak(const struct trc_in_force *f);

/*
 * The events in force, in the order in which they happened; *count is their number, at most that of all events so far.
 * The caller frees them. O(n log n).
 */
struct vs_event *trc_in_force_events(const struct trc_in_force *f, size_t *count) VS_MUST_USE;

#endif
