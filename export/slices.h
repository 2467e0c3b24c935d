/*
 * export/slices.h - the slices (time intervals) of a trace: steps with their phases, nested modules, ops.
 *
 * For:            export/perfetto.c.
 * Must not know:  counters and instant events.
 * Invariant:      on each track slices are properly nested; exp_slices_end closes all that are open.
 *
 * The slice of an op lasts from its op_begin to its op_end event. Imported traces do not have these events: there the
 * slice of an op lasts from the first to the last of consecutive allocations and frees at its location. The slice of a
 * module is found in the same way, from events of every kind.
 */
#ifndef EXP_SLICES_H
#define EXP_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/out.h"
#include "replay/trace/trace.h"

enum exp_track { EXP_TRACK_STEPS = 1, EXP_TRACK_MODULES, EXP_TRACK_OPS, EXP_TRACK_COUNT };

/* An open slice. key: identifies what it stands for; allocated: allocated bytes at its beginning. */
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
 * The state of the conversion. out and trace are borrowed.
 *
 * open         stack of open slices, by track
 * module       string id of the module path whose slices are open; 0: none
 * op_location  in an imported trace, the location of the open op
 * step         the current step; next_loss: index from which its loss is searched
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

/* Write the names of the tracks, and `name` as the name of the process. */
void exp_slices_begin(struct exp_slices *slices, struct rpl_trace *trace, struct exp_out *out,
                      const char *name);
/* Write the slices that begin or end at event `seq`. allocated: bytes allocated right before the event. */
void exp_slices_follow(struct exp_slices *slices, uint64_t seq, const struct vs_event *event,
                       uint64_t allocated);
/* End all open slices at `time_ns`, after the last event. */
void exp_slices_end(struct exp_slices *slices, uint64_t time_ns, uint64_t allocated);
void exp_slices_release(struct exp_slices *slices);

/* Number of open slices of a track. */
size_t exp_slices_depth(const struct exp_slices *slices, enum exp_track track);

/*
 * Write the common members of a trace event of type `type` ('B', 'E', 'C', 'i', 's', 'f'): {"ph": …, "pid": …, "tid":
 * …, "ts": …. The caller writes the remaining members and the closing brace. track 0: the event has no track.
 */
void exp_slice_event(struct exp_slices *slices, char type, unsigned track, uint64_t time_ns);

#endif
