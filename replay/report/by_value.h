/*
 * replay/report/by_value.h - what of a trace's figures PyTorch decides by values, and ours does not.
 *
 * For:            the report, what-if, the TUI.
 * Must not know:  nets by name: only ops and toggles (replay/report/by_value.def).
 * Invariant:      a run without such an op or toggle has no row.
 */
#ifndef RPL_BY_VALUE_H
#define RPL_BY_VALUE_H

#include <stddef.h>

#include "base/text.h"
#include "replay/trace/trace.h"

#define RPL_BY_VALUE_MAX 16

/* name: the op or the toggle, what: why, in words; both live as long as the program */
struct rpl_by_value {
    const char *name;
    const char *what;
};

/* The rows that hold of a run of a net of ours, in the order of the table; returns how many. */
size_t rpl_by_values(const struct rpl_trace *trace, struct rpl_by_value out[RPL_BY_VALUE_MAX]);

/* A line for each of them, "  goes by values: NAME: WHAT\n". */
void rpl_by_values_text(const struct rpl_trace *trace, struct vs_text *out);

#endif
