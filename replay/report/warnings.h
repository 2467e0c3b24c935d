/*
 * replay/report/warnings.h - what a run warned of: PyTorch's own warnings, and what goes wrong without a word.
 *
 * For:            the report, what-if, the TUI's page of the peak.
 * Must not know:  which warnings there are (lang/value/warning.def), how they are found.
 * Invariant:      in the order in which the run gave them. The trace has them as text; an imported one has none.
 */
#ifndef RPL_WARNINGS_H
#define RPL_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/text.h"
#include "replay/trace/trace.h"

/*
 * kind    name of the kind: "eps_underflow"
 * line    of the net; 0: of none
 * text    what is wrong, a sentence without its full stop
 * advice  what to do about it; empty: the text says it
 *
 * The three are borrowed from the trace and not terminated; they have the lengths beside them.
 */
struct rpl_warning {
    const char *kind, *text, *advice;
    size_t kind_len, text_len, advice_len;
    uint32_t line;
};

/*
 * The next warning. *at is NULL before the first call, and belongs to this function. False: there are no more. O(length
 * of the warning).
 */
bool rpl_warning_next(const struct rpl_trace *trace, const char **at, struct rpl_warning *out);

/* "text (line 12); advice" */
void rpl_warning_text(const struct rpl_warning *warning, struct vs_text *out);

/* A heading and a line for each, after an empty line; nothing where there is none. */
void rpl_warnings_text(const struct rpl_trace *trace, struct vs_text *out);
/* The member `warnings`: an array, empty where there is none. */
void rpl_warnings_json(const struct rpl_trace *trace, struct vs_json *json);

#endif
