/*
 * replay/report/report_internal.h - parts of the text report, for replay/report/report_*.c alone.
 */
#ifndef RPL_REPORT_INTERNAL_H
#define RPL_REPORT_INTERNAL_H

#include "base/text.h"
#include "replay/report/report.h"

/* Bytes right-aligned in `width` columns, with a unit: "48.5 MiB". */
void rpl_report_add_bytes(struct vs_text *out, int width, uint64_t bytes);
/* A block in two lines, and a line for each holder. */
void rpl_report_tensor_text(const struct rpl_report *report, const struct rpl_why *why,
                            struct vs_text *out);
/* The unused blocks, and by how much the peak would fall without them; or why that is not known. */
void rpl_report_kept_text(const struct rpl_report *report, struct vs_text *out);
/* What the training steps leak and which name keeps it alive, or why that is not known. */
void rpl_report_leak_text(const struct rpl_report *report, struct vs_text *out);

#endif
