/*
 * store/phases.h - steps and phases of a trace, with the bytes at the end and at the peak of each, kept as events come.
 *
 * For:            store/writer.c.
 * Must not know:  SQLite, files.
 * Invariant:      the stretches of phases lie end to end: every event belongs to exactly one; so do the steps.
 *
 * A phase event begins a stretch, and so does a step event; where a phase event follows a step event directly, both
 * belong to the stretch of the new phase. Events before the first phase or step event count as setup, step -1.
 */
#ifndef STO_PHASES_H
#define STO_PHASES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/event.h"
#include "store/reader.h"

/*
 * Zero-initialise, then sto_phases_init.
 *
 * stat       the stretch that is going on
 * step       the step that is going on (its loss is not kept here)
 * is_bare    the stretch holds nothing but the step event that began it
 * allocated, requested, reserved  bytes right now
 */
struct sto_phases {
    struct sto_phase_stat stat;
    struct sto_step step;
    bool is_bare;
    uint64_t allocated;
    uint64_t requested;
    uint64_t reserved;
};

/* What an event put an end to. The ended stretch or step is in `stat`, `step` of struct sto_phases_ended. */
struct sto_phases_ended {
    bool has_stat;
    bool has_step;
    struct sto_phase_stat stat;
    struct sto_step step;
};

/* first_seq: number of the first event; 1, or that of a device behind others. */
void sto_phases_init(struct sto_phases *p, uint64_t first_seq);

/* Does an event of this kind end a stretch or a step? For all others sto_phases_count is enough. */
bool sto_phases_is_border(enum vs_event_kind kind);

/* Take in event number `seq` (from 1, ascending by 1) of a kind that is no border. */
void sto_phases_count(struct sto_phases *p, uint64_t seq, const struct vs_event *event);

/* Take in event number `seq`, a phase or a step event. What it ended is in *out. */
void sto_phases_border(struct sto_phases *p, uint64_t seq, const struct vs_event *event,
                       struct sto_phases_ended *out);

#endif
