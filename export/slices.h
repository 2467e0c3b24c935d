/*
 * export/slices.h - the slices of a trace: steps with their phases, modules in modules, ops; and the frame of every trace event.
 *
 * For:            export/perfetto.c.
 * Must not know:  counters and marks.
 * Invariant:      on a track a slice that began last ends first; exp_slices_end leaves none open.
 *
 * An op's slice is what lies between its op_begin and op_end. A trace that was imported has no such events: there an op's slice is what
 * lies between the first and the last of its allocations and frees in a row. A module's likewise, of events of every kind.
 */
#ifndef EXP_SLICES_H
#define EXP_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/out.h"
#include "replay/trace/trace.h"

enum exp_track { EXP_TRACK_STEPS = 1, EXP_TRACK_MODULES, EXP_TRACK_OPS, EXP_TRACK_COUNT };

/* A slice that is open. key: what it was begun by; allocated: bytes at its beginning. */
struct exp_slice {
    uint64_t key;
    uint64_t allocated;
    bool is_recompute;
};

struct exp_slice_stack {
    struct exp_slice *items;
    size_t count;
    size_t cap;
};

/*
 * open      by track
 * module    string id of the path that the open slices of modules are, 0: none
 * op_location  of an imported trace: the place that the open op is at
 * step      that is going on; next_loss: where its loss is looked for next
 */
struct exp_slices {
    struct exp_out *out;
    struct rpl_trace *trace;
    struct exp_slice_stack open[EXP_TRACK_COUNT];
    uint32_t module;
    uint32_t op_location;
    bool ops_by_location;
    bool is_first;
    int64_t step;
    size_t next_loss;
};

/* Name the tracks, and the whole after `name`. */
void exp_slices_begin(struct exp_slices *slices, struct rpl_trace *trace, struct exp_out *out,
                      const char *name);
/* Begin and end what event `seq` begins and ends; so much is allocated right before it. */
void exp_slices_follow(struct exp_slices *slices, uint64_t seq, const struct vs_event *event,
                       uint64_t allocated);
/* The trace is over. */
void exp_slices_end(struct exp_slices *slices, uint64_t time_ns, uint64_t allocated);
void exp_slices_release(struct exp_slices *slices);

size_t exp_slices_depth(const struct exp_slices *slices, enum exp_track track);

/*
 * The beginning of a trace event of the type `type` ('B', 'E', 'C', 'i', 's', 'f'): {"ph": …, "pid": …, "tid": …, "ts": …; the caller
 * writes what else it has, and the closing brace. track 0: of no track.
 */
void exp_slice_event(struct exp_slices *slices, char type, unsigned track, uint64_t time_ns);

#endif
