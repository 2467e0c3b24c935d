/*
 * replay/report/by_value.h - which figures of a trace PyTorch makes depend on values of tensors, and this program does
 * not.
 *
 * For:            the report, what-if, the TUI.
 * Must not know:  particular nets: only ops and toggles (replay/report/by_value.def).
 * Invariant:      a run without such an op or toggle has no row.
 */
#ifndef RPL_BY_VALUE_H
#define RPL_BY_VALUE_H

#include <stddef.h>

#include "base/text.h"
#include "replay/trace/trace.h"

#define RPL_BY_VALUE_MAX 16

/* name: the op or toggle; what: the reason in words. Both are static. */
struct rpl_by_value {
    const char *name;
    const char *what;
};

/*
 * Fill `out` with the rows that apply to a run of a net, in the order of the table, and return their number; 0 without
 * a net.
 */
size_t rpl_by_values(const struct rpl_trace *trace, struct rpl_by_value out[RPL_BY_VALUE_MAX]);

/* A line for each of them, "  depends on values: NAME: WHAT\n". */
void rpl_by_values_text(const struct rpl_trace *trace, struct vs_text *out);

#endif
