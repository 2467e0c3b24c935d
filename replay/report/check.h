/*
 * replay/report/check.h - does a trace keep to limits?
 *
 * For:            `vramscope check`, a gate for continuous integration.
 * Must not know:  arguments, where the text goes.
 * Invariant:      every limit that was set has an answer, or the check fails.
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
 * GROWTH    by how much more is allocated when a training step ends than when the one before it ended: the largest of all but the first
 *           two, which make what stays
 */
enum rpl_limit { RPL_LIMIT_PEAK, RPL_LIMIT_RESERVED, RPL_LIMIT_GROWTH, RPL_LIMIT_COUNT };

/*
 * is_set       was it asked for?
 * max, actual  bytes; passed: actual is not more. A step after which less is allocated has grown by 0
 */
struct rpl_limit_answer {
    bool is_set;
    bool passed;
    uint64_t max;
    uint64_t actual;
};

/*
 * limits  by enum rpl_limit; is_set and max are given, the others are filled
 * growth_step  the step that grew most
 * leak    what steps made that is still alive a step later; empty where GROWTH is not asked for or has passed
 * passed  all that were set have, and no allocation was refused
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
 * Check the trace against the limits. `out` is zero except for the limits to check. The trace is borrowed; release `out` also
 * after a failure. Reads the trace once; where GROWTH fails, opens its index as well (rpl_index_open).
 *
 * VS_E_NOT_FOUND: GROWTH of a trace that has not three whole training steps. Errors of reading it.
 */
VS_MUST_USE enum vs_status rpl_check_fill(struct rpl_check *out, struct rpl_trace *trace,
                                          struct vs_error *err);
void rpl_check_release(struct rpl_check *check);

/* A line a limit, and what grew. */
void rpl_check_text(const struct rpl_check *check, const char *name, struct vs_text *out);
/* The fields are listed in docs/formats/json.md. */
void rpl_check_json(const struct rpl_check *check, struct vs_text *out);

#endif
