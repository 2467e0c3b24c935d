/*
 * replay/report/dropped.h - what the trace of `record --keep` says of the events that it does not have.
 *
 * For:            the report, what-if, the peak view.
 * Must not know:  how such a trace is written (tracer/keep.h).
 * Invariant:      a function of the trace's meta table.
 */
#ifndef RPL_DROPPED_H
#define RPL_DROPPED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/text.h"
#include "replay/trace/trace.h"

/* Whether events were dropped, so that the trace begins within the run. */
bool rpl_has_dropped(const struct rpl_trace *trace);

/*
 * The name of a phase. What comes before the steps of a recording with a bound is not the set-up, but what was alive at
 * the start of what was kept: "at start".
 */
const char *rpl_phase_name(const struct rpl_trace *trace, int64_t step, enum vs_phase phase);

/*
 * The highest allocated bytes of the whole run, first reached at event `event` of the run, from 1, in step `step` (-1:
 * the set-up). kept: the number of that event in the trace; 0: it was dropped.
 */
struct rpl_run_peak {
    uint64_t bytes;
    uint64_t event;
    uint64_t kept;
    int64_t step;
};

/* False: no events were dropped, or the trace does not say it; *out is untouched then. */
VS_MUST_USE bool rpl_run_peak(const struct rpl_trace *trace, struct rpl_run_peak *out);

/*
 * A sentence without its full stop on the peak of the whole run, beside that of what was kept; nothing where no events
 * were dropped.
 */
void rpl_run_peak_text(const struct rpl_trace *trace, struct vs_text *out);

#endif
