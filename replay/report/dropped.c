/*
 * replay/report/dropped.c - see dropped.h.
 *
 * Must not know:  how such a trace is written.
 * Invariant:      nothing is said of a trace that has all events of its run.
 */
#include "replay/report/dropped.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"

bool rpl_has_dropped(const struct rpl_trace *trace)
{
    return rpl_trace_meta(trace, "dropped_events") != NULL;
}

const char *rpl_phase_name(const struct rpl_trace *trace, int64_t step, enum vs_phase phase)
{
    return step < 0 && rpl_has_dropped(trace) ? "at start" : vs_phase_name(phase);
}

bool rpl_run_peak(const struct rpl_trace *trace, struct rpl_run_peak *out)
{
    const char *step = rpl_trace_meta(trace, "run_peak_step");
    struct rpl_run_peak peak = {.bytes = 0};
    uint64_t dropped = 0;
    uint64_t start = 0;

    if (!step || !rpl_trace_meta_uint(trace, "run_peak", &peak.bytes) ||
        !rpl_trace_meta_uint(trace, "run_peak_event", &peak.event) ||
        !rpl_trace_meta_uint(trace, "dropped_events", &dropped) ||
        !rpl_trace_meta_uint(trace, "start_events", &start))
        return false;
    peak.step = strtoll(step, NULL, 10);
    peak.kept = peak.event > dropped ? peak.event - dropped + start : 0;
    *out = peak;
    return true;
}

void rpl_run_peak_text(const struct rpl_trace *trace, struct vs_text *out)
{
    struct rpl_run_peak peak;
    char buf[VS_BYTES_TEXT_MAX];

    if (!rpl_has_dropped(trace))
        return;
    if (!rpl_run_peak(trace, &peak)) {
        vs_text_add(out, "the peak of the whole run is not known");
        return;
    }
    if (peak.kept) {
        vs_text_add(out, "it is the peak of the whole run");
        return;
    }
    vs_text_addf(out, "the peak of the whole run: %s", vs_bytes_text(peak.bytes, buf));
    vs_text_addf(out, " (%s bytes) at", vs_bytes_exact_text(peak.bytes, buf));
    vs_text_addf(out, " event %s of the run, ", vs_bytes_exact_text(peak.event, buf));
    if (peak.step < 0)
        vs_text_add(out, "setup");
    else
        vs_text_addf(out, "step %" PRId64, peak.step);
    vs_text_add(out, ", which was not kept");
}
