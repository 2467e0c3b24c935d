/*
 * replay/report/check.h - whether a trace stays within limits.
 *
 * For:            `vramscope check`, a gate for continuous integration.
 * Must not know:  arguments, where the text goes.
 * Invariant:      every limit that was set has a result, or rpl_check_fill fails.
 */
#ifndef RPL_CHECK_H
#define RPL_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "replay/inspect/alive.h"
#include "replay/report/summary.h"
#include "replay/trace/trace.h"

/*
 * PEAK      highest allocated bytes
 * RESERVED  highest bytes in segments
 * GROWTH    the largest increase of allocated bytes from the end of one training step to the end of the next. The
 *           first two steps are left out: they allocate gradients and optimizer state
 */
enum rpl_limit { RPL_LIMIT_PEAK, RPL_LIMIT_RESERVED, RPL_LIMIT_GROWTH, RPL_LIMIT_COUNT };

/*
 * is_set       whether the limit is to be checked
 * max, actual  bytes; passed: actual <= max. GROWTH of a run that never grows is 0
 */
struct rpl_limit_answer {
    bool is_set;
    bool passed;
    uint64_t max;
    uint64_t actual;
};

/*
 * trace        borrowed
 * limits       by enum rpl_limit; the caller sets is_set and max, the rest is filled
 * growth_step  the step with the largest growth; -1: none grew, or GROWTH is not set
 * leak         what the steps leak; zero where GROWTH is not set or has passed
 * passed       all limits that are set have passed, and no allocation failed
 */
struct rpl_check {
    struct rpl_trace *trace;
    struct rpl_summary sum;
    struct rpl_limit_answer limits[RPL_LIMIT_COUNT];
    int64_t growth_step;
    struct rpl_leak leak;
    bool passed;
};

/*
 * Check the trace against the limits. `out` is zero except for the limits to check. The trace is borrowed; release
 * `out` also after a failure. Reads the trace once; where GROWTH fails, opens its index as well (rpl_index_open).
 *
 * VS_E_NOT_FOUND: GROWTH is set and the trace has fewer than three whole training steps. Others: those of reading it.
 */
VS_MUST_USE enum vs_status rpl_check_fill(struct rpl_check *out, struct rpl_trace *trace,
                                          struct vs_error *err);
void rpl_check_release(struct rpl_check *check);

/* Append a line for each limit that is set, and the largest leaked blocks. `name` names the trace. */
void rpl_check_text(const struct rpl_check *check, const char *name, struct vs_text *out);
/* Append a JSON object; docs/formats/json.md lists the fields. */
void rpl_check_json(const struct rpl_check *check, struct vs_text *out);

#endif
