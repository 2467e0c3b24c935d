/*
 * replay/report/fold.h - the report on a long trace in which the same steps repeat, from a few of them.
 *
 * For:            replay/report/report.c, where the file has no index or no figures.
 * Must not know:  how chunks are encoded.
 * Invariant:      the report is that of reading all events.
 *
 * The trace is folded: a trace in memory has the events before the steps that repeat, the first and last periods of
 * these, and what follows, with ids as if the others had not been. Its report becomes that of the whole: numbers of
 * events and ids are put back, and what is counted over all events is added for each period that was left out.
 */
#ifndef RPL_FOLD_H
#define RPL_FOLD_H

#include <stdbool.h>
#include <stddef.h>

#include "replay/report/report.h"

/*
 * Fill the report, zero-initialised by the caller, from a folded trace. False: nothing is filled, as nothing or too
 * little repeats, a device or a program was recorded, memory ran out, something leaks, or events cannot be read
 * (reading all of them will say which).
 */
VS_MUST_USE bool rpl_fold_report(struct rpl_report *out, struct rpl_trace *trace, size_t top);

#endif
