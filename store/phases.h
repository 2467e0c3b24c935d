/*
 * store/phases.h - the steps and phase intervals of a trace, with allocated bytes at the end and peak of each, updated
 * event by event.
 *
 * For:            store/writer.c.
 * Must not know:  SQLite, files.
 * Invariant:      phase intervals are consecutive: every event belongs to exactly one. The same holds for steps.
 *
 * A phase event begins an interval, and so does a step event. If a phase event directly follows a step event, both
 * belong to the interval of the new phase. Events before the first phase or step event belong to setup, step -1.
 */
#ifndef STO_PHASES_H
#define STO_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/event.h"
#include "store/reader.h"

/*
 * Zero-initialise, then call sto_phases_init().
 *
 * stat       the current phase interval
 * step       the current step (without its loss)
 * is_bare    the current interval contains only the step event that began it
 * allocated, requested, reserved  bytes after the last event
 */
struct sto_phases {
    struct sto_phase_stat stat;
    struct sto_step step;
    bool is_bare;
    uint64_t allocated;
    uint64_t requested;
    uint64_t reserved;
};

/* What an event ended. The interval or step that ended is in `stat` or `step` of struct sto_phases_ended. */
struct sto_phases_ended {
    bool has_stat;
    bool has_step;
    struct sto_phase_stat stat;
    struct sto_step step;
};

/* first_seq: number of the first event: 1, or the first event of a device that follows others. */
void sto_phases_init(struct sto_phases *p, uint64_t first_seq);

/* Whether an event of this kind ends an interval or a step. For other kinds call sto_phases_count(). */
bool sto_phases_is_border(enum vs_event_kind kind);

/* Process event number `seq` (ascending by 1), which is neither a phase nor a step event. */
void sto_phases_count(struct sto_phases *p, uint64_t seq, const struct vs_event *event);

/* Process event number `seq`, a phase or step event. *out receives what it ended. */
void sto_phases_border(struct sto_phases *p, uint64_t seq, const struct vs_event *event,
                       struct sto_phases_ended *out);

#endif
