/*
 * replay/report/report_internal.h - parts of the report for people, for replay/report*.c alone.
 */
#ifndef RPL_REPORT_INTERNAL_H
#define RPL_REPORT_INTERNAL_H

#include "base/text.h"
#include "replay/report/report.h"

/* Two lines, and one a holder. */
void rpl_report_tensor_text(const struct rpl_report *report, const struct rpl_why *why,
                            struct vs_text *out);
/* What nothing reads again, and by how much the peak would fall; or why that cannot be told. */
void rpl_report_kept_text(const struct rpl_report *report, struct vs_text *out);
void rpl_report_leak_text(const struct rpl_report *report, struct vs_text *out);

#endif
