/*
 * replay/report/report_internal.h - parts of the report, for replay/report/report_*.c alone.
 */
#ifndef RPL_REPORT_INTERNAL_H
#define RPL_REPORT_INTERNAL_H

#include "base/json.h"
#include "base/text.h"
#include "replay/report/report.h"

/*
 * Fill the report from the events of `trace`, which may be one in memory; has_figures: `sum` and `traffic` are filled.
 * Stores no figures. The caller releases it, also after a failure.
 */
VS_MUST_USE enum vs_status rpl_report_read(struct rpl_report *out, struct rpl_trace *trace,
                                           size_t top, bool has_figures, struct vs_error *err);

/* Bytes right-aligned in `width` columns, with a unit: "48.5 MiB". */
void rpl_report_add_bytes(struct vs_text *out, int width, uint64_t bytes);
/* A block in two lines, and a line for each holder. */
void rpl_report_tensor_text(const struct rpl_report *report, const struct rpl_why *why,
                            struct vs_text *out);
/* The unused blocks, and by how much the peak would fall without them; or why that is not known. */
void rpl_report_kept_text(const struct rpl_report *report, struct vs_text *out);
/* What the training steps leak and which name keeps it alive, or why that is not known. */
void rpl_report_leak_text(const struct rpl_report *report, struct vs_text *out);

/* Members of the report as JSON, each with its key. */
/* What the import derived rather than read; null of a trace that was not imported. */
void rpl_report_derived_json(const struct rpl_trace *trace, struct vs_json *json);
/* How a program was observed while it ran; null where it was not. */
void rpl_report_observed_json(const struct rpl_trace *trace, struct vs_json *json);
/* Of how many ops of a program the arithmetic is known; null of a net's trace, and where none is. */
void rpl_report_arithmetic_json(const struct rpl_trace *trace, struct vs_json *json);
/* Why a history is not whole, and what that makes unsure; null of a whole one. */
void rpl_report_partial_json(const struct rpl_trace *trace, struct vs_json *json);
/* What a recording with a bound left out; null of any other. */
void rpl_report_dropped_json(const struct rpl_trace *trace, struct vs_json *json);

#endif
