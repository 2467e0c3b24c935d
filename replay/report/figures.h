/*
 * replay/report/figures.h - what a report says of all events of a trace, stored in the file.
 *
 * For:            replay/report/report.c: a report on a long trace then reads no events.
 * Must not know:  how the figures are computed or shown.
 * Invariant:      figures are loaded only for the events that they were computed from.
 */
#ifndef RPL_FIGURES_H
#define RPL_FIGURES_H

#include "base/attr.h"
#include "base/error.h"
#include "replay/report/summary.h"
#include "replay/report/traffic.h"

/*
 * Read both; the caller releases them, also after a failure. VS_E_NOT_FOUND: the file has none, those of other events,
 * or damaged ones. Others: those of reading it.
 */
VS_MUST_USE enum vs_status rpl_figures_load(struct rpl_trace *trace, struct rpl_summary *summary,
                                            struct rpl_traffic *traffic, struct vs_error *err);

/*
 * As rpl_summary_fill, but for the figures that are stored in the file of a long trace, which are not counted again.
 */
VS_MUST_USE enum vs_status rpl_figures_summary(struct rpl_trace *trace, struct rpl_summary *out,
                                               struct vs_error *err);
/*
 * Store both in the file of a complete trace that is long enough for a stored index. Does nothing for any other, and
 * where the file cannot be written.
 */
void rpl_figures_save(struct rpl_trace *trace, const struct rpl_summary *summary,
                      const struct rpl_traffic *traffic);

#endif
